// SPDX-License-Identifier: MIT
/** Reads the memory plan; see plan.h for its layout. */
#include "runtime/kernels/shared/plan_reader.h"

#include "runtime/kernels/shared/kernel.h"
#include "runtime/file/plan.h"

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
    for (uint32_t i = 0; i < PLAN_ENTRY_WORDS; i++) {
        entry.word[i] = plan_word(builder, PLAN_HEADER_WORDS + index * PLAN_ENTRY_WORDS + i);
    }
    return entry;
}

static uint32_t entry_count(struct builder *builder)
{
    return builder->file.plan.count == 0 ? 0 : plan_word(builder, PLAN_WORD_COUNT);
}

/** Reject an entry; `found` and `expected` complete the message. */
static int bad_entry(struct builder *builder, uint32_t index, const char *what, uint32_t found,
                     uint32_t expected)
{
    return error_set(builder->error, ETHOSU_MODEL_BAD_PLAN,
                     "entry %u of " PLAN_NAME ": %s is %u, expected %u; "
                     "run: ethosu compile MODEL.tflite",
                     (unsigned)index, what, (unsigned)found, (unsigned)expected);
}

static int check_entry(struct builder *builder, uint32_t index, uint32_t *next_operator)
{
    struct entry entry = read_entry(builder, index);
    const uint32_t *word = entry.word;
    uint32_t operators = builder->graph.operators.count;
    if (word[PLAN_ENTRY_OPERATOR] < *next_operator || word[PLAN_ENTRY_OPERATOR] >= operators) {
        return bad_entry(builder, index, "operator", word[PLAN_ENTRY_OPERATOR], *next_operator);
    }
    *next_operator = word[PLAN_ENTRY_OPERATOR] + 1;
    struct tflite_operator_call call;
    if (!tflite_get_operator(&builder->file, &builder->graph, word[PLAN_ENTRY_OPERATOR], &call) ||
        call.code != word[PLAN_ENTRY_CODE]) {
        return bad_entry(builder, index, "operator code", word[PLAN_ENTRY_CODE], call.code);
    }
    uint32_t misplaced = word[PLAN_ENTRY_OFFSET] % ETHOSU_MODEL_ALIGNMENT;
    if (misplaced != 0) {
        return bad_entry(builder, index, "offset", word[PLAN_ENTRY_OFFSET],
                         word[PLAN_ENTRY_OFFSET] - misplaced);
    }
    uint64_t end = (uint64_t)word[PLAN_ENTRY_OFFSET] + word[PLAN_ENTRY_SIZE];
    uint32_t arena = plan_word(builder, PLAN_WORD_ARENA);
    if (end > arena) {
        return bad_entry(builder, index, "end", end > UINT32_MAX ? UINT32_MAX : (uint32_t)end,
                         arena);
    }
    return ETHOSU_MODEL_OK;
}

static int bad_header(struct builder *builder, const char *what, uint32_t found, uint32_t expected)
{
    return error_set(builder->error, ETHOSU_MODEL_BAD_PLAN,
                     PLAN_NAME ": %s is 0x%x, expected 0x%x; run: ethosu compile MODEL.tflite",
                     what, (unsigned)found, (unsigned)expected);
}

int plan_open(struct builder *builder)
{
    uint32_t words = builder->file.plan.count;
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
    TRY(build_grow_arena(builder, arena));
    for (uint32_t i = 0; i < count; i++) {
        TRY(build_work(builder, 1));
        TRY(check_entry(builder, i, &next_operator));
    }
    return ETHOSU_MODEL_OK;
}

/** Marks kernels that CMSIS-NN computes in error messages. */
static const char *kind(uint32_t version)
{
    return (version & KERNEL_CMSIS_NN) == 0 ? "" : "+CMSIS-NN";
}

/** "96 bytes of scratch planned, 144 needed …". */
static int refuse_scratch(struct builder *builder, const struct entry *entry, uint32_t version,
                          uint32_t needed)
{
    struct ethosu_model_error why;
    const char *option = (version & KERNEL_CMSIS_NN) == 0 ? "" : " --cmsis-nn";
    const uint32_t planned = entry->word[PLAN_ENTRY_KERNEL];
    if (builder->file.plan.count == 0) {
        error_set(&why, 0,
                  "needs %u bytes of scratch, but the file has no plan; "
                  "run: ethosu compile%s MODEL.tflite",
                  (unsigned)needed, option);
    } else {
        error_set(&why, 0,
                  "%u bytes of scratch planned, %u needed (planner %u, kernel %u%s; here kernel "
                  "%u%s); run: ethosu compile%s MODEL.tflite",
                  (unsigned)entry->word[PLAN_ENTRY_SIZE], (unsigned)needed,
                  (unsigned)plan_word(builder, PLAN_WORD_PLANNER),
                  (unsigned)(planned % KERNEL_CMSIS_NN), kind(planned),
                  (unsigned)(version % KERNEL_CMSIS_NN), kind(version), option);
    }
    return build_refuse(builder, ETHOSU_MODEL_BAD_PLAN, why.text);
}

/** Find the entry of the current operator; entries ascend. All zeros if not found. */
static struct entry find_entry(struct builder *builder)
{
    uint32_t low = 0;
    uint32_t high = entry_count(builder);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct entry entry = read_entry(builder, middle);
        if (entry.word[PLAN_ENTRY_OPERATOR] == builder->operator_index) {
            return entry;
        }
        if (entry.word[PLAN_ENTRY_OPERATOR] < builder->operator_index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (struct entry){{0}};
}

struct plan_scratch plan_find_scratch(struct builder *builder)
{
    struct entry entry = find_entry(builder);
    return (struct plan_scratch){entry.word[PLAN_ENTRY_OFFSET], entry.word[PLAN_ENTRY_SIZE]};
}

int plan_get_scratch(struct builder *builder, uint32_t version, uint32_t needed,
                     struct plan_scratch *scratch)
{
    struct entry entry = find_entry(builder);
    scratch->offset = entry.word[PLAN_ENTRY_OFFSET];
    scratch->size = entry.word[PLAN_ENTRY_SIZE];
    bool good = scratch->size >= needed;
#ifdef ETHOSU_ENABLE_ASSERTS
    bool planned = entry.word[PLAN_ENTRY_KERNEL] != 0;
    good = scratch->size == needed && (!planned || entry.word[PLAN_ENTRY_KERNEL] == version);
#endif
    return good ? ETHOSU_MODEL_OK : refuse_scratch(builder, &entry, version, needed);
}
