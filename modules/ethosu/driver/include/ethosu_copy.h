// SPDX-License-Identifier: MIT
/** A copy by the CPU, for arm_ethos_io_memcpy(): with vectors, where the core has them. */
#ifndef ETHOSU_COPY_H
#define ETHOSU_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_MVE)
/**
 * Copy `size` bytes between non-overlapping ranges of any alignment in normal memory. It takes 9
 * instructions for 64 bytes; newlib's memcpy(), which has no vectors, takes 36.
 */
static inline void ethosu_ext_copy(void *dst, const void *src, size_t size)
{
    // The compiler's loop of 64 bytes takes 12, and it has none that masks the last vector.
    __asm volatile("    wls      lr, %2, 2f       \n"
                   "1:  vldrb.8  q0, [%1], #16    \n"
                   "    vldrb.8  q1, [%1], #16    \n"
                   "    vldrb.8  q2, [%1], #16    \n"
                   "    vldrb.8  q3, [%1], #16    \n"
                   "    vstrb.8  q0, [%0], #16    \n"
                   "    vstrb.8  q1, [%0], #16    \n"
                   "    vstrb.8  q2, [%0], #16    \n"
                   "    vstrb.8  q3, [%0], #16    \n"
                   "    le       lr, 1b           \n"
                   "2:  wlstp.8  lr, %3, 4f       \n"
                   "3:  vldrb.8  q0, [%1], #16    \n"
                   "    vstrb.8  q0, [%0], #16    \n"
                   "    letp     lr, 3b           \n"
                   "4:                            \n"
                   : "+&r"(dst), "+&r"(src)
                   : "r"(size / 64), "r"(size % 64)
                   : "lr", "q0", "q1", "q2", "q3", "memory");
}
#else
/** Copy `size` bytes between non-overlapping ranges. */
static inline void ethosu_ext_copy(void *dst, const void *src, size_t size)
{
    memcpy(dst, src, size);
}
#endif

#endif
