// SPDX-License-Identifier: MIT
/**
 * What a model file contains, read without an NPU and without loading it: TensorFlow Lite files,
 * compiled or not, ExecuTorch programs, bundles of a program with test cases, and data files.
 *
 *     struct ethosu_description file;
 *     int status = ethosu_model_describe(data, size, &file, &error); // 0, or error.text
 *     for (uint32_t i = 0; i < file.graphs; i++) {
 *         ethosu_describe_graph(&file, i, &graph, &error);  // this graph is the current one
 *         ethosu_describe_value(&file, 0, &value, &error);  // of the current graph
 *         ethosu_describe_operator(&file, 0, &operator, &error);
 *     }
 *
 * Graphs are subgraphs of a `.tflite`, methods of a program. Nothing is allocated; what is returned
 * points into the file, which must not move or change. Files may come from third parties: every
 * read is bounded, and so is the work that a file can cause in total. Each function returns
 * ETHOSU_MODEL_OK or a negative enum ethosu_model_status, and `error` (may be NULL) says why.
 *
 * For host programs; a firmware contains ethosu_describe_cases() and what reads cases.
 */
#ifndef ETHOSU_DESCRIBE_H
#define ETHOSU_DESCRIBE_H

#include "ethosu_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes in the file, at any alignment; numbers are little-endian, text has no NUL at its end. */
struct ethosu_describe_bytes {
    const void *data;
    uint32_t size;
};

/** An open file. */
struct ethosu_description {
    uint32_t kind;                        /**< enum ethosu_file_kinds */
    uint32_t graphs;                      /**< subgraphs or methods; 0 for data files */
    uint32_t entries;                     /**< of the metadata, or data that has a name */
    uint32_t cases;                       /**< of a bundle */
    struct ethosu_describe_bytes program; /**< of a bundle: what it holds; else the file */
    uint64_t reads;                       /**< that are left: see above */
    uint64_t reader[380];                 /**< of the implementation */
};

/** Open a file. */
int ethosu_model_describe(const void *file, size_t size, struct ethosu_description *description,
                          struct ethosu_model_error *error);

/** A metadata entry of a `.tflite`, or data that a program or a data file stores under a name. */
struct ethosu_describe_entry {
    struct ethosu_describe_bytes name;
    struct ethosu_describe_bytes content;
};

int ethosu_describe_entry(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_entry *entry, struct ethosu_model_error *error);

/** A subgraph or a method. Lists are 32-bit numbers of values. */
struct ethosu_describe_graph {
    struct ethosu_describe_bytes name; /**< empty in a `.tflite` */
    uint32_t values;                   /**< in a `.tflite` all of them are tensors */
    uint32_t operators;                /**< or instructions */
    struct ethosu_describe_bytes inputs;
    struct ethosu_describe_bytes outputs;
    struct ethosu_describe_bytes buffers; /**< sizes of planned buffers, 64 bits each */
    uint32_t quantized; /**< values that the CPU quantises or dequantises in each inference */
    bool nchw;          /**< an input is an image whose channels do not lie side by side */
};

/** Describe a graph, and make it the current one. */
int ethosu_describe_graph(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_graph *graph, struct ethosu_model_error *error);

/** Kinds of values besides those of enum ethosu_model_kind. */
enum ethosu_describe_kind {
    ETHOSU_KIND_INTS = 16, /**< `data` has 64-bit numbers of values */
    ETHOSU_KIND_TENSORS,   /**< `data` has 32-bit numbers of values, -1 for an absent one */
    ETHOSU_KIND_OTHER,     /**< of no use to any operator here */
};

/** A value of a graph. */
struct ethosu_describe_value {
    uint32_t kind;                     /**< enum ethosu_model_kind or ethosu_describe_kind */
    int64_t integer;                   /**< an int or a bool */
    double real;                       /**< a double */
    struct ethosu_describe_bytes data; /**< constant, initial value, text, or list */
    struct ethosu_model_tensor tensor; /**< its `data` is NULL */
    int32_t offset;    /**< of a tensor in the arena, or in its planned buffer; -1: not planned */
    uint32_t buffer;   /**< of a program's tensor: number of the planned buffer; 0: constant */
    uint32_t constant; /**< of a program's tensor: number of its constant or initial value */
    bool variable;     /**< a tensor that keeps its values between inferences */
};

