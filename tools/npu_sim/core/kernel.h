// SPDX-License-Identifier: MIT
/** The kernel of CONV, DEPTHWISE and POOL: its taps and its movement over the IFM. */
#ifndef NPU_KERNEL_H
#define NPU_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

enum npu_upscale { NPU_UPSCALE_NONE = 0, NPU_UPSCALE_NEAREST = 1, NPU_UPSCALE_ZEROS = 2 };

struct npu_kernel {
    uint32_t height, width; /**< taps */
    uint32_t dilation_y, dilation_x;
    uint32_t stride_y, stride_x;
    uint32_t pad_top, pad_left;
    bool padded;      /**< any padding register is not 0 */
    bool part_kernel; /**< weight order bit of KERNEL_STRIDE */
    enum npu_upscale upscale;
    uint32_t ifm_height, ifm_width; /**< size of the IFM before padding, upscaled */
    uint32_t row_width;             /**< pixels in one of its rows, padded */
};

static inline uint32_t npu_kernel_taps(const struct npu_kernel *kernel)
{
    return kernel->height * kernel->width;
}

/** Is each OFM pixel computed from the IFM pixel of the same position? */
static inline bool npu_kernel_maps_pixels(const struct npu_kernel *kernel)
{
    return npu_kernel_taps(kernel) == 1 && kernel->stride_y == 1 && kernel->stride_x == 1 &&
           !kernel->padded && kernel->upscale == NPU_UPSCALE_NONE;
}

#endif
