// SPDX-License-Identifier: MIT
/** The verifier against Ethos-U85 streams made by hand: each access, one byte too far. */
#include "walked.h"

/** PRECISION: storage [15:14]. */
enum { CHAINED = 2 << 14, NONE = 3 << 14, GLOBAL_SCALE = 1 << 8 };

/** The same shape as an ADD: IFM2 at 0 of region 0. */
static void add(void)
{
    conv(U85);
    PUT(0x114, 1 | GLOBAL_SCALE, 0x185, 1);
    map(0x180, 0, 0, 48, 8, 1);
    PUT(0x108, 0, 0x180, 0);
}

/** The word at hand once more. */
static void again(uint32_t code, uint32_t param)
{
    count--;
    put(code, param);
}

TEST(u85_convolution_is_bounded_at_every_operand)
{
    conv(U85);
    EXACT(U85, CONV, 0, 160, 384, 0);
    EXACT(U85, CONV, 0, 160, 384, 1);
    SAYS(U85, CONV, 0, 0);
    CHECK_EQ(written, 2);
    EXACT(U85, DEPTHWISE, 0, 160, 384, 0);
    EXACT(U85, DEPTHWISE, 0, 160, 384, 1);
}

TEST(u85_reads_a_weight_stream_for_each_core)
{
    conv(U85);
    put(CONV, 0);
    size[0] = 4096;
    size[1] = 384;
    CHECK_EQ(verify(U85_1024, 2), ETHOSU_EXT_E_COMMAND_UNSET); // the length of the second
    count--;
    pay(0x91, 0); // no base is needed
    PAY(0x93, 0, 0x94, 1000, 0x95, 96);
    put(CONV, 0);
    check_exact(U85_1024, 1096, 384, 0);
    CHECK_EQ(verify(U85, 2), 0);
    size[0] = 160;
    CHECK_EQ(verify(U85, 2), 0); // one core: the others' are not read
}

TEST(u85_scales_are_read_unless_one_holds_for_all)
{
    conv(U85);
    put(0x114, 1 | GLOBAL_SCALE);
    EXACT(U85, CONV, 0, 80, 384, 0);
    EXACT(U85, POOL, 0, 0, 384, 1);
    put(0x114, 1);
    EXACT(U85, POOL, 0, 160, 384, 0);
}

TEST(u85_matrix_from_ifm2_is_one_row_of_vectors)
{
    conv(U85);
    put(0x113, 4); // five channels of eight
    PUT(0x114, 1 | GLOBAL_SCALE, 0x185, 1);
    map(0x180, 0, 100, 48, 8, 1);
    EXACT(U85, CONV, 1, 100 + 4 * 8 + 8, 381, 0);
    SAYS(U85, CONV, 2, ETHOSU_EXT_E_COMMAND_UNKNOWN);
}

TEST(u85_accumulators_may_come_from_ifm2)
{
    conv(U85);
    put(0x124, 2 << 4);
    put(0x185, 1 | 2 << 2); // int32
    map(0x180, 0, 1000, 192, 32, 1);
    EXACT(U85, CONV, 0, 1000 + 4 * 192, 384, 0);
    put(0x185, 1 | 3 << 2); // int64
    EXACT(U85, CONV, 0, 1000 + 3 * 192 + 5 * 32 + 64, 384, 0);
    put(0x124, 1 << 4); // those of the operation before
    EXACT(U85, CONV, 0, 160, 384, 0);
}

/** Height, width, depth 4, 6, 8 written with rows 1000, pixels 20 apart, for each transposition. */
TEST(u85_writes_transposed_and_reversed)
{
    static const uint32_t ends[8] = {
        3 * 1000 + 5 * 20 + 8,
        5 * 1000 + 3 * 20 + 8,
        3 * 1000 + 7 * 20 + 6,
        5 * 1000 + 7 * 20 + 4,
        0,
        0,
        7 * 1000 + 3 * 20 + 6,
        7 * 1000 + 5 * 20 + 4,
    };
    for (uint32_t transpose = 0; transpose < 8; transpose++) {
        conv(U85);
        map(0x110, 1, 192, 1000, 20, 1);
        PUT(0x114, 1 | transpose << 11, CONV, 0);
        if (ends[transpose] == 0) {
            CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_COMMAND_VALUE);
        } else {
            check_exact(U85, 160, 192 + ends[transpose], 1);
        }
    }
    for (uint32_t reverse = 1; reverse < 4; reverse++) {
        conv(U85);
        put(0x114, 1 | reverse << 9);
        EXACT(U85, CONV, 0, 160, 384, 1);
    }
}

