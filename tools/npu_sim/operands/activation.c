// SPDX-License-Identifier: MIT
/** The ACTIVATION registers: function, table and clamp of the output stage. */
#include <inttypes.h>

#include "arithmetic/lut.h"
#include "core/npu_internal.h"
#include "operands/output.h"

enum {
    SLOT_BYTES = 256, /**< of the table slots of U55 and U65 */
    FUNCTION_TABLE_FIRST = 16,
};

/** Clip range fields of U55 and U65, and of U85. */
enum { CLIP_OFM = 0, CLIP_UINT8 = 2, CLIP_INT8 = 3, CLIP_INT16 = 5 };
enum { U85_CLIP_NONE = 1 };

/** A function for an OFM of a given width. */
struct function {
    uint8_t first, last; /**< codes: U55 and U65 have one for each table slot */
    uint8_t ofm_bits;
    const struct npu_table_form *form; /**< NULL if it has no table */
    npu_curve_t *curve;                /**< NULL: the clamped value indexes the table */
};

static const struct function old_functions[] = {
    {3, 3, 16, NULL, npu_tanh},
    {4, 4, 16, NULL, npu_sigmoid},
    {FUNCTION_TABLE_FIRST, 23, 8, &npu_table_8_to_8, NULL},
    {FUNCTION_TABLE_FIRST, 23, 16, &npu_table_16_to_16, NULL},
    {FUNCTION_TABLE_FIRST, 23, 32, &npu_table_8_to_32, NULL},
    {0},
};

static const struct function u85_functions[] = {
    {1, 1, 8, &npu_table_8_to_8, NULL},
    {4, 4, 8, &npu_table_8_to_8, NULL},
    {5, 5, 16, &npu_table_8_to_16, NULL},
    {7, 7, 32, &npu_table_8_to_32, NULL},
    {8, 8, 16, &npu_table_16_to_16, NULL},
    {9, 9, 32, &npu_table_16_to_32, NULL},
    {10, 10, 16, &npu_table_16_to_16, npu_tanh_of_table},
    {11, 11, 16, &npu_table_16_to_16, npu_sigmoid_of_table},
    {0},
};

enum { U85_FUNCTION_UNSIGNED = 1 };

/** Raw register values. */
struct activation {
    uint32_t function, table, clip;
    bool is_signed; /**< signedness of the clamped values */
};

/** Range of a signed or unsigned integer type. */
struct range {
    int64_t low, high;
};

/** Rules that differ between families. */
struct rules {
    const struct function *functions;
    bool numbered_tables; /**< ACTIVATION.table is the slot; else each function code has its own */
    bool (*signed_values)(const struct npu_output *output, const struct activation *from);
    /** Set minimum, maximum and `wraps` from the range of the registers and of the result. */
    bool (*decode_clamp)(struct npu *npu, struct npu_output *output, const struct activation *from,
                         struct range registers, struct range result);
};

static const struct rules *rules_of(const struct npu *npu);

static bool decode_table(struct npu *npu, struct npu_output *output, const struct activation *from)
{
    unsigned bytes = output->form->bytes;
    unsigned start = rules_of(npu)->numbered_tables
                         ? from->table * bytes
                         : (from->function - FUNCTION_TABLE_FIRST) * SLOT_BYTES;
    if (start % bytes != 0 || start + bytes > NPU_LUT_BYTES) {
        return npu_fail(npu, NPU_FAULT_PARSE, "uses table memory at %u for a table of %u bytes",
                        start, bytes);
    }
    uint32_t unfilled = npu_tables_unfilled(npu, start, start + bytes);
    if (unfilled < start + bytes) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "uses a table at %u: no DMA of this job has filled byte %" PRIu32 " of it",
                        start, unfilled - start);
    }
    output->table = npu->lut + start;
    return true;
}

static bool decode_function(struct npu *npu, struct npu_output *output,
                            const struct activation *from)
{
    const struct function *row = rules_of(npu)->functions;
    unsigned bits = output->map.bits;
    if (from->function == 0) {
        return true;
    }
    while (row->last != 0 &&
           (from->function < row->first || from->function > row->last || row->ofm_bits != bits)) {
        row++;
    }
    if (row->last == 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has activation function %u with a %u-bit OFM",
                        (unsigned)from->function, bits);
    }
    output->activation = row->curve != NULL ? NPU_ACTIVATION_CURVE : NPU_ACTIVATION_TABLE;
    output->form = row->form;
    output->curve = row->curve;
    return row->form == NULL || decode_table(npu, output, from);
}

static struct range type_range(unsigned bits, bool is_signed)
{
    int64_t count = (int64_t)((uint64_t)1 << (bits - 1));
    return is_signed ? (struct range){-count, count - 1} : (struct range){0, 2 * count - 1};
}

/** Values that can be stored or can index the table. */
static struct range result_range(const struct npu_output *output, bool is_signed)
{
    if (output->map.bits == 64) {
        return (struct range){INT64_MIN, INT64_MAX};
    }
    bool table = output->activation == NPU_ACTIVATION_TABLE;
    return type_range(table ? output->form->index_bits : output->map.bits, is_signed);
}

