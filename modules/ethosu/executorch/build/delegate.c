// SPDX-License-Identifier: MIT
/**
 * Converts a delegate's call to one call of the driver. Inputs and outputs that are
 * not in the delegate's memory are copied before and after it.
 */
#include "executorch/build/program_builder.h"
#include "runtime/file/checked.h"
#include "executorch/file/data_file.h"
#include "ethosu_layout.h"
#include "runtime/kernels/shared/kernel.h"
#include "runtime/build/npu_call.h"

#include <string.h>

static int refuse(struct program_builder *program, const struct vela_fault *fault)
{
    return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                     "instruction %u (delegate), block %s: %u %s, expected %u",
                     (unsigned)program->instruction, fault->block, (unsigned)fault->found,
                     fault->what, (unsigned)fault->expected);
}

/** Find an external block, by its name, in the program or the data file. */
static int find_external(struct program_builder *program, struct vela_binary *binary,
                         enum vela_block block)
{
    struct program_bytes file = program->data_file;
    struct program_bytes *content = &binary->blocks[block];
    if (!(binary->external >> block & 1)) {
        return ETHOSU_MODEL_OK;
    }
    // A file may refer to its entries many times, so each look-up counts as work.
    uint32_t work = 1 + content->size / 128;
    uint32_t named = program->program.root.named.count;
    TRY(build_work(program->builder, kernel_bytes(named, work)));
    if (program_get_named(&program->program, *content, content)) {
        return ETHOSU_MODEL_OK;
    }
    TRY(build_work(program->builder, kernel_bytes(file.size / 16, work)));
    if (file.data != NULL && data_file_find(file.data, file.size, *content, content)) {
        return ETHOSU_MODEL_OK;
    }
    return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                          file.data == NULL
                              ? "its data is in another file (.ptd), which was not given"
                              : "its data is not in the data file (.ptd)");
}

/** Is it "EthosUBackend"? */
static bool is_ethos_u(struct program_bytes backend)
{
    return backend.size == 13 && fb_is_mark(backend.data, "Etho") &&
           fb_is_mark(backend.data + 4, "sUBa") && fb_is_mark(backend.data + 8, "cken") &&
           fb_is_mark(backend.data + 9, "kend");
}

int delegate_open(struct program_builder *program, uint32_t instruction,
                  const struct program_instruction *call)
{
    struct delegate_call *delegate = &program->opened;
    struct vela_binary *binary = &delegate->binary;
    struct program_bytes backend;
    struct program_bytes data;
    struct vela_fault fault;
    uint32_t place = instruction % PROGRAM_DELEGATES;
    program->instruction = instruction;
    if (delegate->instruction == instruction + 1) {
        return ETHOSU_MODEL_OK;
    }
    delegate->instruction = 0;
    TRY(build_work(program->builder, WORK_OF_OPERATOR));
    if (!program_get_delegate(&program->program, call->index, &backend, &data)) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "delegate is malformed");
    }
    if (!is_ethos_u(backend)) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "backend is not EthosUBackend");
    }
    if (!vela_open(binary, data, &fault)) {
        return refuse(program, &fault);
    }
    if ((uint64_t)binary->inputs + binary->outputs != call->arguments.count) {
        return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                         "instruction %u (delegate): %u arguments for %u inputs and %u outputs",
                         (unsigned)instruction, (unsigned)call->arguments.count,
                         (unsigned)binary->inputs, (unsigned)binary->outputs);
    }
    TRY(find_external(program, binary, VELA_COMMANDS));
    TRY(find_external(program, binary, VELA_WEIGHTS));
    delegate->arguments = call->arguments;
    delegate->instruction = program->sizes[place].instruction = instruction + 1;
    program->sizes[place].inputs = binary->inputs;
    return ETHOSU_MODEL_OK;
}

/** Count the work of a pass over all arguments. */
static int work_of_arguments(struct program_builder *program,
                             const struct program_instruction *call)
{
    enum { EACH = 4 };
    return build_work(program->builder, kernel_bytes(call->arguments.count, EACH));
}

/* ---- regions ---- */

/** Input or output of a delegate: its place for the NPU, and the program's tensor. */
struct delegate_io {
    struct vela_io npu;
    const struct program_tensor *tensor; /**< valid until another one is read */
    uint32_t value;
    bool is_output;
};

