// SPDX-License-Identifier: MIT
/** The bytes of a model: a buffer, a file in ROM, a file that is read. */
#ifndef SOURCE_H
#define SOURCE_H

#include "py/obj.h"

struct source {
    const void *data;
    size_t size; /**< bytes */
    bool copied; /**< read from a file into RAM */
};

/** Get the bytes of a path or a buffer, in place if possible. Raises. */
void source_open(mp_obj_t from, struct source *source);

#endif
