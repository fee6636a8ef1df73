// SPDX-License-Identifier: MIT
/**
 * Checks an inference before the first register is written, and builds the program:
 * NPU addresses, ports, and cache maintenance before and after each run.
 *
 * Caches: command stream, constants and the fast memory given at init are cleaned
 * once, here. If the CPU writes them later, the caller must use ethosu_ext_clean().
 * The other base pointers are cleaned before each run, since the CPU writes inputs
 * there and may reuse scratch between runs. Thus no line that the NPU writes is
 * dirty while it runs; evicting one would overwrite the NPU's results. After the
 * run only the written part is invalidated, because the CPU may have written to the
 * rest meanwhile.
 */
#include "ethosu_memory.h"
#include "driver/device/device.h"
#include "driver/base/ethosu_fault.h"
#include "driver/payload/ethosu_prepare.h"
#include "driver/base/ethosu_sync.h"

#include <string.h>

#define STREAM (-1)
#define CONSTANTS 0
#define SCRATCH 1
#define FAST_SCRATCH 2
#define NPU_ALIGNMENT 16u

/** A buffer that the NPU uses, and its properties. */
struct buffer {
    uint64_t address; /**< CPU address */
    size_t size;
    int index;               /**< STREAM or base pointer number */
    bool writable;           /**< must be writable, because it is written or is scratch */
    uint32_t default_config; /**< if the board selects no port */

    const struct ethosu_memory *memory; /**< NULL if empty */
    uint64_t npu_address;
    uint32_t config; /**< value of REGIONCFG or QCONFIG */
};

/* ---- where a buffer is ---- */

static int refuse_buffer(const struct buffer *buffer, struct ethosu_ext_fault *fault, int code)
{
    return ethosu_ext_refuse_wide(fault, code, buffer->index, buffer->address, buffer->size);
}

/** Determine memory and NPU address of a buffer that is not empty. */
static inline int find_memory(const struct ethosu_device *dev, struct buffer *buffer,
                              struct ethosu_ext_fault *fault)
{
    const struct ethosu_memory *memory = ethosu_ext_memory_find(buffer->address, buffer->size);
    if (memory == NULL || !(memory->masters & ETHOSU_NPU_READS)) {
        return refuse_buffer(buffer, fault, ETHOSU_EXT_E_NOT_REACHABLE);
    }
    if (buffer->writable && !(memory->masters & ETHOSU_NPU_WRITES)) {
        return refuse_buffer(buffer, fault, ETHOSU_EXT_E_NOT_WRITABLE);
    }
    buffer->memory = memory;
    const uint64_t start =
        dev->remap(ethosu_ext_memory_npu_address(memory, buffer->address), buffer->index);
    buffer->npu_address = start;
    const uint32_t more_bits = dev->part->address_bits - 32u;
    if ((uint32_t)((start | (start + buffer->size)) >> 32) >> more_bits != 0) {
        uint64_t last = (UINT64_C(1) << dev->part->address_bits) - 1;
        return ethosu_ext_refuse_wide(fault, ETHOSU_EXT_E_ADDRESS_WIDTH, buffer->index, start,
                                      last);
    }
    return 0;
}

/** Determine memory, NPU address and port of a buffer. */
static int place(const struct ethosu_device *dev, struct buffer *buffer,
                 struct ethosu_ext_fault *fault)
{
    uint32_t port = ETHOSU_PORT_DEFAULT;
    buffer->memory = NULL;
    buffer->npu_address = 0;
    if ((buffer->address & (NPU_ALIGNMENT - 1)) != 0) {
        int code =
            buffer->index == STREAM ? ETHOSU_EXT_E_STREAM_ALIGNMENT : ETHOSU_EXT_E_BASE_ALIGNMENT;
        return ethosu_ext_refuse_wide(fault, code, buffer->index, buffer->address, NPU_ALIGNMENT);
    }
    if (buffer->size != 0) {
        RETURN_IF_ERROR(find_memory(dev, buffer, fault));
        port = buffer->memory->port;
    }
    uint32_t config = dev->select(buffer->npu_address, buffer->index);
    if (config == ETHOSU_EXT_CONFIG_DEFAULT) {
        config = port == ETHOSU_PORT_DEFAULT ? buffer->default_config : port - ETHOSU_PORT_0;
    }
    config &= 3;
    buffer->config = config;
    if (buffer->size != 0 && buffer->writable && (dev->part->reads_only >> config & 1)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_PORT_READS_ONLY, buffer->index,
                                 (size_t)buffer->address, config);
    }
    return 0;
}

