// SPDX-License-Identifier: MIT
/**
 * Runtime for models that Vela compiled for an Ethos-U NPU: TensorFlow Lite files and ExecuTorch
 * programs.
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
 * ../examples/c/main.c is a complete program. ethosu_model_measure() returns how much memory a
 * model needs; ethosu_model_create() measures and loads in one call.
 *
 * The file must not move while the model is used. If it changes, results are wrong. Even then, with
 * source.file_may_change, nothing outside the model's memory is accessed, because sizes and
 * addresses are read at load and every later read of the file is bounded. Only one
 * thread at a time may use a model. No function allocates or prints. Only ethosu_model_invoke() and
 * ethosu_model_resume(model, true) block: they call ethosu_wait().
 */
#ifndef ETHOSU_MODEL_H
#define ETHOSU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** 1: build with support for ExecuTorch programs in addition to TensorFlow Lite files. */
#ifndef ETHOSU_PTE
#if defined __has_include
#if __has_include("../../executorch/format.h")
#define ETHOSU_PTE 1
#endif
#endif
#endif
#ifndef ETHOSU_PTE
#define ETHOSU_PTE 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ethosu_driver;

/** Kinds of files. */
enum ethosu_file_kinds {
    ETHOSU_FILE_OTHER,   /**< not a supported kind */
    ETHOSU_FILE_TFLITE,  /**< a TensorFlow Lite model */
    ETHOSU_FILE_PROGRAM, /**< an ExecuTorch program */
    ETHOSU_FILE_BUNDLE,  /**< a program and test cases */
    ETHOSU_FILE_DATA,    /**< named data for programs */
};

/** A kind of file. */
struct ethosu_file_kind {
    uint8_t number;      /**< enum ethosu_file_kinds */
    char mark[5];        /**< the four characters at byte 4 */
    char suffix[8];      /**< file name extension */
    char data_suffix[5]; /**< extension of the data files next to them, or "" */
};

/** The kind of a file, by its contents. */
const struct ethosu_file_kind *ethosu_file_kind_of(const void *file, size_t size);

/** Alignment in bytes of arena, command stream and read-only data, required by the NPU. */
#define ETHOSU_MODEL_ALIGNMENT 16u

/** Maximum number of dimensions of a tensor. */
#define ETHOSU_MODEL_MAX_RANK 8u

/** Result of a call: OK, PENDING, or a negative error. */
enum ethosu_model_status {
    ETHOSU_MODEL_OK = 0,
    ETHOSU_MODEL_PENDING = 1,       /**< the NPU is running */
    ETHOSU_MODEL_BAD_FILE = -1,     /**< not a .tflite, truncated or malformed */
    ETHOSU_MODEL_NOT_COMPILED = -2, /**< a .tflite not compiled with Vela */
    ETHOSU_MODEL_UNSUPPORTED = -3,  /**< an operator or a feature this runtime lacks */
    ETHOSU_MODEL_WRONG_NPU = -4,    /**< compiled for another NPU */
    ETHOSU_MODEL_NO_MEMORY = -5,    /**< object or arena smaller than measured */
    ETHOSU_MODEL_BAD_MEMORY = -6,   /**< arena misaligned or not reachable by the NPU */
    ETHOSU_MODEL_BUSY = -7,         /**< an inference of this model is running */
    ETHOSU_MODEL_NPU_FAILED = -8,   /**< the driver reported a failure or a time-out */
    ETHOSU_MODEL_BAD_PLAN = -9,     /**< invalid memory plan, or for other kernels */
    ETHOSU_MODEL_BAD_VALUE = -10,   /**< invalid input value for a CPU operator */
    ETHOSU_MODEL_STOPPED = -11,     /**< stopped by the source's `stop` function */
    ETHOSU_MODEL_NO_NPU = -12,      /**< NPU operators, but no driver */
};

/** One NUL-terminated message with the value found, the value expected, and the location. */
struct ethosu_model_error {
    char text[192];
};

