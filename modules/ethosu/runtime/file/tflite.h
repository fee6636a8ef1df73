// SPDX-License-Identifier: MIT
/**
 * The part of TensorFlow Lite's schema (version 3) that the runtime reads. Each table
 * has a small function that reads and checks it.
 */
#ifndef TFLITE_H
#define TFLITE_H

#include "ethosu_model.h"
#include "runtime/file/flatbuffer.h"

#include <string.h>

/** Builtin operator codes. */
enum tflite_operator {
#define OPERATOR(name, code) TFLITE_##name = (code),
#include "runtime/file/operators.def"
#undef OPERATOR
};

/** Index of an omitted tensor. */
#define TFLITE_NO_TENSOR UINT32_MAX

/** Bytes in the file, not NUL-terminated. */
struct tflite_text {
    const char *bytes;
    uint32_t length;
};

/** Fields of the file's first table. */
struct tflite_root {
    struct fb_vector operator_codes;
    struct fb_vector subgraphs;
    struct fb_vector buffers;
    struct fb_vector metadata;
};

/** An open file: its outermost tables. */
struct tflite {
    struct flatbuffer fb;
    struct tflite_root root;
    uint32_t offsets;      /**< file position of OfflineMemoryAllocation's offsets, or 0 */
    uint32_t offset_count; /**< how many */
    uint32_t offset_first; /**< index of the offset of the current subgraph's first tensor */
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
    uint32_t type;     /**< enum ethosu_model_type */
    uint32_t variable; /**< 1 if state, which persists between inferences */
    uint32_t buffer;   /**< number of its buffer, or 0 */
    struct fb_vector shape;
    // The following members are not fields of the file.
    uint32_t table;      /**< its position: name and quantization are read when needed */
    uint32_t size;       /**< bytes; 0 for types without a fixed size */
    const uint8_t *data; /**< constant data in the file, or NULL */
};

struct tflite_operator_call {
    uint32_t code_index; /**< in the file's list */
    struct fb_vector inputs;
    struct fb_vector outputs;
    uint32_t options;                /**< position of a table, or 0 */
    struct fb_vector custom_options; /**< bytes */
    // The following members are not fields of the operator.
    uint32_t code;             /**< builtin code */
    struct tflite_text custom; /**< name of a custom operator */
    bool npu;                  /**< ethos-u, which the NPU runs */
};

/** Quantised values of a tensor. */
struct tflite_channels {
    uint32_t count;       /**< scales: 0 none, 1 per tensor, else per channel */
    uint32_t zero_points; /**< number: 0, 1, or the number of scales */
    uint32_t axis;        /**< dimension that the channels run along */
    uint32_t size;        /**< of this dimension */
};

/** Maximum number of metadata entries, which are searched by name. */
#define TFLITE_MAX_METADATA 256u

/** Not a valid index of an operator or a subgraph, as the file would exceed 2 GB. */
#define TFLITE_NO_OPERATOR UINT32_MAX
#define TFLITE_NO_GRAPH UINT32_MAX

/** Find the outermost tables; false if this is not a valid .tflite (then see fb.bad). */
bool tflite_open(struct tflite *file, const void *data, uint32_t size);

/** Find the tensor offsets and the plan of a subgraph in the metadata; false if malformed. */
bool tflite_find_offsets(struct tflite *file, uint32_t subgraph);

/** Is any operator code `ethos-u`? */
bool tflite_is_compiled(struct tflite *file);

/** Read a subgraph; false if the index is invalid. */
bool tflite_get_subgraph(struct tflite *file, uint32_t index, struct tflite_subgraph *subgraph);

/** The same, and find its tensors' offsets, which follow those of the subgraphs before it. */
bool tflite_enter_subgraph(struct tflite *file, uint32_t index, struct tflite_subgraph *subgraph);

/** A signature: the name under which programs call a subgraph. */
struct tflite_signature {
    struct tflite_text name;
    uint32_t subgraph;
};

/** The list of signatures. */
struct fb_vector tflite_get_signatures(struct tflite *file);

/** Read signature number `index` of the list; false if the file is malformed. */
bool tflite_get_signature(struct tflite *file, const struct fb_vector *list, uint32_t index,
                          struct tflite_signature *signature);

/** Read a tensor of a subgraph; false if the index is invalid or the tensor malformed. */
bool tflite_get_tensor(struct tflite *file, const struct tflite_subgraph *subgraph, uint32_t index,
                       struct tflite_tensor *tensor);

/** Read an operator of a subgraph; false if malformed. */
bool tflite_get_operator(struct tflite *file, const struct tflite_subgraph *subgraph,
                         uint32_t index, struct tflite_operator_call *call);

/** Arena offset planned for a tensor of the subgraph that was entered, or -1. */
int32_t tflite_get_offset(struct tflite *file, uint32_t tensor);

/** Scale and zero point of one channel; false if the tensor has no such channel. */
bool tflite_get_channel(struct tflite *file, const struct tflite_tensor *tensor, uint32_t channel,
                        float *scale, int32_t *zero_point);

struct tflite_text tflite_get_name(struct tflite *file, const struct tflite_tensor *tensor);

/** Count scales and zero points; false if they do not match the tensor's shape. */
bool tflite_get_channels(struct tflite *file, const struct tflite_tensor *tensor,
                         struct tflite_channels *channels);

/** A string field of an operator's options. */
struct tflite_text tflite_get_text(struct tflite *file, uint32_t table, uint32_t field);

/** An entry of the metadata. */
struct tflite_entry {
    struct tflite_text name;
    uint32_t buffer; /**< number of the buffer with its contents */
};

struct tflite_entry tflite_get_entry(struct tflite *file, uint32_t index);

/** Contents of a buffer; empty for computed tensors. */
struct fb_vector tflite_get_buffer(struct tflite *file, uint32_t index);

static inline bool tflite_text_equal(struct tflite_text a, struct tflite_text b)
{
    return a.length == b.length && fb_same(a.bytes, b.bytes, a.length);
}

static inline bool tflite_text_is(struct tflite_text text, const char *expected)
{
    return tflite_text_equal(text, (struct tflite_text){expected, (uint32_t)strlen(expected)});
}

/** Name of a builtin operator code, "?" when unknown. */
struct tflite_text operator_name(uint32_t code);

#endif
