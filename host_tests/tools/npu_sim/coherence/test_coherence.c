// SPDX-License-Identifier: MIT
/** The library of tools/npu_sim/coherence.h, operation by operation. */
#include "check.h"
#include "coherence.h"

#define BASE 0x1000u
#define LINES 64u
#define SIZE (LINES * COHERENCE_LINE)

static struct coherence cache;
static uint8_t cpu[SIZE], memory[SIZE], snapshot[SIZE], state[LINES];

static struct coherence_range range_of(enum coherence_attribute attribute, uint64_t size)
{
    return (struct coherence_range){BASE,     size,  attribute, cpu, memory,
                                    snapshot, state, NULL,      NULL};
}

/** CPU and memory hold the same 1s. */
static void begin_with(enum coherence_attribute attribute)
{
    struct coherence_range range = range_of(attribute, SIZE);
    memset(cpu, 1, SIZE);
    memset(memory, 1, SIZE);
    memset(snapshot, 1, SIZE);
    CHECK(coherence_add(&cache, &range, COHERENCE_EQUAL));
}

static void maintain(enum coherence_operation operation, unsigned offset, unsigned size)
{
    coherence_maintain(&cache, operation, BASE + offset, size);
}

/* ---- write-back ---- */

TEST(store_stays_with_the_cpu_until_a_clean_and_a_barrier)
{
    begin_with(COHERENCE_WRITE_BACK);
    cpu[40] = 2;
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 1);
    maintain(COHERENCE_CLEAN, 40, 1);
    CHECK_EQ(memory[40], 1);
    cpu[40] = 3; // after the clean: not part of it
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 2);
    CHECK_EQ(cpu[40], 3);
}

TEST(clean_of_a_clean_line_keeps_what_the_npu_wrote)
{
    begin_with(COHERENCE_WRITE_BACK);
    memory[40] = 7;
    maintain(COHERENCE_CLEAN, 0, SIZE);
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 7);
    CHECK_EQ(cpu[40], 1);
}

TEST(clean_of_a_shared_line_destroys_what_the_npu_wrote)
{
    begin_with(COHERENCE_WRITE_BACK);
    memory[40] = 7;
    cpu[50] = 2; // the same line
    maintain(COHERENCE_CLEAN, 50, 1);
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 1);
    CHECK_EQ(memory[50], 2);
}

TEST(cpu_reads_old_data_until_it_invalidates)
{
    begin_with(COHERENCE_WRITE_BACK);
    memory[40] = 7;
    coherence_barrier(&cache);
    CHECK_EQ(cpu[40], 1);
    maintain(COHERENCE_INVALIDATE, 40, 1);
    CHECK_EQ(cpu[40], 1); // no barrier yet
    coherence_barrier(&cache);
    CHECK_EQ(cpu[40], 7);
}

TEST(invalidate_loses_what_the_cpu_wrote)
{
    begin_with(COHERENCE_WRITE_BACK);
    cpu[40] = 2;
    cpu[63] = 2;
    cpu[64] = 2; // the next line
    maintain(COHERENCE_INVALIDATE, 45, 1);
    coherence_barrier(&cache);
    CHECK_EQ(cpu[40], 1);
    CHECK_EQ(cpu[63], 1);
    CHECK_EQ(cpu[64], 2);
}

TEST(clean_and_invalidate_loses_no_cpu_store)
{
    begin_with(COHERENCE_WRITE_BACK);
    cpu[40] = 2;
    memory[70] = 7;
    maintain(COHERENCE_CLEAN_INVALIDATE, 40, 32);
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 2);
    CHECK_EQ(cpu[40], 2);
    CHECK_EQ(cpu[70], 7);
}

TEST(operations_on_one_line_keep_their_order)
{
    begin_with(COHERENCE_WRITE_BACK);
    maintain(COHERENCE_INVALIDATE, 32, 32);
    cpu[40] = 2;
    maintain(COHERENCE_CLEAN, 32, 32);
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], cpu[40]);
    cpu[41] = 3;
    maintain(COHERENCE_CLEAN, 32, 32);
    maintain(COHERENCE_INVALIDATE, 32, 32);
    CHECK_EQ(memory[41], 1);
    coherence_barrier(&cache);
    CHECK_EQ(memory[41], 3);
    CHECK_EQ(cpu[41], 3);
}

