// SPDX-License-Identifier: MIT
/**
 * See bench.h. The bus refuses what is outside a region and counts it. Each region ends at a page
 * that nobody may touch, so that an access of the simulator itself behind what it asked for ends
 * the program; with AddressSanitizer one before it does, too.
 */
#define _GNU_SOURCE
#include "bench.h"

#include "npu_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

#define PAGE 4096u

/** Regions are so far apart; no power of two, since changed addresses often are some. */
#define DISTANCE 0x0FEDCBA0u
#define STREAM_ADDRESS 0xF1234560u

/** What a run may cost: changed shapes can be huge with strides of 0, and branches go back. */
#define MOST_ACCESSES 3000u
#define MOST_OPERATIONS 10000u
#define MOST_ROUNDS 100u

enum { CMD = 0x008, RESET = 0x00C, QBASE = 0x010, QSIZE = 0x020, BASEP = 0x080 };

/** Memory that ends at a guard page. */
struct guarded {
    uint8_t *start;
    uint8_t *end;
};

static struct {
    npu_t **npus; /**< by config of the corpus; NULL until it is needed */
    npu_t *npu;
    struct guarded regions[CORPUS_REGIONS];
    struct guarded stream;
    const struct changed *changed;
    const uint64_t *start, *end;
    uint32_t accesses;
    bool outside, unreported;
} bench;

static struct corpus_config *first_config;

static struct guarded reserve(size_t size)
{
    size_t pages = (size + PAGE - 1) / PAGE * PAGE;
    uint8_t *memory = mmap(NULL, pages + 2 * PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0 ||
        mprotect(memory + PAGE + pages, PAGE, PROT_NONE) != 0) {
        perror("memory for the regions");
        exit(2);
    }
    ASAN_POISON_MEMORY_REGION(memory + PAGE, pages);
    return (struct guarded){memory + PAGE, memory + PAGE + pages};
}

/** The last `size` bytes of such memory. */
static uint8_t *last_bytes(const struct guarded *memory, uint32_t size)
{
    ASAN_POISON_MEMORY_REGION(memory->start, (size_t)(memory->end - memory->start));
    ASAN_UNPOISON_MEMORY_REGION(memory->end - size, size);
    return memory->end - size;
}

void bench_open(const struct corpus *corpus)
{
    uint32_t sizes[CORPUS_REGIONS] = {0};
    for (uint32_t i = 0; i < corpus->stream_count; i++) {
        const struct corpus_stream *stream = &corpus->streams[i];
        for (uint32_t k = 0; k < CORPUS_REGIONS; k++) {
            sizes[k] = stream->sizes[k] > sizes[k] ? stream->sizes[k] : sizes[k];
        }
    }
    for (uint32_t k = 0; k < CORPUS_REGIONS; k++) {
        bench.regions[k] = reserve(sizes[k] + CHANGE_MORE_BYTES);
    }
    bench.stream = reserve(4 * (size_t)change_most_words(corpus));
    bench.npus = calloc(corpus->config_count, sizeof *bench.npus);
    first_config = corpus->configs;
}

void bench_close(const struct corpus *corpus)
{
    for (uint32_t i = 0; i < corpus->config_count; i++) {
        npu_destroy(bench.npus[i]);
    }
    free(bench.npus);
}

/* ---- bus ---- */

static uint64_t base_of(uint32_t region)
{
    return (uint64_t)(region + 1) * DISTANCE;
}

static void report(const struct npu_access *access, const char *what)
{
    fprintf(stderr, "%s %s: address 0x%" PRIx64 ", %" PRIu64 " bytes\n",
            access->write ? "write" : "read", what, access->address, access->length);
}

static uint8_t *map(void *context, const struct npu_access *access)
{
    (void)context;
    if (++bench.accesses > MOST_ACCESSES) {
        npu_abort(bench.npu);
    }
    uint64_t offset = access->address - STREAM_ADDRESS;
    uint32_t bytes = 4 * bench.changed->count;
    if (!access->write && access->length <= bytes && offset <= bytes - access->length) {
        return bench.stream.end - bytes + offset;
    }
    uint64_t region = access->address / DISTANCE - 1;
    uint32_t size = region < bench.changed->origin->regions ? bench.changed->sizes[region] : 0;
    offset = access->address % DISTANCE;
    if (access->length > size || offset > size - access->length) {
        report(access, "outside all regions");
        bench.outside = true;
        return NULL;
    }
    if (access->write &&
        (offset < bench.start[region] || offset + access->length > bench.end[region])) {
        report(access, "of what is not reported as written");
        bench.unreported = true;
    }
    return bench.regions[region].end - size + offset;
}

static void ignore_irq(void *context, bool level)
{
    (void)context;
    (void)level;
}

/* ---- a run ---- */

static npu_t *npu_of(const struct corpus_config *config)
{
    static const struct npu_bus bus = {NULL, map, ignore_irq, NULL};
    npu_t **npu = &bench.npus[config - first_config];
    if (*npu == NULL && (*npu = npu_create(config->name, &bus)) == NULL) {
        fprintf(stderr, "the simulator has no %s\n", config->name);
        exit(2);
    }
    return *npu;
}

/** Let each region end at its guard page; the constants come first, as far as they fit. */
static void place(const struct changed *s)
{
    const struct corpus_stream *origin = s->origin;
    uint8_t *start = NULL;
    for (uint32_t i = origin->regions; i-- > 0;) {
        start = last_bytes(&bench.regions[i], s->sizes[i]);
    }
    memcpy(start, origin->constants,
           s->sizes[0] < origin->sizes[0] ? s->sizes[0] : origin->sizes[0]);
    memcpy(last_bytes(&bench.stream, 4 * s->count), s->words, 4 * s->count);
}

static void execute(struct bench_counts *counts)
{
    enum npu_outcome outcome = NPU_OUTCOME_IRQ;
    for (uint32_t round = 0; outcome == NPU_OUTCOME_IRQ; round++) {
        outcome = npu_execute(bench.npu, MOST_OPERATIONS);
        if (outcome == NPU_OUTCOME_STEPPED || round == MOST_ROUNDS) {
            npu_abort(bench.npu);
            outcome = npu_execute(bench.npu, 0);
        }
        npu_finish(bench.npu);
    }
    counts->completed += outcome == NPU_OUTCOME_STOPPED;
    counts->cut_short += outcome == NPU_OUTCOME_ABORTED;
}

bool bench_run(const struct changed *s, const uint64_t *start, const uint64_t *end,
               struct bench_counts *counts)
{
    bench.npu = npu_of(s->origin->config);
    bench.changed = s;
    bench.start = start;
    bench.end = end;
    bench.accesses = 0;
    bench.outside = bench.unreported = false;
    place(s);
    npu_reset(bench.npu);
    npu_write(bench.npu, RESET, 1);
    npu_write(bench.npu, QBASE, STREAM_ADDRESS);
    npu_write(bench.npu, QSIZE, 4 * s->count);
    for (uint32_t i = 0; i < s->origin->regions; i++) {
        npu_write(bench.npu, BASEP + 8 * i, (uint32_t)base_of(i));
    }
    if (npu_write(bench.npu, CMD, 1) == NPU_ACTION_EXECUTE) {
        execute(counts);
    }
    counts->accesses += bench.accesses;
    counts->outside += bench.outside;
    counts->unreported += bench.unreported;
    return !bench.outside && !bench.unreported;
}
