// SPDX-License-Identifier: MIT
/** Memory for the NPU: aligned, and on cache lines of its own. */
#include "block.h"

#include "ethosu_memory.h"
#include "ethosu_model.h"
#include "py/gc.h"
#include "py/objarray.h"
#include "py/runtime.h"

static size_t alignment(void)
{
    return MAX(ETHOSU_MODEL_ALIGNMENT, ethosu_memory_line());
}

size_t binding_align(size_t value)
{
    return (value + alignment() - 1) & ~(alignment() - 1);
}

struct block binding_allocate(size_t size)
{
    // The collector's blocks are aligned to ETHOSU_MODEL_ALIGNMENT already.
    size = binding_align(size);
    uint8_t *start = m_new(uint8_t, size + alignment() - ETHOSU_MODEL_ALIGNMENT);
    return (struct block){start, (void *)binding_align((uintptr_t)start), size};
}

size_t binding_whole_lines(mp_obj_t object, const mp_buffer_info_t *buffer)
{
    if (!mp_obj_is_type(object, &mp_type_memoryview) &&
        !mp_obj_is_type(object, &mp_type_bytearray)) {
        return buffer->len;
    }
    // The collector's block ends with this line, so the line belongs to the block's last bytes.
    const mp_obj_array_t *array = MP_OBJ_TO_PTR(object);
    uintptr_t block_end = (uintptr_t)array->items + gc_nbytes(array->items);
    uintptr_t line_end = binding_align((uintptr_t)buffer->buf + buffer->len);
    bool last = line_end <= block_end && block_end - line_end < alignment();
    return last ? line_end - (uintptr_t)buffer->buf : buffer->len;
}
