// SPDX-License-Identifier: MIT
/** Shared by the stages that convert an ExecuTorch program to steps. */
#ifndef PROGRAM_BUILDER_H
#define PROGRAM_BUILDER_H

#include "runtime/build/builder.h"
#include "executorch/file/program.h"
#include "executorch/file/vela_binary.h"

/** Regions of a command stream: weights, scratch, fast scratch, and separate inputs and outputs. */
enum program_region {
    REGION_WEIGHTS,
    REGION_SCRATCH,
    REGION_FAST_SCRATCH,
    REGION_INPUTS,
    REGION_OUTPUTS,
    REGIONS /**< number of regions */
};

/** Maximum number of tensors in the memory of a delegate. */
#define PROGRAM_MAX_IN_PLACE 32u

/**
 * A tensor that may be placed where a delegate reads or writes it, to avoid a copy, and its uses in
 * the program. Instructions are counted from 1; 0 is the program's caller.
 */
struct in_place {
    uint32_t value;
    uint32_t buffer;   /**< planned buffer of the tensor */
    uint32_t start;    /**< its offset there */
    uint32_t size;     /**< bytes */
    uint32_t call;     /**< the delegate's instruction */
    uint32_t argument; /**< of the delegate */
    uint32_t region;   /**< of the delegate */
    uint32_t offset;   /**< in the region */
    bool is_output;    /**< of the delegate */
    bool possible;
    uint32_t before;  /**< the previous other delegate, or 0 */
    uint32_t after;   /**< the next other delegate, or NEVER */
    uint32_t written; /**< last instruction that writes it, or NEVER */
    uint32_t read;    /**< last instruction that reads it */
};

#define NEVER UINT32_MAX

/** A delegate's call: its data and its arguments (inputs, then outputs). */
struct delegate_call {
    struct vela_binary binary;
    struct fb_vector arguments;
    uint32_t instruction;
};

/** Maximum number of jumps over one instruction. */
#define PROGRAM_MAX_JUMPS 16u

/** A jump whose target is not built yet. */
struct open_jump {
    uint32_t step;        /**< its number */
    uint32_t destination; /**< an instruction */
};

/** Maximum numbers of methods, and of inputs and outputs: describing one walks through all. */
#define PROGRAM_MAX_METHODS 256u
#define PROGRAM_MAX_IO 1024u

/** Delegates whose number of inputs is cached. */
#define PROGRAM_DELEGATES 4u

/** A program being built. */
struct program_builder {
    uint32_t region_sizes[REGIONS]; /**< bytes, shared by all delegates */
    uint32_t in_place_count;
    uint32_t last_delegate; /**< instruction + 1 */
    uint32_t jump_count;
    /** Numbers of inputs of some instructions' delegates. */
    struct {
        uint32_t instruction; /**< + 1, or 0 */
        uint32_t inputs;
    } sizes[PROGRAM_DELEGATES];
    bool keeps_state; /**< it reads a planned tensor before writing it */
    // Members before this one are initialised to 0.
    struct delegate_call opened; /**< the last one; several stages use it */
    struct builder *builder;
    uint32_t instruction;                  /**< the current one */
    bool explicit_nhwc;                    /**< its images have sizes N, H, W, C */
    struct program_bytes data_file;        /**< passed along with the program */
    uint32_t buffers[PROGRAM_MAX_BUFFERS]; /**< arena offsets of the planned buffers */
    uint32_t regions[REGIONS];             /**< arena offsets of the regions */
    struct program program;
    struct open_jump jumps[PROGRAM_MAX_JUMPS];
    struct in_place in_place[PROGRAM_MAX_IN_PLACE];
};

/** A tensor argument of a call, with its memory. */
struct program_operand {
    uint32_t value;
    struct program_tensor tensor;
    uint32_t offset; /**< in the arena, unless constant */
    void *data;      /**< NULL while measuring, unless constant */
};

/** Reject the program because of the current instruction: "instruction 4 (NAME): why". */
int program_refuse(struct program_builder *program, int status, const char *why);

/** The same, for the format. */
int program_refuse_named(struct builder *builder, int status, const char *why);

/** Reject a program that is malformed or truncated. */
int program_refuse_damage(struct program_builder *program);

/** Read a value that must be a tensor; it stays valid as for program_get_tensor(). */
int program_tensor(struct program_builder *program, uint32_t value,
                   const struct program_tensor **tensor);

/** The same, and find its memory. */
int program_operand(struct program_builder *program, uint32_t value,
                    struct program_operand *operand);

/** Find the place of a planned tensor. */
int program_locate(struct program_builder *program, uint32_t value,
                   const struct program_tensor *tensor, uint32_t *offset, void **address);

/** Copy the bytes of a tensor to one of the same size, unless both are at the same place. */
int program_copy(struct program_builder *program, const struct program_operand *from,
                 const struct program_operand *to);

/** Read the data of the delegate that an instruction calls into `opened`. */
int delegate_open(struct program_builder *program, uint32_t instruction,
                  const struct program_instruction *call);

/** Analyse the use of tensors: decide which are used in place, and find state. */
int tensor_usage_read(struct program_builder *program);

/** Check a delegate's inputs and outputs, reserve its regions, and record candidates for use in
 * place. */
int delegate_measure(struct program_builder *program, uint32_t instruction,
                     const struct program_instruction *call);

/** Add the steps of a delegate's call. */
int delegate_build(struct program_builder *program, uint32_t instruction,
                   const struct program_instruction *call);

/** Add the step of a move or jump instruction. */
int control_move(struct program_builder *program, const struct program_instruction *call);
int control_jump(struct program_builder *program, const struct program_instruction *call);

/** Resolve jumps to an instruction. Call before building each one, and at the end. */
void control_resolve_jumps(struct program_builder *program, uint32_t instruction);

/** Add the steps of an operator's call. */
int program_operator(struct program_builder *program, struct program_instruction *call);

/**
 * Number of arguments that an operator writes, at the end of its list: scratch, then the
 * result, which is listed twice. 0 if the operator is not supported.
 */
uint32_t program_written(struct program_builder *program, struct program_instruction *call);

const void *program_get_metadata(const struct ethosu_model *model, const char *name,
                                 uint32_t *size);
extern const struct method_facts program_methods;

/** Implements ethosu_model_get_method(). */
bool program_get_method(const struct ethosu_model *model, uint32_t index,
                        struct ethosu_model_method *method);

/** Reopen a loaded model's program. The file may have changed; each read is bounded. */
bool program_open_again(const struct ethosu_model *model, struct program *program);

/** Why a value is not a usable tensor: the end of an error message. */
const char *program_tensor_problem(enum program_tensor_fault fault);

/** The operator that an instruction calls, and its arguments; size 0 if it calls none. */
struct program_bytes program_called(struct program *program, uint32_t instruction,
                                    struct fb_vector *arguments);

/** Does the text end with `ending`? */
bool program_ends_with(struct program_bytes text, const char *ending);

#endif
