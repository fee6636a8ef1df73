// SPDX-License-Identifier: MIT
/** Descriptions of NPUs, models and tensors as Python objects; the native module has them, too. */
#ifndef INFO_H
#define INFO_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/obj.h"

/** NPU.info(): config, MACs, versions of architecture and driver, time-outs, resets. */
mp_obj_t info_npu(struct ethosu_driver *npu);

/** What the runtime does not know of a model. */
struct info_more {
    const void *arena;
    uint32_t file_size; /**< bytes */
    bool file_copied;   /**< the file was read into RAM */
};

/** Model.info(): config, steps, sizes, share of the NPU, version of Vela, place of the weights. */
mp_obj_t info_model(const struct ethosu_model *model, const struct info_more *more);

/** Version of Vela that compiled the model, as a str; None when the file does not say. */
mp_obj_t info_vela(const struct ethosu_model *model);

/** Sentence that says where the weights are. */
const char *info_weights(const struct ethosu_model_info *info, bool file_copied);

/** Dimensions of a tensor, as a tuple. */
mp_obj_t info_shape(const struct ethosu_model_tensor *tensor);

/** Which dimensions of the exporter's sizes these are: (0, 2, 3, 1) is NHWC. */
mp_obj_t info_order(const struct ethosu_model_tensor *tensor);

/** Scale (or zero point) of tensor `index`; a tuple when each channel has its own. */
mp_obj_t info_channels(const struct ethosu_model *model, uint32_t index,
                       const struct ethosu_model_tensor *tensor, bool scales);

/** Dimension of the channels; None: one scale for the whole tensor. */
mp_obj_t info_axis(const struct ethosu_model_tensor *tensor);

#endif
