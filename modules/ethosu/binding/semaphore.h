// SPDX-License-Identifier: MIT
/** Callbacks of MicroPython's scheduler, and Ctrl-C, while C code works or waits. */
#ifndef SEMAPHORE_H
#define SEMAPHORE_H

#include <stdbool.h>

/** Run what is pending; false when it raised an exception: binding_raise_pending() raises it. */
bool semaphore_run_events(void);

#endif
