// SPDX-License-Identifier: MIT
/**
 * Counts the comparisons of instrumented code, which limits the time of an input by a number that
 * is exactly reproducible. The linker redirects libFuzzer's hooks to steps.c (--wrap).
 */
#ifndef STEPS_H
#define STEPS_H

#include <setjmp.h>
#include <stdint.h>

/** Comparisons since steps_allow(). */
extern uint64_t steps;

/** Where to continue after too many steps; NULL: end the program, which is a finding. */
extern jmp_buf *steps_escape;

/** A new input begins. */
void steps_begin(void);

/** Count from 0, and allow `most` steps. */
void steps_allow(uint64_t most);

/**
 * Do not escape until resume, because functions of driver and simulator must not be interrupted.
 */
void steps_pause(void);
void steps_resume(void);

#endif
