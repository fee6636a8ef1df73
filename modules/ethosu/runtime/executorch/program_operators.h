// SPDX-License-Identifier: MIT
/** The operators of ExecuTorch programs that the CPU computes. */
#ifndef PROGRAM_OPERATORS_H
#define PROGRAM_OPERATORS_H

#include "build_program.h"
#include "kernels/kernel.h"

/** Checks an operator's call and adds its step; returns enum ethosu_model_status. */
typedef int (*prepare_operator)(struct program_builder *program, const struct fb_vector *arguments);

int prepare_quantize(struct program_builder *program, const struct fb_vector *arguments);
int prepare_dequantize(struct program_builder *program, const struct fb_vector *arguments);

int prepare_assign(struct program_builder *program, const struct fb_vector *arguments);
int prepare_clone(struct program_builder *program, const struct fb_vector *arguments);
int prepare_permute(struct program_builder *program, const struct fb_vector *arguments);

int prepare_avg_pool2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_conv2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_depthwise_conv2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_transpose_conv2d(struct program_builder *program, const struct fb_vector *arguments);
int prepare_linear(struct program_builder *program, const struct fb_vector *arguments);

/** Argument `index`: refused unless it is an Int within these limits, a Double, a tensor. */
int argument_int(struct program_builder *program, const struct fb_vector *arguments, uint32_t index,
                 int64_t low, int64_t high, int32_t *number);
int argument_double(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, double *number);
int argument_tensor(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, struct program_operand *operand);

/** The result: the last two arguments, a planned tensor. */
int argument_result(struct program_builder *program, const struct fb_vector *arguments,
                    struct program_operand *operand);

#endif
