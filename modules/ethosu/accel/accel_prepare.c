// SPDX-License-Identifier: MIT
/**
 * Checks an inference like ethosu_prepare.c, and passes its command stream and its buffers to the
 * kernel.
 *
 * The kernel accepts whole buffers, not addresses. A base pointer at the start of a buffer stands
 * for that buffer; any other gets a copy. Like a data cache between CPU and NPU, the copy is filled
 * before a run and read back after it, so the program's fields for the cache are used here too.
 */
#include "accel.h"

#include "driver/device/device.h"
#include "driver/verify/ethosu_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Positions in the list of base pointers. */
enum { CONSTANTS, FAST_SCRATCH = ACCEL_SRAM_REGION };

/** Number of words after the last command that copy the mark. */
#define MARK_WORDS 12u

#define SET(code, value) ((code) | (uint32_t)(value) << 16)

/** An inference that is being prepared. */
struct prep {
    struct accel *accel;
    struct ethosu_ext_program *program;
    uint32_t *stream; /**< with the mark */
    size_t stream_bytes;
    uint32_t mark_region;
    size_t size[ETHOSU_EXT_MAX_BASES];
    struct ethosu_ext_writes writes;
    uint32_t touched; /**< bits by region */
};

static struct ethosu_ext_fault *fault_of(const struct prep *prep)
{
    return &prep->accel->driver.fault;
}

/* ---- the command stream ---- */

/** Bytes before the STOP; SIZE_MAX if not found. */
static size_t find_stop(const struct ethosu_ext_payload *payload)
{
    size_t at = 0;
    while (at < payload->stream_bytes) {
        uint32_t word = word_at(payload->stream + at);
        if (CODE(word) == NPU_OP_STOP) {
            return at;
        }
        at += word & CODE_PAYLOAD ? 8 : 4;
    }
    return SIZE_MAX;
}

/** Commands that copy the mark after all others have been executed, and STOP. */
static void append_mark(uint32_t *word, uint32_t region)
{
    const uint32_t commands[MARK_WORDS] = {
        SET(NPU_OP_KERNEL_WAIT, 0),
        SET(NPU_OP_DMA_WAIT, 0),
        SET(0x130, region), // NPU_SET_DMA0_SRC_REGION, one row
        SET(0x131, region), // NPU_SET_DMA0_DST_REGION
        SET(0x4030, 0),     // NPU_SET_DMA0_SRC
        offsetof(struct accel_mark, next),
        SET(0x4031, 0), // NPU_SET_DMA0_DST
        offsetof(struct accel_mark, done),
        SET(0x4032, 0), // NPU_SET_DMA0_LEN
        ACCEL_MARK_BYTES,
        SET(NPU_OP_DMA_START, 0),
        SET(NPU_OP_STOP, 0xFFFF),
    };
    memcpy(word, commands, sizeof commands);
}

/** Make the stream for the kernel: a copy, so that it can't change after verification. */
static int make_stream(struct prep *prep, const struct ethosu_ext_payload *payload)
{
    size_t bytes = find_stop(payload);
    if (bytes == SIZE_MAX) {
        return ethosu_ext_refuse(fault_of(prep), ETHOSU_EXT_E_COMMAND_NO_STOP, -1,
                                 payload->stream_bytes / 4, 0);
    }
    prep->stream_bytes = bytes + MARK_WORDS * sizeof(uint32_t);
    prep->stream = malloc(prep->stream_bytes);
    if (prep->stream == NULL) {
        return ethosu_ext_refuse(fault_of(prep), ETHOSU_EXT_E_ACCEL_MEMORY, -1, prep->stream_bytes,
                                 ENOMEM);
    }
    memcpy(prep->stream, payload->stream, bytes);
    append_mark(prep->stream + bytes / 4, prep->mark_region);
    return 0;
}

/** Check the bounds of every access; the kernel's own check comes later and differs. */
static int verify(struct prep *prep)
{
    const size_t *size = prep->size;
    uint32_t config = prep->accel->driver.dev.config_register;
    RETURN_IF_ERROR(ethosu_ext_verify(prep->stream, prep->stream_bytes, config, size,
                                      ETHOSU_EXT_MAX_BASES, &prep->writes, fault_of(prep)));
    for (uint32_t i = 0; i < prep->mark_region; i++) {
        size_t others[ETHOSU_EXT_MAX_BASES];
        memcpy(others, size, sizeof others);
        others[i] = 0;
        // A stream does not need a region if it is also valid with that region empty.
        int error = ethosu_ext_verify(prep->stream, prep->stream_bytes, config, others,
                                      ETHOSU_EXT_MAX_BASES, NULL, NULL);
        prep->touched |= (uint32_t)(error != 0) << i;
    }
    return 0;
}

