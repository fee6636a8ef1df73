// SPDX-License-Identifier: MIT
/** Where a model's bytes come from. */
#ifndef SOURCE_H
#define SOURCE_H

#include "py/obj.h"

struct source {
    const void *data;
    size_t size;    /**< bytes */
    mp_obj_t owner; /**< keeps them where they are */
    bool copied;    /**< read from a file into RAM */
};

/** Get at the bytes of a path or a buffer, in place when they can be. Raises. */
void source_open(mp_obj_t from, struct source *source);

#endif
