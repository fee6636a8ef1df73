// SPDX-License-Identifier: MIT
/** Reading the memory plan; see plan.h for its layout. */
#include "plan_check.h"

#include "kernels/kernel.h"
#include "plan.h"

#include <string.h>

/** One entry of the plan, decoded. */
struct entry {
    uint32_t word[PLAN_ENTRY_WORDS];
};

static uint32_t plan_word(struct builder *builder, uint32_t index)
{
    return fb_u32_at(&builder->file.fb, &builder->file.plan, index);
}

static struct entry read_entry(struct builder *builder, uint32_t index)
{
    struct entry entry;
    for (uint32_t i = 0; i < PLAN_ENTRY_WORDS; ++i) {
        entry.word[i] = plan_word(builder, PLAN_HEADER_WORDS + index * PLAN_ENTRY_WORDS + i);
    }
    return entry;
}

static uint32_t entry_count(struct builder *builder)
{
    return builder->file.plan.count == 0 ? 0 : plan_word(builder, PLAN_WORD_COUNT);
}

/** Refuse an entry; `found` and `expected` complete the sentence. */
static int bad_entry(struct builder *builder, uint32_t index, const char *what, uint32_t found,
                     uint32_t expected)
{
    return error_set(builder->error, ETHOSU_MODEL_BAD_PLAN,
                     "entry %u of " PLAN_NAME ": %s is %u, %u expected; "
                     "run: ethosu plan MODEL.tflite",
                     (unsigned)index, what, (unsigned)found, (unsigned)expected);
}

static int check_entry(struct builder *builder, uint32_t index, uint32_t *next_operator)
{
    struct entry entry = read_entry(builder, index);
    const uint32_t *word = entry.word;
    uint32_t operators = builder->graph.operators.count;
    if (word[PLAN_ENTRY_OPERATOR] < *next_operator || word[PLAN_ENTRY_OPERATOR] >= operators) {
        return bad_entry(builder, index, "its operator", word[PLAN_ENTRY_OPERATOR], *next_operator);
    }
    *next_operator = word[PLAN_ENTRY_OPERATOR] + 1;
    struct tflite_operator_call call;
    if (!tflite_get_operator(&builder->file, &builder->graph, word[PLAN_ENTRY_OPERATOR], &call) ||
        call.code != word[PLAN_ENTRY_CODE]) {
        return bad_entry(builder, index, "its operator code", word[PLAN_ENTRY_CODE], call.code);
    }
    uint32_t misplaced = word[PLAN_ENTRY_OFFSET] % ETHOSU_MODEL_ALIGNMENT;
    if (misplaced != 0) {
        return bad_entry(builder, index, "its offset", word[PLAN_ENTRY_OFFSET],
                         word[PLAN_ENTRY_OFFSET] - misplaced);
    }
    uint64_t end = (uint64_t)word[PLAN_ENTRY_OFFSET] + word[PLAN_ENTRY_SIZE];
    uint32_t arena = plan_word(builder, PLAN_WORD_ARENA);
    if (end > arena) {
        return bad_entry(builder, index, "its end", end > UINT32_MAX ? UINT32_MAX : (uint32_t)end,
                         arena);
    }
    return ETHOSU_MODEL_OK;
}

static int bad_header(struct builder *builder, const char *what, uint32_t found, uint32_t expected)
{
    return error_set(builder->error, ETHOSU_MODEL_BAD_PLAN,
                     PLAN_NAME ": %s is 0x%x, 0x%x expected; run: ethosu plan MODEL.tflite", what,
                     (unsigned)found, (unsigned)expected);
}

int plan_open(struct builder *builder)
{
    uint32_t words = builder->file.plan.count;
    builder->planned_arena = builder->model->arena_size;
    if (words == 0) {
        return ETHOSU_MODEL_OK;
    }
    if (words < PLAN_HEADER_WORDS) {
        return bad_header(builder, "number of words", words, PLAN_HEADER_WORDS);
    }
    uint32_t mark = plan_word(builder, PLAN_WORD_MARK);
    uint32_t version = plan_word(builder, PLAN_WORD_VERSION);
    uint32_t count = plan_word(builder, PLAN_WORD_COUNT);
    if (mark != PLAN_MARK) {
        return bad_header(builder, "mark", mark, PLAN_MARK);
    }
    if (version != PLAN_VERSION) {
        return bad_header(builder, "version", version, PLAN_VERSION);
    }
    if (count != (words - PLAN_HEADER_WORDS) / PLAN_ENTRY_WORDS ||
        (words - PLAN_HEADER_WORDS) % PLAN_ENTRY_WORDS != 0) {
        return bad_header(builder, "number of entries", count,
                          (words - PLAN_HEADER_WORDS) / PLAN_ENTRY_WORDS);
    }
    uint32_t arena = plan_word(builder, PLAN_WORD_ARENA);
    if (arena < builder->planned_arena) {
        return bad_header(builder, "arena size", arena, builder->planned_arena);
    }
    builder->planned_arena = arena;
    uint32_t next_operator = 0;
    int status = build_grow_arena(builder, arena);
    for (uint32_t i = 0; i < count && status == ETHOSU_MODEL_OK; ++i) {
        status = check_entry(builder, i, &next_operator);
    }
    return status;
}

