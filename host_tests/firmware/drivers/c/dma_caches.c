// SPDX-License-Identifier: MIT
/**
 * DMA copies with a data cache, which QEMU lacks, and a controller that sometimes fails: FRAME is
 * dma_copy.c, DRIVER the driver of a controller, FAKE that controller.
 *
 * The cache is the one of tools/npu_sim/coherence.h, which writes back and fetches lines at random
 * moments. The controller uses other addresses than the CPU, and than the NPU. A barrier completes
 * the CPU's stores for a transfer only if the transfer is started after it.
 *
 *     dma_caches COPIES SEED CACHE   # 0 write-back, 1 write-through, 2 none: enum ethosu_cache;
 *                                    # exit code 1 and a message when a copy is wrong
 */
#include FRAME  // with its statics
#include DRIVER // the same

#include "coherence.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef SHARED // the controller reads nothing but the bytes to copy
#define SHARED nothing
static _Alignas(COHERENCE_LINE) uint8_t nothing;
#endif

#define WINDOW_BASE 0x60000000u
#define WINDOW_SIZE 0x00040000u
#define WINDOW_BUS 0x90000000u /**< where the controller sees it */
#define WINDOW_NPU 0x70000000u /**< where the NPU sees it; the controller sees nothing there */
#define SHARED_BUS 0xA0000000u /**< where it sees what the driver shares with it */
#define SHARED_SIZE 512u

static uint8_t *cpu; /**< what the CPU sees: mapped at WINDOW_BASE */
static struct coherence cache;
static uint8_t memory[WINDOW_SIZE], snapshot[WINDOW_SIZE], state[WINDOW_SIZE / COHERENCE_LINE];
static uint8_t shared_memory[SHARED_SIZE], shared_snapshot[SHARED_SIZE];
static uint8_t shared_state[SHARED_SIZE / COHERENCE_LINE];
static uint32_t now, random_state;
static bool hung; /**< the transfer under way never ends */

/** Expected result of the current copy, and the bytes on both sides of its destination. */
static uint8_t expected[WINDOW_SIZE];
static uint32_t neighbours[2];

static struct ethosu_memory window_table[] = {
    {"window", (void *)WINDOW_BASE, (void *)(WINDOW_BASE + WINDOW_SIZE), .npu_address = WINDOW_NPU,
     .dma_address = WINDOW_BUS, .masters = ETHOSU_MASTERS_ALL},
    {"shared", &SHARED, &SHARED + 1, .npu_address = SHARED_BUS, .masters = ETHOSU_MASTERS_READ},
};
const struct ethosu_board ethosu_board = {
    .memories = window_table, .memory_count = 2, .cache_line = COHERENCE_LINE};
const struct dma_board dma_board = {
    .base = 0x41200000, .irq = 1, .abort_irq = 2, .least = 704, .least_cached = 2560};

static void check(bool right, const char *otherwise)
{
    if (!right) {
        puts(otherwise);
        exit(1);
    }
}

static uint32_t pseudo_random(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

/* --- The cache ------------------------------------------------------------ */

/** Cache activity that may happen at any moment; several moments at once. */
static void live(void)
{
    for (int i = 0; i < 16; i++) {
        coherence_event(&cache, true);
    }
}

static bool fake_begun(void);

/** A barrier of the driver, in the place of ethosu_io.h's. */
void ethosu_io_barrier(void)
{
    if (!fake_begun()) {
        coherence_barrier(&cache);
    }
}

/** Like the firmware's hooks, these end with a barrier. */
static void maintain(enum coherence_operation operation, uint64_t base, size_t size)
{
    live();
    coherence_maintain(&cache, operation, base, size);
    coherence_barrier(&cache);
    live();
}

void ethosu_flush_dcache(const uint64_t *base, const size_t *size, int count)
{
    (void)count;
    maintain(COHERENCE_CLEAN, *base, *size);
}

void ethosu_invalidate_dcache(const uint64_t *base, const size_t *size, int count)
{
    (void)count;
    maintain(COHERENCE_CLEAN_INVALIDATE, *base, *size);
}

static void add_ranges(uint32_t seed, enum ethosu_cache kind)
{
    static const enum coherence_attribute attributes[] = {
        [ETHOSU_CACHE_WRITE_BACK] = COHERENCE_WRITE_BACK,
        [ETHOSU_CACHE_WRITE_THROUGH] = COHERENCE_WRITE_THROUGH,
        [ETHOSU_CACHE_NONE] = COHERENCE_UNCACHED,
    };
    window_table[0].cache = window_table[1].cache = (uint8_t)kind;
    const struct coherence_range ranges[] = {
        {.base = WINDOW_BASE,
         .attribute = attributes[kind],
         .size = WINDOW_SIZE,
         .cpu = cpu,
         .memory = memory,
         .snapshot = snapshot,
         .state = state},
        {.base = (uintptr_t)&SHARED,
         .attribute = attributes[kind],
         .size = sizeof SHARED,
         .cpu = (uint8_t *)&SHARED,
         .memory = shared_memory,
         .snapshot = shared_snapshot,
         .state = shared_state},
    };
    for (int i = 0; i < 2; i++) {
        check(coherence_add(&cache, &ranges[i], COHERENCE_EQUAL), "there is no room for a range");
    }
    coherence_evict(&cache, true, seed);
}

/* --- The controller and the board ----------------------------------------- */

/** The controller's view of memory at an address. */
static uint8_t *bus(uint32_t address, size_t size)
{
    uint64_t at = address >= SHARED_BUS ? (uintptr_t)&SHARED + (address - SHARED_BUS)
                                        : (uint64_t)WINDOW_BASE + (address - WINDOW_BUS);
    uint8_t *bytes = address >= WINDOW_BUS ? coherence_map(&cache, at, size, true) : NULL;
    check(bytes != NULL, "nothing is there for the controller");
    return bytes;
}

#include FAKE

/** An interrupt handler writes next to the destination. */
static void disturb(void)
{
    for (int i = 0; i < 2; i++) {
        cpu[neighbours[i]] = expected[neighbours[i]] = (uint8_t)pseudo_random(256);
    }
    live();
}

/** The interrupt comes while the CPU sleeps. */
void irq_wait_unless(const volatile uint32_t *flag, uint32_t at_most_ms)
{
    check(at_most_ms != UINT32_MAX, "a transfer that does not end wakes the CPU");
    if (*flag || hung || !fake_begun()) {
        return;
    }
    disturb();
    uint32_t fate = pseudo_random(8);
    hung = fate == 0;
    if (!hung) {
        fake_run(fate == 1);
        disturb();
    }
}

void irq_connect(unsigned number, void (*handler)(void *argument), void *argument)
{
    (void)number;
    (void)handler;
    (void)argument;
}

uint32_t irq_mask(void)
{
    return 0;
}

void irq_restore(uint32_t state)
{
    (void)state;
}

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return now++;
}

