// SPDX-License-Identifier: MIT
/** Memory for the NPU: aligned, and on cache lines of its own. */
#include "block.h"

#include "ethosu_memory.h"
#include "ethosu_model.h"
#include "pin.h"
#include "py/binary.h"
#include "py/gc.h"
#include "py/objarray.h"
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

/** Raise MemoryError: what was needed, and what the heap has. */
static _Noreturn void raise_no_room(size_t size, const char *what)
{
    gc_info_t info;
    gc_info(&info);
    mp_raise_msg_varg(&mp_type_MemoryError,
                      MP_ERROR_TEXT("%s needs %u bytes, the heap has %u free, %u in one block"),
                      what, (unsigned)size, (unsigned)info.free,
                      (unsigned)(info.max_free * MICROPY_BYTES_PER_GC_BLOCK));
}

struct block binding_allocate(size_t size, const char *what)
{
    // The collector's blocks are aligned to ETHOSU_MODEL_ALIGNMENT already.
    size = binding_align(size);
    size_t room = size + alignment() - ETHOSU_MODEL_ALIGNMENT;
    uint8_t *start = m_new_maybe(uint8_t, MAX(room, 1)); // a block of 0 bytes has an address too
    if (start == NULL) {
        raise_no_room(size, what);
    }
    return (struct block){start, (void *)binding_align((uintptr_t)start), size};
}

mp_obj_t binding_view(const void *data, const void *block, size_t typecode, size_t count)
{
    // The collector knows the start of a block only, so a view of the heap begins there. Other
    // memory can be larger than the offset of a view, which has 24 bits on a 32-bit port.
    const size_t most = ((size_t)1 << MP_OBJ_ARRAY_FREE_SIZE_BITS) - 1;
    const void *items = pin_is_on_heap(block) ? block : data;
    char code = (char)(typecode & ~(size_t)MP_OBJ_ARRAY_TYPECODE_FLAG_RW);
    size_t offset = (size_t)((const uint8_t *)data - (const uint8_t *)items) /
                    mp_binary_get_size('@', code, NULL);
    if (offset > most) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("data is %u elements behind the start of its heap block, "
                                        "a memoryview can begin at most %u behind it"),
                          (unsigned)offset, (unsigned)most);
    }
    mp_obj_array_t *view = m_new_obj(mp_obj_array_t);
    mp_obj_memoryview_init(view, typecode, offset, count, (void *)(uintptr_t)items);
    return MP_OBJ_FROM_PTR(view);
}

size_t binding_whole_lines(const mp_buffer_info_t *buffer, size_t room)
{
    uintptr_t start = (uintptr_t)buffer->buf;
    size_t lines = binding_align(start + buffer->len) - start;
    // The block ends with this line, so the line belongs to the block's last bytes.
    return lines <= room && room - lines < alignment() ? lines : buffer->len;
}
