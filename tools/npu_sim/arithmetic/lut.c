// SPDX-License-Identifier: MIT
/** Activation functions: tables that the compiler supplies, and the built-in tanh and sigmoid. */
#include <string.h>

#include "arithmetic/lut.h"

enum {
    TABLE_STEPS = 256,
    TANH_BITS = 8, /**< fraction bits of the argument, in units of 1/12288 */
    SIGMOID_BITS = 9,
    SEGMENTS = 512, /**< of a table for 16-bit values */
};

/** 65536 * sigmoid(i / 24), including the deviations of TFLite's table. */
// clang-format off
static const uint16_t sigmoid_table[TABLE_STEPS] = {
    32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513,
    38180, 38841, 39498, 40149, 40794, 41432, 42064, 42688,
    43304, 43912, 44511, 45102, 45683, 46255, 46817, 47369,
    47911, 48443, 48964, 49475, 49975, 50464, 50942, 51409,
    51865, 52311, 52745, 53169, 53581, 53983, 54374, 54755,
    55125, 55485, 55834, 56174, 56503, 56823, 57133, 57433,
    57724, 58007, 58280, 58544, 58800, 59048, 59288, 59519,
    59743, 59959, 60168, 60370, 60565, 60753, 60935, 61110,
    61279, 61441, 61599, 61750, 61896, 62036, 62172, 62302,
    62428, 62549, 62666, 62778, 62886, 62990, 63090, 63186,
    63279, 63368, 63454, 63536, 63615, 63691, 63765, 63835,
    63903, 63968, 64030, 64090, 64148, 64204, 64257, 64308,
    64357, 64405, 64450, 64494, 64536, 64576, 64614, 64652,
    64687, 64721, 64754, 64786, 64816, 64845, 64873, 64900,
    64926, 64950, 64974, 64997, 65019, 65039, 65060, 65079,
    65097, 65115, 65132, 65149, 65164, 65179, 65194, 65208,
    65221, 65234, 65246, 65258, 65269, 65280, 65291, 65301,
    65310, 65319, 65328, 65337, 65345, 65352, 65360, 65367,
    65374, 65381, 65387, 65393, 65399, 65404, 65410, 65415,
    65420, 65425, 65429, 65433, 65438, 65442, 65445, 65449,
    65453, 65456, 65459, 65462, 65465, 65468, 65471, 65474,
    65476, 65479, 65481, 65483, 65485, 65488, 65489, 65491,
    65493, 65495, 65497, 65498, 65500, 65501, 65503, 65504,
    65505, 65507, 65508, 65509, 65510, 65511, 65512, 65513,
    65514, 65515, 65516, 65517, 65517, 65518, 65519, 65520,
    65520, 65521, 65522, 65522, 65523, 65523, 65524, 65524,
    65525, 65525, 65526, 65526, 65526, 65527, 65527, 65528,
    65528, 65528, 65529, 65529, 65529, 65529, 65530, 65530,
    65530, 65530, 65531, 65531, 65531, 65531, 65531, 65532,
    65532, 65532, 65532, 65532, 65532, 65533, 65533, 65533,
    65533, 65533, 65533, 65533, 65533, 65534, 65534, 65534,
    65534, 65534, 65534, 65534, 65534, 65534, 65534, 65535,
};
// clang-format on

/** 65536 * sigmoid of |value| / 2^bits / 24, times 2^bits, interpolated. */
static int64_t half_sigmoid(uint64_t magnitude, unsigned bits, int64_t limit)
{
    uint64_t step = magnitude >> bits;
    int64_t fraction = (int64_t)(magnitude & ((1u << bits) - 1));
    if (step >= TABLE_STEPS - 1) {
        return limit;
    }
    int64_t low = sigmoid_table[step];
    int64_t high = sigmoid_table[step + 1];
    return (low << bits) + fraction * (high - low);
}

