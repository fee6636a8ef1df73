// SPDX-License-Identifier: MIT
/** Common code to prepare and run kernels; see kernel.h. */
#include "runtime/kernels/shared/kernel.h"

#include "driver/base/ethosu_count.h"
#include "runtime/kernels/shared/plan_reader.h"

#include <string.h>

/** Copy a constant that is misaligned in the file into the arena, once per use. */
static int align_constant(struct builder *builder, struct kernel_tensor *tensor)
{
    uint32_t offset;
    uint32_t size = tensor->file.size;
    void *copy;
    TRY(build_reserve(builder, size, &offset));
    TRY(build_address(builder, offset, size, &copy));
    if (copy != NULL) {
        tensor->data = memcpy(copy, tensor->data, size);
    }
    builder->model->copied_bytes += size;
    return ETHOSU_MODEL_OK;
}

static int find_tensor(struct builder *builder, const struct fb_vector *list, uint32_t index,
                       struct kernel_tensor *tensor)
{
    struct operand operand;
    TRY(build_find_operand(builder, list, index, &operand));
    struct tflite *file = &builder->file;
    *tensor = (struct kernel_tensor){
        .data = operand.data,
        .type = operand.tensor.type,
        .rank = operand.tensor.shape.count,
        .element_size = ethosu_model_type_size(operand.tensor.type),
        .constant = operand.offset < 0,
        .file = operand.tensor,
    };
    if (tensor->element_size == 0) {
        return kernel_bad_type(builder);
    }
    uint64_t size = tensor->element_size;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        tensor->shape[i] = (int32_t)fb_u32_at(&file->fb, &operand.tensor.shape, i);
        size = size > UINT32_MAX ? size : size * (uint32_t)tensor->shape[i];
    }
    if (size != operand.tensor.size && operand.tensor.size != 0) {
        return kernel_bad(builder, "a tensor's shape changes while the file is loaded");
    }
    tensor->count = (int32_t)(operand.tensor.size / tensor->element_size);
    if (tensor->count == 0) {
        return kernel_bad(builder, "a tensor is empty"); // its other dimensions are unchecked
    }
    struct tflite_channels channels;
    TRY(build_get_channels(builder, fb_u32_at(&file->fb, list, index), &operand.tensor, &channels));
    tensor->channels = channels.count;
    tensor->axis = channels.axis;
    tflite_get_channel(file, &operand.tensor, 0, &tensor->scale, &tensor->zero_point);
    // While measuring, only arena offsets are available, not addresses.
    uintptr_t place = tensor->constant ? (uintptr_t)operand.data : (uintptr_t)operand.offset;
    if (place % tensor->element_size == 0) {
        return ETHOSU_MODEL_OK;
    }
    return tensor->constant ? align_constant(builder, tensor)
                            : kernel_bad(builder, "a tensor is not aligned to its type");
}

int kernel_input(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                 struct kernel_tensor *tensor)
{
    return find_tensor(builder, &call->inputs, index, tensor);
}

int kernel_output(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                  struct kernel_tensor *tensor)
{
    TRY(find_tensor(builder, &call->outputs, index, tensor));
    if (tensor->constant) {
        return kernel_bad(builder, "output is constant");
    }
    return ETHOSU_MODEL_OK;
}

int kernel_tensors(struct builder *builder, const struct tflite_operator_call *call,
                   struct kernel_tensor *inputs, uint32_t input_count,
                   struct kernel_tensor *outputs, uint32_t output_count)
{
    for (uint32_t i = 0; i < input_count; i++) {
        TRY(kernel_input(builder, call, i, &inputs[i]));
    }
    for (uint32_t i = 0; i < output_count; i++) {
        TRY(kernel_output(builder, call, i, &outputs[i]));
    }
    return ETHOSU_MODEL_OK;
}

bool kernel_has_input(struct builder *builder, const struct tflite_operator_call *call,
                      uint32_t index)
{
    return index < call->inputs.count &&
           fb_u32_at(&builder->file.fb, &call->inputs, index) != TFLITE_NO_TENSOR;
}

int32_t kernel_option(struct builder *builder, const struct tflite_operator_call *call,
                      uint32_t field, int32_t fallback)
{
    return (int32_t)fb_scalar(&builder->file.fb, call->options, (struct fb_field)FB_WORD(field),
                              (uint32_t)fallback);
}

uint8_t kernel_option_byte(struct builder *builder, const struct tflite_operator_call *call,
                           uint32_t field, uint8_t fallback)
{
    return (uint8_t)fb_scalar(&builder->file.fb, call->options, (struct fb_field)FB_BYTE(field),
                              fallback);
}

