// SPDX-License-Identifier: MIT
/** Growable buffers, freed with the simulator. */
#ifndef NPU_SCRATCH_H
#define NPU_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

enum npu_buffer {
    NPU_BUFFER_SYMBOLS,                            /**< weight stream symbols in stream order */
    NPU_BUFFER_MLW,                                /**< working memory of the weight decoder */
    NPU_BUFFER_SCALES,                             /**< per-channel scale records */
    NPU_BUFFER_ROWS,                               /**< IFM rows that the kernel window needs */
    NPU_BUFFER_RUNS,                               /**< runs of inputs that form a kernel window */
    NPU_BUFFER_SUMS,                               /**< 32-bit sums */
    NPU_BUFFER_ACC,                                /**< accumulators */
    NPU_BUFFER_REQUANT,                            /**< per-channel values of the output stage */
    NPU_BUFFER_RESULT,                             /**< OFM values before they are stored */
    NPU_BUFFER_OPERAND,                            /**< second operand */
    NPU_BUFFER_KEPT,                               /**< accumulators for the next operation */
    NPU_BUFFER_PACKED,                             /**< variable weights */
    NPU_BUFFER_CHAIN0,                             /**< first of NPU_CHAINS chaining buffers */
    NPU_BUFFER_CHAIN_LAST = NPU_BUFFER_CHAIN0 + 6, /**< the last of them, NPU_ARRANGED */
    NPU_BUFFER_COUNT
};

struct npu_scratch {
    void *memory[NPU_BUFFER_COUNT];
    size_t bytes[NPU_BUFFER_COUNT];
};

struct npu;

/**
 * The buffer, at least count * size bytes, 64-byte aligned. Its contents are lost when it grows.
 *
 * @return NULL after recording a fault: more than 2^28 bytes, or out of memory
 */
void *npu_scratch_get(struct npu *npu, enum npu_buffer buffer, uint64_t count, size_t size);

void npu_scratch_free(struct npu_scratch *scratch);

#endif
