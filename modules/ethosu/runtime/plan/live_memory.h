// SPDX-License-Identifier: MIT
/**
 * Tracks which tensors of the arena are live, and finds overlaps with them. Adding, removing and
 * look-up take logarithmic time in the number of tensors.
 */
#ifndef LIVE_MEMORY_H
#define LIVE_MEMORY_H

#include "runtime/build/builder.h"

/** A tensor in the arena: its bytes, and the time from its first write to its last read. */
struct lifetime {
    uint32_t start;
    uint32_t end;    /**< start + bytes; 0 if not in the arena */
    uint32_t first;  /**< time of the first write: operator + 1; 0: before the inference */
    uint32_t last;   /**< time of the last read */
    uint32_t reader; /**< time of its last reader seen so far */
};

struct live_memory {
    struct lifetime *tensors; /**< of all tensors, by index */
    uint32_t count;
    uint32_t *order; /**< tensors by their first byte */
    uint32_t *place; /**< position of each tensor in `order` */
    uint32_t *ends;  /**< a tree: the leaves [count + place] have the ends of tensors that are live,
                          else 0, and node n the larger one of nodes 2n and 2n + 1 */
};

/** Bytes of memory for a tensor. */
#define LIVE_MEMORY_SIZE (sizeof(struct lifetime) + 4 * sizeof(uint32_t))

/** Divide memory of LIVE_MEMORY_SIZE * count bytes into the arrays. */
void live_memory_open(struct live_memory *live, void *memory, uint32_t count);

/** Sort the tensors once all their bytes are set. After this, none is live. */
int live_memory_sort(struct builder *builder, struct live_memory *live);

bool live_memory_has(const struct live_memory *live, uint32_t tensor);

void live_memory_set(struct live_memory *live, uint32_t tensor, bool alive);

/** Does a live tensor overlap these bytes? */
bool live_memory_overlaps(const struct live_memory *live, uint32_t start, uint32_t end);

#endif
