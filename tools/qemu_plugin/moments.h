// SPDX-License-Identifier: MIT
/** Faults that wait for their moment in the guest's time. */
#ifndef MOMENTS_H
#define MOMENTS_H

#include <stdbool.h>

#include "faults.h"

/**
 * Call `happen` with the fault when its time has come.
 *
 * @return  false: too many wait
 */
bool moment_add(const struct fault *fault, void (*happen)(const struct fault *fault));

/** Forget what waits under this device and name. */
void moment_forget(const struct fault *fault);

#endif
