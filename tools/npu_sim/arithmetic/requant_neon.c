// SPDX-License-Identifier: MIT
/** The output stage with the 32-bit products of NEON. */
#include "arithmetic/requant.h"

#include <string.h>

#include "core/clones.h"

#ifdef NPU_NEON_KERNELS

#include <arm_neon.h>

enum { VECTOR = 4, PIXELS = 4 };

/** What a brick has for channels first to first + 3. */
struct scales {
    uint32x4_t bias, whole;
    uint32x2_t fraction[2]; /**< of the even and the odd channels */
    uint64x2_t offset[2];
    int32x4_t second_half, second_sign, second_shift;
};

NEON INLINE struct scales load_scales(const struct npu_requant_brick *brick, size_t first)
{
    const size_t pair = first / 2;
    struct scales scales = {
        .bias = vld1q_u32(brick->bias + first),
        .whole = vld1q_u32(brick->whole + first),
        .second_half = vld1q_s32(brick->second_half + first),
        .second_sign = vld1q_s32(brick->second_sign + first),
        /* Its shifts to the right are negative. */
        .second_shift = vnegq_s32(vld1q_s32(brick->second_shift + first)),
    };
    for (int odd = 0; odd < 2; odd++) {
        scales.fraction[odd] = vmovn_u64(vld1q_u64(brick->fraction[odd] + pair));
        scales.offset[odd] = vld1q_u64(brick->offset[odd] + pair);
    }
    return scales;
}

NEON INLINE int32x4_t scale(struct npu_requant_parts parts, const struct scales *scales,
                            const int32_t *values)
{
    uint32x4_t sum = vaddq_u32(vreinterpretq_u32_s32(vld1q_s32(values)), scales->bias);
    uint32x4_t high = vdupq_n_u32(0);
    if (parts.fraction) {
        uint64x2_t pairs = vreinterpretq_u64_u32(sum);
        uint64x2_t even = vmlal_u32(scales->offset[0], vmovn_u64(pairs), scales->fraction[0]);
        uint64x2_t odd = vmlal_u32(scales->offset[1], vshrn_n_u64(pairs, 32), scales->fraction[1]);
        high = vtrn2q_u32(vreinterpretq_u32_u64(even), vreinterpretq_u32_u64(odd));
    }
    if (parts.whole) {
        high = vmlaq_u32(high, veorq_u32(sum, vdupq_n_u32(0x80000000)), scales->whole);
    }
    int32x4_t value = vreinterpretq_s32_u32(high);
    if (parts.second) {
        int32x4_t sign = vandq_s32(vshrq_n_s32(value, 31), scales->second_sign);
        value = vaddq_s32(value, vaddq_s32(scales->second_half, sign));
        value = vshlq_s32(value, scales->second_shift);
    }
    return value;
}

NEON INLINE int32x4_t finish(const struct npu_requant *requant, int32x4_t value)
{
    value = vaddq_s32(value, vdupq_n_s32(requant->zero_point));
    value = vmaxq_s32(value, vdupq_n_s32(requant->minimum));
    return vminq_s32(value, vdupq_n_s32(requant->maximum));
}

NEON INLINE uint8x16_t narrow(const int32x4_t values[4])
{
    int16x8_t low = vcombine_s16(vmovn_s32(values[0]), vmovn_s32(values[1]));
    int16x8_t high = vcombine_s16(vmovn_s32(values[2]), vmovn_s32(values[3]));
    return vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}

/** The same for a fixed number of pixels, which share the loads of the brick's values. */
NEON INLINE void scale_pixels(const struct npu_requant *requant,
                              const struct npu_requant_brick *brick, int pixels, int32_t *values,
                              uint8_t *out, int64_t out_step, size_t channels)
{
    const struct npu_requant_parts parts = requant->parts;
    int32x4_t results[PIXELS][NPU_BRICK / VECTOR];
#pragma GCC unroll 4
    for (size_t i = 0; i < NPU_BRICK / VECTOR; i++) {
        const struct scales scales = load_scales(brick, VECTOR * i);
        EACH_PIXEL(pixels)
        {
            const int32_t *four = values + p * NPU_BRICK + VECTOR * i;
            results[p][i] = finish(requant, scale(parts, &scales, four));
        }
    }
    EACH_PIXEL(pixels)
    {
        if (out == NULL) {
            memcpy(values + p * NPU_BRICK, results[p], sizeof results[p]);
            continue;
        }
        uint8x16_t bytes = narrow(results[p]);
        if (channels == NPU_BRICK) {
            vst1q_u8(out, bytes);
        } else {
            memcpy(out, &bytes, channels);
        }
        out += out_step;
    }
}

NEON void npu_scale_brick_neon(const struct npu_requant *requant,
                               const struct npu_requant_brick *brick, size_t pixels,
                               int32_t *values, uint8_t *out, int64_t out_step, size_t channels)
{
    for (; pixels >= PIXELS; pixels -= PIXELS, values += PIXELS * NPU_BRICK) {
        scale_pixels(requant, brick, PIXELS, values, out, out_step, channels);
        out = out == NULL ? NULL : out + PIXELS * out_step;
    }
    for (; pixels > 0; pixels--, values += NPU_BRICK) {
        scale_pixels(requant, brick, 1, values, out, out_step, channels);
        out = out == NULL ? NULL : out + out_step;
    }
}

#endif
