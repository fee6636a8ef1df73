// SPDX-License-Identifier: MIT
/** Describes ExecuTorch programs and their data files; see ethosu_describe.h. */
#include "executorch/describe/program_reader.h"

#include "executorch/build/program_builder.h"
#include "executorch/file/data_file.h"
#include "executorch/format.h"

/** Arguments written by an operator that the runtime does not support: its result, listed twice. */
enum { WRITTEN_BY_UNKNOWN = 2 };

/** Reads for a delegate's data, which has few blocks. */
enum { READS_OF_DELEGATE = 32 };

/** Number of arguments that an operator writes, at the end of its list; 0 if not supported. */
static uint32_t output_count(struct program_bytes name)
{
    static const struct {
        const char *name;
        uint8_t written;
    } rows[] = {
#define PROGRAM_OPERATOR(name, written, prepare) {name, written},
#include "executorch/operators.def"
#undef PROGRAM_OPERATOR
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (program_is_text(name, rows[i].name)) {
            return rows[i].written;
        }
    }
    return 0;
}

static struct ethosu_describe_bytes describe_bytes(struct program_bytes bytes)
{
    return (struct ethosu_describe_bytes){bytes.data, bytes.size};
}

static struct program *program_of(struct ethosu_description *description)
{
    return &program_reader_of(description)->program;
}

static int get_entry(struct ethosu_description *description, uint32_t index,
                     struct ethosu_describe_entry *entry, struct ethosu_model_error *error)
{
    struct program *program = program_of(description);
    struct program_bytes name;
    struct program_bytes content;
    if (!program_get_entry(program, index, &name, &content)) {
        return program->fb.bad ? describe_damage(&program->fb, error)
                               : error_set(error, ETHOSU_MODEL_BAD_FILE,
                                           "data %.*s is in a segment outside the file",
                                           (int)name.size, (const char *)name.data);
    }
    entry->name = describe_bytes(name);
    entry->content = describe_bytes(content);
    return ETHOSU_MODEL_OK;
}

static int choose(struct program *program, uint32_t method, struct ethosu_model_error *error)
{
    if (program_choose(program, method)) {
        return ETHOSU_MODEL_OK;
    }
    return program->fb.bad ? describe_damage(&program->fb, error)
                           : error_set(error, ETHOSU_MODEL_BAD_FILE,
                                       "method %u has %u chains of instructions, expected 1",
                                       (unsigned)method, (unsigned)program->method.chains.count);
}

/** Minimal model for the functions for loaded models, which read its file. */
static struct ethosu_model as_loaded(const struct program *program, uint32_t method)
{
    return (struct ethosu_model){
        .file = program->file, .file_size = program->file_size, .method = (uint8_t)method};
}

static int get_graph(struct ethosu_description *description, uint32_t index,
                     struct ethosu_describe_graph *graph, struct ethosu_model_error *error)
{
    struct program *program = program_of(description);
    const struct program_method *method = &program->method;
    const struct ethosu_model loaded = as_loaded(program, index);
    struct ethosu_model_program facts;
    if (index >= PROGRAM_MAX_METHODS) {
        return error_set(error, ETHOSU_MODEL_UNSUPPORTED, "it has more than %u methods",
                         PROGRAM_MAX_METHODS);
    }
    TRY(choose(program, index, error));
    TRY(describe_take(description, (uint64_t)program->instructions.count + method->inputs.count,
                      error));
    graph->name = describe_bytes(program_method_name(program, index));
    graph->values = method->values.count;
    graph->operators = program->instructions.count;
    if (!program_facts.methods->get_program(&loaded, &facts, NULL, NULL)) {
        return describe_damage(&program->fb, error);
    }
    graph->quantized = facts.quantized;
    graph->nchw = facts.nchw;
    TRY(describe_list(description, &program->fb, method->inputs, sizeof(uint32_t), &graph->inputs,
                      error));
    TRY(describe_list(description, &program->fb, method->outputs, sizeof(uint32_t), &graph->outputs,
                      error));
    if (method->buffer_sizes.count > 1) { // number 0 is reserved
        struct fb_vector sizes = {method->buffer_sizes.position + sizeof(uint64_t),
                                  method->buffer_sizes.count - 1};
        TRY(describe_list(description, &program->fb, sizes, sizeof(uint64_t), &graph->buffers,
                          error));
    }
    return program->fb.bad ? describe_damage(&program->fb, error) : ETHOSU_MODEL_OK;
}

