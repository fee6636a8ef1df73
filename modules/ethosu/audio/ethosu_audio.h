// SPDX-License-Identifier: MIT
/**
 * Front ends that convert audio to input features of speech and sound models.
 *
 * All take 16-bit samples at 16 kHz and produce a row of features for each hop. Memory is provided
 * by the caller. `micro` is the integer front end of wake-word models; `mel` computes the log-mel
 * spectrum or MFCC used by others. A ring buffers samples from an interrupt.
 */
#ifndef ETHOSU_AUDIO_H
#define ETHOSU_AUDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "micro_fft.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Samples in a second. */
#define ETHOSU_AUDIO_RATE 16000

/** Window of samples for one row, and the hop to the next one. */
struct ethosu_audio_window {
    int16_t *samples; /**< up to `size` latest samples */
    size_t size;
    size_t hop; /**< at most `size` */
    size_t used;
};

/** Number of rows that this many further samples complete. */
size_t ethosu_audio_rows(const struct ethosu_audio_window *window, size_t samples);

/**
 * Add samples until the window is full.
 *
 * @return how many were taken
 */
size_t ethosu_audio_window_take(struct ethosu_audio_window *window, const int16_t *samples,
                                size_t count);

/** Is the window full, so that a row can be computed? */
bool ethosu_audio_window_full(const struct ethosu_audio_window *window);

/** Advance a full window by one hop. */
void ethosu_audio_window_advance(struct ethosu_audio_window *window);

/** Values of a row of the micro frontend. */
#define ETHOSU_AUDIO_MICRO_BANDS 40
/** Window length of the micro frontend, in samples. */
#define ETHOSU_AUDIO_MICRO_WINDOW 480
/** Factor for the values of a row, for microWakeWord models. */
#define ETHOSU_AUDIO_MICRO_SCALE 0.0390625f

/** A spectrum, replaced in place by its energies. */
union ethosu_audio_bins {
    struct micro_complex spectrum[MICRO_FFT / 2 + 1];
    int32_t energies[MICRO_FFT / 2 + 1];
};

/** The micro frontend of TensorFlow Lite: window, FFT, filters, noise reduction, gain, logarithm.
 */
struct ethosu_audio_micro {
    struct ethosu_audio_window window;
    uint32_t noise[ETHOSU_AUDIO_MICRO_BANDS]; /**< its estimate in each band */
    int16_t samples[ETHOSU_AUDIO_MICRO_WINDOW];
    int16_t windowed[MICRO_FFT];
    union ethosu_audio_bins bins;
};

/** Start with silence. `hop`: samples from one row to the next, 1 to 480. */
void ethosu_audio_micro_start(struct ethosu_audio_micro *micro, size_t hop);

/** Compute the row of a full window: ETHOSU_AUDIO_MICRO_BANDS values. */
void ethosu_audio_micro_row(struct ethosu_audio_micro *micro, uint16_t *row);

/** Maximum window length in samples and number of bands of a mel front end. */
#define ETHOSU_AUDIO_MEL_WINDOW 2048
#define ETHOSU_AUDIO_MEL_BANDS 256

/** Conversion of frequencies to positions on the scale of the bands. */
enum ethosu_audio_scale {
    /** 1127 ln(1 + f/700), triangles over these positions, as in HTK and TensorFlow. */
    ETHOSU_AUDIO_HTK,
    /**
     * Linear below 1 kHz, triangles over Hz, each of area 1, as in Slaney's toolbox and librosa.
     */
    ETHOSU_AUDIO_SLANEY,
};

/** Configuration of a mel front end. */
struct ethosu_audio_mel_config {
    size_t window; /**< samples; the FFT size is the next power of two */
    size_t hop;
    size_t bands;
    size_t coefficients; /**< of the DCT; 0 for no DCT: rows of logarithms */
    float low_hz;
    float high_hz;
    enum ethosu_audio_scale scale;
    bool power;       /**< of squares of amplitudes, not of amplitudes */
    float offset;     /**< is added to each band before the logarithm */
    float multiplier; /**< of the natural logarithm */
};

/** One rising and falling triangle over the bins of the FFT. */
struct ethosu_audio_triangle {
    uint16_t start;
    uint16_t width;
    uint32_t weights; /**< index of the first */
};

/** Log-mel spectrum or MFCC; its arrays are in the memory passed to _start(). */
struct ethosu_audio_mel {
    struct ethosu_audio_window window;
    struct ethosu_audio_mel_config config;
    size_t fft;   /**< real numbers that are transformed */
    float gain;   /**< each sample is multiplied by this: 1/32768, unless it is changed */
    float *shape; /**< of the window */
    float *turns; /**< factors of the FFT, see mel_fft.h */
    float *real;
    float *imaginary;
    float *bands;
    float *weights;
    float *cosines; /**< of the DCT, a row for each coefficient */
    struct ethosu_audio_triangle *triangles;
};

/**
 * Check a configuration.
 *
 * @return NULL if it is valid, else the name of a member that is out of range
 */
const char *ethosu_audio_mel_check(const struct ethosu_audio_mel_config *config);

/** Bytes of memory for a front end with this configuration, which must be valid. */
size_t ethosu_audio_mel_size(const struct ethosu_audio_mel_config *config);

/**
 * Start without samples.
 *
 * @param memory  ethosu_audio_mel_size() bytes, aligned as a float, which stay the front end's
 */
void ethosu_audio_mel_start(struct ethosu_audio_mel *mel,
                            const struct ethosu_audio_mel_config *config, void *memory);

/** Values of a row. */
size_t ethosu_audio_mel_values(const struct ethosu_audio_mel *mel);

/** Compute the row of a full window: ethosu_audio_mel_values() numbers. */
void ethosu_audio_mel_row(struct ethosu_audio_mel *mel, float *row);

/** Queue of samples for one writer and one reader, one of which may be an interrupt. */
struct ethosu_audio_ring {
    int16_t *samples;
    uint32_t size;     /**< a power of two */
    uint32_t written;  /**< ever, modulo 2^32 */
    uint32_t read;     /**< ever, modulo 2^32 */
    uint32_t lost;     /**< samples dropped */
    uint32_t overruns; /**< number of times samples were dropped */
};

/** Samples that can be read. */
uint32_t ethosu_audio_ring_count(const struct ethosu_audio_ring *ring);

/** Write samples; those that do not fit are dropped and counted. Callable from an interrupt. */
void ethosu_audio_ring_write(struct ethosu_audio_ring *ring, const int16_t *samples, size_t count);

/**
 * Contiguous free space for the writer or its DMA; see ethosu_audio_ring_wrote().
 *
 * @return number of samples that fit
 */
uint32_t ethosu_audio_ring_room(struct ethosu_audio_ring *ring, int16_t **samples);

/** Commit `count` samples written to the space from ethosu_audio_ring_room(). */
void ethosu_audio_ring_wrote(struct ethosu_audio_ring *ring, uint32_t count);

/**
 * Contiguous samples available to the reader; see ethosu_audio_ring_took().
 *
 * @return number of samples
 */
uint32_t ethosu_audio_ring_piece(const struct ethosu_audio_ring *ring, const int16_t **samples);

/** Release `count` samples from ethosu_audio_ring_piece() after reading them. */
void ethosu_audio_ring_took(struct ethosu_audio_ring *ring, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
