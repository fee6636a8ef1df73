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

/** A tensor that lies where a delegate reads or writes it, so that nothing is copied. */
struct in_place {
    uint32_t value;
    uint32_t delegate; /**< instruction of the delegate */
    uint32_t offset;   /**< in the arena */
    uint32_t size;     /**< bytes */
    uint32_t first;    /**< instruction that writes it; 0 for inputs of the program */
    uint32_t last;     /**< instruction that reads it last */
};

/** A delegate's call: its data, and its arguments: inputs, then outputs. */
struct delegate_call {
    struct vela_binary binary;
    struct fb_vector arguments;
    uint32_t instruction;
};

/** Delegates whose number of inputs is remembered. */
#define PROGRAM_DELEGATES 4u

/** A program while it is built. */
struct program_builder {
    struct builder *builder;
    struct program program;
    uint32_t instruction;                  /**< the current one */
    struct program_bytes data_file;        /**< given besides the program */
    uint32_t buffers[PROGRAM_MAX_BUFFERS]; /**< arena offsets of the planned buffers */
    uint32_t regions[REGIONS];             /**< arena offsets of what all delegates share */
    uint32_t region_sizes[REGIONS];        /**< bytes */
    struct in_place in_place[PROGRAM_MAX_IN_PLACE];
    uint32_t in_place_count;
    struct delegate_call opened; /**< the last one, which several stages ask for */
    /** How many inputs the delegates of some instructions have. */
    struct {
        uint32_t instruction; /**< + 1; 0: none */
        uint32_t inputs;
    } sizes[PROGRAM_DELEGATES];
};

/** A tensor argument of a call, with its memory. */
struct program_operand {
    uint32_t value;
    struct program_tensor tensor;
    void *data; /**< NULL while measuring, unless constant */
};

/** Refuse the program because of the current instruction: "instruction 4 (NAME): why". */
int program_refuse(struct program_builder *program, int status, const char *why);

/** Read a value that must be a tensor, and find its memory. */
int program_operand(struct program_builder *program, uint32_t value,
                    struct program_operand *operand);

/** Read an instruction that is a delegate's call, and the delegate's data. */
int delegate_open(struct program_builder *program, uint32_t instruction,
                  const struct program_instruction *call, struct delegate_call *delegate);

/**
 * May a delegate's input or output lie in the delegate's memory, so that nothing is copied?
 *
 * @param place  value, delegate, offset and size; the rest is set if *possible is
 */
int uses_allow_in_place(struct program_builder *program, const struct program_tensor *tensor,
                        bool is_output, struct in_place *place, bool *possible);

/** Does the program read a planned tensor before it has written it? Then it keeps state there. */
int uses_find_state(struct program_builder *program, bool *found);

/** Make room for the regions of a delegate. */
int delegate_measure(struct program_builder *program, const struct delegate_call *delegate);

/** Let inputs and outputs of a delegate lie in its regions, where the program allows it. */
int delegate_place(struct program_builder *program, const struct delegate_call *delegate);

/** Add the steps of a delegate's call. */
int delegate_build(struct program_builder *program, const struct delegate_call *delegate);

/** Add the steps of an operator's call. */
int program_operator(struct program_builder *program, const struct program_instruction *call);

/**
 * Arguments that an operator writes, at the end of its list: the result, which
 * is there twice, and scratch before it. 0: there is no such operator here.
 */
uint32_t program_written(struct program_builder *program, const struct program_instruction *call);

/** Facts about a program. */
uint32_t program_count_tensors(const struct ethosu_model *model);
bool program_describe(const struct ethosu_model *model, uint32_t index,
                      struct ethosu_model_tensor *tensor);
bool program_describe_channel(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                              float *scale, int32_t *zero_point);

#endif
