// SPDX-License-Identifier: MIT
/** Square roots of integers. */
#ifndef MICRO_SQRT_H
#define MICRO_SQRT_H

#include <stdint.h>

/** Nearest integer to the square root; saturates at 16 bits for a 32-bit number. */
uint32_t micro_sqrt(uint64_t number);

#endif
