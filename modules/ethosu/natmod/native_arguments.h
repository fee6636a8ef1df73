// SPDX-License-Identifier: MIT
/** MicroPython exceptions and arguments for the functions of the native module. */
#ifndef NATIVE_ARGUMENTS_H
#define NATIVE_ARGUMENTS_H

#include <stdbool.h>

#include "binding/call/arguments.h"
#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "hooks.h"
#include "py/dynruntime.h"

#define NATIVE_ALIGNMENT 32u /**< of a cache line, which is sufficient for the NPU too */

extern struct ethosu_driver natmod_npus[NATMOD_NPUS];
extern uint8_t natmod_ready[NATMOD_NPUS];

/** A str of a C string. */
mp_obj_t native_new_text(const char *string);

/** Raise an exception with the runtime's reason if it rejected a model. */
void native_check_model(int status, const struct ethosu_model_error *error);

/** The NPU of an index. Raises OSError(ENODEV). */
struct ethosu_driver *native_npu_of(mp_obj_t index_in);

/** The memory of a buffer. Raises a TypeError that names the argument. */
mp_buffer_info_t native_buffer_of(mp_obj_t object, unsigned flags, const char *what);

/** The first whole cache line of a buffer. */
void *native_aligned(const mp_buffer_info_t *buffer);

/** Header of a model's object. */
struct native_model {
    struct ethosu_model *model; /**< in the same object */
    mp_buffer_info_t arena;     /**< as they were at load time */
    mp_buffer_info_t file;
};

_Static_assert(sizeof(struct native_model) <= NATIVE_ALIGNMENT, "it fits into one line");

/** The header of a model's object. */
struct native_model *native_header_of(mp_obj_t object);

/**
 * Is a buffer still at the same address? If it was resized, its old memory may have been reused.
 */
bool native_is_unmoved(mp_obj_t object, const mp_buffer_info_t *then);

/** The model of a tuple: object, arena, file. Raises ValueError if one of them was resized. */
struct ethosu_model *native_model_of(mp_obj_t memory);

#endif