static int place_stream(const struct ethosu_device *dev, const struct ethosu_ext_payload *payload,
                        struct ethosu_ext_program *program, struct ethosu_ext_fault *fault)
{
    struct buffer buffer;
    buffer.address = (uintptr_t)payload->stream;
    buffer.size = payload->stream_bytes;
    buffer.index = STREAM;
    buffer.writable = false;
    buffer.default_config = dev->qconfig;
    int error = place(dev, &buffer, fault);
    program->stream = buffer.npu_address;
    program->cpu_stream = (uintptr_t)payload->stream;
    program->stream_bytes = payload->stream_bytes;
    program->qconfig = (uint8_t)buffer.config;
    return error;
}

/* ---- the data cache ---- */

/** The part of a base pointer that the command stream writes. */
struct span {
    uint64_t start; /**< as the CPU sees it */
    uint64_t end;
};

/**
 * CPU and NPU can't write to the same cache line, so the written part must be on
 * lines that belong entirely to the buffer.
 */
static int check_lines(const struct buffer *buffer, const struct span *written,
                       struct ethosu_ext_fault *fault)
{
    uint64_t mask = ethosu_ext_memory_line() - 1;
    bool start_shared = (written->start & ~mask) < buffer->address;
    if (!start_shared && ((written->end + mask) & ~mask) <= buffer->address + buffer->size) {
        return 0;
    }
    return ethosu_ext_refuse_wide(fault, ETHOSU_EXT_E_CACHE_LINE, buffer->index,
                                  start_shared ? written->start : written->end, mask + 1);
}

/**
 * Place a base pointer, possibly replaced by the fast memory given at init, and determine the cache
 * maintenance before and after each run.
 */
static int place_base(const struct ethosu_driver *drv, int index, uint64_t address,
                      const struct ethosu_ext_writes *writes, unsigned flags,
                      struct ethosu_ext_program *program, struct ethosu_ext_fault *fault)
{
    struct ethosu_ext_base *base = &program->base[index];
    const size_t size = base->size;
    const uint32_t bit = 1u << index;
    const uint32_t written = program->written & bit;
    const bool own = index == FAST_SCRATCH && drv->fast_memory != 0; // the CPU never writes it
    if (own) {
        if (size > drv->fast_memory_size) {
            return ethosu_ext_refuse(fault, ETHOSU_EXT_E_FAST_MEMORY, index, size,
                                     drv->fast_memory_size);
        }
        address = drv->fast_memory;
    }
    // Set each field; clearing the whole struct first would call memset().
    struct buffer buffer;
    buffer.address = address;
    buffer.size = size;
    buffer.index = index;
    buffer.writable = written != 0 || (bit & (1u << SCRATCH | 1u << FAST_SCRATCH)) != 0;
    buffer.default_config = drv->dev.regioncfg >> (2 * index) & 3;
    RETURN_IF_ERROR(place(&drv->dev, &buffer, fault));
    program->regioncfg |= (uint16_t)(buffer.config << (2 * index));
    base->npu = buffer.npu_address;
    base->cpu = address;
    base->invalidate = address;
    base->invalidate_size = size;
    bool seen_by_cpu = address == (uintptr_t)address;
    if (buffer.memory == NULL || !seen_by_cpu) {
        return 0;
    }
    program->clean |= (uint8_t)(ETHOSU_EXT_GET(drv->flush_mask) & bit);
    program->invalidate |= (uint8_t)(ETHOSU_EXT_GET(drv->invalidate_mask) & bit);
    if (ethosu_ext_memory_needs_clean(buffer.memory)) {
        bool once = own || (index == CONSTANTS && !written);
        *(once ? &program->clean_once : &program->clean) |= (uint8_t)bit;
    }
    if (!written) {
        return 0;
    }
    const struct span span = {address + writes->start[index], address + writes->end[index]};
    base->invalidate = span.start;
    base->invalidate_size = (size_t)(span.end - span.start);
    if (!ethosu_ext_memory_needs_discard(buffer.memory)) {
        return 0;
    }
    program->invalidate |= (uint8_t)bit;
    return flags & ETHOSU_EXT_OWN_LINES ? 0 : check_lines(&buffer, &span, fault);
}

/**
 * If fast scratch is the same buffer as scratch or follows it, clean both, and invalidate the
 * written parts of both, in one operation.
 *
 * @param room  bytes between them that belong to the caller
 */
