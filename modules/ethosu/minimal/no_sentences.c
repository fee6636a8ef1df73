// SPDX-License-Identifier: MIT
/** Faults in numbers: what a terse build has instead of the driver's ethosu_sentences.c. */
#include "ethosu_ext.h"

static size_t put_char(char *text, size_t size, size_t length, char c)
{
    if (length < size) {
        text[length] = length + 1 < size ? c : '\0';
    }
    return length + 1;
}

/** "1c 3 64 0 2": code, index, found, expected and STATUS, all hexadecimal. */
size_t ethosu_ext_describe(const struct ethosu_ext_fault *fault, char *text, size_t size)
{
    const uint64_t numbers[] = {0u - (unsigned)fault->code, (uint32_t)fault->index, fault->found,
                                fault->expected, fault->status};
    size_t length = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int shift = 60;
        while (shift > 0 && numbers[i] >> shift == 0) {
            shift -= 4;
        }
        for (; shift >= 0; shift -= 4) {
            length = put_char(text, size, length, "0123456789abcdef"[numbers[i] >> shift & 15]);
        }
        length = put_char(text, size, length, ' ');
    }
    (void)put_char(text, size, --length, '\0');
    return length;
}
