// SPDX-License-Identifier: MIT
/**
 * Describes bundles: a program, and inputs and expected outputs of its methods; see
 * ethosu_describe.h. Field numbers: schema/bundled_program_schema.fbs of pytorch/executorch 1.5.
 */
#include "executorch/describe/program_reader.h"

#include "runtime/file/checked.h"
#include "executorch/build/program_builder.h"

static const struct fb_field bundle_fields[] = {FB_WORDS(1), FB_END}; // suites
static const struct fb_field suite_fields[] = {FB_BYTES(0), FB_WORDS(1), FB_END};
struct suite_table {
    struct fb_vector method; /**< its name */
    struct fb_vector cases;
};

static const struct fb_field case_fields[] = {FB_WORDS(0), FB_WORDS(1), FB_END};

/** Minimum size of a case: a table and a place in a vector, unless listed twice. */
#define MIN_CASE_BYTES 8u

/** Kinds of values. */
enum bundle_value { BUNDLE_TENSOR = 1, BUNDLE_INT, BUNDLE_BOOL, BUNDLE_DOUBLE };

static const struct fb_field tensor_fields[] = {
    FB_BYTE(0), FB_WORDS(1), FB_BYTES(2), FB_BYTES(3), FB_END,
};
struct tensor_table {
    uint32_t type;
    struct fb_vector sizes;
    struct fb_vector data;
    struct fb_vector order; /**< of the dimensions, from outermost to innermost */
};

/** Find the suite that contains case `*index`, and set `*index` to the case's number in it. */
static int find_suite(struct ethosu_description *description, uint32_t *index,
                      struct suite_table *suite, struct ethosu_model_error *error)
{
    struct program_reader *reader = program_reader_of(description);
    struct flatbuffer *fb = &reader->bundle;
    for (uint32_t i = 0; i < reader->suites.count; i++) {
        TRY(describe_take(description, 1, error));
        fb_read(fb, fb_element(fb, &reader->suites, i), suite_fields, suite);
        if (fb->bad) {
            return describe_damage(fb, error);
        }
        if (*index < suite->cases.count) {
            return ETHOSU_MODEL_OK;
        }
        *index -= suite->cases.count;
    }
    return error_set(error, ETHOSU_MODEL_BAD_FILE, "no such case");
}

int ethosu_describe_case(struct ethosu_description *description, uint32_t index,
                         struct ethosu_describe_case *bundled, struct ethosu_model_error *error)
{
    struct program_reader *reader = program_reader_of(description);
    struct flatbuffer *fb = &reader->bundle;
    struct suite_table suite;
    TRY(find_suite(description, &index, &suite, error));
    fb_read(fb, fb_element(fb, &suite.cases, index), case_fields, reader->ends);
    *bundled = (struct ethosu_describe_case){
        .method = {fb->data + suite.method.position, suite.method.count},
        .inputs = reader->ends[0].count,
        .outputs = reader->ends[1].count,
    };
    return fb->bad ? describe_damage(fb, error)
                   : describe_take(description, 1 + suite.method.count / sizeof(uint32_t), error);
}

/** Is it an order of `rank` dimensions? */
static bool is_order(const uint8_t *order, uint32_t rank)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rank; i++) {
        seen |= order[i] < rank ? 1u << order[i] : 0;
    }
    return seen == (1u << rank) - 1;
}

static int get_tensor(struct ethosu_description *description, uint32_t position,
                      struct ethosu_describe_value *value, struct ethosu_model_error *error)
{
    struct flatbuffer *fb = &program_reader_of(description)->bundle;
    struct ethosu_model_tensor *tensor = &value->tensor;
    struct tensor_table table;
    fb_read(fb, position, tensor_fields, &table);
    const uint8_t *order = fb->data + table.order.position;
    if (fb->bad) {
        return describe_damage(fb, error);
    }
    if (table.type >= PROGRAM_TENSOR_TYPES || program_tensor_types[table.type] == 0) {
        return error_set(error, ETHOSU_MODEL_UNSUPPORTED, "a tensor of a case has type %u",
                         (unsigned)table.type);
    }
    tensor->type = program_tensor_types[table.type] - 1u;
    tensor->rank = table.sizes.count;
    tensor->size = ethosu_model_type_size(tensor->type);
    bool right = tensor->rank <= ETHOSU_MODEL_MAX_RANK && table.order.count == tensor->rank &&
                 is_order(order, tensor->rank);
    for (uint32_t i = 0; right && i < tensor->rank; i++) {
        int32_t size = (int32_t)fb_known_u32(fb, table.sizes.position + 4 * (uint32_t)order[i]);
        tensor->shape[i] = size;
        tensor->order[i] = order[i];
        right = size >= 0 && checked_mul(tensor->size, size, &tensor->size);
    }
    if (!right || tensor->size != table.data.count) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "a tensor of a case has %u bytes in %u dimensions: sizes, order and data "
                         "contradict",
                         (unsigned)table.data.count, (unsigned)tensor->rank);
    }
    tensor->name = "";
    value->kind = ETHOSU_KIND_TENSOR;
    value->data = (struct ethosu_describe_bytes){fb->data + table.data.position, table.data.count};
    return describe_take(description, table.data.count / sizeof(uint32_t), error);
}

