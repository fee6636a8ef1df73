// SPDX-License-Identifier: MIT
/**
 * Checks of an inference before the first register is written, and the program
 * that comes out of them: addresses as the NPU sees them, memory attributes,
 * buffers for the cache hooks.
 */
#include "../ethosu_board.h"
#include "ethosu_device.h"
#include "ethosu_fault.h"

#define STREAM (-1)
#define CONSTANTS 0
#define SCRATCH 1
#define FAST_SCRATCH 2
#define NPU_ALIGNMENT 16u

// Weak, so that an image without the verifier's file links and goes without it.
__attribute__((weak)) int ethosu_ext_verify(const void *stream, size_t stream_bytes,
                                            uint32_t config, const size_t *size, int count,
                                            uint32_t *written, struct ethosu_ext_fault *fault);

/** A buffer that the NPU shall use. */
struct buffer {
    uint64_t address; /**< as the CPU sees it */
    size_t size;
    int index; /**< STREAM or number of the base pointer */
    bool writable;
    uint32_t alignment; /**< a power of two */
};

/** The range that holds a whole buffer, or NULL. */
static const struct ethosu_board_range *range_of(const struct buffer *buffer)
{
    const struct ethosu_board_range *range = ethosu_board.ranges;
    const struct ethosu_board_range *end = range + ethosu_board.range_count;
    uintptr_t start = (uintptr_t)buffer->address;
    for (; start == buffer->address && range != end; range++) {
        if (start >= range->start && buffer->size <= range->size &&
            start - range->start <= range->size - buffer->size) {
            return range;
        }
    }
    return NULL;
}

static int check_alignment(const struct buffer *buffer, struct ethosu_ext_fault *fault)
{
    if ((buffer->address & (buffer->alignment - 1)) != 0) {
        int code =
            buffer->index == STREAM ? ETHOSU_EXT_E_STREAM_ALIGNMENT : ETHOSU_EXT_E_BASE_ALIGNMENT;
        return ethosu_ext_refuse_wide(fault, code, buffer->index, buffer->address,
                                      buffer->alignment);
    }
    return 0;
}

/** Can the NPU reach the buffer? Also finds the port that the board states for it. */
static int check_placement(const struct buffer *buffer, uint32_t *port,
                           struct ethosu_ext_fault *fault)
{
    *port = ETHOSU_PORT_DEFAULT;
    if (ethosu_board.range_count == 0 || buffer->size == 0) {
        return 0;
    }
    const struct ethosu_board_range *range = range_of(buffer);
    if (range == NULL || (buffer->writable && !range->writable)) {
        int code = range == NULL ? ETHOSU_EXT_E_NOT_REACHABLE : ETHOSU_EXT_E_NOT_WRITABLE;
        return ethosu_ext_refuse_wide(fault, code, buffer->index, buffer->address, buffer->size);
    }
    *port = range->port;
    return 0;
}

/** Address and attributes of a buffer from the NPU's side. */
static int place(const struct ethosu_device *dev, const struct buffer *buffer,
                 uint32_t default_config, uint64_t *address, uint32_t *config,
                 struct ethosu_ext_fault *fault)
{
    uint32_t port;
    int error = check_alignment(buffer, fault);
    if (error == 0) {
        error = check_placement(buffer, &port, fault);
    }
    if (error != 0) {
        return error;
    }

    *address = ethosu_address_remap(buffer->address, buffer->index);
    uint64_t last = (UINT64_C(1) << dev->part->address_bits) - 1;
    if (*address > last || buffer->size > last - *address) {
        return ethosu_ext_refuse_wide(fault, ETHOSU_EXT_E_ADDRESS_WIDTH, buffer->index, *address,
                                      last);
    }

    *config = ethosu_config_select(*address, buffer->index);
    if (*config == ETHOSU_EXT_CONFIG_DEFAULT) {
        *config = port == ETHOSU_PORT_DEFAULT ? default_config : port - ETHOSU_PORT_0;
    }
    *config &= 3;
    return 0;
}

static int place_stream(const struct ethosu_device *dev, const struct ethosu_ext_payload *payload,
                        struct ethosu_ext_program *program, struct ethosu_ext_fault *fault)
{
    struct buffer buffer = {
        (uintptr_t)payload->stream, payload->stream_bytes, STREAM, false, NPU_ALIGNMENT,
    };
    program->stream_bytes = payload->stream_bytes;
    return place(dev, &buffer, dev->part->qconfig, &program->stream, &program->qconfig, fault);
}

/** The buffer of a base pointer: fast memory may stand in, a managed cache asks for more. */
static int base_buffer(const struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                       int index, uint64_t address, struct buffer *buffer,
                       struct ethosu_ext_fault *fault)
{
    size_t size = program->size[index];
    uint32_t written = program->written | 1u << SCRATCH | 1u << FAST_SCRATCH;
    bool writable = written >> index & 1;
    *buffer = (struct buffer){address, size, index, writable, NPU_ALIGNMENT};
    if (index == FAST_SCRATCH && drv->fast_memory != 0) {
        if (size > drv->fast_memory_size) {
            return ethosu_ext_refuse(fault, ETHOSU_EXT_E_FAST_MEMORY, index, size,
                                     drv->fast_memory_size);
        }
        buffer->address = drv->fast_memory;
    }
    bool cached = (drv->flush_mask | drv->invalidate_mask) >> index & 1;
    if (cached && ethosu_board.cache_line > NPU_ALIGNMENT) {
        buffer->alignment = ethosu_board.cache_line;
    }
    return 0;
}

