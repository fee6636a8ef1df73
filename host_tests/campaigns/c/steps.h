// SPDX-License-Identifier: MIT
/**
 * Counts the comparisons that instrumented code makes, and so bounds how long an input takes by a
 * number that repeats exactly. The linker leads libFuzzer's hooks through steps.c (--wrap).
 */
#ifndef STEPS_H
#define STEPS_H

#include <setjmp.h>
#include <stdint.h>

/** Comparisons since steps_allow(). */
extern uint64_t steps;

/** Where to go when there are more steps than allowed; NULL: end the program, that is a finding. */
extern jmp_buf *steps_escape;

/** A new input begins. */
void steps_begin(void);

/** Count from 0; more than `most` steps are too many. */
void steps_allow(uint64_t most);

/** Functions of the driver and the simulator must not be left half-way: don't escape until resume.
 */
void steps_pause(void);
void steps_resume(void);

#endif
