// SPDX-License-Identifier: MIT
/**
 * SOFTMAX: int8 and uint8 (to the same type or int16) in gemmlowp's fixed point, int16 with tables.
 *
 * The exponentials of a row are stored (in scratch, or for int16 in the output)
 * because they are used twice: for their sum, and for the division by it.
 */
#include "runtime/kernels/element/softmax.h"
#include "driver/base/ethosu_count.h"

#include "runtime/kernels/shared/real.h"

/** Field of the options. */
enum { OPTION_BETA = 0 };

/** Steps of a table over all 16-bit inputs: one per 128 inputs, plus one entry for the end. */
enum { TABLE_STEPS = 512 };

/** int8 stores the exponentials of a row. */
static uint32_t softmax_scratch(const struct kernel_call *call)
{
    const struct softmax *p = (const struct softmax *)call;
    return p->wide_input ? 0 : kernel_bytes((uint32_t)p->depth, sizeof(int32_t));
}

/* ---- exp and reciprocal in fixed point; Qn numbers have n integer bits ---- */

/** exp(x), x from -1/4 to 0 in Q0: a series of fourth order around -1/8. */
static int32_t exp_of_quarter(int32_t value)
{
    const int32_t exp_of_minus_eighth = 1895147668;
    const int32_t third = 715827883;
    int32_t x = value + (1 << 28);
    int32_t x2 = fixed_high_mul(x, x);
    int32_t x3 = fixed_high_mul(x2, x);
    int32_t x4 = fixed_high_mul(x2, x2);
    int32_t high = fixed_high_mul(fixed_divide_pot(x4, 2) + x3, third) + x2;
    int32_t series = x + fixed_divide_pot(high, 1);
    return exp_of_minus_eighth + fixed_high_mul(exp_of_minus_eighth, series);
}

/** exp(x) in Q0, x at most 0 in Q5; whole quarters are factors from a table. */
static int32_t exp_of_negative(int32_t x)
{
    static const int32_t factors[] = {
        // exp(-2^n), n from -2 to 4
        1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242,
    };
    const int32_t quarter = 1 << 24;
    if (x == 0) {
        return INT32_MAX;
    }
    int32_t rest = (x & (quarter - 1)) - quarter;
    int32_t quarters = rest - x;
    int32_t result = exp_of_quarter(fixed_shift_left(rest, 5));
    for (uint32_t i = 0; i < COUNT(factors); i++) {
        if (((uint32_t)quarters >> (24 + i) & 1) != 0) {
            result = fixed_high_mul(result, factors[i]);
        }
    }
    return result;
}

/** 1 / (1 + x), x from 0 to 1 in Q0: Newton's method. */
static int32_t reciprocal(int32_t value)
{
    int32_t half = (int32_t)(((int64_t)value + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + fixed_high_mul(half, -1010580540); // 48/17 - 32/17 half, in Q2
    for (int i = 0; i < 3; i++) {
        int32_t error = (1 << 29) - fixed_high_mul(half, x);
        x += fixed_saturating_shift(fixed_high_mul(x, error), 2);
    }
    return fixed_saturating_shift(x, 1);
}

static int32_t leading_zeros(uint32_t value)
{
    return value == 0 ? 32 : __builtin_clz(value);
}

/* ---- int8 and uint8 ---- */

static int32_t element(const struct softmax *p, const uint8_t *row, int32_t i)
{
    return (int8_t)(row[i] ^ p->flip);
}

static int32_t largest_of(const struct softmax *p, const uint8_t *row)
{
    int32_t largest = INT8_MIN;
    KERNEL_BLOCKS(&p->call, first, end, p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            largest = fixed_max(largest, element(p, row, i));
        }
    }
    return largest;
}

/** Exponentials of a row, -1 for those that count as 0; returns their sum in Q12. */
static int32_t exponentials(const struct softmax *p, const uint8_t *row, int32_t *exponential)
{
    int32_t largest = largest_of(p, row);
    int64_t sum = 0;
    KERNEL_BLOCKS(&p->call, first, end, p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            int32_t difference = element(p, row, i) - largest;
            exponential[i] = -1;
            if (difference >= p->min_difference) {
                int32_t x = fixed_shift_left(difference, p->scale.shift);
                exponential[i] = exp_of_negative(fixed_high_mul(x, p->scale.multiplier));
                sum += fixed_divide_pot(exponential[i], 12);
            }
        }
    }
    return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}

