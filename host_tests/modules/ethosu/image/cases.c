// SPDX-License-Identifier: MIT
/** Reads cases from standard input, and writes the output of image_write() for each. */
#include <stdio.h>
#include <stdlib.h>

#include "image.h"

enum { STRETCH, PAD, CROP };

struct header {
    int32_t width, height, format;
    struct image_rectangle roi;
    int32_t quarters, mirror, fit, filter;
    int32_t target_width, target_height, channels, element_size, table_step, table_size;
};

/** A block of exactly this size, so that AddressSanitizer detects accesses beyond it. */
static uint8_t *get(size_t size)
{
    uint8_t *data = malloc(size ? size : 1);
    if (data == NULL || fread(data, 1, size, stdin) != size) {
        exit(2);
    }
    return data;
}

static void run(const struct header *h)
{
    enum image_format format = (enum image_format)h->format;
    uint8_t *pixels = get((size_t)(h->width * h->height * image_pixel_size(format)));
    uint8_t *table = get((size_t)h->table_size);
    size_t size = (size_t)(h->target_width * h->target_height * h->channels * h->element_size);
    struct image_target target = {
        .data = malloc(size),
        .width = h->target_width,
        .height = h->target_height,
        .channels = h->channels,
        .inner = {0, 0, h->target_width, h->target_height},
        .table = h->table_size ? table : NULL,
        .table_step = (uint32_t)h->table_step,
        .element_size = (uint32_t)h->element_size,
    };
    struct image_view view = image_view_of(pixels, h->width, h->height, format);
    if (!image_crop(&view, &h->roi)) {
        exit(3);
    }
    image_turn(&view, h->quarters);
    if (h->mirror) {
        image_mirror(&view);
    }
    if (h->fit == PAD) {
        target.inner = image_fit(&view, target.width, target.height);
    } else if (h->fit == CROP) {
        struct image_rectangle part = image_cover(&view, target.width, target.height);
        if (!image_crop(&view, &part)) {
            exit(4);
        }
    }
    image_write(&view, &target, (enum image_filter)h->filter);
    fwrite(target.data, 1, size, stdout);
    free(target.data);
    free(table);
    free(pixels);
}

int main(void)
{
    struct header header;
    while (fread(&header, sizeof header, 1, stdin) == 1) {
        run(&header);
    }
    return 0;
}
