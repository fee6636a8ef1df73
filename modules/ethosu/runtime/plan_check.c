// SPDX-License-Identifier: MIT
/** Refusing a plan in which memory is written while it is still wanted. */
#include "kernels/kernel.h"
#include "plan_check.h"

/** A tensor in the arena: where it lies, and from when until when it is wanted. */
struct life {
    uint32_t start;
    uint32_t end;   /**< start + bytes; 0 when it is not in the arena */
    uint32_t first; /**< time it is written: operator + 1; 0: before the inference */
    uint32_t last;  /**< time it is read for the last time */
};

/** Times: not in this inference; after it, as outputs are; in the next one too, as state is. */
enum { NEVER = UINT32_MAX, AFTER = NEVER - 1, ALWAYS = NEVER };

struct lives {
    struct life *list;
    uint32_t count;
};

/** An operator's memory that is written at a time. */
struct written {
    struct life place;
    uint32_t tensor; /**< NEVER for scratch */
    bool by_cpu;     /**< by a kernel that reads its inputs while it writes */
    bool in_place;   /**< and may write its result over an input of the same size */
};

static void note_read(struct lives *lives, uint32_t tensor, uint32_t time)
{
    if (tensor < lives->count && lives->list[tensor].last < time) {
        lives->list[tensor].last = time;
    }
}

/** What a kernel reads and nobody has written is there from the beginning, whatever it holds. */
static void note_unwritten(struct lives *lives, uint32_t tensor, uint32_t time)
{
    if (tensor < lives->count && lives->list[tensor].first == NEVER) {
        lives->list[tensor].first = time;
    }
}

static void note_written(struct lives *lives, uint32_t tensor, uint32_t time)
{
    if (tensor < lives->count && lives->list[tensor].first > time) {
        lives->list[tensor].first = time;
    }
}

/** State that a command stream addresses lies where Vela has put it. */
static void note_npu_state(struct lives *lives, uint32_t tensor, uint32_t time)
{
    if (tensor < lives->count && lives->list[tensor].last == ALWAYS) {
        lives->list[tensor].first = 0;
        lives->list[tensor].last = time;
    }
}

static void note_all(struct builder *builder, struct lives *lives, const struct fb_vector *tensors,
                     uint32_t time, void (*note)(struct lives *, uint32_t, uint32_t))
{
    for (uint32_t i = 0; i < tensors->count; i++) {
        note(lives, fb_u32_at(&builder->file.fb, tensors, i), time);
    }
}

static void find_places(struct builder *builder, struct lives *lives)
{
    for (uint32_t i = 0; i < lives->count; i++) {
        struct life *life = &lives->list[i];
        struct tflite_tensor tensor;
        int32_t offset = tflite_get_offset(&builder->file, i);
        *life = (struct life){.first = NEVER};
        if (offset >= 0 && tflite_get_tensor(&builder->file, &builder->graph, i, &tensor) &&
            tensor.data == NULL) {
            life->start = (uint32_t)offset;
            life->end = life->start + tensor.size;
            life->last = tensor.variable ? ALWAYS : 0;
        }
    }
}

static void find_lives(struct builder *builder, struct lives *lives)
{
    find_places(builder, lives);
    note_all(builder, lives, &builder->graph.inputs, 0, note_written);
    note_all(builder, lives, &builder->graph.outputs, AFTER, note_read);
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        struct tflite_operator_call call;
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            note_all(builder, lives, &call.inputs, i + 1, note_read);
            if (kernel_find(&call) != NULL) {
                note_all(builder, lives, &call.inputs, 0, note_unwritten);
            }
            if (is_npu(&call)) {
                note_all(builder, lives, &call.inputs, AFTER, note_npu_state);
                note_all(builder, lives, &call.outputs, AFTER, note_npu_state);
            }
            note_all(builder, lives, &call.outputs, i + 1, note_written);
        }
    }
}

static bool apart(const struct life *a, const struct life *b)
{
    return a->end <= b->start || b->end <= a->start;
}

/** Does writing this memory at this time destroy something? */
static bool destroys(const struct written *written, const struct life *life, uint32_t time)
{
    const struct life *place = &written->place;
    if (apart(life, place) || life->first == NEVER || life->first > time || life->last < time) {
        return false;
    }
    if (life->first == time || life->last == time) {
        bool same = life->start == place->start && life->end == place->end;
        bool allowed = written->in_place && same && life->first < time;
        return written->by_cpu && !allowed;
    }
    return true;
}