/** The model to load and the NPU to run it on. */
struct ethosu_model_source {
    const void *file; /**< not copied if aligned to 16 and readable by the NPU */
    size_t file_size; /**< bytes */
    struct ethosu_driver
        *driver;      /**< NPU to check the model against; NULL: at the first inference */
    bool skip_verify; /**< do not verify the command streams: the caller trusts them */
    /** `object` is aligned to 16 and readable by the NPU; any copies of command streams go there.
     */
    bool npu_reads_object;
    bool file_may_change; /**< copy command streams, so that exactly the checked ones run */
    /**
     * Called every few 100,000 instructions during loading and CPU operators, and between steps;
     * returns true to stop. It may shorten the driver's time-out. NULL if never.
     */
    bool (*stop)(void *argument);
    void *argument; /**< for `stop` */
    /** To load: method of an ExecuTorch program, NULL: "forward"; or signature of a .tflite, NULL:
     * the first subgraph. */
    const char *method;
    const void *data; /**< of an ExecuTorch program: its data file, or NULL */
    size_t data_size; /**< bytes */
};

/** Memory that a model needs (measure) and gets (load). */
struct ethosu_model_memory {
    void *object; /**< aligned to 8; read by the NPU only with source.npu_reads_object */
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

/** TensorFlow Lite's tensor types, numbered as in the file. */
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
    /** Order of an ExecuTorch tensor's dimensions, as indices of `shape`: {0, 2, 3, 1} is NHWC. */
    uint8_t order[ETHOSU_MODEL_MAX_RANK];
    uint32_t channels;  /**< quantised values: 0 none, 1 per tensor, else per channel */
    uint32_t axis;      /**< dimension that the channels run along */
    float scale;        /**< of channel 0; 0 if not quantised */
    int32_t zero_point; /**< of channel 0 */
    const void *data;   /**< arena, file or copy; NULL for resources */
};

/** Properties of a loaded model. */
struct ethosu_model_info {
    uint32_t inputs;
    uint32_t outputs;
    uint32_t tensors;
    uint32_t values;         /**< upper bound of tensor indices */
    uint32_t npu_calls;      /**< NPU operators per inference */
    uint32_t npu_init_calls; /**< additional ones in the first inference after load and reset */
    uint32_t cpu_steps;      /**< copies and CPU operators per inference */
    uint32_t cpu_steps_overlapped; /**< of these, run concurrently with the NPU */
    uint32_t arena_size;           /**< bytes in use, variables and copies included */
    uint32_t object_size;          /**< bytes in use */
    uint32_t scratch_size;         /**< bytes of the arena for the NPU alone, the largest call's */
    uint32_t fast_scratch_size;    /**< bytes, unless it is the scratch */
    bool keeps_state;              /**< state that reset() initialises */
    uint32_t copied_bytes;         /**< constants that the NPU cannot read in the file */
    bool copied_from_afar; /**< since it does not reach their memory; else they are misaligned */
    char npu[20];          /**< accelerator config, "ethos-u55-128" */
};

/**
 * Check a file and return how much memory it needs: sets both sizes and `keeps_data` of `memory`,
 * and both pointers to NULL.
 *
 * @param error  set on failure; may be NULL
 * @return       ETHOSU_MODEL_OK or a negative enum ethosu_model_status
 */
int ethosu_model_measure(const struct ethosu_model_source *source,
                         struct ethosu_model_memory *memory, struct ethosu_model_error *error);

/** Properties of a CPU operator, for the planner. */
struct ethosu_model_kernel {
    uint32_t operator_index; /**< in the main graph */
    uint32_t version;        /**< as stored in a plan, see plan.h */
    uint32_t scratch;        /**< bytes */
    bool in_place;           /**< the output may replace an input of the same size in place */
};

/**
 * List the CPU operators of a file, for the planner on the host.
 *
 * Each tensor of the file needs an offset, and the file a plan, which may be empty.
 *
 * @param kernels  filled in
 * @param count    in: capacity of `kernels`; out: number of CPU operators
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

/**
 * Measure and load a model. This reads the tables of a .tflite file once, the two calls read them
 * twice.
 *
 * @param place  gives memory of the measured sizes: sets both pointers, and may enlarge the sizes.
 *               It need not return; the file must stay as it is
 * @return       as ethosu_model_load()
 */
