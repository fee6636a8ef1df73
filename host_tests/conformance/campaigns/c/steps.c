// SPDX-License-Identifier: MIT
/** See steps.h. */
#include "steps.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t steps;
jmp_buf *steps_escape;

static uint64_t most_steps = UINT64_MAX;
static unsigned pauses;

/** libFuzzer is shown the comparisons of one in this many inputs, which is enough and cheaper. */
#define LEARN_EVERY 8u
static unsigned inputs;
static bool learns;

/** These functions are not counted themselves. */
#define NOT_COUNTED __attribute__((no_sanitize("coverage", "address", "undefined")))

void steps_allow(uint64_t most)
{
    steps = 0;
    most_steps = most;
}

void steps_begin(void)
{
    learns = inputs++ % LEARN_EVERY == 0;
}

void steps_pause(void)
{
    pauses++;
}

void steps_resume(void)
{
    pauses--;
}

static NOT_COUNTED void too_many(void)
{
    if (steps_escape != NULL) {
        jmp_buf *escape = steps_escape;
        steps_escape = NULL;
        most_steps = UINT64_MAX;
        longjmp(*escape, 1);
    }
    fprintf(stderr, "ERROR: more than %llu steps\n", (unsigned long long)most_steps);
    abort();
}

/** A tail call, because the hook needs its caller's address. */
#define COUNTED(name, type)                                             \
    void __real_##name(type a, type b);                                 \
    void __wrap_##name(type a, type b);                                 \
    NOT_COUNTED void __wrap_##name(type a, type b)                      \
    {                                                                   \
        if (__builtin_expect(pauses == 0 && ++steps > most_steps, 0)) { \
            too_many();                                                 \
        }                                                               \
        if (learns) {                                                   \
            __attribute__((musttail)) return __real_##name(a, b);       \
        }                                                               \
    }

COUNTED(__sanitizer_cov_trace_cmp1, uint8_t)
COUNTED(__sanitizer_cov_trace_cmp2, uint16_t)
COUNTED(__sanitizer_cov_trace_cmp4, uint32_t)
COUNTED(__sanitizer_cov_trace_cmp8, uint64_t)
COUNTED(__sanitizer_cov_trace_const_cmp1, uint8_t)
COUNTED(__sanitizer_cov_trace_const_cmp2, uint16_t)
COUNTED(__sanitizer_cov_trace_const_cmp4, uint32_t)
COUNTED(__sanitizer_cov_trace_const_cmp8, uint64_t)
