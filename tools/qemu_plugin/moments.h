// SPDX-License-Identifier: MIT
/** Faults delayed to a later guest time. */
#ifndef MOMENTS_H
#define MOMENTS_H

#include <stdbool.h>

#include "faults.h"

/**
 * Call `happen` with the fault when its time has come.
 *
 * @return  false if too many are pending
 */
bool moment_add(const struct fault *fault, void (*happen)(const struct fault *fault));

/** Cancel pending faults of this device and name. */
void moment_forget(const struct fault *fault);

#endif
