// SPDX-License-Identifier: MIT
/** Faults as numbers. Replaces the driver's ethosu_messages.c in a build without messages. */
#include "ethosu_ext.h"
#include "driver/base/ethosu_count.h"
#include "driver/base/ethosu_text.h"

/** "1c 3 64 0 2": code, index, found, expected and STATUS, all hexadecimal. */
size_t ethosu_ext_describe(const struct ethosu_ext_fault *fault, char *text, size_t size)
{
    const uint64_t numbers[] = {0u - (unsigned)fault->code, (uint32_t)fault->index, fault->found,
                                fault->expected, fault->status};
    struct ethosu_text out = {text, size, 0};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (i > 0) {
            ethosu_ext_text_char(&out, ' ');
        }
        ethosu_ext_text_hex(&out, numbers[i]);
    }
    return ethosu_ext_text_end(&out);
}