static void put_share(const struct softmax *p, int32_t at, int32_t value)
{
    int32_t low = p->wide_output ? INT16_MIN : INT8_MIN;
    value = fixed_clamp(value, low, -1 - low);
    if (p->wide_output) {
        ((int16_t *)p->output)[at] = (int16_t)value;
    } else {
        ((uint8_t *)p->output)[at] = (uint8_t)value ^ p->flip;
    }
}

static void run_row(const struct softmax *p, int32_t row)
{
    int32_t *exponential = p->call.scratch;
    int32_t start = row * p->depth;
    int32_t sum = exponentials(p, (const uint8_t *)p->input + start, exponential);
    if (kernel_is_stopped(&p->call)) {
        return; // the sum may be 0
    }
    int32_t zeros = leading_zeros((uint32_t)sum);
    int32_t scale = reciprocal((int32_t)(((uint32_t)sum << zeros) - (1u << 31)));
    int32_t bits = p->wide_output ? 16 : 8;
    int32_t low = p->wide_output ? INT16_MIN : INT8_MIN;
    // With a sum of 512 or more, every share rounds to 0, and the shift would be too large.
    int32_t exponent = 12 - zeros + 31 - bits;
    KERNEL_BLOCKS(&p->call, first, end, p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            int32_t value = low;
            if (exponential[i] >= 0 && exponent <= 31) {
                int32_t share = fixed_high_mul(scale, exponential[i]);
                value += fixed_divide_pot(share, exponent);
            }
            put_share(p, start + i, value);
        }
    }
}

/* ---- int16 ---- */

static int32_t look_up(const int16_t *table, int32_t value)
{
    int32_t index = 256 + (value >> 7);
    int32_t slope = (int16_t)(table[index + 1] - table[index]);
    return (int16_t)(table[index] + ((slope * (value & 0x7F) + 64) >> 7));
}

/** Exponentials of a row; returns their sum. */
static int64_t wide_exponentials(const struct softmax *p, const int16_t *input, int16_t *output)
{
    int32_t largest = INT16_MIN;
    int64_t sum = 0;
    KERNEL_BLOCKS(&p->call, first, end, p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            largest = fixed_max(largest, input[i]);
        }
    }
    KERNEL_BLOCKS(&p->call, first, end, p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            int32_t position = fixed_add(fixed_rescale(input[i] - largest, p->scale), INT16_MAX);
            output[i] = (int16_t)look_up(p->exp_table, fixed_clamp(position, INT16_MIN, INT16_MAX));
            sum += output[i];
        }
    }
    return sum > INT32_MAX ? INT32_MAX : sum;
}

static void run_wide_row(const struct softmax *p, int32_t row)
{
    const int16_t *input = (const int16_t *)p->input + row * p->depth;
    int16_t *output = (int16_t *)p->output + row * p->depth;
    int64_t sum = wide_exponentials(p, input, output);
    if (kernel_is_stopped(&p->call)) {
        return; // the sum may be 0
    }
    int32_t zeros = leading_zeros((uint32_t)sum);
    int32_t shifted = (int32_t)(((sum << (zeros - 1)) + (1 << 13)) >> 14);
    int32_t position = fixed_clamp(shifted - (1 << 15) - (1 << 16), INT16_MIN, INT16_MAX);
    int64_t scale = look_up(p->reciprocal_table, position);
    int32_t shift = 31 - zeros;
    KERNEL_BLOCKS(&p->call, first, end, p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            int64_t share = (output[i] * scale + (shift > 0 ? 1 << (shift - 1) : 0)) >> shift;
            output[i] = (int16_t)fixed_clamp((int32_t)share, 0, INT16_MAX);
        }
    }
}

