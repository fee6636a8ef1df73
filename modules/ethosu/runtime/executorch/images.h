// SPDX-License-Identifier: MIT
/** What operators of ExecuTorch programs share that slide a window over an image. */
#ifndef IMAGES_H
#define IMAGES_H

#include "kernels/weighted.h"
#include "program_operators.h"

/** Most elements of a stride, a dilation or padding; with it no position overflows. */
enum { IMAGE_MOST = 1 << 20 };

/** Shape [N, H, W, C] of an int8 tensor of 4 dimensions whose bytes lie so; refuses others. */
int image_shape(struct program_builder *program, const struct program_tensor *tensor,
                int32_t shape[4]);

/** Read height and width; one number stands for both. */
int image_pair(struct program_builder *program, const struct fb_vector *arguments, uint32_t index,
               int64_t least, int64_t pair[2]);

/** A window in one direction: over `image`, with so many positions. False: it is too large. */
bool image_window(struct window *window, int32_t image, int32_t positions, int32_t size,
                  int64_t stride, int64_t dilation, int64_t pad);

/** Has a window as many positions as its output has pixels? */
bool image_slides(const struct window *window);

#endif
