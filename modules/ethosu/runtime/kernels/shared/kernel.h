// SPDX-License-Identifier: MIT
/**
 * CPU kernels: the operators that Vela leaves to the CPU.
 *
 * A kernel is one `struct kernel` (its operator, how to prepare it, how much
 * scratch it needs, how to run it). kernels.def lists all kernels, registry.c
 * holds those of a build. Preparing happens once per operator, at load: it
 * checks everything that the kernel relies on, and stores a small block of
 * constants in the model object. Running reads that block; it fails only for
 * indices that are data.
 *
 * Preparing runs twice, like everything in builder.h: to measure, when the
 * addresses of computed tensors are NULL, and to load.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "runtime/build/kernel_call.h"
#include "runtime/file/checked.h"

/** The last column of kernels.def. */
enum kernel_property {
    KERNEL_PLAIN = 0,
    KERNEL_IN_PLACE = 1,
    KERNEL_CMSIS_NN = 0x100, /**< also a version bit, since CMSIS-NN needs different scratch */
};

/** Property that changes the versions of this build. */
#if defined(ETHOSU_CMSIS_NN) || defined(ETHOSU_CMSIS_NN_SIZES)
#define KERNEL_BUILD KERNEL_CMSIS_NN
#else
#define KERNEL_BUILD KERNEL_PLAIN
#endif

/** Entry of kernels.def. */
#define KERNEL(name, version, property)                                  \
    extern const struct kernel kernel_##name;                            \
    enum {                                                               \
        VERSION_##name = (version) | (KERNEL_##property & KERNEL_BUILD), \
        IN_PLACE_##name = KERNEL_##property == KERNEL_IN_PLACE,          \
    };
#include "runtime/kernels/kernels.def"
#undef KERNEL

/** Define kernel_NAME: `DEFINE_KERNEL(SVDF, .prepare = prepare_svdf, .run = run_svdf);`. */
#define DEFINE_KERNEL(name, ...)                                      \
    const struct kernel kernel_##name = {.code = TFLITE_##name,       \
                                         .in_place = IN_PLACE_##name, \
                                         .version = VERSION_##name,   \
                                         __VA_ARGS__}

/** Find the kernel for an operator; NULL if this build does not have it. */
const struct kernel *kernel_find(const struct tflite_operator_call *call);

/** The same for a builtin operator code. */
const struct kernel *kernel_with_code(uint32_t code);

/** Find input (or output) number `index`; misaligned constants are copied. */
int kernel_input(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                 struct kernel_tensor *tensor);
int kernel_output(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                  struct kernel_tensor *tensor);

/** Inputs 0 to count - 1, then the outputs alike. */
int kernel_tensors(struct builder *builder, const struct tflite_operator_call *call,
                   struct kernel_tensor *inputs, uint32_t input_count,
                   struct kernel_tensor *outputs, uint32_t output_count);

/** Does the operator have this input? Optional inputs may be absent. */
bool kernel_has_input(struct builder *builder, const struct tflite_operator_call *call,
                      uint32_t index);

/** Fields of the operator's options. */
int32_t kernel_option(struct builder *builder, const struct tflite_operator_call *call,
                      uint32_t field, int32_t fallback);
uint8_t kernel_option_byte(struct builder *builder, const struct tflite_operator_call *call,
                           uint32_t field, uint8_t fallback);
float kernel_option_float(struct builder *builder, const struct tflite_operator_call *call,
                          uint32_t field, float fallback);

/** Reject the operator: the kernel does not support it; the file is invalid. */
int kernel_unsupported(struct builder *builder, const char *why);
int kernel_bad(struct builder *builder, const char *why);

/** Reject the operator because of its tensors' types, which the message lists. */
int kernel_bad_type(struct builder *builder);

/**
 * Add the current operator's step like kernel_add_step(): copy its block of constants into the
 * model object, and set the scratch that was planned.
 *
 * @param block  begins with struct kernel_call
 */
int kernel_add(struct builder *builder, const struct kernel *kernel, struct kernel_call *block,
               size_t size);

/** Bytes of `count` elements; UINT32_MAX, which no plan contains, on overflow. */
static inline uint32_t kernel_bytes(uint32_t count, uint32_t size)
{
    uint32_t bytes;
    return checked_mul(count, size, &bytes) ? bytes : UINT32_MAX;
}

/** Reserve memory of the model object for `count` constants; NULL while measuring. */
int kernel_table(struct builder *builder, size_t count, size_t size, void **table);

/** Maximum number of loop elements between two calls of kernel_stops(). */
#define KERNEL_BLOCK 1024

/** Count a kernel's work in elements. If true, the kernel must return at once, with any result. */
static inline bool kernel_stops(const struct kernel_call *call, int32_t elements)
{
    return poll_stops(call->poll, elements);
}

/** Has the kernel been asked to stop? */
static inline bool kernel_is_stopped(const struct kernel_call *call)
{
    return call->poll->stopped;
}

/** Number of remaining elements that a loop may process now; 0 if done or it must stop. */
static inline int32_t kernel_block(const struct kernel_call *call, int32_t left)
{
    int32_t block = left < KERNEL_BLOCK ? left : KERNEL_BLOCK;
    return kernel_stops(call, block) ? 0 : block;
}

/** Loop over blocks of `count` elements, each from `first` to before `end`. */
#define KERNEL_BLOCKS(call, first, end, count)                                    \
    for (int32_t first = 0, end = kernel_block((call), (count)); (first) < (end); \
         (first) = (end), (end) += kernel_block((call), (count) - (end)))

/** memcpy() and memset() that can be stopped; false if they were. */
bool kernel_copy(const struct kernel_call *call, void *to, const void *from, size_t size);
bool kernel_fill(const struct kernel_call *call, void *to, int value, size_t size);

bool kernel_same_shape(const struct kernel_tensor *a, const struct kernel_tensor *b);

#endif
