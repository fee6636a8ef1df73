// SPDX-License-Identifier: MIT
/**
 * The 16-bit FFT of the micro frontend; see micro_fft.h.
 *
 * Pairs of samples are 256 complex numbers; four stages of radix 4 transform them, and a last step
 * splits the result into the spectrum of the 512 real numbers. Before each stage the numbers are
 * divided by 4, which is a product with 8191/32768, rounded.
 */
#include "micro_fft.h"

#include <stddef.h>

#include "micro_mve.h"
#include "micro_tables.h"

#define COUNT (MICRO_FFT / 2)
#define QUARTER 8191 /**< 32767 / 4 */
#define HALF 16383   /**< 32767 / 2 */

/** Reverse the three base-4 digits of a 6-bit number. */
static size_t reverse_digits(size_t number)
{
    return (number & 3) << 4 | (number & 12) | number >> 4;
}

#if ETHOSU_AUDIO_MVE

/** Product of complex numbers, each sum of products rounded once. */
static inline int16x8_t multiply(int16x8_t a, int16x8_t b)
{
    int16x8_t real = vqrdmlsdhq_s16(vdupq_n_s16(0), a, b);
    return vqrdmladhxq_s16(real, a, b);
}

/** Divide by two or four. */
static inline int16x8_t scale(int16x8_t value, int16_t by)
{
    return vqrdmulhq_n_s16(value, by);
}

/** Outputs out[0..3] of four butterflies of in[0..3], which are already divided and rotated. */
static inline void butterflies(const int16x8_t in[4], int16x8_t out[4])
{
    int16x8_t sum_even = vaddq_s16(in[0], in[2]);
    int16x8_t difference_even = vsubq_s16(in[0], in[2]);
    int16x8_t sum_odd = vaddq_s16(in[1], in[3]);
    int16x8_t difference_odd = vsubq_s16(in[1], in[3]);
    out[0] = vaddq_s16(sum_even, sum_odd);
    out[1] = vcaddq_rot270_s16(difference_even, difference_odd);
    out[2] = vsubq_s16(sum_even, sum_odd);
    out[3] = vcaddq_rot90_s16(difference_even, difference_odd);
}

/** First stage: reads the samples in order and writes them in the order of the other stages. */
static void first_stage(const int16_t *samples, struct micro_complex *out)
{
    const uint32x4_t places = {0, COUNT / 4, COUNT / 2, COUNT / 4 * 3};
    for (size_t i = 0; i < COUNT / 4; i += 4) {
        int16x8_t in[4];
        int16x8_t result[4];
        for (size_t j = 0; j < 4; j++) {
            in[j] = scale(vldrhq_s16(samples + 2 * (i + j * (COUNT / 4))), QUARTER);
        }
        butterflies(in, result);
        int32_t *block = (int32_t *)(void *)(out + 4 * reverse_digits(i));
        for (size_t j = 0; j < 4; j++) {
            vstrwq_scatter_shifted_offset_s32(block + j, places, vreinterpretq_s32_s16(result[j]));
        }
    }
}

/** One of the other stages: butterflies of numbers `size` apart. */
static void stage(struct micro_complex *numbers, size_t size, const int16_t *twiddles)
{
    for (size_t block = 0; block < COUNT; block += 4 * size) {
        for (size_t k = 0; k < size; k += 4) {
            int16_t *first = &numbers[block + k].real;
            int16x8_t in[4] = {scale(vldrhq_s16(first), QUARTER)};
            int16x8_t result[4];
            for (size_t j = 1; j < 4; j++) {
                in[j] = multiply(scale(vldrhq_s16(first + 2 * j * size), QUARTER),
                                 vldrhq_s16(twiddles + 2 * ((j - 1) * size + k)));
            }
            butterflies(in, result);
            for (size_t j = 0; j < 4; j++) {
                vstrhq_s16(first + 2 * j * size, result[j]);
            }
        }
    }
}

/** Split numbers 1 to 128 and those that mirror them. */
static void split(struct micro_complex *spectrum)
{
    const uint32x4_t descending = {3, 2, 1, 0};
    const int16x8_t zero = vdupq_n_s16(0);
    // GCC 12 compiles constant predicates wrongly, so this one comes from a comparison.
    const int16x8_t parts = {0, -1, 0, -1, 0, -1, 0, -1};
    const mve_pred16_t imaginary = vcmpltq_n_s16(parts, 0);
    for (size_t k = 1; k <= COUNT / 2; k += 4) {
        int16_t *low = &spectrum[k].real;
        int32_t *high = (int32_t *)(void *)(spectrum + COUNT - k - 3);
        int16x8_t mirror =
            vreinterpretq_s16_s32(vldrwq_gather_shifted_offset_s32(high, descending));
        int16x8_t a = scale(vldrhq_s16(low), HALF);
        int16x8_t b = scale(vsubq_m_s16(mirror, zero, mirror, imaginary), HALF);
        int16x8_t sum = vaddq_s16(a, b);
        int16x8_t rotated =
            multiply(vsubq_s16(a, b), vldrhq_s16(micro_split_twiddles + 2 * (k - 1)));
        int16x8_t upper = vhsubq_s16(sum, rotated);
        vstrhq_s16(low, vhaddq_s16(sum, rotated));
        upper = vhsubq_m_s16(upper, rotated, sum, imaginary);
        vstrwq_scatter_shifted_offset_s32(high, descending, vreinterpretq_s32_s16(upper));
    }
}