TEST(fresh_memory_is_dirty)
{
    struct coherence_range range = range_of(COHERENCE_WRITE_BACK, SIZE);
    memset(memory, 0xA5, SIZE);
    CHECK(coherence_add(&cache, &range, COHERENCE_UNKNOWN));
    maintain(COHERENCE_CLEAN, 32, 32);
    coherence_barrier(&cache);
    CHECK_EQ(memory[31], 0xA5);
    CHECK_EQ(memory[32], 0);
    CHECK_EQ(memory[63], 0);
    CHECK_EQ(memory[64], 0xA5);
    memory[40] = 7; // clean now, so it is not written again
    maintain(COHERENCE_CLEAN, 32, 32);
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 7);
}

TEST(whole_cache)
{
    begin_with(COHERENCE_WRITE_BACK);
    cpu[0] = cpu[SIZE - 1] = 2;
    coherence_maintain_all(&cache, COHERENCE_CLEAN);
    coherence_barrier(&cache);
    CHECK_EQ(memory[0], 2);
    CHECK_EQ(memory[SIZE - 1], 2);
    memory[33] = 7;
    cpu[40] = 3;
    coherence_maintain_all(&cache, COHERENCE_INVALIDATE);
    coherence_barrier(&cache);
    CHECK_EQ(cpu[33], 7);
    CHECK_EQ(cpu[40], 1);
}

/* ---- edges ---- */

TEST(maintenance_is_clipped_to_the_ranges)
{
    begin_with(COHERENCE_WRITE_BACK);
    memset(cpu, 2, SIZE);
    coherence_maintain(&cache, COHERENCE_CLEAN, 0, BASE);           // ends before
    coherence_maintain(&cache, COHERENCE_CLEAN, BASE + SIZE, 4096); // begins behind
    coherence_maintain(&cache, COHERENCE_CLEAN, BASE + 64, 0);      // empty
    coherence_barrier(&cache);
    CHECK_EQ(memory[0], 1);
    CHECK_EQ(memory[64], 1);
    CHECK_EQ(memory[SIZE - 1], 1);
    coherence_maintain(&cache, COHERENCE_CLEAN, 0, BASE + 1); // one byte of the first line
    coherence_barrier(&cache);
    CHECK_EQ(memory[31], 2);
    CHECK_EQ(memory[32], 1);
    coherence_maintain(&cache, COHERENCE_CLEAN, 0, UINT64_MAX);
    coherence_barrier(&cache);
    CHECK_EQ(memory[SIZE - 1], 2);
}

TEST(last_line_may_be_short)
{
    struct coherence_range range = range_of(COHERENCE_WRITE_BACK, SIZE - 20);
    memset(cpu, 1, SIZE);
    CHECK(coherence_add(&cache, &range, COHERENCE_UNKNOWN));
    coherence_maintain_all(&cache, COHERENCE_CLEAN_INVALIDATE);
    coherence_barrier(&cache);
    CHECK_EQ(memory[SIZE - 21], 1);
    CHECK_EQ(memory[SIZE - 20], 0);
    memory[SIZE - 20] = 9;
    memory[SIZE - 21] = 9;
    coherence_maintain_all(&cache, COHERENCE_INVALIDATE);
    coherence_barrier(&cache);
    CHECK_EQ(cpu[SIZE - 21], 9);
    CHECK_EQ(cpu[SIZE - 20], 1);
}

TEST(full_queue_does_not_wait)
{
    begin_with(COHERENCE_WRITE_BACK);
    for (unsigned i = 0; i < COHERENCE_QUEUE_MAX + 1; i++) {
        cpu[i * 64 % SIZE] = 2;
        maintain(COHERENCE_CLEAN, i * 64 % SIZE, 1);
    }
    CHECK_EQ(memory[0], 2);
    CHECK_EQ(memory[64], 1);
    coherence_barrier(&cache);
    CHECK_EQ(memory[64], 2);
}

TEST(removed_range_is_left_alone)
{
    begin_with(COHERENCE_WRITE_BACK);
    cpu[40] = 2;
    maintain(COHERENCE_CLEAN, 40, 1);
    coherence_remove(&cache, BASE);
    struct coherence_range range = range_of(COHERENCE_WRITE_BACK, SIZE);
    CHECK(coherence_add(&cache, &range, COHERENCE_UNKNOWN)); // the same address again
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 1);
    CHECK(coherence_map(&cache, BASE, SIZE, true) == memory);
    CHECK(coherence_memory(&cache, BASE + 1, SIZE - 1) == memory + 1);
    coherence_remove(&cache, BASE);
    CHECK(coherence_map(&cache, BASE, 1, true) == NULL);
    CHECK(coherence_memory(&cache, BASE, 1) == NULL);
}

