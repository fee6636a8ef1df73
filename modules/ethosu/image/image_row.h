// SPDX-License-Identifier: MIT
/** Rows of samples from 0 to 255, read from a picture. */
#ifndef IMAGE_ROW_H
#define IMAGE_ROW_H

#include "runtime/kernels/shape/resize_axis.h"
#include "image.h"

/** Format and channels are constants where these functions are called. */
#define IMAGE_INLINE static inline __attribute__((always_inline))

/** The picture of one write, its axes, and the channels written per pixel. */
struct image_rows {
    const struct image_view *view;
    struct resize_axis x;
    struct resize_axis y;
    int32_t channels;
};

/** Write the samples of row `y` of the output: x.output pixels with all channels. */
void image_row_nearest(const struct image_rows *rows, int32_t y, uint8_t *samples);
void image_row_area(const struct image_rows *rows, int32_t y, uint8_t *samples);
void image_row_bilinear(const struct image_rows *rows, int32_t y, uint8_t *samples);
void image_row_corners(const struct image_rows *rows, int32_t y, uint8_t *samples);

#endif
