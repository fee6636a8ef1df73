// SPDX-License-Identifier: MIT
/**
 * Reader for ExecuTorch programs. Each function reads one item and validates it,
 * so that damaged files are rejected at load time.
 *
 * Source of field numbers and layouts: schema/program.fbs and the extended
 * header of pytorch/executorch 1.5. Addresses and offsets in comments are
 * relative to the start of the file.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "ethosu_model.h"
#include "runtime/file/flatbuffer.h"

/** Maximum number of planned buffers ("memory ids") of a method. */
#define PROGRAM_MAX_BUFFERS 8u

/** Kinds of values. */
enum program_value_type {
    PROGRAM_NULL = 1,
    PROGRAM_INT = 2,
    PROGRAM_BOOL = 3,
    PROGRAM_DOUBLE = 4,
    PROGRAM_TENSOR = 5,
    PROGRAM_STRING = 6,
    PROGRAM_INT_LIST = 7,
    PROGRAM_TENSOR_LIST = 10,
    PROGRAM_OPTIONAL_TENSOR_LIST = 11,
};

/** Kinds of instructions. */
enum program_instruction_type {
    PROGRAM_KERNEL_CALL = 1,
    PROGRAM_DELEGATE_CALL = 2,
    PROGRAM_MOVE_CALL = 3,
    PROGRAM_JUMP_FALSE_CALL = 4,
    PROGRAM_FREE_CALL = 5,
};

/** Bytes in the file; strings are not NUL-terminated. */
struct program_bytes {
    const uint8_t *data;
    uint32_t size;
};

/** A static tensor with at most ETHOSU_MODEL_MAX_RANK dimensions. */
struct program_tensor {
    uint32_t type; /**< enum ethosu_model_type */
    uint32_t size; /**< bytes */
    uint32_t rank;
    int32_t shape[ETHOSU_MODEL_MAX_RANK];
    uint8_t order[ETHOSU_MODEL_MAX_RANK]; /**< dimensions from outermost to innermost */
    const uint8_t *data;                  /**< constant, or initial value, or NULL */
    uint32_t buffer;                      /**< planned buffer, from 1; 0 for a constant */
    uint32_t offset;                      /**< in that buffer */
};

struct program_instruction {
    uint32_t type;              /**< enum program_instruction_type */
    uint32_t index;             /**< of the operator or delegate */
    struct fb_vector arguments; /**< of the call */
    uint32_t first;             /**< operands of any other instruction */
    uint32_t second;
    uint32_t row; /**< of the operator, in program_operators.c; 0 if not yet looked up */
};

/** Cache sizes; several stages read the same tensors and calls. */
#define PROGRAM_KNOWN_TENSORS 16u
#define PROGRAM_KNOWN_CALLS 8u

/** Cached items of a method. Numbers of values and instructions are stored + 1; 0 is empty. */
struct program_known {
    uint32_t values[PROGRAM_KNOWN_TENSORS];
    uint32_t instructions[PROGRAM_KNOWN_CALLS];
    struct program_tensor tensors[PROGRAM_KNOWN_TENSORS];
    struct program_instruction calls[PROGRAM_KNOWN_CALLS];
};

/** Fields of the file's root table. */
struct program_root {
    struct fb_vector methods;
    struct fb_vector inline_data;
    struct fb_vector segments;
    uint32_t constants; /**< table of the constants' segment */
    struct fb_vector mutables;
    struct fb_vector named;
};

struct program_method {
    struct fb_vector values;
    struct fb_vector inputs;
    struct fb_vector outputs;
    struct fb_vector chains;
    struct fb_vector operators;
    struct fb_vector delegates;
    struct fb_vector buffer_sizes; /**< of planned buffers; number 0 is reserved */
};

/** An open program, and one of its methods. */
struct program {
    struct flatbuffer fb; /**< its tables */
    const uint8_t *file;
    uint32_t file_size;
    uint32_t segments_start; /**< of the segments' data; 0 without segments */
    struct program_root root;
    struct program_method method;  /**< the current one */
    struct fb_vector instructions; /**< of its chain */
    struct program_known known;
};

