// SPDX-License-Identifier: MIT
/**
 * Describes the contents of a model file without an NPU and without loading it: TensorFlow Lite
 * files (compiled or not), ExecuTorch programs, bundles of a program with test cases, and data
 * files.
 *
 *     struct ethosu_description file;
 *     int status = ethosu_model_describe(data, size, &file, &error); // 0, or error.text
 *     for (uint32_t i = 0; i < file.graphs; i++) {
 *         ethosu_describe_graph(&file, i, &graph, &error);  // this graph is the current one
 *         ethosu_describe_value(&file, 0, &value, &error);  // of the current graph
 *         ethosu_describe_operator(&file, 0, &operator, &error);
 *     }
 *
 * Graphs are subgraphs of a `.tflite` or methods of a program. Nothing is allocated; results point
 * into the file, which must not move or change. Files may come from third parties, so every read is
 * bounded, and so is the total work that a file can cause. Each function returns ETHOSU_MODEL_OK or
 * a negative enum ethosu_model_status, and stores the reason in `error` (may be NULL).
 *
 * For host programs; firmware contains only ethosu_describe_cases() and the functions for cases.
 */
#ifndef ETHOSU_DESCRIBE_H
#define ETHOSU_DESCRIBE_H

#include "ethosu_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes in the file, at any alignment. Numbers are little-endian, text is not NUL-terminated. */
struct ethosu_describe_bytes {
    const void *data;
    uint32_t size;
};

/** An open file. */
struct ethosu_description {
    uint32_t kind;                        /**< enum ethosu_file_kinds */
    uint32_t graphs;                      /**< subgraphs or methods; 0 for data files */
    uint32_t entries;                     /**< metadata entries, or named data */
    uint32_t signatures;                  /**< of a .tflite */
    uint32_t cases;                       /**< of a bundle */
    struct ethosu_describe_bytes program; /**< the program in a bundle; else the file */
    uint64_t reads;                       /**< remaining read budget: see above */
    uint64_t reader[380];                 /**< for the implementation */
};

/** Open a file. */
int ethosu_model_describe(const void *file, size_t size, struct ethosu_description *description,
                          struct ethosu_model_error *error);

/** A metadata entry of a `.tflite`, or named data of a program or data file. */
struct ethosu_describe_entry {
    struct ethosu_describe_bytes name;
    struct ethosu_describe_bytes content;
};

int ethosu_describe_entry(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_entry *entry, struct ethosu_model_error *error);

/** A subgraph or a method. Lists contain 32-bit value numbers. */
struct ethosu_describe_graph {
    struct ethosu_describe_bytes name; /**< empty in a `.tflite` */
    uint32_t values;                   /**< in a `.tflite` all are tensors */
    uint32_t operators;                /**< or instructions */
    struct ethosu_describe_bytes inputs;
    struct ethosu_describe_bytes outputs;
    struct ethosu_describe_bytes buffers; /**< sizes of planned buffers, 64 bits each */
    uint32_t quantized; /**< values that the CPU quantises or dequantises in each inference */
    bool nchw;          /**< an input is an image in channels-first order */
};

/** Describe a graph, and make it the current one. */
int ethosu_describe_graph(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_graph *graph, struct ethosu_model_error *error);

/** A signature of a `.tflite`: the name under which programs call a graph. */
struct ethosu_describe_signature {
    struct ethosu_describe_bytes name;
    uint32_t graph; /**< its number */
};

int ethosu_describe_signature(struct ethosu_description *description, uint32_t index,
                              struct ethosu_describe_signature *signature,
                              struct ethosu_model_error *error);

/** Kinds of values in addition to enum ethosu_model_kind. */
enum ethosu_describe_kind {
    ETHOSU_KIND_INTS = 16, /**< `data` has 64-bit value numbers */
    ETHOSU_KIND_TENSORS,   /**< `data` has 32-bit value numbers, -1 for an absent one */
    ETHOSU_KIND_OTHER,     /**< not used by any supported operator */
};

