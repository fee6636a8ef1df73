// SPDX-License-Identifier: MIT
/**
 * Builds the steps of a model. The same code runs twice, to measure (only counts) and
 * to load (fills the given memory), so the two can't disagree.
 */
#ifndef BUILDER_H
#define BUILDER_H

#include "runtime/file/failure.h"
#include "runtime/run/model.h"
#include "runtime/file/tflite.h"

/** Maximum number of resource variables, and of handles to them in one subgraph. */
#define MAX_VARIABLES 48u

/** Maximum number of subgraphs read: bits of builder.initialisers. */
#define MAX_SUBGRAPHS 32u

/**
 * Limit of the work that a file may cause, since it may refer to one table any number of times:
 * units per byte, and units for any file. A unit is at most about 200 instructions.
 */
#define WORK_PER_BYTE 4u
#define MIN_WORK 65536u

/** Units between two polls while loading; a unit takes up to 1,500 instructions. */
#define LOAD_UNITS (POLL_UNITS / 16)

/** Maximum number of bytes written by initialisation, in arena sizes. */
#define FILLS 16u

/** Units per operator, plus one for each operand. */
#define WORK_OF_OPERATOR 16u

/** A resource variable: memory after the tensors, identified by its name. */
struct variable {
    struct tflite_text name;
    uint32_t size;    /**< bytes; 0 while unknown */
    uint32_t offset;  /**< in the arena */
    bool initialised; /**< a subgraph of CALL_ONCE assigns it */
};

/** A tensor of the current subgraph that is a handle of a variable. */
struct handle {
    uint32_t tensor;
    struct variable *variable;
};

struct variable_table {
    struct variable list[MAX_VARIABLES];
    uint32_t count;
    struct handle handles[MAX_VARIABLES];
    uint32_t handle_count;
};

/** The memory of the model object, allocated from both ends. */
struct object_memory {
    uint8_t *start; /**< NULL while measuring */
    size_t low;     /**< bytes in use at the start */
    size_t high;    /**< bytes in use at the end */
    size_t unused;  /**< bytes in use at build_object_unused(), plus those it lent */
    size_t size;
};

/** A block of the arena shared by several operators: a copied constant, or fast scratch. */
struct shared_block {
    const void *owner; /**< constant or tensor in the file; NULL if not set yet */
    uint32_t offset;   /**< in the arena */
};

/** Bytes of the arena. */
struct arena_range {
    uint32_t start;
    uint32_t end;
};

/** The last NPU call, and the CPU operators that run concurrently; see schedule.c. */
struct npu_overlap {
    bool active;
    struct arena_range ranges[2]; /**< scratch and fast scratch: everything the NPU may write */
    uint32_t operators;           /**< number that run concurrently */
    struct step *step;            /**< NULL while measuring */
};

/** Number of tensors, from index 0, that are cached because several stages need them. */
#define TENSOR_CACHE_SIZE 12u

/** Recently read parts of the file. They stay valid from measuring to loading. */
struct file_cache {
    bool open;      /**< the file was opened, and its offsets found */
    uint32_t graph; /**< index of the tensors' subgraph; TFLITE_NO_GRAPH if none was read */
    uint32_t valid; /**< bit n: list[n] is tensor n */
    struct tflite_tensor list[TENSOR_CACHE_SIZE];
    uint32_t call_graph; /**< index of the operator's subgraph */
    uint32_t call_index; /**< TFLITE_NO_OPERATOR if none was read */
    struct tflite_operator_call call;
};

struct builder {
    struct ethosu_driver *driver; /**< may be NULL */
    struct ethosu_model_error *error;
    bool loading;               /**< false: measuring */
    struct ethosu_model *model; /**< contains the counts, even while measuring */
    struct object_memory object;
    struct init_step **init_end; /**< link for the next initialisation step */
    uint8_t *arena;              /**< NULL while measuring */
    size_t arena_limit;          /**< bytes given */

    uint32_t work;       /**< units left until the next check whether to stop */
    uint64_t work_after; /**< units left after that */
    uint64_t filled;     /**< bytes that initialisation writes */

    uint32_t main_graph;  /**< the one that an inference runs: the first, or a signature's */
    uint32_t graph_index; /**< of the current graph */
    uint32_t fast_tensor; /**< this graph's fast scratch if separate from scratch, or NO_TENSOR */
    uint32_t operator_index;              /**< the current one */
    uint32_t operator_code;               /**< its builtin code */
    struct tflite_text custom_name;       /**< its name if it is a custom operator */
    const struct operator_kernel *kernel; /**< its row in operators.c */

    struct shared_block read_only;    /**< the last copy of a constant */
    struct shared_block fast_scratch; /**< the last fast scratch that is not scratch itself */
    struct variable_table *variables;
    uint32_t called;       /**< bit n: CALL_ONCE refers to subgraph n */
    uint32_t initialisers; /**< bit n: and the CPU runs it */
    bool constant_outputs; /**< the model has some */
    bool in_prologue;      /**< in one run by the NPU, whose steps come before all others */

    struct npu_overlap overlap;
    struct program_builder *program; /**< of a format with programs */

    uint32_t planned_arena; /**< bytes of the main graph's tensors and planned scratch */
    struct ethosu_model_kernel *kernels; /**< for ethosu_model_kernels(), else NULL */
    uint32_t kernel_room;                /**< entries of `kernels` */
    uint32_t kernel_count;               /**< entries that are filled */
    // All members before this one are initially 0.
    struct tflite file;
    struct tflite_subgraph graph; /**< the current one */
    struct file_cache cache;
};

