// SPDX-License-Identifier: MIT
/** Weights from IFM2. */
#include "matmul.h"

#include "npu_internal.h"

bool npu_matmul_weights(struct npu *npu, const struct npu_kernel_window *window, uint32_t channels,
                        int16_t **plain, int64_t *largest)
{
    struct npu_feature_map map = {.height = 1, .width = channels, .depth = window->ifm.depth};
    if (!npu_decode_ifm2(npu, &map)) {
        return false;
    }
    if (window->kernel_height * window->kernel_width != 1 || map.bits != window->ifm.bits ||
        !npu_map_fits_16(&map) || !map.used) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "takes weights of %u bits, zero point %d, from IFM2 for a kernel of %ux%u "
                        "on %u bits, not supported",
                        map.bits, (int)map.zero_point, window->kernel_height, window->kernel_width,
                        window->ifm.bits);
    }
    *largest = npu_map_largest(&map);
    *plain = npu_scratch_get(npu, NPU_BUFFER_SYMBOLS, channels, map.depth * sizeof **plain);
    return *plain != NULL && npu_map_open(npu, NPU_READ_IFM, &map) &&
           npu_read_row_16(npu, &map, 0, *plain);
}
