// SPDX-License-Identifier: MIT
/** Maps rows of samples through a table and writes them; see image.h. */
#include <string.h>

#include "image.h"
#include "image_row.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>

/** Converts bytes in place, sixteen at a time; all channels share one table. */
static int32_t look_up_bytes(uint8_t *samples, int32_t count, const uint8_t *table)
{
    for (int32_t i = 0; i < count; i += 16) {
        mve_pred16_t lanes = vctp8q((uint32_t)(count - i));
        uint8x16_t index = vldrbq_z_u8(samples + i, lanes);
        vstrbq_p_u8(samples + i, vldrbq_gather_offset_z_u8(table, index, lanes), lanes);
    }
    return count;
}
#else
static int32_t look_up_bytes(uint8_t *samples, int32_t count, const uint8_t *table)
{
    for (int32_t i = 0; i < count; i++) {
        samples[i] = table[samples[i]];
    }
    return count;
}
#endif

/** State shared by the rows of one write. */
struct writer {
    const struct image_target *target;
    struct image_rows rows;
    enum image_filter filter;
    bool same; /**< rows are copied: neither resized nor converted */
};

/**
 * Converts a row in place. Samples are stored at the end of the row, so widening never overwrites
 * unread samples.
 */
static void look_up(const struct writer *writer, uint8_t *row, int32_t count)
{
    const struct image_target *target = writer->target;
    uint32_t size = target->element_size;
    if (target->table == NULL) {
        return;
    }
    const uint8_t *samples = row + (size_t)count * (size - 1);
    int32_t i = size == 1 && target->table_step == 0 ? look_up_bytes(row, count, target->table) : 0;
    for (uint32_t channel = 0; i < count; i++) {
        uint32_t index = target->table_step * channel + samples[i];
        memcpy(row + (size_t)i * size, (const uint8_t *)target->table + index * size, size);
        channel = channel + 1 < (uint32_t)target->channels ? channel + 1 : 0;
    }
}

static void write_row(const struct writer *writer, int32_t y, uint8_t *row)
{
    int32_t count = writer->rows.x.output * writer->rows.channels;
    uint8_t *samples = row + (size_t)count * (writer->target->element_size - 1);
    const struct image_view *view = writer->rows.view;
    if (writer->same) {
        memcpy(samples, view->origin + (ptrdiff_t)y * view->step_y, (size_t)count);
    } else {
        static void (*const filters[IMAGE_FILTERS])(const struct image_rows *, int32_t,
                                                    uint8_t *) = {
            [IMAGE_NEAREST] = image_row_nearest,
            [IMAGE_BILINEAR] = image_row_bilinear,
            [IMAGE_AREA] = image_row_area,
            [IMAGE_CORNERS] = image_row_corners,
        };
        filters[writer->filter](&writer->rows, y, samples);
    }
    look_up(writer, row, count);
}

/** Write black pixels. */
static void write_black(const struct writer *writer, uint8_t *at, int32_t pixels)
{
    if (pixels <= 0) {
        return;
    }
    int32_t count = pixels * writer->target->channels;
    memset(at + (size_t)count * (writer->target->element_size - 1), 0, (size_t)count);
    look_up(writer, at, count);
}

void image_write(const struct image_view *view, const struct image_target *target,
                 enum image_filter filter)
{
    const struct image_rectangle *inner = &target->inner;
    struct writer writer = {
        .target = target,
        .rows = {view, resize_make_axis(view->width, inner->width, false),
                 resize_make_axis(view->height, inner->height, false), target->channels},
        .filter =
            filter != IMAGE_CORNERS && view->width == inner->width && view->height == inner->height
                ? IMAGE_NEAREST
                : filter,
        .same = view->width == inner->width && view->height == inner->height &&
                image_pixel_size(view->format) == target->channels &&
                view->step_x == target->channels,
    };
    size_t pixel = (size_t)target->channels * target->element_size;
    for (int32_t y = 0; y < target->height; y++) {
        uint8_t *row = (uint8_t *)target->data + (size_t)y * (size_t)target->width * pixel;
        int32_t inside = y - inner->y;
        if (inside < 0 || inside >= inner->height) {
            write_black(&writer, row, target->width);
            continue;
        }
        int32_t end = inner->x + inner->width;
        write_black(&writer, row, inner->x);
        write_row(&writer, inside, row + (size_t)inner->x * pixel);
        write_black(&writer, row + (size_t)end * pixel, target->width - end);
    }
}
