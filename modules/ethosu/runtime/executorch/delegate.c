// SPDX-License-Identifier: MIT
/**
 * A delegate's call becomes one call of the driver, with a copy before it for
 * each input and one behind it for each output that does not lie in its memory.
 */
#include "build_program.h"
#include "checked.h"
#include "data_file.h"
#include "ethosu_layout.h"
#include "kernels/kernel.h"
#include "npu_call.h"

#include <string.h>

static int refuse(struct program_builder *program, const struct vela_fault *fault)
{
    return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                     "instruction %u (delegate), block %s: %u %s, %u expected",
                     (unsigned)program->instruction, fault->block, (unsigned)fault->found,
                     fault->what, (unsigned)fault->expected);
}

/** Where an external block is: in the program or the data file, under the name that it holds. */
static int find_external(struct program_builder *program, struct vela_binary *binary,
                         enum vela_block block)
{
    struct program_bytes file = program->data_file;
    struct program_bytes *content = &binary->blocks[block];
    if (!binary->external[block] || program_get_named(&program->program, *content, content)) {
        return ETHOSU_MODEL_OK;
    }
    // A file may name its entries again and again: each look is work.
    TRY(build_work(program->builder, file.size / 16));
    if (file.data != NULL && data_file_find(file.data, file.size, *content, content)) {
        return ETHOSU_MODEL_OK;
    }
    return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                          file.data == NULL
                              ? "its data is in another file (.ptd), which was not given"
                              : "the data file (.ptd) has not the data that it names");
}

int delegate_open(struct program_builder *program, uint32_t instruction,
                  const struct program_instruction *call, struct delegate_call *delegate)
{
    struct program_bytes backend;
    struct program_bytes data;
    struct vela_fault fault;
    struct vela_binary *binary = &delegate->binary;
    program->instruction = instruction;
    if (program->opened.arguments.count != 0 && program->opened.instruction == instruction) {
        *delegate = program->opened;
        return ETHOSU_MODEL_OK;
    }
    TRY(build_work(program->builder, WORK_OF_OPERATOR));
    if (!program_get_delegate(&program->program, call->index, &backend, &data)) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "its delegate is malformed");
    }
    if (!program_text_is(backend, "EthosUBackend")) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "its backend is not EthosUBackend");
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
    delegate->arguments = call->arguments;
    delegate->instruction = instruction;
    TRY(find_external(program, binary, VELA_COMMANDS));
    TRY(find_external(program, binary, VELA_WEIGHTS));
    program->opened = *delegate;
    program->sizes[instruction % PROGRAM_DELEGATES].instruction = instruction + 1;
    program->sizes[instruction % PROGRAM_DELEGATES].inputs = binary->inputs;
    return ETHOSU_MODEL_OK;
}

/* ---- regions ---- */

