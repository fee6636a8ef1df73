// SPDX-License-Identifier: MIT
/** Rows of samples; see image_row.h. */
#include "image_row.h"

#include "image_mve.h"

#include <string.h>

/** With half_pixel_centers, without align_corners. */
IMAGE_INLINE int32_t nearest_of(const struct resize_axis *axis, int32_t position)
{
    return resize_nearest(axis, position, true, false);
}

// With MVE, few pictures need these loops, so one function for all kinds is sufficient.
#if ETHOSU_IMAGE_MVE
#define IMAGE_SCALAR static __attribute__((noinline, noclone))
#else
#define IMAGE_SCALAR IMAGE_INLINE
#endif

struct pixel {
    int32_t channel[3];
};

/** One pixel as 1 or 3 channels from 0 to 255. */
IMAGE_INLINE struct pixel load(const uint8_t *at, enum image_format format, int32_t channels)
{
    if (format == IMAGE_GRAY) {
        return (struct pixel){{at[0], at[0], at[0]}};
    }
    int32_t red = at[0];
    int32_t green = at[1];
    int32_t blue = 0;
    if (format == IMAGE_RGB565) {
        int32_t both = red | green << 8;
        red = ((both >> 11) * 527 + 23) >> 6;
        green = (((both >> 5) & 63) * 259 + 33) >> 6;
        blue = ((both & 31) * 527 + 23) >> 6;
    } else {
        blue = at[2];
    }
    if (channels == 1) {
        return (struct pixel){{(19595 * red + 38470 * green + 7471 * blue + 32768) >> 16, 0, 0}};
    }
    return (struct pixel){{red, green, blue}};
}

IMAGE_SCALAR void nearest_row(const struct image_rows *rows, const uint8_t *line, uint8_t *samples,
                              enum image_format format, int32_t channels)
{
    bool same = rows->x.input == rows->x.output;
    for (int32_t i = 0; i < rows->x.output; i++) {
        int32_t x = same ? i : nearest_of(&rows->x, i);
        struct pixel pixel = load(line + x * rows->view->step_x, format, channels);
        for (int32_t c = 0; c < channels; c++) {
            *samples++ = (uint8_t)pixel.channel[c];
        }
    }
}

/** The rounded step of a large output can end past the last pixel, which is then used. */
static inline struct resize_between image_between(const struct resize_axis *axis, int32_t position)
{
    struct resize_between between = resize_find_between(axis, position, true);
    if (between.low > between.high) {
        between.low = between.high;
        between.fraction = 0;
    }
    return between;
}

IMAGE_SCALAR void bilinear_row(const struct image_rows *rows, const uint8_t *upper,
                               const uint8_t *lower, int32_t weight, uint8_t *samples,
                               enum image_format format, int32_t channels)
{
    for (int32_t i = 0; i < rows->x.output; i++) {
        struct resize_between x = image_between(&rows->x, i);
        int32_t low = x.low * rows->view->step_x;
        int32_t high = x.high * rows->view->step_x;
        struct pixel a = load(upper + low, format, channels);
        struct pixel b = load(upper + high, format, channels);
        struct pixel c = load(lower + low, format, channels);
        struct pixel d = load(lower + high, format, channels);
        for (int32_t k = 0; k < channels; k++) {
            int32_t left = a.channel[k] * (RESIZE_ONE - weight) + c.channel[k] * weight;
            int32_t right = b.channel[k] * (RESIZE_ONE - weight) + d.channel[k] * weight;
            int32_t sum = left * (RESIZE_ONE - x.fraction) + right * x.fraction;
            *samples++ = (uint8_t)((sum + (1 << 19)) >> 20);
        }
    }
}

/** The input pixels of one output pixel, in one direction. */
struct span {
    int32_t first;
    int32_t end;
};

static inline struct span find_span(const struct resize_axis *axis, int32_t position)
{
    struct span span = {position * axis->input / axis->output,
                        (position + 1) * axis->input / axis->output};
    if (span.end == span.first) {
        span.end++;
    }
    return span;
}