TEST(all_ranges_are_removed)
{
    begin_with(COHERENCE_WRITE_BACK);
    cpu[40] = 2;
    maintain(COHERENCE_CLEAN, 40, 1);
    coherence_remove_all(&cache);
    begin_with(COHERENCE_WRITE_BACK);
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 1);
}

TEST(a_master_only_accesses_spans_within_one_range)
{
    begin_with(COHERENCE_WRITE_BACK);
    CHECK(coherence_map(&cache, BASE + 5, SIZE - 5, true) == memory + 5);
    CHECK(coherence_map(&cache, BASE + 5, SIZE, true) == NULL);
    CHECK(coherence_map(&cache, BASE - 1, 2, true) == NULL);
    CHECK(coherence_map(&cache, BASE + SIZE, 1, true) == NULL);
}

TEST(ranges_are_limited)
{
    struct coherence_range range = range_of(COHERENCE_WRITE_BACK, COHERENCE_LINE);
    for (unsigned i = 0; i < COHERENCE_RANGE_MAX; i++) {
        range.base = i * 64;
        CHECK(coherence_add(&cache, &range, COHERENCE_EQUAL));
    }
    range.base = COHERENCE_RANGE_MAX * 64;
    CHECK(!coherence_add(&cache, &range, COHERENCE_EQUAL));
}

TEST(equal_compares_the_copies)
{
    begin_with(COHERENCE_WRITE_BACK);
    CHECK(coherence_equal(&cache, BASE, SIZE));
    cpu[40] = 2;
    CHECK(!coherence_equal(&cache, BASE + 32, 32));
    CHECK(coherence_equal(&cache, BASE, 32));
    CHECK(coherence_equal(&cache, BASE + SIZE + 32, 32));
}

/** Only the used part of a large memory is compared. */
static bool only_line_2(const struct coherence_range *range, uint64_t *offset, uint64_t *size)
{
    (void)range;
    bool before = *offset <= 64;
    *offset = 64;
    *size = 32;
    return before;
}

TEST(unused_memory_is_skipped)
{
    struct coherence_range range = range_of(COHERENCE_WRITE_BACK, SIZE);
    range.next = only_line_2;
    CHECK(coherence_add(&cache, &range, COHERENCE_EQUAL));
    cpu[32] = cpu[64] = cpu[96] = 2;
    coherence_maintain_all(&cache, COHERENCE_CLEAN);
    coherence_barrier(&cache);
    CHECK_EQ(memory[32], 0);
    CHECK_EQ(memory[64], 2);
    CHECK_EQ(memory[96], 0);
    cpu[65] = 3;
    coherence_adopt(&cache);
    CHECK_EQ(memory[65], 3);
    CHECK_EQ(memory[96], 0);
}

/* ---- write-through and uncached ---- */

TEST(write_through_needs_no_clean)
{
    begin_with(COHERENCE_WRITE_THROUGH);
    cpu[40] = 2;
    memory[41] = 7; // the same line: only the bytes stored arrive
    CHECK_EQ(memory[40], 1);
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 2);
    CHECK_EQ(memory[41], 7);
    CHECK_EQ(cpu[41], 1);
}

TEST(write_through_needs_an_invalidate)
{
    begin_with(COHERENCE_WRITE_THROUGH);
    cpu[40] = 2;
    memory[41] = 7;
    maintain(COHERENCE_INVALIDATE, 40, 1);
    coherence_barrier(&cache);
    CHECK_EQ(cpu[40], 2); // nothing was unwritten
    CHECK_EQ(memory[40], 2);
    CHECK_EQ(cpu[41], 7);
}

TEST(uncached_memory_needs_a_barrier_only)
{
    begin_with(COHERENCE_UNCACHED);
    cpu[40] = 2;
    memory[41] = 7;
    CHECK_EQ(memory[40], 1);
    CHECK_EQ(cpu[41], 1);
    maintain(COHERENCE_CLEAN_INVALIDATE, 0, SIZE); // of no effect
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 2);
    CHECK_EQ(cpu[41], 7);
}

TEST(fresh_uncached_memory_belongs_to_the_cpu)
{
    struct coherence_range range = range_of(COHERENCE_UNCACHED, SIZE);
    memset(memory, 0xA5, SIZE);
    CHECK(coherence_add(&cache, &range, COHERENCE_UNKNOWN));
    coherence_barrier(&cache);
    CHECK_EQ(memory[40], 0);
}

/* ---- evictions ---- */

