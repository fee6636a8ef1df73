// SPDX-License-Identifier: MIT
/** Python class `ethosu_image.Input`: a picture, and how a model's input gets it. */
#ifndef IMAGE_INPUT_H
#define IMAGE_INPUT_H

#include "py/obj.h"

/** How a picture gets the proportions of a tensor. */
enum { IMAGE_FIT_STRETCH, IMAGE_FIT_PAD, IMAGE_FIT_CROP, IMAGE_FITS };

extern const mp_obj_type_t binding_image_input_type;

#endif
