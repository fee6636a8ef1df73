// SPDX-License-Identifier: MIT
/** Descriptions of NPUs, models and tensors as Python objects. The native module has them, too. */
#ifndef INFO_H
#define INFO_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/obj.h"

/** NPU.info(): config, MACs, versions of architecture and driver, time-outs, resets. */
mp_obj_t info_npu(struct ethosu_driver *npu);

/** Properties of a model that the runtime does not provide. */
struct model_properties {
    const void *arena;
    uint32_t file_size; /**< bytes */
    bool file_copied;   /**< the file was read into RAM */
};

/** Model.info(): config, steps, sizes, share of the NPU, version of Vela, location of the weights.
 */
mp_obj_t info_model(const struct ethosu_model *model, const struct model_properties *more);

/** Version of Vela that compiled the model, as a str; None if not in the file. */
mp_obj_t info_vela(const struct ethosu_model *model);

/**
 * Append the facts of TFLite metadata to a list, for _ethosu_metadata.py: (subject, kind, bytes).
 *
 * @return  ETHOSU_MODEL_OK, or ETHOSU_MODEL_BAD_FILE with a message
 */
int info_facts(const struct ethosu_model *model, mp_obj_t list, struct ethosu_model_error *error);

/** Sentence that describes the location of the weights. */
const char *info_weights(const struct ethosu_model_info *info, bool file_copied);

/** Dimensions of a tensor, as a tuple. */
mp_obj_t info_shape(const struct ethosu_model_tensor *tensor);

/** Which dimensions of the exporter's sizes these are: (0, 2, 3, 1) is NHWC. */
mp_obj_t info_order(const struct ethosu_model_tensor *tensor);

/** Scale (or zero point) of tensor `index`; a tuple when each channel has its own. */
mp_obj_t info_channels(const struct ethosu_model *model, uint32_t index,
                       const struct ethosu_model_tensor *tensor, bool scales);

/** Dimension of the channels; None if the whole tensor has one scale. */
mp_obj_t info_axis(const struct ethosu_model_tensor *tensor);

#endif
