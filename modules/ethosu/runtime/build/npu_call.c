// SPDX-License-Identifier: MIT
/** Makes calls of the driver: see npu_call.h. */
#include "runtime/build/npu_call.h"

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

int npu_refuse_fault(struct builder *builder, int status, const struct ethosu_ext_fault *fault)
{
    char message[128];
    ethosu_ext_describe(fault, message, sizeof message);
    return (build_refuse)(builder, status, message); // in terse builds the fault's numbers
}

int npu_parse_payload(struct builder *builder, const void *data, uint32_t size,
                      struct ethosu_ext_payload *payload)
{
    struct ethosu_ext_fault fault;
    if (ethosu_ext_parse_payload(data, size, payload, &fault) != 0) {
        return npu_refuse_fault(builder, ETHOSU_MODEL_BAD_FILE, &fault);
    }
    bool wrong = builder->driver != NULL && payload->has_config &&
                 !ethosu_ext_config_same(payload->config, ethosu_ext_config(builder->driver));
    return wrong ? refuse_config(builder, payload->config) : ETHOSU_MODEL_OK;
}

int npu_call_new(struct builder *builder, uint32_t bases, struct npu_call_counted *counted,
                 struct npu_call **call)
{
    void *memory;
    TRY(build_object_back(builder, NPU_CALL_SIZE(bases) + bases * sizeof(struct npu_base),
                          &memory));
    *call = memory == NULL ? &counted->call : memory;
    (*call)->program.owner = NULL;
    (*call)->program.count = (uint8_t)bases;
    return ETHOSU_MODEL_OK;
}

/** Have the driver check the call as far as possible without running it. */
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
    return npu_refuse_fault(builder, memory ? ETHOSU_MODEL_BAD_MEMORY : ETHOSU_MODEL_BAD_FILE,
                            fault);
}

int npu_call_add(struct builder *builder, struct npu_call *call)
{
    struct ethosu_model *model = builder->model;
    if (builder->loading) {
        model->first_call = model->first_call == NULL ? call : model->first_call;
        TRY(check_call(builder, call));
    }
    struct step step = {.run = step_npu, .npu = call};
    TRY(build_step(builder, &step));
    model->npu_calls += !builder->in_prologue;
    return ETHOSU_MODEL_OK;
}
