// SPDX-License-Identifier: MIT
/**
 * Mutates a command stream, lets the verifier judge it, and runs what it
 * accepts on the simulator behind a bus that sees only the regions.
 *
 *     mutate SEED_FILE CONFIG COUNT FIRST_NUMBER
 *
 * Prints how many were accepted and how many accesses went outside; 0 must.
 * A number names a mutation for good: `mutate FILE CONFIG 1 NUMBER` repeats it.
 */
#include "ethosu_ext.h"
#include "npu_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION_DISTANCE 0x10000000u
#define STREAM_ADDRESS 0xF0000000u

/** What a run may cost: mutated shapes can be huge with strides of 0, and branches go back. */
#define MAP_LIMIT 3000u
#define OPERATION_LIMIT 10000u
#define ROUND_LIMIT 100u

static uint8_t *payload, *mutated, *regions[8];
static uint32_t payload_size, count, stream_offset, stream_bytes;
static size_t sizes[8];
static npu_t *npu;
static struct ethosu_ext_writes writes; /**< as the verifier reports them */
static unsigned maps, outside;
static uint64_t random_state;

static uint32_t pseudo_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static uint8_t *map(void *context, const struct npu_access *access)
{
    uint64_t address = access->address;
    uint64_t length = access->length;
    (void)context;
    if (++maps > MAP_LIMIT) {
        npu_abort(npu);
    }
    if (address >= STREAM_ADDRESS && !access->write) {
        uint64_t offset = address - STREAM_ADDRESS;
        return offset + length <= stream_bytes ? mutated + stream_offset + offset : NULL;
    }
    uint64_t region = address / REGION_DISTANCE - 1;
    uint64_t offset = address % REGION_DISTANCE;
    if (region >= count || offset > sizes[region] || length > sizes[region] - offset) {
        fprintf(stderr, "access outside: address 0x%" PRIx64 ", %" PRIu64 " bytes\n", address,
                length);
        outside++;
        return NULL;
    }
    if (access->write && (offset < writes.start[region] || offset + length > writes.end[region])) {
        fprintf(stderr,
                "writes bytes %" PRIu64 " to %" PRIu64 " of region %" PRIu64
                ", %zu to %zu reported\n",
                offset, offset + length, region, writes.start[region], writes.end[region]);
        outside++;
    }
    return regions[region] + offset;
}

static void ignore_irq(void *context, bool level)
{
    (void)context;
    (void)level;
}

static void run(void)
{
    maps = 0;
    npu_reset(npu);
    npu_write(npu, 0x00C, 1);
    npu_write(npu, 0x010, STREAM_ADDRESS);
    npu_write(npu, 0x020, stream_bytes);
    for (uint32_t i = 0; i < count; i++) {
        npu_write(npu, 0x080 + 8 * i, (i + 1) * REGION_DISTANCE);
    }
    if (npu_write(npu, 0x008, 1) == NPU_ACTION_EXECUTE) {
        enum npu_outcome outcome = NPU_OUTCOME_IRQ;
        for (uint32_t round = 0; outcome == NPU_OUTCOME_IRQ; round++) {
            outcome = npu_execute(npu, OPERATION_LIMIT);
            if (outcome == NPU_OUTCOME_STEPPED || round == ROUND_LIMIT) {
                npu_abort(npu);
                outcome = npu_execute(npu, 0);
            }
            npu_finish(npu);
        }
    }
}

/** One to four changes: a bit, a word, a parameter, or a word from elsewhere. */
static void mutate(uint32_t number)
{
    random_state = number * UINT64_C(0x9E3779B97F4A7C15) + 1;
    memcpy(mutated, payload, payload_size);
    uint32_t words = stream_bytes / 4;
    for (uint32_t changes = 1 + pseudo_random() % 4; changes > 0; changes--) {
        uint8_t *at = mutated + stream_offset + 4 * (pseudo_random() % words);
        uint32_t word;
        memcpy(&word, at, 4);
        switch (pseudo_random() % 5) {
        case 0:
            word ^= 1u << pseudo_random() % 32;
            break;
        case 1:
            word = (word & 0xFFFF) | pseudo_random() << 16;
            break;
        case 2:
            word += (pseudo_random() % 65 - 32) * 16;
            break;
        case 3:
            word = (word & 0xFFFF0000u) | (pseudo_random() & 0x41FF);
            break;
        default:
            memcpy(&word, payload + stream_offset + 4 * (pseudo_random() % words), 4);
            break;
        }
        memcpy(at, &word, 4);
    }
}

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint32_t header[2];
    if (file == NULL || fread(header, 4, 2, file) != 2 || header[1] < 1 || header[1] > 8) {
        exit(2);
    }
    payload_size = header[0];
    count = header[1];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        if (fread(&size, 4, 1, file) != 1) {
            exit(2);
        }
        sizes[i] = size;
        regions[i] = calloc(1, size + 1);
    }
    payload = malloc(payload_size);
    mutated = malloc(payload_size);
    if (fread(regions[0], 1, sizes[0], file) != sizes[0] ||
        fread(payload, 1, payload_size, file) != payload_size) {
        exit(2);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    struct npu_bus bus = {NULL, map, ignore_irq, NULL};
    struct ethosu_ext_payload parsed;
    if (argc != 5) {
        return 2;
    }
    load(argv[1]);
    npu = npu_create(argv[2], &bus);
    if (npu == NULL || ethosu_ext_parse_payload(payload, payload_size, &parsed, NULL) != 0) {
        return 2;
    }
    stream_offset = (uint32_t)(parsed.stream - payload);
    stream_bytes = parsed.stream_bytes;

    uint32_t config = npu_read(npu, 0x028);
    uint32_t accepted = 0;
    uint32_t total = (uint32_t)strtoul(argv[3], NULL, 10);
    uint32_t first = (uint32_t)strtoul(argv[4], NULL, 10);
    for (uint32_t number = first; number - first < total; number++) {
        mutate(number);
        unsigned before = outside;
        if (ethosu_ext_verify(mutated + stream_offset, stream_bytes, config, sizes, (int)count,
                              &writes, NULL) == 0) {
            accepted++;
            run();
        }
        if (outside != before) {
            fprintf(stderr, "mutation %" PRIu32 "\n", number);
        }
    }
    printf("{\"total\": %" PRIu32 ", \"accepted\": %" PRIu32 ", \"outside\": %u}\n", total,
           accepted, outside);
    npu_destroy(npu);
    return outside == 0 ? 0 : 1;
}
