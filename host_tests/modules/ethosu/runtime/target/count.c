// SPDX-License-Identifier: MIT
/**
 * Loads the model that QEMU has stored at MODEL, and runs it on request, on a Cortex-M55 without an
 * NPU; prints instruction counts. It always ends after MAX_WRAPS of the counter.
 */
#include "ethosu_board.h"
#include "ethosu_model.h"

#define SYSTICK_HANDLER count_wrap
static void count_wrap(void);
#include "semihost.h"

#include <string.h>

/**
 * Words written by test_work.py: size of the file, whether to run it, number of polls after which
 * to stop the run (0: never), 0. The file follows.
 */
#define MODEL ((const uint32_t *)0x60000000u)
#define OBJECT ((uint8_t *)0x62000000u)
#define ARENA ((uint8_t *)0x68000000u)
#define BLOCK (96u << 20)

/** Each is 2^24 ticks, about 520 million instructions. */
#define MAX_WRAPS 2u

const struct ethosu_board ethosu_board = {.name = "count"};

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return 0;
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    (void)flag;
}

static volatile uint32_t wraps;

static void count_wrap(void)
{
    if (++wraps > MAX_WRAPS) {
        semihost(4, "error too many instructions\n");
        leave(0);
    }
}

static uint64_t ticks(void)
{
    uint32_t high;
    uint32_t low;
    do {
        high = wraps;
        low = SYST_CVR;
    } while (high != wraps);
    return ((uint64_t)high << 24) + 0xFFFFFFu - low;
}

/** Thousands of instructions; a tick is 1000 / 32 of them. */
static uint32_t thousands(uint64_t span)
{
    return (uint32_t)((span + 31) / 32);
}

/** Maximum number of ticks between two polls of the runtime, and the number of polls. */
static uint64_t longest;
static uint64_t asked_at;
static uint32_t questions;
static bool running; /**< the model is loaded */

static void begin(void)
{
    longest = 0;
    questions = 0;
    asked_at = ticks();
}

static bool stop(void *argument)
{
    uint64_t now = ticks();
    longest = now - asked_at > longest ? now - asked_at : longest;
    asked_at = now;
    questions++;
    (void)argument;
    return running && MODEL[2] != 0 && questions > MODEL[2];
}

static void say(const char *word, const char *text)
{
    semihost(4, word);
    semihost(4, text);
    semihost(4, "\n");
}

static int load(struct ethosu_model **model)
{
    static struct ethosu_model_error error;
    struct ethosu_model_source source = {.file = MODEL + 4, .file_size = MODEL[0], .stop = stop};
    struct ethosu_model_memory memory;
    uint64_t begun = ticks();
    begin();
    int status = ethosu_model_measure(&source, &memory, &error);
    if (status == ETHOSU_MODEL_OK && memory.object_size <= BLOCK && memory.arena_size <= BLOCK) {
        memory.object = OBJECT;
        memory.arena = ARENA;
        status = ethosu_model_load(&source, &memory, model, &error);
    }
    (void)stop(NULL);
    print("load", thousands(ticks() - begun));
    print("load_longest", thousands(longest));
    if (status != ETHOSU_MODEL_OK) {
        say("error ", error.text);
    }
    return status;
}

void reset(void)
{
    struct ethosu_model *model = NULL;
    start_counter();
    SYST_CSR = 7;
    while (SYST_CVR == 0) { // its first value is the one before the first reload
    }
    if (load(&model) == ETHOSU_MODEL_OK && MODEL[1] != 0) {
        uint64_t begun = ticks();
        running = true;
        begin();
        int status = ethosu_model_invoke(model, NULL);
        (void)stop(NULL);
        print("run", thousands(ticks() - begun));
        print("run_longest", thousands(longest));
        print("questions", questions);
        print("status", (uint32_t)-status);
    }
    leave(0);
}