static int refuse_io(struct program_builder *program, uint32_t index, const char *what,
                     uint32_t found, uint32_t expected)
{
    return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                     "instruction %u (delegate), argument %u: %s %u, expected %u",
                     (unsigned)program->instruction, (unsigned)index, what, (unsigned)found,
                     (unsigned)expected);
}

/** Read argument `index` of the delegate, and check that it is inside a region. */
static int get_io(struct program_builder *program, uint32_t index, struct delegate_io *io)
{
    const struct vela_binary *binary = &program->opened.binary;
    const struct vela_io *npu = &io->npu;
    io->is_output = index >= binary->inputs;
    enum vela_block block = io->is_output ? VELA_OUTPUTS : VELA_INPUTS;
    uint32_t own = io->is_output ? REGION_OUTPUTS : REGION_INPUTS;
    vela_get_io(binary, block, io->is_output ? index - binary->inputs : index, &io->npu);
    if (npu->element_size == 0) {
        return refuse_io(program, index, "element size", 0, 1);
    }
    uint64_t end = (uint64_t)npu->offset + npu->size;
    if (npu->region != REGION_SCRATCH && npu->region != own) {
        return refuse_io(program, index, "region", npu->region, REGION_SCRATCH);
    }
    if (npu->region == REGION_SCRATCH && end > binary->scratch_size) {
        return refuse_io(program, index, "last byte in scratch at",
                         end > UINT32_MAX ? UINT32_MAX : (uint32_t)end, binary->scratch_size);
    }
    io->value = fb_u32_at(&program->program.fb, &program->opened.arguments, index);
    TRY(program_tensor(program, io->value, &io->tensor));
    const struct program_tensor *tensor = io->tensor;
    if (io->is_output) {
        return tensor->buffer != 0
                   ? ETHOSU_MODEL_OK
                   : refuse_io(program, index, "the output is constant: buffer", 0, 1);
    }
    if (npu->size != tensor->size) {
        return refuse_io(program, index, "tensor size", tensor->size, npu->size);
    }
    uint32_t element = ethosu_model_type_size(tensor->type);
    return npu->element_size == element
               ? ETHOSU_MODEL_OK
               : refuse_io(program, index, "element size", element, npu->element_size);
}

static int grow(struct program_builder *program, enum program_region region, uint64_t least)
{
    uint32_t *size = &program->region_sizes[region];
    if (least > INT32_MAX) {
        return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                         "instruction %u (delegate): region %u needs %u MB, expected less than "
                         "2048",
                         (unsigned)program->instruction, (unsigned)region, (unsigned)(least >> 20));
    }
    *size = *size < least ? (uint32_t)least : *size;
    return ETHOSU_MODEL_OK;
}

/** Size the fast scratch by the commands' writes, since the delegate's data has no size for it. */
static int measure_fast_scratch(struct program_builder *program, const struct vela_binary *binary)
{
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault;
    struct ethosu_ext_writes writes;
    struct program_bytes commands = binary->blocks[VELA_COMMANDS];
    const struct builder *builder = program->builder;
    size_t sizes[REGIONS];
    if (builder->loading && builder->driver != NULL &&
        !ethosu_ext_config_spills(ethosu_ext_config(builder->driver))) {
        return ETHOSU_MODEL_OK;
    }
    memset(sizes, 0xFF, sizeof sizes);
    TRY(build_work(program->builder, commands.size / 4));
    TRY(npu_parse_payload(program->builder, commands.data, commands.size, &payload));
    if (!payload.has_config || !ethosu_ext_config_spills(payload.config)) {
        return ETHOSU_MODEL_OK;
    }
    if (ethosu_ext_verify(payload.stream, payload.stream_bytes, payload.config, sizes, REGIONS,
                          &writes, &fault) != 0) {
        if (!builder->model->skip_verify) {
            return npu_refuse_fault(program->builder, ETHOSU_MODEL_BAD_FILE, &fault);
        }
        // The commands after the rejected one are bounded only by the available memory, or by the
        // size in COP2.
        size_t most = npu_has_fast_memory(builder) ? ethosu_ext_fast_memory_size(builder->driver)
                                                   : payload.fast_scratch;
        return most != 0 ? grow(program, REGION_FAST_SCRATCH, most)
                         : program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                                          "unknown size of fast scratch: the verifier rejects a "
                                          "command, and the file does not state the size");
    }
    if (writes.end[REGION_FAST_SCRATCH] == 0) {
        return ETHOSU_MODEL_OK;
    }
    TRY(grow(program, REGION_FAST_SCRATCH, writes.end[REGION_FAST_SCRATCH]));
    return grow(program, REGION_FAST_SCRATCH, payload.fast_scratch); // stated in COP2
}

