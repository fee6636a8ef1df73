// SPDX-License-Identifier: MIT
/**
 * Log-mel spectrum and MFCC, in single precision: Hann window, FFT, triangles, logarithm, DCT.
 * The definitions follow tf.signal and librosa, which the keyword and anomaly benchmarks of MLPerf
 * Tiny use.
 */
#include "ethosu_audio.h"

#include <math.h>
#include <string.h>

#include "mel_fft.h"

#define PI 3.14159265358979f

/** Number of samples of the FFT: the next power of two. */
static size_t fft_size(const struct ethosu_audio_mel_config *config)
{
    size_t size = 8;
    while (size < config->window) {
        size *= 2;
    }
    return size;
}

const char *ethosu_audio_mel_check(const struct ethosu_audio_mel_config *config)
{
    if (config->window < 8 || config->window > ETHOSU_AUDIO_MEL_WINDOW) {
        return "window";
    }
    if (config->hop < 1 || config->hop > config->window) {
        return "hop";
    }
    if (config->bands < 1 || config->bands > ETHOSU_AUDIO_MEL_BANDS) {
        return "bands";
    }
    if (config->coefficients > config->bands) {
        return "coefficients";
    }
    if (!(config->high_hz > 0.0f && config->high_hz <= ETHOSU_AUDIO_RATE / 2)) {
        return "high_hz";
    }
    return config->low_hz >= 0.0f && config->low_hz < config->high_hz ? NULL : "low_hz";
}

size_t ethosu_audio_mel_size(const struct ethosu_audio_mel_config *config)
{
    size_t fft = fft_size(config);
    // A bin is in at most two triangles.
    size_t floats = config->window + MEL_FFT_TURNS(fft) + 2 * (fft / 2 + 1) + config->bands +
                    2 * (fft / 2 + 1) + config->coefficients * config->bands;
    return floats * sizeof(float) + config->bands * sizeof(struct ethosu_audio_triangle) +
           config->window * sizeof(int16_t);
}

static float htk(float hertz)
{
    return 1127.0f * logf(1.0f + hertz / 700.0f);
}

/** Slaney's scale: 3 mel per 200 Hz up to 1 kHz, above that 27 mel per factor of 6.4. */
static float slaney_hertz(float mel)
{
    return mel < 15.0f ? mel * (200.0f / 3.0f) : 1000.0f * expf((mel - 15.0f) * 0.0687517774f);
}

static float slaney(float hertz)
{
    return hertz < 1000.0f ? hertz * 0.015f : 15.0f + logf(hertz / 1000.0f) / 0.0687517774f;
}

/** Position of a frequency on the scale of the triangles. */
static float position(const struct ethosu_audio_mel_config *config, float hertz)
{
    return config->scale == ETHOSU_AUDIO_HTK ? htk(hertz) : hertz;
}

/** Corner `index` of the triangles; triangle i has corners i, i + 1 and i + 2. */
static float corner(const struct ethosu_audio_mel_config *config, size_t index)
{
    float share = (float)index / (float)(config->bands + 1);
    if (config->scale == ETHOSU_AUDIO_HTK) {
        float low = htk(config->low_hz);
        return low + (htk(config->high_hz) - low) * share;
    }
    float low = slaney(config->low_hz);
    return slaney_hertz(low + (slaney(config->high_hz) - low) * share);
}

/** Write the weights of one triangle; returns their number. */
static uint32_t make_triangle(const struct ethosu_audio_mel *mel, size_t band,
                              struct ethosu_audio_triangle *triangle, float *weights)
{
    const struct ethosu_audio_mel_config *config = &mel->config;
    float from = corner(config, band);
    float top = corner(config, band + 1);
    float to = corner(config, band + 2);
    float height = config->scale == ETHOSU_AUDIO_HTK ? 1.0f : 2.0f / (to - from);
    triangle->start = 0;
    triangle->width = 0;
    // TensorFlow excludes the DC component; in librosa no triangle includes it.
    for (size_t bin = 1; bin <= mel->fft / 2; bin++) {
        float at = position(config, (float)bin * ETHOSU_AUDIO_RATE / (float)mel->fft);
        float weight = fminf((at - from) / (top - from), (to - at) / (to - top));
        if (weight > 0.0f) {
            triangle->start = triangle->width == 0 ? (uint16_t)bin : triangle->start;
            weights[triangle->width++] = weight * height;
        }
    }
    return triangle->width;
}

