// SPDX-License-Identifier: MIT
/**
 * An FFT in single precision; see mel_fft.h. Real and imaginary parts are in separate arrays, and
 * the factors of a stage are contiguous, so that compilers vectorise the loops.
 */
#include "mel_fft.h"

#include <math.h>

#define PI 3.14159265358979f

size_t mel_fft_next(size_t place, size_t pairs)
{
    size_t bit = pairs / 2;
    while ((place & bit) != 0) {
        place ^= bit;
        bit /= 2;
    }
    return place | bit;
}

void mel_fft_turns(float *turns, size_t size)
{
    // Stages of 1, 2, 4... size/4 butterflies; then the split. Cosines first, then sines.
    float *sines = turns + size;
    for (size_t half = 1; half <= size / 2; half *= 2) {
        for (size_t k = 0; k < half; k++) {
            float phase = PI * (float)k / (float)half;
            turns[half - 1 + k] = cosf(phase);
            sines[half - 1 + k] = -sinf(phase);
        }
    }
}

/** Butterflies of two rows of numbers. */
static void butterflies(size_t count, const float *restrict cosines, const float *restrict sines,
                        float *restrict real, float *restrict imaginary, float *restrict real2,
                        float *restrict imaginary2)
{
    for (size_t k = 0; k < count; k++) {
        float a = real2[k] * cosines[k] - imaginary2[k] * sines[k];
        float b = real2[k] * sines[k] + imaginary2[k] * cosines[k];
        real2[k] = real[k] - a;
        imaginary2[k] = imaginary[k] - b;
        real[k] += a;
        imaginary[k] += b;
    }
}

/** Split the spectrum of pairs into the spectrum of twice as many real numbers. */
static void split(const float *cosines, const float *sines, size_t pairs, float *real,
                  float *imaginary)
{
    real[pairs] = real[0];
    imaginary[pairs] = imaginary[0];
    for (size_t k = 0; k <= pairs / 2; k++) {
        size_t mirror = pairs - k;
        float even_real = 0.5f * (real[k] + real[mirror]);
        float even_imaginary = 0.5f * (imaginary[k] - imaginary[mirror]);
        float odd_real = 0.5f * (imaginary[k] + imaginary[mirror]);
        float odd_imaginary = 0.5f * (real[mirror] - real[k]);
        float a = odd_real * cosines[k] - odd_imaginary * sines[k];
        float b = odd_real * sines[k] + odd_imaginary * cosines[k];
        real[k] = even_real + a;
        imaginary[k] = even_imaginary + b;
        real[mirror] = even_real - a;
        imaginary[mirror] = b - even_imaginary;
    }
}

void mel_fft(const float *turns, size_t size, float *real, float *imaginary)
{
    const float *sines = turns + size;
    size_t pairs = size / 2;
    for (size_t half = 1; half < pairs; half *= 2) {
        for (size_t block = 0; block < pairs; block += 2 * half) {
            butterflies(half, turns + half - 1, sines + half - 1, real + block, imaginary + block,
                        real + block + half, imaginary + block + half);
        }
    }
    split(turns + pairs - 1, sines + pairs - 1, pairs, real, imaginary);
}