bool fault_guarded_read(const volatile uint32_t *address, uint32_t *value)
{
    *value = *address;
    return true;
}

static void *map_at(uintptr_t address, size_t size)
{
    void *place = mmap((void *)address, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (place != (void *)address) {
        puts("the address is taken");
        exit(2);
    }
    return place;
}

/* --- Copies --------------------------------------------------------------- */

/** Source in the lower half, destination in the upper; all of it has just been written. */
static bool copy_is_right(void)
{
    uint32_t half = WINDOW_SIZE / 2, size = pseudo_random(pseudo_random(4) ? 6000 : half - 128);
    uint32_t source = pseudo_random(64), target = half + 1 + pseudo_random(64);
    for (size_t i = 0; i < WINDOW_SIZE; i++) {
        cpu[i] = (uint8_t)pseudo_random(256);
    }
    // What bus masters use is where lines are evicted and fetched.
    (void)coherence_map(&cache, WINDOW_BASE + source, size, true);
    (void)coherence_map(&cache, WINDOW_BASE + target, size, true);
    live();
    memcpy(expected, cpu, WINDOW_SIZE);
    memcpy(expected + target, expected + source, size);
    neighbours[0] = target - 1;
    neighbours[1] = target + size;
    hung = false;
    fake_begin_copy();
    dma_enable(true); // whatever the last transfers did
    arm_ethos_io_memcpy(cpu + target, cpu + source, size);
    live();
    bool right = memcmp(cpu, expected, WINDOW_SIZE) == 0;
    coherence_maintain_all(&cache, COHERENCE_CLEAN);
    coherence_barrier(&cache);
    return right && coherence_equal(&cache, WINDOW_BASE, WINDOW_SIZE);
}

/** In a handler, or with interrupts masked, nothing would wake the CPU. */
static bool callers_that_cannot_wait_copy_alone(void)
{
    bool alone = true;
    for (int i = 0; i < SPECIAL_COUNT; i++) {
        uint32_t before = counters.transfers + counters.errors + counters.timeouts;
        fake_special[i] = 1;
        alone = alone && copy_is_right() && copy_is_right() && copy_is_right();
        fake_special[i] = 0;
        alone = alone && counters.transfers + counters.errors + counters.timeouts == before;
    }
    return alone;
}

int main(int count, char **arguments)
{
    check(count == 4, "arguments: COPIES SEED CACHE");
    int copies = atoi(arguments[1]);
    random_state = (uint32_t)atoi(arguments[2]);
    ethosu_ext_memory_use(&ethosu_board);
    cpu = map_at(WINDOW_BASE, WINDOW_SIZE);
    add_ranges(random_state, (enum ethosu_cache)atoi(arguments[3]));
    fake_prepare(map_at(dma_board.base, 0x9000));
    if (!callers_that_cannot_wait_copy_alone()) {
        puts("a transfer was begun by a caller that cannot wait for it");
        return 1;
    }
    for (int i = 0; i < copies; i++) {
        if (!copy_is_right()) {
            printf("copy %d is wrong\n", i);
            return 1;
        }
    }
    printf("%u %u %u %u\n", (unsigned)counters.transfers, (unsigned)counters.cpu_copies,
           (unsigned)counters.errors, (unsigned)counters.timeouts);
    return 0;
}
