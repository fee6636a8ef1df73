// SPDX-License-Identifier: MIT
/** The verifier: the extent of a feature map, and the part that a kernel's window reads. */
#include "driver/verify/ethosu_verify.h"

/** Slot of a map's register. */
static uint32_t slot_of(const struct walk *walk, const int32_t *map, uint32_t at)
{
    return (uint32_t)(map - walk->values) + at;
}

static inline int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/** Widen by `count` steps, up or down; both values have less than 32 bits. */
static inline void widen(struct extent *extent, int32_t count, int32_t step)
{
    int64_t distance = (int64_t)count * step;
    if (step < 0) {
        extent->low += distance;
    } else {
        extent->high += distance;
    }
}

/**
 * Check the rare maps: those with more than one tile or a negative step.
 *
 * @param run    contiguous bytes
 * @param brick  bytes from sixteen channels to the next sixteen; 0 without bricks
 */
static __attribute__((noinline)) int check_tiles(struct walk *walk, const int32_t *map,
                                                 const int32_t *shape, uint32_t run, int32_t brick)
{
    uint32_t region = (uint32_t)map[REGION];
    int32_t height = shape[HEIGHT_M1] + 1;
    int32_t left = smaller(shape[WIDTH_M1], map[WIDTH0]) + 1;
    int32_t right = shape[WIDTH_M1] + 1 - left;
    int32_t upper_left = smaller(shape[HEIGHT_M1], map[HEIGHT0]) + 1;
    int32_t upper_right = smaller(shape[HEIGHT_M1], map[HEIGHT1]) + 1;
    const int32_t rows[] = {upper_left, upper_right, height - upper_left, height - upper_right};
    for (uint32_t i = 0; i < 4; i++) {
        int32_t columns = i % 2 == 0 ? left : right;
        if (rows[i] == 0 || columns == 0) {
            continue;
        }
        RETURN_IF_ERROR(require_slot(walk, slot_of(walk, map, BASE0 + i)));
        int64_t base = (uint32_t)map[BASE0 + i];
        struct extent extent = {region, base, base + run};
        widen(&extent, rows[i] - 1, map[STRIDE_Y]);
        widen(&extent, columns - 1, map[STRIDE_X]);
        widen(&extent, shape[DEPTH_M1] / 16, brick);
        RETURN_IF_ERROR(check_extent(walk, &extent));
        if (map == walk->values + NPU_SET_OFM_PRECISION) {
            note_write(walk, region, (size_t)extent.low, (size_t)extent.high);
        }
    }
    return 0;
}

/**
 * In bricks of sixteen channels, pixels are sixteen elements apart. Arm does not document whether
 * the NPU obeys a different STRIDE_X, so the map must be in bounds with either step.
 */
static int check_bricks(struct walk *walk, int32_t *map, enum map_kind kind, const int32_t *shape,
                        int32_t pixel)
{
    int32_t step = map[STRIDE_X];
    int error = require_slot(walk, slot_of(walk, map, STRIDE_C));
    if (error != 0 || step == pixel) {
        return error;
    }
    map[STRIDE_X] = pixel;
    error = ethosu_ext_walk_map(walk, map, kind, shape);
    map[STRIDE_X] = step;
    return error;
}

int ethosu_ext_walk_map(struct walk *walk, int32_t *map, enum map_kind kind, const int32_t *shape)
{
    uint32_t precision = (uint32_t)map[PRECISION];
    uint32_t size_log2 = precision >> kind & 3;
    uint32_t format = precision >> 6 & 3;
    uint32_t depth_m1 = (uint32_t)shape[DEPTH_M1];
    uint32_t run = (depth_m1 + 1) << size_log2;
    int32_t brick = 0;
    if (size_log2 > walk->commands->size_log2_max || (format & 2)) {
        return ethosu_ext_walk_refuse_value(walk, precision, slot_of(walk, map, PRECISION));
    }
    if (format != 0) {
        const int32_t pixel = 16 << size_log2;
        if (map[STRIDE_X] != pixel || map[STRIDE_C] == UNSET) {
            RETURN_IF_ERROR(check_bricks(walk, map, kind, shape, pixel));
        }
        if (depth_m1 >= 16) {
            run = (uint32_t)pixel;
            brick = map[STRIDE_C];
        }
    }
    if ((map[STRIDE_Y] | map[STRIDE_X] | brick) < 0 || shape[HEIGHT_M1] > map[HEIGHT0] ||
        shape[WIDTH_M1] > map[WIDTH0]) {
        return check_tiles(walk, map, shape, run, brick);
    }
    // No overflow: at most 32 bits, 19 bits, and three products of 19 by 31 bits.
    uint64_t end = (uint64_t)(uint32_t)map[BASE0] + run;
    end += (uint64_t)(uint32_t)shape[HEIGHT_M1] * (uint32_t)map[STRIDE_Y];
    end += (uint64_t)(uint32_t)shape[WIDTH_M1] * (uint32_t)map[STRIDE_X];
    end += (uint64_t)(depth_m1 / 16) * (uint32_t)brick;
    uint32_t region = (uint32_t)map[REGION];
    RETURN_IF_ERROR(check_extent(walk, &(struct extent){region, 0, (int64_t)end}));
    if (kind == MAP_WRITTEN) {
        note_write(walk, region, (uint32_t)map[BASE0], (size_t)end);
    }
    return 0;
}

/** Rows or columns of the IFM needed to compute those of the OFM, minus one. */
static inline int32_t input_size_m1(const struct walk *walk, uint32_t output_m1, uint32_t stride,
                                    uint32_t kernel_m1, uint32_t padding)
{
    int32_t size_m1 = (int32_t)(output_m1 * stride + kernel_m1 - padding);
    return get(walk, NPU_SET_IFM_UPSCALE) == 0 ? size_m1 : size_m1 >> 1;
}

int ethosu_ext_walk_window(struct walk *walk, int32_t ifm[3])
{
    uint32_t stride = get(walk, NPU_SET_KERNEL_STRIDE);
    ifm[HEIGHT_M1] = input_size_m1(
        walk, get(walk, NPU_SET_OFM_HEIGHT_M1), 1 + (stride >> 1 & 1) + (stride >> 8 & 2),
        get(walk, NPU_SET_KERNEL_HEIGHT_M1),
        get(walk, NPU_SET_IFM_PAD_TOP) + get(walk, NPU_SET_IFM_PAD_BOTTOM));
    ifm[WIDTH_M1] =
        input_size_m1(walk, get(walk, NPU_SET_OFM_WIDTH_M1), 1 + (stride & 1) + (stride >> 5 & 2),
                      get(walk, NPU_SET_KERNEL_WIDTH_M1),
                      get(walk, NPU_SET_IFM_PAD_LEFT) + get(walk, NPU_SET_IFM_PAD_RIGHT));
    ifm[DEPTH_M1] = walk->values[NPU_SET_IFM_DEPTH_M1];
    int32_t least = smaller(ifm[HEIGHT_M1], ifm[WIDTH_M1]);
    if (least < 0) {
        return ethosu_ext_walk_refuse_value(walk, (uint64_t)(least + INT64_C(1)),
                                            NPU_SET_IFM_PAD_BOTTOM);
    }
    return 0;
}

int ethosu_ext_walk_depth(struct walk *walk)
{
    uint32_t depth_m1 = get(walk, NPU_SET_IFM_DEPTH_M1);
    return depth_m1 == get(walk, NPU_SET_OFM_DEPTH_M1)
               ? 0
               : ethosu_ext_walk_refuse_value(walk, depth_m1, NPU_SET_IFM_DEPTH_M1);
}
