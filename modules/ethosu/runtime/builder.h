// SPDX-License-Identifier: MIT
/**
 * Building the plan of a model. The same code runs twice: to measure (no
 * memory yet: it only counts) and to load (it fills the memory given), so the
 * two cannot disagree.
 */
#ifndef BUILDER_H
#define BUILDER_H

#include "error.h"
#include "model.h"
#include "tflite.h"

/** Most resource variables, and handles to them in one subgraph, that a model may have. */
#define MAX_VARIABLES 48u

/** Subgraphs that are looked at: bits of builder.initialisers. */
#define MAX_SUBGRAPHS 32u

/** A resource variable: memory behind the tensors, known by its name. */
struct variable {
    struct tflite_text name;
    uint32_t size;    /**< bytes; 0 while unknown */
    uint32_t offset;  /**< in the arena */
    bool initialised; /**< a subgraph of CALL_ONCE assigns it */
};

/** A tensor of the current subgraph that stands for a variable. */
struct handle {
    uint32_t tensor;
    struct variable *variable;
};

struct known_variables {
    struct variable list[MAX_VARIABLES];
    uint32_t count;
    struct handle handles[MAX_VARIABLES];
    uint32_t handle_count;
};

/** The block that the model object lives in: it fills up from both ends. */
struct object_memory {
    uint8_t *start; /**< NULL while measuring */
    size_t low;     /**< bytes taken from the start upwards */
    size_t high;    /**< bytes taken from the end downwards */
    size_t size;
};

/** A place in the arena that was made for something in the file: operators share them. */
struct shared_place {
    const void *owner; /**< in the file; NULL: none yet */
    uint32_t offset;   /**< in the arena */
};

/** Bytes of the arena. */
struct arena_range {
    uint32_t start;
    uint32_t end;
};

/** The NPU call built last, as long as the CPU may go on beside it; see schedule.c. */
struct busy_npu {
    bool open;
    struct arena_range ranges[2]; /**< scratch, fast scratch: all that it may write */
    uint32_t beside;              /**< operators that run meanwhile */
    struct step *step;            /**< NULL while measuring */
};

/** Tensors of the lowest indices, read once: several stages ask for the same ones. */
#define TENSORS_KEPT 12u

struct kept_tensors {
    uint32_t graph; /**< index of their subgraph */
    uint32_t known; /**< bit n: list[n] is tensor n */
    struct tflite_tensor list[TENSORS_KEPT];
};

struct builder {
    struct tflite file;
    struct ethosu_driver *driver; /**< may be NULL */
    struct ethosu_model_error *error;
    bool loading;               /**< false: measuring */
    struct ethosu_model *model; /**< holds the counts while measuring too */
    struct object_memory object;
    struct init_step **init_end; /**< where the next step of initialisation is linked to */
    uint8_t *arena;              /**< NULL while measuring */
    size_t arena_limit;          /**< bytes given */

    uint32_t graph_index;
    struct tflite_subgraph graph;         /**< the current one */
    uint32_t operator_index;              /**< the current one */
    uint32_t operator_code;               /**< its builtin code */
    struct tflite_text custom_name;       /**< its name when it is a custom operator */
    const struct operator_kernel *kernel; /**< what the runtime has for it */

    struct kept_tensors *kept;
    struct shared_place read_only;    /**< the last copy of a constant */
    struct shared_place fast_scratch; /**< the last scratch beside the arena plan */
    struct known_variables *variables;
    uint32_t initialisers; /**< bit n: CALL_ONCE names subgraph n */
    bool in_prologue;      /**< in one that the NPU runs: its steps go before all others */

    struct busy_npu busy;

    uint32_t planned_arena; /**< bytes that tensors of the main graph and planned scratch take */
    uint32_t kernel_count;  /**< operators that a kernel of kernels/ runs */
};

/** One operator that the runtime knows. */
struct operator_kernel {
    uint32_t code; /**< enum tflite_operator */
    /** Check the operator and add its steps to the plan. */
    int (*prepare)(struct builder *builder, const struct tflite_operator_call *call);
    /** What its step does; NULL when it has none. */
    int (*run)(struct ethosu_model *model, const struct step *step);
};

/** A tensor with the memory it lies in. */
struct placed {
    struct tflite_tensor tensor;
    int32_t offset;   /**< in the arena, -1: constant */
    const void *data; /**< arena addresses are NULL while measuring */
};

