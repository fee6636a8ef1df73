// SPDX-License-Identifier: MIT
/**
 * The loops of image_row.c for MVE (Helium), four output pixels at a time, with the same results.
 *
 * Each returns false if it does nothing: without MVE, for two-byte pixels at an odd address, which
 * MVE cannot load, and for means of very many pixels.
 */
#ifndef IMAGE_MVE_H
#define IMAGE_MVE_H

#include "image_row.h"

#ifndef ETHOSU_IMAGE_MVE
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#define ETHOSU_IMAGE_MVE 1
#else
#define ETHOSU_IMAGE_MVE 0
#endif
#endif

#if ETHOSU_IMAGE_MVE
#include <arm_mve.h>

/** Channels of four pixels. */
struct four {
    int32x4_t channel[3];
};

/** The bits of `both` from bit `from` on, of this width. */
#define BITS(both, from, most) vandq_s32(vshrq_n_s32(both, from), vdupq_n_s32(most))

/** round(v * 255 / most) of 5 or 6 bits, like load() in image_row.c. */
IMAGE_INLINE int32x4_t widen(int32x4_t bits, int32_t factor, int32_t offset)
{
    return vshrq_n_s32(vaddq_n_s32(vmulq_n_s32(bits, factor), offset), 6);
}

IMAGE_INLINE int32x4_t load_bytes(const uint8_t *from, uint32x4_t at, mve_pred16_t lanes)
{
    return (int32x4_t)vldrbq_gather_offset_z_u32(from, at, lanes);
}

/** As load() in image_row.c. */
IMAGE_INLINE struct four load_four(const uint8_t *line, uint32x4_t at, mve_pred16_t lanes,
                                   enum image_format format, int32_t channels)
{
    int32x4_t red;
    int32x4_t green;
    int32x4_t blue;
    if (format == IMAGE_GRAY) {
        red = load_bytes(line, at, lanes);
        return (struct four){{red, red, red}};
    }
    if (format == IMAGE_RGB565) {
        const uint16_t *pixels = (const uint16_t *)(const void *)line;
        int32x4_t both = (int32x4_t)vldrhq_gather_offset_z_u32(pixels, at, lanes);
        red = widen(vshrq_n_s32(both, 11), 527, 23);
        green = widen(BITS(both, 5, 63), 259, 33);
        blue = widen(vandq_s32(both, vdupq_n_s32(31)), 527, 23);
    } else {
        red = load_bytes(line, at, lanes);
        green = load_bytes(line + 1, at, lanes);
        blue = load_bytes(line + 2, at, lanes);
    }
    if (channels == 1) {
        int32x4_t grey = vaddq_n_s32(vmulq_n_s32(red, 19595), 32768);
        grey = vmlaq_n_s32(vmlaq_n_s32(grey, green, 38470), blue, 7471);
        return (struct four){{vshrq_n_s32(grey, 16), red, red}};
    }
    return (struct four){{red, green, blue}};
}

IMAGE_INLINE bool can_load(const uint8_t *line, enum image_format format)
{
    return format != IMAGE_RGB565 || ((uintptr_t)line & 1) == 0;
}

/** Write adjacent pixels. */
IMAGE_INLINE void store_four(uint8_t *samples, struct four pixels, mve_pred16_t lanes,
                             int32_t channels)
{
    uint32x4_t at = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)channels);
    for (int32_t c = 0; c < channels; c++) {
        vstrbq_scatter_offset_p_u32(samples + c, at, (uint32x4_t)pixels.channel[c], lanes);
    }
}

IMAGE_INLINE bool nearest_fours(const struct image_rows *rows, const uint8_t *line,
                                uint8_t *samples, enum image_format format, int32_t channels)
{
    if (!can_load(line, format)) {
        return false;
    }
    const struct resize_axis *x = &rows->x;
    int32x4_t position = (int32x4_t)vidupq_n_u32(0, 1);
    for (int32_t left = x->output; left > 0; left -= 4, samples += 4 * channels) {
        mve_pred16_t lanes = vctp32q((uint32_t)left);
        int32x4_t from = position;
        if (x->input != x->output) {
            float32x4_t place = vaddq_n_f32(vcvtq_f32_s32(position), 0.5F);
            from = vcvtq_s32_f32(vmulq_n_f32(place, x->step));
            from = vminq_s32(from, vdupq_n_s32(x->input - 1));
        }
        uint32x4_t at = (uint32x4_t)vmulq_n_s32(from, rows->view->step_x);
        store_four(samples, load_four(line, at, lanes, format, channels), lanes, channels);
        position = vaddq_n_s32(position, 4);
    }
    return true;
}

IMAGE_INLINE int32x4_t blend(int32x4_t a, int32x4_t b, int32_t weight)
{
    return vmlaq_n_s32(vshlq_n_s32(a, RESIZE_FRACTION), vsubq_s32(b, a), weight);
}

