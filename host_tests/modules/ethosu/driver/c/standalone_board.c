// SPDX-License-Identifier: MIT
/** A minimal board, for programs that link the driver but use no NPU. */
#include "ethosu_board.h"

#include "sim_host_io.h"
#include <stdlib.h>

const struct ethosu_board ethosu_board = {.name = "none"};

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return 0;
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    (void)flag;
    abort();
}

uint32_t sim_host_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    (void)reg;
    (void)offset;
    return 0;
}

void sim_host_barrier(void)
{
}

void sim_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    (void)reg;
    (void)offset;
    (void)value;
}
