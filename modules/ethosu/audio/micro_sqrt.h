// SPDX-License-Identifier: MIT
/** Square roots of integers. */
#ifndef MICRO_SQRT_H
#define MICRO_SQRT_H

#include <stdint.h>

/** Nearest integer to the square root, at most what 16 bits hold if the number has 32. */
uint32_t micro_sqrt(uint64_t number);

#endif
