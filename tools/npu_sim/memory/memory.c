// SPDX-License-Identifier: MIT
/** Memory access of operations: regions, address arithmetic, bus faults. */
#include "memory/memory.h"

#include <inttypes.h>

#include "core/npu_internal.h"

enum { BASE_ALIGNMENT = 16 };

enum npu_port npu_region_port(const struct npu *npu, unsigned region)
{
    return (enum npu_port)npu->run.port[npu->run.region_config >> (2 * region) & 3u];
}

static bool port_refuses(const struct npu *npu, enum npu_port port, bool write)
{
    return write && port == NPU_PORT_M1 && npu->product->family->read_only_m1;
}

uint8_t *npu_access(struct npu *npu, enum npu_port port, uint64_t address, uint64_t length,
                    bool write)
{
    const struct npu_access access = {
        .address = address,
        .length = length,
        .write = write,
        .secure = npu->run.secure,
        .privileged = npu->run.privileged,
        .port = (uint8_t)port,
    };
    return port_refuses(npu, port, write) ? NULL : npu->bus.map(npu->bus.context, &access);
}

const char *npu_refusal(const struct npu *npu, enum npu_port port, bool write)
{
    if (port_refuses(npu, port, write)) {
        return "AXI port M1 is read-only";
    }
    return npu->run.secure ? "not NPU-visible memory"
                           : "not NPU-visible memory for a non-secure access";
}

/** Address of an offset into a region, wrapped to the product's address width. */
static uint64_t address_of(const struct npu *npu, unsigned region, int64_t offset)
{
    uint64_t mask = ((uint64_t)1 << npu->product->family->address_bits) - 1;
    return (npu->run.base[region] + (uint64_t)offset) & mask;
}

void npu_trace_bytes(struct npu *npu, enum npu_channel channel, unsigned region, uint64_t bytes)
{
    struct npu_operation *trace = npu->run.trace;
    *(npu_channel_writes(channel) ? &trace->written[region] : &trace->read[region]) += bytes;
}

void npu_count_bytes(struct npu *npu, enum npu_channel channel, unsigned region, uint64_t bytes)
{
    npu_trace_bytes(npu, channel, region, bytes);
    npu_pmu_count_axi(npu, npu_region_port(npu, region), channel, bytes);
}

static const char *channel_name(enum npu_channel channel)
{
    static const char *const names[] = {
        [NPU_READ_COMMAND] = "command read", [NPU_READ_IFM] = "IFM read",
        [NPU_READ_WEIGHT] = "weight read",   [NPU_READ_SCALE] = "scale read",
        [NPU_READ_DMA] = "DMA read",         [NPU_WRITE_OFM] = "OFM write",
        [NPU_WRITE_DMA] = "DMA write",
    };
    return names[channel];
}

/** Request a mapping from the host; NULL if any byte is inaccessible. */
static uint8_t *request_mapping(struct npu *npu, enum npu_channel channel, unsigned region,
                                int64_t offset, uint64_t length)
{
    uint64_t address = address_of(npu, region, offset);
    uint64_t space = (uint64_t)1 << npu->product->family->address_bits;
    if (length > space - address || npu->run.base[region] % BASE_ALIGNMENT != 0) {
        return NULL;
    }
    return npu_access(npu, npu_region_port(npu, region), address, length,
                      npu_channel_writes(channel));
}

void npu_map_ahead(struct npu *npu, enum npu_channel channel, const struct npu_feature_map *map,
                   int64_t offset, uint64_t length)
{
    uint8_t *memory = request_mapping(npu, channel, map->region, offset, length);
    for (int i = 0; i < NPU_MAPPED_MAX && memory != NULL; i++) {
        if (npu->run.mapped[i].map == NULL) {
            npu->run.mapped[i] = (struct npu_mapped){map, channel, offset, memory};
            return;
        }
    }
}

uint8_t *npu_mapped_ahead(const struct npu *npu, enum npu_channel channel,
                          const struct npu_feature_map *map, int64_t offset)
{
    for (int i = 0; i < NPU_MAPPED_MAX; i++) {
        const struct npu_mapped *mapped = &npu->run.mapped[i];
        if (mapped->map == map && mapped->channel == channel) {
            return mapped->memory + (offset - mapped->offset);
        }
    }
    return NULL;
}

uint8_t *npu_map(struct npu *npu, enum npu_channel channel, unsigned region, int64_t offset,
                 uint64_t length)
{
    if (npu->run.base[region] % BASE_ALIGNMENT != 0) {
        npu_fail(npu, NPU_FAULT_PARSE,
                 "uses region %u: BASEP%u 0x%" PRIx64 " is not a multiple of %d", region, region,
                 npu->run.base[region], BASE_ALIGNMENT);
        return NULL;
    }
    uint64_t address = address_of(npu, region, offset);
    uint8_t *memory = request_mapping(npu, channel, region, offset, length);
    if (memory == NULL) {
        enum npu_port port = npu_region_port(npu, region);
        if (npu->run.fault == NPU_FAULT_NONE) {
            npu->run.fault_interface = (uint8_t)port;
            npu->run.fault_channel = (uint8_t)channel;
        }
        npu_fail(npu, NPU_FAULT_BUS,
                 "%s of %" PRIu64 " bytes at 0x%" PRIx64 " (region %u + 0x%" PRIx64 "): %s",
                 channel_name(channel), length, address, region, (uint64_t)offset,
                 npu_refusal(npu, port, npu_channel_writes(channel)));
        return NULL;
    }
    return memory;
}