static uint64_t magnitude_of(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

int32_t npu_tanh(const uint8_t *table, int64_t scaled)
{
    (void)table;
    int64_t y = half_sigmoid(magnitude_of(scaled), TANH_BITS, (int64_t)0xFFFF << TANH_BITS);
    int64_t one = (int64_t)1 << 23;
    int64_t half = 1 << 7;
    y = scaled >= 0 ? y - one + half : one - y + half - 1;
    return (int32_t)(y >> 8);
}

int32_t npu_sigmoid(const uint8_t *table, int64_t scaled)
{
    (void)table;
    int64_t y = half_sigmoid(magnitude_of(scaled), SIGMOID_BITS, (int64_t)0x7FFF << 10);
    int64_t one = (int64_t)1 << 25;
    int64_t half = 1 << 9;
    y = scaled >= 0 ? y + half : one - y + half - 1;
    return (int32_t)(y >> 10);
}

/** One of 512 pairs, selected by the integer part of the index. */
struct segment {
    int16_t base, slope;
};

static struct segment segment_of(const uint8_t *table, uint32_t index)
{
    struct segment segment;
    memcpy(&segment, table + index * sizeof segment, sizeof segment);
    return segment;
}

/**
 * The value in 1/2^bits. Segments are selected by sign and magnitude: values beyond the ends are
 * clamped to the outermost segment, and a negative value between two segments belongs to the outer
 * one. With this, Vela's table gives TFLite's results everywhere.
 */
static int64_t interpolate(const uint8_t *table, int64_t scaled, unsigned bits)
{
    int64_t middle = SEGMENTS / 2;
    int64_t largest = middle * ((int64_t)1 << bits) - 1;
    int64_t value = npu_clamp(scaled, -largest, largest);
    int64_t step = (value < 0 ? value - 1 : value) >> bits;
    int64_t fraction = value - step * ((int64_t)1 << bits);
    struct segment segment = segment_of(table, (uint32_t)(step + middle));
    return ((int64_t)segment.base * ((int64_t)1 << bits)) + segment.slope * fraction;
}

int32_t npu_tanh_of_table(const uint8_t *table, int64_t scaled)
{
    int64_t half = 1 << 7;
    int64_t y = interpolate(table, scaled, TANH_BITS);
    return (int32_t)((y + (scaled >= 0 ? half : half - 1)) >> 8);
}

int32_t npu_sigmoid_of_table(const uint8_t *table, int64_t scaled)
{
    int64_t one = (int64_t)1 << 24;
    int64_t half = 1 << 9;
    int64_t y = interpolate(table, scaled, SIGMOID_BITS) + one;
    return (int32_t)((y + (scaled >= 0 ? half : half - 1)) >> 10);
}

static int32_t look_up_8(const uint8_t *table, uint32_t index)
{
    return (int8_t)table[index];
}

static int32_t look_up_16(const uint8_t *table, uint32_t index)
{
    int16_t value;
    memcpy(&value, table + index * sizeof value, sizeof value);
    return value;
}

static int32_t look_up_32(const uint8_t *table, uint32_t index)
{
    int32_t value;
    memcpy(&value, table + index * sizeof value, sizeof value);
    return value;
}

/** Index and result have 7 fraction bits, as in TOSA's TABLE of 16-bit values. */
static int32_t look_up_segment(const uint8_t *table, uint32_t index)
{
    struct segment segment = segment_of(table, index >> 7);
    return segment.base * 128 + segment.slope * (int32_t)(index & 127);
}

static int32_t look_up_segment_rounded(const uint8_t *table, uint32_t index)
{
    return (look_up_segment(table, index) + 64) >> 7;
}

const struct npu_table_form npu_table_8_to_8 = {256, 8, look_up_8};
const struct npu_table_form npu_table_8_to_16 = {512, 8, look_up_16};
const struct npu_table_form npu_table_8_to_32 = {1024, 8, look_up_32};
const struct npu_table_form npu_table_16_to_16 = {2048, 16, look_up_segment_rounded};
const struct npu_table_form npu_table_16_to_32 = {2048, 16, look_up_segment};
