// SPDX-License-Identifier: MIT
/** Error sentences; see error.h. */
#include "error.h"

#include "ethosu_format.h"

#include <stdarg.h>
#include <string.h>

/** Write one argument; returns the format behind its directive. */
static const char *put_argument(struct ethosu_text *out, const char *directive, va_list *arguments)
{
    if (*directive == '.') {
        int length = va_arg(*arguments, int);
        ethosu_ext_text_bytes(out, va_arg(*arguments, const char *), (size_t)length);
        return directive + strlen(".*s");
    }
    if (*directive == 's') {
        ethosu_ext_text_string(out, va_arg(*arguments, const char *));
    } else if (*directive == 'd') {
        int32_t number = va_arg(*arguments, int);
        if (number < 0) {
            ethosu_ext_text_char(out, '-');
        }
        ethosu_ext_text_decimal(out, number < 0 ? 0u - (uint32_t)number : (uint32_t)number);
    } else if (*directive == 'x') {
        ethosu_ext_text_hex(out, va_arg(*arguments, unsigned));
    } else {
        ethosu_ext_text_decimal(out, va_arg(*arguments, unsigned));
    }
    return directive + 1;
}

int(error_set)(struct ethosu_model_error *error, int status, const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    struct ethosu_text out = {error->text, sizeof error->text, 0};
    va_list arguments;
    va_start(arguments, format);
    while (*format != '\0') {
        if (*format == '%') {
            format = put_argument(&out, format + 1, &arguments);
        } else {
            ethosu_ext_text_char(&out, *format++);
        }
    }
    va_end(arguments);
    ethosu_ext_text_end(&out);
    return status;
}

#ifdef ETHOSU_MESSAGES_TERSE
int error_at(struct ethosu_model_error *error, int status, const char *file, unsigned line)
{
    return (error_set)(error, status, "refused at %s:%u", file, line);
}
#endif