/** One operator that has no kernel in kernels/. */
struct operator_kernel {
    uint32_t code; /**< enum tflite_operator */
    /** Check the operator and add its steps to the plan. */
    int (*prepare)(struct builder *builder, const struct tflite_operator_call *call);
    /** The step's function; NULL if it has no step. */
    int (*run)(struct ethosu_model *model, const struct step *step);
};

/** An operator's input or output, with its memory. */
struct operand {
    struct tflite_tensor tensor;
    int32_t offset; /**< in the arena, or -1 if constant */
    void *data;     /**< arena addresses are NULL while measuring; constants are only read */
};

/** Positions in an ethos-u operator's list of inputs; the network's inputs follow. */
enum npu_input {
    NPU_INPUT_PAYLOAD,
    NPU_INPUT_READ_ONLY,
    NPU_INPUT_SCRATCH,
    NPU_INPUT_FAST_SCRATCH,
};

/** Reject the model because loading was stopped. */
int build_refuse_stopped(const struct builder *builder);

/** Count work before it is done, so that loading time is linear in the file's size. */
int build_work(struct builder *builder, uint32_t units);

/** The same for iteration `index` of a loop: one unit each, counted in blocks of sixteen. */
static inline int build_work_at(struct builder *builder, uint32_t index)
{
    return index % 16 == 0 ? build_work(builder, 16) : ETHOSU_MODEL_OK;
}

/** Make a subgraph the current one; its offsets follow those of the subgraphs before it. */
int build_enter_graph(struct builder *builder, uint32_t index);

/** Read a tensor of the current subgraph; false if malformed. */
bool build_get_tensor(struct builder *builder, uint32_t index, struct tflite_tensor *tensor);

/** Read an operator of the current subgraph; *call is valid until the next one is read. */
int build_get_operator(struct builder *builder, uint32_t index,
                       const struct tflite_operator_call **call);

/**
 * Find the current subgraph's fast_tensor. Vela plans it in a memory other than the arena, so its
 * offset is not an arena offset.
 */
int build_find_fast_tensor(struct builder *builder);

/** Find input (or output) number `index` of an operator and its memory. */
int build_find_operand(struct builder *builder, const struct fb_vector *list, uint32_t index,
                       struct operand *operand);

/** Count its scales and zero points; rejects numbers that do not match its shape. */
int build_get_channels(struct builder *builder, uint32_t index, const struct tflite_tensor *tensor,
                       struct tflite_channels *channels);

/** Reject a tensor that could not be read: malformed, or its sizes are inconsistent. */
int build_bad_tensor(struct builder *builder, uint32_t tensor);

/** Find a tensor of the current subgraph and its memory. */
int build_find_tensor(struct builder *builder, uint32_t tensor, struct operand *operand);

/** Reserve the list of inputs and outputs, and start the list of steps after it. */
int build_counts(struct builder *builder, uint32_t inputs, uint32_t outputs,
                 struct ethosu_model_buffer **buffers);

/** Make the arena at least `end` bytes large. */
int build_grow_arena(struct builder *builder, uint64_t end);

/** Can the NPU use the arena given? */
int build_check_arena(struct builder *builder, const struct ethosu_model_memory *memory,
                      const struct ethosu_model_source *source);

/** Reserve arena bytes after all tensors, aligned to ETHOSU_MODEL_ALIGNMENT. */
int build_reserve(struct builder *builder, uint32_t size, uint32_t *offset);

/**
 * The same in whole cache lines, for memory that the NPU writes and that is cleaned only once: CPU
 * writes next to it must not make its lines dirty.
 */
int build_reserve_lines(struct builder *builder, uint32_t size, uint32_t *offset);

/**
 * Address of a part of the arena, which is at least as large as that; NULL while measuring. There
 * is no other way to get an address: what the file said of its sizes before may have changed since.
 */
int build_address(struct builder *builder, uint32_t offset, uint32_t size, void **address);

/**
 * Make a constant readable by the NPU: in the file if possible, else as a copy.
 *
 * @param last  the last copy made: reused when the next operator has the same constant
 */
int build_visible(struct builder *builder, struct shared_block *last, const void *data,
                  uint32_t size, const void **visible);

/**
 * Place a command stream where the NPU can read it and nothing changes it: in the file, or in a
 * private copy of the model.
 */
int build_payload(struct builder *builder, const void *data, uint32_t size, const void **visible);

/** Add a step to the inference, or to the initialisation while in one of its subgraphs. */
int build_step(struct builder *builder, const struct step *step);

/** Add a step to the initialisation. */
int build_init_step(struct builder *builder, const struct step *step);

/** Add a step for the current operator that copies into the arena. */
int build_copy(struct builder *builder, uint32_t offset, const void *source, uint32_t size);

/** Add a step to the initialisation that fills memory with a byte. */
int build_fill(struct builder *builder, uint32_t offset, uint32_t size, uint8_t value);

/** Reserve bytes at the start of the object; *memory is NULL while measuring. */
int build_object_front(struct builder *builder, size_t size, void **memory);

/** Reserve bytes at the end of the object, aligned to 8; *memory is NULL while measuring. */
int build_object_back(struct builder *builder, size_t size, void **memory);

/**
 * Borrow bytes of the object that are still unused, until the next ones are reserved. *memory is
 * NULL while measuring.
 */
int build_object_unused(struct builder *builder, size_t size, void **memory);

/** Reject the current operator: "operator 3 (NAME) of subgraph 0: why". */
int build_refuse(struct builder *builder, int status, const char *why);

#ifdef ETHOSU_MESSAGES_TERSE
#define build_refuse(builder, status, why) error_set((builder)->error, status, "%s", why)
#endif

#endif
