// SPDX-License-Identifier: MIT
/** The bytes of a model: a buffer, a file in ROM, a file that is read. */
#ifndef SOURCE_H
#define SOURCE_H

#include "py/obj.h"

struct source {
    const void *data;
    size_t size;     /**< bytes */
    bool copied;     /**< read from a file into RAM */
    bool may_change; /**< Python can write there */
};

/** Can Python write to the memory of a buffer while the NPU reads it? */
bool source_may_change(mp_obj_t owner, const mp_buffer_info_t *buffer);

/**
 * Get the bytes of a path or a buffer, in place if possible. Raises.
 *
 * @param what  name of the argument, for the message
 */
void source_open(mp_obj_t from, const char *what, struct source *source);

#endif
