// SPDX-License-Identifier: MIT
/**
 * Double-precision arithmetic without the C library, whose functions for doubles
 * some MicroPython ports do not link. Results are the same on all ports.
 *
 * Ports use -fsingle-precision-constant, which makes 0.1 a float. Write a constant
 * that is not exact as a float as (double)0.1L, or with integers: (double)1 / 10.
 */
#ifndef REAL_H
#define REAL_H

#include <stdint.h>

/** e^x, with an error of less than the spacing of doubles at the result. */
double real_exp(double x);

/** The nearest integer, halves away from zero; |x| below 2^31. */
static inline int32_t real_round(double x)
{
    int32_t whole = (int32_t)x;
    double rest = x - whole;
    return whole + (2 * rest >= 1) - (2 * rest <= -1);
}

#endif
