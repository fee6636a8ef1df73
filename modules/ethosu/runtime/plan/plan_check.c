// SPDX-License-Identifier: MIT
/** Rejects a plan in which an operator overwrites data that is still needed. */
#include "runtime/kernels/shared/kernel.h"
#include "runtime/file/checked.h"
#include "runtime/plan/live_memory.h"
#include "runtime/plan/plan_check.h"
#include "runtime/kernels/shared/plan_reader.h"

/** Times: not in this inference; after it (outputs); in the next one too (state). */
enum { NEVER = UINT32_MAX, AFTER = NEVER - 1, ALWAYS = NEVER };

/** Memory that an operator writes. */
struct written {
    struct lifetime range;
    uint32_t tensor; /**< NEVER for scratch */
    bool by_cpu;     /**< by a kernel that reads its inputs while it writes */
    bool in_place;   /**< and may write its result over an input of the same size */
};

static void note_read(struct live_memory *live, uint32_t tensor, uint32_t time)
{
    if (tensor < live->count && live->tensors[tensor].last < time) {
        live->tensors[tensor].last = time;
    }
}

/** A tensor that a kernel reads before any operator writes it is live from the start. */
static void note_unwritten(struct live_memory *live, uint32_t tensor, uint32_t time)
{
    if (tensor < live->count && live->tensors[tensor].first == NEVER) {
        live->tensors[tensor].first = time;
    }
}

static void note_written(struct live_memory *live, uint32_t tensor, uint32_t time)
{
    if (tensor < live->count && live->tensors[tensor].first > time) {
        live->tensors[tensor].first = time;
    }
}

/** State that a command stream addresses is at the offset that Vela chose. */
static void note_npu_state(struct live_memory *live, uint32_t tensor, uint32_t time)
{
    if (tensor < live->count && live->tensors[tensor].last == ALWAYS) {
        live->tensors[tensor].first = 0;
        live->tensors[tensor].last = time;
    }
}

static void note_all(struct builder *builder, struct live_memory *live,
                     const struct fb_vector *tensors, uint32_t time,
                     void (*note)(struct live_memory *, uint32_t, uint32_t))
{
    for (uint32_t i = 0; i < tensors->count; i++) {
        note(live, fb_u32_at(&builder->file.fb, tensors, i), time);
    }
}

static int find_ranges(struct builder *builder, struct live_memory *live)
{
    for (uint32_t i = 0; i < live->count; i++) {
        TRY(build_work(builder, 1));
        struct lifetime *lifetime = &live->tensors[i];
        struct tflite_tensor tensor;
        int32_t offset = tflite_get_offset(&builder->file, i);
        *lifetime = (struct lifetime){.first = NEVER};
        if (offset >= 0 && tflite_get_tensor(&builder->file, &builder->graph, i, &tensor) &&
            tensor.data == NULL) {
            lifetime->start = (uint32_t)offset;
            lifetime->end = lifetime->start + tensor.size;
            lifetime->last = tensor.variable ? ALWAYS : 0;
        }
    }
    return ETHOSU_MODEL_OK;
}

static int find_lifetimes(struct builder *builder, struct live_memory *live)
{
    TRY(find_ranges(builder, live));
    note_all(builder, live, &builder->graph.inputs, 0, note_written);
    note_all(builder, live, &builder->graph.outputs, AFTER, note_read);
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        struct tflite_operator_call call;
        TRY(build_work(builder, 1));
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            note_all(builder, live, &call.inputs, i + 1, note_read);
            if (kernel_find(&call) != NULL) {
                note_all(builder, live, &call.inputs, 0, note_unwritten);
            }
            if (call.npu) {
                note_all(builder, live, &call.inputs, AFTER, note_npu_state);
                note_all(builder, live, &call.outputs, AFTER, note_npu_state);
            }
            note_all(builder, live, &call.outputs, i + 1, note_written);
        }
    }
    return ETHOSU_MODEL_OK;
}

static bool disjoint(const struct lifetime *a, const struct lifetime *b)
{
    return a->end <= b->start || b->end <= a->start;
}

