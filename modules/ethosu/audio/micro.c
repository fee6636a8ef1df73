// SPDX-License-Identifier: MIT
/**
 * The micro frontend: converts 30 ms of sound to 40 numbers, like TensorFlow Lite's library of that
 * name. Its integer arithmetic matches that library bit by bit. The loops over samples and bins use
 * MVE (Helium), with the same results.
 */
#include "ethosu_audio.h"

#include <string.h>

#include "micro_mve.h"
#include "micro_sqrt.h"
#include "micro_tables.h"

#define BANDS ETHOSU_AUDIO_MICRO_BANDS
#define SAMPLES ETHOSU_AUDIO_MICRO_WINDOW
#define FILTER_ONE_BITS 12

// 0.025, 0.06 and 0.05 in 1/16384: how fast the noise estimate follows the signal, and the minimum
// share of the signal that is kept.
#define SMOOTHING_EVEN 409
#define SMOOTHING_ODD 983
#define MIN_SIGNAL 819
#define SMOOTHING_ONE_BITS 14
/** Extra bits of the noise estimate over the signal. */
#define NOISE_BITS 10

/** Fractional bits of a signal-to-noise ratio, and of the result. */
#define RATIO_BITS 12
#define GAINED_BITS 6
#define RATIO_SHIFT 6

/** FFT and filters divide by 2^9 and multiply by 2^6; the logarithm corrects the difference. */
#define CORRECTION_BITS 3
/** ln(2) in 1/65536, and fractional bits of the logarithm. */
#define LN2 45426
#define LOGARITHM_BITS 6

/** Bit length of a number; 0 for 0. */
static uint32_t bits(uint32_t number)
{
    return number == 0 ? 0 : 32u - (uint32_t)__builtin_clz(number);
}

#if ETHOSU_AUDIO_MVE

/** Multiply by the window; returns the largest magnitude, ignoring -32768. */
static int32_t apply_window(const int16_t *samples, int16_t *windowed)
{
    int16_t largest = 0;
    for (size_t i = 0; i < SAMPLES; i += 8) {
        int16x8_t sample = vldrhq_s16(samples + i);
        int16x8_t weight = vldrhq_s16(micro_window + i);
        int16x8_t value = vshrnbq_n_s32(vdupq_n_s16(0), vmullbq_int_s16(sample, weight), 12);
        value = vshrntq_n_s32(value, vmulltq_int_s16(sample, weight), 12);
        vstrhq_s16(windowed + i, value);
        largest = vmaxvq_s16(largest, vabsq_s16(value));
    }
    return largest;
}

static void scale_up(int16_t *values, uint32_t shift)
{
    for (size_t i = 0; i < SAMPLES; i += 8) {
        vstrhq_s16(values + i, vshlq_r_s16(vldrhq_s16(values + i), (int32_t)shift));
    }
}

/** The square of the absolute value of each number of a spectrum, in its place. */
static void energies(union ethosu_audio_bins *bins)
{
    for (size_t i = 0; i < MICRO_FFT / 2; i += 4) {
        int16x8_t value = vldrhq_s16(&bins->spectrum[i].real);
        int32x4_t real = vmullbq_int_s16(value, value);
        vstrwq_s32(bins->energies + i, vaddq_s32(real, vmulltq_int_s16(value, value)));
    }
}

/** Sum of energies, and of energies times weights. */
static void slope_sums(const int32_t *energy, const int16_t *weights, size_t width, uint64_t *sum,
                       uint64_t *weighted)
{
    int64_t all = 0;
    int64_t products = 0;
    for (size_t i = 0; i < width; i += 4) {
        mve_pred16_t rest = vctp32q((uint32_t)(width - i));
        int32x4_t value = vldrwq_z_s32(energy + i, rest);
        all = vaddlvaq_s32(all, value);
        products = vmlaldavaq_s32(products, value, vldrhq_z_s32(weights + i, rest));
    }
    *sum = (uint64_t)all;
    *weighted = (uint64_t)products;
}

#else

/** Multiply by the window; returns the largest magnitude, ignoring -32768. */
static int32_t apply_window(const int16_t *samples, int16_t *windowed)
{
    int32_t largest = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        int16_t value = (int16_t)((samples[i] * micro_window[i]) >> 12);
        int32_t size = value < 0 ? -value : value;
        windowed[i] = value;
        largest = size > largest && size <= INT16_MAX ? size : largest;
    }
    return largest;
}

static void scale_up(int16_t *values, uint32_t shift)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        values[i] = (int16_t)(uint16_t)((uint32_t)values[i] << shift);
    }
}

/** The square of the absolute value of each number of a spectrum, in its place. */
static void energies(union ethosu_audio_bins *bins)
{
    for (size_t i = 0; i < MICRO_FFT / 2; i++) {
        struct micro_complex value = bins->spectrum[i];
        bins->energies[i] = (int32_t)((uint32_t)(value.real * value.real) +
                                      (uint32_t)(value.imaginary * value.imaginary));
    }
}

