// SPDX-License-Identifier: MIT
/** A copy by the CPU, for arm_ethos_io_memcpy(): with vectors, where the core has them. */
#ifndef ETHOSU_COPY_H
#define ETHOSU_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

/**
 * Copy `size` bytes between non-overlapping ranges of any alignment in normal memory. It takes 10
 * instructions for 64 bytes; newlib's memcpy(), which has no vectors, takes 36.
 */
static inline void ethosu_ext_copy(void *dst, const void *src, size_t size)
{
    enum { VECTOR = 16, BLOCK = 4 * VECTOR };
    uint8_t *to = (uint8_t *)dst;
    const uint8_t *from = (const uint8_t *)src;
    for (; size >= BLOCK; size -= BLOCK) {
        uint8x16_t a = vldrbq_u8(from), b = vldrbq_u8(from + VECTOR);
        uint8x16_t c = vldrbq_u8(from + 2 * VECTOR), d = vldrbq_u8(from + 3 * VECTOR);
        vstrbq_u8(to, a);
        vstrbq_u8(to + VECTOR, b);
        vstrbq_u8(to + 2 * VECTOR, c);
        vstrbq_u8(to + 3 * VECTOR, d);
        from += BLOCK;
        to += BLOCK;
    }
    // The compiler has no loop of this kind, which masks the last vector by itself.
    __asm volatile("    wlstp.8  lr, %2, 2f       \n"
                   "1:  vldrb.8  q0, [%1], #16    \n"
                   "    vstrb.8  q0, [%0], #16    \n"
                   "    letp     lr, 1b           \n"
                   "2:                            \n"
                   : "+r"(to), "+r"(from)
                   : "r"(size)
                   : "lr", "q0", "memory");
}
#else
/** Copy `size` bytes between non-overlapping ranges. */
static inline void ethosu_ext_copy(void *dst, const void *src, size_t size)
{
    memcpy(dst, src, size);
}
#endif

#endif