#else

/** Product of 16-bit fractions, rounded. */
static int16_t scale(int16_t value, int16_t by)
{
    return (int16_t)((value * by + (1 << 14)) >> 15);
}

static struct micro_complex scale_complex(struct micro_complex value, int16_t by)
{
    return (struct micro_complex){scale(value.real, by), scale(value.imaginary, by)};
}

static struct micro_complex add(struct micro_complex a, struct micro_complex b)
{
    return (struct micro_complex){(int16_t)(a.real + b.real), (int16_t)(a.imaginary + b.imaginary)};
}

static struct micro_complex subtract(struct micro_complex a, struct micro_complex b)
{
    return (struct micro_complex){(int16_t)(a.real - b.real), (int16_t)(a.imaginary - b.imaginary)};
}

/** Product of complex numbers, each sum of products rounded once. */
static struct micro_complex multiply(struct micro_complex a, const int16_t *b)
{
    return (struct micro_complex){
        (int16_t)((a.real * b[0] - a.imaginary * b[1] + (1 << 14)) >> 15),
        (int16_t)((a.real * b[1] + a.imaginary * b[0] + (1 << 14)) >> 15)};
}

/** Numbers out[0], out[stride]... of a butterfly of in[0..3], which are divided and rotated. */
static void butterfly(const struct micro_complex in[4], struct micro_complex *out, size_t stride)
{
    struct micro_complex sum_even = add(in[0], in[2]);
    struct micro_complex difference_even = subtract(in[0], in[2]);
    struct micro_complex sum_odd = add(in[1], in[3]);
    struct micro_complex difference_odd = subtract(in[1], in[3]);
    struct micro_complex rotated = {difference_odd.imaginary, (int16_t)-difference_odd.real};
    out[0] = add(sum_even, sum_odd);
    out[stride] = add(difference_even, rotated);
    out[2 * stride] = subtract(sum_even, sum_odd);
    out[3 * stride] = subtract(difference_even, rotated);
}

/** First stage: reads the samples in order and writes them in the order of the other stages. */
static void first_stage(const int16_t *samples, struct micro_complex *out)
{
    for (size_t i = 0; i < COUNT / 4; i++) {
        struct micro_complex in[4];
        for (size_t j = 0; j < 4; j++) {
            const int16_t *pair = samples + 2 * (i + j * (COUNT / 4));
            in[j] = scale_complex((struct micro_complex){pair[0], pair[1]}, QUARTER);
        }
        butterfly(in, out + 4 * reverse_digits(i), 1);
    }
}

/** One of the other stages: butterflies of numbers `size` apart. */
static void stage(struct micro_complex *numbers, size_t size, const int16_t *twiddles)
{
    for (size_t block = 0; block < COUNT; block += 4 * size) {
        for (size_t k = 0; k < size; k++) {
            struct micro_complex *first = numbers + block + k;
            struct micro_complex in[4] = {scale_complex(first[0], QUARTER)};
            for (size_t j = 1; j < 4; j++) {
                in[j] = multiply(scale_complex(first[j * size], QUARTER),
                                 twiddles + 2 * ((j - 1) * size + k));
            }
            butterfly(in, first, size);
        }
    }
}

/** Split numbers 1 to 128 and those that mirror them. */
static void split(struct micro_complex *spectrum)
{
    for (size_t k = 1; k <= COUNT / 2; k++) {
        struct micro_complex *low = spectrum + k;
        struct micro_complex *high = spectrum + COUNT - k;
        struct micro_complex a = scale_complex(*low, HALF);
        struct micro_complex b =
            scale_complex((struct micro_complex){high->real, (int16_t)-high->imaginary}, HALF);
        struct micro_complex sum = add(a, b);
        struct micro_complex rotated = multiply(subtract(a, b), micro_split_twiddles + 2 * (k - 1));
        low->real = (int16_t)((sum.real + rotated.real) >> 1);
        low->imaginary = (int16_t)((sum.imaginary + rotated.imaginary) >> 1);
        high->real = (int16_t)((sum.real - rotated.real) >> 1);
        high->imaginary = (int16_t)((rotated.imaginary - sum.imaginary) >> 1);
    }
}

#endif

void micro_fft(const int16_t *samples, struct micro_complex *spectrum)
{
    first_stage(samples, spectrum);
    stage(spectrum, 4, micro_twiddles);
    stage(spectrum, 16, micro_twiddles + 2 * 3 * 4);
    stage(spectrum, 64, micro_twiddles + 2 * 3 * (4 + 16));
    int32_t even = (spectrum[0].real * HALF + (1 << 14)) >> 15;
    int32_t odd = (spectrum[0].imaginary * HALF + (1 << 14)) >> 15;
    split(spectrum);
    spectrum[0] = (struct micro_complex){(int16_t)(even + odd), 0};
    spectrum[COUNT] = (struct micro_complex){(int16_t)(even - odd), 0};
}
