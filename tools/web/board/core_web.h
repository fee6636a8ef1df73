// SPDX-License-Identifier: MIT
/**
 * The core of a board that is a WebAssembly instance: the parts of a Cortex-M's CMSIS header that
 * the firmware uses, with the same names. There are no threads. Interrupts are served only where
 * the program unmasks them, waits, or has executed some byte code.
 */
#ifndef WEB_CORE_WEB_H
#define WEB_CORE_WEB_H

#include <stdint.h>

/** Serve what is pending: the alarm, input, and a slice of the NPUs' work. */
void core_poll(void);

/** Pend a device interrupt; core_poll() serves it. */
void core_pend(uint32_t irq);

/** WFI: let the NPUs run, or sleep for a millisecond, or until the alarm or input. */
void core_wait(void);

extern uint32_t core_primask;
extern uint32_t core_ipsr;

static inline void __DSB(void)
{
}

static inline void __ISB(void)
{
    core_poll();
}

static inline void __WFI(void)
{
    core_wait();
}

static inline void __disable_irq(void)
{
    core_primask = 1;
}

static inline uint32_t __get_PRIMASK(void)
{
    core_poll();
    return core_primask;
}

static inline void __set_PRIMASK(uint32_t mask)
{
    core_primask = mask;
}

static inline uint32_t __get_IPSR(void)
{
    return core_ipsr;
}

#define IPSR_ISR_Msk 0x1FFu

void NVIC_EnableIRQ(IRQn_Type irq);
void NVIC_DisableIRQ(IRQn_Type irq);
void NVIC_ClearPendingIRQ(IRQn_Type irq);

static inline void NVIC_SetPriority(IRQn_Type irq, uint32_t priority)
{
    (void)irq;
    (void)priority;
}

/** The counter of this core does not interrupt by itself; see firmware/include/counter.h. */
#define COUNTER_LONGEST_MS UINT32_MAX

/** Registers with the values at the time of the call. */
struct core_scb {
    uint32_t CCR;
};
#define SCB (&(struct core_scb){.CCR = 0})
#define SCB_CCR_DC_Msk (1u << 16)

/* There is no cache. */

static inline void SCB_CleanDCache(void)
{
}

static inline void SCB_CleanInvalidateDCache(void)
{
}

static inline void SCB_CleanDCache_by_Addr(volatile void *address, int32_t size)
{
    (void)address;
    (void)size;
}

static inline void SCB_InvalidateDCache_by_Addr(volatile void *address, int32_t size)
{
    (void)address;
    (void)size;
}

static inline void SCB_CleanInvalidateDCache_by_Addr(volatile void *address, int32_t size)
{
    (void)address;
    (void)size;
}

#endif
