// SPDX-License-Identifier: MIT
/** Faults delayed to a later guest time. */
#ifndef DELAYED_FAULTS_H
#define DELAYED_FAULTS_H

#include <stdbool.h>

#include "faults.h"

/**
 * Call `inject` with the fault when its time has come.
 *
 * @return  false if too many are pending
 */
bool delayed_fault_add(const struct fault *fault, void (*inject)(const struct fault *fault));

/** Cancel pending faults of this device and name. */
void delayed_fault_cancel(const struct fault *fault);

#endif
