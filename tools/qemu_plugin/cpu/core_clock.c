// SPDX-License-Identifier: MIT
/** See core_clock.h. */
#include "cpu/core_clock.h"

static Clock *cpu_clock;

/** Period in 2^-32 ns. */
static uint64_t period(uint32_t hertz)
{
    return (UINT64_C(1000000000) << 32) / hertz;
}

Clock *core_clock_create(Object *machine, uint32_t hertz)
{
    cpu_clock = clock_new(machine, "cpu-clock");
    clock_set(cpu_clock, period(hertz));
    return cpu_clock;
}

void core_clock_set(uint32_t hertz)
{
    if (clock_set(cpu_clock, period(hertz))) {
        clock_propagate(cpu_clock);
    }
}