static int run_softmax(const struct kernel_call *call)
{
    const struct softmax *p = (const struct softmax *)call;
    for (int32_t row = 0; row < p->rows && !kernel_is_stopped(call); row++) {
        if (p->wide_input) {
            run_wide_row(p, row);
        } else {
            run_row(p, row);
        }
    }
    return ETHOSU_MODEL_OK;
}

/* ---- preparing ---- */

static double reciprocal_of_more(double x)
{
    return 1 / (1 + x);
}

/** Fill TensorFlow Lite's interpolation table of a function from `low` to `high`. */
static void fill_table(int16_t *table, double (*function)(double), double low, double high)
{
    enum { UNIT = 65536 / 2 };
    double step = (high - low) / TABLE_STEPS;
    for (int i = 0; i < TABLE_STEPS; i++) {
        int32_t here = real_round(function(low + i * step) * UNIT);
        double next = function(low + (i + 1) * step) * UNIT;
        int32_t middle = real_round(function(low + i * step + step / 2) * UNIT);
        int32_t error = real_round((next + here) / 2) - middle;
        int32_t value = here - real_round((double)error / 2);
        table[i] = (int16_t)fixed_clamp(value, INT16_MIN, INT16_MAX);
    }
    int32_t last = real_round(function(high) * UNIT);
    table[TABLE_STEPS] = (int16_t)fixed_clamp(last, INT16_MIN, INT16_MAX);
}

static int prepare_tables(struct builder *builder, struct softmax *p)
{
    void *memory;
    TRY(kernel_table(builder, 2 * (TABLE_STEPS + 1), sizeof(int16_t), &memory));
    int16_t *table = memory;
    if (table != NULL) {
        fill_table(table, real_exp, -10, 0);
        fill_table(table + TABLE_STEPS + 1, reciprocal_of_more, 0, 1);
        p->exp_table = table;
        p->reciprocal_table = table + TABLE_STEPS + 1;
    }
    return ETHOSU_MODEL_OK;
}

/** int8: the scale of differences in Q5, and the lowest difference that counts. */
static int prepare_narrow(struct builder *builder, double factor, struct softmax *p)
{
    factor *= 1 << 26;
    TRY(need_rescale(builder, factor < INT32_MAX ? factor : INT32_MAX, &p->scale));
    if (p->scale.shift < 1) {
        return kernel_unsupported(builder, "input scale times beta is too small");
    }
    p->min_difference = softmax_min_difference(p->scale.shift);
    return ETHOSU_MODEL_OK;
}

static int check(struct builder *builder, const struct kernel_tensor *in,
                 const struct kernel_tensor *out)
{
    // From 8 bits to int16 the reference ignores the output's scale and zero point.
    bool widens = in->element_size == 1 && out->type == ETHOSU_TYPE_INT16;
    TRY(need_quantized(builder, in));
    if (!widens) {
        TRY(need_quantized(builder, out));
    }
    if (!widens && in->type != out->type) {
        return kernel_bad_type(builder);
    }
    return in->count == out->count && in->rank > 0
               ? ETHOSU_MODEL_OK
               : kernel_bad(builder, "input and output differ in number of elements");
}

static int prepare_softmax(struct builder *builder, const struct tflite_operator_call *call,
                           const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    float beta = kernel_option_float(builder, call, OPTION_BETA, 0.0F);
    TRY(kernel_tensors(builder, call, &in, 1, &out, 1));
    TRY(check(builder, &in, &out));
    struct softmax p = {
        .input = in.data,
        .output = out.data,
        .depth = in.shape[in.rank - 1],
        .rows = in.count / in.shape[in.rank - 1],
        .flip = in.type == ETHOSU_TYPE_UINT8 ? 0x80 : 0,
        .wide_input = in.type == ETHOSU_TYPE_INT16,
        .wide_output = out.type == ETHOSU_TYPE_INT16,
    };
    if (p.wide_input) {
        TRY(need_rescale(builder, (double)(in.scale * beta) / ((double)10 / 65535), &p.scale));
        TRY(prepare_tables(builder, &p));
    } else {
        TRY(prepare_narrow(builder, (double)beta * (double)in.scale, &p));
    }
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(SOFTMAX, .prepare = prepare_softmax, .scratch = softmax_scratch, .run = run_softmax);
