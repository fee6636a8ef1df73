// SPDX-License-Identifier: MIT
/**
 * The simulated data cache of sim_host: a run of the NPU, started register by register, without
 * each of its cache maintenance steps.
 */
#include "check.h"
#include "coherence.h"
#include "ethosu_ext.h"
#include "ethosu_memory.h"
#include "sim_host.h"

#include "driver/board/ethosu_io.h"

#include <stdint.h>

#define SIZE 256u

/** Cache maintenance steps of a program, as bits. */
enum step {
    CLEAN_STREAM = 1,
    CLEAN_INPUT = 2,
    CLEAN_OUTPUT = 4, /**< no dirty line of it may be written back later */
    BARRIER_BEFORE = 8,
    INVALIDATE_OUTPUT = 16,
    BARRIER_AFTER = 32,
    ALL_STEPS = 63,
};

static struct ethosu_driver *driver;
static uint32_t *stream;
static uint8_t *input, *output, *scratch;

static void open(const char *mode, void *(*alloc)(size_t size))
{
    CHECK(sim_host_coherence(mode));
    driver = sim_host_open(0, "ethos-u55-128");
    CHECK(driver != NULL);
    stream = alloc(1024);
    input = alloc(SIZE);
    output = alloc(SIZE + COHERENCE_LINE);
    scratch = alloc(SIZE);
    CHECK(stream != NULL && input != NULL && output != NULL && scratch != NULL);
}

static void close(void)
{
    CHECK_EQ(sim_host_damaged_guards(), 0);
    sim_host_free(stream);
    sim_host_free(input);
    sim_host_free(output);
    sim_host_free(scratch);
    sim_host_close(0);
}

/* ---- the NPU ---- */

/** Registers of the NPU, and commands: Ethos-U55 NPU Technical Reference Manual. */
enum npu_register {
    STATUS = 0x04,
    CMD = 0x08,
    RESET = 0x0C,
    QBASE = 0x10,
    QSIZE = 0x20,
    BASEP0 = 0x80
};

static uint32_t npu_address(const void *start)
{
    const uint64_t address = (uintptr_t)start;
    return (uint32_t)ethosu_ext_memory_npu_address(ethosu_ext_memory_find(address, 1), address);
}

static uint32_t *copy(uint32_t *at, const uint8_t *from, const uint8_t *to)
{
    const uint32_t words[] = {
        0x0130,          0x0131,            // regions: 0
        1u << 14 | 0x30, npu_address(from), // DMA0_SRC
        1u << 14 | 0x31, npu_address(to),   // DMA0_DST
        1u << 14 | 0x32, SIZE,              // DMA0_LEN
        0x0010,                             // DMA_START
    };
    memcpy(at, words, sizeof words);
    return at + sizeof words / sizeof words[0];
}

static void set(uint32_t offset, uint32_t value)
{
    ethosu_io_write(driver->dev.reg, offset, value);
}

/** Run [stream, end). Without a thread, the run is complete when this returns. */
static void execute(const uint32_t *end)
{
    set(QBASE, npu_address(stream));
    set(QSIZE, (uint32_t)((const char *)end - (const char *)stream));
    set(BASEP0, 0);
    set(CMD, 0xC | 1);
    (void)ethosu_io_read(driver->dev.reg, STATUS);
}

/* ---- the program ---- */

static void maintain(void (*hook)(const uint64_t *, const size_t *, int), const void *start,
                     size_t size)
{
    hook(&(uint64_t){(uintptr_t)start}, &size, 1);
}

/**
 * Copy input to output with the NPU, and more data after it; returns whether the CPU sees the right
 * output.
 */
static bool copies(unsigned steps, uint8_t seed)
{
    for (unsigned i = 0; i < SIZE; i++) {
        input[i] = (uint8_t)(seed + i * 7);
        output[i] = (uint8_t)(seed + 99);
    }
    uint32_t *end = copy(stream, input, output);
    for (int i = 0; i < 4; i++) {
        end = copy(end, output, scratch);
    }
    *end++ = 0xFFFF0000; // STOP
    if (steps & CLEAN_STREAM) {
        maintain(ethosu_flush_dcache, stream, (size_t)((char *)end - (char *)stream));
    }
    if (steps & CLEAN_INPUT) {
        maintain(ethosu_flush_dcache, input, SIZE);
    }
    if (steps & CLEAN_OUTPUT) {
        maintain(ethosu_flush_dcache, output, SIZE);
    }
    if (steps & BARRIER_BEFORE) {
        ethosu_io_barrier();
    }
    execute(end);
    if (steps & INVALIDATE_OUTPUT) {
        maintain(ethosu_invalidate_dcache, output, SIZE);
    }
    if (steps & BARRIER_AFTER) {
        ethosu_io_barrier();
    }
    set(RESET, 0); // stale words may have formed an invalid stream
    return memcmp(input, output, SIZE) == 0;
}

