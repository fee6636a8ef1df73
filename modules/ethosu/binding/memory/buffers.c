// SPDX-License-Identifier: MIT
/** Memory that models and NPUs use; see buffers.h. */
#include "binding/memory/buffers.h"

#include <string.h>

#include "binding/call/raise.h"
#include "ethosu_memory.h"
#include "ethosu_model.h"
#include "py/binary.h"
#include "py/builtin.h"
#include "py/gc.h"
#include "py/mpstate.h"
#include "py/objarray.h"
#include "py/runtime.h"
#include "py/stream.h"

/* ---- pinned blocks ---- */

/**
 * The collector's table has a 2-bit mark for each unit of the heap, such as head or tail of a
 * block. The values are private to gc.c.
 */
#define UNIT ((size_t)MICROPY_BYTES_PER_GC_BLOCK)
enum { HEAD = 1, TAIL = 2, MARKS_PER_BYTE = 4, MARKS_PER_WORD = 16 };
#define WORD_OF_TAILS UINT32_C(0xAAAAAAAA)

/** List of pinned objects; weak, not a root of the collector. */
static struct pins *all;

// The wrapper that MicroPython calls, and the original function. Without `--wrap` the original
// has no such name, and the link fails.
void __wrap_gc_free(void *block);
void *__wrap_gc_realloc(void *block, size_t size, bool may_move);
void __real_gc_free(void *block);
void *__real_gc_realloc(void *block, size_t size, bool may_move);

static const mp_state_mem_area_t *area_of(const void *data)
{
    const mp_state_mem_area_t *area = &MP_STATE_MEM(area);
    do {
        if ((const uint8_t *)data >= area->gc_pool_start &&
            (const uint8_t *)data < area->gc_pool_end) {
            return area;
        }
#if MICROPY_GC_SPLIT_HEAP
        area = area->next;
#else
        area = NULL;
#endif
    } while (area != NULL);
    return NULL;
}

/** Is this an address of Python's heap? */
static bool is_on_heap(const void *data)
{
    return area_of(data) != NULL;
}

static unsigned mark_of(const mp_state_mem_area_t *area, size_t unit)
{
    return area->gc_alloc_table_start[unit / MARKS_PER_BYTE] >> 2 * (unit % MARKS_PER_BYTE) & 3;
}

/** Are this unit and the following ones, one word of marks in all, tails? */
static bool is_word_of_tails(const mp_state_mem_area_t *area, size_t unit)
{
    uint32_t word;
    memcpy(&word, area->gc_alloc_table_start + unit / MARKS_PER_BYTE, sizeof word);
    return unit % MARKS_PER_BYTE == 0 && word == WORD_OF_TAILS;
}

/** The head of the block that contains this unit, or a free unit if it is not in a block. */
static size_t head_of(const mp_state_mem_area_t *area, size_t unit)
{
    for (;;) {
        if (unit >= MARKS_PER_WORD && is_word_of_tails(area, unit - MARKS_PER_WORD + 1)) {
            unit -= MARKS_PER_WORD;
        } else if (unit > 0 && mark_of(area, unit) == TAIL) {
            unit--;
        } else {
            return unit;
        }
    }
}

/** The first unit after a block, searched from one of its units. */
static size_t end_of(const mp_state_mem_area_t *area, size_t unit)
{
    size_t count = area->gc_alloc_table_byte_len * MARKS_PER_BYTE;
    for (unit++;;) {
        if (count - unit >= MARKS_PER_WORD && is_word_of_tails(area, unit)) {
            unit += MARKS_PER_WORD;
        } else if (unit < count && mark_of(area, unit) == TAIL) {
            unit++;
        } else {
            return unit;
        }
    }
}

