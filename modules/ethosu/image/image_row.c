// SPDX-License-Identifier: MIT
/** Rows of samples; see image_row.h. */
#include "image_row.h"

#include <string.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define IMAGE_MVE 1
#include <arm_mve.h>
#else
#define IMAGE_MVE 0
#endif

#define ALWAYS static inline __attribute__((always_inline))

struct image_axis image_make_axis(int32_t input, int32_t output)
{
    return (struct image_axis){
        .input = input,
        .output = output,
        .step = (float)input / (float)output,
        .fixed_step = (int32_t)(((int64_t)input * IMAGE_ONE + output / 2) / output),
    };
}

int32_t image_nearest(const struct image_axis *axis, int32_t position)
{
    int32_t place = (int32_t)(((float)position + 0.5F) * axis->step);
    return place < axis->input ? place : axis->input - 1;
}

struct pixel {
    int32_t channel[3];
};

/** One pixel as 1 or 3 channels from 0 to 255. */
ALWAYS struct pixel load(const uint8_t *at, enum image_format format, int32_t channels)
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

ALWAYS void nearest_row(const struct image_rows *rows, const uint8_t *line, uint8_t *samples,
                        enum image_format format, int32_t channels)
{
    bool same = rows->x.input == rows->x.output;
    for (int32_t i = 0; i < rows->x.output; i++) {
        int32_t x = same ? i : image_nearest(&rows->x, i);
        struct pixel pixel = load(line + x * rows->view->step_x, format, channels);
        for (int32_t c = 0; c < channels; c++) {
            *samples++ = (uint8_t)pixel.channel[c];
        }
    }
}

ALWAYS void bilinear_row(const struct image_rows *rows, const uint8_t *upper, const uint8_t *lower,
                         int32_t weight, uint8_t *samples, enum image_format format,
                         int32_t channels)
{
    for (int32_t i = 0; i < rows->x.output; i++) {
        struct image_between x = image_find_between(&rows->x, i);
        int32_t low = x.low * rows->view->step_x;
        int32_t high = x.high * rows->view->step_x;
        struct pixel a = load(upper + low, format, channels);
        struct pixel b = load(upper + high, format, channels);
        struct pixel c = load(lower + low, format, channels);
        struct pixel d = load(lower + high, format, channels);
        for (int32_t k = 0; k < channels; k++) {
            int32_t left = a.channel[k] * (IMAGE_ONE - weight) + c.channel[k] * weight;
            int32_t right = b.channel[k] * (IMAGE_ONE - weight) + d.channel[k] * weight;
            int32_t sum = left * (IMAGE_ONE - x.fraction) + right * x.fraction;
            *samples++ = (uint8_t)((sum + (1 << 19)) >> 20);
        }
    }
}

/** The pixels of one output pixel, in one direction. */
struct span {
    int32_t first;
    int32_t end;
};

static inline struct span find_span(const struct image_axis *axis, int32_t position)
{
    struct span span = {position * axis->input / axis->output,
                        (position + 1) * axis->input / axis->output};
    if (span.end == span.first) {
        span.end++;
    }
    return span;
}

ALWAYS void area_row(const struct image_rows *rows, const uint8_t *line, int32_t lines,
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
        uint64_t count = (uint64_t)(span.end - span.first) * (uint64_t)lines;
        for (int32_t c = 0; c < channels; c++) {
            *samples++ = (uint8_t)((sums[c] + count / 2) / count);
        }
    }
}

/** The three loops, with constants in the place of format and channels. */
#define KIND(NAME, FORMAT, CHANNELS)                                                           \
    static void nearest_##NAME(const struct image_rows *rows, const uint8_t *line,             \
                               uint8_t *samples)                                               \
    {                                                                                          \
        nearest_row(rows, line, samples, FORMAT, CHANNELS);                                    \
    }                                                                                          \
    static void area_##NAME(const struct image_rows *rows, const uint8_t *line, int32_t lines, \
                            uint8_t *samples)                                                  \
    {                                                                                          \
        area_row(rows, line, lines, samples, FORMAT, CHANNELS);                                \
    }                                                                                          \
    static void bilinear_##NAME(const struct image_rows *rows, const uint8_t *upper,           \
                                const uint8_t *lower, int32_t weight, uint8_t *samples)        \
    {                                                                                          \
        bilinear_row(rows, upper, lower, weight, samples, FORMAT, CHANNELS);                   \
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
    const uint8_t *line = line_of(rows, image_nearest(&rows->y, y));
    loops_of(rows)->nearest(rows, line, samples);
}

