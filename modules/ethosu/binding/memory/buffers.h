// SPDX-License-Identifier: MIT
/** Memory that models and NPUs use: blocks of the heap, buffers of the caller, files. */
#ifndef BUFFERS_H
#define BUFFERS_H

#include "py/obj.h"

/* ---- pinned blocks ----
 *
 * Keeping an object alive does not keep its memory: bytearray.extend() moves the bytes to another
 * block and frees the old one. The linker replaces MicroPython's gc_free() and gc_realloc() with
 * wrappers in buffers.c (`--wrap`, see micropython.mk). They leave a pinned block to the collector,
 * which frees it when it is no longer referenced. The caller's object may therefore move while the
 * NPU continues to use the old block. This adds no cost to an inference.
 */

/** Blocks used by one model or job. Part of its object, which the collector frees. */
struct pins {
    struct pins *next; /**< no block begins there, so the collector does not follow it */
    void *const *block;
    size_t count;
    void (*invalidate)(struct pins *pins); /**< a ROM below a block is written; NULL for a job */
};

/**
 * Start of the heap block that holds these bytes, which the collector needs; `data` itself if they
 * are not on the heap. Raises ValueError if they are not in a single block.
 *
 * @param what  name of the argument, for the message
 * @param room  set to the bytes from `data` to the block's end; may be NULL
 */
void *pin_block_of(const void *data, size_t size, const char *what, size_t *room);

/** Pin these blocks until pin_remove(). `pins` must not be in use. */
void pin_add(struct pins *pins, void *const *block, size_t count,
             void (*invalidate)(struct pins *pins));

/** Iterate over the pinned objects: pass NULL for the first; returns NULL after the last. */
struct pins *pin_next(const struct pins *pins);

/** A second call does nothing. */
void pin_remove(struct pins *pins);

/** These bytes, outside of the heap, are about to be overwritten: call `invalidate` of pins there.
 */
void pin_invalidate(const void *start, size_t size);

/** For soft reset: unpin everything. */
void pin_remove_all(void);

/* ---- allocated blocks ---- */

/** A block of the heap that shares no cache line with other objects. */
struct block {
    void *start; /**< start of the block, for the collector */
    void *data;  /**< aligned for the NPU and to cache lines */
    size_t size; /**< bytes from data on, whole cache lines */
};

/** Round up to the alignment that the NPU and the cache need. */
size_t binding_align(size_t value);

/** Can an NPU read blocks of Python's heap? */
bool binding_npu_reads_heap(void);

/** Allocate a block of at least `size` bytes. Raises; `what` is for the message. */
struct block binding_allocate(size_t size, const char *what);

/**
 * A memoryview of memory, which keeps the memory's block of the heap alive. Raises.
 *
 * @param block     start of the block that holds the memory, from pin_block_of()
 * @param typecode  of the elements, with or without MP_OBJ_ARRAY_TYPECODE_FLAG_RW
 * @param count     number of elements
 */
mp_obj_t binding_view(const void *data, const void *block, size_t typecode, size_t count);

/**
 * Size of a buffer, including the rest of its last cache line if no other data can be there, as
 * with buffers from ethosu.buffer().
 *
 * @param room  bytes from the buffer's start to the end of its heap block
 */
size_t binding_whole_lines(const mp_buffer_info_t *buffer, size_t room);

/* ---- files ---- */

/** The bytes of a model: a buffer, a file in ROM, or a file that was read. */
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
