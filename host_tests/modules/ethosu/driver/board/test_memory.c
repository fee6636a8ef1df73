// SPDX-License-Identifier: MIT
/** The board's memory table: look-ups, and the consequences for caches, ports and power. */
#include "board.h"

#define MEMORY_SIZE 1024
static uint8_t *memory;
static uint32_t *stream_memory;
static struct ethosu_ext_program program;

__attribute__((constructor)) static void make_memory(void)
{
    memory = alloc(MEMORY_SIZE);
    stream_memory = alloc(64);
}

/** Memory [from, to) of the array above, and all other addresses behind it. */
static void split(struct ethosu_memory first, size_t from, size_t to)
{
    first.start = memory + from;
    first.end = memory + to;
    memories[0] = first;
    memories[1] = (struct ethosu_memory){
        .name = "rest", .end = (void *)UINTPTR_MAX, .masters = ETHOSU_MASTERS_ALL};
}

/** COP1 whose stream moves 16 bytes by DMA: from offset 0 of region 0 to `to` of region 1. */
static const uint32_t *copy_to(uint32_t to)
{
    const uint32_t made[] = {
        0x31504F43u, 5,       5,  0x000A0002u, 0x00000130u, 0x00010131u, 0x4030u,
        0,           0x4031u, to, 0x4032u,     16,          0x010u,      0xFFFF0000u,
    };
    memcpy(stream_memory, made, sizeof made);
    return stream_memory;
}

static uint64_t bases[3];
static size_t sizes[3];

/** Prepare this copy with `bases` and `sizes`. */
static int prepare(struct ethosu_driver *drv, uint32_t to, unsigned flags)
{
    return ethosu_ext_prepare(drv, &program, copy_to(to), 56, bases, sizes, 3, flags);
}

static int prepare_copy(struct ethosu_driver *drv, uint32_t to, uint8_t *target, size_t size,
                        unsigned flags)
{
    bases[0] = (uintptr_t)memory;
    bases[1] = (uintptr_t)target;
    bases[2] = 0;
    sizes[0] = 16;
    sizes[1] = size;
    sizes[2] = 0;
    return prepare(drv, to, flags);
}

static void run_copy(struct ethosu_driver *drv)
{
    flushed.count = invalidated.count = 0;
    CHECK_EQ(ethosu_ext_start(drv, &program, NULL), 0);
    CHECK_EQ(ethosu_ext_wait(drv, 100), 0);
}

static bool has_span(const struct board_spans *spans, const void *start, size_t size)
{
    for (unsigned i = 0; i < spans->count; i++) {
        if (spans->start[i] == (uintptr_t)start && spans->size[i] == size) {
            return true;
        }
    }
    return false;
}

/* ---- questions ---- */

TEST(find_returns_the_memory_that_contains_the_whole_span)
{
    ethosu_ext_memory_use(&ethosu_board);
    split((struct ethosu_memory){.name = "low", .masters = ETHOSU_NPU_READS}, 0, 512);
    CHECK(ethosu_ext_memory_find((uintptr_t)memory, 512) == &memories[0]);
    CHECK(ethosu_ext_memory_find((uintptr_t)memory + 512, 0) == &memories[0]);
    memories[1].start = memory + 512;
    CHECK(ethosu_ext_memory_find((uintptr_t)memory, 513) == NULL);
    CHECK(ethosu_ext_memory_find((uintptr_t)memory + 1, SIZE_MAX) == NULL);
    CHECK(ethosu_ext_memory_find((uintptr_t)memory - 1, 1) == NULL);
    CHECK(ethosu_ext_memory_reaches(memory, 512, ETHOSU_NPU_READS));
    CHECK(!ethosu_ext_memory_reaches(memory, 512, ETHOSU_NPU_READS | ETHOSU_NPU_WRITES));
    CHECK(!ethosu_ext_memory_reaches(memory, 512, ETHOSU_DMA_READS));
}

TEST(without_a_board_all_memory_is_reached_and_cleaned)
{
    ethosu_ext_memory_use(NULL);
    CHECK(ethosu_ext_memory_reaches(memory, SIZE_MAX / 2, ETHOSU_MASTERS_ALL));
    CHECK_EQ(ethosu_ext_memory_line(), 1);
    CHECK(ethosu_ext_memory_npu(0) == NULL);
    ethosu_ext_memory_clean(memory, 10);
    ethosu_ext_memory_discard(memory, 10);
    CHECK_EQ(flushed.count, 1);
    CHECK_EQ(invalidated.count, 1);
}

