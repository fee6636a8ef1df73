// SPDX-License-Identifier: MIT
/** A CPU operator, and the step that calls it. */
#ifndef KERNEL_CALL_H
#define KERNEL_CALL_H

#include "runtime/build/builder.h"

/** The start of every kernel's block of constants. */
struct kernel_call {
    const struct kernel *kernel;
    struct poll *poll;     /**< the model's */
    void *scratch;         /**< aligned to 16, or NULL */
    uint32_t scratch_size; /**< planned, bytes */
};

/** A CPU operator. */
struct kernel {
    uint16_t code; /**< enum tflite_operator */
    bool in_place;
    uint16_t version;
    const char *custom; /**< name of a custom operator, else NULL */
    /** Check the operator and call kernel_add(); returns enum ethosu_model_status. */
    int (*prepare)(struct builder *builder, const struct tflite_operator_call *call,
                   const struct kernel *kernel);
    /** Bytes of scratch, computed from the block of constants; NULL if no scratch is needed. */
    uint32_t (*scratch)(const struct kernel_call *call);
    /** Compute the outputs; returns enum ethosu_model_status. */
    int (*run)(const struct kernel_call *call);
    /** For prepare(): differences between the operators of a family; may be NULL. */
    const void *variant;
};

/** A tensor as kernels see it. */
struct kernel_tensor {
    void *data; /**< NULL while measuring, unless constant */
    uint32_t type;
    uint32_t rank;
    int32_t shape[ETHOSU_MODEL_MAX_RANK];
    int32_t count; /**< elements */
    uint32_t element_size;
    bool constant;
    float scale; /**< of channel 0; 0 when not quantised */
    int32_t zero_point;
    uint32_t channels; /**< scales; 0 when not quantised, else 1 or as many as shape[axis] */
    uint32_t axis;     /**< that the scales run along */
    struct tflite_tensor file;
};

/** Add a step that calls a kernel, with the scratch that the block has. */
int kernel_add_step(struct builder *builder, const struct kernel *kernel, struct kernel_call *block,
                    size_t size);

#endif
