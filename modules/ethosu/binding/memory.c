// SPDX-License-Identifier: MIT
/** Memory for the NPU: aligned, and on cache lines of its own. */
#include "block.h"

#include "ethosu_memory.h"
#include "ethosu_model.h"
#include "py/runtime.h"

static size_t alignment(void)
{
    return MAX(ETHOSU_MODEL_ALIGNMENT, ethosu_ext_memory_line());
}

size_t binding_align(size_t value)
{
    return (value + alignment() - 1) & ~(alignment() - 1);
}

bool binding_npu_reads_heap(void)
{
    const uint8_t *heap = MP_STATE_MEM(area).gc_pool_start;
    return ethosu_ext_memory_reaches(heap, 1, ETHOSU_NPU_READS);
}

struct block binding_allocate(size_t size)
{
    // The collector's blocks are aligned to ETHOSU_MODEL_ALIGNMENT already.
    size = binding_align(size);
    uint8_t *start = m_new(uint8_t, size + alignment() - ETHOSU_MODEL_ALIGNMENT);
    return (struct block){start, (void *)binding_align((uintptr_t)start), size};
}

size_t binding_whole_lines(const mp_buffer_info_t *buffer, size_t room)
{
    uintptr_t start = (uintptr_t)buffer->buf;
    size_t lines = binding_align(start + buffer->len) - start;
    // The block ends with this line, so the line belongs to the block's last bytes.
    return lines <= room && room - lines < alignment() ? lines : buffer->len;
}
