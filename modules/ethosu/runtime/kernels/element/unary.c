// SPDX-License-Identifier: MIT
/**
 * Common code of elementwise operators of one tensor. The operators are in
 * activations.c and convert.c.
 *
 * For 8-bit inputs a table of 256 results is computed at load; results of 16-bit
 * inputs are computed at each run.
 */
#include "runtime/kernels/element/unary.h"

#include "runtime/kernels/shared/element.h"

#include <string.h>

static void run_table(const struct unary *p)
{
    const uint8_t *table = ((const struct unary_block *)p)->table;
    const uint8_t *input = p->input;
    KERNEL_BLOCKS(&p->call, first, end, p->count)
    {
        for (int32_t i = first; i < end; i++) {
            ((uint8_t *)p->output)[i] = table[input[i]];
        }
    }
}

int unary_run(const struct kernel_call *call)
{
    const struct unary *p = (const struct unary *)call;
    if (p->table) {
        run_table(p);
        return ETHOSU_MODEL_OK;
    }
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        for (int32_t i = first; i < end; i++) {
            int32_t value = p->function(p, element_load(p->input, i, p->input_type));
            element_store(p->output, i, p->output_type, value);
        }
    }
    return ETHOSU_MODEL_OK;
}

int unary_begin(struct builder *builder, const struct tflite_operator_call *call,
                struct kernel_tensor *input, struct kernel_tensor *output, struct unary *p)
{
    TRY(kernel_tensors(builder, call, input, 1, output, 1));
    if (input->count != output->count) {
        return kernel_bad(builder, "input and output differ in number of elements");
    }
    p->input = input->data;
    p->output = output->data;
    p->count = output->count;
    p->input_type = input->type;
    p->output_type = output->type;
    p->input_zero_point = input->zero_point;
    p->output_zero_point = output->zero_point;
    return ETHOSU_MODEL_OK;
}

int unary_begin_quantized(struct builder *builder, const struct tflite_operator_call *call,
                          struct kernel_tensor *input, struct kernel_tensor *output,
                          struct unary *p)
{
    TRY(unary_begin(builder, call, input, output, p));
    TRY(need_quantized(builder, input));
    TRY(need_quantized(builder, output));
    if (!range_of_type(output->type, &p->range)) {
        return kernel_bad_type(builder);
    }
    return input->type == output->type ? ETHOSU_MODEL_OK : kernel_bad_type(builder);
}

int unary_finish(struct builder *builder, const struct kernel *kernel, struct unary *p)
{
    struct unary_block block = {.unary = *p};
    struct range range;
    p = &block.unary;
    p->table = (p->input_type == ETHOSU_TYPE_INT8 || p->input_type == ETHOSU_TYPE_UINT8) &&
               (p->output_type == ETHOSU_TYPE_INT8 || p->output_type == ETHOSU_TYPE_UINT8);
    if (!p->table) {
        return kernel_add(builder, kernel, &p->call, sizeof block.unary);
    }
    range_of_type(p->input_type, &range);
    TRY(build_work(builder, sizeof block.table));
    for (int32_t i = range.low; i <= range.high && builder->loading; i++) {
        block.table[(uint8_t)i] = (uint8_t)p->function(p, i);
    }
    return kernel_add(builder, kernel, &p->call, sizeof block);
}
