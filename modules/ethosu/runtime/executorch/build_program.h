// SPDX-License-Identifier: MIT
/** What the stages share that make steps out of an ExecuTorch program. */
#ifndef BUILD_PROGRAM_H
#define BUILD_PROGRAM_H

#include "builder.h"
#include "program.h"
#include "vela_binary.h"

/** Regions of a command stream: weights, scratch, fast scratch, and separate inputs and outputs. */
enum program_region {
    REGION_WEIGHTS,
    REGION_SCRATCH,
    REGION_FAST_SCRATCH,
    REGION_INPUTS,
    REGION_OUTPUTS,
    REGIONS /**< how many there are */
};

/** Most tensors that lie in the memory of a delegate. */
#define PROGRAM_MAX_IN_PLACE 32u

/**
 * A tensor that may lie where a delegate reads or writes it, so that nothing is copied; and how the
 * program uses it. Instructions are counted from 1: 0 is the program's caller.
 */
struct in_place {
    uint32_t value;
    uint32_t buffer;   /**< planned buffer of the tensor */
    uint32_t start;    /**< its offset there */
    uint32_t size;     /**< bytes */
    uint32_t call;     /**< the delegate's instruction */
    uint32_t argument; /**< of the delegate */
    uint32_t region;   /**< where the delegate has it */
    uint32_t offset;   /**< in the region */
    bool is_output;    /**< of the delegate */
    bool possible;
    uint32_t before;  /**< the last other delegate before it; 0: none */
    uint32_t after;   /**< the next other delegate; NEVER: none */
    uint32_t written; /**< instruction that writes it last; NEVER: none does */
    uint32_t read;    /**< instruction that reads it last */
};

#define NEVER UINT32_MAX

/** A delegate's call: its data, and its arguments: inputs, then outputs. */
struct delegate_call {
    struct vela_binary binary;
    struct fb_vector arguments;
    uint32_t instruction;
};

/** Most jumps over one instruction. */
#define PROGRAM_MAX_JUMPS 16u

/** A jump whose target is not built yet. */
struct open_jump {
    uint32_t step;        /**< its number */
    uint32_t destination; /**< an instruction */
};

/** Most methods, and most inputs and outputs: a description of an end looks at all of them. */
#define PROGRAM_MAX_METHODS 256u
#define PROGRAM_MAX_ENDS 1024u

/** Delegates whose number of inputs is remembered. */
#define PROGRAM_DELEGATES 4u

/** A program while it is built. */
struct program_builder {
    uint32_t region_sizes[REGIONS]; /**< bytes of what all delegates share */
    uint32_t in_place_count;
    uint32_t last_delegate; /**< instruction + 1 */
    uint32_t jump_count;
    /** How many inputs the delegates of some instructions have. */
    struct {
        uint32_t instruction; /**< + 1; 0: none */
        uint32_t inputs;
    } sizes[PROGRAM_DELEGATES];
    bool keeps_state; /**< it reads a planned tensor before it has written it */
    // All before this member is 0 at first.
    struct delegate_call opened; /**< the last one, which several stages ask for */
    struct builder *builder;
    uint32_t instruction;                  /**< the current one */
    bool explicit_nhwc;                    /**< its images have sizes N, H, W, C */
    struct program_bytes data_file;        /**< given besides the program */
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

/** Refuse the program because of the current instruction: "instruction 4 (NAME): why". */
int program_refuse(struct program_builder *program, int status, const char *why);

/** Read a value that must be a tensor, which stays known as program_get_tensor() says. */
int program_tensor(struct program_builder *program, uint32_t value,
                   const struct program_tensor **tensor);

/** The same, and find its memory. */
int program_operand(struct program_builder *program, uint32_t value,
                    struct program_operand *operand);

/** Copy the bytes of a tensor to another one of the same size; none where they lie at one place. */
int program_copy(struct program_builder *program, const struct program_operand *from,
                 const struct program_operand *to);

/** Read the data of a delegate that an instruction calls: into `opened`. */
int delegate_open(struct program_builder *program, uint32_t instruction,
                  const struct program_instruction *call);

/** Read how the instructions use tensors: decides what lies in place, and finds state. */
int uses_read(struct program_builder *program);

/** Check a delegate's inputs and outputs, make room for its regions, and note what could lie there.
 */
int delegate_measure(struct program_builder *program, uint32_t instruction,
                     const struct program_instruction *call);

/** Add the steps of a delegate's call. */
int delegate_build(struct program_builder *program, uint32_t instruction,
                   const struct program_instruction *call);

/** Add the step of an instruction that moves a value, or that jumps. */
int control_move(struct program_builder *program, const struct program_instruction *call);
int control_jump(struct program_builder *program, const struct program_instruction *call);

/** To call before an instruction is built, and at the end: jumps there get their target. */
void control_arrive(struct program_builder *program, uint32_t instruction);

/** Add the steps of an operator's call. */
int program_operator(struct program_builder *program, struct program_instruction *call);

/**
 * Arguments that an operator writes, at the end of its list: the result, which
 * is there twice, and scratch before it. 0: there is no such operator here.
 */
uint32_t program_written(struct program_builder *program, struct program_instruction *call);

const void *program_get_metadata(const struct ethosu_model *model, const char *name,
                                 uint32_t *size);
extern const struct method_facts program_methods;

/** Open a loaded model's program again: each read is bounded, and the file may have changed. */
bool program_open_again(const struct ethosu_model *model, struct program *program);

/** Why a value is not a tensor that can be used: ends a sentence about it. */
const char *program_tensor_problem(enum program_tensor_fault fault);

/** The operator that an instruction of a program calls, and its arguments; size 0: it calls none.
 */
struct program_bytes program_called(struct program *program, uint32_t instruction,
                                    struct fb_vector *arguments);

/** Has the text this ending? */
bool program_has_ending(struct program_bytes text, const char *ending);

#endif
