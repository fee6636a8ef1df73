// SPDX-License-Identifier: MIT
/** Minimal board without an NPU. */
#include "ethosu_board.h"

#include <math.h>

const struct ethosu_board ethosu_board = {.name = "mps2-an385"};

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

/** Never used, since without an NPU there is nothing to wait for. The port has no clock. */
uint32_t ethosu_ext_board_ticks_ms(void)
{
    return 0;
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    (void)flag;
}

/* ---- a core without floating-point instructions calls these; the port's libm lacks them ---- */

float fmaxf(float a, float b)
{
    return a > b || b != b ? a : b;
}

float fminf(float a, float b)
{
    return a < b || b != b ? a : b;
}
