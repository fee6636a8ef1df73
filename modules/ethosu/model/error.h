// SPDX-License-Identifier: MIT
/** Error sentences without the C library's printf, which is larger than the runtime. */
#ifndef ERROR_H
#define ERROR_H

#include "ethosu_model.h"

/**
 * Write a sentence; knows %s, %.*s, %u and %x (unsigned int), and cuts what does not fit.
 *
 * @param error   may be NULL
 * @param status  answered as it is, so that a caller can write `return error_set(...)`
 */
int error_set(struct ethosu_model_error *error, int status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#endif
