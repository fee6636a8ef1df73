// SPDX-License-Identifier: MIT
/** Refuses a plan in which an operator overwrites data that is still needed. */
#include "kernels/kernel.h"
#include "plan_check.h"

/** A tensor in the arena: its bytes, and the time from its first write to its last read. */
struct lifetime {
    uint32_t start;
    uint32_t end;   /**< start + bytes; 0 when it is not in the arena */
    uint32_t first; /**< time of the first write: operator + 1; 0: before the inference */
    uint32_t last;  /**< time of the last read */
};

/** Times: not in this inference; after it (outputs); in the next one too (state). */
enum { NEVER = UINT32_MAX, AFTER = NEVER - 1, ALWAYS = NEVER };

/** The lifetimes of all tensors, by index. */
struct liveness {
    struct lifetime *tensors;
    uint32_t count;
};

/** Memory that an operator writes. */
struct written {
    struct lifetime range;
    uint32_t tensor; /**< NEVER for scratch */
    bool by_cpu;     /**< by a kernel that reads its inputs while it writes */
    bool in_place;   /**< and may write its result over an input of the same size */
};

static void note_read(struct liveness *liveness, uint32_t tensor, uint32_t time)
{
    if (tensor < liveness->count && liveness->tensors[tensor].last < time) {
        liveness->tensors[tensor].last = time;
    }
}

/** A tensor that a kernel reads and no operator has written exists from the beginning. */
static void note_unwritten(struct liveness *liveness, uint32_t tensor, uint32_t time)
{
    if (tensor < liveness->count && liveness->tensors[tensor].first == NEVER) {
        liveness->tensors[tensor].first = time;
    }
}

static void note_written(struct liveness *liveness, uint32_t tensor, uint32_t time)
{
    if (tensor < liveness->count && liveness->tensors[tensor].first > time) {
        liveness->tensors[tensor].first = time;
    }
}

/** State that a command stream addresses is at the offset that Vela chose. */
static void note_npu_state(struct liveness *liveness, uint32_t tensor, uint32_t time)
{
    if (tensor < liveness->count && liveness->tensors[tensor].last == ALWAYS) {
        liveness->tensors[tensor].first = 0;
        liveness->tensors[tensor].last = time;
    }
}

static void note_all(struct builder *builder, struct liveness *liveness,
                     const struct fb_vector *tensors, uint32_t time,
                     void (*note)(struct liveness *, uint32_t, uint32_t))
{
    for (uint32_t i = 0; i < tensors->count; i++) {
        note(liveness, fb_u32_at(&builder->file.fb, tensors, i), time);
    }
}

static void find_ranges(struct builder *builder, struct liveness *liveness)
{
    for (uint32_t i = 0; i < liveness->count; i++) {
        struct lifetime *lifetime = &liveness->tensors[i];
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
}

static void find_lifetimes(struct builder *builder, struct liveness *liveness)
{
    find_ranges(builder, liveness);
    note_all(builder, liveness, &builder->graph.inputs, 0, note_written);
    note_all(builder, liveness, &builder->graph.outputs, AFTER, note_read);
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        struct tflite_operator_call call;
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            note_all(builder, liveness, &call.inputs, i + 1, note_read);
            if (kernel_find(&call) != NULL) {
                note_all(builder, liveness, &call.inputs, 0, note_unwritten);
            }
            if (is_npu(&call)) {
                note_all(builder, liveness, &call.inputs, AFTER, note_npu_state);
                note_all(builder, liveness, &call.outputs, AFTER, note_npu_state);
            }
            note_all(builder, liveness, &call.outputs, i + 1, note_written);
        }
    }
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

/** "its scratch at 0 to 48 overlaps tensor 4 at 16 to 784". */
static int refuse_overlap(struct builder *builder, const char *what, const struct lifetime *range,
                          const struct liveness *liveness, uint32_t tensor)
{
    struct ethosu_model_error why;
    const struct lifetime *lifetime = &liveness->tensors[tensor];
    error_set(&why, 0,
              "its %s at %u to %u overlaps tensor %u at %u to %u%s; run: ethosu plan MODEL.tflite",
              what, (unsigned)range->start, (unsigned)range->end, (unsigned)tensor,
              (unsigned)lifetime->start, (unsigned)lifetime->end,
              lifetime->last == ALWAYS ? ", which keeps state" : "");
    return build_refuse(builder, ETHOSU_MODEL_BAD_PLAN, why.text);
}

