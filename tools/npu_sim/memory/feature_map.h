// SPDX-License-Identifier: MIT
/** Feature maps: their description in the command registers, and access to
 * their rows. */
#ifndef NPU_FEATURE_MAP_H
#define NPU_FEATURE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/memory.h"
#include "npu_sim.h"

enum { NPU_BRICK = 16 }; /**< channels that NHCWB16 keeps together */

/** Pixels of a row that are in one tile. */
struct npu_span {
    uint8_t *memory;    /**< first pixel, channel 0 */
    int64_t pixel_step; /**< bytes from pixel to pixel */
    int64_t brick_step; /**< bytes from one NPU_BRICK of channels to the next */
    uint32_t pixels;
};

/** Smallest and largest value of an element. */
int64_t npu_map_minimum(const struct npu_feature_map *map);
int64_t npu_map_maximum(const struct npu_feature_map *map);

/** Upper bound of an element's magnitude after subtracting the zero point. */
int64_t npu_map_largest(const struct npu_feature_map *map);

/** Do elements fit 16 bits after subtracting the zero point? */
bool npu_map_fits_16(const struct npu_feature_map *map);

/**
 * Prepare a decoded map for access to its rows: map tile 0 ahead, allocate a chaining buffer. No
 * effect on an unused map.
 */
bool npu_map_open(struct npu *npu, enum npu_channel channel, const struct npu_feature_map *map);

/** Is all of both open maps in memory, no byte in both, and none in two rows of the OFM? */
bool npu_maps_apart(const struct npu *npu, const struct npu_feature_map *ifm,
                    const struct npu_feature_map *ofm);

/**
 * Read pixels [0, width) of row y, all channels, zero point subtracted.
 *
 * @param out           [width][depth]
 * @return false after recording a fault
 */
bool npu_read_row_16(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int16_t *out);
bool npu_read_row_32(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int32_t *out);
bool npu_read_row_64(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int64_t *out);

/** The same for elements of 8 bits without the zero point: unsigned, signed ones plus 128. */
bool npu_read_row_8(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint8_t *out);

/** The zero point of such a row. */
int32_t npu_map_zero_8(const struct npu_feature_map *map);

/**
 * Write count pixels of row y from x on; values [count][depth] already fit the elements. No effect
 * on an unused map.
 */
bool npu_write_pixels(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                      uint32_t count, const int32_t *values);
/** The same for 64-bit elements. */
bool npu_write_pixels_64(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                         uint32_t count, const int64_t *values);

/**
 * Open at most count pixels of row y from x on for writing, as many as are in one tile and at least
 * 1.
 */
bool npu_open_pixels(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                     uint32_t count, struct npu_span *span);

/** Store one brick of channels of all pixels of a span: values
 * [pixels][NPU_BRICK]. */
void npu_store_brick(const struct npu_feature_map *map, const struct npu_span *span, size_t brick,
                     const int32_t *values);

#endif
