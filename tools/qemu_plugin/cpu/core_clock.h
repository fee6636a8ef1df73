// SPDX-License-Identifier: MIT
/** The clock of the CPU and its SysTick, on QEMU's machine "none". */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdint.h>

#include "base/qemu_api.h"

/** Create it, for the CPU that the machine is about to get. */
Clock *core_clock_create(Object *machine, uint32_t hertz);

/** Change it. Big lock. */
void core_clock_set(uint32_t hertz);

#endif