DRIVER_TEST(the_npu_gets_its_own_address_of_a_memory, "ethos-u65-256")
{
    split((struct ethosu_memory){.masters = ETHOSU_MASTERS_ALL, .npu_address = 0x50000000}, 0,
          1024);
    bus_offset = UINT64_C(1) << 36; // Arm's hook comes after the table
    CHECK_EQ(prepare_copy(drv, 0, memory + 64, 32, 0), 0);
    CHECK_EQ(program.base[1].npu, 0x50000040 + bus_offset);
    CHECK_EQ(program.base[1].cpu, (uintptr_t)memory + 64);
}

/** Vela gives an unused fast scratch no bytes, so the NPU needs no address for it. */
DRIVER_TEST(an_empty_buffer_has_no_address, "ethos-u55-128")
{
    CHECK_EQ(prepare_copy(drv, 0, memory + 64, 32, 0), 0);
    bases[2] = 0xFFFFFFFFFFF0;
    CHECK_EQ(prepare(drv, 0, 0), 0);
    CHECK_EQ(program.base[2].npu, 0);
}

/* ---- caches ---- */

DRIVER_TEST(constants_are_cleaned_once, "ethos-u55-128")
{
    CHECK_EQ(prepare_copy(drv, 32, memory + 64, 128, 0), 0);
    CHECK_EQ(flushed.count, 2);
    CHECK(has_span(&flushed, copy_to(32) + 4, 40)); // the command stream
    CHECK(has_span(&flushed, memory, 16));          // the constants
    run_copy(drv);
    CHECK_EQ(flushed.count, 1);
    CHECK(has_span(&flushed, memory + 64, 128));

    flushed.count = 0;
    ethosu_ext_clean(&program); // the CPU has changed them
    CHECK_EQ(flushed.count, 2);
}

DRIVER_TEST(only_what_the_stream_may_write_is_invalidated, "ethos-u55-128")
{
    CHECK_EQ(prepare_copy(drv, 32, memory + 64, 128, 0), 0);
    run_copy(drv);
    CHECK_EQ(invalidated.count, 1);
    CHECK(has_span(&invalidated, memory + 64 + 32, 16));

    // Unverified, it may write all but the constants.
    CHECK_EQ(prepare_copy(drv, 32, memory + 64, 128, ETHOSU_EXT_NO_VERIFY), 0);
    run_copy(drv);
    CHECK_EQ(invalidated.count, 1);
    CHECK(has_span(&invalidated, memory + 64, 128));
}

DRIVER_TEST(the_same_program_is_not_cleaned_again, "ethos-u55-128")
{
    CHECK_EQ(run_good(drv), 0);
    CHECK_EQ(flushed.count, 4);
    CHECK_EQ(run_good(drv), 0);
    CHECK_EQ(flushed.count, 6); // scratch and fast scratch
    ethosu_release_driver(drv);
    CHECK(ethosu_reserve_driver() == drv);
    CHECK_EQ(run_good(drv), 0); // it may be another model at the same address
    CHECK_EQ(flushed.count, 10);
}

DRIVER_TEST(shared_scratch_is_invalidated_in_one_call, "ethos-u55-128")
{
    prepare_copy(drv, 0, memory + 64, 256, 0);
    bases[2] = bases[1] + 64;
    sizes[2] = 128;
    CHECK_EQ(prepare(drv, 0, ETHOSU_EXT_NO_VERIFY), 0);
    run_copy(drv);
    CHECK_EQ(invalidated.count, 1);
    CHECK(has_span(&invalidated, memory + 64, 256));

    bases[2] = (uintptr_t)memory + 512; // a memory of its own
    CHECK_EQ(prepare(drv, 0, ETHOSU_EXT_NO_VERIFY), 0);
    run_copy(drv);
    CHECK_EQ(invalidated.count, 2);
    CHECK(has_span(&invalidated, memory + 512, 128));
}

/** The caller declares the bytes between them as its own: the rest of a cache line. */
TEST(fast_scratch_behind_scratch_is_cleaned_and_invalidated_with_it)
{
    const unsigned flags[] = {ETHOSU_EXT_OWN_LINES, 0};
    for (unsigned i = 0; i < 2; i++) {
        struct ethosu_driver *drv = open_driver("ethos-u55-128");
        prepare_copy(drv, 0, memory + 64, 256, 0);
        sizes[1] = i == 0 ? 48 : 64;
        bases[2] = bases[1] + 64;
        sizes[2] = 128;
        CHECK_EQ(prepare(drv, 0, ETHOSU_EXT_NO_VERIFY | flags[i]), 0);
        run_copy(drv);
        CHECK_EQ(flushed.count, 1 + i);
        CHECK_EQ(invalidated.count, 1 + i);
        CHECK(has_span(&flushed, memory + 64, i == 0 ? 64 + 128 : 64));
        CHECK(has_span(&invalidated, memory + 64, i == 0 ? 64 + 128 : 64));
    }
}

