// SPDX-License-Identifier: MIT
/** Builds short texts without the C library's printf; the driver and the runtime use it. */
#ifndef ETHOSU_TEXT_H
#define ETHOSU_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/** A text under construction. `length` also counts the characters that do not fit. */
struct ethosu_text {
    char *start;
    size_t size; /**< bytes of the buffer, the final NUL included */
    size_t length;
};

/** Append a character; '?' replaces anything but printable ASCII, since names come from files. */
void ethosu_ext_text_char(struct ethosu_text *text, char c);

/** Append formatted text like printf(); supports %s, %.*s, %c, %d, %u and %x (int, unsigned int).
 */
void ethosu_ext_text_print(struct ethosu_text *text, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void ethosu_ext_text_vprint(struct ethosu_text *text, const char *format, va_list *arguments);

/** Append a number in hexadecimal, without a prefix. */
void ethosu_ext_text_hex(struct ethosu_text *text, uint64_t number);

/** End the text with a NUL unless size is 0; returns `length`. */
size_t ethosu_ext_text_end(const struct ethosu_text *text);

#endif
