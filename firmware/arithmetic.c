// SPDX-License-Identifier: MIT
/**
 * Functions of the C library and of libgcc, with the same results and less code.
 *
 * newlib's acos() and others call the function proper, and set errno if its result is not a number
 * or not finite. MicroPython looks at the result itself. libgcc converts 64-bit integers without
 * the FPU.
 */
#include "arithmetic.h"

#define WITHOUT_ERRNO(NAME, TYPE)   \
    TYPE NAME(TYPE x);              \
    TYPE __ieee754_##NAME(TYPE x);  \
    TYPE NAME(TYPE x)               \
    {                               \
        return __ieee754_##NAME(x); \
    }

WITHOUT_ERRNO(acos, double)
WITHOUT_ERRNO(acosh, double)
WITHOUT_ERRNO(asin, double)
WITHOUT_ERRNO(atanh, double)
WITHOUT_ERRNO(cosh, double)
WITHOUT_ERRNO(log10, double)
WITHOUT_ERRNO(sinh, double)
WITHOUT_ERRNO(sqrt, double)
WITHOUT_ERRNO(sqrtf, float)

double __ieee754_lgamma_r(double x, int *sign);
double __ieee754_gamma_r(double x, int *sign);
double lgamma(double x);
double tgamma(double x);

double lgamma(double x)
{
    int sign;
    return __ieee754_lgamma_r(x, &sign);
}

double tgamma(double x)
{
    int sign;
    double result = __ieee754_gamma_r(x, &sign);
    return sign < 0 ? -result : result;
}

// With a double-precision FPU; without one they would need the functions that they replace.
#if defined(__ARM_FP) && (__ARM_FP & 8)
// Arm's run-time ABI names these functions, and passes all numbers in core registers.
#define RUN_TIME_ABI __attribute__((pcs("aapcs")))
RUN_TIME_ABI double __aeabi_ul2d(uint64_t value);
RUN_TIME_ABI double __aeabi_l2d(int64_t value);
RUN_TIME_ABI float __aeabi_ul2f(uint64_t value);
RUN_TIME_ABI float __aeabi_l2f(int64_t value);

double __aeabi_ul2d(uint64_t value)
{
    return unsigned_to_double(value);
}

double __aeabi_l2d(int64_t value)
{
    return signed_to_double(value);
}

float __aeabi_ul2f(uint64_t value)
{
    return unsigned_to_float(value);
}

float __aeabi_l2f(int64_t value)
{
    return signed_to_float(value);
}
#endif
