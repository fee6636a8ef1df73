// SPDX-License-Identifier: MIT
/** The verifier against streams made by hand: each access, one byte too far. */
#include "walked.h"

TEST(a_convolution_is_bounded_at_every_operand)
{
    for (unsigned i = 0; i < 2; i++) {
        uint32_t config = i == 0 ? U55 : U65;
        conv(config);
        EXACT(config, CONV, 0, 160, 384, 0);
        EXACT(config, CONV, 0, 160, 384, 1);
        SAYS(config, CONV, 0, 0);
        CHECK_EQ(written, 2);
    }
    put(CONV, 0);
    CHECK_TEXT((size[1] = 383, verify(U65, 2), sentence()), "reaches byte 384 of region 1");
}

TEST(the_input_of_a_kernel_window_is_what_its_output_implies)
{
    conv(U55);
    put(0x120, 2); // 3x3, stride 2 in x, 3 in y: 9x13 are read, less the padding
    PUT(0x121, 2, 0x122, 1 | 0x200, 0x100, 1, 0x103, 1, 0x102, 1);
    map(0x100, 1, 1000, 120, 8, 1);
    // rows (4-1)*3+3-2 = 10, columns (6-1)*2+3-1 = 12
    EXACT(U55, CONV, 0, 160, 1000 + 9 * 120 + 11 * 8 + 8, 1);
    put(0x107, 1); // upscaled: half of it
    EXACT(U55, CONV, 0, 160, 1000 + 4 * 120 + 5 * 8 + 8, 1);
    put(0x103, 0xFF);
    SAYS(U55, CONV, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(strides_are_signed)
{
    conv(U55);
    map(0x110, 1, 1000, -48, 8, 1); // rows upwards: 856 to 1048
    EXACT(U55, CONV, 0, 160, 1048, 1);
    map(0x110, 1, 143, -48, 8, 1); // one byte below the region
    SAYS(U55, CONV, 0, ETHOSU_EXT_E_REGION_BOUNDS);
    CHECK_EQ((int64_t)fault.found, -1);
    map(0x110, 1, 144, -48, 8, 1);
    SAYS(U55, CONV, 0, 0);
}

TEST(each_of_the_four_tiles_is_bounded)
{
    static const struct {
        uint32_t base;
        uint32_t end; // of the tile: rows 0..2 or 3, columns 0..3 or 4..5
    } tiles[] = {{0x10, 2 * 48 + 4 * 8},
                 {0x11, 1 * 48 + 2 * 8},
                 {0x12, 0 * 48 + 4 * 8},
                 {0x13, 1 * 48 + 2 * 8}};
    for (unsigned i = 0; i < 4; i++) {
        conv(U55);
        put(0x11A, 3); // WIDTH0 4
        put(0x11B, 2); // HEIGHT0 3
        put(0x11C, 1); // HEIGHT1 2
        for (uint32_t tile = 0; tile < 4; tile++) {
            pay(0x10 + tile, 192);
        }
        pay(tiles[i].base, 5000);
        EXACT(U55, CONV, 0, 160, 5000 + tiles[i].end, 1);
    }
}

TEST(bricks_of_sixteen_channels_are_bounded)
{
    conv(U55);
    shape(4, 6, 40);
    put(0x114, 1 | 1 << 6 | 1 << 1); // int16, NHCWB16
    map(0x110, 1, 2000, 3 * 192, 32, 192);
    put(0x100 + 4, 7); // IFM depth stays 8
    EXACT(U55, CONV, 0, 160, 2000 + 3 * 576 + 5 * 32 + 2 * 192 + 32, 1);
    put(0x114, 2 << 6 | 1);
    SAYS(U55, CONV, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(bricks_with_another_step_are_bounded_whether_it_is_obeyed_or_ignored)
{
    static const struct {
        int32_t step;
        uint32_t pixel; // whose bytes end last: 32, or the step
    } steps[] = {{16, 32}, {64, 64}, {32, 32}, {0, 32}};
    for (unsigned i = 0; i < 4; i++) {
        conv(U55);
        shape(4, 6, 40);
        PUT(0x114, 1 | 1 << 6 | 1 << 1, 0x104, 7);
        map(0x110, 1, 2000, 3 * 192, steps[i].step, 192);
        EXACT(U55, CONV, 0, 160, 2000 + 3 * 576 + 5 * steps[i].pixel + 2 * 192 + 32, 1);
        SAYS(U55, CONV, 0, 0);
        CHECK_EQ(writes.end[1], size[1]);
    }
    map(0x110, 1, 161, 3 * 192, -32, 192); // five pixels to the left begin at 1
    EXACT(U55, CONV, 0, 160, 161 + 3 * 576 + 5 * 32 + 2 * 192 + 32, 1);
    SAYS(U55, CONV, 0, 0);
    CHECK_EQ(writes.start[1], 1);
    map(0x110, 1, 159, 3 * 192, -32, 192);
    SAYS(U55, CONV, 0, ETHOSU_EXT_E_REGION_BOUNDS);
    CHECK_EQ((int64_t)fault.found, -1);
}

TEST(the_second_core_has_streams_of_its_own)
{
    conv(U65);
    put(0x123, 1);
    PAY(0x90, 160, 0x91, 64, 0x92, 224, 0x93, 48);
    EXACT(U65, CONV, 0, 272, 384, 0);
    pay(0x91, 512);
    EXACT(U65, CONV, 0, 672, 384, 0);
}

TEST(addresses_and_steps_beyond_32_bits_are_refused)
{
    static const uint64_t beyond = UINT64_C(0x1000000000);
    for (unsigned i = 0; i < 2; i++) {
        conv(i == 0 ? U55 : U65);
        pay(0x10, beyond);
        put(CONV, 0);
        CHECK_EQ(verify(i == 0 ? U55 : U65, 2), ETHOSU_EXT_E_COMMAND_VALUE);
        CHECK_EQ(fault.found, beyond);
        CHECK_EQ(fault.expected, 0x4010);
    }
    size[0] = 160;
    size[1] = 1048;
    conv(U65);
    pay(0x10, 1000);
    pay(0x15, UINT64_C(0xFFFFFFFFD0)); // 40 bits: -48
    SAYS(U65, CONV, 0, 0);
    pay(0x15, UINT64_C(0x00FFFFFFD0)); // 40 bits: nearly 4 GB
    SAYS(U65, CONV, 0, ETHOSU_EXT_E_COMMAND_VALUE);
    conv(U55);
    pay(0x10, 1000);
    pay(0x15, UINT64_C(0x00FFFFFFD0)); // 32 bits: -48
    SAYS(U55, CONV, 0, 0);
}

TEST(a_pool_reads_scales_only_when_they_are_per_channel)
{
    conv(U55);
    put(0x114, 1 | 1 << 8);
    EXACT(U55, POOL, 1, 0, 384, 1);
    put(0x114, 1);
    EXACT(U55, POOL, 1, 160, 384, 0);
    put(0x104, 3);
    SAYS(U55, POOL, 0, ETHOSU_EXT_E_COMMAND_VALUE);
    SAYS(U55, POOL, 2, 0); // REDUCE_SUM: depths differ
    SAYS(U55, DEPTHWISE, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

/** That the NPU fetches no scales there is not documented: those that are set are bounded. */
TEST(a_maximum_and_an_average_of_a_padded_ifm_need_no_scales_but_those_set_are_bounded)
{
    conv(U55);
    PUT(0x100, 1, 0x121, 1); // padded
    for (uint32_t mode = 0; mode < 3; mode++) {
        EXACT(U55, POOL, mode, 160, 384, 0);
    }
    conv(U55);
    count -= 4; // SCALE_BASE and SCALE_LENGTH are never set
    SAYS(U55, POOL, 1, ETHOSU_EXT_E_COMMAND_UNSET);
    EXACT(U55, POOL, 0, 0, 384, 1);
    PUT(0x100, 1, 0x121, 1);
    EXACT(U55, POOL, 1, 0, 384, 1);
    SAYS(U55, POOL, 2, ETHOSU_EXT_E_COMMAND_UNSET);
}

TEST(a_depthwise_convolution_reads_weights_and_scales)
{
    conv(U55);
    EXACT(U55, DEPTHWISE, 0, 160, 384, 0);
}

TEST(the_second_operand_is_bounded_after_broadcast)
{
    conv(U55);
    PUT(0x180, 0, 0x185, 1);
    map(0x180, 0, 0, 48, 8, 1);
    EXACT(U55, ELEMENTWISE, 1, 192, 384, 0);
    put(0x180, 1); // one row
    EXACT(U55, ELEMENTWISE, 1, 48, 384, 0);
    put(0x180, 2); // one column
    EXACT(U55, ELEMENTWISE, 1, 3 * 48 + 8, 384, 0);
    put(0x180, 4); // one channel
    EXACT(U55, ELEMENTWISE, 1, 3 * 48 + 5 * 8 + 1, 384, 0);
    put(0x180, 0x80); // scalar
    EXACT(U55, ELEMENTWISE, 1, 0, 384, 1);
    put(0x180, 0);
    EXACT(U55, ELEMENTWISE, 6, 0, 384, 1); // ABS has one operand
}

TEST(a_copy_is_bounded_at_both_ends)
{
    dma(16, 32, 64);
    EXACT(U55, DMA, 0, 80, 96, 0);
    EXACT(U55, DMA, 0, 80, 96, 1);
    SAYS(U55, DMA, 0, 0);
    CHECK_EQ(written, 2);
}

TEST(a_copy_into_the_npu_is_bounded_by_its_memory)
{
    dma(0, 24 * 1024 - 64, 64);
    PUT(0x131, 0x100, DMA, 0);
    size[0] = 64;
    CHECK_EQ(verify(U55, 1), 0);
    CHECK_EQ(written, 0);
    count--;
    pay(0x31, 24 * 1024 - 48);
    put(DMA, 0);
    CHECK_EQ(verify(U55, 1), ETHOSU_EXT_E_COMMAND_VALUE);
    count--;
    PUT(0x130, 0x100, DMA, 0);
    CHECK_EQ(verify(U55, 1), ETHOSU_EXT_E_COMMAND_VALUE);
}

TEST(a_strided_copy_is_bounded_and_u65_only)
{
    dma(0, 0, 16);
    put(0x131, 1 | 2 << 9);
    SAYS(U55, DMA, 0, ETHOSU_EXT_E_COMMAND_VALUE);
    PUT(0x132, 4, 0x133, 3);
    PAY(0x33, 16, 0x34, 100);
    EXACT(U65, DMA, 0, 16 * 12, 2 * (4 * 32 + 100) + 3 * 32 + 16, 1);
    EXACT(U65, DMA, 0, 16 * 12, 2 * (4 * 32 + 100) + 3 * 32 + 16, 0);
    SAYS(U55, DMA, 0, ETHOSU_EXT_E_COMMAND_UNKNOWN);
    put(0x132, 0);
    SAYS(U65, DMA, 0, ETHOSU_EXT_E_COMMAND_VALUE);
    put(0x130, 2 << 9);
    put(0x132, 0xFFFF); // far beyond 64 bits, were it multiplied out
    put(0x133, 0xFFFF);
    PAY(0x33, UINT64_C(0x7FFFFFFFFF), 0x34, UINT64_C(0x7FFFFFFFFF));
    SAYS(U65, DMA, 0, ETHOSU_EXT_E_COMMAND_VALUE);
}

/** Leave out each command of a good stream in turn. */
TEST(a_register_that_was_never_set_is_not_taken_for_zero)
{
    conv(U55);
    PUT(0x180, 0, 0x185, 1);
    map(0x180, 0, 0, 48, 8, 1);
    PUT(CONV, 0, ELEMENTWISE, 1);
    static uint32_t good[1024];
    uint32_t good_count = count;
    memcpy(good, words, sizeof good);
    size[0] = 192;
    size[1] = 384;
    CHECK_EQ(verify(U55, 2), 0);
    unsigned left_out = 0;
    for (uint32_t at = 0; at + 2 < good_count;) {
        uint32_t length = good[at] & 0x4000 ? 2 : 1;
        count = 0;
        for (uint32_t i = 0; i < good_count; i++) {
            if (i < at || i >= at + length) {
                words[count++] = good[i];
            }
        }
        uint32_t code = good[at] & 0xFFFF;
        bool unused = code == 0x4006 || code == 0x4016 || code == 0x4086; // NHWC: no bricks
        CHECK_EQ(verify(U55, 2), unused ? 0 : ETHOSU_EXT_E_COMMAND_UNSET);
        if (!unused) {
            CHECK_EQ(fault.found, code);
        }
        left_out++;
        at += length;
    }
    CHECK(left_out > 40);
}

TEST(a_region_beyond_the_given_ones_is_refused)
{
    conv(U55);
    PUT(0x11F, 2, CONV, 0);
    size[0] = size[1] = 4096;
    CHECK_EQ(verify(U55, 2), ETHOSU_EXT_E_REGION_UNKNOWN);
    CHECK_TEXT(sentence(), "uses region 2, only 2 are given");
}

static void check_unknown(uint32_t word, uint32_t payload)
{
    words[0] = word;
    words[1] = payload;
    count = 2;
    CHECK_EQ(verify(U55, 2), ETHOSU_EXT_E_COMMAND_UNKNOWN);
    CHECK_EQ(fault.index, 0);
    CHECK_EQ(fault.found, word);
}

TEST(unknown_commands_cut_commands_and_a_missing_stop_are_refused)
{
    static const uint32_t unknown[] = {
        0x004, 0x00010002, 0x00030005, 0x000A0006, 0x00010010, 0x106,  0x0008010F, 0x190,  0x1FF,
        0x3FF, 0x4007,     0x4094,     0x402,      0x8000,     0xC000, 0x123,      0x4090, 0x4033};
    for (unsigned i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        check_unknown(unknown[i], 0);
    }
    check_unknown(0x4007, 0x80000000); // which stands for "never set"
    check_unknown(0x4094, 0x80000000);
    words[0] = 0x4000;
    CHECK_EQ(ethosu_ext_verify(words, 4, U55, size, 2, NULL, &fault), ETHOSU_EXT_E_COMMAND_CUT);
    words[0] = 0x012;
    CHECK_EQ(ethosu_ext_verify(words, 4, U55, size, 2, NULL, &fault), ETHOSU_EXT_E_COMMAND_NO_STOP);
    CHECK_EQ(ethosu_ext_verify(words, 0, U55, size, 2, NULL, NULL), ETHOSU_EXT_E_COMMAND_NO_STOP);
    words[0] = 0;
    CHECK_EQ(ethosu_ext_verify(words, 4, 0x30000119, size, 2, NULL, &fault), ETHOSU_EXT_E_NO_NPU);
}

TEST(what_stands_behind_the_stop_does_not_matter)
{
    words[0] = 0;
    words[1] = 0xFFFFFFFF;
    CHECK_EQ(ethosu_ext_verify(words, 8, U55, size, 0, NULL, NULL), 0);
}
