// SPDX-License-Identifier: MIT
/** Counts the executed instructions of a function with SysTick. Include it once. */
#ifndef COUNTING_H
#define COUNTING_H

#include "semihost.h"

#define REPEATS 1000u

static uint32_t ticks_of(void (*work)(void), uint32_t repeats)
{
    uint32_t before = SYST_CVR;
    for (uint32_t i = 0; i < repeats; i++) {
        work();
    }
    return (before - SYST_CVR) & 0xFFFFFFu;
}

static void nothing(void)
{
    __asm__ volatile("");
}

static void thousand(void)
{
    __asm__ volatile("movw r0, #499\n1: subs r0, #1\nbne 1b" ::: "r0", "cc");
}

/** Instructions per call, from ticks and from the thousand instructions that calibrate them. */
static uint32_t instructions(void (*work)(void), uint32_t repeats)
{
    uint32_t empty = ticks_of(nothing, REPEATS);
    uint32_t known = ticks_of(thousand, REPEATS) - empty;
    uint64_t ticks = ticks_of(work, repeats) - (uint64_t)empty * repeats / REPEATS;
    return (uint32_t)((ticks * 999 * REPEATS + known * (uint64_t)repeats / 2) /
                      (known * (uint64_t)repeats));
}

#endif