/** The steps that a mode and a memory need, found by omitting each in turn. */
static unsigned needed(const char *mode, void *(*alloc)(size_t size))
{
    unsigned needed_steps = 0;
    for (unsigned step = 1; step < ALL_STEPS; step <<= 1) {
        open(mode, alloc);
        if (!copies(ALL_STEPS & ~step, (uint8_t)step)) {
            needed_steps |= step;
        }
        CHECK(copies(ALL_STEPS, 1)); // nothing stays broken
        close();
    }
    return needed_steps;
}

TEST(without_a_cache_no_maintenance_is_needed)
{
    CHECK_EQ(needed("off", sim_host_alloc), 0);
    open("off", sim_host_alloc);
    CHECK(copies(0, 1));
    CHECK(copies(ALL_STEPS, 2));
    close();
}

TEST(write_back_memory)
{
    CHECK_EQ(needed("strict", sim_host_alloc), ALL_STEPS & ~CLEAN_OUTPUT);
}

TEST(write_through_memory)
{
    CHECK_EQ(needed("strict", sim_host_alloc_write_through),
             BARRIER_BEFORE | INVALIDATE_OUTPUT | BARRIER_AFTER);
}

TEST(uncached_memory)
{
    CHECK_EQ(needed("strict", sim_host_alloc_uncached), BARRIER_BEFORE | BARRIER_AFTER);
}

/* ---- evictions ---- */

/** The number of seeds, out of 1000, that give a wrong result without these steps. */
static unsigned wrong(unsigned without)
{
    unsigned count = 0;
    char mode[32];
    for (unsigned seed = 0; seed < 1000; seed++) {
        snprintf(mode, sizeof mode, "evict:%u", seed);
        open(mode, sim_host_alloc);
        count += !copies(ALL_STEPS & ~without, (uint8_t)seed);
        close();
    }
    printf("without step 0x%02x: %u of 1000 seeds give a wrong result\n", without, count);
    return count;
}

TEST(evictions_do_not_affect_a_correct_program)
{
    CHECK_EQ(wrong(0), 0);
}

TEST(evictions_show_a_missing_step)
{
    for (unsigned step = 1; step < ALL_STEPS; step <<= 1) {
        CHECK(wrong(step) > 100);
    }
}

/* ---- the face ---- */

TEST(mode_of_the_environment)
{
    CHECK(setenv("ETHOSU_COHERENCE", "strict", 1) == 0);
    driver = sim_host_open(0, "ethos-u55-128");
    stream = sim_host_alloc(1024);
    input = sim_host_alloc(SIZE);
    output = sim_host_alloc(SIZE);
    scratch = sim_host_alloc(SIZE);
    CHECK(!copies(0, 1));
    CHECK(copies(ALL_STEPS, 1));
    close();
}

TEST(an_invalid_mode_in_the_environment_is_rejected)
{
    CHECK(setenv("ETHOSU_COHERENCE", "on", 1) == 0);
    CHECK(sim_host_open(0, "ethos-u55-128") == NULL);
    CHECK_TEXT(sim_host_log(), "expected off, strict or evict:SEED");
    CHECK(sim_host_coherence("off")); // said otherwise
    CHECK(sim_host_open(0, "ethos-u55-128") != NULL);
    sim_host_close(0);
}

TEST(memory_of_each_kind_is_limited)
{
    static void *(*const allocs[])(size_t) = {sim_host_alloc, sim_host_alloc_write_through,
                                              sim_host_alloc_uncached};
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *first = allocs[i](100), *second = allocs[i](100);
        CHECK(first != NULL && second != NULL && first != second);
        CHECK_EQ((uintptr_t)first % 64, 0);
        first[0] = first[99] = second[0] = second[99] = 1;
        CHECK(allocs[i](SIM_HOST_BUS_SIZE) == NULL);
        CHECK_EQ(sim_host_damaged_guards(), 0);
        sim_host_free(first);
        sim_host_free(second);
    }
}
