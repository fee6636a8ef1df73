// SPDX-License-Identifier: MIT
/**
 * Checks an inference as ethosu_prepare.c does, and gives the kernel its command
 * stream and its buffers.
 *
 * The kernel takes whole buffers, no addresses. A base pointer at the start of a
 * buffer is that buffer; another one gets a copy: as a data cache between CPU and
 * NPU, it is filled before a run and read back after it. So the fields of the
 * program that are about the cache are used here, too.
 */
#include "accel.h"

#include "device.h"
#include "ethosu_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Positions in the list of base pointers. */
enum { CONSTANTS, FAST_SCRATCH = ACCEL_SRAM_REGION };

/** Words after the last command, to copy the mark. */
#define MARK_WORDS 12u

#define SET(code, value) ((code) | (uint32_t)(value) << 16)

/** An inference that is being prepared. */
struct plan {
    struct accel *accel;
    struct ethosu_ext_program *program;
    uint32_t *stream; /**< with the mark */
    size_t stream_bytes;
    uint32_t mark_region;
    size_t size[ETHOSU_EXT_MAX_BASES];
    struct ethosu_ext_writes writes;
    uint32_t touched; /**< bits by region */
};

static struct ethosu_ext_fault *fault_of(const struct plan *plan)
{
    return &plan->accel->driver.fault;
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

/** Commands that copy the mark when all others have been carried out, and STOP. */
static void put_mark(uint32_t *word, uint32_t region)
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

/** Make the stream for the kernel: a copy, so that it can't change after it is verified. */
static int make_stream(struct plan *plan, const struct ethosu_ext_payload *payload)
{
    size_t bytes = find_stop(payload);
    if (bytes == SIZE_MAX) {
        return ethosu_ext_refuse(fault_of(plan), ETHOSU_EXT_E_COMMAND_NO_STOP, -1,
                                 payload->stream_bytes / 4, 0);
    }
    plan->stream_bytes = bytes + MARK_WORDS * sizeof(uint32_t);
    plan->stream = malloc(plan->stream_bytes);
    if (plan->stream == NULL) {
        return ethosu_ext_refuse(fault_of(plan), ETHOSU_EXT_E_ACCEL_MEMORY, -1, plan->stream_bytes,
                                 ENOMEM);
    }
    memcpy(plan->stream, payload->stream, bytes);
    put_mark(plan->stream + bytes / 4, plan->mark_region);
    return 0;
}

/** Bound every access; the kernel's own check comes later and is another one. */
static int verify(struct plan *plan)
{
    const size_t *size = plan->size;
    uint32_t config = plan->accel->driver.dev.config_register;
    RETURN_IF_ERROR(ethosu_ext_verify(plan->stream, plan->stream_bytes, config, size,
                                      ETHOSU_EXT_MAX_BASES, &plan->writes, fault_of(plan)));
    for (uint32_t i = 0; i < plan->mark_region; i++) {
        size_t others[ETHOSU_EXT_MAX_BASES];
        memcpy(others, size, sizeof others);
        others[i] = 0;
        // A stream that is right does without a region if it is right when that is empty.
        int error = ethosu_ext_verify(plan->stream, plan->stream_bytes, config, others,
                                      ETHOSU_EXT_MAX_BASES, NULL, NULL);
        plan->touched |= (uint32_t)(error != 0) << i;
    }
    return 0;
}

static int give_stream(struct plan *plan)
{
    struct accel *accel = plan->accel;
    struct accel_stream_create create = {.size = (uint32_t)plan->stream_bytes,
                                         .data = (uintptr_t)plan->stream};
    int error = accel_call(accel, accel->file, ACCEL_STREAM_CREATE, &create);
    if (error != 0) {
        return ethosu_ext_refuse(fault_of(plan), ETHOSU_EXT_E_ACCEL_REFUSED, -1, (size_t)error, 0);
    }
    plan->program->stream = create.handle;
    plan->program->stream_bytes = create.size;
    return 0;
}

/* ---- buffers ---- */

/** Has another base pointer of this program got the buffer? The kernel wants it once only. */
static bool is_given(const struct plan *plan, const struct accel_buffer *buffer)
{
    for (uint32_t i = 0; i < plan->program->count; i++) {
        if (plan->program->base[i].npu == buffer->handle) {
            return true;
        }
    }
    return false;
}

/** The buffer at this base pointer; NULL if it needs a copy. */
static struct accel_buffer *whole_buffer(const struct plan *plan,
                                         const struct ethosu_ext_base *base)
{
    struct accel_buffer *buffer = accel_buffer_at(plan->accel, base->cpu);
    return buffer != NULL && buffer->size >= base->size && !is_given(plan, buffer) ? buffer : NULL;
}

/** Two copies of the same bytes, one of them written, would not be one memory. */
static int check_apart(const struct plan *plan, uint32_t index)
{
    const struct ethosu_ext_base *base = &plan->program->base[index];
    for (uint32_t i = 0; i < plan->program->count; i++) {
        const struct ethosu_ext_base *other = &plan->program->base[i];
        bool apart = other->cpu >= base->cpu + base->size || base->cpu >= other->cpu + other->size;
        if (i != index && plan->touched >> i & 1 && !apart) {
            return ethosu_ext_refuse(fault_of(plan), ETHOSU_EXT_E_ACCEL_SHARED, (int)i, 0, index);
        }
    }
    return 0;
}

/** A buffer with a copy of a base pointer, filled and read back as the stream requires. */
static struct accel_buffer *copy_of(struct plan *plan, uint32_t index)
{
    struct accel *accel = plan->accel;
    struct ethosu_ext_program *program = plan->program;
    const struct ethosu_ext_base *base = &program->base[index];
    const void *source = (const void *)(uintptr_t)base->cpu;
    bool constant = index == CONSTANTS && !(program->written >> index & 1);
    struct accel_buffer *buffer = accel_buffer_copy_of(accel, source, base->size);
    if (buffer == NULL || is_given(plan, buffer)) {
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
static int give_base(struct plan *plan, uint32_t index)
{
    struct ethosu_ext_program *program = plan->program;
    struct ethosu_ext_base *base = &program->base[index];
    if (program->written >> index & 1) {
        RETURN_IF_ERROR(check_apart(plan, index));
    }
    struct accel_buffer *buffer = whole_buffer(plan, base);
    if (buffer == NULL && index == FAST_SCRATCH && base->size <= plan->accel->sram_size) {
        return 0; // SRAM: without a buffer
    }
    buffer = buffer != NULL ? buffer : copy_of(plan, index);
    if (buffer == NULL) {
        return fault_of(plan)->code;
    }
    base->npu = buffer->handle;
    return 0;
}

static int give_bases(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->program->count; i++) {
        if (plan->touched >> i & 1) {
            RETURN_IF_ERROR(give_base(plan, i));
        }
    }
    return 0;
}

/* ---- the inference ---- */

static void set_bases(struct plan *plan, const uint64_t *address, const size_t *size)
{
    for (uint32_t i = 0; i < plan->program->count; i++) {
        plan->program->base[i] = (struct ethosu_ext_base){.cpu = address[i], .size = size[i]};
        plan->size[i] = size[i];
    }
    plan->size[plan->mark_region] = sizeof(struct accel_mark);
}

static int note_writes(struct plan *plan, unsigned flags)
{
    struct ethosu_ext_program *program = plan->program;
    for (uint32_t i = 0; i < program->count; i++) {
        struct ethosu_ext_base *base = &program->base[i];
        if (plan->writes.end[i] != 0) {
            program->written |= (uint8_t)(1u << i);
            base->invalidate = plan->writes.start[i];
            base->invalidate_size = plan->writes.end[i] - plan->writes.start[i];
        }
    }
    bool spoils = (flags & ETHOSU_EXT_CONSTANTS) && (program->written >> CONSTANTS & 1);
    return spoils ? ethosu_ext_fail(fault_of(plan), ETHOSU_EXT_E_CONSTANTS_WRITTEN, CONSTANTS) : 0;
}

static int read_payload(const struct plan *plan, const void *data, size_t size,
                        struct ethosu_ext_payload *payload)
{
    struct ethosu_ext_fault *fault = fault_of(plan);
    RETURN_IF_ERROR(ethosu_ext_parse_payload(data, size, payload, fault));
    if (payload->has_config) {
        RETURN_IF_ERROR(
            ethosu_ext_device_check(&plan->accel->driver.dev, payload->config, payload->id, fault));
    }
    size_t fast = plan->program->count > FAST_SCRATCH ? plan->size[FAST_SCRATCH] : 0;
    return payload->fast_scratch <= fast
               ? 0
               : ethosu_ext_refuse(fault, ETHOSU_EXT_E_FAST_MEMORY, FAST_SCRATCH,
                                   payload->fast_scratch, fast);
}

static int make(struct plan *plan, const void *data, size_t size, unsigned flags)
{
    struct ethosu_ext_payload payload;
    RETURN_IF_ERROR(read_payload(plan, data, size, &payload));
    RETURN_IF_ERROR(make_stream(plan, &payload));
    RETURN_IF_ERROR(verify(plan));
    RETURN_IF_ERROR(note_writes(plan, flags));
    RETURN_IF_ERROR(give_stream(plan));
    return give_bases(plan);
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
    struct plan plan = {
        .accel = accel_of(drv), .program = program, .mark_region = ETHOSU_EXT_MAX_BASES - 1};
    program->count = (uint8_t)num_base_addr;
    set_bases(&plan, base_addr, base_addr_size);
    int error = make(&plan, payload, payload_size, flags);
    free(plan.stream);
    if (error == 0) {
        program->regioncfg = (uint16_t)plan.touched; // regions with a buffer
        program->owner = drv;
    }
    return error;
}
