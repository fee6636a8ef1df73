// SPDX-License-Identifier: MIT
/** Calls that the kernel's NPU driver rejects, and some that it accepts, with their errno. */
#ifndef REFUSALS_H
#define REFUSALS_H

#include "ethosu_accel.h"

/** Make each call on an open device; report its name and errno, 0 if it succeeds. */
void refusals(const struct ethosu_accel_calls *calls, const char *path,
              void (*report)(const char *name, int error));

#endif
