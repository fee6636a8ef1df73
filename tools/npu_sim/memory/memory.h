// SPDX-License-Identifier: MIT
/** Memory access of operations: regions, address arithmetic, bus faults. */
#ifndef NPU_MEMORY_H
#define NPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/parts.h"
#include "npu_sim.h"

struct npu;

/** AXI port through which a region is accessed. */
enum npu_port npu_region_port(const struct npu *npu, unsigned region);

/**
 * Ask the host for the bytes of an access.
 *
 * @return NULL if the port or the host rejects it
 */
uint8_t *npu_access(struct npu *npu, enum npu_port port, uint64_t address, uint64_t length,
                    bool write);

/** Reason for a rejected access, for messages. */
const char *npu_refusal(const struct npu *npu, enum npu_port port, bool write);

/**
 * Host pointer to length bytes at a region offset, for one channel.
 *
 * @return NULL after recording a bus error
 */
uint8_t *npu_map(struct npu *npu, enum npu_channel channel, unsigned region, int64_t offset,
                 uint64_t length);

/**
 * Map the first tile of a feature map with one request to the host, if it is contiguous. Valid
 * until the end of the operation, for npu_mapped_ahead().
 */
void npu_map_ahead(struct npu *npu, enum npu_channel channel, const struct npu_feature_map *map,
                   int64_t offset, uint64_t length);

/** Host memory of an offset in that tile; NULL if it was not mapped. */
uint8_t *npu_mapped_ahead(const struct npu *npu, enum npu_channel channel,
                          const struct npu_feature_map *map, int64_t offset);

/** Add transferred bytes to the trace. */
void npu_trace_bytes(struct npu *npu, enum npu_channel channel, unsigned region, uint64_t bytes);

/** The same, and count them in the PMU. */
void npu_count_bytes(struct npu *npu, enum npu_channel channel, unsigned region, uint64_t bytes);

#endif
