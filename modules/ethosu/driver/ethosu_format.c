// SPDX-License-Identifier: MIT
/** Builds short texts; see ethosu_format.h. */
#include "ethosu_format.h"

#include <string.h>

void ethosu_ext_text_char(struct ethosu_text *text, char c)
{
    if (text->length + 1 < text->size) {
        text->start[text->length] = c >= ' ' && c <= '~' ? c : '?';
    }
    text->length++;
}

void ethosu_ext_text_bytes(struct ethosu_text *text, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ethosu_ext_text_char(text, bytes[i]);
    }
}

void ethosu_ext_text_string(struct ethosu_text *text, const char *string)
{
    ethosu_ext_text_bytes(text, string, strlen(string));
}

void ethosu_ext_text_decimal(struct ethosu_text *text, uint32_t number)
{
    uint32_t unit = 1;
    while (number / unit >= 10) {
        unit *= 10;
    }
    for (; unit > 0; unit /= 10) {
        ethosu_ext_text_char(text, (char)('0' + number / unit % 10));
    }
}

void ethosu_ext_text_hex(struct ethosu_text *text, uint64_t number)
{
    int shift = 60;
    while (shift > 0 && number >> shift == 0) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        ethosu_ext_text_char(text, "0123456789abcdef"[number >> shift & 15]);
    }
}

size_t ethosu_ext_text_end(const struct ethosu_text *text)
{
    if (text->size > 0) {
        text->start[text->length < text->size ? text->length : text->size - 1] = '\0';
    }
    return text->length;
}
