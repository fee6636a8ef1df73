// SPDX-License-Identifier: MIT
/** Parts of an NPU's state that other folders look after: what is mapped, the time, weights. */
#ifndef NPU_PARTS_H
#define NPU_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NPU_MAPPED_MAX = 3,
    NPU_QUEUE = 4, /**< maximum running copies, on Ethos-U85; fewer on the others */
    NPU_CACHE_ENTRIES = 512,
    NPU_WEIGHT_CORES = 4,
    NPU_SCALE_CORES = 2,
};

/** AXI channels, numbered as in STATUS.faulting_channel. */
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

struct npu_feature_map;

/** The first tile of a feature map, mapped by npu_map_ahead(). */
struct npu_mapped {
    const struct npu_feature_map *map; /**< NULL: unused */
    enum npu_channel channel;
    int64_t offset;
    uint8_t *memory; /**< at this offset */
};

/** Operations of one kind; all times are cycles since the run started. */
struct npu_queue {
    unsigned count;          /**< started so far */
    uint64_t end[NPU_QUEUE]; /**< of the last ones, indexed by number modulo NPU_QUEUE */
};

struct npu_timeline {
    uint64_t now; /**< of the command stream, after all waits so far */
    struct npu_queue kernels, copies;
    uint64_t drain;   /**< final cycles of the last kernel, in which it only writes */
    uint64_t settled; /**< time reported by npu_elapsed_cycles() */
};

/** Decoded weights, see weight_cache.c. */
struct npu_weight_cache {
    struct npu_weights *entries[NPU_CACHE_ENTRIES];
    uint64_t time;
    size_t bytes;  /**< of all entries */
    unsigned next; /**< slot after the last one found: a network uses them in order */
};

#endif
