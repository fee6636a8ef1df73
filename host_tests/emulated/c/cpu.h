// SPDX-License-Identifier: MIT
/** Stands in for firmware/cpu.h: the registers of the core that a board's DMA code looks at. */
#ifndef FIRMWARE_CPU_H
#define FIRMWARE_CPU_H

#include <stdint.h>

struct fake_scb {
    uint32_t CCR;
};

static struct fake_scb fake_scb = {.CCR = 1u << 16};

#define SCB (&fake_scb)
#define SCB_CCR_DC_Msk (1u << 16)

static inline uint32_t __get_IPSR(void)
{
    return 0;
}

static inline uint32_t __get_PRIMASK(void)
{
    return 0;
}

static inline uint32_t __get_BASEPRI(void)
{
    return 0;
}

static inline uint32_t __get_FAULTMASK(void)
{
    return 0;
}

static inline void __DSB(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
