// SPDX-License-Identifier: MIT
/** The kernel of CONV, DEPTHWISE and POOL, as the command registers describe it. */
#include "core/kernel.h"

#include <inttypes.h>

#include "core/npu_internal.h"
#include "operands/operation.h"

enum {
    STRIDE_X_LOW = 0,
    STRIDE_Y_LOW = 1,
    STRIDE_PART_KERNEL = 2,
    STRIDE_DILATION_X = 3,
    STRIDE_DILATION_Y = 4,
    STRIDE_DECOMPOSITION = 5,
    STRIDE_X_HIGH = 6,
    STRIDE_Y_HIGH = 9,
};

struct kernel_registers {
    uint64_t height_m1, width_m1, stride;
    uint64_t top, left, right, bottom;
    uint64_t upscale;
};

static bool read_registers(struct npu *npu, struct kernel_registers *from)
{
    return npu_get(npu, NPU_SET_KERNEL_HEIGHT_M1, &from->height_m1) &&
           npu_get(npu, NPU_SET_KERNEL_WIDTH_M1, &from->width_m1) &&
           npu_get(npu, NPU_SET_KERNEL_STRIDE, &from->stride) &&
           npu_get(npu, NPU_SET_IFM_PAD_TOP, &from->top) &&
           npu_get(npu, NPU_SET_IFM_PAD_LEFT, &from->left) &&
           npu_get(npu, NPU_SET_IFM_PAD_RIGHT, &from->right) &&
           npu_get(npu, NPU_SET_IFM_PAD_BOTTOM, &from->bottom) &&
           npu_get(npu, NPU_SET_IFM_UPSCALE, &from->upscale);
}

static uint32_t bit(uint64_t value, unsigned position)
{
    return (uint32_t)(value >> position) & 1u;
}

static bool decode_taps(struct npu *npu, const struct kernel_registers *from,
                        struct npu_kernel *kernel)
{
    uint64_t stride = from->stride;
    kernel->stride_x = 1 + bit(stride, STRIDE_X_LOW) + 2 * bit(stride, STRIDE_X_HIGH);
    kernel->stride_y = 1 + bit(stride, STRIDE_Y_LOW) + 2 * bit(stride, STRIDE_Y_HIGH);
    kernel->dilation_x = 1 + bit(stride, STRIDE_DILATION_X);
    kernel->dilation_y = 1 + bit(stride, STRIDE_DILATION_Y);
    kernel->part_kernel = bit(stride, STRIDE_PART_KERNEL) != 0;
    if (bit(stride, STRIDE_DECOMPOSITION) != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "uses 4x4 kernel decomposition, not supported");
    }
    if (from->height_m1 % kernel->dilation_y != 0 || from->width_m1 % kernel->dilation_x != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "has a kernel of %" PRIu64 "x%" PRIu64 ", impossible with dilation %" PRIu32
                        "x%" PRIu32,
                        from->height_m1 + 1, from->width_m1 + 1, kernel->dilation_y,
                        kernel->dilation_x);
    }
    kernel->height = (uint32_t)from->height_m1 / kernel->dilation_y + 1;
    kernel->width = (uint32_t)from->width_m1 / kernel->dilation_x + 1;
    return true;
}

/** Size of the IFM along one axis, implied by OFM size and kernel. */
static int64_t implied_size(uint32_t ofm, uint32_t stride, uint64_t kernel_m1, uint64_t before,
                            uint64_t after)
{
    return (int64_t)(ofm - 1) * stride + (int64_t)kernel_m1 + 1 - (int64_t)before - (int64_t)after;
}

static bool decode_sizes(struct npu *npu, const struct kernel_registers *from, struct npu_op *op)
{
    struct npu_kernel *kernel = &op->kernel;
    const struct npu_feature_map *ofm = &op->output.map;
    int64_t height =
        implied_size(ofm->height, kernel->stride_y, from->height_m1, from->top, from->bottom);
    int64_t width =
        implied_size(ofm->width, kernel->stride_x, from->width_m1, from->left, from->right);
    if (height < 1 || width < 1) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "implies an IFM of height %" PRId64 " and width %" PRId64, height, width);
    }
    kernel->ifm_height = (uint32_t)height;
    kernel->ifm_width = (uint32_t)width;
    uint32_t scale = kernel->upscale != NPU_UPSCALE_NONE ? 2 : 1;
    op->ifm.height = (kernel->ifm_height + scale - 1) / scale;
    op->ifm.width = (kernel->ifm_width + scale - 1) / scale;
    kernel->row_width = (ofm->width - 1) * kernel->stride_x + (uint32_t)from->width_m1 + 1;
    return true;
}

bool npu_decode_kernel(struct npu *npu, struct npu_op *op)
{
    struct kernel_registers from;
    struct npu_kernel *kernel = &op->kernel;
    if (!read_registers(npu, &from) || !npu_decode_ifm(npu, &op->ifm) ||
        !decode_taps(npu, &from, kernel)) {
        return false;
    }
    if (from.upscale > NPU_UPSCALE_ZEROS) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM_UPSCALE %" PRIu64, from.upscale);
    }
    kernel->upscale = (enum npu_upscale)from.upscale;
    kernel->pad_top = (uint32_t)from.top;
    kernel->pad_left = (uint32_t)from.left;
    kernel->padded = (from.top | from.left | from.right | from.bottom) != 0;
    return decode_sizes(npu, &from, op);
}