/** Kinds of lists, and the bytes of their elements. */
static const struct {
    uint8_t type; /**< enum program_value_type */
    uint8_t kind; /**< enum ethosu_describe_kind */
    uint8_t size;
    struct fb_field field;
} lists[] = {
    {PROGRAM_INT_LIST, ETHOSU_KIND_INTS, sizeof(uint64_t), FB_LONGS(0)},
    {PROGRAM_TENSOR_LIST, ETHOSU_KIND_TENSORS, sizeof(uint32_t), FB_WORDS(0)},
    {PROGRAM_OPTIONAL_TENSOR_LIST, ETHOSU_KIND_TENSORS, sizeof(uint32_t), FB_WORDS(0)},
};

static int get_list(struct ethosu_description *description, uint32_t index,
                    enum program_value_type type, struct ethosu_describe_value *value,
                    struct ethosu_model_error *error)
{
    struct program *program = program_of(description);
    value->kind = ETHOSU_KIND_OTHER;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct fb_vector list;
        if (lists[i].type != type) {
            continue;
        }
        if (!program_get_value(program, index, type, lists[i].field, &list)) {
            return describe_damage(&program->fb, error);
        }
        value->kind = lists[i].kind;
        return describe_list(description, &program->fb, list, lists[i].size, &value->data, error);
    }
    return ETHOSU_MODEL_OK;
}

/** Is a value in a list? */
static bool list_contains(struct program *program, const struct fb_vector *list, uint32_t value)
{
    uint32_t i = 0;
    while (i < list->count && fb_u32_at(&program->fb, list, i) != value) {
        i++;
    }
    return i < list->count;
}

/** Count the search for the quantisation of an input or output: see describe_program.c. */
static int charge_search(struct ethosu_description *description, uint32_t index,
                         struct ethosu_model_error *error)
{
    enum { LOOKED_AT = 64 + 256, NAMES = 4, LISTED_IN_A_READ = 16 };
    struct program *program = program_of(description);
    const struct program_method *method = &program->method;
    uint64_t reads = 1 + (method->inputs.count + method->outputs.count) / LISTED_IN_A_READ;
    TRY(describe_take(description, reads, error));
    bool is_end = list_contains(program, &method->inputs, index) ||
                  list_contains(program, &method->outputs, index);
    reads = LOOKED_AT + (uint64_t)NAMES * program->root.methods.count;
    return is_end ? describe_take(description, reads, error) : ETHOSU_MODEL_OK;
}

static int get_tensor(struct ethosu_description *description, uint32_t index,
                      struct ethosu_describe_value *value, struct ethosu_model_error *error)
{
    enum { CONSTANT = 5 }; // field of a tensor
    struct program_reader *reader = program_reader_of(description);
    struct program *program = &reader->program;
    const struct ethosu_model loaded = as_loaded(program, reader->base.graph);
    const struct program_tensor *tensor;
    enum program_tensor_fault fault = program_get_tensor(program, index, &tensor);
    TRY(charge_search(description, index, error));
    if (fault == PROGRAM_TENSOR_OK &&
        program_get_value(program, index, PROGRAM_TENSOR, (struct fb_field)FB_WORD(CONSTANT),
                          &value->constant) &&
        program_facts.get_tensor(&loaded, index, &value->tensor)) {
        value->kind = ETHOSU_KIND_TENSOR;
        value->tensor.data = NULL;
        value->buffer = tensor->buffer;
        value->offset = tensor->buffer == 0 ? -1 : (int32_t)tensor->offset;
        value->data =
            (struct ethosu_describe_bytes){tensor->data, tensor->data == NULL ? 0 : tensor->size};
        return ETHOSU_MODEL_OK;
    }
    return program->fb.bad ? describe_damage(&program->fb, error)
                           : error_set(error, ETHOSU_MODEL_UNSUPPORTED, "value %u %s",
                                       (unsigned)index, program_tensor_problem(fault));
}

