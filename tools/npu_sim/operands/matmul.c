// SPDX-License-Identifier: MIT
/** Weights from IFM2. */
#include "operands/matmul.h"

#include <inttypes.h>

#include "core/npu_internal.h"
#include "memory/feature_map.h"
#include "operands/operation.h"

bool npu_decode_matmul(struct npu *npu, struct npu_op *op)
{
    struct npu_feature_map *map = &op->ifm2;
    const struct npu_kernel *kernel = &op->kernel;
    if (!npu_decode_ifm2(npu, map)) {
        return false;
    }
    map->height = 1;
    map->width = op->output.map.depth;
    map->depth = op->ifm.depth;
    if (npu_kernel_taps(kernel) != 1 || map->bits != op->ifm.bits || !npu_map_fits_16(map) ||
        !map->used) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "takes weights of %u bits, zero point %d, from IFM2 for a kernel of "
                        "%" PRIu32 "x%" PRIu32 " on %u bits, not supported",
                        map->bits, (int)map->zero_point, kernel->height, kernel->width,
                        op->ifm.bits);
    }
    return true;
}

int16_t *npu_matmul_weights(struct npu *npu, const struct npu_op *op)
{
    const struct npu_feature_map *map = &op->ifm2;
    int16_t *plain =
        npu_scratch_get(npu, NPU_BUFFER_SYMBOLS, map->width, map->depth * sizeof *plain);
    return plain != NULL && npu_read_row_16(npu, map, 0, plain) ? plain : NULL;
}
