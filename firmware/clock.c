// SPDX-License-Identifier: MIT
/** Time since start-up, from the SysTick. */
#include "clock.h"

#include <stdbool.h>

#include "board.h"
#include "cpu.h"
#include "irq.h"
#include "shared/runtime/softtimer.h"

#define CYCLES_PER_MS (BOARD_CLOCK_HZ / 1000u)
#define CYCLES_PER_US (BOARD_CLOCK_HZ / 1000000u)
/** Maximum period of the counter. */
#define LONGEST_MS (SysTick_LOAD_RELOAD_Msk / CYCLES_PER_MS)
/** With fewer cycles left, a period is no longer changed. */
#define SHORTEST 64u
#define NS_PER_US 1000u
#define US_PER_S 1000000u

/** Read by MicroPython's soft timers as well. */
volatile uint32_t clock_ticks_ms;

static uint32_t ticks_high;
static uint64_t epoch_offset_s;

void clock_start(void)
{
    epoch_offset_s = board_wall_clock();
    SysTick_Config(CYCLES_PER_MS);
}

void clock_tick(void)
{
    if (++clock_ticks_ms == 0) {
        ticks_high++;
    }
    if (soft_timer_next == clock_ticks_ms) {
        soft_timer_handler();
    }
}

/** Has the counter wrapped without its interrupt having run yet? */
static bool tick_is_pending(void)
{
    return (SCB->ICSR & SCB_ICSR_PENDSTSET_Msk) != 0;
}

/** Also for one that is masked. */
static void wait_for_interrupt(void)
{
    __DSB();
    __WFI();
}

/** Load the counter with `cycles`; it then continues in milliseconds. */
static void load_counter(uint32_t cycles)
{
    SysTick->LOAD = cycles - 1u;
    SysTick->VAL = 0; // loads it at its next cycle
    // An emulator may stop between reading the counter and this: the old period's end counts no
    // more.
    SCB->ICSR = SCB_ICSR_PENDSTCLR_Msk;
    while (SysTick->VAL == 0) {
    }
    SysTick->LOAD = CYCLES_PER_MS - 1u;
}

void clock_sleep(uint32_t at_most_ms)
{
    uint32_t ms = soft_timer_next - clock_ticks_ms; // large, or 0, without a timer
    ms = ms == 0 || ms > at_most_ms ? at_most_ms : ms;
    ms = ms > LONGEST_MS ? LONGEST_MS : ms;
    uint32_t left = SysTick->VAL;
    if (ms < 2 || left < SHORTEST || tick_is_pending()) {
        wait_for_interrupt();
        return;
    }
    uint32_t passed = ms - 1u; // when the tick comes, which counts the last one
    load_counter(left + passed * CYCLES_PER_MS);
    wait_for_interrupt();
    do { // until the next millisecond is far enough
        left = SysTick->VAL;
    } while (left % CYCLES_PER_MS < SHORTEST && !tick_is_pending());
    if (!tick_is_pending()) {
        passed -= left / CYCLES_PER_MS;
        load_counter(left % CYCLES_PER_MS);
    }
    ticks_high += clock_ticks_ms + passed < clock_ticks_ms;
    clock_ticks_ms += passed;
}

uint64_t clock_ms(void)
{
    uint32_t state = irq_mask();
    uint64_t now = (uint64_t)ticks_high << 32 | clock_ticks_ms;
    irq_restore(state);
    return now;
}

/** Milliseconds, and in *cycles the cycles into the current one. */
static uint64_t now_fine(uint32_t *cycles)
{
    uint32_t state = irq_mask();
    uint64_t ms = (uint64_t)ticks_high << 32 | clock_ticks_ms;
    uint32_t left = SysTick->VAL;
    if (tick_is_pending()) {
        left = SysTick->VAL;
        ms++;
    }
    irq_restore(state);
    *cycles = CYCLES_PER_MS - 1u - left;
    return ms;
}

uint64_t clock_us(void)
{
    uint32_t cycles;
    uint64_t ms = now_fine(&cycles);
    return ms * 1000u + cycles / CYCLES_PER_US;
}

uint32_t clock_cycles(void)
{
    uint32_t cycles;
    uint64_t ms = now_fine(&cycles);
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