/** Does writing this memory at this time overwrite a tensor that is still needed? */
static bool overwrites(const struct written *written, const struct lifetime *lifetime,
                       uint32_t time)
{
    const struct lifetime *range = &written->range;
    if (disjoint(lifetime, range) || lifetime->first == NEVER || lifetime->first > time ||
        lifetime->last < time) {
        return false;
    }
    if (lifetime->first == time || lifetime->last == time) {
        bool same = lifetime->start == range->start && lifetime->end == range->end;
        bool allowed = written->in_place && same && lifetime->first < time;
        return written->by_cpu && !allowed;
    }
    return true;
}

/** "scratch at 0 to 48 overlaps tensor 4 at 16 to 784". */
static int refuse_overlap(struct builder *builder, const char *what, const struct lifetime *range,
                          const struct live_memory *live, uint32_t tensor)
{
    struct ethosu_model_error why;
    const struct lifetime *lifetime = &live->tensors[tensor];
    error_set(&why, 0,
              "%s at %u to %u overlaps tensor %u at %u to %u%s; run: ethosu compile MODEL.tflite",
              what, (unsigned)range->start, (unsigned)range->end, (unsigned)tensor,
              (unsigned)lifetime->start, (unsigned)lifetime->end,
              lifetime->last == ALWAYS ? ", which keeps state" : "");
    return build_refuse(builder, ETHOSU_MODEL_BAD_PLAN, why.text);
}

/** Report the overwritten tensor; the search is linear in the number of tensors. */
static int find_overwritten(struct builder *builder, const struct live_memory *live,
                            const struct written *written)
{
    uint32_t time = builder->operator_index + 1;
    TRY(build_work(builder, live->count / 8));
    for (uint32_t i = 0; i < live->count; i++) {
        if (i != written->tensor && overwrites(written, &live->tensors[i], time)) {
            return refuse_overlap(builder, written->tensor == NEVER ? "scratch" : "output",
                                  &written->range, live, i);
        }
    }
    return ETHOSU_MODEL_OK;
}

static int check_written(struct builder *builder, const struct live_memory *live,
                         const struct written *written)
{
    return live_memory_overlaps(live, written->range.start, written->range.end)
               ? find_overwritten(builder, live, written)
               : ETHOSU_MODEL_OK;
}

/** Set whether tensors of an operator are live, for those selected by `chosen`. */
static int set_all(struct builder *builder, struct live_memory *live,
                   const struct fb_vector *tensors, bool alive,
                   bool (*chosen)(const struct lifetime *lifetime, uint32_t time))
{
    for (uint32_t i = 0; i < tensors->count; i++) {
        TRY(build_work_at(builder, i));
        uint32_t tensor = fb_u32_at(&builder->file.fb, tensors, i);
        if (tensor < live->count && chosen(&live->tensors[tensor], builder->operator_index + 1)) {
            live_memory_set(live, tensor, alive);
        }
    }
    return ETHOSU_MODEL_OK;
}

static bool is_last_read(const struct lifetime *lifetime, uint32_t time)
{
    return lifetime->last == time;
}

static bool is_first_written(const struct lifetime *lifetime, uint32_t time)
{
    return lifetime->first == time && lifetime->last >= time;
}

/** Is this an input that the operator's output may replace, with the same bytes? */
static bool may_be_overwritten(const struct written *written, const struct lifetime *lifetime,
                               uint32_t time)
{
    return written->in_place && lifetime->last == time && lifetime->first < time &&
           lifetime->start == written->range.start && lifetime->end == written->range.end;
}