static void many_events(bool cpu_stopped)
{
    for (unsigned i = 0; i < 2000; i++) {
        CHECK(coherence_map(&cache, BASE + 96, 64, cpu_stopped) == memory + 96);
    }
}

TEST(strict_never_evicts)
{
    begin_with(COHERENCE_WRITE_BACK);
    cpu[100] = 2;
    memory[140] = 7;
    many_events(true);
    CHECK_EQ(memory[100], 1);
    CHECK_EQ(cpu[140], 1);
}

TEST(evictions_write_back_and_fetch)
{
    begin_with(COHERENCE_WRITE_BACK);
    coherence_evict(&cache, true, 1);
    cpu[100] = 2;
    memory[101] = 7;              // the same line: overwritten
    memory[140] = 7;              // a clean line: fetched
    cpu[96 - 20] = 2;             // a neighbour
    cpu[1000] = memory[1001] = 9; // far away
    many_events(true);
    CHECK_EQ(memory[100], 2);
    CHECK_EQ(memory[101], 1);
    CHECK_EQ(cpu[140], 7);
    CHECK_EQ(memory[96 - 20], 2);
    CHECK_EQ(memory[1000], 1);
    CHECK_EQ(cpu[1001], 1);
}

TEST(nothing_is_fetched_while_the_cpu_runs)
{
    begin_with(COHERENCE_WRITE_BACK);
    coherence_evict(&cache, true, 1);
    cpu[100] = 2;
    memory[140] = 7;
    maintain(COHERENCE_INVALIDATE, 140, 1);
    many_events(false);
    CHECK_EQ(memory[100], 2);
    CHECK_EQ(cpu[140], 1);
    coherence_barrier(&cache);
    CHECK_EQ(cpu[140], 7);
}

TEST(evictions_keep_what_was_cleaned)
{
    begin_with(COHERENCE_WRITE_BACK);
    for (uint32_t seed = 0; seed < 200; seed++) {
        coherence_evict(&cache, true, seed);
        cpu[100] = (uint8_t)seed;
        maintain(COHERENCE_CLEAN, 100, 1);
        many_events(true);
        coherence_barrier(&cache);
        CHECK_EQ(memory[100], (uint8_t)seed);
        CHECK_EQ(cpu[100], (uint8_t)seed);
    }
}

TEST(evictions_of_other_memory_move_bytes_only)
{
    begin_with(COHERENCE_WRITE_THROUGH);
    coherence_evict(&cache, true, 3);
    cpu[100] = 2;
    memory[101] = 7;
    many_events(false);
    CHECK_EQ(memory[100], 2);
    CHECK_EQ(memory[101], 7);
    CHECK_EQ(cpu[101], 1);
    many_events(true);
    CHECK_EQ(cpu[101], 7);
}

TEST(a_seed_repeats_its_evictions)
{
    static uint8_t first[2 * SIZE];
    for (unsigned run = 0; run < 3; run++) {
        cache = (struct coherence){0};
        begin_with(COHERENCE_WRITE_BACK);
        coherence_evict(&cache, true, run < 2 ? 42 : 43);
        for (unsigned i = 0; i < 300; i++) {
            cpu[i * 7 % SIZE] = (uint8_t)i;
            memory[i * 11 % SIZE] = (uint8_t)i;
            coherence_map(&cache, BASE + i * 5 % SIZE, 1, true);
        }
        bool same = memcmp(first, cpu, SIZE) == 0 && memcmp(first + SIZE, memory, SIZE) == 0;
        CHECK(run == 0 || same == (run == 1));
        memcpy(first, cpu, SIZE);
        memcpy(first + SIZE, memory, SIZE);
    }
}

/* ---- the user's choice ---- */

TEST(modes_are_read)
{
    struct coherence_mode mode;
    CHECK(coherence_parse("off", &mode) && !mode.on && !mode.evict);
    CHECK(coherence_parse("strict", &mode) && mode.on && !mode.evict);
    CHECK(coherence_parse("evict:0", &mode) && mode.on && mode.evict && mode.seed == 0);
    CHECK(coherence_parse("evict:4294967295", &mode) && mode.seed == 4294967295u);
}

TEST(other_modes_are_refused)
{
    static const char *const wrong[] = {"",
                                        "on",
                                        "evict",
                                        "evict:",
                                        "evict:-1",
                                        "evict:+1",
                                        "evict: 1",
                                        "evict:1x",
                                        "Strict",
                                        "evict:0x1",
                                        "evict:4294967296",
                                        "evict:99999999999999999999999"};
    struct coherence_mode mode;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!coherence_parse(wrong[i], &mode));
    }
}
