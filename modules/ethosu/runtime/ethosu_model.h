// SPDX-License-Identifier: MIT
/**
 * Runtime for models that Vela compiled for an Ethos-U NPU: TensorFlow Lite files (`.tflite`) and
 * ExecuTorch programs (`.pte`).
 *
 * Loading reads the `.tflite` in place and makes a list of steps: NPU calls,
 * copies, CPU operators. An inference runs these steps. The runtime allocates
 * nothing: a model is loaded, in one pass, into two blocks of the caller's memory.
 *
 *     ethosu_init(&npu, registers, NULL, 0, 1, 1);    // 0, or ethosu_ext_last_error(&npu)
 *     // its interrupt calls ethosu_irq_handler(&npu)
 *     struct ethosu_driver *driver = ethosu_ext_reserve(NULL, 1000, &fault);
 *     struct ethosu_model_source source = {.file = file, .file_size = file_size, .driver = driver};
 *     struct ethosu_model_memory memory = {object, sizeof object, arena, sizeof arena};
 *     int status = ethosu_model_load(&source, &memory, &model, &error); // 0, or error.text
 *     memcpy(ethosu_model_inputs(model)[0].data, ...);
 *     status = ethosu_model_invoke(model, driver);    // 0, or ethosu_model_explain()
 *
 * ../examples/c/main.c is a whole program. ethosu_model_measure() tells how much memory a model
 * needs.
 *
 * The file must not move while the model is used. If it changes, results are wrong; with
 * source.file_may_change nothing outside of the model's memory is accessed even then: sizes and
 * addresses are read when the model is loaded, each later look at the file is bounded. Only one
 * thread at a time may use a model. No function allocates or prints. Only ethosu_model_invoke() and
 * ethosu_model_resume(model, true) block: they call ethosu_wait().
 */
#ifndef ETHOSU_MODEL_H
#define ETHOSU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One: build with ExecuTorch programs (.pte) besides TensorFlow Lite's files. */
#ifndef ETHOSU_PTE
#define ETHOSU_PTE 1
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ethosu_driver;

/** Alignment in bytes of arena, command stream and read-only data: what the NPU asks for. */
#define ETHOSU_MODEL_ALIGNMENT 16u

/** Most dimensions that a tensor may have. */
#define ETHOSU_MODEL_MAX_RANK 8u

/** Result of a call: OK, PENDING, or a negative reason. */
enum ethosu_model_status {
    ETHOSU_MODEL_OK = 0,
    ETHOSU_MODEL_PENDING = 1,       /**< the NPU is running */
    ETHOSU_MODEL_BAD_FILE = -1,     /**< not a .tflite, truncated or malformed */
    ETHOSU_MODEL_NOT_COMPILED = -2, /**< a .tflite that never went through Vela */
    ETHOSU_MODEL_UNSUPPORTED = -3,  /**< an operator or a feature this runtime lacks */
    ETHOSU_MODEL_WRONG_NPU = -4,    /**< compiled for another NPU */
    ETHOSU_MODEL_NO_MEMORY = -5,    /**< object or arena smaller than measured */
    ETHOSU_MODEL_BAD_MEMORY = -6,   /**< arena misaligned or not reachable by the NPU */
    ETHOSU_MODEL_BUSY = -7,         /**< an inference of this model is running */
    ETHOSU_MODEL_NPU_FAILED = -8,   /**< the driver reported a failure or a time-out */
    ETHOSU_MODEL_BAD_PLAN = -9,     /**< its memory plan is wrong, or made for other kernels */
    ETHOSU_MODEL_BAD_VALUE = -10,   /**< an input of a CPU operator has a value it can't use */
    ETHOSU_MODEL_STOPPED = -11,     /**< the source's function `stop` said so */
    ETHOSU_MODEL_NO_NPU = -12,      /**< an inference of NPU operators, without a driver */
};

/** One sentence, NUL-terminated: what was found, what was expected, and where. */
struct ethosu_model_error {
    char text[192];
};

