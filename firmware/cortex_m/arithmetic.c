// SPDX-License-Identifier: MIT
/**
 * Functions of the C library and of libgcc, with the same results and less code.
 *
 * newlib's sqrt() also sets errno, but MicroPython looks at the result itself. libgcc converts
 * 64-bit integers without the FPU.
 */
#include "arithmetic.h"

// With a double-precision FPU; without one they would need the functions that they replace.
#if defined(__ARM_FP) && (__ARM_FP & 8)
// Arm's run-time ABI names these functions, and passes all numbers in core registers.
#define RUN_TIME_ABI __attribute__((pcs("aapcs")))
double sqrt(double x);
float sqrtf(float x);
RUN_TIME_ABI double __aeabi_ul2d(uint64_t value);
RUN_TIME_ABI double __aeabi_l2d(int64_t value);
RUN_TIME_ABI float __aeabi_ul2f(uint64_t value);
RUN_TIME_ABI float __aeabi_l2f(int64_t value);

double sqrt(double x)
{
    double root;
    __asm("vsqrt.f64 %P0, %P1" : "=w"(root) : "w"(x));
    return root;
}

float sqrtf(float x)
{
    float root;
    __asm("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
    return root;
}

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