/** "plan has 96 bytes of scratch, its kernel needs 144". */
static int refuse_scratch(struct builder *builder, const struct entry *entry, uint32_t version,
                          uint32_t needed)
{
    struct ethosu_model_error why;
    if (builder->file.plan.count == 0) {
        error_set(&why, 0,
                  "it needs %u bytes of scratch that nobody planned; "
                  "run: ethosu plan MODEL.tflite",
                  (unsigned)needed);
    } else {
        error_set(&why, 0,
                  "%u bytes of scratch planned, %u needed (planner %u, kernel %u; here kernel %u); "
                  "run: ethosu plan MODEL.tflite",
                  (unsigned)entry->word[PLAN_ENTRY_SIZE], (unsigned)needed,
                  (unsigned)plan_word(builder, PLAN_WORD_PLANNER),
                  (unsigned)entry->word[PLAN_ENTRY_KERNEL], (unsigned)version);
    }
    return build_refuse(builder, ETHOSU_MODEL_BAD_PLAN, why.text);
}

int plan_get_scratch(struct builder *builder, uint32_t version, uint32_t needed,
                     struct plan_scratch *scratch)
{
    struct entry found = {{0}};
    uint32_t count = entry_count(builder);
    for (uint32_t i = 0; i < count; ++i) {
        struct entry entry = read_entry(builder, i);
        if (entry.word[PLAN_ENTRY_OPERATOR] == builder->operator_index) {
            found = entry;
        }
    }
    scratch->offset = found.word[PLAN_ENTRY_OFFSET];
    scratch->size = found.word[PLAN_ENTRY_SIZE];
    bool good = scratch->size >= needed;
#ifdef ETHOSU_ENABLE_ASSERTS
    bool planned = found.word[PLAN_ENTRY_KERNEL] != 0;
    good = scratch->size == needed && (!planned || found.word[PLAN_ENTRY_KERNEL] == version);
#endif
    return good ? ETHOSU_MODEL_OK : refuse_scratch(builder, &found, version, needed);
}

/* ---- memory that is written while it is still wanted ---- */

/** A tensor in the arena: where it lies, and from when until when it is wanted. */
struct life {
    uint32_t start;
    uint32_t end;   /**< start + bytes; 0 when it is not in the arena */
    uint32_t first; /**< time it is written: operator + 1; 0: before the inference */
    uint32_t last;  /**< time it is read for the last time */
};

enum { NEVER = UINT32_MAX };

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

static void note_all(struct builder *builder, struct lives *lives, const struct fb_vector *tensors,
                     uint32_t time, void (*note)(struct lives *, uint32_t, uint32_t))
{
    for (uint32_t i = 0; i < tensors->count; ++i) {
        note(lives, fb_u32_at(&builder->file.fb, tensors, i), time);
    }
}

static void find_places(struct builder *builder, struct lives *lives)
{
    for (uint32_t i = 0; i < lives->count; ++i) {
        struct life *life = &lives->list[i];
        struct tflite_tensor tensor;
        int32_t offset = tflite_get_offset(&builder->file, i);
        *life = (struct life){.first = NEVER};
        if (offset >= 0 && tflite_get_tensor(&builder->file, &builder->graph, i, &tensor) &&
            tensor.data == NULL) {
            life->start = (uint32_t)offset;
            life->end = life->start + tensor.size;
            if (tensor.variable) {
                life->first = 0;
                life->last = NEVER;
            }
        }
    }
}

static void find_lives(struct builder *builder, struct lives *lives)
{
    find_places(builder, lives);
    note_all(builder, lives, &builder->graph.inputs, 0, note_written);
    note_all(builder, lives, &builder->graph.outputs, NEVER, note_read);
    for (uint32_t i = 0; i < builder->graph.operators.count; ++i) {
        struct tflite_operator_call call;
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            note_all(builder, lives, &call.inputs, i + 1, note_read);
            if (kernel_find(&call) != NULL) {
                note_all(builder, lives, &call.inputs, 0, note_unwritten);
            }
            note_all(builder, lives, &call.outputs, i + 1, note_written);
        }
    }
}

