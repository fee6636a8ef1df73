// SPDX-License-Identifier: MIT
/**
 * The kernel window of CONV, DEPTHWISE and POOL: geometry, and the IFM rows it
 * covers, padded and upscaled, with the zero point subtracted.
 */
#ifndef NPU_WINDOW_H
#define NPU_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "feature_map.h"

enum npu_upscale { NPU_UPSCALE_NONE = 0, NPU_UPSCALE_NEAREST = 1, NPU_UPSCALE_ZEROS = 2 };

struct npu_kernel_window {
    struct npu_feature_map ifm; /**< as it is in memory */
    uint32_t height, width;     /**< of the IFM that the kernel sees: upscaled, unpadded */
    uint32_t kernel_height, kernel_width; /**< taps */
    uint32_t dilation_y, dilation_x;
    uint32_t stride_y, stride_x;
    uint32_t pad_top, pad_left;
    bool padded;      /**< any padding register is not 0 */
    bool part_kernel; /**< weight order bit of KERNEL_STRIDE */
    enum npu_upscale upscale;
    uint32_t row_width; /**< pixels of a prepared row */
    bool narrow;        /**< prepared rows hold int16_t, else int32_t */

    /* Ring of prepared rows. */
    uint8_t *rows;
    size_t row_bytes;
    uint32_t slots;
    uint32_t next; /**< first padded row not prepared yet */
};

/** Decode kernel, padding, upscale and IFM for an OFM of this height and width.
 */
bool npu_kernel_window_open(struct npu *npu, struct npu_kernel_window *window, uint32_t ofm_height,
                            uint32_t ofm_width);

/** Reserve the ring. narrow: int16_t elements; only when npu_map_fits_16(). */
bool npu_kernel_window_prepare(struct npu *npu, struct npu_kernel_window *window, bool narrow);

/** Make all rows of OFM row oy ready; oy must not decrease. */
bool npu_kernel_window_advance(struct npu *npu, struct npu_kernel_window *window, uint32_t oy);

/** Padded row of tap ky for OFM row oy: [row_width][depth], padding is 0. */
const void *npu_kernel_window_row(const struct npu_kernel_window *window, uint32_t oy, uint32_t ky);

/** Elements from the start of a padded row to tap kx of pixel ox. */
static inline size_t npu_kernel_window_offset(const struct npu_kernel_window *window, uint32_t ox,
                                              uint32_t kx)
{
    return ((size_t)ox * window->stride_x + kx * window->dilation_x) * window->ifm.depth;
}

/** Point inputs [taps] at the taps of a pixel; only for narrow rows. */
void npu_kernel_window_aim(const struct npu_kernel_window *window, uint32_t oy, uint32_t ox,
                           const int16_t **inputs);

/** Range of taps [first, last) along one axis that meet real elements. */
struct npu_taps {
    uint32_t first, last;
};
struct npu_taps npu_kernel_window_taps_y(const struct npu_kernel_window *window, uint32_t oy);
struct npu_taps npu_kernel_window_taps_x(const struct npu_kernel_window *window, uint32_t ox);

#endif