/** Initialise everything except the root table. */
void program_begin(struct program *program, const void *file, uint32_t size);

/** Open a program or a bundle that contains one; false if malformed or truncated. */
bool program_open(struct program *program, const void *file, uint32_t size);

/** Are the bytes equal to this text? */
bool program_is_text(struct program_bytes bytes, const char *text);

/** Index of the method with this name, UINT32_MAX if not found. */
uint32_t program_find_method(struct program *program, const char *name);

/** Name of a method. */
struct program_bytes program_method_name(struct program *program, uint32_t method);

/** Make a method the current one; false if it is malformed or does not have exactly one chain. */
bool program_choose(struct program *program, uint32_t method);

/** Type of a value, 0 if it does not exist or is malformed. */
enum program_value_type program_get_type(struct program *program, uint32_t index);

/** Read a field (see flatbuffer.h) of a value; false if the value is not of this type. */
bool program_get_value(struct program *program, uint32_t index, enum program_value_type type,
                       struct fb_field field, void *result);

/** Read an Int, Bool or Double value; false if it has a different type. */
bool program_get_int(struct program *program, uint32_t index, int64_t *number);
bool program_get_bool(struct program *program, uint32_t index, bool *is_true);
bool program_get_double(struct program *program, uint32_t index, double *number);

/** Read an IntList of exactly `count` numbers; false if it is anything else. */
bool program_get_ints(struct program *program, uint32_t index, uint32_t count, int64_t *numbers);

/** Read a list of tensors, given by their value numbers; false if it is anything else. */
bool program_get_tensors(struct program *program, uint32_t index, struct fb_vector *list);

/** Why program_get_tensor() rejects a value, for error messages. */
enum program_tensor_fault {
    PROGRAM_TENSOR_OK,
    PROGRAM_TENSOR_NONE,      /**< not a tensor, or malformed */
    PROGRAM_TENSOR_MANY,      /**< a list of tensors */
    PROGRAM_TENSOR_TYPE,      /**< unsupported element type */
    PROGRAM_TENSOR_DYNAMIC,   /**< its shape may change */
    PROGRAM_TENSOR_SHAPE,     /**< rank, sizes, or the order of its dimensions */
    PROGRAM_TENSOR_DATA,      /**< its constant data is not in the file */
    PROGRAM_TENSOR_PLACE,     /**< not placed, or exceeds its planned buffer */
    PROGRAM_TENSOR_ALIGNMENT, /**< a constant that is misaligned for its type */
};

/** Read a tensor. It stays valid until PROGRAM_KNOWN_TENSORS - 1 others have been read. */
enum program_tensor_fault program_get_tensor(struct program *program, uint32_t index,
                                             const struct program_tensor **tensor);

/** Read an instruction, cached like tensors (PROGRAM_KNOWN_CALLS); NULL if malformed. */
struct program_instruction *program_get_instruction(struct program *program, uint32_t index);

/** Name of an operator. */
bool program_get_operator(struct program *program, uint32_t index, struct program_bytes *name);

/** Backend and data of a delegate; false if malformed. */
bool program_get_delegate(struct program *program, uint32_t index, struct program_bytes *backend,
                          struct program_bytes *data);

/** Maps ExecuTorch's tensor types to enum ethosu_model_type, plus 1; 0 if unsupported. */
#define PROGRAM_TENSOR_TYPES 30u
extern const uint8_t program_tensor_types[PROGRAM_TENSOR_TYPES];

/** Name and contents of named data number `index`; false if malformed. */
bool program_get_entry(struct program *program, uint32_t index, struct program_bytes *name,
                       struct program_bytes *data);

/** Find named data in the program; false if not found. */
bool program_get_named(struct program *program, struct program_bytes name,
                       struct program_bytes *data);

#endif