static int place_bases(const struct ethosu_driver *drv, const uint64_t *base_addr,
                       struct ethosu_ext_program *program, struct ethosu_ext_fault *fault)
{
    program->regioncfg = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        struct buffer buffer;
        uint32_t config = 0;
        uint32_t default_config = (uint32_t)drv->dev.part->regioncfg >> (2 * i) & 3;
        int error = base_buffer(drv, program, (int)i, base_addr[i], &buffer, fault);
        if (error == 0) {
            error =
                place(&drv->dev, &buffer, default_config, &program->npu_base[i], &config, fault);
        }
        if (error != 0) {
            return error;
        }
        program->cpu_base[i] = (uintptr_t)buffer.address;
        bool cpu_sees_it = buffer.size != 0 && program->cpu_base[i] == buffer.address;
        program->used |= (uint32_t)cpu_sees_it << i;
        program->regioncfg |= config << (2 * i);
    }
    return 0;
}

/** A payload that states its fast scratch must find it, be it in the memory given at init. */
static int check_fast_scratch(const struct ethosu_ext_payload *payload,
                              const struct ethosu_ext_program *program,
                              struct ethosu_ext_fault *fault)
{
    size_t given = program->count > FAST_SCRATCH ? program->size[FAST_SCRATCH] : 0;
    return payload->fast_scratch <= given
               ? 0
               : ethosu_ext_refuse(fault, ETHOSU_EXT_E_FAST_MEMORY, FAST_SCRATCH,
                                   payload->fast_scratch, given);
}

/**
 * Is this the program that ethosu_invoke_*() ran, and so verified, last time?
 * Only the handle's own program can tell: a caller's may be uninitialised.
 */
static bool verified_before(const struct ethosu_driver *drv, const struct ethosu_ext_program *into,
                            const struct ethosu_ext_program *made)
{
    const struct ethosu_ext_program *last = &drv->program;
    bool same = into == last && last->owner == drv && last->stream == made->stream &&
                last->stream_bytes == made->stream_bytes && last->count == made->count;
    for (uint32_t i = 0; same && i < made->count; i++) {
        same = last->size[i] == made->size[i];
    }
    return same;
}

/** Which regions the command stream writes, and whether it keeps to them all. */
static int verify(const struct ethosu_driver *drv, const struct ethosu_ext_payload *payload,
                  const struct ethosu_ext_program *into, struct ethosu_ext_program *made,
                  unsigned flags, struct ethosu_ext_fault *fault)
{
    int error = 0;
    if (verified_before(drv, into, made)) {
        made->written = into->written;
    } else {
        error = ethosu_ext_verify(payload->stream, payload->stream_bytes, drv->dev.config,
                                  made->size, (int)made->count, &made->written, fault);
    }
    if (error == 0 && (flags & ETHOSU_EXT_CONSTANTS) && (made->written >> CONSTANTS & 1)) {
        error = ethosu_ext_fail(fault, ETHOSU_EXT_E_CONSTANTS_WRITTEN, CONSTANTS);
    }
    return error;
}

static int check_arguments(const struct ethosu_driver *drv, const uint64_t *base_addr,
                           const size_t *base_addr_size, int count, struct ethosu_ext_fault *fault)
{
    if (count < 0 || count > ETHOSU_EXT_MAX_BASES) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_BASE_COUNT, -1, (size_t)count,
                                 ETHOSU_EXT_MAX_BASES);
    }
    if (count > 0 && (base_addr == NULL || base_addr_size == NULL)) {
        return ethosu_ext_fail(fault, ETHOSU_EXT_E_ARGUMENT, base_addr == NULL ? 3 : 4);
    }
    if (drv->dev.part == NULL) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NO_NPU, -1, drv->dev.config, drv->dev.id);
    }
    return 0;
}

int ethosu_ext_prepare(struct ethosu_driver *drv, struct ethosu_ext_program *program,
                       const void *payload_data, size_t payload_size, const uint64_t *base_addr,
                       const size_t *base_addr_size, int num_base_addr, unsigned flags)
{
    struct ethosu_ext_fault *fault = &drv->fault;
    struct ethosu_ext_payload payload;
    struct ethosu_ext_program made = {.owner = drv, .count = (uint32_t)num_base_addr};

    int error = check_arguments(drv, base_addr, base_addr_size, num_base_addr, fault);
    if (error == 0) {
        error = ethosu_ext_parse_payload(payload_data, payload_size, &payload, fault);
    }
    if (error == 0 && payload.has_config) {
        error = ethosu_ext_device_check(&drv->dev, payload.config, payload.id, fault);
    }
    if (error == 0) {
        error = place_stream(&drv->dev, &payload, &made, fault);
    }
    if (error == 0) {
        for (uint32_t i = 0; i < made.count; i++) {
            made.size[i] = base_addr_size[i];
        }
        error = check_fast_scratch(&payload, &made, fault);
    }
    if (error == 0 && !(flags & ETHOSU_EXT_NO_VERIFY) && ethosu_ext_verify != NULL) {
        error = verify(drv, &payload, program, &made, flags, fault);
    }
    if (error == 0) {
        error = place_bases(drv, base_addr, &made, fault);
    }
    made.owner = error == 0 ? drv : NULL;
    *program = made;
    return error;
}
