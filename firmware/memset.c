// SPDX-License-Identifier: MIT
/**
 * memset() with vectors. At start-up and when a model is loaded, most of the time went to newlib's,
 * which takes 7 instructions for 16 bytes: Python's heap is cleared by it, and so is its table.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __ARM_FEATURE_MVE
#include <arm_mve.h>

void *memset(void *memory, int value, size_t size);

/** A loop whose last turn stores the bytes that are left: two instructions for 16 bytes. */
void *memset(void *memory, int value, size_t size)
{
    uint8_t *to = memory;
    __asm volatile("wlstp.8 lr, %[size], 2f          \n"
                   "1:                               \n"
                   "vstrb.8 %q[bytes], [%[to]], #16  \n"
                   "letp    lr, 1b                   \n"
                   "2:                               \n"
                   : [to] "+r"(to)
                   : [size] "r"(size), [bytes] "w"(vdupq_n_u8((uint8_t)value))
                   : "lr", "memory");
    return memory;
}
#endif
