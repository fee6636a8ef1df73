// SPDX-License-Identifier: MIT
/**
 * Layout adjustment of outputs: bounds are checked before the first byte, and each chunk goes
 * through the hook.
 */
#include "arm_ethos_io_memcpy.h"
#include "check.h"
#include "ethosu_ext.h"
#include "ethosu_layout.h"

static unsigned copies;
static size_t copied;

/** Overrides the weak default. */
void arm_ethos_io_memcpy(void *dst, const void *src, size_t size)
{
    copies++;
    copied += size;
    memcpy(dst, src, size);
}

static uint8_t *source, *tensor;
static struct ethosu_ext_layout layout;

/** Buffers of exactly these sizes, so that ASan detects accesses beyond them. */
static void buffers(size_t source_bytes, size_t tensor_bytes, const uint32_t shape[6])
{
    source = malloc(source_bytes);
    tensor = malloc(tensor_bytes);
    for (size_t i = 0; i < source_bytes; i++) {
        source[i] = (uint8_t)(i * 7 + 1);
    }
    memset(tensor, 0xEE, tensor_bytes);
    layout = (struct ethosu_ext_layout){
        .tensor = tensor,
        .tensor_bytes = tensor_bytes,
        .tensor_element = 1,
        .source = source,
        .source_bytes = source_bytes,
        .element = 1,
    };
    memcpy(layout.shape, shape, sizeof layout.shape);
}

static void check_refused(int code)
{
    struct ethosu_ext_fault fault = {0};
    CHECK_EQ(ethosu_ext_adjust_layout(&layout, &fault), code);
    CHECK_EQ(fault.code, code);
    CHECK_EQ(copies, 0);
    for (size_t i = 0; layout.tensor != NULL && i < layout.tensor_bytes; i++) {
        CHECK_EQ(((uint8_t *)layout.tensor)[i], 0xEE);
    }
}

TEST(padding_of_rows_is_stripped_chunk_by_chunk)
{
    buffers(2 * 16 + 10, 30, (uint32_t[6]){1, 0, 1, 1, 3, 16}); // the last row ends with its data
    CHECK_EQ(ethosu_ext_adjust_layout(&layout, NULL), 0);
    CHECK_EQ(copies, 3);
    CHECK_EQ(copied, 30);
    for (unsigned row = 0; row < 3; row++) {
        CHECK(memcmp(tensor + 10 * row, source + 16 * row, 10) == 0);
    }
}

TEST(equal_layouts_are_one_copy_and_the_same_memory_is_none)
{
    buffers(64, 64, (uint32_t[6]){1, 1, 1, 2, 2, 8});
    layout.element = 2;
    CHECK_EQ(ethosu_ext_adjust_layout(&layout, NULL), 0);
    CHECK_EQ(copies, 1);
    CHECK(memcmp(tensor, source, 64) == 0);
    layout.tensor = source;
    CHECK_EQ(ethosu_ext_adjust_layout(&layout, NULL), 0);
    CHECK_EQ(copies, 1);
}

TEST(pairs_of_four_bits_are_unpacked_low_half_first_with_sign)
{
    buffers(4, 8, (uint32_t[6]){1, 1, 1, 1, 2, 2});
    memcpy(source, (uint8_t[4]){0x7F, 0x08, 0x90, 0xE1}, 4);
    CHECK_EQ(ethosu_ext_adjust_layout(&layout, NULL), 0);
    const int8_t expected[8] = {-1, 7, -8, 0, 0, -7, 1, -2};
    CHECK(memcmp(tensor, expected, 8) == 0);
    CHECK_EQ(copies, 0);
}

TEST(null_and_zero_are_refused)
{
    buffers(16, 16, (uint32_t[6]){[5] = 16});
    const struct ethosu_ext_layout good = layout;
    for (unsigned i = 0; i < 6; i++) {
        layout = good;
        layout.tensor = i == 0 ? NULL : layout.tensor;
        layout.source = i == 1 ? NULL : layout.source;
        layout.tensor_bytes *= i != 2;
        layout.source_bytes *= i != 3;
        layout.element *= i != 4;
        layout.tensor_element *= i != 5;
        check_refused(ETHOSU_EXT_E_LAYOUT_ARGUMENT);
    }
}

TEST(sizes_that_do_not_divide_are_rejected)
{
    buffers(48, 31, (uint32_t[6]){1, 1, 1, 1, 3, 16});
    check_refused(ETHOSU_EXT_E_LAYOUT_SPLIT);
    memcpy(layout.shape, (uint32_t[6]){~0u, ~0u, ~0u, ~0u, ~0u, 16}, sizeof layout.shape);
    check_refused(ETHOSU_EXT_E_LAYOUT_SPLIT);
}

TEST(a_source_that_is_too_short_is_refused)
{
    buffers(2 * 16 + 9, 30, (uint32_t[6]){1, 1, 1, 1, 3, 16});
    check_refused(ETHOSU_EXT_E_LAYOUT_BOUNDS);
    layout.shape[5] = 32;
    check_refused(ETHOSU_EXT_E_LAYOUT_BOUNDS);
    layout.shape[5] = ~0u;
    layout.element = ~0u;
    check_refused(ETHOSU_EXT_E_LAYOUT_BOUNDS);
}

TEST(expanding_by_anything_but_two_of_one_byte_is_refused)
{
    buffers(16, 48, (uint32_t[6]){1, 1, 1, 1, 1, 16});
    check_refused(ETHOSU_EXT_E_LAYOUT_EXPAND); // three times
    layout.tensor_bytes = 33;
    check_refused(ETHOSU_EXT_E_LAYOUT_EXPAND);
    layout.tensor_bytes = 32;
    layout.tensor_element = 2;
    check_refused(ETHOSU_EXT_E_LAYOUT_EXPAND);
    layout.tensor_element = 1;
    layout.element = 2;
    layout.shape[5] = 8;
    check_refused(ETHOSU_EXT_E_LAYOUT_EXPAND);
}

TEST(overlap_is_refused)
{
    buffers(64, 64, (uint32_t[6]){1, 1, 1, 1, 3, 16});
    memset(source, 0xEE, 64);
    layout.tensor = source + 16;
    layout.tensor_bytes = 30;
    check_refused(ETHOSU_EXT_E_LAYOUT_OVERLAP);
    layout.source = source + 20;
    layout.source_bytes = 44;
    check_refused(ETHOSU_EXT_E_LAYOUT_OVERLAP);
    layout.tensor = source;
    layout.source = source;
    check_refused(ETHOSU_EXT_E_LAYOUT_OVERLAP);
}

TEST(rows_larger_than_any_memory_are_rejected)
{
    buffers(64, 64, (uint32_t[6]){1, 1, 1, 1, 2, UINT32_MAX});
    layout.element = 4;
    check_refused(ETHOSU_EXT_E_LAYOUT_BOUNDS);
}

TEST(a_check_alone_copies_nothing)
{
    buffers(64, 64, (uint32_t[6]){1, 1, 1, 2, 2, 16});
    layout.check_only = true;
    CHECK_EQ(ethosu_ext_adjust_layout(&layout, NULL), 0);
    CHECK_EQ(copies, 0);
    CHECK_EQ(tensor[0], 0xEE);
    layout.shape[0] = 3;
    check_refused(ETHOSU_EXT_E_LAYOUT_SPLIT);
}
