// SPDX-License-Identifier: MIT
/**
 * Decoder of the weight format "FWD". A header of 256 bits (raw, small table,
 * 102 zeros, zero adjustment, 16 table entries of sign and magnitude), then one
 * index or raw byte per weight. Source: mlw_encode_fwd.cpp of Vela's regor.
 */
#include "weights/fwd.h"

#include <stdbool.h>

enum {
    HEADER_BYTES = 32,
    FLAG_RAW = 1,
    FLAG_SMALL = 2,
    ZERO_ADJUST = 13, /**< byte of the header */
    TABLE = 112,      /**< first bit of the table */
    ENTRY_BITS = 9,
    ENTRIES = 16,
};

/** Bits of a symbol; 0 if the flags are contradictory. */
static unsigned symbol_bits(const uint8_t *stream)
{
    static const uint8_t bits[] = {[0] = 4, [FLAG_RAW] = 8, [FLAG_SMALL] = 2, [3] = 0};
    return bits[stream[0] & (FLAG_RAW | FLAG_SMALL)];
}

static bool header_has_zeros(const uint8_t *stream)
{
    unsigned set = stream[0] & ~(unsigned)(FLAG_RAW | FLAG_SMALL);
    for (size_t i = 1; i < ZERO_ADJUST; i++) {
        set |= stream[i];
    }
    return set == 0;
}

size_t npu_fwd_bytes(const uint8_t *stream, size_t bytes, uint64_t count)
{
    if (bytes < HEADER_BYTES || symbol_bits(stream) == 0 || !header_has_zeros(stream)) {
        return 0;
    }
    return HEADER_BYTES + (size_t)((count * symbol_bits(stream) + 7) / 8);
}

static int16_t table_entry(const uint8_t *stream, unsigned index)
{
    unsigned at = TABLE + index * ENTRY_BITS;
    unsigned value = (stream[at / 8] | (unsigned)stream[at / 8 + 1] << 8) >> at % 8 & 0x1FF;
    int16_t magnitude = (int16_t)(value >> 1);
    return (value & 1) != 0 ? (int16_t)-magnitude : magnitude;
}

void npu_fwd_decode(const uint8_t *stream, int16_t *out, size_t count)
{
    unsigned bits = symbol_bits(stream);
    const uint8_t *body = stream + HEADER_BYTES;
    if (bits == 8) {
        int adjust = (int8_t)stream[ZERO_ADJUST];
        for (size_t i = 0; i < count; i++) {
            out[i] = (int16_t)((int8_t)body[i] - adjust);
        }
        return;
    }
    int16_t table[ENTRIES];
    for (unsigned i = 0; i < ENTRIES; i++) {
        table[i] = table_entry(stream, i);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i * bits;
        out[i] = table[(unsigned)body[at / 8] >> at % 8 & ((1u << bits) - 1)];
    }
}