DRIVER_TEST(constants_that_moved_are_cleaned_again, "ethos-u55-128")
{
    CHECK_EQ(run_good(drv), 0);
    flushed.count = 0;
    good_bases[0] = (uintptr_t)memory;
    CHECK_EQ(
        ethosu_invoke_v3(drv, good_payload, GOOD_PAYLOAD_SIZE, good_bases, good_sizes, 3, NULL), 0);
    CHECK(has_span(&flushed, memory, good_sizes[0]));
}

TEST(the_cache_attribute_decides_what_is_cleaned_and_invalidated)
{
    const struct {
        uint8_t cache;
        unsigned cleans, invalidates;
    } cases[] = {
        {ETHOSU_CACHE_WRITE_BACK, 1, 1},
        {ETHOSU_CACHE_WRITE_THROUGH, 0, 1},
        {ETHOSU_CACHE_NONE, 0, 0},
    };
    for (unsigned i = 0; i < 3; i++) {
        struct ethosu_driver *drv = open_driver("ethos-u55-128");
        split((struct ethosu_memory){.masters = ETHOSU_MASTERS_ALL, .cache = cases[i].cache}, 64,
              1024);
        CHECK_EQ(prepare_copy(drv, 0, memory + 64, 32, 0), 0);
        run_copy(drv);
        CHECK_EQ(flushed.count, cases[i].cleans);
        CHECK_EQ(invalidated.count, cases[i].invalidates);
        ethosu_deinit(drv);
    }
}

DRIVER_TEST(memory_that_the_cpu_never_writes_is_not_cleaned, "ethos-u55-128")
{
    split((struct ethosu_memory){.masters = ETHOSU_MASTERS_READ, .cpu = ETHOSU_CPU_CODE}, 0, 64);
    CHECK_EQ(prepare_copy(drv, 0, memory + 64, 32, 0), 0);
    CHECK(!has_span(&flushed, memory, 16));
}

TEST(written_lines_that_other_data_shares_are_refused)
{
    const struct {
        uint32_t offset; /**< of the buffer */
        uint32_t to;     /**< of what is written in it */
        size_t size;
        bool good;
    } cases[] = {
        {64, 0, 32, true},  // whole lines
        {64, 16, 32, true}, // its own line
        {64, 0, 16, false}, // the line ends behind the buffer
        {64, 32, 64, true}, // in the middle
        {80, 0, 48, false}, // the line begins before the buffer
        {80, 16, 48, true}, // the buffer does, the written part does not
        {64, 32, 48, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ethosu_driver *drv = open_driver("ethos-u55-128");
        uint8_t *target = memory + cases[i].offset;
        int error = prepare_copy(drv, cases[i].to, target, cases[i].size, 0);
        CHECK_EQ(error, cases[i].good ? 0 : ETHOSU_EXT_E_CACHE_LINE);
        if (!cases[i].good) {
            CHECK_TEXT(error_text(drv), "a cache line of 32 bytes shared with other data");
        }
        CHECK_EQ(prepare_copy(drv, cases[i].to, target, cases[i].size, ETHOSU_EXT_OWN_LINES), 0);
        memories[0].cache = ETHOSU_CACHE_NONE;
        CHECK_EQ(prepare_copy(drv, cases[i].to, target, cases[i].size, 0), 0);
        memories[0].cache = ETHOSU_CACHE_WRITE_BACK;
        ethosu_deinit(drv);
    }
}

/* ---- ports and settings ---- */

TEST(a_board_that_lets_u55_write_by_m1_is_refused_at_init)
{
    static struct ethosu_driver drv;
    split((struct ethosu_memory){.masters = ETHOSU_MASTERS_ALL, .port = ETHOSU_PORT_3}, 0, 512);
    ethosu_ext_memory_use(&ethosu_board);
    power_up(0, "ethos-u55-128");
    check_error(&drv, ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 1, 1), ETHOSU_EXT_E_BOARD_PORT,
                "memory 0 of the board is writable, but its port M1 (REGIONCFG 3)");

    memories[0].masters = ETHOSU_MASTERS_READ;
    CHECK_EQ(ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 1, 1), 0);
    ethosu_deinit(&drv);
    memories[0].masters = ETHOSU_MASTERS_ALL;
    power_up(0, "ethos-u65-256"); // its M1 writes
    CHECK_EQ(ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 1, 1), 0);
}