int ethosu_describe_case_value(struct ethosu_description *description, bool is_output,
                               uint32_t number, struct ethosu_describe_value *value,
                               struct ethosu_model_error *error)
{
    static const uint8_t kinds[] = {
        [BUNDLE_INT] = ETHOSU_KIND_INT,
        [BUNDLE_BOOL] = ETHOSU_KIND_BOOL,
        [BUNDLE_DOUBLE] = ETHOSU_KIND_DOUBLE,
    };
    static const struct fb_field byte_field[] = {FB_BYTE(0), FB_END};
    static const struct fb_field long_field[] = {FB_LONG(0), FB_END};
    struct program_reader *reader = program_reader_of(description);
    struct flatbuffer *fb = &reader->bundle;
    struct fb_long bits = {0};
    memset(value, 0, sizeof *value);
    value->offset = -1;
    TRY(describe_take(description, 1, error));
    struct fb_union member = fb_union_at(fb, &reader->ends[is_output], number);
    if (!fb->bad && member.type == BUNDLE_TENSOR && member.table != 0) {
        return get_tensor(description, member.table, value, error);
    }
    if (!fb->bad && (member.table == 0 || member.type >= sizeof kinds || kinds[member.type] == 0)) {
        return error_set(error, ETHOSU_MODEL_UNSUPPORTED, "a value of a case has type %u",
                         (unsigned)member.type);
    }
    fb_read(fb, member.table, member.type == BUNDLE_BOOL ? byte_field : long_field, &bits);
    if (fb->bad) {
        return describe_damage(fb, error);
    }
    value->kind = kinds[member.type];
    value->integer = (int64_t)fb_long_value(bits);
    memcpy(&value->real, &value->integer, sizeof value->real);
    return ETHOSU_MODEL_OK;
}

static int read_suites(struct ethosu_description *description, const void *file, uint32_t size,
                       struct ethosu_model_error *error)
{
    struct program_reader *reader = program_reader_of(description);
    struct flatbuffer *fb = &reader->bundle;
    struct suite_table suite;
    *fb = (struct flatbuffer){.data = file, .size = size};
    fb_read(fb, fb_follow(fb, 0), bundle_fields, &reader->suites);
    TRY(describe_take(description, reader->suites.count, error));
    for (uint32_t i = 0; i < reader->suites.count && !fb->bad; i++) {
        fb_read(fb, fb_element(fb, &reader->suites, i), suite_fields, &suite);
        uint32_t cases = description->cases;
        if (!checked_add(cases, suite.cases.count, &description->cases)) {
            return error_set(error, ETHOSU_MODEL_BAD_FILE, "it has more than 2^32 cases");
        }
    }
    if (fb->bad) {
        return describe_damage(fb, error);
    }
    if (description->cases > size / MIN_CASE_BYTES) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "it lists %u cases, more than fit into its %u bytes",
                         (unsigned)description->cases, (unsigned)size);
    }
    return ETHOSU_MODEL_OK;
}

int ethosu_describe_cases(const void *file, size_t size, struct ethosu_description *description,
                          struct ethosu_model_error *error)
{
    describe_start(description, file, size);
    return read_suites(description, file, (uint32_t)size, error);
}

int describe_open_bundle(struct ethosu_description *description, const void *file, uint32_t size,
                         struct ethosu_model_error *error)
{
    struct program_reader *reader = program_reader_of(description);
    TRY(read_suites(description, file, size, error));
    TRY(describe_open_program(description, file, size, error));
    description->program =
        (struct ethosu_describe_bytes){reader->program.file, reader->program.file_size};
    return ETHOSU_MODEL_OK;
}
