// SPDX-License-Identifier: MIT
/** Rows of samples from 0 to 255, read from a picture. */
#ifndef IMAGE_ROW_H
#define IMAGE_ROW_H

#include "image.h"

/** Fraction bits of a position between pixels, as TensorFlow Lite has them. */
enum { IMAGE_FRACTION = 10, IMAGE_ONE = 1 << IMAGE_FRACTION };

/** One direction of a resize. */
struct image_axis {
    int32_t input;
    int32_t output;
    float step;         /**< nearest: input pixels per output pixel */
    int32_t fixed_step; /**< bilinear: the same with IMAGE_FRACTION bits */
};

/** Two neighbours, and the distance from the first to the position. */
struct image_between {
    int32_t low;
    int32_t high;
    int32_t fraction;
};

struct image_axis image_make_axis(int32_t input, int32_t output);

/** The input pixel of an output pixel. */
int32_t image_nearest(const struct image_axis *axis, int32_t position);

static inline struct image_between image_find_between(const struct image_axis *axis,
                                                      int32_t position)
{
    int32_t place = position * axis->fixed_step + axis->fixed_step / 2 - IMAGE_ONE / 2;
    struct image_between between = {.low = place < 0 ? 0 : place >> IMAGE_FRACTION};
    between.high = (place + IMAGE_ONE - 1) >> IMAGE_FRACTION;
    if (between.high > axis->input - 1) {
        between.high = axis->input - 1;
    }
    between.fraction = place - between.low * IMAGE_ONE;
    return between;
}

/** The picture of one write, its size, and what is written for a pixel. */
struct image_rows {
    const struct image_view *view;
    struct image_axis x;
    struct image_axis y;
    int32_t channels;
};

/** Write the samples of row `y` of the output: x.output pixels of so many channels. */
void image_row_nearest(const struct image_rows *rows, int32_t y, uint8_t *samples);
void image_row_area(const struct image_rows *rows, int32_t y, uint8_t *samples);
void image_row_bilinear(const struct image_rows *rows, int32_t y, uint8_t *samples);

#endif
