// SPDX-License-Identifier: MIT
/** Shared by the operators of ExecuTorch programs that slide a window over an image. */
#ifndef SLIDING_WINDOW_H
#define SLIDING_WINDOW_H

#include "runtime/kernels/weighted/weighted.h"
#include "executorch/build/program_operators.h"

/** Maximum stride, dilation or padding in elements, so that positions cannot overflow. */
enum { WINDOW_MAX = 1 << 20 };

/** Get the shape [N, H, W, C] of a 4-D int8 tensor in this byte order; rejects others. */
int window_image_shape(struct program_builder *program, const struct program_tensor *tensor,
                       int32_t shape[4]);

/** Read height and width; a single number is used for both. */
int window_read_pair(struct program_builder *program, const struct fb_vector *arguments,
                     uint32_t index, int64_t least, int64_t pair[2]);

/** Set up a window over `image` in one direction, with `positions` positions; false if too large.
 */
bool window_init(struct window *window, int32_t image, int32_t positions, int32_t size,
                 int64_t stride, int64_t dilation, int64_t pad);

/** Does a window have as many positions as its output has pixels? */
bool window_fits_output(const struct window *window);

#endif
