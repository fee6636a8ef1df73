// SPDX-License-Identifier: MIT
/**
 * The copy by DMA with a data cache, which QEMU does not have, and a controller
 * that fails at times: FRAME is dma_copy.c, DRIVER the driver of a controller,
 * FAKE that controller.
 *
 * The CPU's bytes and those in memory are two arrays. A line is dirty when the
 * CPU has changed it since they last met. At every step a line may be evicted
 * (memory gets what is dirty) or fetched again, at random, as a cache may at
 * any moment. What is neither cleaned, nor discarded, nor hit by that chance
 * stays apart, and a copy that relies on it goes wrong. The controller sees
 * memory at other addresses than the CPU.
 *
 *     dma_caches COPIES SEED     # exit code 1 and a sentence when a copy is wrong
 */
#include FRAME  // with its statics
#include DRIVER // the same

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef SHARED // the controller reads nothing but the bytes to copy
#define SHARED nothing
static uint8_t nothing;
#endif

#define WINDOW_BASE 0x60000000u
#define WINDOW_SIZE 0x00040000u
#define WINDOW_BUS 0x90000000u /**< where the controller sees it */
#define SHARED_BUS 0xA0000000u /**< where it sees what the driver shares with it */
#define SHARED_SIZE 512u
#define LINE DMA_LINE
#define LINES (WINDOW_SIZE / LINE)

static uint8_t *cpu;                /**< what the CPU sees: mapped at WINDOW_BASE */
static uint8_t met[WINDOW_SIZE];    /**< as they last met */
static uint8_t memory[WINDOW_SIZE]; /**< what bus masters see */
static uint8_t shared_memory[SHARED_SIZE];
static uint32_t now, random_state;
static bool hung; /**< the transfer under way never ends */

/** What the copy under way shall leave behind, and the bytes on both sides of its destination. */
static uint8_t expected[WINDOW_SIZE];
static uint32_t neighbours[2];

static const struct ethosu_memory window_table[] = {
    {"window", (void *)WINDOW_BASE, (void *)(WINDOW_BASE + WINDOW_SIZE), .npu_address = WINDOW_BUS,
     .masters = ETHOSU_MASTERS_ALL},
    {"shared", &SHARED, &SHARED + 1, .npu_address = SHARED_BUS, .masters = ETHOSU_MASTERS_READ},
};
const struct ethosu_board ethosu_board = {
    .memories = window_table, .memory_count = 2, .cache_line = LINE};
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

static void write_back(size_t line)
{
    size_t at = line * LINE;
    if (memcmp(cpu + at, met + at, LINE) != 0) {
        memcpy(memory + at, cpu + at, LINE);
        memcpy(met + at, cpu + at, LINE);
    }
}

static void fetch(size_t line)
{
    size_t at = line * LINE;
    if (memcmp(cpu + at, met + at, LINE) == 0) {
        memcpy(cpu + at, memory + at, LINE);
        memcpy(met + at, memory + at, LINE);
    }
}

/** What a cache may do at any moment. */
static void live(void)
{
    uint32_t odds = 1 + pseudo_random(8);
    for (size_t line = 0; line < LINES; line++) {
        if (pseudo_random(odds) == 0) {
            write_back(line);
        }
        if (pseudo_random(odds) == 0) {
            fetch(line);
        }
    }
}

/** The lines of a range, or none when it is what the driver shares with the controller. */
static bool lines_of(uint64_t base, size_t size, size_t *first, size_t *end)
{
    if (base == (uintptr_t)&SHARED) {
        check(size == sizeof SHARED, "a part is not cleaned");
        memcpy(shared_memory, &SHARED, size);
        return false;
    }
    *first = (size_t)(base - WINDOW_BASE) / LINE;
    *end = (size_t)(base - WINDOW_BASE + size + LINE - 1) / LINE;
    return true;
}

void ethosu_flush_dcache(const uint64_t *base, const size_t *size, int count)
{
    (void)count;
    live();
    size_t line = 0, end = 0;
    for (lines_of(*base, *size, &line, &end); line < end; line++) {
        write_back(line);
    }
    live();
}

void ethosu_invalidate_dcache(const uint64_t *base, const size_t *size, int count)
{
    (void)count;
    live();
    size_t line = 0, end = 0;
    for (lines_of(*base, *size, &line, &end); line < end; line++) {
        write_back(line);
        fetch(line);
    }
    live();
}

/* --- The controller and the board ----------------------------------------- */

/** What the controller finds at an address. */
static uint8_t *bus(uint32_t address, size_t size)
{
    bool in_window = address >= WINDOW_BUS && address + size <= WINDOW_BUS + WINDOW_SIZE;
    bool in_shared = address >= SHARED_BUS && address + size <= SHARED_BUS + SHARED_SIZE;
    check(in_window || in_shared, "nothing is there for the controller");
    return in_window ? memory + (address - WINDOW_BUS) : shared_memory + (address - SHARED_BUS);
}

#include FAKE

/** Some interrupt handler writes next to the destination. */
static void disturb(void)
{
    for (int i = 0; i < 2; i++) {
        cpu[neighbours[i]] = expected[neighbours[i]] = (uint8_t)pseudo_random(256);
    }
    live();
}

/** The interrupt comes while the CPU sleeps. */
void irq_wait_unless(const volatile uint32_t *flag)
{
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

/** Source in the lower half, destination in the upper; both, and all around, freshly written. */
static bool copy_is_right(void)
{
    uint32_t half = WINDOW_SIZE / 2, size = pseudo_random(pseudo_random(4) ? 6000 : half - 128);
    uint32_t source = pseudo_random(64), target = half + 1 + pseudo_random(64);
    for (size_t i = 0; i < WINDOW_SIZE; i++) {
        cpu[i] = (uint8_t)pseudo_random(256);
    }
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
    for (size_t line = 0; line < LINES; line++) {
        write_back(line);
    }
    return right && memcmp(memory, expected, WINDOW_SIZE) == 0;
}

/** In a handler, or with interrupts masked in any way, nothing would wake the CPU. */
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
    int copies = count == 3 ? atoi(arguments[1]) : 0;
    random_state = count == 3 ? (uint32_t)atoi(arguments[2]) : 0;
    ethosu_ext_memory_use(&ethosu_board);
    cpu = map_at(WINDOW_BASE, WINDOW_SIZE);
    fake_prepare(map_at(dma_board.base, 0x2000));
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
