// SPDX-License-Identifier: MIT
/** BATCH_MATMUL: products of matrices; either one may be transposed or broadcast. */
#include "runtime/kernels/weighted/batch_matmul.h"

#include "runtime/kernels/shared/element.h"

/** Fields of the options. */
enum { OPTION_ADJ_X = 0, OPTION_ADJ_Y = 1 };

ELEMENT_INLINE int64_t sum_products(const struct matmul *p, int32_t x, int32_t y, uint32_t type)
{
    int64_t sum = 0;
    KERNEL_BLOCKS(&p->call, first, end, p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            int32_t a = element_load(p->x.data, x + i * p->x.step, type) + p->x.offset;
            int32_t b = element_load(p->y.data, y + i * p->y.step, type) + p->y.offset;
            sum += (int64_t)a * b;
        }
    }
    return sum;
}

static void multiply(const struct matmul *p, int32_t x, int32_t y, int32_t output)
{
    bool wide = p->type == ETHOSU_TYPE_INT16;
    for (int32_t i = 0; i < p->rows * p->columns && !kernel_is_stopped(&p->call); i++) {
        int32_t at_x = x + i / p->columns * p->x.row;
        int32_t at_y = y + i % p->columns * p->y.row;
        int32_t value;
        if (wide) {
            value = fixed_rescale_64(sum_products(p, at_x, at_y, ETHOSU_TYPE_INT16), p->scale);
        } else {
            int64_t sum = sum_products(p, at_x, at_y, ETHOSU_TYPE_INT8);
            value = fixed_add(fixed_rescale((int32_t)sum, p->scale), p->output_offset);
        }
        element_store(p->output, output + i, p->type,
                      fixed_clamp(value, p->range.low, p->range.high));
    }
}

static int run_matmul(const struct kernel_call *call)
{
    const struct matmul *p = (const struct matmul *)call;
    const struct nd_dimension *row = &p->walk.dimension[0];
    struct nd_cursor cursor = {0};
    do {
        for (int32_t i = 0; i < row->extent && !kernel_is_stopped(call); i++) {
            multiply(p, cursor.offset[1] + i * row->stride[1],
                     cursor.offset[2] + i * row->stride[2], cursor.offset[0] + i * row->stride[0]);
        }
    } while (!kernel_is_stopped(call) && nd_next(&p->walk, &cursor));
    return ETHOSU_MODEL_OK;
}

/** Number of rows of a matrix, or columns if `last`. */
static int32_t matrix_size(const struct kernel_tensor *matrix, bool last)
{
    return matrix->shape[matrix->rank - (last ? 1 : 2)];
}

/** Set up the walk over the batches: the tensors without their matrices, strides in elements. */
static bool walk_batches(struct matmul *p, struct kernel_tensor *in, struct kernel_tensor *out)
{
    int32_t matrix[3] = {matrix_size(out, true) * matrix_size(out, false),
                         matrix_size(&in[0], true) * matrix_size(&in[0], false),
                         matrix_size(&in[1], true) * matrix_size(&in[1], false)};
    struct kernel_tensor batches[3] = {*out, in[0], in[1]};
    for (int i = 0; i < 3; i++) {
        batches[i].rank -= 2;
    }
    if (!nd_broadcast(&p->walk, &batches[0], &batches[1], 2)) {
        return false;
    }
    for (uint32_t i = 0; i < p->walk.rank; i++) {
        for (int k = 0; k < 3; k++) {
            p->walk.dimension[i].stride[k] *= matrix[k];
        }
    }
    return true;
}

static int check_matrix(struct builder *builder, const struct kernel_tensor *matrix, uint32_t type)
{
    TRY(need_quantized(builder, matrix));
    if (matrix->type == ETHOSU_TYPE_UINT8 || matrix->type != type) {
        return kernel_bad_type(builder);
    }
    if (matrix->rank < 2) {
        return kernel_bad(builder, "a tensor has fewer than 2 dimensions");
    }
    return ETHOSU_MODEL_OK;
}

/** Range and scale of the output. */
static int prepare_scale(struct builder *builder, const struct kernel_tensor *in,
                         const struct kernel_tensor *out, struct matmul *p)
{
    range_of_type(out->type, &p->range);
    double product = (double)in[0].scale * (double)in[1].scale;
    TRY(need_rescale(builder, product / (double)out->scale, &p->scale));
    if (out->type == ETHOSU_TYPE_INT16 && p->scale.shift > 7) {
        return kernel_bad(builder, "combined scale is too large");
    }
    return ETHOSU_MODEL_OK;
}

static int prepare_matmul(struct builder *builder, const struct tflite_operator_call *call,
                          const struct kernel *kernel)
{
    struct kernel_tensor in[2];
    struct kernel_tensor out;
    TRY(kernel_tensors(builder, call, in, 2, &out, 1));
    TRY(check_matrix(builder, &in[0], out.type));
    TRY(check_matrix(builder, &in[1], out.type));
    TRY(check_matrix(builder, &out, out.type));
    bool adj_x = kernel_option_byte(builder, call, OPTION_ADJ_X, 0) != 0;
    bool adj_y = kernel_option_byte(builder, call, OPTION_ADJ_Y, 0) != 0;
    int32_t width_x = matrix_size(&in[0], true);
    int32_t width_y = matrix_size(&in[1], true);
    struct matmul p = {
        .x = {in[0].data, -in[0].zero_point, adj_x ? 1 : width_x, adj_x ? width_x : 1},
        .y = {in[1].data, -in[1].zero_point, adj_y ? width_y : 1, adj_y ? 1 : width_y},
        .output = out.data,
        .rows = matrix_size(&in[0], adj_x),
        .columns = matrix_size(&in[1], !adj_y),
        .depth = matrix_size(&in[0], !adj_x),
        .output_offset = out.zero_point,
        .type = out.type,
    };
    if (p.depth != matrix_size(&in[1], adj_y) || matrix_size(&out, false) != p.rows ||
        matrix_size(&out, true) != p.columns || !walk_batches(&p, in, &out)) {
        return kernel_bad(builder, "shapes do not match");
    }
    TRY(prepare_scale(builder, in, &out, &p));
    return kernel_add(builder, kernel, &p.call, nd_block_size(&p, &p.walk));
}

DEFINE_KERNEL(BATCH_MATMUL, .prepare = prepare_matmul, .run = run_matmul);
