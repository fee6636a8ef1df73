// SPDX-License-Identifier: MIT
/** Maps output pixels to input pixels as in TensorFlow Lite's RESIZE operators. */
#ifndef RESIZE_AXIS_H
#define RESIZE_AXIS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/** Fraction bits of a position between pixels. */
enum { RESIZE_FRACTION = 10, RESIZE_ONE = 1 << RESIZE_FRACTION };

/** One direction of a resize. */
struct resize_axis {
    int32_t input;
    int32_t output;
    float step;         /**< nearest: input pixels per output pixel */
    int32_t fixed_step; /**< bilinear: the same with RESIZE_FRACTION bits */
};

/** Two neighbours, and the distance from the first to the position. */
struct resize_between {
    int32_t low;
    int32_t high;
    int32_t fraction;
};

static inline struct resize_axis resize_make_axis(int32_t input, int32_t output, bool corners)
{
    bool between = corners && output > 1;
    int32_t from = between ? input - 1 : input;
    int32_t to = between ? output - 1 : output;
    return (struct resize_axis){
        .input = input,
        .output = output,
        .step = (float)from / (float)to,
        .fixed_step = (int32_t)(((int64_t)from * RESIZE_ONE + to / 2) / to),
    };
}

/** The input pixel of an output pixel. */
static inline int32_t resize_nearest(const struct resize_axis *axis, int32_t position, bool half,
                                     bool corners)
{
    float place = ((float)position + (half ? 0.5F : 0.0F)) * axis->step;
    int32_t index = (int32_t)(corners ? roundf(place) : place); // not negative
    return index < axis->input ? index : axis->input - 1;
}

static inline struct resize_between resize_find_between(const struct resize_axis *axis,
                                                        int32_t position, bool half)
{
    int32_t place = position * axis->fixed_step;
    if (half) {
        place += axis->fixed_step / 2 - RESIZE_ONE / 2;
    }
    struct resize_between between = {.low = place < 0 ? 0 : place >> RESIZE_FRACTION};
    between.high = (place + RESIZE_ONE - 1) >> RESIZE_FRACTION;
    if (between.high > axis->input - 1) {
        between.high = axis->input - 1;
    }
    between.fraction = place - between.low * RESIZE_ONE;
    return between;
}

#endif
