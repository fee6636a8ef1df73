// SPDX-License-Identifier: MIT
/**
 * Decoder of the compressed weight stream of Vela's mlw_codec.
 *
 * The stream is a sequence of slices. A slice codes its weights as symbols: indices into a palette,
 * or offsets from it, in Golomb-Rice codes (or plain fields), and optionally the runs of zeros
 * between them in separate codes. Both kinds come in chunks of interleaved unary parts; the
 * remainders of a chunk follow one chunk later.
 */
#include "weights/mlw.h"

#include <stdbool.h>
#include <string.h>

enum {
    CHUNK_BITS = 12,        /**< unary bits of a chunk */
    CHUNK_BITS_SHORT = 8,   /**< with wide divisors */
    ZERO_END_OF_STREAM = 7, /**< values of the zero divisor field */
    ZERO_NONE = 6,
    ZERO_LAST = 3,
    WEIGHT_UNCOMPRESSED = 7, /**< values of the weight divisor field */
    WEIGHT_LAST = 5,
    MAX_BALANCE = 8, /**< symbols that weights may run ahead of zero runs */
    PALETTE_MAX = 32,
    SYMBOLS = 1 << 10, /**< symbols from here on cannot be weights */
    WEIGHT_LIMIT = 255,
};

/** Little-endian bits, lowest first. */
struct bits {
    const uint8_t *bytes;
    size_t size;     /**< bytes */
    size_t position; /**< bits */
};

/** Symbols whose unary part has been read, but not their remainder. */
struct chunk {
    uint32_t quotient[CHUNK_BITS];
    unsigned count;
};

/** Contents of a palette; also valid for later slices. */
struct palette {
    int16_t value[PALETTE_MAX];
    uint32_t size;
    uint32_t offset; /**< of direct symbols */
    unsigned bits;
};

struct slice {
    uint32_t weights; /**< symbols in the slice */
    uint32_t zeros;   /**< zero runs in the slice, 0 when they are off */
    unsigned zero_divisor;
    unsigned weight_width; /**< remainder bits of a weight */
    bool compressed;
    bool truncated; /**< a weight's unary part is at most two bits */
    bool new_palette;
};

struct decoder {
    struct bits in;
    struct palette palette;
    struct slice slice;
    bool first_slice;
    int16_t *out;
    size_t capacity;
    size_t count;
    struct npu_mlw_work *work;
};

/** Up to 25 bits at the position; bits past the end read as 0. */
static uint32_t peek(const struct bits *in, unsigned count)
{
    size_t byte = in->position / 8;
    uint64_t word = 0;
    if (byte + sizeof word <= in->size) {
        memcpy(&word, in->bytes + byte, sizeof word);
    } else {
        for (unsigned i = 0; byte + i < in->size; i++) {
            word |= (uint64_t)in->bytes[byte + i] << (8 * i);
        }
    }
    return (uint32_t)(word >> (in->position % 8)) & (((uint32_t)1 << count) - 1);
}

static uint32_t take(struct bits *in, unsigned count)
{
    uint32_t value = peek(in, count);
    in->position += count;
    return value;
}

static bool past_end(const struct bits *in)
{
    return in->position > in->size * 8;
}

/** Sign in bit 0, magnitude above it. */
static int32_t weight_of(uint32_t code)
{
    int32_t magnitude = (int32_t)(code >> 1);
    return (code & 1) != 0 ? -magnitude : magnitude;
}

static unsigned bits_for(uint32_t values)
{
    unsigned bits = 0;
    while (((uint32_t)1 << bits) < values) {
        bits++;
    }
    return bits;
}

static void read_palette(struct decoder *decoder)
{
    struct palette *palette = &decoder->palette;
    palette->offset = take(&decoder->in, 5);
    palette->size = take(&decoder->in, 5);
    palette->size += palette->size > 0 ? 1 : 0;
    palette->bits = take(&decoder->in, 3) + 2;
    for (uint32_t i = 0; i < palette->size; i++) {
        palette->value[i] = (int16_t)weight_of(take(&decoder->in, palette->bits));
    }
}