/** Describe a value of the current graph. */
int ethosu_describe_value(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_value *value, struct ethosu_model_error *error);

/** What runs an operator. */
enum ethosu_describe_place {
    ETHOSU_ON_CPU,
    ETHOSU_ON_NPU,
    ETHOSU_NOWHERE, /**< it moves a value or jumps */
};

/** An operator. Lists are 32-bit numbers of values, -1 for an absent one. */
struct ethosu_describe_operator {
    struct ethosu_describe_bytes name; /**< "CONV_2D", "aten::cat"; empty if not known */
    uint32_t code;                     /**< builtin code, or index of the operator or delegate */
    uint32_t place;                    /**< enum ethosu_describe_place */
    struct ethosu_describe_bytes inputs;
    struct ethosu_describe_bytes outputs; /**< of a program: scratch, too, and the result twice */
    bool known;                           /**< this runtime computes it, on the CPU by a kernel */
};

/** Describe an operator of the current graph. */
int ethosu_describe_operator(struct ethosu_description *description, uint32_t index,
                             struct ethosu_describe_operator *operation,
                             struct ethosu_model_error *error);

/** Fast scratch of an NPU call whose file does not state it. */
#define ETHOSU_DESCRIBE_NOT_STATED UINT32_MAX

/** One call of the NPU. */
struct ethosu_describe_npu_call {
    char npu[20]; /**< config that it was compiled for: "ethos-u55-128"; "unknown" */
    struct ethosu_describe_bytes payload;   /**< what Vela packs around the command stream */
    struct ethosu_describe_bytes stream;    /**< the command stream */
    struct ethosu_describe_bytes constants; /**< weights and scales */
    uint32_t scratch_size;                  /**< bytes */
    uint32_t fast_scratch_size;             /**< 0: it is the scratch */
    struct ethosu_describe_bytes absent;    /**< name of data in a file that was not given */
};

/**
 * Describe an operator of the current graph that the NPU runs.
 *
 * @param data  a data file with what the program names; NULL: none. What is in neither is empty,
 * and `absent` is its name
 */
int ethosu_describe_npu_call(struct ethosu_description *description, uint32_t index,
                             const struct ethosu_describe_bytes *data,
                             struct ethosu_describe_npu_call *call,
                             struct ethosu_model_error *error);

/** Read a payload by itself: sets `npu`, `payload` and `stream` of a call. */
int ethosu_describe_payload(const void *payload, uint32_t size,
                            struct ethosu_describe_npu_call *call,
                            struct ethosu_model_error *error);

/**
 * Open a bundle for its cases alone: what follows here may be called then, and nothing else.
 *
 * @param size  bytes, 8 to 2^31 - 1
 */
int ethosu_describe_cases(const void *file, size_t size, struct ethosu_description *description,
                          struct ethosu_model_error *error);

/** A test case of a bundle. */
struct ethosu_describe_case {
    struct ethosu_describe_bytes method; /**< its name */
    uint32_t inputs;
    uint32_t outputs;
};

/** Describe a case, and make it the current one. */
int ethosu_describe_case(struct ethosu_description *description, uint32_t index,
                         struct ethosu_describe_case *found, struct ethosu_model_error *error);

/** Describe an input, or an expected output, of the current case. */
int ethosu_describe_case_value(struct ethosu_description *description, bool is_output,
                               uint32_t number, struct ethosu_describe_value *value,
                               struct ethosu_model_error *error);

/** A row of the table that says which operator of the source model a command belongs to. */
struct ethosu_describe_debug_row {
    uint32_t call; /**< number of the NPU call */
    uint32_t end;  /**< byte offset of the operator's last command in the command stream */
    struct ethosu_describe_bytes name;
};

/** Rows of a debug table, which is metadata entry "ethosu_debug"; UINT32_MAX: it is not one. */
uint32_t ethosu_describe_debug_rows(struct ethosu_describe_bytes table);

/** Read a row; false: not found. */
bool ethosu_describe_debug_row(struct ethosu_describe_bytes table, uint32_t index,
                               struct ethosu_describe_debug_row *row);

#ifdef __cplusplus
}
#endif

#endif
