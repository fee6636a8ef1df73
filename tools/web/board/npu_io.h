// SPDX-License-Identifier: MIT
/** The driver's access to the registers of an NPU that is a simulator in this instance. */
#ifndef WEB_NPU_IO_H
#define WEB_NPU_IO_H

#include <stdint.h>

struct NPU_REG;

uint32_t ethosu_io_read(volatile struct NPU_REG *reg, uint32_t offset);
void ethosu_io_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value);

static inline void ethosu_io_barrier(void)
{
}

#endif