IMAGE_INLINE bool bilinear_fours(const struct image_rows *rows, const uint8_t *upper,
                                 const uint8_t *lower, int32_t weight, uint8_t *samples,
                                 enum image_format format, int32_t channels)
{
    if (!can_load(upper, format)) {
        return false;
    }
    const struct resize_axis *x = &rows->x;
    int32_t step_x = rows->view->step_x;
    int32x4_t place = vaddq_n_s32(vmulq_n_s32((int32x4_t)vidupq_n_u32(0, 1), x->fixed_step),
                                  x->fixed_step / 2 - RESIZE_ONE / 2);
    for (int32_t left = x->output; left > 0; left -= 4, samples += 4 * channels) {
        mve_pred16_t lanes = vctp32q((uint32_t)left);
        int32x4_t low = vmaxq_s32(vshrq_n_s32(place, RESIZE_FRACTION), vdupq_n_s32(0));
        int32x4_t high = vshrq_n_s32(vaddq_n_s32(place, RESIZE_ONE - 1), RESIZE_FRACTION);
        high = vminq_s32(high, vdupq_n_s32(x->input - 1));
        int32x4_t fraction = vsubq_s32(place, vshlq_n_s32(low, RESIZE_FRACTION));
        low = vminq_s32(low, vdupq_n_s32(x->input - 1)); // see image_between()
        uint32x4_t at_low = (uint32x4_t)vmulq_n_s32(low, step_x);
        uint32x4_t at_high = (uint32x4_t)vmulq_n_s32(high, step_x);
        struct four a = load_four(upper, at_low, lanes, format, channels);
        struct four b = load_four(upper, at_high, lanes, format, channels);
        struct four c = load_four(lower, at_low, lanes, format, channels);
        struct four d = load_four(lower, at_high, lanes, format, channels);
        struct four result = a;
        for (int32_t k = 0; k < (format == IMAGE_GRAY ? 1 : channels); k++) {
            int32x4_t first = blend(a.channel[k], c.channel[k], weight);
            int32x4_t second = blend(b.channel[k], d.channel[k], weight);
            int32x4_t sum = vmulq_s32(vsubq_s32(second, first), fraction);
            sum = vaddq_s32(sum, vshlq_n_s32(first, RESIZE_FRACTION));
            result.channel[k] = vrshrq_n_s32(sum, 2 * RESIZE_FRACTION);
        }
        if (format == IMAGE_GRAY) {
            result = (struct four){{result.channel[0], result.channel[0], result.channel[0]}};
        }
        store_four(samples, result, lanes, channels);
        place = vaddq_n_s32(place, 4 * x->fixed_step);
    }
    return true;
}

/**
 * Maximum number of pixels in a mean. Up to this number, n / count is the upper half of 2 n *
 * ceil(2^31 / count), because n is less than 256 * count and the factor's relative error is less
 * than count / 2^31.
 */
#define MAX_MEAN 2896

/** Spans of an area of four output pixels from `i` on: first pixels, and how many more than k. */
IMAGE_INLINE uint32x4_t spans(const struct resize_axis *x, int32_t i, int32_t k, uint32x4_t *more)
{
    uint32_t first[5];
    for (int32_t lane = 0; lane < 5; lane++) {
        first[lane] = (uint32_t)(i + lane) * (uint32_t)x->input / (uint32_t)x->output;
    }
    uint32x4_t begin = vld1q_u32(first);
    uint32x4_t length = vsubq_u32(vld1q_u32(first + 1), begin);
    *more = vmaxq_u32(length, vdupq_n_u32((uint32_t)k));
    *more = vsubq_u32(*more, vdupq_n_u32((uint32_t)k));
    return begin;
}

IMAGE_INLINE bool area_fours(const struct image_rows *rows, const uint8_t *line, int32_t lines,
                             uint8_t *samples, enum image_format format, int32_t channels)
{
    const struct resize_axis *x = &rows->x;
    const struct image_view *view = rows->view;
    int32_t k = x->input > x->output ? x->input / x->output : 1;
    if (!can_load(line, format) || (k + 1) * lines >= MAX_MEAN) {
        return false;
    }
    uint32_t count = (uint32_t)(k * lines);
    uint32_t longer = count + (uint32_t)lines;
    uint32_t factor = (0x80000000U + count - 1) / count;
    uint32_t factor_longer = (0x80000000U + longer - 1) / longer;
    for (int32_t i = 0; i < x->output; i += 4, samples += 4 * channels) {
        mve_pred16_t lanes = vctp32q((uint32_t)(x->output - i));
        uint32x4_t more;
        uint32x4_t begin = vmulq_n_u32(spans(x, i, k, &more), (uint32_t)view->step_x);
        mve_pred16_t one_more = vcmphiq_n_u32(more, 0);
        struct four sum = {{vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)}};
        for (int32_t y = 0; y < lines; y++) {
            const uint8_t *from = line + (ptrdiff_t)y * view->step_y;
            uint32x4_t at = begin;
            for (int32_t n = 0; n <= k; n++) {
                mve_pred16_t some = n < k ? lanes : lanes & one_more;
                struct four pixels = load_four(from, at, some, format, channels);
                for (int32_t c = 0; c < channels; c++) {
                    sum.channel[c] =
                        vaddq_m_s32(sum.channel[c], sum.channel[c], pixels.channel[c], some);
                }
                at = vaddq_n_u32(at, (uint32_t)view->step_x);
            }
        }
        uint32x4_t half = vpselq_u32(vdupq_n_u32(longer / 2), vdupq_n_u32(count / 2), one_more);
        uint32x4_t by = vpselq_u32(vdupq_n_u32(factor_longer), vdupq_n_u32(factor), one_more);
        for (int32_t c = 0; c < channels; c++) {
            uint32x4_t twice = vshlq_n_u32(vaddq_u32((uint32x4_t)sum.channel[c], half), 1);
            sum.channel[c] = (int32x4_t)vmulhq_u32(twice, by);
        }
        store_four(samples, sum, lanes, channels);
    }
    return true;
}
#else
#define nearest_fours(...) false
#define bilinear_fours(...) false
#define area_fours(...) false
#endif

#endif
