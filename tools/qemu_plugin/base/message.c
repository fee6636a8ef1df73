// SPDX-License-Identifier: MIT
/** Lines on the host's stderr. */
#include "base/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum message_level wanted = MESSAGE_GUEST_ERROR;

void message_set_level(enum message_level level)
{
    wanted = level;
}

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    dprintf(STDERR_FILENO, "%s: %s\n", prefix, text);
}

void message(enum message_level level, const char *format, ...)
{
    if (level > wanted) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    print_line("ethosu", format, arguments);
    va_end(arguments);
}

void fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    // The tools tell it by this prefix from firmware that ends with the same exit code.
    print_line("ethosu: fatal", format, arguments);
    va_end(arguments);
    exit(EXIT_FAILURE);
}
