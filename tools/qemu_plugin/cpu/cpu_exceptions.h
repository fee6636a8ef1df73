// SPDX-License-Identifier: MIT
/** A function of ours in the place of QEMU's that handles the exceptions of a Cortex-M. */
#ifndef CPU_EXCEPTIONS_H
#define CPU_EXCEPTIONS_H

#include <stdint.h>

#include "base/qemu_api.h"

/** QEMU's numbers of exceptions (cpu_exception()). */
#define CPU_SEMIHOSTING 16

/**
 * Have a function called instead of arm_v7m_cpu_do_interrupt(), which it may call. Ends QEMU with
 * an error message if it cannot be done.
 */
void cpu_exceptions_handle(Object *cpu, void (*handler)(void *cpu));

/** The exception that is being handled. */
int32_t cpu_exception(const void *cpu);

#endif
