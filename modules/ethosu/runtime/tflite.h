// SPDX-License-Identifier: MIT
/**
 * What the runtime reads of TensorFlow Lite's schema (version 3): the model's
 * tables, each read by a small function that checks what it finds.
 */
#ifndef TFLITE_H
#define TFLITE_H

#include "ethosu_model.h"
#include "flatbuffer.h"

#include <string.h>

/** Builtin operator codes. */
enum tflite_operator {
#define OPERATOR(name, code) TFLITE_##name = (code),
#include "operators.def"
#undef OPERATOR
};

/** Index of a tensor that an operator leaves out. */
#define TFLITE_NO_TENSOR UINT32_MAX

/** Bytes in the file, not NUL-terminated. */
struct tflite_text {
    const char *bytes;
    uint32_t length;
};

/** An open file: its outermost tables. */
struct tflite {
    struct flatbuffer fb;
    struct fb_table root;
    struct fb_vector operator_codes;
    struct fb_vector subgraphs;
    struct fb_vector buffers;
    uint32_t offsets;      /**< file position of OfflineMemoryAllocation's offsets, 0: none */
    uint32_t offset_count; /**< how many */
    uint32_t offset_first; /**< which of them is that of the current subgraph's first tensor */
    struct fb_vector plan; /**< 32-bit words of the memory plan, see plan.h */
};

struct tflite_subgraph {
    struct fb_vector tensors;
    struct fb_vector inputs;
    struct fb_vector outputs;
    struct fb_vector operators;
};

/** A tensor as the file describes it. */
struct tflite_tensor {
    uint32_t type;       /**< enum ethosu_model_type */
    uint32_t size;       /**< bytes; 0 for types without a fixed size */
    bool variable;       /**< state: keeps its value between inferences */
    const uint8_t *data; /**< constant data in the file, or NULL */
    struct fb_vector shape;
    struct fb_table table; /**< for name and quantization, which are read when needed */
};

struct tflite_operator_call {
    uint32_t code;             /**< builtin code */
    struct tflite_text custom; /**< name of a custom operator */
    bool npu;                  /**< ethos-u, which the NPU runs */
    struct fb_vector inputs;
    struct fb_vector outputs;
    struct fb_table options;
    struct fb_vector custom_options; /**< bytes */
};

/** Quantised values of a tensor. */
struct tflite_channels {
    uint32_t count;       /**< scales: 0 none, 1 per tensor, else per channel */
    uint32_t zero_points; /**< how many: 0, 1, or as many as scales */
    uint32_t axis;        /**< dimension that the channels run along */
    uint32_t size;        /**< of this dimension */
};

/** Most entries of metadata that a file may have, which are searched by their names. */
#define TFLITE_MAX_METADATA 256u

/** An index that no operator has: the file would be larger than 2 GB. */
#define TFLITE_NO_OPERATOR UINT32_MAX

/** Find the outermost tables; false when this is no valid .tflite (then see fb.bad). */
bool tflite_open(struct tflite *file, const void *data, uint32_t size);

/** Find the offsets of tensors and the memory plan in the metadata; false: it is malformed. */
bool tflite_find_offsets(struct tflite *file);

/** Is some operator code `ethos-u`? */
bool tflite_is_compiled(struct tflite *file);

/** Read a subgraph; false when there is none of this index. */
bool tflite_get_subgraph(struct tflite *file, uint32_t index, struct tflite_subgraph *subgraph);

/** Read a tensor of a subgraph; false when there is none of this index, or it is malformed. */
bool tflite_get_tensor(struct tflite *file, const struct tflite_subgraph *subgraph, uint32_t index,
                       struct tflite_tensor *tensor);

/** Read an operator of a subgraph; false when it is malformed. */
bool tflite_get_operator(struct tflite *file, const struct tflite_subgraph *subgraph,
                         uint32_t index, struct tflite_operator_call *call);

/** Arena offset planned for a tensor of the first subgraph; -1 when there is none. */
int32_t tflite_get_offset(struct tflite *file, uint32_t tensor);

/** Scale and zero point of one channel; false when the tensor has no such channel. */
bool tflite_get_channel(struct tflite *file, const struct tflite_tensor *tensor, uint32_t channel,
                        float *scale, int32_t *zero_point);

struct tflite_text tflite_get_name(struct tflite *file, const struct tflite_tensor *tensor);

/** Count scales and zero points; false when they do not match the tensor's shape. */
bool tflite_get_channels(struct tflite *file, const struct tflite_tensor *tensor,
                         struct tflite_channels *channels);

/** A string field of an operator's options. */
struct tflite_text tflite_get_text(struct tflite *file, const struct fb_table *table,
                                   uint32_t field);

static inline bool tflite_text_equal(struct tflite_text a, struct tflite_text b)
{
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

static inline bool tflite_text_is(struct tflite_text text, const char *expected)
{
    return tflite_text_equal(text, (struct tflite_text){expected, (uint32_t)strlen(expected)});
}

#endif
