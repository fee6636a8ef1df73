// SPDX-License-Identifier: MIT
/** A loaded model as the runtime keeps it: a list of steps, in one block of memory. */
#ifndef MODEL_H
#define MODEL_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "poll.h"

/** Base pointers of an NPU call: read-only data, scratch, fast scratch (regions 0, 1, 2). */
#define NPU_BASES 3u
#define NPU_FAST_SCRATCH 2
/** And those of separate inputs and outputs (regions 3, 4), which ExecuTorch programs may have. */
#define NPU_BASES_MAX 5u

struct model_format;

/** One step of an inference. */
struct step {
    /** Run the step; returns enum ethosu_model_status, PENDING when the NPU was started. */
    int (*run)(struct ethosu_model *model, const struct step *step);
    union {
        struct {
            void *destination;
            const void *source;
            uint32_t size;
        } copy;
        struct {
            void *destination;
            uint32_t size;
            uint8_t value;
        } fill;
        struct {
            const uint8_t *condition; /**< bytes; NULL: none, it always jumps */
            uint32_t size;
            uint32_t target; /**< number of a later step, or how many there are */
        } jump;
        struct npu_call *npu;
        const struct kernel_call *cpu; /**< see kernels/kernel.h */
    };
};

/** One step of initialisation. */
struct init_step {
    struct step step;
    struct init_step *next;
};

/** A base pointer of an NPU call. */
struct npu_base {
    void *data;
    size_t size; /**< bytes */
};

/** One NPU operator: what the driver needs to check it and to run it; its bases are behind it. */
struct npu_call {
    const void *payload;
    uint32_t payload_size;             /**< bytes */
    struct ethosu_ext_program program; /**< made by the driver, for one NPU; its count is known */
};

/** Bytes of a struct npu_call that are used, without its bases. */
#define NPU_CALL_SIZE(bases) (offsetof(struct npu_call, program) + ETHOSU_EXT_PROGRAM_SIZE(bases))

/** The bases of a call. */
static inline struct npu_base *npu_bases(const struct npu_call *call)
{
    return (struct npu_base *)((uintptr_t)call + NPU_CALL_SIZE(call->program.count));
}

/**
 * One block of memory: this struct, inputs, outputs, the steps of an
 * inference; and from its end downwards NPU calls and steps of initialisation.
 */
struct ethosu_model {
    const struct model_format *format; /**< of the file */
    const void *file;
    uint32_t file_size;
    uint16_t inputs;
    uint16_t outputs;
    struct step *steps; /**< of an inference */
    uint32_t step_count;
    uint32_t prologue;        /**< the first of them: with these the NPU initialises variables */
    const struct step *first; /**< of the next inference: of the prologue, or behind it */
    struct init_step *init;   /**< of ethosu_model_reset() */
    const struct npu_call *first_call; /**< NULL when there is none */
    uint32_t npu_calls;                /**< of an inference */
    bool skip_verify;
    bool npu_reads_object;
    bool file_may_change;
    uint8_t method; /**< of an ExecuTorch program: its number */
    uint8_t *arena;
    uint32_t arena_size;
    uint32_t object_size;
    uint32_t copied_bytes;
    struct poll poll;
    const struct step *next;      /**< the running step; NULL between inferences */
    struct ethosu_driver *driver; /**< of the running inference */
};

/** Inputs, then outputs. */
static inline struct ethosu_model_buffer *model_buffers(const struct ethosu_model *model)
{
    return (struct ethosu_model_buffer *)((uintptr_t)model + sizeof *model);
}

/** Let the driver check a call for this NPU; returns 0 or an enum ethosu_ext_error. */
int npu_call_prepare(const struct ethosu_model *model, struct npu_call *call,
                     struct ethosu_driver *driver);

/** Status of a step that says which step is the next one: step.jump.target. */
#define STEP_JUMPS 2

/** Functions of steps. */
int step_copy(struct ethosu_model *model, const struct step *step);
int step_fill(struct ethosu_model *model, const struct step *step);
int step_npu(struct ethosu_model *model, const struct step *step);

/** Jump unless all bytes of the condition are other than 0. */
int step_jump(struct ethosu_model *model, const struct step *step);

/** The end of the prologue: the next inference begins behind it. */
int step_initialised(struct ethosu_model *model, const struct step *step);

/** An NPU call with overlapping CPU operators: its start, and after these operators its end. */
int step_npu_start(struct ethosu_model *model, const struct step *step);
int step_npu_end(struct ethosu_model *model, const struct step *step);

/** Is it an NPU call's only step, or its start? */
static inline bool is_npu_step(const struct step *step)
{
    return step->run == step_npu || step->run == step_npu_start;
}

/** A step failed: stop the NPU if it is running. */
void stop_npu(struct ethosu_model *model);

/** Give variables and state their initial values; ETHOSU_MODEL_STOPPED: some have none. */
int run_initialisation(struct ethosu_model *model);

#endif
