// SPDX-License-Identifier: MIT
/** Time and idle; a test may replace them. */
#include "sim_host_internal.h"

#include <time.h>

/** Milliseconds slept while no NPU had a thread. */
static uint32_t virtual_ms;

uint32_t ethosu_ext_board_ticks_ms(void)
{
    struct timespec now = {0};
    if (sim_host_time_is_real()) {
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return virtual_ms + (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    (void)flag;
    if (sim_host_time_is_real()) {
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    } else {
        virtual_ms++;
    }
}
