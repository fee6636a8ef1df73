// SPDX-License-Identifier: MIT
/** Decoder of the weight format "FWD" of Ethos-U85: fixed-width symbols, fast to read. */
#ifndef NPU_FWD_H
#define NPU_FWD_H

#include <stddef.h>
#include <stdint.h>

/** Bytes that count symbols take under this stream's header, 0 for a header without meaning. */
size_t npu_fwd_bytes(const uint8_t *stream, size_t bytes, uint64_t count);

/** Decode count symbols of a stream that npu_fwd_bytes() found long enough. */
void npu_fwd_decode(const uint8_t *stream, int16_t *out, size_t count);

#endif
