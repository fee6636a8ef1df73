// SPDX-License-Identifier: MIT
/**
 * The ethos-u operator, which Vela makes: it becomes one call of the driver.
 *
 * Its inputs are, in this order: command stream, read-only data (weights),
 * scratch, fast scratch, then the network's inputs. The command stream
 * addresses the network's inputs as parts of scratch.
 */
#include "builder.h"

#include <string.h>

/** Positions in the driver's list of base pointers. */
enum { BASE_READ_ONLY, BASE_SCRATCH, BASE_FAST_SCRATCH };

/** Product and MACs of a CONFIG word: what a command stream is made for. */
#define CONFIG_IDENTITY 0xF000000Fu

/** COP2: offset of the word that says how inputs and outputs are addressed, and its value. */
enum { COP2_ADDRESSING = 48, COP2_OWN_REGIONS = 2 };

static int refuse_config(struct builder *builder, uint32_t config)
{
    char model_name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    char npu_name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    ethosu_ext_config_name(config, model_name);
    ethosu_ext_config_name(ethosu_ext_config(builder->driver), npu_name);
    return error_set(builder->error, ETHOSU_MODEL_WRONG_NPU,
                     "model was compiled for %s, the NPU is %s; "
                     "run: ethosu compile MODEL.tflite --npu %s",
                     model_name, npu_name, npu_name);
}

/** Refuse with the driver's sentence. */
static int refuse_fault(struct builder *builder, int status, const struct ethosu_ext_fault *fault)
{
    char sentence[128];
    ethosu_ext_describe(fault, sentence, sizeof sentence);
    return (build_refuse)(builder, status, sentence); // in terse builds the fault's numbers
}

/** Check the payload as the driver will when the model is loaded. */
static int parse_payload(struct builder *builder, const struct operand *operand)
{
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault;
    if (ethosu_ext_parse_payload(operand->tensor.data, operand->tensor.size, &payload, &fault) !=
        0) {
        return refuse_fault(builder, ETHOSU_MODEL_BAD_FILE, &fault);
    }
    bool wrong = builder->driver != NULL && payload.has_config &&
                 ((payload.config ^ ethosu_ext_config(builder->driver)) & CONFIG_IDENTITY) != 0;
    return wrong ? refuse_config(builder, payload.config) : ETHOSU_MODEL_OK;
}

static int check_payload(struct builder *builder, const struct operand *operand)
{
    const uint8_t *data = operand->tensor.data;
    if (data == NULL) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "its command stream is not constant");
    }
    if (operand->tensor.size > COP2_ADDRESSING && memcmp(data, "COP2", 4) == 0 &&
        data[COP2_ADDRESSING] == COP2_OWN_REGIONS) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED,
                            "compiled with --separate-io-regions: compile it without");
    }
    bool driver_checks = builder->loading && builder->driver != NULL;
    return driver_checks ? ETHOSU_MODEL_OK : parse_payload(builder, operand);
}

static void set_base(struct npu_call *call, uint32_t index, const void *data, uint32_t size)
{
    // Nothing is written through a pointer to constants: the NPU only reads them.
    call->base[index] = (void *)(uintptr_t)data;
    call->size[index] = size;
}

static int place_read_only(struct builder *builder, const struct tflite_operator_call *operation,
                           struct npu_call *call)
{
    struct tflite_tensor tensor;
    uint32_t index = fb_u32_at(&builder->file.fb, &operation->inputs, NPU_INPUT_READ_ONLY);
    if (!build_get_tensor(builder, index, &tensor)) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "its read-only data is malformed");
    }
    if (tensor.data == NULL) {
        return ETHOSU_MODEL_OK; // a network without weights
    }
    const void *data;
    TRY(build_visible(builder, &builder->read_only, tensor.data, tensor.size, &data));
    set_base(call, BASE_READ_ONLY, data, tensor.size);
    return ETHOSU_MODEL_OK;
}

/** Reserve memory for fast scratch that is another tensor than scratch: Vela planned it separately.
 */
static int reserve_fast_scratch(struct builder *builder, struct operand *fast)
{
    struct shared_block *last = &builder->fast_scratch;
    const void *owner = builder->file.fb.data + fast->tensor.table.position;
    if (last->owner != owner) {
        TRY(build_reserve_lines(builder, fast->tensor.size, &last->offset));
        last->owner = owner;
    }
    fast->offset = (int32_t)last->offset;
    fast->data = build_address(builder, last->offset);
    return ETHOSU_MODEL_OK;
}

