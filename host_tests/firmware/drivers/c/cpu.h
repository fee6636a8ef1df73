// SPDX-License-Identifier: MIT
/** Replaces firmware/include/cpu.h: the core registers that a board's DMA code reads. */
#ifndef FIRMWARE_CPU_H
#define FIRMWARE_CPU_H

#include <stdint.h>

struct fake_scb {
    uint32_t CCR;
};

static struct fake_scb fake_scb = {.CCR = 1u << 16};

#define SCB (&fake_scb)
#define SCB_CCR_DC_Msk (1u << 16)

/** The core's special registers, set by the test. */
enum { IPSR, PRIMASK, BASEPRI, FAULTMASK, SPECIAL_COUNT };
static uint32_t fake_special[SPECIAL_COUNT];

static inline uint32_t __get_IPSR(void)
{
    return fake_special[IPSR];
}

static inline uint32_t __get_PRIMASK(void)
{
    return fake_special[PRIMASK];
}

static inline uint32_t __get_BASEPRI(void)
{
    return fake_special[BASEPRI];
}

static inline uint32_t __get_FAULTMASK(void)
{
    return fake_special[FAULTMASK];
}

static inline void __DSB(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