static int get_value(struct ethosu_description *description, uint32_t index,
                     struct ethosu_describe_value *value, struct ethosu_model_error *error)
{
    struct program *program = program_of(description);
    struct fb_vector text = {0};
    bool is_true = false;
    enum program_value_type type = program_get_type(program, index);
    switch (type) {
    case PROGRAM_TENSOR:
        return get_tensor(description, index, value, error);
    case PROGRAM_NULL:
        value->kind = ETHOSU_KIND_NULL;
        break;
    case PROGRAM_INT:
        value->kind = ETHOSU_KIND_INT;
        program_get_int(program, index, &value->integer);
        break;
    case PROGRAM_BOOL:
        value->kind = ETHOSU_KIND_BOOL;
        program_get_bool(program, index, &is_true);
        value->integer = is_true;
        break;
    case PROGRAM_DOUBLE:
        value->kind = ETHOSU_KIND_DOUBLE;
        program_get_double(program, index, &value->real);
        break;
    case PROGRAM_STRING:
        value->kind = ETHOSU_KIND_TEXT;
        program_get_value(program, index, type, (struct fb_field)FB_BYTES(0), &text);
        value->data = (struct ethosu_describe_bytes){program->fb.data + text.position, text.count};
        break;
    default:
        return program->fb.bad ? describe_damage(&program->fb, error)
                               : get_list(description, index, type, value, error);
    }
    return program->fb.bad ? describe_damage(&program->fb, error)
                           : describe_take(description, text.count / sizeof(uint32_t), error);
}

/** Read the data of a delegate that an instruction calls. */
static int open_delegate(struct ethosu_description *description, uint32_t index,
                         const struct program_instruction *call, struct vela_binary *binary,
                         struct ethosu_model_error *error)
{
    struct program *program = program_of(description);
    struct program_bytes backend;
    struct program_bytes data;
    struct vela_fault fault;
    TRY(describe_take(description, READS_OF_DELEGATE, error));
    if (!program_get_delegate(program, call->index, &backend, &data)) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "instruction %u calls delegate %u, which is malformed or missing",
                         (unsigned)index, (unsigned)call->index);
    }
    if (!program_is_text(backend, "EthosUBackend")) {
        return error_set(error, ETHOSU_MODEL_UNSUPPORTED,
                         "a delegate is for %.*s, expected EthosUBackend", (int)backend.size,
                         (const char *)backend.data);
    }
    return vela_open(binary, data, &fault)
               ? ETHOSU_MODEL_OK
               : error_set(error, ETHOSU_MODEL_BAD_FILE,
                           "a delegate's block %s: %u %s, expected %u", fault.block,
                           (unsigned)fault.found, fault.what, (unsigned)fault.expected);
}

/** Divide the arguments of a call into inputs and outputs. */
static int split_arguments(struct ethosu_description *description,
                           const struct program_instruction *call, uint32_t written,
                           struct ethosu_describe_operator *operation,
                           struct ethosu_model_error *error)
{
    const struct flatbuffer *fb = &program_of(description)->fb;
    const struct fb_vector *list = &call->arguments;
    uint32_t outputs = written < list->count ? written : list->count;
    uint32_t inputs = list->count - outputs;
    struct fb_vector tail = {list->position + sizeof(uint32_t) * inputs, outputs};
    TRY(describe_list(description, fb, (struct fb_vector){list->position, inputs}, sizeof(uint32_t),
                      &operation->inputs, error));
    return describe_list(description, fb, tail, sizeof(uint32_t), &operation->outputs, error);
}