float kernel_option_float(struct builder *builder, const struct tflite_operator_call *call,
                          uint32_t field, float fallback)
{
    uint32_t bits;
    memcpy(&bits, &fallback, sizeof bits);
    bits = (uint32_t)kernel_option(builder, call, field, (int32_t)bits);
    memcpy(&fallback, &bits, sizeof bits);
    return fallback;
}

int kernel_unsupported(struct builder *builder, const char *why)
{
    return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED, why);
}

int kernel_bad(struct builder *builder, const char *why)
{
    return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, why);
}

/** Type of an input or output; "" if there is none. */
static const char *type_name(struct builder *builder, const struct fb_vector *list, uint32_t i)
{
    uint32_t index = i < list->count ? fb_u32_at(&builder->file.fb, list, i) : TFLITE_NO_TENSOR;
    struct tflite_tensor tensor;
    if (index == TFLITE_NO_TENSOR) {
        return "";
    }
    return build_get_tensor(builder, index, &tensor) ? ethosu_model_type_name(tensor.type) : "?";
}

int kernel_bad_type(struct builder *builder)
{
    const struct tflite_operator_call *call;
    struct ethosu_model_error why;
    const char *name[3];
    TRY(build_get_operator(builder, builder->operator_index, &call));
    for (uint32_t i = 0; i < COUNT(name); i++) {
        name[i] = type_name(builder, &call->inputs, i);
    }
    error_set(&why, 0, "kernel does not support these types (%s%s%s%s%s to %s)", name[0],
              name[1][0] != 0 ? ", " : "", name[1], name[2][0] != 0 ? ", " : "", name[2],
              type_name(builder, &call->outputs, 0));
    return kernel_unsupported(builder, why.text);
}

bool kernel_same_shape(const struct kernel_tensor *a, const struct kernel_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

int kernel_table(struct builder *builder, size_t count, size_t size, void **table)
{
    if (count > (64u << 20) / size) {
        return kernel_bad(builder, "too many channels");
    }
    return build_object_back(builder, count * size, table);
}

/** Bytes copied or filled between two polls. */
#define BYTES (16u * KERNEL_BLOCK)

/** They overlap only in a file that has changed since its plan was checked. */
static void copy_bytes(uint8_t *to, const uint8_t *from, size_t size)
{
    bool apart = (uintptr_t)to - (uintptr_t)from >= size && (uintptr_t)from - (uintptr_t)to >= size;
    (apart ? memcpy : memmove)(to, from, size);
}

bool kernel_copy(const struct kernel_call *call, void *to, const void *from, size_t size)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    for (; size > BYTES; size -= BYTES, target += BYTES, source += BYTES) {
        copy_bytes(target, source, BYTES);
        if (kernel_stops(call, KERNEL_BLOCK)) {
            return false;
        }
    }
    copy_bytes(target, source, size);
    return !kernel_stops(call, (int32_t)(size / 16 + 1));
}

bool kernel_fill(const struct kernel_call *call, void *to, int value, size_t size)
{
    uint8_t *target = to;
    for (; size > BYTES; size -= BYTES, target += BYTES) {
        memset(target, value, BYTES);
        if (kernel_stops(call, KERNEL_BLOCK)) {
            return false;
        }
    }
    memset(target, value, size);
    return !kernel_stops(call, (int32_t)(size / 16 + 1));
}

/** List an operator of the main graph for ethosu_model_kernels(), once; all its steps share
 * scratch. */
static int list_kernel(struct builder *builder, const struct kernel *kernel, uint32_t scratch)
{
    uint32_t index = builder->operator_index;
    uint32_t count = builder->kernel_count;
    if (builder->graph_index != 0) {
        return ETHOSU_MODEL_OK;
    }
    if (count > 0 && builder->kernels[count - 1].operator_index == index) {
        return ETHOSU_MODEL_OK;
    }
    if (count == builder->kernel_room) {
        return build_refuse(builder, ETHOSU_MODEL_NO_MEMORY, "too many operators for the list");
    }
    builder->kernels[count] =
        (struct ethosu_model_kernel){index, kernel->version, scratch, kernel->in_place};
    ++builder->kernel_count;
    return ETHOSU_MODEL_OK;
}

int kernel_add(struct builder *builder, const struct kernel *kernel, struct kernel_call *block,
               size_t size)
{
    // Options and scales were read without a check of each read.
    if (builder->file.fb.bad) {
        return kernel_bad(builder, "malformed or truncated");
    }
    uint32_t needed = kernel->scratch == NULL ? 0 : kernel->scratch(block);
    if (builder->kernels != NULL) {
        return list_kernel(builder, kernel, needed);
    }
    struct plan_scratch planned;
    TRY(plan_get_scratch(builder, kernel->version, needed, &planned));
    TRY(build_address(builder, planned.offset, planned.size, &block->scratch));
    block->scratch_size = planned.size;
    return kernel_add_step(builder, kernel, block, size);
}
