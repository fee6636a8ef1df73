// SPDX-License-Identifier: MIT
/** Explains why an inference failed. */
#include "runtime/file/failure.h"
#include "ethosu_ext.h"
#include "runtime/run/model.h"

int ethosu_model_explain(const struct ethosu_model *model, int status,
                         struct ethosu_model_error *error)
{
    switch (status) {
    case ETHOSU_MODEL_NPU_FAILED:
        (void)ethosu_ext_describe(ethosu_ext_last_error(model->driver), error->text,
                                  sizeof error->text);
        return status;
    case ETHOSU_MODEL_BUSY:
        return error_set(error, status, "an inference is running: resume it");
    case ETHOSU_MODEL_BAD_VALUE:
        return error_set(error, status, "an operator's index is outside its tensor");
    case ETHOSU_MODEL_STOPPED:
        return error_set(error, status, "`stop` ended the inference");
    case ETHOSU_MODEL_NO_NPU:
        return error_set(error, status, "the model has NPU operators, and no driver was given");
    default:
        return error_set(error, status, "no error");
    }
}
