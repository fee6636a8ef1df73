// SPDX-License-Identifier: MIT
/** The kernel window of CONV, DEPTHWISE and POOL. */
#include "window.h"

#include <inttypes.h>
#include <string.h>

#include "npu_internal.h"

enum {
    STRIDE_X_LOW = 0,
    STRIDE_Y_LOW = 1,
    STRIDE_PART_KERNEL = 2,
    STRIDE_DILATION_X = 3,
    STRIDE_DILATION_Y = 4,
    STRIDE_DECOMPOSITION = 5,
    STRIDE_X_HIGH = 6,
    STRIDE_Y_HIGH = 9,
    ROW_SLACK = 64, /**< bytes that vector kernels may read past a row */
};

struct kernel {
    uint64_t height_m1, width_m1, stride;
    uint64_t top, left, right, bottom;
    uint64_t upscale;
};

static bool read_kernel(struct npu *npu, struct kernel *kernel)
{
    return npu_get(npu, NPU_SET_KERNEL_HEIGHT_M1, &kernel->height_m1) &&
           npu_get(npu, NPU_SET_KERNEL_WIDTH_M1, &kernel->width_m1) &&
           npu_get(npu, NPU_SET_KERNEL_STRIDE, &kernel->stride) &&
           npu_get(npu, NPU_SET_IFM_PAD_TOP, &kernel->top) &&
           npu_get(npu, NPU_SET_IFM_PAD_LEFT, &kernel->left) &&
           npu_get(npu, NPU_SET_IFM_PAD_RIGHT, &kernel->right) &&
           npu_get(npu, NPU_SET_IFM_PAD_BOTTOM, &kernel->bottom) &&
           npu_get(npu, NPU_SET_IFM_UPSCALE, &kernel->upscale);
}

static uint32_t bit(uint64_t value, unsigned position)
{
    return (uint32_t)(value >> position) & 1u;
}

/** Size of the IFM along one axis that an OFM size and a kernel imply. */
static int64_t implied_size(uint32_t ofm, uint32_t stride, uint64_t kernel_m1, uint64_t before,
                            uint64_t after)
{
    return (int64_t)(ofm - 1) * stride + (int64_t)kernel_m1 + 1 - (int64_t)before - (int64_t)after;
}

static bool set_sizes(struct npu *npu, struct npu_kernel_window *window,
                      const struct kernel *kernel, uint32_t ofm_height, uint32_t ofm_width)
{
    int64_t height =
        implied_size(ofm_height, window->stride_y, kernel->height_m1, kernel->top, kernel->bottom);
    int64_t width =
        implied_size(ofm_width, window->stride_x, kernel->width_m1, kernel->left, kernel->right);
    if (height < 1 || width < 1) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "implies an IFM of height %" PRId64 " and width %" PRId64, height, width);
    }
    window->height = (uint32_t)height;
    window->width = (uint32_t)width;
    bool upscaled = window->upscale != NPU_UPSCALE_NONE;
    window->ifm.height = upscaled ? (window->height + 1) / 2 : window->height;
    window->ifm.width = upscaled ? (window->width + 1) / 2 : window->width;
    window->row_width = (ofm_width - 1) * window->stride_x + (uint32_t)kernel->width_m1 + 1;
    return true;
}

static bool set_kernel(struct npu *npu, struct npu_kernel_window *window,
                       const struct kernel *kernel)
{
    uint64_t stride = kernel->stride;
    window->stride_x = 1 + bit(stride, STRIDE_X_LOW) + 2 * bit(stride, STRIDE_X_HIGH);
    window->stride_y = 1 + bit(stride, STRIDE_Y_LOW) + 2 * bit(stride, STRIDE_Y_HIGH);
    window->dilation_x = 1 + bit(stride, STRIDE_DILATION_X);
    window->dilation_y = 1 + bit(stride, STRIDE_DILATION_Y);
    window->part_kernel = bit(stride, STRIDE_PART_KERNEL) != 0;
    if (bit(stride, STRIDE_DECOMPOSITION) != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "asks for 4x4 kernel decomposition, not supported");
    }
    if (kernel->height_m1 % window->dilation_y != 0 || kernel->width_m1 % window->dilation_x != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "has a kernel of %" PRIu64 "x%" PRIu64 " that dilation %ux%u cannot give",
                        kernel->height_m1 + 1, kernel->width_m1 + 1, window->dilation_y,
                        window->dilation_x);
    }
    window->kernel_height = (uint32_t)kernel->height_m1 / window->dilation_y + 1;
    window->kernel_width = (uint32_t)kernel->width_m1 / window->dilation_x + 1;
    if (kernel->upscale > NPU_UPSCALE_ZEROS) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM_UPSCALE %" PRIu64, kernel->upscale);
    }
    window->upscale = (enum npu_upscale)kernel->upscale;
    return true;
}

bool npu_kernel_window_open(struct npu *npu, struct npu_kernel_window *window, uint32_t ofm_height,
                            uint32_t ofm_width)
{
    struct kernel kernel;
    *window = (struct npu_kernel_window){0};
    if (!read_kernel(npu, &kernel) || !npu_decode_ifm(npu, &window->ifm) ||
        !set_kernel(npu, window, &kernel)) {
        return false;
    }
    window->pad_top = (uint32_t)kernel.top;
    window->pad_left = (uint32_t)kernel.left;
    window->padded = (kernel.top | kernel.left | kernel.right | kernel.bottom) != 0;
    return set_sizes(npu, window, &kernel, ofm_height, ofm_width);
}

