// SPDX-License-Identifier: MIT
/** Memory on the heap that shares no cache line with others; see memory.c. */
#ifndef BLOCK_H
#define BLOCK_H

#include "py/obj.h"

struct block {
    void *start; /**< as the collector knows it */
    void *data;  /**< aligned for the NPU and to cache lines */
    size_t size; /**< bytes from data on, whole cache lines */
};

/** Round up to what the NPU and the cache need. */
size_t binding_align(size_t value);

/** Can an NPU read blocks of Python's heap? */
bool binding_npu_reads_heap(void);

/** Allocate a block of at least so many bytes. Raises. */
struct block binding_allocate(size_t size, const char *what);

/**
 * The size of a buffer with the rest of its last cache line, if nothing else can lie there: as in
 * what ethosu.buffer() gives. Else its size.
 *
 * @param room  bytes from the buffer's start to the end of its block of the heap
 */
size_t binding_whole_lines(const mp_buffer_info_t *buffer, size_t room);

#endif