/** Record an input or output that may be used in place; tensor_usage.c decides. */
static void note_place(struct program_builder *program, const struct delegate_io *io,
                       uint32_t argument, uint32_t before)
{
    const struct program_tensor *tensor = io->tensor;
    uint32_t count = program->in_place_count;
    bool possible = tensor->buffer != 0 && tensor->data == NULL && io->npu.size == tensor->size &&
                    io->npu.offset % ethosu_model_type_size(tensor->type) == 0;
    for (uint32_t i = count; i-- > 0 && program->in_place[i].call == program->last_delegate;) {
        // A tensor has only one place; a second one needs a copy.
        possible = possible && program->in_place[i].value != io->value;
    }
    if (!possible || count == PROGRAM_MAX_IN_PLACE) {
        return;
    }
    struct in_place *place = &program->in_place[program->in_place_count++];
    place->value = io->value;
    place->buffer = tensor->buffer;
    place->start = tensor->offset;
    place->size = tensor->size;
    place->call = program->last_delegate;
    place->argument = argument;
    place->region = io->npu.region;
    place->offset = io->npu.offset;
    place->is_output = io->is_output;
    place->possible = true;
    place->before = before;
    place->after = NEVER;
    place->written = NEVER;
    place->read = 0;
}

int delegate_measure(struct program_builder *program, uint32_t instruction,
                     const struct program_instruction *call)
{
    uint32_t before = program->last_delegate;
    TRY(delegate_open(program, instruction, call));
    program->last_delegate = instruction + 1;
    for (uint32_t i = program->in_place_count; i-- > 0 && program->in_place[i].call == before;) {
        program->in_place[i].after = instruction + 1;
    }
    TRY(grow(program, REGION_SCRATCH, program->opened.binary.scratch_size));
    TRY(work_of_arguments(program, call));
    for (uint32_t i = 0; i < call->arguments.count; i++) {
        struct delegate_io io;
        TRY(get_io(program, i, &io));
        if (io.npu.region != REGION_SCRATCH) {
            TRY(grow(program, (enum program_region)io.npu.region,
                     (uint64_t)io.npu.offset + io.npu.size));
        }
        note_place(program, &io, i, before);
    }
    return measure_fast_scratch(program, &program->opened.binary);
}

/* ---- inputs and outputs ---- */

/** An output whose layout differs from the program's tensor. */
struct adjust {
    struct kernel_call call;
    struct ethosu_ext_layout layout;
};

static int run_adjust(const struct kernel_call *call)
{
    const struct adjust *adjust = (const struct adjust *)call;
    return ethosu_ext_adjust_layout(&adjust->layout, NULL) == 0 ? ETHOSU_MODEL_OK
                                                                : ETHOSU_MODEL_BAD_VALUE;
}

static const struct kernel adjust_kernel = {.run = run_adjust};

static int add_adjust(struct program_builder *program, const struct delegate_io *io,
                      const struct program_operand *operand, const void *npu)
{
    struct adjust adjust = {
        .layout = {.tensor = operand->data,
                   .tensor_bytes = operand->tensor.size,
                   .tensor_element = ethosu_model_type_size(operand->tensor.type),
                   .source = npu,
                   .source_bytes = io->npu.size,
                   .element = io->npu.element_size},
    };
    memcpy(adjust.layout.shape, io->npu.shape, sizeof adjust.layout.shape);
    struct ethosu_ext_fault fault;
    adjust.layout.check_only = true;
    if (program->builder->loading && ethosu_ext_adjust_layout(&adjust.layout, &fault) != 0) {
        return npu_refuse_fault(program->builder, ETHOSU_MODEL_BAD_FILE, &fault);
    }
    adjust.layout.check_only = false;
    return kernel_add_step(program->builder, &adjust_kernel, &adjust.call, sizeof adjust);
}

