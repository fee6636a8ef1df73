// SPDX-License-Identifier: MIT
/** The IFM rows under a kernel. */
#include "operands/window.h"

#include <string.h>

#include "core/npu_internal.h"

enum { ROW_SLACK = 64 /**< bytes that vector kernels may read past a row */ };

static size_t element_size(const struct npu_kernel_window *window)
{
    return window->element;
}

/** Bytes of padding. */
static int padding(const struct npu_kernel_window *window)
{
    return window->element == NPU_ROW_8 ? npu_map_zero_8(window->ifm) : 0;
}

bool npu_kernel_window_open(struct npu *npu, const struct npu_kernel *kernel,
                            const struct npu_feature_map *ifm, enum npu_row_element element,
                            struct npu_kernel_window *window)
{
    *window = (struct npu_kernel_window){.kernel = kernel, .ifm = ifm, .element = element};
    window->slots = (kernel->height - 1) * kernel->dilation_y + 1;
    size_t bytes = (size_t)kernel->row_width * ifm->depth * element_size(window);
    window->row_bytes = (bytes + 2 * ROW_SLACK - 1) / ROW_SLACK * ROW_SLACK;
    window->rows = npu_scratch_get(npu, NPU_BUFFER_ROWS, window->slots, window->row_bytes);
    return window->rows != NULL;
}

uint32_t npu_kernel_joined_rows(const struct npu *npu, const struct npu_kernel *kernel,
                                const struct npu_feature_map *ifm,
                                const struct npu_feature_map *ofm, uint32_t pixels)
{
    uint32_t rows = pixels / ofm->width;
    if (rows < 2 || ofm->height < 2 || !npu_kernel_maps_pixels(kernel) ||
        ifm->width != ofm->width || ifm->height < ofm->height || !npu_maps_apart(npu, ifm, ofm)) {
        return 1;
    }
    return rows < ofm->height ? rows : ofm->height;
}

bool npu_kernel_window_join(struct npu *npu, struct npu_kernel_window *window, uint32_t rows)
{
    if (rows > 1) {
        window->slots = rows;
        window->row_bytes = (size_t)window->ifm->width * window->ifm->depth * element_size(window);
        window->rows =
            npu_scratch_get(npu, NPU_BUFFER_ROWS, rows * window->row_bytes + ROW_SLACK, 1);
    }
    return window->rows != NULL;
}

static void *slot_of(const struct npu_kernel_window *window, uint32_t padded_row)
{
    return window->rows + (size_t)(padded_row % window->slots) * window->row_bytes;
}

/** Upscale the pixels of a row in place to twice its width. */
static void upscale_row(const struct npu_kernel_window *window, uint8_t *row)
{
    size_t pixel = window->ifm->depth * element_size(window);
    for (uint32_t x = window->kernel->ifm_width; x-- > 0;) {
        bool zero = window->kernel->upscale == NPU_UPSCALE_ZEROS && x % 2 != 0;
        if (zero) {
            memset(row + x * pixel, padding(window), pixel);
        } else if (x > 0) {
            memmove(row + x * pixel, row + x / 2 * pixel, pixel);
        }
    }
}

static bool read_row(struct npu *npu, const struct npu_kernel_window *window, uint32_t y, void *out)
{
    switch (window->element) {
    case NPU_ROW_8:
        return npu_read_row_8(npu, window->ifm, y, out);
    case NPU_ROW_16:
        return npu_read_row_16(npu, window->ifm, y, out);
    default:
        return npu_read_row_32(npu, window->ifm, y, out);
    }
}

/** Fill one padded row of the ring. */
static bool prepare_row(struct npu *npu, struct npu_kernel_window *window, uint32_t padded_row)
{
    const struct npu_kernel *kernel = window->kernel;
    uint8_t *row = slot_of(window, padded_row);
    bool inside =
        padded_row >= kernel->pad_top && padded_row - kernel->pad_top < kernel->ifm_height;
    uint32_t y = inside ? padded_row - kernel->pad_top : 0;
    bool upscaled = kernel->upscale != NPU_UPSCALE_NONE;
    if (!inside || (kernel->upscale == NPU_UPSCALE_ZEROS && y % 2 != 0)) {
        memset(row, padding(window), window->row_bytes);
        return true;
    }
    size_t pixel = window->ifm->depth * element_size(window);
    uint8_t *first = row + kernel->pad_left * pixel;
    uint8_t *end = first + (upscaled ? kernel->ifm_width : window->ifm->width) * pixel;
    memset(row, padding(window), kernel->pad_left * pixel);
    memset(end, padding(window), (size_t)(row + window->row_bytes - end));
    y = upscaled ? y / 2 : y;
    if (!read_row(npu, window, y, first)) {
        return false;
    }
    if (upscaled) {
        upscale_row(window, first);
    }
    return true;
}

bool npu_kernel_window_advance(struct npu *npu, struct npu_kernel_window *window, uint32_t oy)
{
    uint32_t first = oy * window->kernel->stride_y;
    uint32_t end = first + window->slots;
    uint32_t joined_end = npu_kernel_maps_pixels(window->kernel) ? window->ifm->height : end;
    end = end < joined_end ? end : joined_end;
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
    return slot_of(window, oy * window->kernel->stride_y + ky * window->kernel->dilation_y);
}

void npu_kernel_window_inputs(const struct npu_kernel_window *window, uint32_t oy, uint32_t ox,
                              const int16_t **inputs)
{
    for (uint32_t ky = 0; ky < window->kernel->height; ky++) {
        const int16_t *row = npu_kernel_window_row(window, oy, ky);
        for (uint32_t kx = 0; kx < window->kernel->width; kx++) {
            *inputs++ = row + npu_kernel_window_offset(window, ox, kx);
        }
    }
}

void npu_kernel_window_bytes(const struct npu_kernel_window *window, uint32_t oy, uint32_t ox,
                             const uint8_t **inputs)
{
    for (uint32_t ky = 0; ky < window->kernel->height; ky++) {
        const uint8_t *row = npu_kernel_window_row(window, oy, ky);
        for (uint32_t kx = 0; kx < window->kernel->width; kx++) {
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
    const struct npu_kernel *kernel = window->kernel;
    return taps(oy * kernel->stride_y, kernel->pad_top, kernel->ifm_height, kernel->height,
                kernel->dilation_y);
}

struct npu_taps npu_kernel_window_taps_x(const struct npu_kernel_window *window, uint32_t ox)
{
    const struct npu_kernel *kernel = window->kernel;
    return taps(ox * kernel->stride_x, kernel->pad_left, kernel->ifm_width, kernel->width,
                kernel->dilation_x);
}
