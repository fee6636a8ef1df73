// SPDX-License-Identifier: MIT
/** The data cache; see cache.h. Addresses of the library are the host's, of the CPU's copies. */
#include "cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine.h"
#include "message.h"

#define BLOCK_MAX 8
#define PAGE_SIZE 4096u

typedef struct {
    _Alignas(max_align_t) unsigned char room[MEMORY_REGION_ROOM];
} region_room;

/** One memory, and which of its pages hold anything. */
struct block {
    struct guest_memory_block guest;
    uint8_t *memory;       /**< what the other bus masters read and write */
    unsigned char *pages;  /**< 1: a page may hold something */
    unsigned char *pages2; /**< the same, of memory's copy */
    region_room window;    /**< of `memory`, for the DMA controller */
    region_room secure_window;
};

static struct {
    pthread_mutex_t lock;
    struct coherence coherence; /**< under `lock` */
    bool wanted;
    bool enabled;
    struct block *blocks[BLOCK_MAX];
    size_t block_count;
    region_room bus;
    region_room guest_bus;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static MemoryRegion *region_in(region_room *room)
{
    return (MemoryRegion *)room->room;
}

/* --- Pages in use --------------------------------------------------------- */

/** The pages of a shared file that were ever written, by QEMU or by others. */
static void find_file_pages(const struct block *block)
{
    off_t size = (off_t)block->guest.size, start = 0;
    memset(block->pages, 0, (size_t)size / PAGE_SIZE);
    while (start < size && (start = lseek(block->guest.file, start, SEEK_DATA)) >= 0) {
        off_t end = lseek(block->guest.file, start, SEEK_HOLE);
        end = end < start || end > size ? size : end;
        memset(block->pages + start / PAGE_SIZE, 1,
               (size_t)((end + PAGE_SIZE - 1) / PAGE_SIZE - start / PAGE_SIZE));
        start = end;
    }
}

static void find_pages(const struct block *block)
{
    if (block->guest.file >= 0) {
        find_file_pages(block);
    } else if (mincore(block->guest.host, block->guest.size, block->pages) != 0) {
        fatal("the host does not say which pages of %s are in use", block->guest.name);
    }
    if (mincore(block->memory, block->guest.size, block->pages2) != 0) {
        fatal("the host does not say which pages of %s are in use", block->guest.name);
    }
}

/** Answer of struct coherence_range: the next run of pages that hold anything in either copy. */
static bool next_pages(const struct coherence_range *range, uint64_t *offset, uint64_t *size)
{
    const struct block *block = range->context;
    if (*offset == 0) {
        find_pages(block);
    }
    uint64_t count = range->size / PAGE_SIZE, page = *offset / PAGE_SIZE;
    while (page < count && !((block->pages[page] | block->pages2[page]) & 1)) {
        page++;
    }
    uint64_t end = page;
    while (end < count && (block->pages[end] | block->pages2[end]) & 1) {
        end++;
    }
    *offset = page * PAGE_SIZE;
    *size = (end - page) * PAGE_SIZE;
    return page < count;
}

/* --- Creation ------------------------------------------------------------- */

/** Zeroed memory of which only what is used costs anything; huge pages would cost far more. */
static uint8_t *reserve(const char *name, uint64_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fatal("the host gives no memory for the data cache of %s", name);
    }
    return memory;
}

static void add_block(const struct guest_memory_block *guest)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block || cache.block_count == BLOCK_MAX) {
        fatal("no memory for the data cache of %s", guest->name);
    }
    *block = (struct block){.guest = *guest,
                            .memory = reserve(guest->name, guest->size),
                            .pages = reserve(guest->name, guest->size / PAGE_SIZE),
                            .pages2 = reserve(guest->name, guest->size / PAGE_SIZE)};
    const struct coherence_range range = {
        .base = (uintptr_t)guest->host,
        .size = guest->size,
        .attribute = COHERENCE_WRITE_BACK,
        .cpu = guest->host,
        .memory = block->memory,
        .snapshot = reserve(guest->name, guest->size),
        .state = reserve(guest->name, guest->size / COHERENCE_LINE),
        .next = next_pages,
        .context = block,
    };
    coherence_add(&cache.coherence, &range, COHERENCE_EQUAL);
    cache.blocks[cache.block_count++] = block;
}

void cache_create(const struct coherence_mode *mode)
{
    cache.wanted = mode->on;
    coherence_evict(&cache.coherence, mode->evict, mode->seed);
    struct guest_memory_block guest;
    for (size_t i = 0; cache.wanted && guest_memory_next(&i, &guest);) {
        add_block(&guest);
    }
}