static enum npu_mlw_result read_header(struct decoder *decoder, unsigned zero_divisor)
{
    struct slice *slice = &decoder->slice;
    slice->weights = take(&decoder->in, 15) + 1;
    unsigned weight_divisor = take(&decoder->in, 3);
    slice->truncated = take(&decoder->in, 1) != 0;
    slice->new_palette = take(&decoder->in, 1) != 0;
    if (past_end(&decoder->in)) {
        return NPU_MLW_TRUNCATED;
    }
    bool zero_runs = zero_divisor <= ZERO_LAST;
    slice->compressed = weight_divisor != WEIGHT_UNCOMPRESSED;
    if ((!zero_runs && zero_divisor != ZERO_NONE) ||
        (slice->compressed && weight_divisor > WEIGHT_LAST) ||
        (decoder->first_slice && !slice->new_palette)) {
        return NPU_MLW_INVALID;
    }
    if (slice->new_palette) {
        read_palette(decoder);
    }
    decoder->first_slice = false;
    slice->zero_divisor = zero_divisor;
    slice->zeros = zero_runs ? slice->weights + (slice->new_palette ? 1 : 0) : 0;
    const struct palette *palette = &decoder->palette;
    slice->weight_width = slice->compressed   ? weight_divisor
                          : palette->size > 0 ? bits_for(palette->size)
                                              : palette->bits;
    return past_end(&decoder->in) ? NPU_MLW_TRUNCATED : NPU_MLW_OK;
}

/** Unary parts of weights: two bit fields that code 0, 1 or 2 and more per position. */
static void read_weight_unary(struct decoder *decoder, uint32_t *running, struct chunk *chunk,
                              uint32_t unary0)
{
    const struct slice *slice = &decoder->slice;
    unsigned positions =
        !slice->compressed && slice->weight_width > 5 ? CHUNK_BITS_SHORT : CHUNK_BITS;
    uint32_t unary1 = take(&decoder->in, (unsigned)__builtin_popcount(unary0));
    chunk->count = 0;
    for (unsigned i = 0; i < positions; i++) {
        uint32_t code = unary0 >> i & 1;
        if (code != 0) {
            code += unary1 & 1;
            unary1 >>= 1;
        }
        *running += code;
        if (code < 2 || slice->truncated) {
            chunk->quotient[chunk->count++] = *running;
            *running = 0;
        }
    }
}

/** Unary parts of zero runs: ones, ended by a zero. */
static void read_zero_unary(uint32_t unary, unsigned positions, uint32_t *running,
                            struct chunk *chunk)
{
    chunk->count = 0;
    for (unsigned i = 0; i < positions; i++) {
        if ((unary >> i & 1) != 0) {
            ++*running;
        } else {
            chunk->quotient[chunk->count++] = *running;
            *running = 0;
        }
    }
}

/** Complete the weights of a chunk with their remainders. */
static enum npu_mlw_result finish_weights(struct decoder *decoder, const struct chunk *chunk,
                                          uint32_t *done)
{
    const struct slice *slice = &decoder->slice;
    const struct palette *palette = &decoder->palette;
    for (unsigned i = 0; i < chunk->count && *done < slice->weights; i++) {
        uint32_t symbol =
            chunk->quotient[i] << slice->weight_width | take(&decoder->in, slice->weight_width);
        int32_t weight;
        if (symbol < palette->size) {
            weight = palette->value[symbol];
        } else if (symbol < SYMBOLS) {
            weight = weight_of(symbol - palette->size + palette->offset);
        } else {
            return NPU_MLW_INVALID;
        }
        if (weight < -WEIGHT_LIMIT || weight > WEIGHT_LIMIT) {
            return NPU_MLW_INVALID;
        }
        decoder->work->weights[(*done)++] = (int16_t)weight;
    }
    return NPU_MLW_OK;
}

static void finish_zeros(struct decoder *decoder, const struct chunk *chunk, uint32_t *done)
{
    const struct slice *slice = &decoder->slice;
    for (unsigned i = 0; i < chunk->count && *done < slice->zeros; i++) {
        decoder->work->zeros[(*done)++] =
            chunk->quotient[i] << slice->zero_divisor | take(&decoder->in, slice->zero_divisor);
    }
}

