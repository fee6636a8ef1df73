// SPDX-License-Identifier: MIT
/** Internal representation of a loaded model: a list of steps, in one block of memory. */
#ifndef MODEL_H
#define MODEL_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "runtime/run/polling.h"

/** Base pointers of an NPU call: read-only data, scratch, fast scratch (regions 0, 1, 2). */
#define NPU_BASES 3u
#define NPU_FAST_SCRATCH 2
/** Including separate inputs and outputs (regions 3, 4), which ExecuTorch programs may have. */
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
            const uint8_t *condition; /**< bytes, or NULL to always jump */
            uint32_t size;
            uint32_t target; /**< number of a later step, or the number of steps */
        } jump;
        struct npu_call *npu;
        const struct kernel_call *cpu; /**< see build/kernel_call.h */
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

/** One NPU operator: input for the driver to check and run it; followed by its bases. */
struct npu_call {
    const void *payload;
    uint32_t payload_size;             /**< bytes */
    struct ethosu_ext_program program; /**< made by the driver for one NPU; its count is set */
};

/** Size in bytes of the used part of struct npu_call, without its bases. */
#define NPU_CALL_SIZE(bases) (offsetof(struct npu_call, program) + ETHOSU_EXT_PROGRAM_SIZE(bases))

/** The bases of a call. */
static inline struct npu_base *npu_bases(const struct npu_call *call)
{
    return (struct npu_base *)((uintptr_t)call + NPU_CALL_SIZE(call->program.count));
}

/**
 * One block of memory: this struct, inputs, outputs and the steps of an
 * inference, and from its end downwards NPU calls and initialisation steps.
 */
struct ethosu_model {
    const struct model_format *format; /**< of the file */
    const void *file;
    uint32_t file_size;
    uint16_t inputs;
    uint16_t outputs;
    struct step *steps; /**< of an inference */
    uint32_t step_count;
    uint32_t prologue;        /**< number of first steps, in which the NPU initialises variables */
    const struct step *first; /**< of the next inference: at or after the prologue */
    struct init_step *init;   /**< of ethosu_model_reset() */
    const struct npu_call *first_call; /**< NULL without NPU calls */
    uint32_t npu_calls;                /**< of an inference */
    bool skip_verify : 1;
    bool npu_reads_object : 1;
    bool file_may_change : 1;
    bool copied_from_afar : 1; /**< of the copied constants, some are where the NPU cannot read */
    uint8_t method;            /**< number of a program's method, or of a .tflite's subgraph */
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

/** Prepare a call for this NPU with the driver; returns 0 or an enum ethosu_ext_error. */
int npu_call_prepare(const struct ethosu_model *model, struct npu_call *call,
                     struct ethosu_driver *driver);

/** Status of a step that continues at step.jump.target. */
#define STEP_JUMPS 2

/** Functions of steps. */
int step_copy(struct ethosu_model *model, const struct step *step);
int step_fill(struct ethosu_model *model, const struct step *step);
int step_npu(struct ethosu_model *model, const struct step *step);

/** Jump if any byte of the condition is 0. */
int step_jump(struct ethosu_model *model, const struct step *step);

/** End of the prologue; the next inference starts after it. */
int step_initialised(struct ethosu_model *model, const struct step *step);

/** Start and end of an NPU call that overlaps with the CPU operators in between. */
int step_npu_start(struct ethosu_model *model, const struct step *step);
int step_npu_end(struct ethosu_model *model, const struct step *step);

/** Is it an NPU call's only step, or its start? */
static inline bool is_npu_step(const struct step *step)
{
    return step->run == step_npu || step->run == step_npu_start;
}

/** Is an inference a single NPU call? */
static inline bool model_is_one_call(const struct ethosu_model *model)
{
    return model->step_count == 1 && model->npu_calls == 1;
}

/** After a step has failed, stop the NPU if it is running. */
void stop_npu(struct ethosu_model *model);

/** Set variables and state to their initial values; ETHOSU_MODEL_STOPPED if not completed. */
int run_initialisation(struct ethosu_model *model);

#endif
