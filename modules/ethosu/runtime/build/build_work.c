// SPDX-License-Identifier: MIT
/** Limits the work of loading, and rejects what causes too much. See builder.h. */
#include "runtime/build/builder.h"
#include "runtime/build/format.h"

int build_refuse_stopped(const struct builder *builder)
{
    return error_set(builder->error, ETHOSU_MODEL_STOPPED, "loading was stopped");
}

/** Take more units from the remaining budget. */
static __attribute__((noinline)) int take_work(struct builder *builder, uint32_t units)
{
    uint32_t more = units > LOAD_UNITS ? units : LOAD_UNITS;
    if (poll_now(&builder->model->poll)) {
        return build_refuse_stopped(builder);
    }
    if (more > builder->work_after && builder->program != NULL) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE,
                            "the file references its tables so often that loading would "
                            "take too long");
    }
    if (more > builder->work_after) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "operator %u of subgraph %u: the file has %u bytes, but references its "
                         "tables so often that loading would take too long",
                         (unsigned)builder->operator_index, (unsigned)builder->graph_index,
                         (unsigned)builder->model->file_size);
    }
    builder->work_after -= more;
    builder->work = more - units;
    return ETHOSU_MODEL_OK;
}

int build_work(struct builder *builder, uint32_t units)
{
    if (units > builder->work) {
        return take_work(builder, units);
    }
    builder->work -= units;
    return ETHOSU_MODEL_OK;
}

int build_counts(struct builder *builder, uint32_t inputs, uint32_t outputs,
                 struct ethosu_model_buffer **buffers)
{
    struct ethosu_model *model = builder->model;
    if (inputs > UINT16_MAX || outputs > UINT16_MAX) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE, "%u inputs and %u outputs",
                         (unsigned)inputs, (unsigned)outputs);
    }
    model->inputs = (uint16_t)inputs;
    model->outputs = (uint16_t)outputs;
    uint32_t count = inputs + outputs;
    void *memory;
    TRY(build_work(builder, count));
    TRY(build_object_front(builder, count * sizeof **buffers, &memory));
    *buffers = memory;
    if (memory != NULL) {
        model->steps = (void *)(*buffers + count);
    }
    return ETHOSU_MODEL_OK;
}

int(build_refuse)(struct builder *builder, int status, const char *why)
{
    return builder->model->format->refuse(builder, status, why);
}
