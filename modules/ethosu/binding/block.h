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
 * A memoryview of memory, which keeps the memory's block of the heap alive. Raises.
 *
 * @param block     start of the block that holds the memory, as pin_block_of() finds it
 * @param typecode  of the elements, with or without MP_OBJ_ARRAY_TYPECODE_FLAG_RW
 * @param count     number of elements
 */
mp_obj_t binding_view(const void *data, const void *block, size_t typecode, size_t count);

/**
 * The size of a buffer with the rest of its last cache line, if nothing else can lie there: as in
 * what ethosu.buffer() gives. Else its size.
 *
 * @param room  bytes from the buffer's start to the end of its block of the heap
 */
size_t binding_whole_lines(const mp_buffer_info_t *buffer, size_t room);

#endif