static __attribute__((noinline)) void join_scratch(struct ethosu_ext_program *program, size_t room)
{
    const uint8_t fast_bit = 1u << FAST_SCRATCH;
    struct ethosu_ext_base *scratch = &program->base[SCRATCH];
    const struct ethosu_ext_base *fast = &program->base[FAST_SCRATCH];
    uint64_t apart = fast->cpu - scratch->cpu;
    bool inside = program->count > FAST_SCRATCH && apart <= scratch->size &&
                  fast->size <= scratch->size - apart;
    bool behind = program->count > FAST_SCRATCH && room != 0 && apart >= scratch->size &&
                  apart - scratch->size <= room;
    if (!inside && !behind) {
        return;
    }
    if ((program->clean >> SCRATCH & 1) && (program->clean & fast_bit)) {
        scratch->size = inside ? scratch->size : (size_t)apart + fast->size;
        program->clean &= (uint8_t)~fast_bit;
    }
    if (!(program->invalidate >> SCRATCH & 1) || !(program->invalidate & fast_bit)) {
        return;
    }
    uint64_t scratch_end = scratch->invalidate + scratch->invalidate_size;
    uint64_t fast_end = fast->invalidate + fast->invalidate_size;
    scratch->invalidate =
        scratch->invalidate < fast->invalidate ? scratch->invalidate : fast->invalidate;
    uint64_t end = scratch_end > fast_end ? scratch_end : fast_end;
    scratch->invalidate_size = (size_t)(end - scratch->invalidate);
    program->invalidate &= (uint8_t)~fast_bit;
}

void ethosu_ext_clean(const struct ethosu_ext_program *program)
{
    ethosu_ext_memory_clean((const void *)program->cpu_stream, program->stream_bytes);
    for (uint32_t mask = program->clean_once; mask != 0; mask &= mask - 1) {
        const struct ethosu_ext_base *base = &program->base[__builtin_ctz(mask)];
        ethosu_flush_dcache(&base->cpu, &base->size, 1);
    }
}

static int place_bases(const struct ethosu_driver *drv, const uint64_t *base_addr,
                       const struct ethosu_ext_writes *writes, unsigned flags,
                       struct ethosu_ext_program *program, struct ethosu_ext_fault *fault)
{
    for (uint32_t i = 0; i < program->count; i++) {
        RETURN_IF_ERROR(place_base(drv, (int)i, base_addr[i], writes, flags, program, fault));
    }
    join_scratch(program, flags & ETHOSU_EXT_OWN_LINES ? ethosu_ext_memory_line() - 1 : 0);
    return 0;
}

/* ---- the command stream ---- */

/** If the payload specifies its fast scratch size, check that enough is available. */
static int check_fast_scratch(const struct ethosu_ext_payload *payload,
                              const struct ethosu_ext_program *program,
                              struct ethosu_ext_fault *fault)
{
    size_t given = program->count > FAST_SCRATCH ? program->base[FAST_SCRATCH].size : 0;
    if (payload->fast_scratch <= given) {
        return 0;
    }
    return ethosu_ext_refuse(fault, ETHOSU_EXT_E_FAST_MEMORY, FAST_SCRATCH, payload->fast_scratch,
                             given);
}

/** The stream was not verified, so it may write everything except the constants. */
static void assume_writes(const struct ethosu_ext_program *made, struct ethosu_ext_writes *writes)
{
    for (uint32_t i = 0; i < made->count; i++) {
        writes->start[i] = 0;
        writes->end[i] = i == CONSTANTS ? 0 : made->base[i].size;
    }
}

static int read_writes(const struct ethosu_driver *drv, const struct ethosu_ext_payload *payload,
                       const struct ethosu_ext_program *made, struct ethosu_ext_writes *writes,
                       struct ethosu_ext_fault *fault)
{
    size_t size[ETHOSU_EXT_MAX_BASES];
    for (uint32_t i = 0; i < made->count; i++) {
        size[i] = made->base[i].size;
    }
    return ethosu_ext_verify(payload->stream, payload->stream_bytes, drv->dev.config_register, size,
                             made->count, writes, fault);
}

/** Verify the command stream, and find the parts of the regions that it writes. */
static int find_writes(const struct ethosu_driver *drv, const struct ethosu_ext_payload *payload,
                       struct ethosu_ext_program *made, struct ethosu_ext_writes *writes,
                       unsigned flags, struct ethosu_ext_fault *fault)
{
    if (flags & ETHOSU_EXT_NO_VERIFY) {
        assume_writes(made, writes);
    } else if (!(flags & ETHOSU_EXT_KNOWN_WRITES)) {
        RETURN_IF_ERROR(read_writes(drv, payload, made, writes, fault));
    }
    for (uint32_t i = 0; i < made->count; i++) {
        made->written |= (uint8_t)((writes->end[i] != 0) << i);
    }
    if ((flags & ETHOSU_EXT_CONSTANTS) && (made->written >> CONSTANTS & 1)) {
        return ethosu_ext_fail(fault, ETHOSU_EXT_E_CONSTANTS_WRITTEN, CONSTANTS);
    }
    return 0;
}

