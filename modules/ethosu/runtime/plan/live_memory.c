// SPDX-License-Identifier: MIT
/** See live_memory.h. */
#include "runtime/plan/live_memory.h"

#include <string.h>

void live_memory_open(struct live_memory *live, void *memory, uint32_t count)
{
    live->tensors = memory;
    live->count = count;
    live->order = (uint32_t *)(void *)(live->tensors + count);
    live->place = live->order + count;
    live->ends = live->place + count;
}

static uint32_t start_of(const struct live_memory *live, uint32_t position)
{
    return live->tensors[live->order[position]].start;
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

/** Heap sort: move the entry at a position of `order` down to its place in the heap. */
static void sift(struct live_memory *live, uint32_t at, uint32_t count)
{
    for (uint32_t child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
        if (child + 1 < count && start_of(live, child + 1) > start_of(live, child)) {
            child++;
        }
        if (start_of(live, child) <= start_of(live, at)) {
            return;
        }
        swap(&live->order[at], &live->order[child]);
    }
}

int live_memory_sort(struct builder *builder, struct live_memory *live)
{
    for (uint32_t i = 0; i < live->count; i++) {
        live->order[i] = i;
    }
    for (uint32_t i = live->count / 2; i-- > 0;) {
        TRY(build_work(builder, 1));
        sift(live, i, live->count);
    }
    for (uint32_t end = live->count; end-- > 1;) {
        TRY(build_work(builder, 1));
        swap(&live->order[0], &live->order[end]);
        sift(live, 0, end);
    }
    for (uint32_t i = 0; i < live->count; i++) {
        live->place[live->order[i]] = i;
    }
    memset(live->ends, 0, 2 * (size_t)live->count * sizeof live->ends[0]);
    return ETHOSU_MODEL_OK;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

bool live_memory_has(const struct live_memory *live, uint32_t tensor)
{
    return live->ends[live->count + live->place[tensor]] != 0;
}

void live_memory_set(struct live_memory *live, uint32_t tensor, bool alive)
{
    uint32_t node = live->count + live->place[tensor];
    live->ends[node] = alive ? live->tensors[tensor].end : 0;
    for (node /= 2; node >= 1; node /= 2) {
        live->ends[node] = larger(live->ends[2 * node], live->ends[2 * node + 1]);
    }
}

/** Number of tensors that begin before an offset. */
static uint32_t count_before(const struct live_memory *live, uint32_t offset)
{
    uint32_t low = 0;
    uint32_t high = live->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (start_of(live, middle) < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool live_memory_overlaps(const struct live_memory *live, uint32_t start, uint32_t end)
{
    uint32_t largest = 0;
    uint32_t from = live->count;
    uint32_t to = live->count + count_before(live, end);
    for (; from < to; from /= 2, to /= 2) {
        if (from % 2 == 1) {
            largest = larger(largest, live->ends[from++]);
        }
        if (to % 2 == 1) {
            largest = larger(largest, live->ends[--to]);
        }
    }
    return largest > start;
}