/** Sum of energies, and of energies times weights. */
static void slope_sums(const int32_t *energy, const int16_t *weights, size_t width, uint64_t *sum,
                       uint64_t *weighted)
{
    int64_t all = 0;
    int64_t products = 0;
    for (size_t i = 0; i < width; i++) {
        all += energy[i];
        products += (int64_t)energy[i] * weights[i];
    }
    *sum = (uint64_t)all;
    *weighted = (uint64_t)products;
}

#endif

/** Amplitude in each band, from triangles of two slopes over the energies. */
static void filter(const int32_t *energy, uint32_t shift, uint32_t *bands)
{
    const int16_t *weights = micro_filter_weights;
    uint64_t falling = 0;
    for (size_t i = 0; i < MICRO_SLOPES; i++) {
        uint64_t sum;
        uint64_t rising;
        size_t width = micro_filter_widths[i];
        slope_sums(energy + micro_filter_starts[i], weights, width, &sum, &rising);
        if (i > 0) {
            bands[i - 1] = micro_sqrt(falling + rising) >> shift;
        }
        falling = (sum << FILTER_ONE_BITS) - rising;
        weights += width;
    }
}

/** Subtract the noise estimate from the signal, and update the estimate. */
static uint32_t reduce_noise(uint32_t signal, uint32_t smoothing, uint32_t *noise)
{
    uint32_t scaled = signal << NOISE_BITS;
    uint32_t estimate = (uint32_t)(((uint64_t)scaled * smoothing +
                                    (uint64_t)*noise * ((1u << SMOOTHING_ONE_BITS) - smoothing)) >>
                                   SMOOTHING_ONE_BITS);
    *noise = estimate;
    estimate = estimate < scaled ? estimate : scaled;
    uint32_t min = (uint32_t)(((uint64_t)signal * MIN_SIGNAL) >> SMOOTHING_ONE_BITS);
    uint32_t rest = (scaled - estimate) >> NOISE_BITS;
    return rest > min ? rest : min;
}

/** Gain at a noise level; a parabola for each octave. */
static uint32_t gain(uint32_t noise)
{
    if (noise <= 2) {
        return (uint32_t)micro_gains[noise];
    }
    uint32_t octave = bits(noise);
    const int16_t *curve = micro_gains + 4 * octave - 6;
    int32_t place =
        (int32_t)((octave < 11 ? noise << (11 - octave) : noise >> (octave - 11)) & 0x3ff);
    int32_t value = ((curve[2] * place) >> 5) + (int32_t)((uint32_t)(int32_t)curve[1] << 5);
    value = (value * place + (1 << 14)) >> 15;
    return (uint32_t)(int32_t)(int16_t)(value + curve[0]);
}

/** The signal relative to the noise; values near 0 are attenuated. */
static uint32_t apply_gain(uint32_t signal, uint32_t noise)
{
    uint32_t ratio = (uint32_t)(((uint64_t)signal * gain(noise)) >> RATIO_SHIFT);
    if (ratio < (2u << RATIO_BITS)) {
        return (ratio * ratio) >> (2 + 2 * RATIO_BITS - GAINED_BITS);
    }
    return (ratio >> (RATIO_BITS - GAINED_BITS)) - (1u << GAINED_BITS);
}

/** Natural logarithm of a number above 1. */
static uint32_t logarithm(uint32_t number)
{
    uint32_t whole = bits(number) - 1;
    uint32_t fraction = number - (1u << whole);
    fraction = whole < 16 ? fraction << (16 - whole) : fraction >> (whole - 16);
    uint32_t segment = fraction >> 9;
    int32_t from = micro_logarithms[segment];
    int32_t step = micro_logarithms[segment + 1] - from;
    int32_t inside = (int32_t)(fraction & 0x1ff);
    uint32_t log2 = (whole << 16) + fraction + (uint32_t)(from + ((step * inside) >> 16));
    uint32_t natural = (uint32_t)(((uint64_t)LN2 * log2 + 0x8000) >> 16);
    return ((natural << LOGARITHM_BITS) + 0x8000) >> 16;
}

void ethosu_audio_micro_start(struct ethosu_audio_micro *micro, size_t hop)
{
    memset(micro, 0, sizeof(*micro));
    micro->window = (struct ethosu_audio_window){micro->samples, SAMPLES, hop, 0};
}

void ethosu_audio_micro_row(struct ethosu_audio_micro *micro, uint16_t *row)
{
    uint32_t bands[BANDS];
    uint32_t shift = 15 - bits((uint32_t)apply_window(micro->samples, micro->windowed));
    scale_up(micro->windowed, shift); // use all bits, for the FFT
    micro_fft(micro->windowed, micro->bins.spectrum);
    energies(&micro->bins);
    filter(micro->bins.energies, shift, bands);
    for (size_t i = 0; i < BANDS; i++) {
        uint32_t signal =
            reduce_noise(bands[i], i % 2 == 0 ? SMOOTHING_EVEN : SMOOTHING_ODD, &micro->noise[i]);
        uint32_t value = apply_gain(signal, micro->noise[i]) << CORRECTION_BITS;
        value = value > 1 ? logarithm(value) : 0;
        row[i] = (uint16_t)(value < UINT16_MAX ? value : UINT16_MAX);
    }
}