bool npu_kernel_window_prepare(struct npu *npu, struct npu_kernel_window *window, bool narrow)
{
    size_t element = narrow ? sizeof(int16_t) : sizeof(int32_t);
    window->narrow = narrow;
    window->slots = (window->kernel_height - 1) * window->dilation_y + 1;
    size_t bytes = (size_t)window->row_width * window->ifm.depth * element;
    window->row_bytes = (bytes + 2 * ROW_SLACK - 1) / ROW_SLACK * ROW_SLACK;
    window->rows = npu_scratch_get(npu, NPU_BUFFER_ROWS, window->slots, window->row_bytes);
    return window->rows != NULL && npu_map_open(npu, NPU_READ_IFM, &window->ifm);
}

static void *slot_of(const struct npu_kernel_window *window, uint32_t padded_row)
{
    return window->rows + (size_t)(padded_row % window->slots) * window->row_bytes;
}

/** Spread the pixels of a row in place to twice its width. */
static void upscale_row(const struct npu_kernel_window *window, uint8_t *row)
{
    size_t pixel = window->ifm.depth * (window->narrow ? sizeof(int16_t) : sizeof(int32_t));
    for (uint32_t x = window->width; x-- > 0;) {
        bool zero = window->upscale == NPU_UPSCALE_ZEROS && x % 2 != 0;
        if (zero) {
            memset(row + x * pixel, 0, pixel);
        } else if (x > 0) {
            memmove(row + x * pixel, row + x / 2 * pixel, pixel);
        }
    }
}

/** Fill one padded row of the ring. */
static bool prepare_row(struct npu *npu, struct npu_kernel_window *window, uint32_t padded_row)
{
    uint8_t *row = slot_of(window, padded_row);
    bool inside = padded_row >= window->pad_top && padded_row - window->pad_top < window->height;
    uint32_t y = inside ? padded_row - window->pad_top : 0;
    bool upscaled = window->upscale != NPU_UPSCALE_NONE;
    if (!inside || (window->upscale == NPU_UPSCALE_ZEROS && y % 2 != 0)) {
        memset(row, 0, window->row_bytes);
        return true;
    }
    size_t pixel = window->ifm.depth * (window->narrow ? sizeof(int16_t) : sizeof(int32_t));
    uint8_t *first = row + window->pad_left * pixel;
    uint8_t *end = first + (upscaled ? window->width : window->ifm.width) * pixel;
    memset(row, 0, window->pad_left * pixel);
    memset(end, 0, (size_t)(row + window->row_bytes - end));
    y = upscaled ? y / 2 : y;
    bool done = window->narrow ? npu_read_row_16(npu, &window->ifm, y, (int16_t *)(void *)first)
                               : npu_read_row_32(npu, &window->ifm, y, (int32_t *)(void *)first);
    if (done && upscaled) {
        upscale_row(window, first);
    }
    return done;
}

bool npu_kernel_window_advance(struct npu *npu, struct npu_kernel_window *window, uint32_t oy)
{
    uint32_t first = oy * window->stride_y;
    uint32_t end = first + window->slots;
    if (window->next < first) {
        window->next = first;
    }
    for (; window->next < end; window->next++) {
        if (npu_should_abort(npu) || !prepare_row(npu, window, window->next)) {
            return false;
        }
    }
    return true;
}

const void *npu_kernel_window_row(const struct npu_kernel_window *window, uint32_t oy, uint32_t ky)
{
    return slot_of(window, oy * window->stride_y + ky * window->dilation_y);
}

void npu_kernel_window_aim(const struct npu_kernel_window *window, uint32_t oy, uint32_t ox,
                           const int16_t **inputs)
{
    for (uint32_t ky = 0; ky < window->kernel_height; ky++) {
        const int16_t *row = npu_kernel_window_row(window, oy, ky);
        for (uint32_t kx = 0; kx < window->kernel_width; kx++) {
            *inputs++ = row + npu_kernel_window_offset(window, ox, kx);
        }
    }
}

static struct npu_taps taps(uint32_t start, uint32_t pad, uint32_t size, uint32_t count,
                            uint32_t dilation)
{
    struct npu_taps range = {0, 0};
    if (start < pad) {
        range.first = (pad - start + dilation - 1) / dilation;
    }
    if (start < pad + size) {
        range.last = (pad + size - start + dilation - 1) / dilation;
    }
    if (range.last > count) {
        range.last = count;
    }
    if (range.first > range.last) {
        range.first = range.last;
    }
    return range;
}

struct npu_taps npu_kernel_window_taps_y(const struct npu_kernel_window *window, uint32_t oy)
{
    return taps(oy * window->stride_y, window->pad_top, window->height, window->kernel_height,
                window->dilation_y);
}

struct npu_taps npu_kernel_window_taps_x(const struct npu_kernel_window *window, uint32_t ox)
{
    return taps(ox * window->stride_x, window->pad_left, window->width, window->kernel_width,
                window->dilation_x);
}
