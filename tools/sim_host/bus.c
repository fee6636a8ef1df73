// SPDX-License-Identifier: MIT
/**
 * Memory that the NPUs see: one window of address space, given out in blocks
 * between guard zones. An NPU may touch bytes of a block, nothing else.
 */
#include "sim_host_internal.h"

#include <string.h>
#include <sys/mman.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

#define ALIGNMENT 64u
#define GUARD 64u
#define GUARD_BYTE 0xA5
#define BLOCK_COUNT 512

/** Offsets in the window; blocks are kept in their order. */
struct block {
    size_t start;
    size_t size;
};

static struct {
    pthread_mutex_t lock;
    uint8_t *window;
    struct block blocks[BLOCK_COUNT];
    unsigned count;
} bus = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t round_up(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/** Bytes that a block takes in the window, behind its own first guard. */
static size_t extent(const struct block *block)
{
    return round_up(block->size) + GUARD;
}

void sim_host_bus_open(struct ethosu_memory *memory)
{
    pthread_mutex_lock(&bus.lock);
    if (bus.window == NULL) {
        void *window = mmap(NULL, SIM_HOST_BUS_SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        bus.window = window == MAP_FAILED ? NULL : window;
    }
    memory->start = bus.window;
    memory->end = bus.window == NULL ? NULL : bus.window + SIM_HOST_BUS_SIZE;
    memory->npu_address = SIM_HOST_BUS_BASE;
    pthread_mutex_unlock(&bus.lock);
}

/** Index of the first gap that holds `size` bytes, and where it begins. */
static unsigned find_gap(size_t size, size_t *start)
{
    unsigned i = 0;
    *start = GUARD;
    while (i < bus.count && bus.blocks[i].start < *start + round_up(size) + GUARD) {
        *start = bus.blocks[i].start + extent(&bus.blocks[i]);
        i++;
    }
    return i;
}

static void set_guards(const struct block *block)
{
    uint8_t *memory = bus.window + block->start;
    size_t tail = extent(block) - block->size;
    memset(memory - GUARD, GUARD_BYTE, GUARD);
    memset(memory + block->size, GUARD_BYTE, tail);
    ASAN_POISON_MEMORY_REGION(memory - GUARD, GUARD);
    ASAN_POISON_MEMORY_REGION(memory + block->size, tail);
}

static void *alloc_locked(size_t size)
{
    if (bus.window == NULL || bus.count == BLOCK_COUNT || size > SIM_HOST_BUS_SIZE / 2) {
        return NULL;
    }
    struct block block = {0, size};
    unsigned i = find_gap(size, &block.start);
    if (block.start + extent(&block) > SIM_HOST_BUS_SIZE) {
        return NULL;
    }
    memmove(&bus.blocks[i + 1], &bus.blocks[i], (bus.count - i) * sizeof block);
    bus.blocks[i] = block;
    bus.count++;
    uint8_t *memory = bus.window + block.start;
    ASAN_UNPOISON_MEMORY_REGION(memory - GUARD, GUARD + extent(&block));
    memset(memory, 0, size);
    set_guards(&block);
    return memory;
}

void *sim_host_alloc(size_t size)
{
    struct ethosu_memory memory_of_window;
    sim_host_bus_open(&memory_of_window);
    pthread_mutex_lock(&bus.lock);
    void *memory = alloc_locked(size);
    pthread_mutex_unlock(&bus.lock);
    return memory;
}

void sim_host_free(void *memory)
{
    pthread_mutex_lock(&bus.lock);
    for (unsigned i = 0; i < bus.count && memory != NULL; i++) {
        if (bus.window + bus.blocks[i].start == memory) {
            ASAN_POISON_MEMORY_REGION(memory, bus.blocks[i].size);
            bus.count--;
            memmove(&bus.blocks[i], &bus.blocks[i + 1], (bus.count - i) * sizeof bus.blocks[0]);
            break;
        }
    }
    pthread_mutex_unlock(&bus.lock);
}

static bool intact(const uint8_t *guard, size_t size)
{
    bool good = true;
    ASAN_UNPOISON_MEMORY_REGION(guard, size);
    for (size_t i = 0; i < size; i++) {
        good = good && guard[i] == GUARD_BYTE;
    }
    ASAN_POISON_MEMORY_REGION(guard, size);
    return good;
}

unsigned sim_host_damaged_guards(void)
{
    unsigned damaged = 0;
    pthread_mutex_lock(&bus.lock);
    for (unsigned i = 0; i < bus.count; i++) {
        const struct block *block = &bus.blocks[i];
        const uint8_t *memory = bus.window + block->start;
        damaged += !intact(memory - GUARD, GUARD);
        damaged += !intact(memory + block->size, extent(block) - block->size);
    }
    pthread_mutex_unlock(&bus.lock);
    return damaged;
}

/** The memory takes secure accesses only, as that of a chip does after its reset. */
uint8_t *sim_host_map(const struct npu_access *access)
{
    uint8_t *found = NULL;
    uint64_t offset = access->address - SIM_HOST_BUS_BASE;
    uint64_t length = access->length;
    if (!access->secure) {
        return NULL;
    }
    pthread_mutex_lock(&bus.lock);
    for (unsigned i = 0; i < bus.count && found == NULL; i++) {
        const struct block *block = &bus.blocks[i];
        if (offset >= block->start && length <= block->size &&
            offset - block->start <= block->size - length) {
            found = bus.window + offset;
        }
    }
    pthread_mutex_unlock(&bus.lock);
    return found;
}
