// SPDX-License-Identifier: MIT
/** Builds short texts without the C library's printf; the driver and the runtime use it. */
#ifndef ETHOSU_FORMAT_H
#define ETHOSU_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/** A text under construction. `length` also counts the characters that do not fit. */
struct ethosu_text {
    char *start;
    size_t size; /**< bytes of the buffer, the final NUL included */
    size_t length;
};

/** Append a character; '?' replaces all but printable ASCII, since names come from files. */
void ethosu_ext_text_char(struct ethosu_text *text, char c);

void ethosu_ext_text_bytes(struct ethosu_text *text, const char *bytes, size_t count);
void ethosu_ext_text_string(struct ethosu_text *text, const char *string);

/** Append a number in decimal. */
void ethosu_ext_text_decimal(struct ethosu_text *text, uint32_t number);

/** Append a number in hexadecimal, without a prefix. */
void ethosu_ext_text_hex(struct ethosu_text *text, uint64_t number);

/** End the text with a NUL, as long as size is not 0; returns `length`. */
size_t ethosu_ext_text_end(const struct ethosu_text *text);

#endif