static int check_written(struct builder *builder, const struct liveness *liveness,
                         const struct written *written)
{
    uint32_t time = builder->operator_index + 1;
    for (uint32_t i = 0; i < liveness->count; i++) {
        if (i != written->tensor && overwrites(written, &liveness->tensors[i], time)) {
            return refuse_overlap(builder, written->tensor == NEVER ? "scratch" : "output",
                                  &written->range, liveness, i);
        }
    }
    return ETHOSU_MODEL_OK;
}

/** The NPU may write all of its scratch: no state of CPU operators may be there. */
static int check_npu(struct builder *builder, const struct liveness *liveness,
                     const struct tflite_operator_call *call)
{
    struct operand scratch;
    TRY(build_find_operand(builder, &call->inputs, NPU_INPUT_SCRATCH, &scratch));
    struct lifetime range = {.start = (uint32_t)scratch.offset,
                             .end = (uint32_t)scratch.offset + scratch.tensor.size};
    for (uint32_t i = 0; i < liveness->count; i++) {
        const struct lifetime *lifetime = &liveness->tensors[i];
        if (lifetime->first != NEVER && lifetime->last == ALWAYS && !disjoint(lifetime, &range)) {
            return refuse_overlap(builder, "scratch", &range, liveness, i);
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Does an operator name one tensor as input and output? */
static bool writes_its_input(struct builder *builder, const struct tflite_operator_call *call,
                             uint32_t tensor)
{
    for (uint32_t i = 0; i < call->inputs.count; i++) {
        if (fb_u32_at(&builder->file.fb, &call->inputs, i) == tensor) {
            return true;
        }
    }
    return false;
}

static int check_scratch(struct builder *builder, const struct liveness *liveness)
{
    struct plan_scratch scratch = plan_find_scratch(builder);
    struct written written = {
        .range = {.start = scratch.offset, .end = scratch.offset + scratch.size},
        .tensor = NEVER,
        .by_cpu = true};
    return scratch.size == 0 ? ETHOSU_MODEL_OK : check_written(builder, liveness, &written);
}

static int check_operator(struct builder *builder, const struct liveness *liveness,
                          const struct tflite_operator_call *call)
{
    const struct kernel *kernel = kernel_find(call);
    for (uint32_t i = 0; i < call->outputs.count; i++) {
        uint32_t tensor = fb_u32_at(&builder->file.fb, &call->outputs, i);
        if (kernel != NULL && !kernel->in_place && writes_its_input(builder, call, tensor)) {
            return build_refuse(builder, ETHOSU_MODEL_BAD_FILE,
                                "one tensor is both its input and its output");
        }
        if (tensor < liveness->count && liveness->tensors[tensor].end != 0) {
            struct written written = {liveness->tensors[tensor], tensor, kernel != NULL,
                                      kernel != NULL && kernel->in_place};
            TRY(check_written(builder, liveness, &written));
        }
    }
    return is_npu(call) ? check_npu(builder, liveness, call) : check_scratch(builder, liveness);
}

/** Reserve memory for the table: in the arena, where so far only copies of constants are. */
static int reserve_table(struct builder *builder, struct liveness *liveness)
{
    liveness->count = builder->graph.tensors.count;
    uint32_t offset = 0;
    uint32_t size = liveness->count * (uint32_t)sizeof(struct lifetime);
    if (size > builder->planned_arena) {
        TRY(build_reserve(builder, size, &offset));
    }
    liveness->tensors = build_address(builder, offset);
    return ETHOSU_MODEL_OK;
}

int plan_check_overlaps(struct builder *builder)
{
    struct liveness liveness;
    if (builder->kernel_count == 0) {
        return ETHOSU_MODEL_OK; // Vela's own plan for its own operators
    }
    TRY(reserve_table(builder, &liveness));
    if (!builder->loading) {
        return ETHOSU_MODEL_OK;
    }
    TRY(build_enter_graph(builder, 0));
    find_lifetimes(builder, &liveness);
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        struct tflite_operator_call call;
        builder->operator_index = i;
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            builder->operator_code = call.code;
            builder->custom_name = call.custom;
            TRY(check_operator(builder, &liveness, &call));
        }
    }
    const struct flatbuffer *fb = &builder->file.fb;
    return !fb->bad ? ETHOSU_MODEL_OK
                    : error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                                "file is malformed or truncated at byte %u of %u",
                                (unsigned)fb->bad_at, (unsigned)fb->size);
}
