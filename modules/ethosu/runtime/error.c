// SPDX-License-Identifier: MIT
/** Error sentences; see error.h. */
#include "error.h"

#include <stdarg.h>
#include <string.h>

struct sentence {
    char *next;
    char *end;
};

static void put_bytes(struct sentence *out, const char *bytes, size_t length)
{
    size_t room = (size_t)(out->end - out->next);
    size_t fitting = length < room ? length : room;
    for (size_t i = 0; i < fitting; i++) {
        // Names come from files: nothing in them may drive a terminal.
        out->next[i] = bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '?';
    }
    out->next += fitting;
}

static void put_number(struct sentence *out, unsigned value, unsigned radix)
{
    char digits[10];
    size_t first = sizeof digits;
    do {
        digits[--first] = "0123456789abcdef"[value % radix];
        value /= radix;
    } while (value != 0);
    put_bytes(out, digits + first, sizeof digits - first);
}

/** Write one argument; returns the format behind its directive. */
static const char *put_argument(struct sentence *out, const char *directive, va_list *arguments)
{
    if (*directive == '.') {
        int length = va_arg(*arguments, int);
        put_bytes(out, va_arg(*arguments, const char *), (size_t)length);
        return directive + strlen(".*s");
    }
    if (*directive == 's') {
        const char *text = va_arg(*arguments, const char *);
        put_bytes(out, text, strlen(text));
    } else {
        put_number(out, va_arg(*arguments, unsigned), *directive == 'x' ? 16 : 10);
    }
    return directive + 1;
}

int(error_set)(struct ethosu_model_error *error, int status, const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    struct sentence out = {error->text, error->text + sizeof error->text - 1};
    va_list arguments;
    va_start(arguments, format);
    while (*format != '\0') {
        if (*format == '%') {
            format = put_argument(&out, format + 1, &arguments);
        } else {
            put_bytes(&out, format++, 1);
        }
    }
    va_end(arguments);
    *out.next = '\0';
    return status;
}

#ifdef ETHOSU_MESSAGES_TERSE
int error_at(struct ethosu_model_error *error, int status, const char *file, unsigned line)
{
    return (error_set)(error, status, "refused at %s:%u", file, line);
}
#endif
