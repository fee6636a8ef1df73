// SPDX-License-Identifier: MIT
/** Access to the registers of an NPU that is not memory-mapped, by calls into this process. */
#ifndef SIM_HOST_IO_H
#define SIM_HOST_IO_H

#include <stdint.h>

struct NPU_REG;

/** Defined by npu.c, or by a test that replaces the NPU. */
uint32_t sim_host_read(volatile struct NPU_REG *reg, uint32_t offset);
void sim_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value);

/** The same for barriers; defined by cache.c. */
void sim_host_barrier(void);

static inline void ethosu_io_barrier(void)
{
    sim_host_barrier();
}

static inline uint32_t ethosu_io_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    return sim_host_read(reg, offset);
}

static inline void ethosu_io_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    sim_host_write(reg, offset, value);
}

#endif
