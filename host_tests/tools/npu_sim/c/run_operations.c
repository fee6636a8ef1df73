// SPDX-License-Identifier: MIT
/**
 * Runs operations on the simulator of another CPU: test_aarch64.py writes them on stdin, and reads
 * what came out from stdout. Little-endian words, in the order of the calls below.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_sim.h"

enum {
    MEMORIES = 16,
    ALIGNMENT = 16,
    QBASE = 0x10,
    QCONFIG = 0x1C,
    QSIZE = 0x20,
    REGIONCFG = 0x3C,
    BASEP = 0x80,
    CMD = 0x08,
};

static struct memory {
    uint64_t address;
    uint32_t size;
    uint8_t *bytes;
} memories[MEMORIES];
static uint32_t memory_count;

static void take(void *bytes, size_t size)
{
    if (fread(bytes, 1, size, stdin) != size) {
        exit(EXIT_FAILURE);
    }
}

static uint32_t take_word(void)
{
    uint32_t word;
    take(&word, sizeof word);
    return word;
}

static void give_word(uint32_t word)
{
    fwrite(&word, sizeof word, 1, stdout);
}

static uint8_t *map(void *context, const struct npu_access *access)
{
    (void)context;
    for (uint32_t i = 0; i < memory_count; i++) {
        const struct memory *memory = &memories[i];
        uint64_t offset = access->address - memory->address;
        if (access->address >= memory->address && offset + access->length <= memory->size) {
            return memory->bytes + offset;
        }
    }
    return NULL;
}

static void irq(void *context, bool level)
{
    (void)context;
    (void)level;
}

static void complain(void *context, const char *message)
{
    (void)context;
    fprintf(stderr, "%s\n", message);
}

static void write_address(npu_t *npu, uint32_t offset, uint64_t address)
{
    npu_write(npu, offset, (uint32_t)address);
    npu_write(npu, offset + 4, (uint32_t)(address >> 32));
}

/** The first memory has the command stream, the others are regions 0, 1, and so on. */
static void run(const char *config)
{
    const struct npu_bus bus = {.map = map, .irq = irq, .log = complain};
    npu_t *npu = npu_create(config, &bus);
    write_address(npu, QBASE, memories[0].address);
    npu_write(npu, QSIZE, memories[0].size);
    npu_write(npu, QCONFIG, 2);
    npu_write(npu, REGIONCFG, 0x5555);
    for (uint32_t i = 1; i < memory_count; i++) {
        write_address(npu, BASEP + 8 * (i - 1), memories[i].address);
    }
    npu_write(npu, CMD, 0xD);
    give_word((uint32_t)npu_execute(npu, 0));
    npu_finish(npu);
    give_word((uint32_t)npu_cycles(npu));
    npu_destroy(npu);
}

int main(void)
{
    for (uint32_t operations = take_word(); operations > 0; operations--) {
        char config[32];
        take(config, sizeof config);
        memory_count = take_word();
        for (uint32_t i = 0; i < memory_count; i++) {
            struct memory *memory = &memories[i];
            memory->address = take_word();
            memory->size = take_word();
            size_t room = (memory->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
            memory->bytes = aligned_alloc(ALIGNMENT, room + ALIGNMENT);
            take(memory->bytes, memory->size);
        }
        run(config);
        for (uint32_t i = 0; i < memory_count; i++) {
            fwrite(memories[i].bytes, 1, memories[i].size, stdout);
            free(memories[i].bytes);
        }
    }
    return EXIT_SUCCESS;
}