static int create_stream(struct prep *prep)
{
    struct accel *accel = prep->accel;
    struct accel_stream_create create = {.size = (uint32_t)prep->stream_bytes,
                                         .data = (uintptr_t)prep->stream};
    int error = accel_call(accel, accel->file, ACCEL_STREAM_CREATE, &create);
    if (error != 0) {
        return ethosu_ext_refuse(fault_of(prep), ETHOSU_EXT_E_ACCEL_REFUSED, -1, (size_t)error, 0);
    }
    prep->program->stream = create.handle;
    prep->program->stream_bytes = create.size;
    return 0;
}

/* ---- buffers ---- */

/** Does another base pointer of this program use the buffer? The kernel accepts it only once. */
static bool is_used(const struct prep *prep, const struct accel_buffer *buffer)
{
    for (uint32_t i = 0; i < prep->program->count; i++) {
        if (prep->program->base[i].npu == buffer->handle) {
            return true;
        }
    }
    return false;
}

/** The buffer at this base pointer; NULL if it needs a copy. */
static struct accel_buffer *whole_buffer(const struct prep *prep,
                                         const struct ethosu_ext_base *base)
{
    struct accel_buffer *buffer = accel_buffer_at(prep->accel, base->cpu);
    return buffer != NULL && buffer->size >= base->size && !is_used(prep, buffer) ? buffer : NULL;
}

/** Two copies of the same bytes, one of them written, would differ. */
static int check_apart(const struct prep *prep, uint32_t index)
{
    const struct ethosu_ext_base *base = &prep->program->base[index];
    for (uint32_t i = 0; i < prep->program->count; i++) {
        const struct ethosu_ext_base *other = &prep->program->base[i];
        bool apart = other->cpu >= base->cpu + base->size || base->cpu >= other->cpu + other->size;
        if (i != index && prep->touched >> i & 1 && !apart) {
            return ethosu_ext_refuse(fault_of(prep), ETHOSU_EXT_E_ACCEL_SHARED, (int)i, 0, index);
        }
    }
    return 0;
}

/** A buffer with a copy of a base pointer, filled and read back as the stream requires. */
static struct accel_buffer *copy_of(struct prep *prep, uint32_t index)
{
    struct accel *accel = prep->accel;
    struct ethosu_ext_program *program = prep->program;
    const struct ethosu_ext_base *base = &program->base[index];
    const void *source = (const void *)(uintptr_t)base->cpu;
    bool constant = index == CONSTANTS && !(program->written >> index & 1);
    struct accel_buffer *buffer = accel_buffer_copy_of(accel, source, base->size);
    if (buffer == NULL || is_used(prep, buffer)) {
        buffer = accel_buffer_new(accel, base->size, (int)index);
        if (buffer == NULL) {
            return NULL;
        }
        buffer->source = source;
    }
    if (constant) { // also an existing copy, since the bytes at this address may have changed
        accel_copy(accel, buffer->map, source, base->size);
    }
    const uint8_t bit = (uint8_t)(1u << index);
    program->clean_once |= constant ? bit : 0;
    program->clean |= constant || index == FAST_SCRATCH ? 0 : bit;
    program->invalidate |= index == FAST_SCRATCH ? 0 : program->written & bit;
    return buffer;
}

/** The buffer of a base pointer that the stream uses. */
static int set_buffer(struct prep *prep, uint32_t index)
{
    struct ethosu_ext_program *program = prep->program;
    struct ethosu_ext_base *base = &program->base[index];
    if (program->written >> index & 1) {
        RETURN_IF_ERROR(check_apart(prep, index));
    }
    struct accel_buffer *buffer = whole_buffer(prep, base);
    if (buffer == NULL && index == FAST_SCRATCH && base->size <= prep->accel->sram_size) {
        return 0; // SRAM: without a buffer
    }
    buffer = buffer != NULL ? buffer : copy_of(prep, index);
    if (buffer == NULL) {
        return fault_of(prep)->code;
    }
    base->npu = buffer->handle;
    return 0;
}