/** By default base pointer 0 is behind M1: a stream that writes it can't run on Ethos-U55. */
DRIVER_TEST(a_stream_that_writes_by_m1_of_u55_is_refused, "ethos-u55-128")
{
    uint32_t words[14];
    memcpy(words, copy_to(0), sizeof words);
    words[4] = 0x00010130u;
    words[5] = 0x00000131u;
    uint32_t *swapped = (uint32_t *)(void *)(memory + 512);
    memcpy(swapped, words, sizeof words);
    uint64_t both[2] = {(uintptr_t)memory, (uintptr_t)memory + 64};
    size_t size[2] = {32, 32};
    CHECK_EQ(ethosu_ext_prepare(drv, &program, swapped, 56, both, size, 2, 0),
             ETHOSU_EXT_E_PORT_READS_ONLY);
    CHECK_TEXT(error_text(drv), "'s port M1 (REGIONCFG 3) is read-only");
    memories[0].port = ETHOSU_PORT_1;
    CHECK_EQ(ethosu_ext_prepare(drv, &program, swapped, 56, both, size, 2, 0), 0);
}

TEST(a_boards_settings_reach_the_registers)
{
    static const struct ethosu_npu_settings settings = {
        .axi_limit = {0x01020010, 0, 1, 0x12},
        .mem_attr = {0, 0, 0, 0x14},
        .axi_sram = 0x3003F, // longer bursts than this NPU supports: 2
        .power_ramp = 9,
    };
    npu_table[0].settings = &settings;
    struct ethosu_driver *drv = open_driver("ethos-u55-128");
    CHECK_EQ(reg(0, NPU_AXI_LIMIT0), 0x01020010);
    CHECK_EQ(reg(0, NPU_AXI_LIMIT0 + 12), 0x12);
    ethosu_deinit(drv);

    drv = open_driver("ethos-u85-256");
    CHECK_EQ(reg(0, NPU_MEM_ATTR0 + 12), 0x14);
    CHECK_EQ(reg(0, NPU_AXI_SRAM), 0x2003F);
    CHECK_EQ(reg(0, NPU_POWER_CTRL), 9);
    ethosu_deinit(drv);
    npu_table[0].settings = NULL;
}

/* ---- power ---- */

static bool powered, power_fails;

/** A power switch: an NPU without power does not respond, and loses its state. */
static bool switch_power(const struct ethosu_npu *npu, bool on)
{
    CHECK(npu->base == (uintptr_t)&sim_host_npus[0]);
    if (on && power_fails) {
        return false;
    }
    if (!on && powered) {
        npu_reset(sim_host_npus[0].sim);
    }
    powered = on;
    inject("dead", on ? 0 : UINT32_MAX);
    return true;
}

TEST(an_npu_is_powered_only_while_in_use)
{
    static struct ethosu_driver drv;
    ethosu_ext_memory_use(&ethosu_board);
    npu_table[0].power = switch_power;
    power_up(0, "ethos-u55-128");
    inject("dead", UINT32_MAX);
    CHECK_EQ(ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 1, 1), 0);
    attach(0, &drv);
    CHECK(!powered);
    unsigned accesses = npus[0].accesses;
    CHECK(ethosu_reserve_driver() == &drv);
    CHECK_EQ(npus[0].accesses, accesses);

    npus[0].end = END_ON_SLEEP;
    CHECK_EQ(start_good(&drv), 0);
    CHECK(powered);
    CHECK(reg(0, NPU_AXI_LIMIT0) != 0); // set up again
    CHECK_EQ(ethosu_wait(&drv, true), 0);
    CHECK(!powered);

    CHECK_EQ(ethosu_request_power(&drv), 0);
    CHECK_EQ(run_good(&drv), 0);
    CHECK(powered);
    ethosu_release_power(&drv);
    CHECK(!powered);

    power_fails = true;
    check_error(&drv, start_good(&drv), ETHOSU_EXT_E_POWER,
                "could not switch on the NPU's clock and power");
    power_fails = false;
    CHECK_EQ(run_good(&drv), 0);

    accesses = npus[0].accesses;
    ethosu_deinit(&drv);
    CHECK_EQ(npus[0].accesses, accesses);
    npu_table[0].power = NULL;
}
