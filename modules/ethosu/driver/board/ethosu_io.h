// SPDX-License-Identifier: MIT
/**
 * Access to the NPU's registers: plain memory-mapped reads and writes.
 *
 * To access the NPU differently, set a header that defines the same functions:
 * -DETHOSU_IO_HEADER='<sim_host_io.h>' (tools/sim_host).
 */
#ifndef ETHOSU_IO_H
#define ETHOSU_IO_H

#ifdef ETHOSU_IO_HEADER
#include ETHOSU_IO_HEADER
#else

#include <stdint.h>

struct NPU_REG;

/**
 * Complete the CPU's earlier writes, cleans and invalidates before any later access
 * (Armv8-M Architecture Reference Manual, DSB).
 */
static inline void ethosu_io_barrier(void)
{
#ifdef __arm__
    __asm volatile("dsb sy" ::: "memory");
#else
    __sync_synchronize();
#endif
}

/** Read the register at a byte offset. */
static inline uint32_t ethosu_io_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    return *(volatile uint32_t *)((uintptr_t)reg + offset);
}

/** Write the register at a byte offset. */
static inline void ethosu_io_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    *(volatile uint32_t *)((uintptr_t)reg + offset) = value;
}

#endif

#endif
