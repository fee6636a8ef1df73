// SPDX-License-Identifier: MIT
/**
 * The counter is the SysTick, which all Cortex-M have, at its longest period: it interrupts when it
 * wraps, each 0.5 s at 32 MHz and 42 ms at 400 MHz, and when an alarm is due.
 *
 * It is driven by the clock of the core that does not stop in sleep. It would stop in deep sleep,
 * which this firmware does not use (startup.c clears SLEEPDEEP). The cycle counter of the DWT may
 * stop in each sleep, and QEMU has none. (Armv8-M Architecture Reference Manual, SYST_CSR,
 * SYST_RVR, SYST_CVR, DWT_CYCCNT.)
 */
#include <stdbool.h>

#include "counter.h"

/** Cycles of a period without an alarm. */
#define LONGEST (SysTick_LOAD_RELOAD_Msk + 1u)
/** QEMU makes a period of less than 10 us longer (hw/core/ptimer.c). */
#define SHORTEST (20u * CYCLES_PER_US)
/** Reads of a counter that is to be loaded. A chip loads it before the second. */
#define READS_OF_A_CHIP 16u
/** What QEMU, unless it counts instructions, makes of the cycle that loads the counter: 10 us. */
#define LOAD_CYCLES_OF_QEMU (10u * CYCLES_PER_US)

static struct {
    uint64_t ms;     /**< when it began */
    uint32_t cycles; /**< into the next millisecond, when it began */
    uint32_t period; /**< its length; all that follow are LONGEST */
} current;

static void begin_period(uint32_t passed, uint32_t cycles)
{
    uint32_t sum = current.cycles + passed;
    current.ms += sum / CYCLES_PER_MS;
    current.cycles = sum % CYCLES_PER_MS;
    current.period = cycles;
}

/**
 * Has a period ended since the last call? The flag is cleared by this read. The pending interrupt
 * would not do: between its end and its handler another one may read the clock.
 */
static bool has_ended(void)
{
    return (SysTick->CTRL & SysTick_CTRL_COUNTFLAG_Msk) != 0;
}

/** Cycles into the current period. */
static uint32_t cycles_passed(void)
{
    uint32_t left = SysTick->VAL;
    if (has_ended()) {
        begin_period(current.period, LONGEST);
        left = SysTick->VAL;
        return left == 0 ? 0 : current.period - left; // 0: not loaded yet
    }
    return current.period - left; // 0: the flag comes next
}

uint64_t counter_now(uint32_t *cycles)
{
    uint32_t state = __get_PRIMASK(); // not irq_mask(): the call would take as long as the rest
    __disable_irq();
    uint32_t sum = current.cycles + cycles_passed();
    uint64_t ms = current.ms;
    __set_PRIMASK(state);
    *cycles = sum % CYCLES_PER_MS;
    return ms + sum / CYCLES_PER_MS;
}

/** A period of `cycles` begins with the load of the counter, at its next cycle. */
static void begin_loaded_period(uint32_t passed, uint32_t cycles)
{
    uint32_t reads = 0;
    while (SysTick->VAL == 0) {
        reads++;
    }
    begin_period(passed + (reads > READS_OF_A_CHIP ? LOAD_CYCLES_OF_QEMU : 0), cycles);
}

void counter_start(void)
{
    SysTick_Config(LONGEST);
    begin_loaded_period(0, LONGEST);
}

/**
 * QEMU's host may stop it in the middle of load(), for longer than the short period: the next one
 * may then be as short. Some may have ended unseen; by these the clock of such an emulator is late.
 */
static void find_period(uint32_t cycles)
{
    uint32_t left;
    bool ended = has_ended();
    do {
        begin_period(ended ? cycles : 0, cycles);
        left = SysTick->VAL;
        ended = has_ended();
    } while (ended || left == 0);
    current.period = left < cycles ? cycles : LONGEST;
}

/** End the current period, and begin one of `cycles`. A few cycles are lost, between two lines. */
static void load(uint32_t cycles)
{
    SysTick->LOAD = cycles - 1u;
    uint32_t left = SysTick->VAL;
    SysTick->VAL = 0;
    begin_loaded_period(current.period - left, cycles);
    SysTick->LOAD = LONGEST - 1u;
    find_period(cycles);
}

void counter_alarm(uint64_t cycles)
{
    uint32_t left = current.period - cycles_passed();
    cycles = cycles < SHORTEST ? SHORTEST : cycles;
    if (cycles < left) {
        load((uint32_t)cycles);
    }
}
