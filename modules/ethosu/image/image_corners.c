// SPDX-License-Identifier: MIT
/**
 * Bilinear as in OpenMV's cameras, shifted by half a pixel up and to the left; see image.h. The
 * results match imlib_draw_image() of its lib/imlib with the hint BILINEAR.
 */
#include "image_row.h"

/** Fraction bits of a position. */
enum { FRACTION = 16, ONE = 1 << FRACTION };

/** Channels of a pixel, in their original bit width. */
struct raw {
    int32_t channel[3];
};

/** Two neighbours, and the weight of the second. */
struct pair {
    int32_t first;
    int32_t second;
    int32_t place; /**< its fraction is the weight */
};

/** Pictures that are not resized, or one pixel wide or high, are neither interpolated nor moved. */
static bool is_plain(const struct image_rows *rows)
{
    return (rows->x.input == rows->x.output && rows->y.input == rows->y.output) ||
           rows->x.input <= 1 || rows->y.input <= 1;
}

/**
 * Neighbours of an output pixel. `cut`: distance of the view from the picture's edge, rounded to a
 * whole output pixel.
 */
static struct pair find(const struct resize_axis *axis, int32_t cut, int32_t position, bool plain)
{
    float scale = (float)axis->output / (float)axis->input;
    float begin = (float)(int32_t)((float)cut * scale) * (float)ONE;
    int32_t place = (int32_t)(begin / scale) - cut * ONE - (plain ? 0 : ONE / 2);
    place += position * (int32_t)((float)ONE / scale);
    struct pair pair = {place >> FRACTION, (place >> FRACTION) + 1, plain ? 0 : place};
    if (pair.first < 0) {
        pair.first = pair.second = 0;
    } else if (pair.second >= axis->input) {
        pair.first = pair.second = axis->input - 1;
    }
    return pair;
}

static struct raw load(const uint8_t *at, enum image_format format)
{
    if (format == IMAGE_GRAY) {
        return (struct raw){{at[0], 0, 0}};
    }
    if (format == IMAGE_RGB888) {
        return (struct raw){{at[0], at[1], at[2]}};
    }
    int32_t both = at[0] | at[1] << 8;
    return (struct raw){{both >> 11, both >> 5 & 63, both & 31}};
}

/** Mean with weights of `bits` bits; halves are rounded up. */
static int32_t mix(int32_t a, int32_t b, int32_t place, int bits)
{
    int32_t weight = place >> (FRACTION - bits) & ((1 << bits) - 1);
    return (a * ((1 << bits) - weight) + b * weight + (1 << (bits - 1))) >> bits;
}

static void store(uint8_t *samples, struct raw pixel, enum image_format format, int32_t channels)
{
    int32_t *c = pixel.channel;
    if (format == IMAGE_GRAY) {
        c[1] = c[2] = c[0];
    } else if (format == IMAGE_RGB565) {
        c[0] = c[0] << 3 | c[0] >> 2;
        c[1] = c[1] << 2 | c[1] >> 4;
        c[2] = c[2] << 3 | c[2] >> 2;
    }
    if (channels == 1 && format != IMAGE_GRAY) {
        c[0] = (38 * c[0] + 75 * c[1] + 15 * c[2]) >> 7;
    }
    for (int32_t k = 0; k < channels; k++) {
        samples[k] = (uint8_t)c[k];
    }
}

void image_row_corners(const struct image_rows *rows, int32_t y, uint8_t *samples)
{
    const struct image_view *view = rows->view;
    bool plain = is_plain(rows);
    struct pair row = find(&rows->y, view->top, y, plain);
    const uint8_t *upper = view->origin + (ptrdiff_t)row.first * view->step_y;
    const uint8_t *lower = view->origin + (ptrdiff_t)row.second * view->step_y;
    int bits = view->format == IMAGE_RGB565 ? 5 : 8;
    for (int32_t x = 0; x < rows->x.output; x++, samples += rows->channels) {
        struct pair column = find(&rows->x, view->left, x, plain);
        int32_t left = column.first * view->step_x;
        int32_t right = column.second * view->step_x;
        struct raw a = load(upper + left, view->format);
        struct raw b = load(upper + right, view->format);
        struct raw c = load(lower + left, view->format);
        struct raw d = load(lower + right, view->format);
        struct raw pixel;
        for (int k = 0; k < 3; k++) {
            int32_t first = mix(a.channel[k], c.channel[k], row.place, bits);
            int32_t second = mix(b.channel[k], d.channel[k], row.place, bits);
            pixel.channel[k] = mix(first, second, column.place, bits);
        }
        store(samples, pixel, view->format, rows->channels);
    }
}