void *pin_block_of(const void *data, size_t size, const char *what, size_t *room)
{
    const mp_state_mem_area_t *area = area_of(data);
    size_t unused;
    room = room == NULL ? &unused : room;
    *room = size;
    if (area == NULL || size == 0) {
        return (void *)(uintptr_t)data;
    }
    size_t offset = (size_t)((const uint8_t *)data - area->gc_pool_start);
    size_t head = head_of(area, offset / UNIT);
    *room = end_of(area, offset / UNIT) * UNIT - offset;
    if (mark_of(area, head) != HEAD || *room < size) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s at 0x%x, %d bytes, is not a heap block: "
                                        "was its bytearray resized?"),
                          what, (unsigned)(uintptr_t)data, (int)size);
    }
    return area->gc_pool_start + head * UNIT;
}

void pin_add(struct pins *pins, void *const *block, size_t count,
             void (*invalidate)(struct pins *pins))
{
    *pins = (struct pins){all, block, count, invalidate};
    all = pins;
}

struct pins *pin_next(const struct pins *pins)
{
    return pins == NULL ? all : pins->next;
}

void pin_remove(struct pins *pins)
{
    for (struct pins **link = &all; *link != NULL; link = &(*link)->next) {
        if (*link == pins) {
            *link = pins->next;
            return;
        }
    }
}

void pin_invalidate(const void *start, size_t size)
{
    for (struct pins *pins = all; pins != NULL; pins = pins->next) {
        for (size_t i = 0; pins->invalidate != NULL && i < pins->count; i++) {
            if ((uintptr_t)pins->block[i] - (uintptr_t)start < size) {
                pins->invalidate(pins);
            }
        }
    }
}

void pin_remove_all(void)
{
    all = NULL;
}

static bool is_pinned(const void *block)
{
    for (const struct pins *pins = all; pins != NULL; pins = pins->next) {
        for (size_t i = 0; i < pins->count; i++) {
            if (pins->block[i] == block) {
                return true;
            }
        }
    }
    return false;
}

void __wrap_gc_free(void *block)
{
    if (all == NULL || !is_pinned(block)) {
        __real_gc_free(block);
    }
}

/** Like gc_realloc(), for a block that can't be freed: growing it allocates a new one. */
static MP_NOINLINE void *copy_pinned(void *block, size_t size, bool may_move)
{
    size_t old = gc_nbytes(block);
    if (size == 0 || (size > old && !may_move)) {
        return NULL;
    }
    if (size <= old) {
        return block;
    }
    void *moved = gc_alloc(size, 0);
    return moved == NULL ? NULL : memcpy(moved, block, old);
}

void *__wrap_gc_realloc(void *block, size_t size, bool may_move)
{
    if (all == NULL || block == NULL || !is_pinned(block)) {
        return __real_gc_realloc(block, size, may_move);
    }
    return copy_pinned(block, size, may_move);
}

/* ---- allocated blocks ---- */

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

/** Raise MemoryError with the size requested and the size available in the heap. */
static _Noreturn void raise_no_room(size_t size, const char *what)
{
    gc_info_t info;
    gc_info(&info);
    mp_raise_msg_varg(&mp_type_MemoryError,
                      MP_ERROR_TEXT("%s needs %u bytes, the heap has %u free, %u in one block"),
                      what, (unsigned)size, (unsigned)info.free,
                      (unsigned)(info.max_free * MICROPY_BYTES_PER_GC_BLOCK));
}

#if MICROPY_MEM_STATS || (MICROPY_PY_THREAD && !MICROPY_PY_THREAD_GIL)

/** Leaves it to gc_alloc(), which also counts, or locks. */
static void *allocate_units(size_t count)
{
    (void)count;
    return NULL;
}

#else

/** The least number of units that allocate_units() is used for. */
enum { MANY_UNITS = 4 * MARKS_PER_WORD };

/** The marks of the first `count` units of a word. */
static uint32_t first_marks(size_t count)
{
    return (UINT32_C(1) << 2 * count) - 1;
}