static void make_tables(struct ethosu_audio_mel *mel)
{
    const struct ethosu_audio_mel_config *config = &mel->config;
    for (size_t i = 0; i < config->window; i++) {
        mel->shape[i] = 0.5f - 0.5f * cosf(2.0f * PI * (float)i / (float)config->window);
    }
    mel_fft_turns(mel->turns, mel->fft);
    uint32_t weights = 0;
    for (size_t i = 0; i < config->bands; i++) {
        mel->triangles[i].weights = weights;
        weights += make_triangle(mel, i, &mel->triangles[i], mel->weights + weights);
    }
    float *cosine = mel->cosines;
    float norm = sqrtf(2.0f / (float)config->bands);
    for (size_t i = 0; i < config->coefficients; i++) {
        for (size_t j = 0; j < config->bands; j++) {
            // The angle is reduced in integers because a float loses precision over many turns.
            size_t angle = i * (2 * j + 1) % (4 * config->bands);
            *cosine++ = norm * cosf(PI * (float)angle / (float)(2 * config->bands));
        }
    }
}

void ethosu_audio_mel_start(struct ethosu_audio_mel *mel,
                            const struct ethosu_audio_mel_config *config, void *memory)
{
    size_t fft = fft_size(config);
    float *at = memory;
    mel->config = *config;
    mel->fft = fft;
    mel->gain = 1.0f / 32768.0f;
    mel->shape = at;
    mel->turns = mel->shape + config->window;
    mel->real = mel->turns + MEL_FFT_TURNS(fft);
    mel->imaginary = mel->real + fft / 2 + 1;
    mel->bands = mel->imaginary + fft / 2 + 1;
    mel->weights = mel->bands + config->bands;
    mel->cosines = mel->weights + 2 * (fft / 2 + 1);
    mel->triangles = (void *)(mel->cosines + config->coefficients * config->bands);
    int16_t *samples = (void *)(mel->triangles + config->bands);
    mel->window = (struct ethosu_audio_window){samples, config->window, config->hop, 0};
    make_tables(mel);
}

size_t ethosu_audio_mel_values(const struct ethosu_audio_mel *mel)
{
    return mel->config.coefficients > 0 ? mel->config.coefficients : mel->config.bands;
}

/** Spectrum of the window: amplitudes, or their squares. */
static void spectrum(struct ethosu_audio_mel *mel)
{
    size_t pairs = mel->fft / 2;
    memset(mel->real, 0, (pairs + 1) * sizeof(float));
    memset(mel->imaginary, 0, (pairs + 1) * sizeof(float));
    size_t place = 0;
    for (size_t i = 0; i < mel->config.window; i++) {
        float *part = i % 2 == 0 ? mel->real : mel->imaginary;
        part[place] = mel->shape[i] * ((float)mel->window.samples[i] * mel->gain);
        place = i % 2 == 0 ? place : mel_fft_next(place, pairs);
    }
    mel_fft(mel->turns, mel->fft, mel->real, mel->imaginary);
    for (size_t i = 0; i <= pairs; i++) {
        float square = mel->real[i] * mel->real[i] + mel->imaginary[i] * mel->imaginary[i];
        mel->real[i] = mel->config.power ? square : sqrtf(square);
    }
}

static float products(const float *a, const float *b, size_t count)
{
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void ethosu_audio_mel_row(struct ethosu_audio_mel *mel, float *row)
{
    const struct ethosu_audio_mel_config *config = &mel->config;
    float *bands = config->coefficients > 0 ? mel->bands : row;
    spectrum(mel);
    for (size_t i = 0; i < config->bands; i++) {
        const struct ethosu_audio_triangle *triangle = &mel->triangles[i];
        float sum = products(mel->real + triangle->start, mel->weights + triangle->weights,
                             triangle->width);
        bands[i] = config->multiplier * logf(sum + config->offset);
    }
    for (size_t i = 0; i < config->coefficients; i++) {
        row[i] = products(bands, mel->cosines + i * config->bands, config->bands);
    }
}