/** The model to load and the NPU to run it on. */
struct ethosu_model_source {
    const void *file; /**< the .tflite; aligned to 16 and readable by the NPU it needs no copies */
    size_t file_size; /**< bytes */
    struct ethosu_driver
        *driver;      /**< NPU to check the model against; NULL: at the first inference */
    bool skip_verify; /**< do not verify the command streams: the caller trusts them */
    /** The NPU can read `object`, aligned to 16: command streams are copied there, if at all. */
    bool npu_reads_object;
    bool file_may_change; /**< copy the command streams: what runs is what was checked */
    /**
     * Asked while the model is loaded, while its CPU operators run, and between steps, every few
     * 100,000 instructions: must it stop? It may shorten the driver's time-out. NULL: never.
     */
    bool (*stop)(void *argument);
    void *argument;     /**< for `stop` */
    const char *method; /**< of an ExecuTorch program, to load; NULL: "forward" */
    const void *data;   /**< of an ExecuTorch program: a .ptd with data that it names, or NULL */
    size_t data_size;   /**< bytes */
};

/** Memory that a model needs (measure) and gets (load). */
struct ethosu_model_memory {
    void *object; /**< aligned to 8; of the NPU, only if source.npu_reads_object is set */
    size_t object_size;
    void *arena; /**< tensors, variables, copies; writable by the NPU, aligned to 16 */
    size_t arena_size;
    /** Set by measure: the model keeps data in the arena between inferences (state, variables, or
     * constants that it copies there), so no other model may use this arena while it is loaded. */
    bool keeps_data;
};

/** A loaded model, in memory.object. */
struct ethosu_model;

/** Data of one input or output of the model. */
struct ethosu_model_buffer {
    void *data;      /**< in the arena */
    uint32_t size;   /**< bytes */
    uint16_t tensor; /**< index, for ethosu_model_get_tensor() */
    uint16_t type;   /**< enum ethosu_model_type */
};

/** TensorFlow Lite's tensor types, as the file numbers them. */
enum ethosu_model_type {
    ETHOSU_TYPE_FLOAT32 = 0,
    ETHOSU_TYPE_FLOAT16 = 1,
    ETHOSU_TYPE_INT32 = 2,
    ETHOSU_TYPE_UINT8 = 3,
    ETHOSU_TYPE_INT64 = 4,
    ETHOSU_TYPE_STRING = 5,
    ETHOSU_TYPE_BOOL = 6,
    ETHOSU_TYPE_INT16 = 7,
    ETHOSU_TYPE_COMPLEX64 = 8,
    ETHOSU_TYPE_INT8 = 9,
    ETHOSU_TYPE_FLOAT64 = 10,
    ETHOSU_TYPE_COMPLEX128 = 11,
    ETHOSU_TYPE_UINT64 = 12,
    ETHOSU_TYPE_RESOURCE = 13,
    ETHOSU_TYPE_VARIANT = 14,
    ETHOSU_TYPE_UINT32 = 15,
    ETHOSU_TYPE_UINT16 = 16,
};

/** Description of one tensor of the main graph. */
struct ethosu_model_tensor {
    const char *name;     /**< in the file, not NUL-terminated */
    uint32_t name_length; /**< bytes */
    uint32_t type;        /**< enum ethosu_model_type */
    uint32_t size;        /**< bytes; 0 for resources */
    uint32_t rank;
    int32_t shape[ETHOSU_MODEL_MAX_RANK];
    /** Dimensions of an ExecuTorch program's tensor as `shape` has them: {0, 2, 3, 1} is NHWC. */
    uint8_t order[ETHOSU_MODEL_MAX_RANK];
    uint32_t channels;  /**< quantised values: 0 none, 1 per tensor, else per channel */
    uint32_t axis;      /**< dimension that the channels run along */
    float scale;        /**< of channel 0; 0 when not quantised */
    int32_t zero_point; /**< of channel 0 */
    const void *data;   /**< arena, file or copy; NULL for resources */
};