/** Positions in an ethos-u operator's list of inputs; the network's own ones follow. */
enum npu_input {
    NPU_INPUT_PAYLOAD,
    NPU_INPUT_READ_ONLY,
    NPU_INPUT_SCRATCH,
    NPU_INPUT_FAST_SCRATCH,
};

/** Is it an ethos-u operator, one that the NPU runs? */
bool is_npu(const struct tflite_operator_call *call);

/** Name of a builtin operator code, "?" when unknown. */
struct tflite_text operator_name(uint32_t code);

/** Prepare all operators: of the main graph, and of the subgraphs that initialise it. */
int build_graphs(struct builder *builder);

/** Enter a subgraph: its tensors have the offsets behind those of the subgraphs before it. */
int build_enter_graph(struct builder *builder, uint32_t index);

/** Read a tensor of the current subgraph, once; false: it is malformed. */
bool build_get_tensor(struct builder *builder, uint32_t index, struct tflite_tensor *tensor);

/** Find input (or output) number `index` of an operator and its memory. */
int build_place(struct builder *builder, const struct fb_vector *list, uint32_t index,
                struct placed *placed);

/** Find a tensor of the current subgraph and its memory. */
int build_place_tensor(struct builder *builder, uint32_t tensor, struct placed *placed);

/** Let the arena reach up to `end` bytes. */
int build_grow_arena(struct builder *builder, uint64_t end);

/** Can the NPU use the arena given? */
int build_check_arena(struct builder *builder, const struct ethosu_model_memory *memory,
                      const struct ethosu_model_source *source);

/** Take arena bytes behind all tensors, aligned to ETHOSU_MODEL_ALIGNMENT. */
int build_reserve(struct builder *builder, uint32_t size, uint32_t *offset);

/** Address of an arena offset; NULL while measuring. */
void *build_address(const struct builder *builder, uint32_t offset);

/**
 * Make a constant readable by the NPU: where it lies when possible, else a copy.
 *
 * @param last  the last copy made: shared by those who ask for the same constant
 */
int build_visible(struct builder *builder, struct shared_place *last, const void *data,
                  uint32_t size, const void **visible);

/** Add a step to the inference, or to the initialisation while in one of its subgraphs. */
int build_step(struct builder *builder, const struct step *step);

/** Add a step to the initialisation. */
int build_init_step(struct builder *builder, const struct step *step);

/** Add the step of the current operator: a copy into the arena. */
int build_copy(struct builder *builder, uint32_t offset, const void *source, uint32_t size);

/** Add a step to the initialisation: the same byte over and over. */
int build_fill(struct builder *builder, uint32_t offset, uint32_t size, uint8_t value);

/** Take bytes from the start of the object; *memory is NULL while measuring. */
int build_object_front(struct builder *builder, size_t size, void **memory);

/** Take bytes from the end of the object, aligned to 8; *memory is NULL while measuring. */
int build_object_back(struct builder *builder, size_t size, void **memory);

/** Refuse the current operator: "operator 3 (NAME) of subgraph 0: why". */
int build_refuse(struct builder *builder, int status, const char *why);

#ifdef ETHOSU_MESSAGES_TERSE
#define build_refuse(builder, status, why) error_set((builder)->error, status, "%s", why)
#endif

/** Prepare an ethos-u operator: an NPU call. */
int prepare_npu(struct builder *builder, const struct tflite_operator_call *call);

/** Prepare the operators of resource variables. */
int prepare_var_handle(struct builder *builder, const struct tflite_operator_call *call);
int prepare_read_variable(struct builder *builder, const struct tflite_operator_call *call);
int prepare_assign_variable(struct builder *builder, const struct tflite_operator_call *call);

/** Before an operator adds its steps: may it run beside the NPU, or must the NPU end first? */
int schedule_operator(struct builder *builder, const struct tflite_operator_call *call);

/** An NPU call's step has been added (NULL while measuring): the CPU may go on beside it. */
void schedule_npu(struct builder *builder, struct step *step);

/** No more operators: let the NPU end. */
int schedule_end(struct builder *builder);

/** Initialise the variables that no subgraph initialises: they begin as zeros. */
int build_zero_variables(struct builder *builder);

#endif
