// SPDX-License-Identifier: MIT
/**
 * libFuzzer target: any command stream over any memory terminates without access out of bounds.
 *
 * Input: one byte selects the config, two give the length of the stream, then the stream; the rest
 * fills the memory (weights, scales, feature maps). Most inputs have their feature maps made small,
 * for more runs per second: a large one over the same few bytes takes seconds and finds no more.
 * Runs that still take a second are aborted as a host would do it, which must work at any point.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "fuzz.h"
#include "libfuzzer.h"

enum { MEMORY_BYTES = 1 << 13, BASE = 0x10000000, HEADER = 3, OPERATIONS = 64, LIMIT = 20000 };
enum {
    ANY_SIZE = 0xE0,
    SMALL = 15,
    DEEP = 63,
    CODE = 0x3FF,
    CODES = CODE + 1,
    PAYLOAD = 0x4000,
    CONFIGS = 16
};

struct world {
    uint8_t *memory;
    uint8_t *stream;
    size_t stream_bytes;
};

static uint8_t *map(void *context, const struct npu_access *access)
{
    struct world *world = context;
    uint64_t address = access->address;
    uint64_t length = access->length;
    if (address >= BASE && length <= MEMORY_BYTES && address - BASE <= MEMORY_BYTES - length) {
        return world->memory + (address - BASE);
    }
    if (!access->write && address == 0 && length <= world->stream_bytes) {
        return world->stream;
    }
    return NULL;
}

static void irq(void *context, bool level)
{
    (void)context;
    (void)level;
}

/** For each command code that sets a length: the bits that small maps keep; else 0. */
static void find_lengths(const char *config, uint8_t *masks)
{
    struct npu_command_info info;
    for (unsigned index = 0; npu_command_info(config, index, &info); index++) {
        size_t end = strlen(info.name);
        if (end > 3 && strcmp(info.name + end - 3, "_M1") == 0) {
            masks[info.code & CODE] = strstr(info.name, "DEPTH") != NULL ? DEEP : SMALL;
        }
    }
}

/** The same, computed once for each config. */
static const uint8_t *length_masks(const char *config)
{
    static struct {
        const char *config;
        uint8_t masks[CODES];
    } known[CONFIGS];
    unsigned row = 0;
    while (known[row].config != config && known[row].config != NULL) {
        row++;
    }
    if (known[row].config == NULL) {
        known[row].config = config;
        find_lengths(config, known[row].masks);
    }
    return known[row].masks;
}

/** Limit every length that the stream sets. */
static void make_small(const char *config, uint8_t *stream, size_t bytes)
{
    const uint8_t *masks = length_masks(config);
    for (size_t at = 0; at + 4 <= bytes;) {
        uint32_t word = (uint32_t)stream[at] | (uint32_t)stream[at + 1] << 8;
        if (word < CODES && masks[word] != 0) {
            stream[at + 2] &= masks[word];
            stream[at + 3] = 0;
        }
        at += word & PAYLOAD ? 8 : 4;
    }
}

static npu_t *volatile running;

static void abort_running(int signal)
{
    (void)signal;
    npu_abort(running);
}

/** Abort after this much processor time; 0: never. */
static void set_limit(long microseconds)
{
    signal(SIGVTALRM, abort_running);
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, microseconds}, {0, microseconds}}, NULL);
}

static void run(npu_t *npu, uint32_t stream_bytes)
{
    npu_write(npu, 0x020, stream_bytes);
    for (uint32_t region = 0; region < 8; region++) {
        npu_write(npu, 0x080 + 8 * region, BASE + region * (MEMORY_BYTES / 16));
    }
    if (npu_write(npu, 0x008, 1) != NPU_ACTION_EXECUTE) {
        abort();
    }
    enum npu_outcome outcome = NPU_OUTCOME_IRQ;
    for (int i = 0; i < OPERATIONS && outcome <= NPU_OUTCOME_STEPPED && outcome != 0; i++) {
        outcome = npu_execute(npu, 1);
        npu_finish(npu);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEADER) {
        return 0;
    }
    const char *config = fuzz_config(data[0]);
    size_t stream_bytes = (size_t)data[1] | (size_t)data[2] << 8;
    size_t rest = size - HEADER;
    stream_bytes = stream_bytes < rest ? stream_bytes : rest;
    size_t memory_bytes = rest - stream_bytes < MEMORY_BYTES ? rest - stream_bytes : MEMORY_BYTES;
    /* Heap blocks of exactly these sizes, so that the sanitizer detects any access outside. */
    struct world world = {calloc(1, MEMORY_BYTES), malloc(stream_bytes + 1), stream_bytes};
    memcpy(world.stream, data + HEADER, stream_bytes);
    if (data[0] < ANY_SIZE) {
        make_small(config, world.stream, stream_bytes);
    }
    memcpy(world.memory, data + HEADER + stream_bytes, memory_bytes);
    struct npu_bus bus = {&world, map, irq, NULL};
    npu_t *npu = npu_create(config, &bus);
    running = npu;
    set_limit(LIMIT);
    run(npu, (uint32_t)stream_bytes);
    set_limit(0);
    npu_destroy(npu);
    free(world.memory);
    free(world.stream);
    return 0;
}