void image_row_area(const struct image_rows *rows, int32_t y, uint8_t *samples)
{
    struct span span = find_span(&rows->y, y);
    loops_of(rows)->area(rows, line_of(rows, span.first), span.end - span.first, samples);
}

#if IMAGE_MVE
/** One channel of a row, four pixels at a time; it is a byte of its own in the picture. */
static void bilinear_plane(const struct image_rows *rows, const uint8_t *upper,
                           const uint8_t *lower, int32_t weight, uint8_t *samples)
{
    const struct image_axis *x = &rows->x;
    int32x4_t place = vaddq_n_s32(vmulq_n_s32((int32x4_t)vidupq_n_u32(0, 1), x->fixed_step),
                                  x->fixed_step / 2 - IMAGE_ONE / 2);
    uint32x4_t to = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)rows->channels);
    for (int32_t left = x->output; left > 0; left -= 4) {
        mve_pred16_t lanes = vctp32q((uint32_t)left);
        int32x4_t low = vmaxq_s32(vshrq_n_s32(place, IMAGE_FRACTION), vdupq_n_s32(0));
        int32x4_t high = vshrq_n_s32(vaddq_n_s32(place, IMAGE_ONE - 1), IMAGE_FRACTION);
        high = vminq_s32(high, vdupq_n_s32(x->input - 1));
        int32x4_t fraction = vsubq_s32(place, vshlq_n_s32(low, IMAGE_FRACTION));
        uint32x4_t at_low = (uint32x4_t)vmulq_n_s32(low, rows->view->step_x);
        uint32x4_t at_high = (uint32x4_t)vmulq_n_s32(high, rows->view->step_x);
        int32x4_t a = (int32x4_t)vldrbq_gather_offset_z_u32(upper, at_low, lanes);
        int32x4_t b = (int32x4_t)vldrbq_gather_offset_z_u32(upper, at_high, lanes);
        int32x4_t c = (int32x4_t)vldrbq_gather_offset_z_u32(lower, at_low, lanes);
        int32x4_t d = (int32x4_t)vldrbq_gather_offset_z_u32(lower, at_high, lanes);
        a = vmlaq_n_s32(vshlq_n_s32(a, IMAGE_FRACTION), vsubq_s32(c, a), weight);
        b = vmlaq_n_s32(vshlq_n_s32(b, IMAGE_FRACTION), vsubq_s32(d, b), weight);
        int32x4_t sum =
            vaddq_s32(vshlq_n_s32(a, IMAGE_FRACTION), vmulq_s32(vsubq_s32(b, a), fraction));
        vstrbq_scatter_offset_p_u32(samples, to, (uint32x4_t)vrshrq_n_s32(sum, 20), lanes);
        place = vaddq_n_s32(place, 4 * x->fixed_step);
        to = vaddq_n_u32(to, 4 * (uint32_t)rows->channels);
    }
}

static bool has_planes(const struct image_rows *rows)
{
    return (rows->view->format == IMAGE_GRAY && rows->channels == 1) ||
           (rows->view->format == IMAGE_RGB888 && rows->channels == 3);
}
#endif

void image_row_bilinear(const struct image_rows *rows, int32_t y, uint8_t *samples)
{
    struct image_between between = image_find_between(&rows->y, y);
    const uint8_t *upper = line_of(rows, between.low);
    const uint8_t *lower = line_of(rows, between.high);
#if IMAGE_MVE
    if (has_planes(rows)) {
        for (int32_t c = 0; c < rows->channels; c++) {
            bilinear_plane(rows, upper + c, lower + c, between.fraction, samples + c);
        }
        return;
    }
#endif
    loops_of(rows)->bilinear(rows, upper, lower, between.fraction, samples);
}