static int check_arguments(struct ethosu_driver *drv, const struct ethosu_ext_call *call)
{
    struct ethosu_ext_fault *fault = &drv->fault;
    if ((unsigned)call->count > ETHOSU_EXT_MAX_BASES) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_BASE_COUNT, -1, (size_t)call->count,
                                 ETHOSU_EXT_MAX_BASES);
    }
    if (call->count > 0 && (call->base == NULL || call->base_size == NULL)) {
        return ethosu_ext_fail(fault, ETHOSU_EXT_E_ARGUMENT, call->base == NULL ? 3 : 4);
    }
    if (drv->dev.part == NULL) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NO_NPU, -1, drv->dev.config_register,
                                 drv->dev.id);
    }
    return 0;
}

static int read_payload(struct ethosu_driver *drv, const struct ethosu_ext_call *call,
                        struct ethosu_ext_payload *payload)
{
    int error = ethosu_ext_parse_payload(call->payload, call->payload_size, payload, &drv->fault);
    if (error != 0 || !payload->has_config) {
        return error;
    }
    return ethosu_ext_device_check(&drv->dev, payload->config, payload->id, &drv->fault);
}

/** A stream that modifies itself would run unchecked commands. */
static int check_stream_apart(const struct ethosu_ext_program *made,
                              const struct ethosu_ext_writes *writes,
                              struct ethosu_ext_fault *fault)
{
    for (uint32_t mask = made->written; mask != 0; mask &= mask - 1) {
        int i = __builtin_ctz(mask);
        uint64_t start = made->base[i].npu + writes->start[i];
        uint64_t end = made->base[i].npu + writes->end[i];
        if (start < made->stream + made->stream_bytes && made->stream < end) {
            return ethosu_ext_refuse_wide(fault, ETHOSU_EXT_E_STREAM_WRITTEN, i, made->stream, 0);
        }
    }
    return 0;
}

/** Fill in `made`, except its owner. */
static int make_program(struct ethosu_driver *drv, struct ethosu_ext_program *made,
                        const struct ethosu_ext_payload *payload, const uint64_t *base_addr,
                        unsigned flags, struct ethosu_ext_writes *writes)
{
    struct ethosu_ext_fault *fault = &drv->fault;
    RETURN_IF_ERROR(place_stream(&drv->dev, payload, made, fault));
    RETURN_IF_ERROR(check_fast_scratch(payload, made, fault));
    RETURN_IF_ERROR(find_writes(drv, payload, made, writes, flags, fault));
    RETURN_IF_ERROR(place_bases(drv, base_addr, writes, flags, made, fault));
    if (!(flags & ETHOSU_EXT_NO_VERIFY)) {
        RETURN_IF_ERROR(check_stream_apart(made, writes, fault));
    }
    ethosu_ext_clean(made);
    return 0;
}

int ethosu_ext_prepare_with(struct ethosu_driver *drv, struct ethosu_ext_program *program,
                            const struct ethosu_ext_call *call, unsigned flags,
                            struct ethosu_ext_writes *writes)
{
    struct ethosu_ext_payload payload;
    program->owner = NULL;
    RETURN_IF_ERROR(check_arguments(drv, call));
    RETURN_IF_ERROR(read_payload(drv, call, &payload));
    memset(program, 0, offsetof(struct ethosu_ext_program, base));
    program->count = (uint8_t)call->count;
    for (uint32_t i = 0; i < program->count; i++) {
        program->base[i].size = call->base_size[i];
    }
    RETURN_IF_ERROR(make_program(drv, program, &payload, call->base, flags, writes));
    program->owner = drv;
    return 0;
}

int ethosu_ext_prepare(struct ethosu_driver *drv, struct ethosu_ext_program *program,
                       const void *payload, size_t payload_size, const uint64_t *base_addr,
                       const size_t *base_addr_size, int num_base_addr, unsigned flags)
{
    const struct ethosu_ext_call call = {payload, payload_size, base_addr, base_addr_size,
                                         num_base_addr};
    struct ethosu_ext_writes writes;
    return ethosu_ext_prepare_with(drv, program, &call, flags & ~ETHOSU_EXT_KNOWN_WRITES, &writes);
}
