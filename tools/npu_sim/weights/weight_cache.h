// SPDX-License-Identifier: MIT
/**
 * Cache of decoded weights. The same compressed bytes in the same order give the same weights, so a
 * network is decoded once, not in every inference. A hit compares all compressed bytes; it does not
 * depend on their address.
 */
#ifndef NPU_WEIGHT_CACHE_H
#define NPU_WEIGHT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/parts.h"

/** Compressed streams of one operation. */
struct npu_weight_bytes {
    const uint8_t *bytes[NPU_WEIGHT_CORES];
    size_t length[NPU_WEIGHT_CORES]; /**< 0 if there is no such core */
};

/** How the weights of a convolution are packed, see dot.h. */
enum npu_packing { NPU_PACKED_WORDS, NPU_PACKED_BYTES, NPU_PACKED_QUADS };

/** Decoded weights of one operation. */
struct npu_weights {
    int16_t *plain;
    void *packed; /**< in the operation's own layout; NULL until first used */
    enum npu_packing packing;
    int32_t packed_zero; /**< zero point of the inputs that NPU_PACKED_QUADS are for */
    void *requant;       /**< scales of the output stage, see requant.c; NULL until first used */

    /* Private to the cache. */
    uint64_t key;  /**< order of the weights */
    uint64_t used; /**< time of the last use */
    size_t plain_bytes, packed_bytes, requant_bytes;
    size_t length[NPU_WEIGHT_CORES];
    uint8_t *streams; /**< concatenated copies of all streams */
};

/** The entry of these streams, or NULL. */
struct npu_weights *npu_cache_find(struct npu_weight_cache *cache, uint64_t key,
                                   const struct npu_weight_bytes *streams);

/**
 * Add an entry with room for count plain weights, which the caller fills.
 *
 * @return NULL if out of memory
 */
struct npu_weights *npu_cache_add(struct npu_weight_cache *cache, uint64_t key,
                                  const struct npu_weight_bytes *streams, size_t count);

/**
 * Allocate the packed weights of an entry in place of earlier ones, zeroed and 64-byte aligned;
 * NULL if out of memory.
 */
void *npu_cache_pack(struct npu_weight_cache *cache, struct npu_weights *weights, size_t bytes);

/** Allocate 64-byte aligned scales of an entry in place of earlier ones; NULL if out of memory. */
void *npu_cache_requant(struct npu_weight_cache *cache, struct npu_weights *weights, size_t bytes);

/** Remove an entry whose weights could not be decoded. */
void npu_cache_drop(struct npu_weight_cache *cache, struct npu_weights *weights);

void npu_cache_free(struct npu_weight_cache *cache);

#endif