/** "its scratch at 0 to 48 overlaps tensor 4 at 16 to 784". */
static int refuse_overlap(struct builder *builder, const char *what, const struct life *place,
                          const struct lives *lives, uint32_t tensor)
{
    struct ethosu_model_error why;
    const struct life *life = &lives->list[tensor];
    error_set(&why, 0,
              "its %s at %u to %u overlaps tensor %u at %u to %u%s; run: ethosu plan MODEL.tflite",
              what, (unsigned)place->start, (unsigned)place->end, (unsigned)tensor,
              (unsigned)life->start, (unsigned)life->end,
              life->last == ALWAYS ? ", which keeps state" : "");
    return build_refuse(builder, ETHOSU_MODEL_BAD_PLAN, why.text);
}

static int check_written(struct builder *builder, const struct lives *lives,
                         const struct written *written)
{
    uint32_t time = builder->operator_index + 1;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (i != written->tensor && destroys(written, &lives->list[i], time)) {
            return refuse_overlap(builder, written->tensor == NEVER ? "scratch" : "output",
                                  &written->place, lives, i);
        }
    }
    return ETHOSU_MODEL_OK;
}

/** An NPU works anywhere in its scratch: no state of the CPU's operators may lie there. */
static int check_npu(struct builder *builder, const struct lives *lives,
                     const struct tflite_operator_call *call)
{
    struct placed scratch;
    TRY(build_place(builder, &call->inputs, NPU_INPUT_SCRATCH, &scratch));
    struct life place = {.start = (uint32_t)scratch.offset,
                         .end = (uint32_t)scratch.offset + scratch.tensor.size};
    for (uint32_t i = 0; i < lives->count; i++) {
        const struct life *life = &lives->list[i];
        if (life->first != NEVER && life->last == ALWAYS && !apart(life, &place)) {
            return refuse_overlap(builder, "scratch", &place, lives, i);
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

static int check_scratch(struct builder *builder, const struct lives *lives)
{
    struct plan_scratch scratch = plan_find_scratch(builder);
    struct written written = {
        .place = {.start = scratch.offset, .end = scratch.offset + scratch.size},
        .tensor = NEVER,
        .by_cpu = true};
    return scratch.size == 0 ? ETHOSU_MODEL_OK : check_written(builder, lives, &written);
}

static int check_operator(struct builder *builder, const struct lives *lives,
                          const struct tflite_operator_call *call)
{
    const struct kernel *kernel = kernel_find(call);
    for (uint32_t i = 0; i < call->outputs.count; i++) {
        uint32_t tensor = fb_u32_at(&builder->file.fb, &call->outputs, i);
        if (kernel != NULL && !kernel->in_place && writes_its_input(builder, call, tensor)) {
            return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "its output is its input too");
        }
        if (tensor < lives->count && lives->list[tensor].end != 0) {
            struct written written = {lives->list[tensor], tensor, kernel != NULL,
                                      kernel != NULL && kernel->in_place};
            TRY(check_written(builder, lives, &written));
        }
    }
    return is_npu(call) ? check_npu(builder, lives, call) : check_scratch(builder, lives);
}

/** Room for the table of lives: in the arena, which nothing uses yet but copies of constants. */
static int take_room(struct builder *builder, struct lives *lives)
{
    lives->count = builder->graph.tensors.count;
    uint32_t offset = 0;
    uint32_t size = lives->count * (uint32_t)sizeof(struct life);
    if (size > builder->planned_arena) {
        TRY(build_reserve(builder, size, &offset));
    }
    lives->list = build_address(builder, offset);
    return ETHOSU_MODEL_OK;
}

int plan_check_overlaps(struct builder *builder)
{
    struct lives lives;
    if (builder->kernel_count == 0) {
        return ETHOSU_MODEL_OK; // Vela's own plan for its own operators
    }
    TRY(take_room(builder, &lives));
    if (!builder->loading) {
        return ETHOSU_MODEL_OK;
    }
    TRY(build_enter_graph(builder, 0));
    find_lives(builder, &lives);
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        struct tflite_operator_call call;
        builder->operator_index = i;
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            builder->operator_code = call.code;
            builder->custom_name = call.custom;
            TRY(check_operator(builder, &lives, &call));
        }
    }
    const struct flatbuffer *fb = &builder->file.fb;
    return !fb->bad ? ETHOSU_MODEL_OK
                    : error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                                "file is malformed or truncated at byte %u of %u",
                                (unsigned)fb->bad_at, (unsigned)fb->size);
}
