// SPDX-License-Identifier: MIT
/** See mutate_stream.h. The same seed gives the same changes in a 32-bit and a 64-bit build. */
#include "mutate_stream.h"

#include <stdbool.h>
#include <string.h>

#define CODE(word) ((word) & 0xFFFFu)
#define PARAM(word) ((word) >> 16)

/**
 * Lower codes are operations; higher ones, and all with a payload except branches, set registers.
 */
#define OPERATIONS 0x100u
#define BRANCH 0x4100u

/** In commands.def: the family lacks the command. */
enum { NONE = -1 };

static const struct command {
    uint32_t code;
    int32_t masks[STREAM_FAMILIES];
} commands[] = {
#define OPERATION(code, name, u55, u65, u85, operator) {code, {u55, u65, u85}},
#define CONTROL OPERATION
#define REGISTER(code, name, u55, u65, u85) {code, {u55, u65, u85}},
#define PAYLOAD REGISTER
#include "core/commands.def"
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

#define HAS_PAYLOAD 0x4000u

static uint64_t state;

void draw_from(uint64_t seed)
{
    state = seed;
}

uint32_t draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t high = state >> 32;
    return (uint32_t)(high * below >> 32);
}

uint32_t stream_family(const char *npu)
{
    static const char *const families[] = {"ethos-u55", "ethos-u65"};
    uint32_t family = 0;
    while (family < STREAM_U85 && strncmp(npu, families[family], strlen(families[family])) != 0) {
        family++;
    }
    return family;
}

static uint32_t any_word(void)
{
    uint32_t high = draw(0x10000);
    return high << 16 | draw(0x10000);
}

/** A number of random length; both draws are in the same order in every build. */
static uint32_t any_number(void)
{
    uint32_t word = any_word();
    return word >> draw(32);
}

static bool is_operation(uint32_t word)
{
    return CODE(word) < OPERATIONS || CODE(word) == BRANCH;
}

static uint32_t length_of(uint32_t word)
{
    return word & HAS_PAYLOAD ? 2 : 1;
}

/**
 * Index of the first word of a random command, or of a random operation or register if requested.
 */
static uint32_t some_command(const struct stream *s, int operation)
{
    uint32_t target = draw(s->count);
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < s->count; i += length_of(s->words[i])) {
        if (operation < 0 || is_operation(s->words[i]) == (operation != 0)) {
            chosen = i;
            if (i >= target) {
                break;
            }
        }
    }
    return chosen;
}

static void insert(struct stream *s, uint32_t at, const uint32_t *words, uint32_t count)
{
    if (s->count + count > s->most) {
        return;
    }
    memmove(s->words + at + count, s->words + at, 4 * (s->count - at));
    memcpy(s->words + at, words, 4 * count);
    s->count += count;
}

static uint32_t erase(struct stream *s, uint32_t at, uint32_t words[2])
{
    uint32_t count = length_of(s->words[at]);
    if (at + count >= s->count) {
        return 0;
    }
    memcpy(words, s->words + at, 4 * count);
    memmove(s->words + at, s->words + at + count, 4 * (s->count - at - count));
    s->count -= count;
    return count;
}