/** Read all chunks of a slice into the work arrays. */
static enum npu_mlw_result read_chunks(struct decoder *decoder)
{
    const struct slice *slice = &decoder->slice;
    unsigned zero_places = slice->zero_divisor == ZERO_LAST ? CHUNK_BITS_SHORT : CHUNK_BITS;
    struct chunk weights = {0};
    struct chunk zeros = {0};
    uint32_t weight_running = 0, weight_seen = 0, weight_done = 0;
    uint32_t zero_running = 0, zero_seen = 0, zero_done = 0;
    for (;;) {
        int64_t balance = slice->zeros > 0 ? (int64_t)weight_seen - zero_seen : 0;
        bool more_weights = balance < MAX_BALANCE && weight_seen < slice->weights;
        bool more_zeros = balance >= 0 && zero_seen < slice->zeros;
        struct chunk new_weights = {.count = 0};
        struct chunk new_zeros = {.count = 0};
        uint32_t unary0 = more_weights && slice->compressed ? take(&decoder->in, CHUNK_BITS) : 0;
        if (more_zeros) {
            read_zero_unary(take(&decoder->in, zero_places), zero_places, &zero_running,
                            &new_zeros);
            zero_seen += new_zeros.count;
        }
        if (more_weights) {
            read_weight_unary(decoder, &weight_running, &new_weights, unary0);
            weight_seen += new_weights.count;
        }
        enum npu_mlw_result result = finish_weights(decoder, &weights, &weight_done);
        finish_zeros(decoder, &zeros, &zero_done);
        if (result != NPU_MLW_OK || past_end(&decoder->in)) {
            return result != NPU_MLW_OK ? result : NPU_MLW_TRUNCATED;
        }
        if (!more_weights && !more_zeros) {
            return NPU_MLW_OK;
        }
        weights = new_weights;
        zeros = new_zeros;
    }
}

static bool put_zeros(struct decoder *decoder, uint32_t count)
{
    if (count > decoder->capacity - decoder->count) {
        return false;
    }
    memset(decoder->out + decoder->count, 0, count * sizeof *decoder->out);
    decoder->count += count;
    return true;
}

/** Insert the zero runs between the weights of a slice. */
static enum npu_mlw_result emit(struct decoder *decoder)
{
    const struct slice *slice = &decoder->slice;
    const uint32_t *zeros = decoder->work->zeros;
    if (slice->zeros == 0) {
        if (slice->weights > decoder->capacity - decoder->count) {
            return NPU_MLW_TOO_LONG;
        }
        memcpy(decoder->out + decoder->count, decoder->work->weights,
               slice->weights * sizeof *decoder->out);
        decoder->count += slice->weights;
        return NPU_MLW_OK;
    }
    if (slice->new_palette && !put_zeros(decoder, *zeros++)) {
        return NPU_MLW_TOO_LONG;
    }
    for (uint32_t i = 0; i < slice->weights; i++) {
        if (decoder->count == decoder->capacity) {
            return NPU_MLW_TOO_LONG;
        }
        decoder->out[decoder->count++] = decoder->work->weights[i];
        if (!put_zeros(decoder, zeros[i])) {
            return NPU_MLW_TOO_LONG;
        }
    }
    return NPU_MLW_OK;
}

enum npu_mlw_result npu_mlw_decode(const uint8_t *stream, size_t bytes, struct npu_mlw_work *work,
                                   int16_t *out, size_t capacity, size_t *count)
{
    struct decoder decoder = {
        .in = {stream, bytes, 0},
        .work = work,
        .first_slice = true,
        .out = out,
        .capacity = capacity,
    };
    enum npu_mlw_result result = NPU_MLW_OK;
    while (result == NPU_MLW_OK) {
        unsigned zero_divisor = take(&decoder.in, 3);
        if (past_end(&decoder.in)) {
            result = NPU_MLW_TRUNCATED;
        } else if (zero_divisor == ZERO_END_OF_STREAM) {
            decoder.in.position = (decoder.in.position + 7) / 8 * 8;
            decoder.first_slice = true;
            if (decoder.in.position == bytes * 8) {
                break;
            }
        } else {
            result = read_header(&decoder, zero_divisor);
            result = result == NPU_MLW_OK ? read_chunks(&decoder) : result;
            result = result == NPU_MLW_OK ? emit(&decoder) : result;
        }
    }
    *count = decoder.count;
    return result;
}

const char *npu_mlw_text(enum npu_mlw_result result)
{
    static const char *const texts[] = {
        [NPU_MLW_OK] = "is well-formed",
        [NPU_MLW_TRUNCATED] = "ends inside a slice",
        [NPU_MLW_INVALID] = "has an invalid slice",
        [NPU_MLW_TOO_LONG] = "holds more weights than the operation uses",
    };
    return texts[result];
}