IMAGE_SCALAR void area_row(const struct image_rows *rows, const uint8_t *line, int32_t lines,
                           uint8_t *samples, enum image_format format, int32_t channels)
{
    for (int32_t i = 0; i < rows->x.output; i++) {
        struct span span = find_span(&rows->x, i);
        uint64_t sums[3] = {0, 0, 0};
        for (int32_t y = 0; y < lines; y++) {
            const uint8_t *at = line + (ptrdiff_t)y * rows->view->step_y;
            for (int32_t x = span.first; x < span.end; x++) {
                struct pixel pixel = load(at + x * rows->view->step_x, format, channels);
                for (int32_t c = 0; c < channels; c++) {
                    sums[c] += (uint32_t)pixel.channel[c];
                }
            }
        }
        uint32_t count = (uint32_t)(span.end - span.first) * (uint32_t)lines;
        for (int32_t c = 0; c < channels; c++) {
            uint64_t sum = sums[c] + count / 2;
            // A 32-bit division is one instruction.
            *samples++ = (uint8_t)(sum <= UINT32_MAX ? (uint32_t)sum / count : sum / count);
        }
    }
}

/** The three loops, with format and channels as constants. */
#define KIND(NAME, FORMAT, CHANNELS)                                                           \
    static void nearest_##NAME(const struct image_rows *rows, const uint8_t *line,             \
                               uint8_t *samples)                                               \
    {                                                                                          \
        if (!nearest_fours(rows, line, samples, FORMAT, CHANNELS)) {                           \
            nearest_row(rows, line, samples, FORMAT, CHANNELS);                                \
        }                                                                                      \
    }                                                                                          \
    static void area_##NAME(const struct image_rows *rows, const uint8_t *line, int32_t lines, \
                            uint8_t *samples)                                                  \
    {                                                                                          \
        if (!area_fours(rows, line, lines, samples, FORMAT, CHANNELS)) {                       \
            area_row(rows, line, lines, samples, FORMAT, CHANNELS);                            \
        }                                                                                      \
    }                                                                                          \
    static void bilinear_##NAME(const struct image_rows *rows, const uint8_t *upper,           \
                                const uint8_t *lower, int32_t weight, uint8_t *samples)        \
    {                                                                                          \
        if (!bilinear_fours(rows, upper, lower, weight, samples, FORMAT, CHANNELS)) {          \
            bilinear_row(rows, upper, lower, weight, samples, FORMAT, CHANNELS);               \
        }                                                                                      \
    }

KIND(gray_1, IMAGE_GRAY, 1)
KIND(gray_3, IMAGE_GRAY, 3)
KIND(rgb565_1, IMAGE_RGB565, 1)
KIND(rgb565_3, IMAGE_RGB565, 3)
KIND(rgb888_1, IMAGE_RGB888, 1)
KIND(rgb888_3, IMAGE_RGB888, 3)

/** By format, then for 1 and for 3 channels. */
static const struct loops {
    void (*nearest)(const struct image_rows *rows, const uint8_t *line, uint8_t *samples);
    void (*bilinear)(const struct image_rows *rows, const uint8_t *upper, const uint8_t *lower,
                     int32_t weight, uint8_t *samples);
    void (*area)(const struct image_rows *rows, const uint8_t *line, int32_t lines,
                 uint8_t *samples);
} loops[IMAGE_FORMATS][2] = {
#define ROW(NAME) {nearest_##NAME, bilinear_##NAME, area_##NAME}
    [IMAGE_GRAY] = {ROW(gray_1), ROW(gray_3)},
    [IMAGE_RGB565] = {ROW(rgb565_1), ROW(rgb565_3)},
    [IMAGE_RGB888] = {ROW(rgb888_1), ROW(rgb888_3)},
};

static const struct loops *loops_of(const struct image_rows *rows)
{
    return &loops[rows->view->format][rows->channels == 3];
}

static const uint8_t *line_of(const struct image_rows *rows, int32_t y)
{
    return rows->view->origin + (ptrdiff_t)y * rows->view->step_y;
}

void image_row_nearest(const struct image_rows *rows, int32_t y, uint8_t *samples)
{
    const uint8_t *line = line_of(rows, nearest_of(&rows->y, y));
    loops_of(rows)->nearest(rows, line, samples);
}

void image_row_area(const struct image_rows *rows, int32_t y, uint8_t *samples)
{
    struct span span = find_span(&rows->y, y);
    loops_of(rows)->area(rows, line_of(rows, span.first), span.end - span.first, samples);
}

void image_row_bilinear(const struct image_rows *rows, int32_t y, uint8_t *samples)
{
    struct resize_between between = image_between(&rows->y, y);
    const uint8_t *upper = line_of(rows, between.low);
    const uint8_t *lower = line_of(rows, between.high);
    loops_of(rows)->bilinear(rows, upper, lower, between.fraction, samples);
}