TEST(u85_operands_are_bounded_after_broadcast)
{
    static const struct {
        uint32_t broadcast;
        size_t bytes;
    } cases[] = {{0, 192}, {1, 48}, {2, 3 * 48 + 8}, {4, 3 * 48 + 5 * 8 + 1}, {7, 1}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        add();
        put(0x180, cases[i].broadcast);
        EXACT(U85, ELEMENTWISE, 1, cases[i].bytes, 384, 0);
        add();
        map(0x100, 0, 0, 48, 8, 1);
        PUT(0x108, cases[i].broadcast, 0x180, 7);
        EXACT(U85, ELEMENTWISE, 1, cases[i].bytes, 384, 0);
    }
}

TEST(u85_scalar_is_not_read)
{
    add();
    PUT(0x180, 8, 0x185, 1 | NONE);
    EXACT(U85, ELEMENTWISE, 1, 0, 384, 1);
    put(0x180, 0); // what neither is a scalar nor in memory
    SAYS(U85, ELEMENTWISE, 1, ETHOSU_EXT_E_COMMAND_VALUE);
    put(0x105, 1 | NONE);
    SAYS(U85, POOL, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(u85_knows_its_elementwise_modes)
{
    static const uint32_t unary[] = {5, 6, 7, 36};
    static const uint32_t unknown[] = {12, 15, 20, 32, 37, 41, 43, 63};
    for (unsigned i = 0; i < 4; i++) {
        add();
        EXACT(U85, ELEMENTWISE, unary[i], 0, 384, 1);
    }
    for (unsigned i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        SAYS(U85, ELEMENTWISE, unknown[i], ETHOSU_EXT_E_COMMAND_UNKNOWN);
    }
}

TEST(u85_chain_buffers_are_written_before_they_are_read)
{
    add();
    PUT(0x114, 1 | GLOBAL_SCALE | CHAINED, 0x11F, 3, ELEMENTWISE, 1);
    uint32_t chained = count;
    PUT(0x105, 1 | CHAINED, 0x10F, 3, 0x114, 1 | GLOBAL_SCALE, 0x11F, 1);
    put(ELEMENTWISE, 6); // ABS of what was chained
    check_exact(U85, 192, 384, 1);
    again(0x10F, 2); // another one
    put(ELEMENTWISE, 6);
    CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_COMMAND_VALUE);
    count = chained - 2;
    put(0x11F, 6); // there are six
    SAYS(U85, ELEMENTWISE, 1, ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(u85_output_may_be_written_nowhere)
{
    conv(U85);
    put(0x114, 1 | NONE);
    EXACT(U85, CONV, 0, 160, 192, 1);
    SAYS(U85, CONV, 0, 0);
    CHECK_EQ(written, 0);
    put(0x114, 1 | 1 << 14); // tiles of 3x1
    SAYS(U85, CONV, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(u85_resize_reads_what_the_kernel_says)
{
    conv(U85);
    put(0x114, 1 | GLOBAL_SCALE);
    map(0x100, 0, 0, 24, 8, 1);
    PUT(0x120, 2, 0x121, 1);
    EXACT(U85, RESIZE, 0, 48, 384, 0);
    SAYS(U85, RESIZE, 3, ETHOSU_EXT_E_COMMAND_UNKNOWN);
}

TEST(u85_tables_lie_inside_their_memory)
{
    static const struct {
        uint32_t function;
        uint32_t last; // table
    } cases[] = {{1, 7}, {4, 7}, {5, 3}, {7, 1}, {8, 0}, {9, 0}, {10, 0}, {11, 0}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        conv(U85);
        size[0] = size[1] = 384;
        put(0x125, cases[i].function | cases[i].last << 5);
        SAYS(U85, CONV, 0, 0);
        put(0x125, cases[i].function | (cases[i].last + 1) % 8 << 5);
        SAYS(U85, CONV, 0, cases[i].last == 7 ? 0 : ETHOSU_EXT_E_COMMAND_VALUE);
    }
    again(0x125, 2); // no such function
    SAYS(U85, CONV, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(u85_copy_is_bounded_at_both_ends)
{
    dma(16, 32, 64);
    EXACT(U85, DMA, 0, 80, 96, 0);
    EXACT(U85, DMA, 0, 80, 96, 1);
    SAYS(U85, DMA, 0, 0);
    CHECK_EQ(written, 2);
    put(0x131, 0x100); // into the table memory
    pay(0x31, 2048 - 64);
    EXACT(U85, DMA, 0, 80, 0, 0);
    pay(0x31, 2048 - 48);
    put(DMA, 0);
    CHECK_EQ(verify(U85, 1), ETHOSU_EXT_E_COMMAND_VALUE);
    count--;
    PUT(0x130, 0x100, DMA, 0);
    CHECK_EQ(verify(U85, 1), ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(u85_strided_copy_has_steps_at_each_end)
{
    dma(10, 1000, 16);
    PUT(0x130, 2 << 9, DMA, 0);
    size[0] = size[1] = 100000;
    CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_COMMAND_UNSET);
    count--;
    PUT(0x132, 4, 0x133, 3);
    PAY(0x33, 20, 0x34, 200);
    pay(0x35, UINT64_C(0xFFFFFFFFC0)); // 64 backwards
    pay(0x36, 500);
    EXACT(U85, DMA, 0, 10 + 3 * 20 + 2 * 200 + 16, 1000 + 2 * 500 + 16, 0);
    EXACT(U85, DMA, 0, 10 + 3 * 20 + 2 * 200 + 16, 1000 + 2 * 500 + 16, 1);
    pay(0x31, 3 * 64);
    SAYS(U85, DMA, 0, 0);
    pay(0x31, 3 * 64 - 1);
    SAYS(U85, DMA, 0, ETHOSU_EXT_E_REGION_BOUNDS);
    CHECK_EQ((int64_t)fault.found, -1);
    put(0x133, 0);
    SAYS(U85, DMA, 0, ETHOSU_EXT_E_COMMAND_VALUE);
    put(0x130, 3 << 9);
    SAYS(U85, DMA, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

/** Ten rows of 32 bytes at 0 of region 0, their indices at 2000: five into region 1. */
static void gather(void)
{
    dma(0, 0, 32);
    PUT(0x130, 1 << 9 | 1 << 11, 0x132, 5);
    PAY(0x33, 32, 0x35, 32);
    put(0x134, 0);
    PAY(0x37, 2000, 0x38, 9);
}

TEST(u85_gather_is_bounded_by_its_greatest_index)
{
    gather();
    pay(0x37, 0);
    EXACT(U85, DMA, 0, 320, 160, 0);
    EXACT(U85, DMA, 0, 320, 160, 1);
    gather();
    EXACT(U85, DMA, 0, 2020, 160, 0); // the indices
    put(0x130, 2 << 9 | 1 << 11);     // three planes of five, with a skip behind each five indices
    put(0x133, 3);
    PAY(0x34, 0, 0x36, 160, 0x39, 4);
    EXACT(U85, DMA, 0, 2000 + 2 * 24 + 20, 480, 0);
    EXACT(U85, DMA, 0, 2000 + 2 * 24 + 20, 480, 1);
    pay(0x38, 0x80000000);
    SAYS(U85, DMA, 0, ETHOSU_EXT_E_COMMAND_UNSET);
    PAY(0x38, 0x7FFFFFFF, 0x33, 0x7FFFFFFF);
    SAYS(U85, DMA, 0, ETHOSU_EXT_E_REGION_BOUNDS);
}

TEST(u85_scatter_is_bounded_by_its_greatest_index)
{
    gather();
    PUT(0x130, 1 << 9, 0x131, 1 | 1 << 11);
    EXACT(U85, DMA, 0, 2020, 320, 0);
    EXACT(U85, DMA, 0, 2020, 320, 1);
    put(0x130, 1 << 9 | 1 << 11); // both ends
    SAYS(U85, DMA, 0, ETHOSU_EXT_E_COMMAND_VALUE);
    put(0x130, 0);
    SAYS(U85, DMA, 0, ETHOSU_EXT_E_COMMAND_VALUE); // one dimension, and five rows
}