/** Check an output. Neither itself nor an input that it may replace counts as overwritten. */
static int check_output(struct builder *builder, struct live_memory *live,
                        const struct tflite_operator_call *call, const struct written *written)
{
    bool alive = live_memory_has(live, written->tensor);
    live_memory_set(live, written->tensor, false);
    for (uint32_t i = 0; written->in_place && i < call->inputs.count; i++) {
        uint32_t tensor = fb_u32_at(&builder->file.fb, &call->inputs, i);
        if (tensor < live->count &&
            may_be_overwritten(written, &live->tensors[tensor], builder->operator_index + 1)) {
            live_memory_set(live, tensor, false); // this operator was its last reader
        }
    }
    TRY(check_written(builder, live, written));
    live_memory_set(live, written->tensor, alive);
    return ETHOSU_MODEL_OK;
}

static int check_outputs(struct builder *builder, struct live_memory *live,
                         const struct tflite_operator_call *call, const struct kernel *kernel)
{
    bool in_place = kernel != NULL && kernel->in_place;
    if (in_place && call->outputs.count > 1) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "more than one output");
    }
    for (uint32_t i = 0; i < call->outputs.count; i++) {
        TRY(build_work_at(builder, i));
        uint32_t tensor = fb_u32_at(&builder->file.fb, &call->outputs, i);
        if (tensor >= live->count || live->tensors[tensor].end == 0) {
            continue;
        }
        struct written written = {live->tensors[tensor], tensor, kernel != NULL, in_place};
        TRY(check_output(builder, live, call, &written));
    }
    return ETHOSU_MODEL_OK;
}

/** Does a kernel that can't work in place have one tensor as input and output? */
static int check_distinct(struct builder *builder, struct live_memory *live,
                          const struct tflite_operator_call *call)
{
    uint32_t time = builder->operator_index + 1;
    for (uint32_t i = 0; i < call->inputs.count; i++) {
        uint32_t tensor = fb_u32_at(&builder->file.fb, &call->inputs, i);
        if (tensor < live->count) {
            live->tensors[tensor].reader = time;
        }
    }
    for (uint32_t i = 0; i < call->outputs.count; i++) {
        uint32_t tensor = fb_u32_at(&builder->file.fb, &call->outputs, i);
        if (tensor < live->count && live->tensors[tensor].reader == time) {
            return build_refuse(builder, ETHOSU_MODEL_BAD_FILE,
                                "one tensor is both input and output");
        }
    }
    return ETHOSU_MODEL_OK;
}

static int check_scratch(struct builder *builder, const struct live_memory *live)
{
    struct plan_scratch scratch = plan_find_scratch(builder);
    struct written written = {
        .range = {.start = scratch.offset, .end = scratch.offset + scratch.size},
        .tensor = NEVER,
        .by_cpu = true};
    return scratch.size == 0 ? ETHOSU_MODEL_OK : check_written(builder, live, &written);
}

/** A kernel writes all its outputs while it still reads its inputs. */
static int check_kernel(struct builder *builder, struct live_memory *live,
                        const struct tflite_operator_call *call, const struct kernel *kernel)
{
    if (!kernel->in_place) {
        TRY(check_distinct(builder, live, call));
    }
    TRY(set_all(builder, live, &call->outputs, true, is_first_written));
    TRY(check_outputs(builder, live, call, kernel));
    TRY(check_scratch(builder, live));
    TRY(set_all(builder, live, &call->inputs, false, is_last_read));
    TRY(set_all(builder, live, &call->outputs, false, is_last_read));
    return ETHOSU_MODEL_OK;
}

static int check_operator(struct builder *builder, struct live_memory *live,
                          const struct tflite_operator_call *call)
{
    const struct kernel *kernel = kernel_find(call);
    if (kernel != NULL) {
        return check_kernel(builder, live, call, kernel);
    }
    TRY(set_all(builder, live, &call->inputs, false, is_last_read));
    TRY(check_outputs(builder, live, call, NULL));
    TRY(set_all(builder, live, &call->outputs, true, is_first_written));
    TRY(set_all(builder, live, &call->outputs, false, is_last_read));
    return ETHOSU_MODEL_OK;
}

