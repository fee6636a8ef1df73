// SPDX-License-Identifier: MIT
/**
 * The IFM rows under a kernel, padded and upscaled, with the zero point subtracted. They are kept
 * in a ring of as many rows as the kernel's height. A kernel of one tap may have several rows at
 * once, which follow each other without gaps, so that they are like one long row.
 */
#ifndef NPU_WINDOW_H
#define NPU_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "memory/feature_map.h"

/** Elements of the rows, with as many bytes: those of npu_read_row_8(), _16() or _32(). */
enum npu_row_element { NPU_ROW_8 = 1, NPU_ROW_16 = 2, NPU_ROW_32 = 4 };

struct npu_kernel_window {
    const struct npu_kernel *kernel;
    const struct npu_feature_map *ifm; /**< as stored in memory */
    enum npu_row_element element;
    uint8_t *rows;
    size_t row_bytes;
    uint32_t slots;
    uint32_t next; /**< first padded row not yet prepared */
};

/** Allocate the ring. Elements of 16 bits are only possible if npu_map_fits_16(). */
bool npu_kernel_window_open(struct npu *npu, const struct npu_kernel *kernel,
                            const struct npu_feature_map *ifm, enum npu_row_element element,
                            struct npu_kernel_window *window);

/**
 * Number of rows that an operation with a kernel of one tap may compute together; 1 if it has
 * another kernel, or if its OFM could overwrite an IFM row before it is read. The maps are open.
 *
 * @param pixels  at most so many together, unless a row has more
 */
uint32_t npu_kernel_joined_rows(const struct npu *npu, const struct npu_kernel *kernel,
                                const struct npu_feature_map *ifm,
                                const struct npu_feature_map *ofm, uint32_t pixels);

/** Let a new window have that many rows; false after recording a fault. */
bool npu_kernel_window_join(struct npu *npu, struct npu_kernel_window *window, uint32_t rows);

/** Prepare all rows for OFM row oy, or for those joined from it on; oy must not decrease. */
bool npu_kernel_window_advance(struct npu *npu, struct npu_kernel_window *window, uint32_t oy);

/** Padded row of tap ky for OFM row oy: [row_width][depth], padding is the zero point. */
const void *npu_kernel_window_row(const struct npu_kernel_window *window, uint32_t oy, uint32_t ky);

/** Elements from the start of a padded row to tap kx of pixel ox. */
static inline size_t npu_kernel_window_offset(const struct npu_kernel_window *window, uint32_t ox,
                                              uint32_t kx)
{
    const struct npu_kernel *kernel = window->kernel;
    return ((size_t)ox * kernel->stride_x + kx * kernel->dilation_x) * window->ifm->depth;
}

/** Inputs [taps] of a pixel, as pointers into the rows; only for NPU_ROW_16. */
void npu_kernel_window_inputs(const struct npu_kernel_window *window, uint32_t oy, uint32_t ox,
                              const int16_t **inputs);

/** The same for NPU_ROW_8. */
void npu_kernel_window_bytes(const struct npu_kernel_window *window, uint32_t oy, uint32_t ox,
                             const uint8_t **inputs);

/** Range of taps [first, last) along one axis that are not padding. */
struct npu_taps {
    uint32_t first, last;
};
struct npu_taps npu_kernel_window_taps_y(const struct npu_kernel_window *window, uint32_t oy);
struct npu_taps npu_kernel_window_taps_x(const struct npu_kernel_window *window, uint32_t ox);

#endif