/** Memory's copy of a block, over the guest's RAM in the address space of the DMA controller. */
static void map_for_dma(struct block *block)
{
    MemoryRegion *window = region_in(&block->window);
    memory_region_init_ram_ptr(window, NULL, block->guest.name, block->guest.size, block->memory);
    madvise(block->memory, block->guest.size, MADV_NOHUGEPAGE); // QEMU asked for them
    memory_region_set_enabled(window, false);
    memory_region_add_subregion_overlap(region_in(&cache.bus), block->guest.base, window, 1);
    if (block->guest.aliased) {
        MemoryRegion *secure = region_in(&block->secure_window);
        memory_region_init_alias(secure, NULL, block->guest.name, window, 0, block->guest.size);
        memory_region_add_subregion_overlap(region_in(&cache.bus),
                                            block->guest.base + GUEST_MEMORY_ALIAS, secure, 1);
    }
}

Object *cache_bus(void)
{
    MemoryRegion *bus = region_in(&cache.bus), *guest_bus = region_in(&cache.guest_bus);
    if (!cache.wanted) {
        return machine_buses();
    }
    memory_region_init(bus, NULL, "ethosu-dma-bus", UINT64_MAX);
    memory_region_init_alias(guest_bus, NULL, "ethosu-dma-guest", (MemoryRegion *)machine_buses(),
                             0, UINT64_MAX);
    memory_region_add_subregion_overlap(bus, 0, guest_bus, 0);
    for (size_t i = 0; i < cache.block_count; i++) {
        map_for_dma(cache.blocks[i]);
    }
    return (Object *)bus;
}

/* --- On and off ----------------------------------------------------------- */

bool cache_wanted(void)
{
    return cache.wanted;
}

bool cache_enabled(void)
{
    return __atomic_load_n(&cache.enabled, __ATOMIC_ACQUIRE);
}

void cache_enable(bool on)
{
    if (on == cache.enabled) {
        return;
    }
    pthread_mutex_lock(&cache.lock);
    if (on) {
        coherence_adopt(&cache.coherence);
    } else {
        coherence_maintain_all(&cache.coherence, COHERENCE_CLEAN_DISCARD);
        coherence_barrier(&cache.coherence);
    }
    __atomic_store_n(&cache.enabled, on, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&cache.lock);
    for (size_t i = 0; i < cache.block_count; i++) {
        memory_region_set_enabled(region_in(&cache.blocks[i]->window), on);
    }
}

/* --- Maintenance ---------------------------------------------------------- */

/** QEMU shows no DSB: each operation counts as complete. */
static void complete(void)
{
    coherence_barrier(&cache.coherence);
    pthread_mutex_unlock(&cache.lock);
}

void cache_maintain_line(enum coherence_operation operation, uint32_t address)
{
    address -= address % COHERENCE_LINE;
    const uint8_t *line = guest_memory_map(MASTER_CPU, address, COHERENCE_LINE, false);
    if (line && cache_enabled()) {
        pthread_mutex_lock(&cache.lock);
        coherence_maintain(&cache.coherence, operation, (uintptr_t)line, COHERENCE_LINE);
        complete();
    }
}

void cache_maintain_all(enum coherence_operation operation)
{
    if (cache_enabled()) {
        pthread_mutex_lock(&cache.lock);
        coherence_maintain_all(&cache.coherence, operation);
        complete();
    }
}

/* --- Bus masters ---------------------------------------------------------- */

uint8_t *cache_map(enum guest_memory_master master, uint64_t address, uint64_t length, bool write)
{
    uint8_t *found = guest_memory_map(master, address, length, write);
    if (found && cache_enabled()) {
        pthread_mutex_lock(&cache.lock);
        found = coherence_map(&cache.coherence, (uintptr_t)found, length, machine_in_access());
        pthread_mutex_unlock(&cache.lock);
    }
    return found;
}

bool cache_is_clean(uint64_t address, uint64_t size)
{
    const uint8_t *start = guest_memory_map(MASTER_CPU, address, size, false);
    if (!start || !cache_enabled()) {
        return true;
    }
    pthread_mutex_lock(&cache.lock);
    bool equal = coherence_equal(&cache.coherence, (uintptr_t)start, size);
    pthread_mutex_unlock(&cache.lock);
    return equal;
}

void cache_event(void)
{
    if (cache_enabled()) {
        pthread_mutex_lock(&cache.lock);
        coherence_event(&cache.coherence, machine_in_access());
        pthread_mutex_unlock(&cache.lock);
    }
}
