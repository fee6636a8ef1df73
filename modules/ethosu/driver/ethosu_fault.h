// SPDX-License-Identifier: MIT
/** How the driver's files state why they refuse. */
#ifndef ETHOSU_FAULT_H
#define ETHOSU_FAULT_H

#include "ethosu_types.h"

/** Fill in a fault (NULL: nobody wants to know). @return code */
int ethosux_refuse(struct ethosux_fault *fault, int code, int index, uint64_t found,
                   uint64_t expected);

#endif
