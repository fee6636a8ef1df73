// SPDX-License-Identifier: MIT
/** Decoder of the weight format "FWD" of Ethos-U85: fixed-width symbols, fast to read. */
#ifndef NPU_FWD_H
#define NPU_FWD_H

#include <stddef.h>
#include <stdint.h>

/** Size in bytes of count symbols with this stream's header; 0 if the header is invalid. */
size_t npu_fwd_bytes(const uint8_t *stream, size_t bytes, uint64_t count);

/** Decode count symbols of a stream whose length npu_fwd_bytes() has checked. */
void npu_fwd_decode(const uint8_t *stream, int16_t *out, size_t count);

#endif
