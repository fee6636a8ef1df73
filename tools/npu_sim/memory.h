// SPDX-License-Identifier: MIT
/** How operations reach memory: regions, address arithmetic, bus faults. */
#ifndef NPU_MEMORY_H
#define NPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npu;

/** AXI channels, with the numbers that STATUS.faulting_channel shows. */
enum npu_channel {
    NPU_READ_COMMAND = 0,
    NPU_READ_IFM = 1,
    NPU_READ_WEIGHT = 2,
    NPU_READ_SCALE = 3,
    NPU_READ_DMA = 4,
    NPU_WRITE_OFM = 8,
    NPU_WRITE_DMA = 9,
};

static inline bool npu_channel_writes(enum npu_channel channel)
{
    return channel >= NPU_WRITE_OFM;
}

/** AXI port through which a region is accessed. */
enum npu_port npu_region_port(const struct npu *npu, unsigned region);

/**
 * Ask the host for the bytes of an access.
 *
 * @return NULL when the port or the host refuses it
 */
uint8_t *npu_access(struct npu *npu, enum npu_port port, uint64_t address, uint64_t length,
                    bool write);

/** Why an access was refused, for a message. */
const char *npu_refusal(const struct npu *npu, enum npu_port port, bool write);

/**
 * Host pointer to length bytes at a region offset, for one channel.
 *
 * @return NULL after recording a bus error
 */
uint8_t *npu_map(struct npu *npu, enum npu_channel channel, unsigned region, int64_t offset,
                 uint64_t length);

/**
 * Map a whole feature map with one question to the host, if it lies in one piece.
 *
 * Later npu_map() calls inside [offset, offset + length) are answered from it; when
 * it fails they ask for themselves. Forgotten with the operation.
 */
void npu_map_ahead(struct npu *npu, enum npu_channel channel, unsigned region, int64_t offset,
                   uint64_t length);

/** A piece of memory that npu_map_ahead() got. */
struct npu_mapped {
    enum npu_channel channel;
    unsigned region;
    int64_t offset;
    uint64_t length; /**< 0: unused */
    uint8_t *memory;
};

enum { NPU_MAPPED_MAX = 3 };

/** Count bytes that move, for the trace and the PMU. */
void npu_count_bytes(struct npu *npu, enum npu_channel channel, unsigned region, uint64_t bytes);

#endif
