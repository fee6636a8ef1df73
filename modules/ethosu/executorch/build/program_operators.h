// SPDX-License-Identifier: MIT
/** The operators of ExecuTorch programs that the CPU computes. */
#ifndef PROGRAM_OPERATORS_H
#define PROGRAM_OPERATORS_H

#include <stddef.h>

#include "executorch/build/program_builder.h"
#include "runtime/kernels/shared/kernel.h"

/** Checks an operator's call and adds its step; returns enum ethosu_model_status. */
typedef int (*prepare_operator)(struct program_builder *program, const struct fb_vector *arguments);

int prepare_quantize(struct program_builder *program, const struct fb_vector *arguments);
int prepare_dequantize(struct program_builder *program, const struct fb_vector *arguments);

int prepare_assign(struct program_builder *program, const struct fb_vector *arguments);
int prepare_clone(struct program_builder *program, const struct fb_vector *arguments);
int prepare_convert(struct program_builder *program, const struct fb_vector *arguments);
int prepare_permute(struct program_builder *program, const struct fb_vector *arguments);

int prepare_cat(struct program_builder *program, const struct fb_vector *arguments);
int prepare_expand(struct program_builder *program, const struct fb_vector *arguments);
int prepare_pad(struct program_builder *program, const struct fb_vector *arguments);
int prepare_slice(struct program_builder *program, const struct fb_vector *arguments);
int prepare_view(struct program_builder *program, const struct fb_vector *arguments);

int prepare_activation(struct program_builder *program, const struct fb_vector *arguments);
int prepare_add(struct program_builder *program, const struct fb_vector *arguments);
int prepare_batch_matmul(struct program_builder *program, const struct fb_vector *arguments);
int prepare_maximum(struct program_builder *program, const struct fb_vector *arguments);
int prepare_minimum(struct program_builder *program, const struct fb_vector *arguments);
int prepare_mul(struct program_builder *program, const struct fb_vector *arguments);
int prepare_softmax(struct program_builder *program, const struct fb_vector *arguments);

int prepare_max_pool2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_real_avg_pool2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_avg_pool2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_conv2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_depthwise_conv2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_transpose_conv2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_linear(struct program_builder *program, const struct fb_vector *arguments);

/** Reject the current operator: "shapes do not match", and the shapes. */
int program_refuse_shapes(struct program_builder *program);

/**
 * Reject an operator that copies a tensor to another one or to scratch if they overlap without
 * being identical, because kernels copy with memcpy().
 */
int program_check_apart(struct program_builder *program, const struct program_operand *from,
                        const struct program_operand *to);

/** Copy a tensor to one of another type and the same sizes, element by element. */
int program_convert(struct program_builder *program, const struct program_operand *in,
                    const struct program_operand *out);

/** Get argument `index`, which must be an Int within the limits, a Double or a tensor. */
int argument_int(struct program_builder *program, const struct fb_vector *arguments, uint32_t index,
                 int32_t low, int32_t high, int32_t *number);
int argument_double(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, double *number);
int argument_tensor(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, struct program_operand *operand);

/** Limits of common Int arguments. */
enum argument_limits {
    LIMITS_INT8,       /**< -128 to 127 */
    LIMITS_NEGATED,    /**< the same; stored negated */
    LIMITS_OFFSET,     /**< a negated one: -127 to 128 */
    LIMITS_HIGH,       /**< from the number stored before it to 127 */
    LIMITS_MULTIPLIER, /**< 0 to 2^31 - 1 */
    LIMITS_SHIFT,      /**< -31 to 30 */
};

/** An Int argument and the byte offset in the block where it is stored. */
struct int_argument {
    uint8_t index;
    uint8_t limits; /**< enum argument_limits */
    uint16_t at;
};

/** Read Int arguments. */
int argument_ints(struct program_builder *program, const struct fb_vector *arguments,
                  const struct int_argument *table, uint32_t count, void *block);

/** A multiplier followed by a shift, the two numbers of a scale. */
#define SCALE_ARGUMENTS(index, type, scale)                         \
    {(index), LIMITS_MULTIPLIER, offsetof(type, scale.multiplier)}, \
    {                                                               \
        (index) + 1, LIMITS_SHIFT, offsetof(type, scale.shift)      \
    }

/** Get the result, a planned tensor, from the last two arguments. */
int argument_result(struct program_builder *program, const struct fb_vector *arguments,
                    struct program_operand *operand);

/** Compute the strides in elements, in the order of the sizes. */
void program_strides(const struct program_tensor *tensor, int32_t *strides);

/** Are a tensor's bytes in the order of its dimensions? */
bool program_is_in_order(const struct program_tensor *tensor);

/** Find the kernel of a TensorFlow Lite operator; rejected if this firmware does not contain it. */
int program_kernel(struct program_builder *program, uint32_t code, const struct kernel **kernel);

/**
 * Add the step of a kernel that may need scratch.
 *
 * @param planned  argument with the scratch planned by the exporter, or NULL
 */
int program_add_kernel(struct program_builder *program, const struct kernel *kernel,
                       struct kernel_call *block, size_t size,
                       const struct program_operand *planned);

#endif
