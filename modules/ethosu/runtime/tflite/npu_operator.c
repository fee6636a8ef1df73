// SPDX-License-Identifier: MIT
/**
 * Converts Vela's ethos-u operator to one call of the driver.
 *
 * Its inputs are, in this order: command stream, read-only data (weights),
 * scratch, fast scratch, then the network's inputs. The command stream
 * addresses the network's inputs as parts of scratch.
 */
#include "driver/base/ethosu_build.h"
#include "runtime/build/npu_call.h"
#include "runtime/plan/schedule.h"
#include "runtime/tflite/tflite_format.h"

#include <string.h>

/** Positions in the driver's list of base pointers. */
enum { BASE_READ_ONLY, BASE_SCRATCH, BASE_FAST_SCRATCH };

/** COP2: offset of the addressing mode of inputs and outputs, and its value for own regions. */
enum { COP2_ADDRESSING = 48, COP2_OWN_REGIONS = 2 };

static int check_payload(struct builder *builder, const struct operand *operand)
{
    const uint8_t *data = operand->tensor.data;
    if (data == NULL) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "command stream is not constant");
    }
    if (operand->tensor.size > COP2_ADDRESSING && data[COP2_ADDRESSING] == COP2_OWN_REGIONS &&
        memcmp(data, "COP2", 4) == 0) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED,
                            "compiled with --separate-io-regions: compile without it");
    }
    struct ethosu_ext_payload payload;
    bool driver_checks = builder->loading && builder->driver != NULL;
    return driver_checks ? ETHOSU_MODEL_OK
                         : npu_parse_payload(builder, data, operand->tensor.size, &payload);
}

static int place_read_only(struct builder *builder, const struct tflite_operator_call *operation,
                           struct npu_call *call)
{
    struct tflite_tensor tensor;
    uint32_t index = fb_u32_at(&builder->file.fb, &operation->inputs, NPU_INPUT_READ_ONLY);
    if (!build_get_tensor(builder, index, &tensor)) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "read-only data is malformed");
    }
    if (tensor.data == NULL) {
        npu_call_set(call, BASE_READ_ONLY, NULL, 0); // a network without weights
        return ETHOSU_MODEL_OK;
    }
    const void *data;
    TRY(build_visible(builder, &builder->read_only, tensor.data, tensor.size, &data));
    npu_call_set(call, BASE_READ_ONLY, data, tensor.size);
    return ETHOSU_MODEL_OK;
}

/** Reserve memory after the plan for fast scratch, once for operators that share it. */
static int reserve_fast_scratch(struct builder *builder, struct operand *fast)
{
    struct shared_block *last = &builder->fast_scratch;
    const void *owner = builder->file.fb.data + fast->tensor.table;
    if (last->owner != owner) {
        TRY(build_reserve_lines(builder, fast->tensor.size, &last->offset));
        last->owner = owner;
    }
    fast->offset = (int32_t)last->offset;
    return build_address(builder, last->offset, fast->tensor.size, &fast->data);
}

/**
 * Do the commands write fast scratch? Vela's releases up to 4.5 add a tensor for it, as large as
 * the scratch, also in memory modes in which the commands use none.
 */
static int find_use_of_fast_scratch(struct builder *builder, const struct fb_vector *inputs,
                                    bool *uses)
{
    struct operand operand;
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault;
    struct ethosu_ext_writes writes;
    size_t sizes[NPU_BASES];
    memset(sizes, 0xFF, sizeof sizes);
    TRY(build_find_operand(builder, inputs, NPU_INPUT_PAYLOAD, &operand));
    TRY(build_work(builder, operand.tensor.size / 4));
    TRY(npu_parse_payload(builder, operand.data, operand.tensor.size, &payload));
    // Commands that the verifier rejects, which only --no-verify runs, may use it.
    *uses = !payload.has_config ||
            ethosu_ext_verify(payload.stream, payload.stream_bytes, payload.config, sizes,
                              NPU_BASES, &writes, &fault) != 0 ||
            writes.end[BASE_FAST_SCRATCH] != 0;
    return ETHOSU_MODEL_OK;
}

/**
 * Find fast scratch: the scratch itself, memory supplied by the driver, or memory after the plan. A
 * network that needs none still has the tensor, with 0 bytes or with those of the scratch.
 */
static int find_fast_scratch(struct builder *builder, const struct fb_vector *inputs,
                             const struct operand *scratch, struct operand *fast)
{
    uint32_t index = builder->fast_tensor;
    bool apart = index != TFLITE_NO_TENSOR && inputs->count > NPU_INPUT_FAST_SCRATCH &&
                 index == fb_u32_at(&builder->file.fb, inputs, NPU_INPUT_FAST_SCRATCH) &&
                 build_get_tensor(builder, index, &fast->tensor) && fast->tensor.data == NULL;
    if (!apart) {
        return build_find_operand(builder, inputs, NPU_INPUT_FAST_SCRATCH, fast);
    }
    fast->offset = 0;
    fast->data = NULL;
    if (fast->tensor.size == 0 || npu_has_fast_memory(builder)) {
        return ETHOSU_MODEL_OK;
    }
    bool uses = true;
    // A size of its own was planned, so that it is used.
    if (ETHOSU_VERIFY && fast->tensor.size == scratch->tensor.size) {
        TRY(find_use_of_fast_scratch(builder, inputs, &uses));
    }
    if (!uses) {
        *fast = *scratch;
        return ETHOSU_MODEL_OK;
    }
    return reserve_fast_scratch(builder, fast);
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
    TRY(find_fast_scratch(builder, inputs, &scratch, &fast));
    if (scratch.offset < 0 || fast.offset < 0) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "scratch is constant");
    }
    npu_call_set(call, BASE_SCRATCH, scratch.data, scratch.tensor.size);
    npu_call_set(call, BASE_FAST_SCRATCH, fast.data, fast.tensor.size);
    set_npu_range(builder, 0, &scratch);
    // The driver's memory for fast scratch is not in the arena.
    set_npu_range(builder, 1, npu_has_fast_memory(builder) ? &scratch : &fast);
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

int prepare_npu(struct builder *builder, const struct tflite_operator_call *operation)
{
    struct npu_call_counted counted;
    struct npu_call *call;
    if (builder->graph_index != builder->main_graph && !builder->in_prologue) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED,
                            "variables can't be initialised by both the NPU and the CPU");
    }
    TRY(npu_call_new(builder, NPU_BASES, &counted, &call));
    TRY(place_payload(builder, operation, call));
    TRY(place_read_only(builder, operation, call));
    TRY(place_scratch(builder, operation, call));
    TRY(npu_call_add(builder, call));
    if (!builder->in_prologue) {
        struct ethosu_model *model = builder->model;
        schedule_npu(builder, builder->loading ? &model->steps[model->step_count - 1] : NULL);
    }
    return ETHOSU_MODEL_OK;
}