/** Type selected by the clip range field of U55 and U65; low > high if invalid. */
static struct range clip_range(const struct npu_output *output, unsigned clip)
{
    switch (clip) {
    case CLIP_OFM:
        return type_range(output->map.bits, output->map.is_signed);
    case CLIP_UINT8:
        return type_range(8, false);
    case CLIP_INT8:
        return type_range(8, true);
    case CLIP_INT16:
        return type_range(16, true);
    default:
        return (struct range){1, 0};
    }
}

/**
 * U55 and U65: the 16-bit registers do not limit 32-bit elements, which are clamped to their type.
 */
static bool clamp_to_type(struct npu *npu, struct npu_output *output, const struct activation *from,
                          struct range registers, struct range result)
{
    (void)result;
    struct range type = clip_range(output, from->clip);
    bool table = output->activation == NPU_ACTIVATION_TABLE;
    if (type.low > type.high) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has activation clip range %u", (unsigned)from->clip);
    }
    if (from->clip == CLIP_OFM && output->map.bits == 32 && !table) {
        registers = type;
    }
    output->minimum = npu_clamp(registers.low, type.low, type.high);
    output->maximum = npu_clamp(registers.high, type.low, type.high);
    return true;
}

/** U85: clamp by the registers, or not at all. */
static bool clamp_or_wrap(struct npu *npu, struct npu_output *output, const struct activation *from,
                          struct range registers, struct range result)
{
    (void)npu;
    if (from->clip == U85_CLIP_NONE) {
        output->wraps = output->activation != NPU_ACTIVATION_CURVE;
        registers = result;
    }
    output->minimum = npu_clamp(registers.low, result.low, result.high);
    output->maximum = npu_clamp(registers.high, result.low, result.high);
    return true;
}

static bool signed_unless_uint8(const struct npu_output *output, const struct activation *from)
{
    return output->map.is_signed && from->clip != CLIP_UINT8;
}

static bool signed_by_function(const struct npu_output *output, const struct activation *from)
{
    bool table = output->activation == NPU_ACTIVATION_TABLE;
    return table ? from->function != U85_FUNCTION_UNSIGNED : output->map.is_signed;
}

static const struct rules *rules_of(const struct npu *npu)
{
    static const struct rules old = {old_functions, false, signed_unless_uint8, clamp_to_type};
    static const struct rules u85 = {u85_functions, true, signed_by_function, clamp_or_wrap};
    static const struct rules *const rules[NPU_FAMILIES] = {
        [NPU_U55] = &old, [NPU_U65] = &old, [NPU_U85] = &u85};
    return rules[npu->product->family->index];
}

/** The table must have an entry for each value within the clamp. */
static bool check_table_covers(struct npu *npu, const struct npu_output *output,
                               const struct activation *from, struct range entries)
{
    bool known_sign = output->form->index_bits == 8 || from->is_signed;
    if (known_sign && output->minimum >= entries.low && output->maximum <= entries.high) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE,
                    "clamps to %" PRId64 "..%" PRId64 ", which its table does not cover",
                    output->minimum, output->maximum);
}

/** Range of the values before they are stored, or before they index a table. */
static bool decode_clamp(struct npu *npu, struct npu_output *output, const struct activation *from)
{
    uint64_t low, high;
    if (!npu_get(npu, NPU_SET_ACTIVATION_MIN, &low) ||
        !npu_get(npu, NPU_SET_ACTIVATION_MAX, &high)) {
        return false;
    }
    struct range result = result_range(output, from->is_signed);
    struct range registers = {(uint16_t)low, (uint16_t)high};
    if (output->map.is_signed) {
        registers = (struct range){(int16_t)low, (int16_t)high};
    }
    if (!rules_of(npu)->decode_clamp(npu, output, from, registers, result)) {
        return false;
    }
    if (output->minimum > output->maximum) {
        return npu_fail(npu, NPU_FAULT_PARSE, "clamps to %" PRId64 "..%" PRId64, output->minimum,
                        output->maximum);
    }
    if (output->activation != NPU_ACTIVATION_TABLE) {
        return true;
    }
    output->table_origin = result.low;
    return check_table_covers(npu, output, from, result);
}

bool npu_decode_activation(struct npu *npu, struct npu_output *output)
{
    struct activation from;
    if (!npu_get_field(npu, NPU_FIELD_ACTIVATION_FUNCTION, &from.function) ||
        !npu_get_field(npu, NPU_FIELD_ACTIVATION_TABLE, &from.table) ||
        !npu_get_field(npu, NPU_FIELD_ACTIVATION_CLIP, &from.clip) ||
        !decode_function(npu, output, &from)) {
        return false;
    }
    from.is_signed = rules_of(npu)->signed_values(output, &from);
    return decode_clamp(npu, output, &from);
}
