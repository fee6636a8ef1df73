// SPDX-License-Identifier: MIT
/**
 * CPU kernels: the operators that Vela leaves beside the NPU.
 *
 * A kernel is one `struct kernel` (its operator, how to prepare it, how much
 * scratch it needs, how to run it); kernels.def lists them all, registry.c
 * holds those that a build has. Preparing happens once per operator, at load:
 * it checks everything that the kernel relies on, and leaves a small block of
 * constants in the model object. Running reads that block and can't fail but
 * for indices that are data.
 *
 * Preparing runs twice, as everything in builder.h: to measure, when the
 * addresses of computed tensors are NULL, and to load.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "builder.h"

/** Builtin operator codes of the kernels, as the schema numbers them. */
enum kernel_code {
    CODE_ADD = 0,
    CODE_AVERAGE_POOL_2D = 1,
    CODE_CONCATENATION = 2,
    CODE_CONV_2D = 3,
    CODE_DEPTHWISE_CONV_2D = 4,
    CODE_DEQUANTIZE = 6,
    CODE_FULLY_CONNECTED = 9,
    CODE_LOGISTIC = 14,
    CODE_MAX_POOL_2D = 17,
    CODE_MUL = 18,
    CODE_RELU = 19,
    CODE_RELU_N1_TO_1 = 20,
    CODE_RELU6 = 21,
    CODE_RESIZE_BILINEAR = 23,
    CODE_SOFTMAX = 25,
    CODE_SVDF = 27,
    CODE_TANH = 28,
    CODE_CUSTOM = TFLITE_CUSTOM,
    CODE_PAD = 34,
    CODE_GATHER = 36,
    CODE_TRANSPOSE = 39,
    CODE_MEAN = 40,
    CODE_SUB = 41,
    CODE_STRIDED_SLICE = 45,
    CODE_SPLIT = 49,
    CODE_CAST = 53,
    CODE_PRELU = 54,
    CODE_MAXIMUM = 55,
    CODE_ARG_MAX = 56,
    CODE_MINIMUM = 57,
    CODE_LESS = 58,
    CODE_PADV2 = 60,
    CODE_GREATER = 61,
    CODE_GREATER_EQUAL = 62,
    CODE_LESS_EQUAL = 63,
    CODE_SLICE = 65,
    CODE_TRANSPOSE_CONV = 67,
    CODE_EQUAL = 71,
    CODE_NOT_EQUAL = 72,
    CODE_SUM = 74,
    CODE_ARG_MIN = 79,
    CODE_RESIZE_NEAREST_NEIGHBOR = 97,
    CODE_LEAKY_RELU = 98,
    CODE_SPLIT_V = 102,
    CODE_QUANTIZE = 114,
    CODE_HARD_SWISH = 117,
    CODE_SELECT_V2 = 123,
    CODE_BATCH_MATMUL = 126,
    CODE_RELU_0_TO_1 = 152,
};

/** Bit of a version: CMSIS-NN computes, which needs another scratch. */
#define KERNEL_CMSIS_NN 0x100u

/** What precedes every kernel's block of constants. */
struct kernel_call {
    const struct kernel *kernel;
    void *scratch;         /**< aligned to 16; NULL when it needs none */
    uint32_t scratch_size; /**< planned, bytes */
};

/** One operator that the CPU can run. */
struct kernel {
    uint16_t code;      /**< enum kernel_code */
    bool in_place;      /**< its output may lie exactly where an input of the same size lies */
    uint16_t version;   /**< counts up whenever scratch() answers otherwise than before */
    const char *custom; /**< name of a custom operator, else NULL */
    /** Check the operator and call kernel_add(); answers enum ethosu_model_status. */
    int (*prepare)(struct builder *builder, const struct tflite_operator_call *call);
    /** Bytes of scratch, from the block of constants alone; NULL: none. */
    uint32_t (*scratch)(const struct kernel_call *call);
    /** Do it; answers enum ethosu_model_status. */
    int (*run)(const struct kernel_call *call);
};

/** Every kernel there is: kernel_ADD and so on. */
#define KERNEL(name) extern const struct kernel kernel_##name;
#include "kernels.def"
#undef KERNEL

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
    uint32_t channels; /**< scales; 0 when not quantised */
    uint32_t axis;     /**< that the scales run along */
    struct tflite_tensor file;
};

/** Find the kernel for an operator; NULL when this build has none. */
const struct kernel *kernel_find(const struct tflite_operator_call *call);

/** Find input (or output) number `index`; constants that are not aligned to their type are copied.
 */
int kernel_input(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                 struct kernel_tensor *tensor);
int kernel_output(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                  struct kernel_tensor *tensor);

/** Inputs 0 to count - 1, then the outputs alike. */
int kernel_tensors(struct builder *builder, const struct tflite_operator_call *call,
                   struct kernel_tensor *inputs, uint32_t input_count,
                   struct kernel_tensor *outputs, uint32_t output_count);

/** Does the operator have this input? Optional ones may be left out. */
bool kernel_has_input(struct builder *builder, const struct tflite_operator_call *call,
                      uint32_t index);

/** Fields of the operator's options. */
int32_t kernel_option(struct builder *builder, const struct tflite_operator_call *call,
                      uint32_t field, int32_t otherwise);
uint8_t kernel_option_byte(struct builder *builder, const struct tflite_operator_call *call,
                           uint32_t field, uint8_t otherwise);
float kernel_option_float(struct builder *builder, const struct tflite_operator_call *call,
                          uint32_t field, float otherwise);

/** Refuse: what the kernel can't do; what no sound file says. */
int kernel_unsupported(struct builder *builder, const char *why);
int kernel_bad(struct builder *builder, const char *why);

/** Refuse a type: "input of type float32 …". */
int kernel_bad_type(struct builder *builder, const struct kernel_tensor *tensor);

/**
 * Add the current operator's step: copy its block of constants into the model
 * object, and give it the scratch that was planned.
 *
 * @param block  begins with struct kernel_call
 */
int kernel_add(struct builder *builder, const struct kernel *kernel, struct kernel_call *block,
               size_t size);

/** Take memory of the model object for `count` constants; NULL while measuring. */
int kernel_table(struct builder *builder, size_t count, size_t size, void **table);

bool kernel_same_shape(const struct kernel_tensor *a, const struct kernel_tensor *b);

#endif