/** Input or output of a delegate: where the NPU has it, and the program's tensor. */
struct delegate_io {
    struct vela_io npu;
    struct program_operand operand;
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

/** Read argument `index`, and check that the NPU has it inside of a region of ours. */
static int get_io(struct program_builder *program, const struct delegate_call *delegate,
                  uint32_t index, struct delegate_io *io)
{
    const struct vela_binary *binary = &delegate->binary;
    io->is_output = index >= binary->inputs;
    enum vela_block block = io->is_output ? VELA_OUTPUTS : VELA_INPUTS;
    uint32_t own = io->is_output ? REGION_OUTPUTS : REGION_INPUTS;
    if (!vela_get_io(binary, block, io->is_output ? index - binary->inputs : index, &io->npu)) {
        return refuse_io(program, index, "shape, element size or offset: offset", io->npu.offset,
                         0);
    }
    if (io->npu.region != REGION_SCRATCH && io->npu.region != own) {
        return refuse_io(program, index, "region", io->npu.region, REGION_SCRATCH);
    }
    if (io->npu.region == REGION_SCRATCH &&
        !checked_range(io->npu.offset, io->npu.size, binary->scratch_size)) {
        return refuse_io(program, index, "last byte in scratch at", io->npu.offset + io->npu.size,
                         binary->scratch_size);
    }
    uint32_t value = fb_u32_at(&program->program.fb, &delegate->arguments, index);
    return program_operand(program, value, &io->operand);
}

static void grow(uint32_t *size, uint32_t least)
{
    *size = *size < least ? least : *size;
}

/** Bytes of fast scratch, which the delegate's data does not say: what its commands write. */
static int measure_fast_scratch(struct program_builder *program, const struct vela_binary *binary)
{
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault;
    struct ethosu_ext_writes writes;
    struct program_bytes commands = binary->blocks[VELA_COMMANDS];
    size_t sizes[REGIONS];
    memset(sizes, 0xFF, sizeof sizes);
    TRY(npu_parse_payload(program->builder, commands.data, commands.size, &payload));
    TRY(build_work(program->builder, payload.stream_bytes / 4));
    if (!payload.has_config || payload.config >> 28 == 0) {
        return ETHOSU_MODEL_OK; // Vela uses no fast scratch on Ethos-U55
    }
    if (ethosu_ext_verify(payload.stream, payload.stream_bytes, payload.config, sizes, REGIONS,
                          &writes, &fault) != 0) {
        return npu_refuse_fault(program->builder, ETHOSU_MODEL_BAD_FILE, &fault);
    }
    if (writes.end[REGION_FAST_SCRATCH] > UINT32_MAX) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "it needs more than 4 GB");
    }
    if (writes.end[REGION_FAST_SCRATCH] != 0) {
        uint32_t *size = &program->region_sizes[REGION_FAST_SCRATCH];
        grow(size, (uint32_t)writes.end[REGION_FAST_SCRATCH]);
        grow(size, payload.fast_scratch); // COP2 says it
    }
    return ETHOSU_MODEL_OK;
}

int delegate_measure(struct program_builder *program, const struct delegate_call *delegate)
{
    grow(&program->region_sizes[REGION_SCRATCH], delegate->binary.scratch_size);
    for (uint32_t i = 0; i < delegate->arguments.count; i++) {
        struct delegate_io io;
        TRY(get_io(program, delegate, i, &io));
        if (io.npu.region != REGION_SCRATCH) {
            grow(&program->region_sizes[io.npu.region], io.npu.offset + io.npu.size);
        }
    }
    return measure_fast_scratch(program, &delegate->binary);
}

/* ---- inputs and outputs ---- */

/** Where the NPU has it, in the arena. */
static uint32_t offset_of(const struct program_builder *program, const struct delegate_io *io)
{
    return program->regions[io->npu.region] + io->npu.offset;
}

int delegate_place(struct program_builder *program, const struct delegate_call *delegate)
{
    for (uint32_t i = 0; i < delegate->arguments.count; i++) {
        struct delegate_io io;
        bool possible;
        TRY(get_io(program, delegate, i, &io));
        uint32_t offset = offset_of(program, &io);
        if (io.npu.size != io.operand.tensor.size ||
            program->in_place_count == PROGRAM_MAX_IN_PLACE ||
            offset % ethosu_model_type_size(io.operand.tensor.type) != 0) {
            continue;
        }
        struct in_place place = {.value = io.operand.value,
                                 .delegate = delegate->instruction,
                                 .offset = offset,
                                 .size = io.npu.size};
        TRY(uses_allow_in_place(program, &io.operand.tensor, io.is_output, &place, &possible));
        if (possible) {
            program->in_place[program->in_place_count++] = place;
        }
    }
    return ETHOSU_MODEL_OK;
}

/** An output whose bytes the NPU arranges otherwise than the program's tensor. */
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

