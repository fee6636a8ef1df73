// SPDX-License-Identifier: MIT
/** Callbacks of MicroPython's scheduler, while C code works or waits for an NPU. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>

/** NPUs that the module serves; a board may have fewer. */
#define BINDING_MAX_NPUS 4

/** Run pending callbacks; false on an exception, which binding_raise_pending() then raises. */
bool semaphore_run_events(void);

#endif