static int get_operator(struct ethosu_description *description, uint32_t index,
                        struct ethosu_describe_operator *operation,
                        struct ethosu_model_error *error)
{
    struct program *program = program_of(description);
    const struct program_instruction *call = program_get_instruction(program, index);
    struct program_bytes name;
    struct vela_binary binary;
    if (call == NULL) {
        return describe_damage(&program->fb, error);
    }
    operation->code = call->index;
    operation->runs_on = ETHOSU_NOWHERE;
    if (call->type == PROGRAM_DELEGATE_CALL) {
        TRY(open_delegate(description, index, call, &binary, error));
        operation->runs_on = ETHOSU_ON_NPU;
        operation->known = true;
        return split_arguments(description, call, binary.outputs, operation, error);
    }
    if (call->type != PROGRAM_KERNEL_CALL) {
        return ETHOSU_MODEL_OK;
    }
    if (!program_get_operator(program, call->index, &name)) {
        return describe_damage(&program->fb, error);
    }
    uint32_t written = output_count(name);
    operation->name = describe_bytes(name);
    operation->runs_on = ETHOSU_ON_CPU;
    operation->known = written != 0;
    return split_arguments(description, call, written != 0 ? written : WRITTEN_BY_UNKNOWN,
                           operation, error);
}

/** Find a block of a delegate, which may be named data in the program or in a data file. */
static int find_block(struct ethosu_description *description, const struct vela_binary *binary,
                      enum vela_block block, const struct ethosu_describe_bytes *data,
                      struct ethosu_describe_bytes *content, struct ethosu_describe_npu_call *call,
                      struct ethosu_model_error *error)
{
    enum { SAME_IN_A_READ = 128 }; // bytes of a name
    struct program *program = program_of(description);
    struct program_bytes bytes = binary->blocks[block];
    *content = describe_bytes(bytes);
    if (!(binary->external >> block & 1)) {
        return ETHOSU_MODEL_OK;
    }
    uint64_t names = program->root.named.count + (data == NULL ? 0 : data->size / 16);
    TRY(describe_take(description, names * (1 + bytes.size / SAME_IN_A_READ), error));
    if (!program_get_named(program, bytes, &bytes) &&
        (data == NULL || !data_file_find(data->data, data->size, bytes, &bytes))) {
        call->absent = *content;
        bytes = (struct program_bytes){NULL, 0};
    }
    *content = describe_bytes(bytes);
    return ETHOSU_MODEL_OK;
}

static int get_npu_call(struct ethosu_description *description, uint32_t index,
                        const struct ethosu_describe_bytes *data,
                        struct ethosu_describe_npu_call *call, struct ethosu_model_error *error)
{
    struct program *program = program_of(description);
    const struct program_instruction *instruction = program_get_instruction(program, index);
    struct vela_binary binary;
    if (instruction == NULL) {
        return describe_damage(&program->fb, error);
    }
    if (instruction->type != PROGRAM_DELEGATE_CALL) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE, "instruction %u does not run on the NPU",
                         (unsigned)index);
    }
    TRY(open_delegate(description, index, instruction, &binary, error));
    TRY(find_block(description, &binary, VELA_COMMANDS, data, &call->payload, call, error));
    TRY(find_block(description, &binary, VELA_WEIGHTS, data, &call->constants, call, error));
    call->scratch_size = binary.scratch_size;
    call->fast_scratch_size = ETHOSU_DESCRIBE_NOT_STATED;
    return ETHOSU_MODEL_OK;
}

static const struct describer program_describer = {
    .entry = get_entry,
    .graph = get_graph,
    .value = get_value,
    .operation = get_operator,
    .npu_call = get_npu_call,
};

int describe_open_program(struct ethosu_description *description, const void *file, uint32_t size,
                          struct ethosu_model_error *error)
{
    struct program_reader *reader = program_reader_of(description);
    struct program *program = &reader->program;
    reader->base.format = &program_describer;
    if (!program_open(program, file, size)) {
        return describe_damage(&program->fb, error);
    }
    description->graphs = program->root.methods.count;
    description->entries = program->root.named.count;
    return ETHOSU_MODEL_OK;
}

int describe_open_data(struct ethosu_description *description, const void *file, uint32_t size,
                       struct ethosu_model_error *error)
{
    static const struct describer data_describer = {.entry = get_entry};
    struct program_reader *reader = program_reader_of(description);
    struct program *program = &reader->program;
    reader->base.format = &data_describer;
    if (!data_file_open(program, file, size) || program->fb.bad) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "not a .ptd file: %u bytes, or a header that does not fit them",
                         (unsigned)size);
    }
    description->entries = program->root.named.count;
    return ETHOSU_MODEL_OK;
}
