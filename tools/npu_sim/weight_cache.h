// SPDX-License-Identifier: MIT
/**
 * Weights that were decoded before: the same compressed bytes in the same order
 * give the same weights, so a network is decoded once, not in every inference.
 * A hit compares all compressed bytes; nothing depends on where they lie.
 */
#ifndef NPU_WEIGHT_CACHE_H
#define NPU_WEIGHT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPU_WEIGHT_CORES = 4, NPU_CACHE_ENTRIES = 512 };

/** Compressed streams of one operation. */
struct npu_weight_bytes {
    const uint8_t *bytes[NPU_WEIGHT_CORES];
    size_t length[NPU_WEIGHT_CORES]; /**< 0: no such core */
};

/** Decoded weights of one operation. */
struct npu_weights {
    int16_t *plain;
    int16_t *packed; /**< as the operation laid them out, NULL until it did */

    /* The cache's own. */
    uint64_t key;  /**< order of the weights */
    uint64_t used; /**< time of the last use */
    size_t plain_bytes, packed_bytes;
    size_t length[NPU_WEIGHT_CORES];
    uint8_t *streams; /**< copy of all streams, one after the other */
};

struct npu_weight_cache {
    struct npu_weights *entries[NPU_CACHE_ENTRIES];
    uint64_t time;
    size_t bytes; /**< of all entries */
};

/** The entry of these streams, or NULL. */
struct npu_weights *npu_cache_find(struct npu_weight_cache *cache, uint64_t key,
                                   const struct npu_weight_bytes *streams);

/**
 * A new entry with room for count plain weights, which the caller fills.
 *
 * @return NULL when there is no memory
 */
struct npu_weights *npu_cache_add(struct npu_weight_cache *cache, uint64_t key,
                                  const struct npu_weight_bytes *streams, size_t count);

/** Room for the packed weights of an entry; NULL when there is no memory. */
int16_t *npu_cache_pack(struct npu_weight_cache *cache, struct npu_weights *weights, size_t count);

/** Forget an entry whose weights could not be decoded. */
void npu_cache_drop(struct npu_weight_cache *cache, struct npu_weights *weights);

void npu_cache_free(struct npu_weight_cache *cache);

#endif
