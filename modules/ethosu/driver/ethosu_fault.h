// SPDX-License-Identifier: MIT
/** How the driver's files state why they refuse. */
#ifndef ETHOSU_FAULT_H
#define ETHOSU_FAULT_H

#include "ethosu_types.h"

/** Log a fault and hand it to the caller (NULL: nobody wants to know). @return its code */
int ethosux_report(struct ethosux_fault *fault, const struct ethosux_fault *what);

/** The same for a fault of these numbers alone. */
int ethosux_refuse_wide(struct ethosux_fault *fault, int code, int index, uint64_t found,
                        uint64_t expected);

/** The same for numbers that have no more bits than an address. */
int ethosux_refuse(struct ethosux_fault *fault, int code, int index, size_t found, size_t expected);

/** The same for a sentence without these numbers. */
int ethosux_fail(struct ethosux_fault *fault, int code, int index);

#endif