/** A value of a graph. */
struct ethosu_describe_value {
    uint32_t kind;                     /**< enum ethosu_model_kind or ethosu_describe_kind */
    int64_t integer;                   /**< an int or a bool */
    double real;                       /**< a double */
    struct ethosu_describe_bytes data; /**< constant, initial value, text, or list */
    struct ethosu_model_tensor tensor; /**< with `data` NULL */
    int32_t offset;    /**< of a tensor in the arena or its planned buffer; -1 if not planned */
    uint32_t buffer;   /**< of a program's tensor: number of the planned buffer; 0 for a constant */
    uint32_t constant; /**< of a program's tensor: number of its constant or initial value */
    bool variable;     /**< a tensor that keeps its values between inferences */
};

/** Describe a value of the current graph. */
int ethosu_describe_value(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_value *value, struct ethosu_model_error *error);

/** Where an operator runs. */
enum ethosu_describe_runs_on {
    ETHOSU_ON_CPU,
    ETHOSU_ON_NPU,
    ETHOSU_NOWHERE, /**< it moves a value or jumps */
};

/** An operator. Lists contain 32-bit value numbers, -1 for an absent one. */
struct ethosu_describe_operator {
    struct ethosu_describe_bytes name; /**< "CONV_2D", "aten::cat"; empty if not known */
    uint32_t code;                     /**< builtin code, or index of the operator or delegate */
    uint32_t runs_on;                  /**< enum ethosu_describe_runs_on */
    struct ethosu_describe_bytes inputs;
    struct ethosu_describe_bytes
        outputs; /**< in a program: including scratch, and the result twice */
    bool known;  /**< supported by this runtime; on the CPU by a kernel */
};

/** Describe an operator of the current graph. */
int ethosu_describe_operator(struct ethosu_description *description, uint32_t index,
                             struct ethosu_describe_operator *operation,
                             struct ethosu_model_error *error);

/** Fast scratch of an NPU call whose file does not state it. */
#define ETHOSU_DESCRIBE_NOT_STATED UINT32_MAX

/** One call of the NPU. */
struct ethosu_describe_npu_call {
    char npu[20];                         /**< accelerator config: "ethos-u55-128"; or "unknown" */
    struct ethosu_describe_bytes payload; /**< the payload generated by Vela */
    struct ethosu_describe_bytes stream;  /**< the command stream */
    struct ethosu_describe_bytes constants; /**< weights and scales */
    uint32_t scratch_size;                  /**< bytes */
    uint32_t fast_scratch_size;             /**< 0 if it is the scratch */
    struct ethosu_describe_bytes absent;    /**< name of data in a missing data file */
};

/**
 * Describe an operator of the current graph that the NPU runs.
 *
 * @param data  a data file with named data of the program, or NULL. Data found in neither is empty,
 * and `absent` is its name
 */
int ethosu_describe_npu_call(struct ethosu_description *description, uint32_t index,
                             const struct ethosu_describe_bytes *data,
                             struct ethosu_describe_npu_call *call,
                             struct ethosu_model_error *error);

/** Parse a separate payload; sets `npu`, `payload` and `stream` of a call. */
int ethosu_describe_payload(const void *payload, uint32_t size,
                            struct ethosu_describe_npu_call *call,
                            struct ethosu_model_error *error);

/**
 * Open a bundle only for its cases. After this, only the functions below may be called.
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

/** A row of the debug table, which maps commands to operators of the source model. */
struct ethosu_describe_debug_row {
    uint32_t call; /**< number of the NPU call */
    uint32_t end;  /**< byte offset of the operator's last command in the command stream */
    struct ethosu_describe_bytes name;
};

/** Number of rows of a debug table (metadata entry "ethosu_debug"); UINT32_MAX if invalid. */
uint32_t ethosu_describe_debug_rows(struct ethosu_describe_bytes table);

/** Read a row; false if not found. */
bool ethosu_describe_debug_row(struct ethosu_describe_bytes table, uint32_t index,
                               struct ethosu_describe_debug_row *row);

#ifdef __cplusplus
}
#endif

#endif
