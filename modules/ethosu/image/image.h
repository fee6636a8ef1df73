// SPDX-License-Identifier: MIT
/**
 * Converts pictures to tensors: crops, rotates, resizes, converts and maps through a table, in one
 * pass. Nothing is allocated, and every result is defined exactly:
 *
 * - a pixel of RGB565 (two bytes, little-endian) has the channels round(v * 255 / 31) and
 *   round(v * 255 / 63);
 * - the grey of a pixel is (19595 R + 38470 G + 7471 B + 32768) >> 16, ITU-R BT.601 as Pillow
 *   computes it;
 * - nearest and bilinear are TensorFlow Lite's RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR of
 *   integers with half_pixel_centers, on values from 0 to 255, after the conversion above;
 * - area is the mean, halves up, of the pixels from floor(i * input / output) to before
 *   floor((i + 1) * input / output), at least one, in each direction;
 * - corners is bilinear as in OpenMV's cameras: pixel i is at i * input / output - 0.5; rows, then
 *   columns are interpolated and rounded at the picture's bit depth, in 32nds (RGB565) or 256ths;
 *   bits are replicated to make 8, and grey is (38 R + 75 G + 15 B) >> 7;
 * - each value is written as table[channel][value].
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Maximum width and height of a picture. */
#define IMAGE_MAX_SIDE 16384

enum image_format { IMAGE_GRAY, IMAGE_RGB565, IMAGE_RGB888, IMAGE_FORMATS };

enum image_filter { IMAGE_NEAREST, IMAGE_BILINEAR, IMAGE_AREA, IMAGE_CORNERS, IMAGE_FILTERS };

/** Part of a picture; a step leads from one pixel to the next in either direction. */
struct image_view {
    const uint8_t *origin; /**< first byte of the upper left pixel */
    int32_t width;
    int32_t height;
    int32_t step_x; /**< bytes */
    int32_t step_y;
    enum image_format format;
    int32_t left; /**< where it was cut out of the picture */
    int32_t top;
};

struct image_rectangle {
    int32_t x;
    int32_t y;
    int32_t width;
    int32_t height;
};

/** Destination of a picture: rows of pixels with 1 or 3 channels. */
struct image_target {
    void *data;
    int32_t width;
    int32_t height;
    int32_t channels;
    struct image_rectangle inner; /**< the picture goes here, black around it */
    const void *table;            /**< 256 elements; NULL to write bytes unchanged */
    uint32_t table_step;   /**< elements from one channel's table to the next; 0: one for all */
    uint32_t element_size; /**< 1, 2 or 4 bytes */
};

/** Bytes of a pixel. */
int32_t image_pixel_size(enum image_format format);

/** All of a picture without gaps between its rows. */
struct image_view image_view_of(const uint8_t *pixels, int32_t width, int32_t height,
                                enum image_format format);

/** Is a rectangle inside a picture of this size, and not empty? */
bool image_has(int32_t width, int32_t height, const struct image_rectangle *rectangle);

/** Crop a view to a rectangle; false if it is empty or not entirely inside. */
bool image_crop(struct image_view *view, const struct image_rectangle *rectangle);

/** Rotate a view clockwise by this many quarter turns. */
void image_turn(struct image_view *view, int quarters);

/** Swap left and right. */
void image_mirror(struct image_view *view);

/** The largest rectangle with a view's proportions, in the middle of a target. */
struct image_rectangle image_fit(const struct image_view *view, int32_t width, int32_t height);

/** The largest rectangle with a target's proportions, in the middle of a view. */
struct image_rectangle image_cover(const struct image_view *view, int32_t width, int32_t height);

/** Write a view to all of a target. */
void image_write(const struct image_view *view, const struct image_target *target,
                 enum image_filter filter);

#endif