static int set_buffers(struct prep *prep)
{
    for (uint32_t i = 0; i < prep->program->count; i++) {
        if (prep->touched >> i & 1) {
            RETURN_IF_ERROR(set_buffer(prep, i));
        }
    }
    return 0;
}

/* ---- the inference ---- */

static void set_bases(struct prep *prep, const uint64_t *address, const size_t *size)
{
    for (uint32_t i = 0; i < prep->program->count; i++) {
        prep->program->base[i] = (struct ethosu_ext_base){.cpu = address[i], .size = size[i]};
        prep->size[i] = size[i];
    }
    prep->size[prep->mark_region] = sizeof(struct accel_mark);
}

static int note_writes(struct prep *prep, unsigned flags)
{
    struct ethosu_ext_program *program = prep->program;
    for (uint32_t i = 0; i < program->count; i++) {
        struct ethosu_ext_base *base = &program->base[i];
        if (prep->writes.end[i] != 0) {
            program->written |= (uint8_t)(1u << i);
            base->invalidate = prep->writes.start[i];
            base->invalidate_size = prep->writes.end[i] - prep->writes.start[i];
        }
    }
    bool overwrites = (flags & ETHOSU_EXT_CONSTANTS) && (program->written >> CONSTANTS & 1);
    return overwrites ? ethosu_ext_fail(fault_of(prep), ETHOSU_EXT_E_CONSTANTS_WRITTEN, CONSTANTS)
                      : 0;
}

static int read_payload(const struct prep *prep, const void *data, size_t size,
                        struct ethosu_ext_payload *payload)
{
    struct ethosu_ext_fault *fault = fault_of(prep);
    RETURN_IF_ERROR(ethosu_ext_parse_payload(data, size, payload, fault));
    if (payload->has_config) {
        RETURN_IF_ERROR(
            ethosu_ext_device_check(&prep->accel->driver.dev, payload->config, payload->id, fault));
    }
    size_t fast = prep->program->count > FAST_SCRATCH ? prep->size[FAST_SCRATCH] : 0;
    return payload->fast_scratch <= fast
               ? 0
               : ethosu_ext_refuse(fault, ETHOSU_EXT_E_FAST_MEMORY, FAST_SCRATCH,
                                   payload->fast_scratch, fast);
}

static int make(struct prep *prep, const void *data, size_t size, unsigned flags)
{
    struct ethosu_ext_payload payload;
    RETURN_IF_ERROR(read_payload(prep, data, size, &payload));
    RETURN_IF_ERROR(make_stream(prep, &payload));
    RETURN_IF_ERROR(verify(prep));
    RETURN_IF_ERROR(note_writes(prep, flags));
    RETURN_IF_ERROR(create_stream(prep));
    return set_buffers(prep);
}

void ethosu_ext_clean(const struct ethosu_ext_program *program)
{
    // The owner is a handle of this back end, all of which are writable.
    struct accel *accel = accel_of((struct ethosu_driver *)(uintptr_t)program->owner);
    accel_fill_copies(accel, program, program->clean_once);
}

int ethosu_ext_prepare(struct ethosu_driver *drv, struct ethosu_ext_program *program,
                       const void *payload, size_t payload_size, const uint64_t *base_addr,
                       const size_t *base_addr_size, int num_base_addr, unsigned flags)
{
    memset(program, 0, offsetof(struct ethosu_ext_program, base));
    if (num_base_addr < 0 || num_base_addr >= ETHOSU_EXT_MAX_BASES) { // one is the mark's
        return ethosu_ext_refuse(&drv->fault, ETHOSU_EXT_E_BASE_COUNT, -1, (size_t)num_base_addr,
                                 ETHOSU_EXT_MAX_BASES - 1);
    }
    if (num_base_addr > 0 && (base_addr == NULL || base_addr_size == NULL)) {
        return ethosu_ext_fail(&drv->fault, ETHOSU_EXT_E_ARGUMENT, base_addr == NULL ? 3 : 4);
    }
    struct prep prep = {
        .accel = accel_of(drv), .program = program, .mark_region = ETHOSU_EXT_MAX_BASES - 1};
    program->count = (uint8_t)num_base_addr;
    set_bases(&prep, base_addr, base_addr_size);
    int error = make(&prep, payload, payload_size, flags);
    free(prep.stream);
    if (error == 0) {
        program->regioncfg = (uint16_t)prep.touched; // regions with a buffer
        program->owner = drv;
    }
    return error;
}
