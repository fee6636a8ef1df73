// SPDX-License-Identifier: MIT
/** Decoder of the compressed weight stream ("MLW"). */
#ifndef NPU_MLW_H
#define NPU_MLW_H

#include <stddef.h>
#include <stdint.h>

enum npu_mlw_result {
    NPU_MLW_OK,
    NPU_MLW_TRUNCATED, /**< ends inside a slice */
    NPU_MLW_INVALID,   /**< invalid header field */
    NPU_MLW_TOO_LONG,  /**< more weights than requested */
};

enum { NPU_MLW_SLICE_MAX = 1 << 15 };

/** Working memory of the decoder: one slice before it is assembled. */
struct npu_mlw_work {
    int16_t weights[NPU_MLW_SLICE_MAX];
    uint32_t zeros[NPU_MLW_SLICE_MAX + 1];
};

/**
 * Decode a stream, which must end with an end-of-stream marker in its last byte.
 *
 * @param out    room for capacity weights, each -255..255
 * @param count  weights decoded
 */
enum npu_mlw_result npu_mlw_decode(const uint8_t *stream, size_t bytes, struct npu_mlw_work *work,
                                   int16_t *out, size_t capacity, size_t *count);

/** Text of a result, for messages. */
const char *npu_mlw_text(enum npu_mlw_result result);

#endif