/** Does writing this memory at this time destroy something? */
static bool destroys(const struct written *written, const struct life *life, uint32_t time)
{
    const struct life *place = &written->place;
    bool apart = life->end <= place->start || place->end <= life->start;
    if (apart || life->first == NEVER || life->first > time || life->last < time) {
        return false;
    }
    if (life->first == time || life->last == time) {
        bool same = life->start == place->start && life->end == place->end;
        bool allowed = written->in_place && same && life->first < time;
        return written->by_cpu && !allowed;
    }
    return true;
}

static int check_written(struct builder *builder, const struct lives *lives,
                         const struct written *written)
{
    uint32_t time = builder->operator_index + 1;
    for (uint32_t i = 0; i < lives->count; ++i) {
        if (i != written->tensor && destroys(written, &lives->list[i], time)) {
            struct ethosu_model_error why;
            error_set(&why, 0,
                      "its %s at %u to %u overlaps tensor %u at %u to %u; "
                      "run: ethosu plan MODEL.tflite",
                      written->tensor == NEVER ? "scratch" : "output",
                      (unsigned)written->place.start, (unsigned)written->place.end, (unsigned)i,
                      (unsigned)lives->list[i].start, (unsigned)lives->list[i].end);
            return build_refuse(builder, ETHOSU_MODEL_BAD_PLAN, why.text);
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Does an operator name one tensor as input and output? */
static bool writes_its_input(struct builder *builder, const struct tflite_operator_call *call,
                             uint32_t tensor)
{
    for (uint32_t i = 0; i < call->inputs.count; ++i) {
        if (fb_u32_at(&builder->file.fb, &call->inputs, i) == tensor) {
            return true;
        }
    }
    return false;
}

static int check_operator(struct builder *builder, const struct lives *lives,
                          const struct tflite_operator_call *call)
{
    const struct kernel *kernel = kernel_find(call);
    int status = ETHOSU_MODEL_OK;
    for (uint32_t i = 0; i < call->outputs.count && status == ETHOSU_MODEL_OK; ++i) {
        uint32_t tensor = fb_u32_at(&builder->file.fb, &call->outputs, i);
        if (kernel != NULL && !kernel->in_place && writes_its_input(builder, call, tensor)) {
            return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "its output is its input too");
        }
        if (tensor < lives->count && lives->list[tensor].end != 0) {
            struct written written = {lives->list[tensor], tensor, kernel != NULL,
                                      kernel != NULL && kernel->in_place};
            status = check_written(builder, lives, &written);
        }
    }
    uint32_t entries = kernel == NULL ? 0 : entry_count(builder);
    for (uint32_t i = 0; i < entries && status == ETHOSU_MODEL_OK; ++i) {
        struct entry entry = read_entry(builder, i);
        if (entry.word[PLAN_ENTRY_OPERATOR] == builder->operator_index &&
            entry.word[PLAN_ENTRY_SIZE] != 0) {
            uint32_t start = entry.word[PLAN_ENTRY_OFFSET];
            struct written written = {
                .place = {.start = start, .end = start + entry.word[PLAN_ENTRY_SIZE]},
                .tensor = NEVER,
                .by_cpu = true};
            status = check_written(builder, lives, &written);
        }
    }
    return status;
}

/** Room for the table of lives: in the arena, which nothing uses yet but copies of constants. */
static int take_room(struct builder *builder, struct lives *lives)
{
    lives->count = builder->graph.tensors.count;
    uint32_t offset = 0;
    uint32_t size = lives->count * (uint32_t)sizeof(struct life);
    if (size > builder->planned_arena) {
        int status = build_reserve(builder, size, &offset);
        if (status != ETHOSU_MODEL_OK) {
            return status;
        }
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
    int status = take_room(builder, &lives);
    if (status != ETHOSU_MODEL_OK || !builder->loading) {
        return status;
    }
    builder->graph_index = 0;
    tflite_get_subgraph(&builder->file, 0, &builder->graph);
    find_lives(builder, &lives);
    for (uint32_t i = 0; i < builder->graph.operators.count && status == ETHOSU_MODEL_OK; ++i) {
        struct tflite_operator_call call;
        builder->operator_index = i;
        if (tflite_get_operator(&builder->file, &builder->graph, i, &call)) {
            builder->operator_code = call.code;
            builder->custom_name = call.custom;
            status = check_operator(builder, &lives, &call);
        }
    }
    const struct flatbuffer *fb = &builder->file.fb;
    return status != ETHOSU_MODEL_OK || !fb->bad
               ? status
               : error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                           "file is malformed or truncated at byte %u of %u", (unsigned)fb->bad_at,
                           (unsigned)fb->size);
}
