// SPDX-License-Identifier: MIT
/** Error messages, without the C library's printf, which is larger than the runtime. */
#ifndef FAILURE_H
#define FAILURE_H

#include "ethosu_model.h"

/**
 * Format a message; supports %s, %.*s, %d, %u and %x (int, unsigned int). Text that does not fit is
 * truncated.
 *
 * @param error   may be NULL
 * @param status  returned unchanged, so that a caller can write `return error_set(...)`
 */
int error_set(struct ethosu_model_error *error, int status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/** Return from the caller with the status of a call that failed. */
#define TRY(call)                            \
    do {                                     \
        int try_status = (call);             \
        if (try_status != ETHOSU_MODEL_OK) { \
            return try_status;               \
        }                                    \
    } while (0)

#ifdef ETHOSU_MESSAGES_TERSE
/** Report the position in the runtime's source instead of a message. */
int error_at(struct ethosu_model_error *error, int status, const char *file, unsigned line);

// The compiler checks the arguments; they are not evaluated.
#define error_set(error, status, ...)                     \
    ((void)sizeof(error_set(error, status, __VA_ARGS__)), \
     error_at(error, status, __FILE_NAME__, __LINE__))
#endif

#endif
