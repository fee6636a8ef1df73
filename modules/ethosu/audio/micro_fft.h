// SPDX-License-Identifier: MIT
/** The 16-bit FFT of the micro frontend. */
#ifndef MICRO_FFT_H
#define MICRO_FFT_H

#include <stdint.h>

/** Real numbers that are transformed. */
#define MICRO_FFT 512

/** A complex number. */
struct micro_complex {
    int16_t real;
    int16_t imaginary;
};

/**
 * Spectrum of MICRO_FFT real numbers, divided by MICRO_FFT.
 *
 * Rounds and, on overflow, wraps like KISS FFT with 16 bits, the library that wake-word models were
 * trained with. MVE (Helium) processes four numbers at a time with the same results.
 *
 * @param samples   MICRO_FFT numbers
 * @param spectrum  MICRO_FFT / 2 + 1 numbers
 */
void micro_fft(const int16_t *samples, struct micro_complex *spectrum);

#endif