/** Facts about a loaded model. */
struct ethosu_model_info {
    uint32_t inputs;
    uint32_t outputs;
    uint32_t tensors;
    uint32_t values;               /**< the indices of tensors are below this */
    uint32_t npu_calls;            /**< NPU operators per inference */
    uint32_t npu_init_calls;       /**< of the first inference after load and reset, in addition */
    uint32_t cpu_steps;            /**< copies and CPU operators per inference */
    uint32_t cpu_steps_overlapped; /**< of these, run while the NPU works */
    uint32_t arena_size;           /**< bytes in use, variables and copies included */
    uint32_t object_size;          /**< bytes in use */
    uint32_t scratch_size;         /**< bytes of the arena for the NPU alone, the largest call's */
    uint32_t fast_scratch_size;    /**< bytes, unless it is the scratch */
    bool keeps_state;              /**< reset() has something to do */
    uint32_t copied_bytes;         /**< constants that the NPU cannot read in the file */
    char npu[20];                  /**< config that it was compiled for: "ethos-u55-128" */
};

/**
 * Check a file and tell how much memory it needs: sets both sizes and `keeps_data` of `memory`,
 * and both pointers to NULL.
 *
 * @param error  may be NULL; on failure says why
 * @return       ETHOSU_MODEL_OK or a negative enum ethosu_model_status
 */
int ethosu_model_measure(const struct ethosu_model_source *source,
                         struct ethosu_model_memory *memory, struct ethosu_model_error *error);

/** What a planner must know of an operator that a CPU kernel computes. */
struct ethosu_model_kernel {
    uint32_t operator_index; /**< in the main graph */
    uint32_t version;        /**< as a plan names it; see plan.h */
    uint32_t scratch;        /**< bytes */
    bool in_place;           /**< its output may lie exactly where an input of the same size lies */
};

/**
 * List the operators of a file that CPU kernels compute, for the planner on the host.
 *
 * Each tensor of the file needs an offset, and the file a plan, which may be empty.
 *
 * @param kernels  gets them
 * @param count    room in `kernels`; then how many there are
 * @return         ETHOSU_MODEL_OK or a negative enum ethosu_model_status
 */
int ethosu_model_kernels(const struct ethosu_model_source *source,
                         struct ethosu_model_kernel *kernels, uint32_t *count,
                         struct ethosu_model_error *error);

/**
 * Load a model into the memory given, and initialise its state.
 *
 * @param model  set on success; valid until the caller reuses the memory
 * @return       ETHOSU_MODEL_OK or a negative enum ethosu_model_status
 */
int ethosu_model_load(const struct ethosu_model_source *source,
                      const struct ethosu_model_memory *memory, struct ethosu_model **model,
                      struct ethosu_model_error *error);

/** Is an inference one NPU call and nothing else? Then the driver's time-out is for all of it. */
bool ethosu_model_is_one_call(const struct ethosu_model *model);

void ethosu_model_get_info(const struct ethosu_model *model, struct ethosu_model_info *info);

/** The file that the model was loaded from. */
const void *ethosu_model_file(const struct ethosu_model *model);

/** The model's inputs, in order: fill them before each inference. */
const struct ethosu_model_buffer *ethosu_model_inputs(const struct ethosu_model *model);

/** The model's outputs, in order: valid after an inference, until the next. */
const struct ethosu_model_buffer *ethosu_model_outputs(const struct ethosu_model *model);

uint32_t ethosu_model_input_count(const struct ethosu_model *model);
uint32_t ethosu_model_output_count(const struct ethosu_model *model);

/** Describe a tensor of the main graph; false: there is no such index, or its scales contradict it.
 */
bool ethosu_model_get_tensor(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_tensor *tensor);

/** Scale and zero point of one channel of a tensor; false when there is none. */
bool ethosu_model_get_channel(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                              float *scale, int32_t *zero_point);

/** A method of an ExecuTorch program. */
struct ethosu_model_method {
    const char *name;     /**< in the file, not NUL-terminated */
    uint32_t name_length; /**< bytes */
    uint32_t constants;   /**< values that a method without instructions returns; else 0 */
};

/** Kinds of values that a constant method returns. */
enum ethosu_model_kind {
    ETHOSU_KIND_NULL,
    ETHOSU_KIND_INT,
    ETHOSU_KIND_BOOL,
    ETHOSU_KIND_DOUBLE,
    ETHOSU_KIND_TEXT,
    ETHOSU_KIND_TENSOR,
};

