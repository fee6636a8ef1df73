// SPDX-License-Identifier: MIT
/** Error messages; see failure.h. */
#include "runtime/file/failure.h"

#include "driver/base/ethosu_text.h"

int(error_set)(struct ethosu_model_error *error, int status, const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    struct ethosu_text out = {error->text, sizeof error->text, 0};
    va_list arguments;
    va_start(arguments, format);
    ethosu_ext_text_vprint(&out, format, &arguments);
    va_end(arguments);
    (void)ethosu_ext_text_end(&out);
    return status;
}

#ifdef ETHOSU_MESSAGES_TERSE
int error_at(struct ethosu_model_error *error, int status, const char *file, unsigned line)
{
    return (error_set)(error, status, "refused at %s:%u", file, line);
}
#endif
