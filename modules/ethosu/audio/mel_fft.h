// SPDX-License-Identifier: MIT
/** An FFT in single precision, of a power of two of real numbers. */
#ifndef MEL_FFT_H
#define MEL_FFT_H

#include <stddef.h>

/** Number of entries in the table of factors. */
#define MEL_FFT_TURNS(size) (2 * (size))

/** Fill the table for `size` real numbers, 8 or more. */
void mel_fft_turns(float *turns, size_t size);

/**
 * Transform real numbers. The even ones are given in `real`, the odd ones in `imaginary`, each in
 * the order of mel_fft_next().
 *
 * @param turns      of mel_fft_turns()
 * @param size       real numbers
 * @param real       size / 2 + 1 of them, which become the real parts of the spectrum
 * @param imaginary  likewise, the imaginary parts
 */
void mel_fft(const float *turns, size_t size, float *real, float *imaginary);

/** Position of the next of `pairs` (a power of two) pairs, in bit-reversed order. */
size_t mel_fft_next(size_t place, size_t pairs);

#endif
