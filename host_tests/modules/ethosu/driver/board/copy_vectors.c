// SPDX-License-Identifier: MIT
/** The copy with vectors, on a Cortex-M55: every small size, from and to any alignment. */
#include "ethosu_copy.h"
#include "guest.h"

#if !defined(__ARM_FEATURE_MVE)
#error "the compiler's options have no vectors"
#endif

#define LARGEST 200u
#define AROUND 16u

static volatile uint8_t source[LARGEST + 2 * AROUND], target[LARGEST + 3 * AROUND];

/** The bytes that are wrong: in the range, before or after it. */
static uint32_t wrong_bytes(uint32_t from, uint32_t to, uint32_t size)
{
    for (uint32_t i = 0; i < sizeof source; i++) {
        source[i] = (uint8_t)(i * 7 + size + 1);
    }
    for (uint32_t i = 0; i < sizeof target; i++) {
        target[i] = 0xA5;
    }
    ethosu_ext_copy((uint8_t *)target + to, (const uint8_t *)source + from, size);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < sizeof target; i++) {
        uint8_t copied = source[i - to + from < sizeof source ? i - to + from : 0];
        wrong += target[i] != (i >= to && i < to + size ? copied : 0xA5);
    }
    return wrong;
}

SCENARIO(copy_vectors)
{
    uint32_t wrong = 0, copies = 0;
    for (uint32_t from = 0; from < AROUND; from += 5) {
        for (uint32_t to = AROUND; to < 2 * AROUND; to += 3) {
            for (uint32_t size = 0; size <= LARGEST; size++, copies++) {
                wrong += wrong_bytes(from, to, size);
            }
        }
    }
    report("copies", copies);
    report("wrong", wrong);
}
