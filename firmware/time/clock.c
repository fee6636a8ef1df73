// SPDX-License-Identifier: MIT
/** Time since start-up, soft timers and the wall clock. Nothing runs while no timer is due. */
#include "clock.h"

#include <stdbool.h>

#include "board.h"
#include "counter.h"
#include "irq.h"
#include "shared/runtime/softtimer.h"

#define NS_PER_US 1000u
#define US_PER_S 1000000u

/** When the next soft timer is due, if one is. */
static uint32_t timer_ms;
static volatile bool timer_runs;

static uint64_t epoch_offset_s;

void clock_start(void)
{
    epoch_offset_s = board_wall_clock();
    counter_start();
}

void clock_alarm_ms(uint32_t ms)
{
    if (ms <= COUNTER_LONGEST_MS) {
        uint32_t cycles;
        (void)counter_now(&cycles);
        counter_alarm((uint64_t)ms * CYCLES_PER_MS - cycles);
    }
}

void clock_alarm_us(uint32_t us)
{
    counter_alarm((uint64_t)us * CYCLES_PER_US);
}

/** Of MicroPython: the clock of its soft timers. */
uint32_t soft_timer_get_ms(void)
{
    return (uint32_t)clock_ms();
}

/** Of MicroPython: call soft_timer_handler() at this time, or soon if it has passed. */
void soft_timer_schedule_at_ms(uint32_t ticks_ms)
{
    uint32_t state = irq_mask();
    timer_ms = ticks_ms;
    timer_runs = true;
    int32_t left = soft_timer_ticks_diff(ticks_ms, soft_timer_get_ms());
    if (left > 0) {
        clock_alarm_ms((uint32_t)left);
    } else {
        counter_alarm(0);
    }
    irq_restore(state);
}

void clock_interrupt(void)
{
    // Without a timer, too: the counter has to be read in each of its periods.
    bool due = soft_timer_ticks_diff(timer_ms, soft_timer_get_ms()) <= 0;
    if (!timer_runs) {
        return;
    }
    if (due) {
        timer_runs = false; // soft_timer_handler() schedules the next one
        soft_timer_handler();
    } else {
        soft_timer_schedule_at_ms(timer_ms);
    }
}

uint64_t clock_ms(void)
{
    uint32_t cycles;
    return counter_now(&cycles);
}

uint64_t clock_us(void)
{
    uint32_t cycles;
    uint64_t ms = counter_now(&cycles);
    return ms * 1000u + cycles / CYCLES_PER_US;
}

uint32_t clock_cycles(void)
{
    uint32_t cycles;
    uint64_t ms = counter_now(&cycles);
    return (uint32_t)(ms * CYCLES_PER_MS) + cycles;
}

uint64_t clock_epoch_ns(void)
{
    return (epoch_offset_s * US_PER_S + clock_us()) * NS_PER_US;
}

uint32_t clock_epoch_s(void)
{
    return (uint32_t)(epoch_offset_s + clock_us() / US_PER_S);
}

void clock_set_epoch(uint64_t seconds)
{
    epoch_offset_s = seconds - clock_us() / US_PER_S;
}
