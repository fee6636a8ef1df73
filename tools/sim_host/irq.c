// SPDX-License-Identifier: MIT
/**
 * The driver's handlers are called directly; programs with their own interrupts connect them
 * themselves.
 */
#include "ethosu_board.h"
#include "sim_host_internal.h"

void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument)
{
    sim_host_connect((unsigned)index, handler, argument);
}

void ethosu_ext_board_irq_disconnect(size_t index)
{
    sim_host_connect((unsigned)index, NULL, NULL);
}
