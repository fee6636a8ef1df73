// SPDX-License-Identifier: MIT
/** Cache of decoded weights. */
#include "weights/weight_cache.h"

#include <stdlib.h>
#include <string.h>

/** When exceeded, least recently used entries are evicted. */
static const size_t cache_limit = (size_t)192 << 20;

/** For vector loads, which are slower across two cache lines. */
enum { ALIGNMENT = 64 };

static void *allocate_aligned(size_t bytes)
{
    return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static size_t entry_bytes(const struct npu_weights *entry)
{
    size_t bytes = entry->plain_bytes + entry->packed_bytes + entry->requant_bytes;
    for (int core = 0; core < NPU_WEIGHT_CORES; core++) {
        bytes += entry->length[core];
    }
    return bytes;
}

static void free_entry(struct npu_weights *entry)
{
    free(entry->plain);
    free(entry->packed);
    free(entry->requant);
    free(entry->streams);
    free(entry);
}

static bool same_streams(const struct npu_weights *entry, const struct npu_weight_bytes *streams)
{
    const uint8_t *copy = entry->streams;
    for (int core = 0; core < NPU_WEIGHT_CORES; core++) {
        size_t length = streams->length[core];
        if (entry->length[core] != length ||
            (length > 0 && memcmp(copy, streams->bytes[core], length) != 0)) {
            return false;
        }
        copy += length;
    }
    return true;
}

struct npu_weights *npu_cache_find(struct npu_weight_cache *cache, uint64_t key,
                                   const struct npu_weight_bytes *streams)
{
    unsigned first = cache->next % NPU_CACHE_ENTRIES;
    first = cache->entries[first] == NULL ? 0 : first;
    for (unsigned i = 0; i < NPU_CACHE_ENTRIES; i++) {
        unsigned slot = (first + i) % NPU_CACHE_ENTRIES;
        struct npu_weights *entry = cache->entries[slot];
        if (entry != NULL && entry->key == key && same_streams(entry, streams)) {
            entry->used = ++cache->time;
            cache->next = slot + 1;
            return entry;
        }
    }
    return NULL;
}

/** Slot of an unused entry, or of the least recently used one. */
static int oldest(const struct npu_weight_cache *cache, const struct npu_weights *keep)
{
    int slot = -1;
    for (int i = 0; i < NPU_CACHE_ENTRIES; i++) {
        const struct npu_weights *entry = cache->entries[i];
        if (entry != NULL && entry != keep &&
            (slot < 0 || entry->used < cache->entries[slot]->used)) {
            slot = i;
        }
    }
    return slot;
}

static void evict(struct npu_weight_cache *cache, int slot)
{
    cache->bytes -= entry_bytes(cache->entries[slot]);
    free_entry(cache->entries[slot]);
    cache->entries[slot] = NULL;
}

static void make_room(struct npu_weight_cache *cache, const struct npu_weights *keep)
{
    while (cache->bytes > cache_limit) {
        int slot = oldest(cache, keep);
        if (slot < 0) {
            return;
        }
        evict(cache, slot);
    }
}

static int free_slot(struct npu_weight_cache *cache)
{
    for (int i = 0; i < NPU_CACHE_ENTRIES; i++) {
        if (cache->entries[i] == NULL) {
            return i;
        }
    }
    int slot = oldest(cache, NULL);
    evict(cache, slot);
    return slot;
}

struct npu_weights *npu_cache_add(struct npu_weight_cache *cache, uint64_t key,
                                  const struct npu_weight_bytes *streams, size_t count)
{
    struct npu_weights *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->key = key;
    entry->used = ++cache->time;
    size_t bytes = 1;
    for (int core = 0; core < NPU_WEIGHT_CORES; core++) {
        bytes += streams->length[core];
    }
    entry->plain_bytes = count * sizeof *entry->plain;
    entry->plain = malloc(entry->plain_bytes);
    entry->streams = malloc(bytes);
    if (entry->plain == NULL || entry->streams == NULL) {
        free_entry(entry);
        return NULL;
    }
    size_t at = 0;
    for (int core = 0; core < NPU_WEIGHT_CORES; core++) {
        entry->length[core] = streams->length[core];
        if (streams->length[core] > 0) {
            memcpy(entry->streams + at, streams->bytes[core], streams->length[core]);
        }
        at += streams->length[core];
    }
    cache->entries[free_slot(cache)] = entry;
    cache->bytes += entry_bytes(entry);
    make_room(cache, entry);
    return entry;
}

/** Allocate memory of an entry in place of earlier one. */
static void *replace(struct npu_weight_cache *cache, struct npu_weights *weights, void **memory,
                     size_t *size, size_t bytes)
{
    free(*memory);
    cache->bytes -= *size;
    *memory = allocate_aligned(bytes);
    *size = *memory == NULL ? 0 : bytes;
    cache->bytes += *size;
    make_room(cache, weights);
    return *memory;
}

void *npu_cache_pack(struct npu_weight_cache *cache, struct npu_weights *weights, size_t bytes)
{
    void *packed = replace(cache, weights, &weights->packed, &weights->packed_bytes, bytes);
    return packed == NULL ? NULL : memset(packed, 0, bytes);
}

void *npu_cache_requant(struct npu_weight_cache *cache, struct npu_weights *weights, size_t bytes)
{
    return replace(cache, weights, &weights->requant, &weights->requant_bytes, bytes);
}

void npu_cache_drop(struct npu_weight_cache *cache, struct npu_weights *weights)
{
    for (int i = 0; i < NPU_CACHE_ENTRIES; i++) {
        if (cache->entries[i] == weights) {
            evict(cache, i);
            return;
        }
    }
}

void npu_cache_free(struct npu_weight_cache *cache)
{
    for (int i = 0; i < NPU_CACHE_ENTRIES; i++) {
        if (cache->entries[i] != NULL) {
            evict(cache, i);
        }
    }
}