/** A value that a constant method returns. */
struct ethosu_model_constant {
    enum ethosu_model_kind kind;
    uint32_t type; /**< of a tensor: enum ethosu_model_type */
    union {
        int64_t integer; /**< an int or a bool */
        double real;
    };
    const void *data; /**< of a text or tensor, in the file */
    uint32_t size;    /**< bytes */
};

/** What an ExecuTorch program needs and does in each inference. */
struct ethosu_model_program {
    uint32_t method; /**< its number */
    uint32_t instructions;
    uint32_t planned_size; /**< bytes of the arena that the exporter planned */
    uint32_t quantized;    /**< values that the CPU quantises or dequantises */
    bool nchw;             /**< an input is an image whose channels do not lie side by side */
};

/** Describe a method, by its number; false: there is none, or it is no ExecuTorch program. */
bool ethosu_model_get_method(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_method *method);

/** Read value `index` of constant method number `method`; false: there is none. */
bool ethosu_model_get_constant(const struct ethosu_model *model, uint32_t method, uint32_t index,
                               struct ethosu_model_constant *constant);

/** Describe the method that was loaded; false: it is no ExecuTorch program. */
bool ethosu_model_get_program(const struct ethosu_model *model,
                              struct ethosu_model_program *program);

/** Name of the operator that instruction `index` calls, NULL: the CPU computes none there. */
const char *ethosu_model_get_operator(const struct ethosu_model *model, uint32_t index,
                                      uint32_t *length);

/** Put variables and state tensors back to their initial values. */
void ethosu_model_reset(struct ethosu_model *model);

/**
 * Run one inference and wait for it. The driver must be reserved by the caller.
 *
 * Inputs may share memory with intermediate results and outputs: write all
 * inputs before each inference.
 *
 * A model that was stopped, or that failed, can run again at once; one that keeps state has to be
 * reset before, since the state may be that of half an inference.
 *
 * @param driver  NULL: only a model without NPU operators can run
 * @return        ETHOSU_MODEL_OK, _BUSY, _STOPPED, _BAD_VALUE, _NO_NPU, or _NPU_FAILED:
 *                ethosu_model_explain() says why
 */
int ethosu_model_invoke(struct ethosu_model *model, struct ethosu_driver *driver);

/**
 * One sentence about a status of ethosu_model_invoke(), _start() or _resume(). To be called before
 * the driver is used for something else.
 *
 * @return  the status
 */
int ethosu_model_explain(const struct ethosu_model *model, int status,
                         struct ethosu_model_error *error);

/**
 * Begin an inference: run the steps until the NPU has to be waited for.
 *
 * @return  ETHOSU_MODEL_PENDING: call ethosu_model_resume();
 *          ETHOSU_MODEL_OK: the model had nothing for the NPU; else as invoke
 */
int ethosu_model_start(struct ethosu_model *model, struct ethosu_driver *driver);

/**
 * Continue an inference: check that the NPU has finished, run the next steps.
 *
 * @param block  wait for the NPU, else return PENDING while it is running
 */
int ethosu_model_resume(struct ethosu_model *model, bool block);

/**
 * Name of the operator at which the NPU stopped, if the file has a table of them
 * (`ethosu compile` adds it). A real NPU reads commands ahead: the operator before
 * may be the one that failed.
 *
 * @param offset  ethosu_ext_last_error(driver)->qread of the inference that failed
 * @param length  set to the name's bytes
 * @return        in the file, not NUL-terminated; NULL when nothing is known, as before the first
 * run
 */
const char *ethosu_model_operator_at(const struct ethosu_model *model, uint32_t offset,
                                     uint32_t *length);

/** Forget an unfinished inference. The caller must have stopped the NPU. */
void ethosu_model_forget(struct ethosu_model *model);

/** "int8", "float32", …; "?" for an unknown type. */
const char *ethosu_model_type_name(uint32_t type);

/** Bytes per element; 0 for types without a fixed size. */
uint32_t ethosu_model_type_size(uint32_t type);

#ifdef __cplusplus
}
#endif

#endif