/** The NPU may write all of its scratch: no state of CPU operators may be there. */
static int check_npu(struct builder *builder, struct live_memory *live,
                     const struct tflite_operator_call *call)
{
    struct operand scratch;
    if (!call->npu) {
        return ETHOSU_MODEL_OK;
    }
    TRY(build_find_operand(builder, &call->inputs, NPU_INPUT_SCRATCH, &scratch));
    struct lifetime range = {.start = (uint32_t)scratch.offset,
                             .end = (uint32_t)scratch.offset + scratch.tensor.size};
    if (!live_memory_overlaps(live, range.start, range.end)) {
        return ETHOSU_MODEL_OK;
    }
    TRY(build_work(builder, live->count / 8));
    for (uint32_t i = 0; i < live->count; i++) {
        if (live_memory_has(live, i) && !disjoint(&live->tensors[i], &range)) {
            return refuse_overlap(builder, "scratch", &range, live, i);
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Call `check` for each operator. */
static int check_operators(struct builder *builder, struct live_memory *live,
                           int (*check)(struct builder *, struct live_memory *,
                                        const struct tflite_operator_call *))
{
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        struct tflite_operator_call call;
        TRY(build_work(builder, 1));
        builder->operator_index = i;
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            builder->operator_code = call.code;
            builder->custom_name = call.custom;
            TRY(check(builder, live, &call));
        }
    }
    return ETHOSU_MODEL_OK;
}

static bool keeps_state(const struct lifetime *lifetime)
{
    return lifetime->first != NEVER && lifetime->last == ALWAYS;
}

static bool is_live_at_start(const struct lifetime *lifetime)
{
    return lifetime->first == 0 && lifetime->last > 0;
}

/** Make exactly the tensors selected by `chosen` live. */
static int set_live(struct builder *builder, struct live_memory *live,
                    bool (*chosen)(const struct lifetime *lifetime))
{
    for (uint32_t i = 0; i < live->count; i++) {
        TRY(build_work(builder, 1));
        live_memory_set(live, i, chosen(&live->tensors[i]));
    }
    return ETHOSU_MODEL_OK;
}

/** Does a CPU kernel compute one of the operators? */
static int find_kernels(struct builder *builder, bool *found)
{
    const struct tflite_operator_call *call;
    *found = false;
    for (uint32_t i = 0; i < builder->graph.operators.count && !*found; i++) {
        TRY(build_work(builder, 1));
        TRY(build_get_operator(builder, i, &call));
        *found = !call->npu && kernel_find(call) != NULL;
    }
    return ETHOSU_MODEL_OK;
}

/**
 * Find memory for the table. It determines which addresses the CPU writes, so it must be in the
 * object, which no NPU writes, rather than in the arena, where another inference may be running.
 */
static int open_table(struct builder *builder, struct live_memory *live)
{
    uint32_t count = builder->graph.tensors.count;
    uint32_t size;
    void *table;
    if (!checked_mul(count, (uint32_t)LIVE_MEMORY_SIZE, &size)) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE, "%u tensors are too many",
                         (unsigned)count);
    }
    TRY(build_object_unused(builder, size, &table));
    if (table != NULL) {
        live_memory_open(live, table, count);
    }
    return ETHOSU_MODEL_OK;
}

int plan_check_overlaps(struct builder *builder)
{
    struct live_memory live;
    bool kernels;
    TRY(find_kernels(builder, &kernels));
    if (!kernels) {
        return ETHOSU_MODEL_OK; // Vela's own plan for its own operators
    }
    TRY(open_table(builder, &live));
    if (!builder->loading) {
        return ETHOSU_MODEL_OK;
    }
    TRY(find_lifetimes(builder, &live));
    TRY(live_memory_sort(builder, &live));
    TRY(set_live(builder, &live, keeps_state));
    TRY(check_operators(builder, &live, check_npu));
    TRY(set_live(builder, &live, is_live_at_start));
    TRY(check_operators(builder, &live, check_operator));
    const struct flatbuffer *fb = &builder->file.fb;
    return !fb->bad ? ETHOSU_MODEL_OK
                    : error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                                "file is malformed or truncated at byte %u of %u",
                                (unsigned)fb->bad_at, (unsigned)fb->size);
}
