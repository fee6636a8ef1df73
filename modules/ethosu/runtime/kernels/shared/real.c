// SPDX-License-Identifier: MIT
#include "runtime/kernels/shared/real.h"

#include <string.h>

/** 2^exponent for the exponents of normal numbers, -1022 to 1023. */
static double power_of_two(int32_t exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/**
 * x = k ln 2 + r, so e^x = 2^k e^r. |r| is below 0.35, so thirteen terms of the
 * series of e^r leave an error far below the last bit. ln 2 is split into two
 * parts; the upper one has few enough bits that its product with k is exact.
 */
double real_exp(double x)
{
    static const double ln2_high = (double)0x1.62e42fee00000p-1L;
    static const double ln2_low = (double)0x1.a39ef35793c76p-33L;
    static const double log2_e = (double)0x1.71547652b82fep+0L;
    enum { TERMS = 13, LARGEST = 710, SMALLEST = -746 }; // beyond: infinite, 0

    if (x != x) {
        return x;
    }
    if (x >= LARGEST) {
        return power_of_two(1023) * 2;
    }
    if (x <= SMALLEST) {
        return 0;
    }
    int32_t k = real_round(x * log2_e);
    double r = x - k * ln2_high - k * ln2_low;
    double sum = 1;
    for (int32_t n = TERMS; n > 0; n--) {
        sum = 1 + r * sum / n;
    }
    int32_t half = k / 2; // in two steps, because 2^k alone may not be a normal number
    return sum * power_of_two(half) * power_of_two(k - half);
}
