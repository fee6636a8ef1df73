// SPDX-License-Identifier: MIT
/**
 * Blocks of the heap in which models and NPUs work, pinned: they stay where they are.
 *
 * That an object is alive does not keep its memory: bytearray.extend() moves the bytes to another
 * block, and frees the old one. The linker puts this file's functions in the place of MicroPython's
 * gc_free() and gc_realloc() (`--wrap`, see micropython.mk): they leave a pinned block to the
 * collector, which frees it when nothing points to it any more. So the caller's object may move,
 * and the NPU works on in the old block. An inference pays nothing for this.
 */
#ifndef PIN_H
#define PIN_H

#include "py/obj.h"

/** The blocks that one model or one job uses. Part of its object, which the collector frees. */
struct pins {
    struct pins *next; /**< no block begins there, so the collector does not follow it */
    void *const *block;
    size_t count;
    void (*lose)(struct pins *pins); /**< a ROM below a block is written; NULL for a job */
};

/**
 * Start of the block of the heap that holds these bytes, as the collector knows it; `data` itself
 * when they are not on the heap. Raises ValueError when they are not in one block.
 *
 * @param what  name of the argument, for the message
 * @param room  set to the bytes from `data` to the block's end; may be NULL
 */
void *pin_block_of(const void *data, size_t size, const char *what, size_t *room);

/** Is this an address of Python's heap? */
bool pin_is_on_heap(const void *data);

/** Pin these blocks until pin_remove(). `pins` must not be in use. */
void pin_add(struct pins *pins, void *const *block, size_t count, void (*lose)(struct pins *pins));

/** What is pinned, one after the other: the first for NULL, and NULL after the last. */
struct pins *pin_next(const struct pins *pins);

/** A second call does nothing. */
void pin_remove(struct pins *pins);

/** These bytes, outside of the heap, are about to be overwritten: call `lose` of pins there. */
void pin_lose(const void *start, size_t size);

/** For soft reset: nothing is pinned. */
void pin_remove_all(void);

#endif
