// SPDX-License-Identifier: MIT
/** Builds short texts, and the names of accelerator configs; see ethosu_text.h. */
#include "driver/base/ethosu_text.h"
#include "driver/base/ethosu_count.h"

#include "ethosu_ext.h"
#include "driver/base/ethosu_registers.h"

#include <string.h>

void ethosu_ext_text_char(struct ethosu_text *text, char c)
{
    if (text->length + 1 < text->size) {
        text->start[text->length] = c >= ' ' && c <= '~' ? c : '?';
    }
    text->length++;
}

static void put_decimal(struct ethosu_text *text, uint32_t number)
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

/** Append one argument; returns the format after its directive. */
static const char *put_argument(struct ethosu_text *text, const char *directive, va_list *arguments)
{
    if (*directive == '.' || *directive == 's') {
        const bool limited = *directive == '.';
        const int limit = limited ? va_arg(*arguments, int) : 0;
        const char *bytes = va_arg(*arguments, const char *);
        // With no bytes the pointer may be NULL, and adding even 0 to NULL is undefined.
        for (size_t left = limited ? (size_t)limit : strlen(bytes); left > 0; left--) {
            ethosu_ext_text_char(text, *bytes++);
        }
        return directive + (limited ? strlen(".*s") : 1);
    }
    uint32_t number = va_arg(*arguments, unsigned);
    if (*directive == 'c') {
        ethosu_ext_text_char(text, (char)number);
        return directive + 1;
    }
    if (*directive == 'x') {
        ethosu_ext_text_hex(text, number);
        return directive + 1;
    }
    if (*directive == 'd' && (int32_t)number < 0) {
        ethosu_ext_text_char(text, '-');
        number = 0u - number;
    }
    put_decimal(text, number);
    return directive + 1;
}

void ethosu_ext_text_vprint(struct ethosu_text *text, const char *format, va_list *arguments)
{
    while (*format != '\0') {
        if (*format == '%') {
            format = put_argument(text, format + 1, arguments);
        } else {
            ethosu_ext_text_char(text, *format++);
        }
    }
}

void ethosu_ext_text_print(struct ethosu_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ethosu_ext_text_vprint(text, format, &arguments);
    va_end(arguments);
}

size_t ethosu_ext_text_end(const struct ethosu_text *text)
{
    if (text->size > 0) {
        text->start[text->length < text->size ? text->length : text->size - 1] = '\0';
    }
    return text->length;
}

/* ---- configs, in Vela's spelling ---- */

static const uint8_t products[] = {55, 65, 85};

void ethosu_ext_config_name(uint32_t config, char name[ETHOSU_EXT_CONFIG_NAME_SIZE])
{
    uint32_t product = NPU_CONFIG_PRODUCT(config);
    struct ethosu_text text = {name, ETHOSU_EXT_CONFIG_NAME_SIZE, 0};
    if (product < COUNT(products)) {
        ethosu_ext_text_print(&text, "ethos-u%u-%u", products[product],
                              1u << NPU_CONFIG_MACS(config));
    } else {
        ethosu_ext_text_print(&text, "unknown");
    }
    (void)ethosu_ext_text_end(&text);
}

bool ethosu_ext_config_parse(const char *name, uint32_t *config)
{
    for (uint32_t number = 0; number < 16 * COUNT(products); number++) {
        const uint32_t candidate = number / 16 << 28 | number % 16;
        char spelled[ETHOSU_EXT_CONFIG_NAME_SIZE];
        ethosu_ext_config_name(candidate, spelled);
        if (strcmp(spelled, name) == 0) {
            *config = candidate;
            return true;
        }
    }
    return false;
}
