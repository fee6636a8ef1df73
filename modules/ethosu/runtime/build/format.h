// SPDX-License-Identifier: MIT
/** Formats of model files. All build the same steps; the rest of the runtime is independent of
 * them. */
#ifndef FORMAT_H
#define FORMAT_H

#include "runtime/build/builder.h"

/** A format. A loaded model keeps a pointer to its format. */
struct model_format {
    /** Build the steps; returns enum ethosu_model_status. */
    int (*build)(struct builder *builder, const struct ethosu_model_source *source);
    /** Reject the current operator; the message contains its name and the reason. */
    int (*refuse)(struct builder *builder, int status, const char *why);
    bool has_methods; /**< and data files */
};

/** Implements functions on the methods of a program. */
struct method_facts {
    bool (*get_constant)(const struct ethosu_model *model, uint32_t method, uint32_t index,
                         struct ethosu_model_constant *constant);
    bool (*get_program)(const struct ethosu_model *model, struct ethosu_model_program *program,
                        ethosu_model_operator_t *called, void *argument);
    /** Number of values that are tensors. */
    uint32_t (*count_tensors)(const struct ethosu_model *model);
};

/**
 * Implements ethosu_model_get_tensor() and similar functions, which read a loaded model's file
 * again. Separate from the format, so that programs that do not use them are linked without them.
 */
struct model_facts {
    uint32_t (*count_values)(const struct ethosu_model *model);
    bool (*get_method)(const struct ethosu_model *model, uint32_t index,
                       struct ethosu_model_method *method);
    bool (*get_tensor)(const struct ethosu_model *model, uint32_t index,
                       struct ethosu_model_tensor *tensor);
    bool (*get_channel)(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                        float *scale, int32_t *zero_point);
    const void *(*get_metadata)(const struct ethosu_model *model, const char *name, uint32_t *size);
    const struct method_facts *methods; /**< NULL if files have no methods */
};

#endif