uint32_t draw_boundary(uint32_t old, const uint32_t *sizes)
{
    static const uint32_t fixed[] = {0,      1,      2,       3,          15,         16,
                                     17,     0x7F,   0x80,    0xFF,       0x100,      0x7FFF,
                                     0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    static const uint32_t steps[] = {1, 1, 1, 2, 4, 8, 16, 32, 128};
    uint32_t step = steps[draw(sizeof steps / sizeof steps[0])];
    uint32_t size = sizes == NULL ? 4 : sizes[draw(STREAM_REGIONS)];
    switch (draw(13)) {
    case 0:
    case 1:
        return fixed[draw(sizeof fixed / sizeof fixed[0])];
    case 2:
        return old + step;
    case 3:
        return old - step;
    case 4:
        return 0 - old;
    case 5:
        return draw(2) ? old * 2 : old / 2;
    case 6:
        return size;
    case 7:
        return draw(2) ? size - step : size + step;
    case 8:
        return draw(2) ? size - old : size - old + step;
    case 9:
        step = 1u << draw(32);
        return step - draw(2);
    case 10:
        return old ^ 1u << draw(32);
    case 11:
        return any_number();
    default:
        return any_number() & ~15u;
    }
}

/** Give a register command another value. */
static void set_value(const struct stream *s, uint32_t *words, uint32_t mask)
{
    bool has_payload = (words[0] & HAS_PAYLOAD) != 0;
    if (has_payload && draw(8) != 0) {
        words[1] = draw_boundary(words[1], s->sizes);
        return;
    }
    uint32_t param = draw_boundary(PARAM(words[0]), s->sizes);
    words[0] = (draw(8) ? param & mask : param) << 16 | CODE(words[0]);
}

static uint32_t mask_of(const struct stream *s, uint32_t word)
{
    for (uint32_t i = 0; i < COMMANDS; i++) {
        if (commands[i].code == CODE(word) && commands[i].masks[s->family] != NONE) {
            return (uint32_t)commands[i].masks[s->family];
        }
    }
    return 0xFFFF;
}

static void change_register(struct stream *s)
{
    uint32_t at = some_command(s, 0);
    if (at + length_of(s->words[at]) <= s->count) {
        set_value(s, s->words + at, mask_of(s, s->words[at]));
    }
}

static void change_operation(struct stream *s)
{
    uint32_t at = some_command(s, 1);
    uint32_t param = draw_boundary(PARAM(s->words[at]), s->sizes) & mask_of(s, s->words[at]);
    s->words[at] = param << 16 | CODE(s->words[at]);
}

/** Insert a command that the NPU supports: an operation or one that sets a register. */
static void insert_command(struct stream *s, bool operation)
{
    const struct command *command;
    do {
        command = &commands[draw(COMMANDS)];
    } while (command->masks[s->family] == NONE || is_operation(command->code) != operation);
    uint32_t words[2] = {command->code, draw(2) ? 0 : any_number()};
    set_value(s, words, (uint32_t)command->masks[s->family]);
    insert(s, some_command(s, (int)draw(2)), words, length_of(words[0]));
}

static void insert_register(struct stream *s)
{
    insert_command(s, false);
}

static void insert_operation(struct stream *s)
{
    insert_command(s, true);
}

static void remove_command(struct stream *s)
{
    uint32_t words[2];
    erase(s, some_command(s, draw(3) == 0), words);
}

static void move_command(struct stream *s)
{
    uint32_t words[2];
    uint32_t count = erase(s, some_command(s, draw(2) != 0), words);
    insert(s, some_command(s, -1), words, count);
}

static void repeat_command(struct stream *s)
{
    uint32_t at = some_command(s, -1);
    uint32_t words[2] = {s->words[at], at + 1 < s->count ? s->words[at + 1] : 0};
    insert(s, some_command(s, -1), words, length_of(words[0]));
}

static void change_size(struct stream *s)
{
    if (s->regions == 0) {
        return;
    }
    uint32_t region = draw(s->regions);
    uint32_t size = draw_boundary(s->sizes[region], s->sizes);
    s->sizes[region] = size < s->most_sizes[region] ? size : s->most_sizes[region];
}

static void change_bits(struct stream *s)
{
    uint32_t at = draw(s->count);
    s->words[at] = draw(4) ? s->words[at] ^ 1u << draw(32) : any_word();
}

void stream_mutate(struct stream *s)
{
    static void (*const kinds[])(struct stream *) = {
        change_register, change_register, change_register,  change_register,  change_register,
        insert_register, insert_register, change_operation, insert_operation, remove_command,
        move_command,    repeat_command,  change_size,      change_bits};
    kinds[draw(sizeof kinds / sizeof kinds[0])](s);
}