/** Find fast scratch; a network that needs none still has the tensor, of 0 bytes. */
static int find_fast_scratch(struct builder *builder, const struct fb_vector *inputs,
                             struct operand *fast)
{
    uint32_t index = fb_u32_at(&builder->file.fb, inputs, NPU_INPUT_FAST_SCRATCH);
    bool read =
        inputs->count > NPU_INPUT_FAST_SCRATCH && build_get_tensor(builder, index, &fast->tensor);
    if (read && fast->tensor.data == NULL && fast->tensor.size == 0) {
        fast->offset = 0;
        fast->data = build_address(builder, 0);
        return ETHOSU_MODEL_OK;
    }
    return build_find_operand(builder, inputs, NPU_INPUT_FAST_SCRATCH, fast);
}

/** Only the NPU may use this memory while the call runs. */
static void set_npu_range(struct builder *builder, uint32_t index, const struct operand *operand)
{
    uint32_t start = (uint32_t)operand->offset;
    builder->overlap.ranges[index] = (struct arena_range){start, start + operand->tensor.size};
}

static int place_scratch(struct builder *builder, const struct tflite_operator_call *operation,
                         struct npu_call *call)
{
    struct operand scratch;
    struct operand fast;
    const struct fb_vector *inputs = &operation->inputs;
    TRY(build_find_operand(builder, inputs, NPU_INPUT_SCRATCH, &scratch));
    TRY(find_fast_scratch(builder, inputs, &fast));
    if (scratch.offset < 0 || fast.offset < 0) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "its scratch is constant");
    }
    if (fb_u32_at(&builder->file.fb, inputs, NPU_INPUT_SCRATCH) !=
        fb_u32_at(&builder->file.fb, inputs, NPU_INPUT_FAST_SCRATCH)) {
        TRY(reserve_fast_scratch(builder, &fast));
    }
    set_base(call, BASE_SCRATCH, scratch.data, scratch.tensor.size);
    set_base(call, BASE_FAST_SCRATCH, fast.data, fast.tensor.size);
    set_npu_range(builder, 0, &scratch);
    set_npu_range(builder, 1, &fast);
    return ETHOSU_MODEL_OK;
}

static int place_payload(struct builder *builder, const struct tflite_operator_call *operation,
                         struct npu_call *call)
{
    struct operand payload;
    TRY(build_find_operand(builder, &operation->inputs, NPU_INPUT_PAYLOAD, &payload));
    TRY(build_work(builder, payload.tensor.size / 4)); // each word is checked
    TRY(check_payload(builder, &payload));
    TRY(build_payload(builder, payload.data, payload.tensor.size, &call->payload));
    call->payload_size = payload.tensor.size;
    return ETHOSU_MODEL_OK;
}

/** Let the driver check the call as far as it can without running it. */
static int check_call(struct builder *builder, struct npu_call *call)
{
    struct ethosu_driver *driver = builder->driver;
    if (driver == NULL || npu_call_prepare(builder->model, call, driver) == 0) {
        return ETHOSU_MODEL_OK;
    }
    const struct ethosu_ext_fault *fault = ethosu_ext_last_error(driver);
    if (fault->code == ETHOSU_EXT_E_CONFIG_MISMATCH) {
        return refuse_config(builder, (uint32_t)fault->found);
    }
    bool memory = ethosu_ext_errno(fault->code) == ETHOSU_EXT_EFAULT;
    return refuse_fault(builder, memory ? ETHOSU_MODEL_BAD_MEMORY : ETHOSU_MODEL_BAD_FILE, fault);
}

/** Find the call's memory, let the driver check it, and add its step. */
static int add_call(struct builder *builder, const struct tflite_operator_call *operation,
                    struct npu_call *call)
{
    struct ethosu_model *model = builder->model;
    call->program.owner = NULL;
    set_base(call, BASE_READ_ONLY, NULL, 0);
    TRY(place_payload(builder, operation, call));
    TRY(place_read_only(builder, operation, call));
    TRY(place_scratch(builder, operation, call));
    if (builder->loading) {
        model->first_call = model->first_call == NULL ? call : model->first_call;
        TRY(check_call(builder, call));
    }
    struct step step = {.run = builder->kernel->run, .npu = call};
    TRY(build_step(builder, &step));
    if (builder->in_prologue) {
        model->npu_init_calls++;
    } else {
        model->npu_calls++;
        schedule_npu(builder, builder->loading ? &model->steps[model->step_count - 1] : NULL);
    }
    return ETHOSU_MODEL_OK;
}

int prepare_npu(struct builder *builder, const struct tflite_operator_call *operation)
{
    if (builder->graph_index != 0 && !builder->in_prologue) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED,
                            "variables can't be initialised by both the NPU and the CPU");
    }
    struct npu_call counted; // while measuring
    void *memory;
    TRY(build_object_back(builder, NPU_CALL_SIZE, &memory));
    return add_call(builder, operation, memory == NULL ? &counted : memory);
}