int ethosu_model_create(const struct ethosu_model_source *source,
                        void (*place)(struct ethosu_model_memory *memory, void *argument),
                        void *argument, struct ethosu_model **model,
                        struct ethosu_model_error *error);

/** Is an inference a single NPU call, so that the driver's time-out covers all of it? */
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

/** Describe a tensor of the main graph; false if the index or the tensor's scales are invalid. */
bool ethosu_model_get_tensor(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_tensor *tensor);

/** Scale and zero point of one channel of a tensor; false if not found. */
bool ethosu_model_get_channel(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                              float *scale, int32_t *zero_point);

/** A method of an ExecuTorch program, or a signature of a .tflite. */
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

/** Properties of an ExecuTorch program. */
struct ethosu_model_program {
    uint32_t method;       /**< its number */
    uint32_t planned_size; /**< arena bytes planned by the exporter */
    uint32_t quantized;    /**< values that the CPU quantises or dequantises */
    bool nchw;             /**< an input is an image with planar channels */
};

/** Describe a method or a signature by number; false if not found. */
bool ethosu_model_get_method(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_method *method);

/** Read value `index` of constant method number `method`; false if not found. */
bool ethosu_model_get_constant(const struct ethosu_model *model, uint32_t method, uint32_t index,
                               struct ethosu_model_constant *constant);

/** An operator that the CPU computes, by name, which does not end with a NUL. */
typedef void ethosu_model_operator_t(void *argument, const char *name, uint32_t length);

/**
 * Describe the loaded method; false if not an ExecuTorch program, or damaged.
 *
 * @param called    called with `argument` for each operator that an instruction calls; may be NULL
 */
bool ethosu_model_get_program(const struct ethosu_model *model,
                              struct ethosu_model_program *program, ethosu_model_operator_t *called,
                              void *argument);

/** Reset variables and state tensors to their initial values. */
void ethosu_model_reset(struct ethosu_model *model);

/**
 * Run one inference and wait for it. The driver must be reserved by the caller.
 *
 * Inputs may share memory with intermediate results and outputs: write all
 * inputs before each inference.
 *
 * A model that was stopped or failed can run again immediately. If it keeps state, it must be reset
 * first, because the state may be from an incomplete inference.
 *
 * @param driver  may be NULL for a model without NPU operators
 * @return        ETHOSU_MODEL_OK, _BUSY, _STOPPED, _BAD_VALUE, _NO_NPU, or _NPU_FAILED, see
 *                ethosu_model_explain()
 */
int ethosu_model_invoke(struct ethosu_model *model, struct ethosu_driver *driver);

/**
 * Describe a status of ethosu_model_invoke(), _start() or _resume() in one message. Call this
 * before the driver is used for anything else.
 *
 * @return  the status
 */
int ethosu_model_explain(const struct ethosu_model *model, int status,
                         struct ethosu_model_error *error);

/**
 * Start an inference and run its steps up to the first wait for the NPU.
 *
 * @return  ETHOSU_MODEL_PENDING: call ethosu_model_resume();
 *          ETHOSU_MODEL_OK: the model has no NPU operators; else as invoke
 */
int ethosu_model_start(struct ethosu_model *model, struct ethosu_driver *driver);

/**
 * Continue an inference: check that the NPU has finished, run the next steps.
 *
 * @param block  wait for the NPU, else return PENDING while it is running
 */
int ethosu_model_resume(struct ethosu_model *model, bool block);

/**
 * Name of the operator at which the NPU stopped, if the file has a table of operators
 * (`ethosu compile` adds it). A real NPU prefetches commands, so the operator before
 * may be the one that failed.
 *
 * @param offset  ethosu_ext_last_error(driver)->qread of the inference that failed
 * @param length  set to the name's length
 * @return        in the file, not NUL-terminated; NULL if unknown or before the first run
 */
const char *ethosu_model_operator_at(const struct ethosu_model *model, uint32_t offset,
                                     uint32_t *length);

/**
 * Write "SENTENCE; operator NAME", without control characters: a file may come from anywhere.
 *
 * @param offset  as above
 * @return        false when the operator is not known: nothing is written
 */
bool ethosu_model_name_operator(const struct ethosu_model *model, uint32_t offset,
                                const char *message, struct ethosu_model_error *error);

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
