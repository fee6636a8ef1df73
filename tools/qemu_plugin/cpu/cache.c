// SPDX-License-Identifier: MIT
/**
 * The data cache; see cache.h. Addresses passed to the coherence library are host addresses of the
 * CPU's copies.
 */
#include "cpu/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/message.h"
#include "board/board.h"
#include "board/machine.h"
#include "cpu/mpu.h"

#define PAGE_SIZE 4096u

/** One memory, and its pages in use. */
struct block {
    struct guest_memory_block guest;
    uint8_t *memory;   /**< copy for the other bus masters, if cached */
    uint8_t *snapshot; /**< for struct coherence_range, like the following */
    uint8_t *state;
    unsigned char *pages;        /**< bit 0: the page may be nonzero */
    unsigned char *memory_pages; /**< the same, of `memory` */
};

static struct {
    pthread_mutex_t lock;
    struct coherence coherence; /**< under `lock` */
    bool requested;
    bool enabled;
    struct block blocks[BOARD_MEMORIES_MAX];
    size_t block_count;
    _Alignas(max_align_t) unsigned char bus[MEMORY_REGION_ROOM];
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- Pages in use --------------------------------------------------------- */

/** Find the pages of a shared file that were ever written, by QEMU or another process. */
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
        fatal("the host does not report which pages of %s are in use", block->guest.name);
    }
    if (mincore(block->memory, block->guest.size, block->memory_pages) != 0) {
        fatal("the host does not report which pages of %s are in use", block->guest.name);
    }
}

static bool in_use(const struct block *block, uint64_t page)
{
    return (block->pages[page] | block->memory_pages[page]) & 1;
}

/** Callback of struct coherence_range: the next run of pages in use in either copy. */
static bool next_pages(const struct coherence_range *range, uint64_t *offset, uint64_t *size)
{
    const struct block *block = range->context;
    uint64_t shift = (uint64_t)(range->cpu - block->guest.host);
    uint64_t page = (shift + *offset) / PAGE_SIZE;
    uint64_t behind = (shift + range->size + PAGE_SIZE - 1) / PAGE_SIZE;
    if (*offset == 0) {
        find_pages(block);
    }
    while (page < behind && !in_use(block, page)) {
        page++;
    }
    uint64_t end = page;
    while (end < behind && in_use(block, end)) {
        end++;
    }
    uint64_t start = page * PAGE_SIZE;
    *offset = start > shift + *offset ? start - shift : *offset;
    *size = end * PAGE_SIZE - shift - *offset;
    return page < behind;
}

/* --- Creation ------------------------------------------------------------- */

/** Reserve zeroed memory; only used pages take up memory. */
static uint8_t *reserve(const char *name, uint64_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fatal("no host memory for the data cache of %s", name);
    }
    madvise(memory, size, MADV_NOHUGEPAGE); // one byte would take up 2 MB
    return memory;
}

static void add_block(const struct guest_memory_block *guest)
{
    if (cache.block_count == BOARD_MEMORIES_MAX) {
        fatal("no room for the data cache of %s", guest->name);
    }
    cache.blocks[cache.block_count++] = (struct block){
        .guest = *guest,
        .memory = reserve(guest->name, guest->size),
        .snapshot = reserve(guest->name, guest->size),
        .state = reserve(guest->name, guest->size / COHERENCE_LINE),
        .pages = reserve(guest->name, guest->size / PAGE_SIZE),
        .memory_pages = reserve(guest->name, guest->size / PAGE_SIZE),
    };
}

void cache_create(const struct coherence_mode *mode)
{
    cache.requested = mode->on;
    coherence_evict(&cache.coherence, mode->evict, mode->seed);
    struct guest_memory_block guest;
    for (size_t i = 0; cache.requested && guest_memory_next(&i, &guest);) {
        add_block(&guest);
    }
}

/* --- Ranges: memory that the MPU configures as cached --------------------- */

