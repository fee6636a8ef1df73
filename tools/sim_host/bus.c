// SPDX-License-Identifier: MIT
/**
 * Memory accessible to the NPUs: one window of address space, allocated in blocks between guard
 * zones. An NPU can only access bytes of a block. The window has a part for each cache attribute of
 * the CPU.
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
#define FRESH_BYTE \
    0x5A /**< content of memory, as seen by the NPUs, until a CPU write has reached it */
#define BLOCK_COUNT 512

/** Size of each part at the end of the window with a different cache attribute. */
#define OTHER_SIZE (SIM_HOST_BUS_SIZE / 16)

/** The parts of the window, in the order of enum coherence_attribute. */
static const struct part {
    const char *name;
    uint8_t cache; /**< enum ethosu_cache */
    size_t start;
    size_t end;
} parts[SIM_HOST_PART_COUNT] = {
    {"cached memory", ETHOSU_CACHE_WRITE_BACK, 0, SIM_HOST_BUS_SIZE - 2 * OTHER_SIZE},
    {"write-through memory", ETHOSU_CACHE_WRITE_THROUGH, SIM_HOST_BUS_SIZE - 2 * OTHER_SIZE,
     SIM_HOST_BUS_SIZE - OTHER_SIZE},
    {"uncached memory", ETHOSU_CACHE_NONE, SIM_HOST_BUS_SIZE - OTHER_SIZE, SIM_HOST_BUS_SIZE},
};

/** Offsets in the window; blocks are sorted. */
struct block {
    size_t start;
    size_t size;
    uint8_t *memory; /**< the NPUs' copy, if separate from the CPU's */
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

/** Bytes that a block occupies in the window after its first guard zone. */
static size_t extent(const struct block *block)
{
    return round_up(block->size) + GUARD;
}

void sim_host_bus_open(struct ethosu_memory memories[SIM_HOST_PART_COUNT])
{
    pthread_mutex_lock(&bus.lock);
    if (bus.window == NULL) {
        void *window = mmap(NULL, SIM_HOST_BUS_SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        bus.window = window == MAP_FAILED ? NULL : window;
    }
    for (size_t i = 0; bus.window != NULL && i < SIM_HOST_PART_COUNT; i++) {
        memories[i] = (struct ethosu_memory){
            .name = parts[i].name,
            .start = bus.window + parts[i].start,
            .end = bus.window + parts[i].end,
            .npu_address = SIM_HOST_BUS_BASE + parts[i].start,
            .masters = ETHOSU_MASTERS_ALL,
            .cache = parts[i].cache,
        };
    }
    pthread_mutex_unlock(&bus.lock);
}

/** Index of the first gap from *start on that fits `size` bytes; sets *start to its beginning. */
static unsigned find_gap(size_t size, size_t *start)
{
    unsigned i = 0;
    *start += GUARD;
    while (i < bus.count && bus.blocks[i].start < *start + round_up(size) + GUARD) {
        size_t behind = bus.blocks[i].start + extent(&bus.blocks[i]);
        *start = behind > *start ? behind : *start;
        i++;
    }
    return i;
}

/** Surround one copy of a block with guard zones. */
static void set_guards(const struct block *block, uint8_t *memory)
{
    size_t tail = extent(block) - block->size;
    ASAN_UNPOISON_MEMORY_REGION(memory - GUARD, GUARD + extent(block));
    memset(memory - GUARD, GUARD_BYTE, GUARD);
    memset(memory + block->size, GUARD_BYTE, tail);
    ASAN_POISON_MEMORY_REGION(memory - GUARD, GUARD);
    ASAN_POISON_MEMORY_REGION(memory + block->size, tail);
}

static void *alloc_locked(size_t size, enum coherence_attribute attribute)
{
    const struct part *part = &parts[attribute];
    if (bus.window == NULL || bus.count == BLOCK_COUNT || size > part->end - part->start) {
        return NULL;
    }
    struct block block = {part->start, size, NULL};
    unsigned i = find_gap(size, &block.start);
    if (block.start + extent(&block) > part->end ||
        !sim_host_cache_add(bus.window, block.start, size, attribute, &block.memory)) {
        return NULL;
    }
    uint8_t *memory = bus.window + block.start;
    set_guards(&block, memory);
    if (block.memory != NULL) {
        set_guards(&block, block.memory);
        memset(block.memory, FRESH_BYTE, size);
    }
    memset(memory, 0, size);
    memmove(&bus.blocks[i + 1], &bus.blocks[i], (bus.count - i) * sizeof block);
    bus.blocks[i] = block;
    bus.count++;
    return memory;
}

static void *allocate(size_t size, enum coherence_attribute attribute)
{
    struct ethosu_memory memories[SIM_HOST_PART_COUNT];
    sim_host_bus_open(memories);
    pthread_mutex_lock(&bus.lock);
    void *memory = alloc_locked(size, attribute);
    pthread_mutex_unlock(&bus.lock);
    return memory;
}

void *sim_host_alloc(size_t size)
{
    return allocate(size, COHERENCE_WRITE_BACK);
}

void *sim_host_alloc_write_through(size_t size)
{
    return allocate(size, COHERENCE_WRITE_THROUGH);
}

void *sim_host_alloc_uncached(size_t size)
{
    return allocate(size, COHERENCE_UNCACHED);
}

static void forget(const struct block *block)
{
    uint8_t *memory = bus.window + block->start;
    ASAN_POISON_MEMORY_REGION(memory, block->size);
    if (block->memory != NULL) {
        sim_host_cache_remove(memory);
        ASAN_POISON_MEMORY_REGION(block->memory, block->size);
    }
}

void sim_host_free(void *memory)
{
    pthread_mutex_lock(&bus.lock);
    for (unsigned i = 0; i < bus.count && memory != NULL; i++) {
        if (bus.window + bus.blocks[i].start == memory) {
            forget(&bus.blocks[i]);
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

static unsigned damaged_around(const struct block *block, const uint8_t *memory)
{
    return !intact(memory - GUARD, GUARD) +
           !intact(memory + block->size, extent(block) - block->size);
}

unsigned sim_host_damaged_guards(void)
{
    unsigned damaged = 0;
    pthread_mutex_lock(&bus.lock);
    for (unsigned i = 0; i < bus.count; i++) {
        const struct block *block = &bus.blocks[i];
        damaged += damaged_around(block, bus.window + block->start);
        damaged += block->memory == NULL ? 0 : damaged_around(block, block->memory);
    }
    pthread_mutex_unlock(&bus.lock);
    return damaged;
}

/** The memory accepts only secure accesses, like a chip's after reset. */
uint8_t *sim_host_map(const struct npu_access *access)
{
    uint8_t *bytes = NULL;
    uint64_t offset = access->address - SIM_HOST_BUS_BASE;
    uint64_t length = access->length;
    if (!access->secure) {
        return NULL;
    }
    pthread_mutex_lock(&bus.lock);
    for (unsigned i = 0; i < bus.count && bytes == NULL; i++) {
        const struct block *block = &bus.blocks[i];
        if (offset >= block->start && length <= block->size &&
            offset - block->start <= block->size - length) {
            uint8_t *start = bus.window + offset;
            bytes = block->memory == NULL ? start : sim_host_cache_map(start, length);
        }
    }
    pthread_mutex_unlock(&bus.lock);
    return bytes;
}