/** Is an argument used in place? */
static bool is_in_place(const struct program_builder *program, uint32_t argument)
{
    for (uint32_t i = 0; i < program->in_place_count; i++) {
        const struct in_place *place = &program->in_place[i];
        if (place->argument == argument && place->call == program->opened.instruction) {
            return true;
        }
    }
    return false;
}

/** Add the copies of all inputs or outputs that are not used in place. */
static int add_copies(struct program_builder *program, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        struct delegate_io io;
        struct program_operand operand;
        if (is_in_place(program, i)) {
            continue;
        }
        TRY(get_io(program, i, &io));
        TRY(program_operand(program, io.value, &operand));
        void *npu;
        TRY(build_address(program->builder, program->regions[io.npu.region] + io.npu.offset,
                          io.npu.size, &npu));
        struct step step = {.run = step_copy};
        step.copy.destination = io.is_output ? operand.data : npu;
        step.copy.source = io.is_output ? npu : operand.data;
        step.copy.size = io.npu.size;
        TRY(io.npu.size != operand.tensor.size ? add_adjust(program, &io, &operand, npu)
                                               : build_step(program->builder, &step));
    }
    return ETHOSU_MODEL_OK;
}

/* ---- the call ---- */

/** Tell the NPU a region's size and address; NULL if it is empty or in memory of the driver. */
static int set_region(struct program_builder *program, struct npu_call *call, uint32_t base,
                      uint32_t region, uint32_t size)
{
    bool other = region == REGION_FAST_SCRATCH && npu_has_fast_memory(program->builder);
    void *address = NULL;
    TRY(size == 0 || other
            ? ETHOSU_MODEL_OK
            : build_address(program->builder, program->regions[region], size, &address));
    npu_call_set(call, base, address, size);
    return ETHOSU_MODEL_OK;
}

static int add_call(struct program_builder *program)
{
    const struct delegate_call *delegate = &program->opened;
    struct builder *builder = program->builder;
    const struct program_bytes *commands = &delegate->binary.blocks[VELA_COMMANDS];
    const struct program_bytes *weights = &delegate->binary.blocks[VELA_WEIGHTS];
    uint32_t bases =
        program->region_sizes[REGION_INPUTS] + program->region_sizes[REGION_OUTPUTS] != 0
            ? REGIONS
            : REGION_INPUTS;
    struct npu_call_counted counted;
    struct npu_call *call;
    const void *visible = NULL;
    TRY(npu_call_new(builder, bases, &counted, &call));
    TRY(build_work(builder, commands->size / 4)); // each word is checked
    TRY(build_payload(builder, commands->data, commands->size, &call->payload));
    call->payload_size = commands->size;
    if (weights->size != 0) {
        TRY(build_visible(builder, &builder->read_only, weights->data, weights->size, &visible));
    }
    npu_call_set(call, REGION_WEIGHTS, visible, weights->size);
    uint32_t scratch_size = delegate->binary.scratch_size;
    TRY(set_region(program, call, REGION_SCRATCH, REGION_SCRATCH, scratch_size));
    // If no stream uses fast scratch, it is the scratch, as in TensorFlow Lite files.
    TRY(set_region(program, call, REGION_FAST_SCRATCH, REGION_SCRATCH, scratch_size));
    for (uint32_t region = REGION_FAST_SCRATCH; region < bases; region++) {
        uint32_t size = program->region_sizes[region];
        if (size != 0 || region != REGION_FAST_SCRATCH) {
            TRY(set_region(program, call, region, region, size));
        }
    }
    return npu_call_add(builder, call);
}

int delegate_build(struct program_builder *program, uint32_t instruction,
                   const struct program_instruction *call)
{
    TRY(delegate_open(program, instruction, call));
    TRY(work_of_arguments(program, call));
    uint32_t inputs = program->opened.binary.inputs;
    TRY(add_copies(program, 0, inputs));
    TRY(add_call(program));
    return add_copies(program, inputs, call->arguments.count);
}