static void add_range(struct block *block, uint64_t start, uint64_t end,
                      enum coherence_attribute attribute)
{
    const struct coherence_range range = {
        .base = (uintptr_t)(block->guest.host + start),
        .size = end - start,
        .attribute = attribute,
        .cpu = block->guest.host + start,
        .memory = block->memory + start,
        .snapshot = block->snapshot + start,
        .state = block->state + start / COHERENCE_LINE,
        .next = next_pages,
        .context = block,
    };
    if (attribute != COHERENCE_UNCACHED &&
        !coherence_add(&cache.coherence, &range, COHERENCE_EQUAL)) {
        fatal("%s has too many kinds of memory", block->guest.name);
    }
}

/** Split a block where the attribute changes. */
static void add_ranges(struct block *block)
{
    uint64_t base = block->guest.base, behind = base + block->guest.size, start = base;
    while (start < behind) {
        uint64_t end = behind;
        enum coherence_attribute attribute = mpu_attribute(start, &end);
        for (uint64_t next = behind; end < behind && mpu_attribute(end, &next) == attribute;) {
            end = next;
            next = behind;
        }
        add_range(block, start - base, end - base, attribute);
        start = end;
    }
}

static void make_ranges(void)
{
    coherence_remove_all(&cache.coherence);
    for (size_t i = 0; i < cache.block_count; i++) {
        add_ranges(&cache.blocks[i]);
    }
    coherence_adopt(&cache.coherence);
}

/** Make the CPU's copy and memory equal: keep the CPU's stores, else those of other masters. */
static void equalise(void)
{
    coherence_maintain_all(&cache.coherence, COHERENCE_CLEAN_INVALIDATE);
    coherence_barrier(&cache.coherence);
}

void cache_attributes_changed(void)
{
    if (cache.enabled) {
        pthread_mutex_lock(&cache.lock);
        equalise();
        make_ranges();
        pthread_mutex_unlock(&cache.lock);
    }
}

/* --- On and off ----------------------------------------------------------- */

bool cache_is_requested(void)
{
    return cache.requested;
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
    on ? make_ranges() : equalise();
    __atomic_store_n(&cache.enabled, on, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&cache.lock);
}

/* --- Maintenance ---------------------------------------------------------- */

/** DSBs are not visible in QEMU, so each operation completes immediately. */
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
    uint8_t *uncached = guest_memory_map(master, address, length, write), *memory = NULL;
    if (uncached && cache_enabled()) {
        pthread_mutex_lock(&cache.lock);
        memory = coherence_map(&cache.coherence, (uintptr_t)uncached, length, machine_in_access());
        pthread_mutex_unlock(&cache.lock);
    }
    return memory ? memory : uncached;
}

void cache_barrier(void)
{
    if (cache_enabled()) {
        pthread_mutex_lock(&cache.lock);
        complete();
    }
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

/* --- The DMA controller's bus ---------------------------------------------- */

uint8_t *cache_bus_bytes(uint64_t address, unsigned size, bool write)
{
    uint8_t *uncached = guest_memory_map(MASTER_DMA, address, size, write), *memory = NULL;
    if (uncached && cache_enabled()) {
        pthread_mutex_lock(&cache.lock);
        memory = coherence_memory(&cache.coherence, (uintptr_t)uncached, size);
        pthread_mutex_unlock(&cache.lock);
    }
    return memory ? memory : uncached;
}

static uint64_t bus_read(void *opaque, uint64_t address, unsigned size)
{
    (void)opaque;
    uint64_t value = 0;
    const uint8_t *bytes = cache_bus_bytes(address, size, false);
    if (bytes) {
        memcpy(&value, bytes, size);
    }
    return value;
}

static void bus_write(void *opaque, uint64_t address, uint64_t value, unsigned size)
{
    (void)opaque;
    uint8_t *bytes = cache_bus_bytes(address, size, true);
    if (bytes) {
        memcpy(bytes, &value, size);
    }
}

Object *cache_bus(void)
{
    static const MemoryRegionOps ops = {
        .read = bus_read,
        .write = bus_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 1, .max_access_size = 8},
        .impl = {.min_access_size = 1, .max_access_size = 8},
    };
    if (!cache.requested) {
        return machine_buses();
    }
    MemoryRegion *bus = (MemoryRegion *)cache.bus;
    memory_region_init_io(bus, NULL, &ops, NULL, "ethosu-dma-bus", UINT64_C(1) << 32);
    return (Object *)bus;
}
