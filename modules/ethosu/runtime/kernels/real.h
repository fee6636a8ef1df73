// SPDX-License-Identifier: MIT
/**
 * Arithmetic in double precision without the C library, whose part for doubles
 * some MicroPython ports do not link. So the result is the same on each of them.
 *
 * -fsingle-precision-constant, which ports use, makes 0.1 a float: write a double
 * constant that no float equals as (double)0.1L, or as integers: (double)1 / 10.
 */
#ifndef REAL_H
#define REAL_H

#include <stdint.h>

/** e^x, off by less than the spacing of doubles there. */
double real_exp(double x);

/** The nearest integer, halves away from zero; |x| below 2^31. */
static inline int32_t real_round(double x)
{
    int32_t whole = (int32_t)x;
    double rest = x - whole;
    return whole + (2 * rest >= 1) - (2 * rest <= -1);
}

#endif
