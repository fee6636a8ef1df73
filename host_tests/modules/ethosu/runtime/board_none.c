// SPDX-License-Identifier: MIT
/**
 * A board without an NPU, for tests that need none. All its memory would be visible to an NPU; its
 * cache lines are those of a Cortex-M55.
 */
#include "driver/board/ethosu_io.h"
#include <stdlib.h>

#include "ethosu_board.h"

const struct ethosu_board ethosu_board = {.name = "none", .cache_line = 32};

bool ethosu_ext_board_npu_present(size_t index)
{
    (void)index;
    return false;
}

void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument)
{
    (void)index;
    (void)handler;
    (void)argument;
}

void ethosu_ext_board_irq_disconnect(size_t index)
{
    (void)index;
}

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return 0;
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    (void)flag;
}

void sim_host_barrier(void)
{
}

uint32_t sim_host_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    (void)reg;
    (void)offset;
    abort();
}

void sim_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    (void)reg;
    (void)offset;
    (void)value;
    abort();
}
