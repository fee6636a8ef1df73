// SPDX-License-Identifier: MIT
/** Crops, rotates and mirrors views without copying; see image.h. */
#include "image.h"

int32_t image_pixel_size(enum image_format format)
{
    static const uint8_t sizes[IMAGE_FORMATS] = {
        [IMAGE_GRAY] = 1, [IMAGE_RGB565] = 2, [IMAGE_RGB888] = 3};
    return sizes[format];
}

struct image_view image_view_of(const uint8_t *pixels, int32_t width, int32_t height,
                                enum image_format format)
{
    int32_t step = image_pixel_size(format);
    return (struct image_view){pixels, width, height, step, step * width, format, 0, 0};
}

bool image_has(int32_t width, int32_t height, const struct image_rectangle *rectangle)
{
    const struct image_rectangle r = *rectangle;
    return r.x >= 0 && r.y >= 0 && r.width > 0 && r.height > 0 && r.x < width && r.y < height &&
           r.width <= width - r.x && r.height <= height - r.y;
}

bool image_crop(struct image_view *view, const struct image_rectangle *rectangle)
{
    if (!image_has(view->width, view->height, rectangle)) {
        return false;
    }
    view->origin += (ptrdiff_t)rectangle->x * view->step_x + (ptrdiff_t)rectangle->y * view->step_y;
    view->left += rectangle->x;
    view->top += rectangle->y;
    view->width = rectangle->width;
    view->height = rectangle->height;
    return true;
}

void image_mirror(struct image_view *view)
{
    view->origin += (ptrdiff_t)(view->width - 1) * view->step_x;
    view->step_x = -view->step_x;
}

/** Swap rows and columns. */
static void transpose(struct image_view *view)
{
    struct image_view old = *view;
    view->width = old.height;
    view->height = old.width;
    view->step_x = old.step_y;
    view->step_y = old.step_x;
    view->left = old.top;
    view->top = old.left;
}

void image_turn(struct image_view *view, int quarters)
{
    for (int i = 0; i < (quarters & 3); i++) {
        transpose(view);
        image_mirror(view);
    }
}

/** The largest size with the proportions width : height inside a size. */
static struct image_rectangle largest(int32_t width, int32_t height, int32_t in_width,
                                      int32_t in_height)
{
    struct image_rectangle r = {0, 0, in_width, in_height};
    if ((int64_t)width * in_height > (int64_t)height * in_width) {
        r.height = (int32_t)(((int64_t)height * in_width + width / 2) / width);
        r.height = r.height > 0 ? r.height : 1;
        r.y = (in_height - r.height) / 2;
    } else {
        r.width = (int32_t)(((int64_t)width * in_height + height / 2) / height);
        r.width = r.width > 0 ? r.width : 1;
        r.x = (in_width - r.width) / 2;
    }
    return r;
}

struct image_rectangle image_fit(const struct image_view *view, int32_t width, int32_t height)
{
    return largest(view->width, view->height, width, height);
}

struct image_rectangle image_cover(const struct image_view *view, int32_t width, int32_t height)
{
    return largest(width, height, view->width, view->height);
}