static inline uint32_t word_of_marks(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/**
 * The first word from `at` on that begins this many free units; NULL: none before `end`. Looks at
 * the last word of a place first, since nothing that contains a word in use can begin before it.
 */
static uint8_t *find_units(uint8_t *at, const uint8_t *end, size_t count)
{
    const ptrdiff_t whole = (ptrdiff_t)(count / MARKS_PER_WORD * sizeof(uint32_t));
    const uint32_t rest = first_marks(count % MARKS_PER_WORD);
    while (end - at > whole) {
        uint8_t *last = at + whole;
        uint32_t marks = word_of_marks(last) & rest;
        while (marks == 0) {
            if (last == at) {
                return at;
            }
            last -= sizeof(uint32_t);
            marks = word_of_marks(last);
        }
        at = last + sizeof(uint32_t);
    }
    return NULL;
}

/**
 * Allocate like gc_alloc(), which takes 27 instructions for each unit: for an arena, most of the
 * time that loading takes. This reads and writes the marks of 16 units at once.
 *
 * @return  NULL: gc_alloc() has to collect first, or to search more closely
 */
static void *allocate_units(size_t count)
{
    if (count < MANY_UNITS || MP_STATE_THREAD(gc_lock_depth) > 0) {
        return NULL;
    }
#if MICROPY_GC_ALLOC_THRESHOLD
    if (MP_STATE_MEM(gc_alloc_amount) >= MP_STATE_MEM(gc_alloc_threshold)) {
        return NULL;
    }
#endif
    mp_state_mem_area_t *area = &MP_STATE_MEM(area);
    uint8_t *const all_marks = area->gc_alloc_table_start;
    uint8_t *table = find_units(
        all_marks + area->gc_last_free_atb_index / sizeof(uint32_t) * sizeof(uint32_t),
        all_marks + area->gc_alloc_table_byte_len / sizeof(uint32_t) * sizeof(uint32_t), count);
    if (table == NULL) {
        return NULL;
    }
    const size_t first = (size_t)(table - all_marks) * MARKS_PER_BYTE;
    memset(table, (uint8_t)WORD_OF_TAILS, count / MARKS_PER_BYTE);
    for (size_t i = count / MARKS_PER_BYTE * MARKS_PER_BYTE; i < count; i++) {
        table[i / MARKS_PER_BYTE] |= (uint8_t)(TAIL << 2 * (i % MARKS_PER_BYTE));
    }
    table[0] = (table[0] & ~3) | HEAD;
    area->gc_last_used_block = MAX(area->gc_last_used_block, first + count - 1);
#if MICROPY_GC_ALLOC_THRESHOLD
    MP_STATE_MEM(gc_alloc_amount) += count;
#endif
    // Cleared, as by gc_alloc(): what was there may look like references to other objects.
    return memset(area->gc_pool_start + first * UNIT, 0, count * UNIT);
}

#endif

struct block binding_allocate(size_t size, const char *what)
{
    // The collector's blocks are aligned to ETHOSU_MODEL_ALIGNMENT already.
    size = binding_align(size);
    size_t room = size + alignment() - ETHOSU_MODEL_ALIGNMENT;
    uint8_t *start = allocate_units((room + UNIT - 1) / UNIT);
    if (start == NULL) {
        start = m_new_maybe(uint8_t, MAX(room, 1)); // a block of 0 bytes has an address too
    }
    if (start == NULL) {
        raise_no_room(size, what);
    }
    return (struct block){start, (void *)binding_align((uintptr_t)start), size};
}

mp_obj_t binding_view(const void *data, const void *block, size_t typecode, size_t count)
{
    // The collector only recognises the start of a block, so a view of the heap begins there. Other
    // memory can exceed the offset of a view, which has 24 bits on a 32-bit port.
    const size_t most = ((size_t)1 << MP_OBJ_ARRAY_FREE_SIZE_BITS) - 1;
    const void *items = is_on_heap(block) ? block : data;
    char code = (char)(typecode & ~(size_t)MP_OBJ_ARRAY_TYPECODE_FLAG_RW);
    size_t offset = (size_t)((const uint8_t *)data - (const uint8_t *)items) /
                    mp_binary_get_size('@', code, NULL);
    if (offset > most) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("data starts %u elements into its heap block, "
                                        "a memoryview can start at most %u in"),
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
    // The block ends with this line, or with a unit that was added to align the buffer.
    size_t rest = alignment() + UNIT - ETHOSU_MODEL_ALIGNMENT;
    return lines <= room && room - lines < rest ? lines : buffer->len;
}

/* ---- files ---- */

/** Move in a file; returns the new position. Raises OSError. */
static mp_off_t seek(mp_obj_t file, mp_off_t offset, int whence)
{
    struct mp_stream_seek_t request = {.offset = offset, .whence = whence};
    int error;
    const mp_stream_p_t *stream = mp_get_stream_raise(file, MP_STREAM_OP_IOCTL);
    if (stream->ioctl(file, MP_STREAM_SEEK, (mp_uint_t)(uintptr_t)&request, &error) ==
        MP_STREAM_ERROR) {
        mp_raise_OSError(error);
    }
    return request.offset;
}

/** Read a whole file into memory whose first byte is aligned for the NPU. */
static void read_file(mp_obj_t file, struct source *source)
{
    size_t size = (size_t)seek(file, 0, MP_SEEK_END);
    seek(file, 0, MP_SEEK_SET);
    // The collector's blocks are aligned to 16 bytes, which the NPU requires.
    uint8_t *data = m_new(uint8_t, MAX(size, 1));
    int error;
    mp_uint_t got = mp_stream_rw(file, data, size, &error, MP_STREAM_RW_READ);
    if (error != 0) {
        mp_raise_OSError(error);
    }
    source->data = data;
    source->size = got;
    source->copied = true;
    source->may_change = false;
}

bool source_may_change(mp_obj_t owner, const mp_buffer_info_t *buffer)
{
    mp_buffer_info_t unused;
    if (mp_obj_is_type(owner, &mp_type_bytes)) {
        return false;
    }
    // A view that is read-only may be one of a bytearray, or a file of a ROMFS in one.
    return is_on_heap(buffer->buf) || mp_get_buffer(owner, &unused, MP_BUFFER_WRITE);
}

/** Open a file; an OSError names its path. */
static mp_obj_t open_file(mp_obj_t path)
{
    mp_obj_t args[] = {path, MP_OBJ_NEW_QSTR(MP_QSTR_rb)};
    nlr_buf_t nlr;
    if (nlr_push(&nlr) == 0) {
        mp_obj_t file = mp_builtin_open(MP_ARRAY_SIZE(args), args, (mp_map_t *)&mp_const_empty_map);
        nlr_pop();
        return file;
    }
    mp_obj_t raised = MP_OBJ_FROM_PTR(nlr.ret_val);
    mp_int_t number;
    if (mp_obj_is_exact_type(raised, &mp_type_OSError) &&
        mp_obj_get_int_maybe(mp_obj_exception_get_value(raised), &number)) {
        binding_raise_os_error((int)number, "'%.80s' cannot be opened", mp_obj_str_get_str(path));
    }
    nlr_jump(nlr.ret_val);
}

void source_open(mp_obj_t from, const char *what, struct source *source)
{
    mp_buffer_info_t buffer;
    mp_obj_t holder = from;
    if (mp_obj_is_str(from)) {
        holder = open_file(from);
        // A file in ROMFS is used in place, without a copy.
        if (!mp_get_buffer(holder, &buffer, MP_BUFFER_READ)) {
            read_file(holder, source);
            mp_stream_close(holder);
            return;
        }
    } else if (!mp_get_buffer(from, &buffer, MP_BUFFER_READ)) {
        binding_raise_type(from, what, "a path or a buffer");
    } else {
        binding_check_memory(buffer.buf, buffer.len, what);
    }
    *source = (struct source){buffer.buf, buffer.len, false, source_may_change(holder, &buffer)};
}