static int add_adjust(struct program_builder *program, const struct delegate_io *io)
{
    struct adjust adjust = {
        .layout = {.tensor = io->operand.data,
                   .tensor_bytes = io->operand.tensor.size,
                   .tensor_element = ethosu_model_type_size(io->operand.tensor.type),
                   .source = build_address(program->builder, offset_of(program, io)),
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

/** Copy one argument, unless it lies where the NPU has it. */
static int add_copy(struct program_builder *program, const struct delegate_io *io)
{
    struct builder *builder = program->builder;
    void *npu = build_address(builder, offset_of(program, io));
    struct step step = {.run = step_copy};
    if (io->is_output && io->npu.size != io->operand.tensor.size) {
        return add_adjust(program, io);
    }
    for (uint32_t i = 0; i < program->in_place_count; i++) {
        if (program->in_place[i].value == io->operand.value &&
            program->in_place[i].offset == offset_of(program, io)) {
            return ETHOSU_MODEL_OK;
        }
    }
    step.copy.destination = io->is_output ? io->operand.data : npu;
    step.copy.source = io->is_output ? npu : io->operand.data;
    step.copy.size = io->npu.size;
    return build_step(builder, &step);
}

static int check_io(struct program_builder *program, uint32_t index, const struct delegate_io *io)
{
    uint32_t element = ethosu_model_type_size(io->operand.tensor.type);
    if (!io->is_output && io->npu.size != io->operand.tensor.size) {
        return refuse_io(program, index, "bytes of the tensor", io->operand.tensor.size,
                         io->npu.size);
    }
    if (!io->is_output && io->npu.element_size != element) {
        return refuse_io(program, index, "bytes of an element", element, io->npu.element_size);
    }
    if (io->is_output && io->operand.tensor.buffer == 0) {
        return refuse_io(program, index, "the output is constant: buffer", 0, 1);
    }
    return ETHOSU_MODEL_OK;
}

/** Add the copies of all inputs, or of all outputs. */
static int add_copies(struct program_builder *program, const struct delegate_call *delegate,
                      uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        struct delegate_io io;
        TRY(get_io(program, delegate, i, &io));
        TRY(check_io(program, i, &io));
        TRY(add_copy(program, &io));
    }
    return ETHOSU_MODEL_OK;
}

/* ---- the call ---- */

/** Address of a region; NULL when it is empty. */
static void *region_address(const struct program_builder *program, uint32_t region)
{
    return program->region_sizes[region] == 0
               ? NULL
               : build_address(program->builder, program->regions[region]);
}

static int add_call(struct program_builder *program, const struct delegate_call *delegate)
{
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
    TRY(build_payload(builder, commands->data, commands->size, &call->payload));
    call->payload_size = commands->size;
    if (weights->size != 0) {
        TRY(build_visible(builder, &builder->read_only, weights->data, weights->size, &visible));
    }
    npu_call_set(call, REGION_WEIGHTS, visible, weights->size);
    uint32_t scratch_size = delegate->binary.scratch_size;
    void *scratch = scratch_size == 0 ? NULL : region_address(program, REGION_SCRATCH);
    npu_call_set(call, REGION_SCRATCH, scratch, scratch_size);
    // Where no stream uses fast scratch, that is the scratch, as in files for TensorFlow Lite.
    npu_call_set(call, REGION_FAST_SCRATCH, scratch, scratch_size);
    for (uint32_t region = REGION_FAST_SCRATCH; region < bases; region++) {
        uint32_t size = program->region_sizes[region];
        if (size != 0 || region != REGION_FAST_SCRATCH) {
            npu_call_set(call, region, region_address(program, region), size);
        }
    }
    return npu_call_add(builder, call);
}

int delegate_build(struct program_builder *program, const struct delegate_call *delegate)
{
    uint32_t inputs = delegate->binary.inputs;
    TRY(add_copies(program, delegate, 0, inputs));
    TRY(add_call(program, delegate));
    return add_copies(program, delegate, inputs, delegate->arguments.count);
}
