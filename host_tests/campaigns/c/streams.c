// SPDX-License-Identifier: MIT
/**
 * Changes Vela's command streams, lets the verifier judge them, and runs what it accepts on the
 * simulator behind a bus that knows the regions.
 *
 *     streams run CORPUS SEED FIRST COUNT        compares each verdict with that of another build
 *                                                (verdicts.c) on standard input
 *     streams unverified CORPUS SEED FIRST COUNT runs all: what the verifier is there for
 *
 * Prints counts as JSON; what is found is named on standard error, with the stream's number.
 *
 * The bus refuses what is outside a region and counts it. Each region ends at a page that nobody
 * may touch, so that an access of the simulator itself behind what it asked for ends the program;
 * with AddressSanitizer one before it does, too.
 */
#define _GNU_SOURCE
#include "changed.h"

#include "npu_sim.h"

#include <inttypes.h>
#include <stdbool.h>
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

static struct {
    uint32_t accepted;
    uint32_t different; /**< verdicts that the other build does not share */
    uint64_t accesses;
    uint32_t completed;  /**< runs that reached their STOP */
    uint32_t cut_short;  /**< runs that were ended because they took too long */
    uint32_t outside;    /**< runs with an access outside the regions */
    uint32_t unreported; /**< runs that wrote what the verifier does not report as written */
} counts;

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
    const struct verdict *verdict;
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

/** Make memory for the regions of any changed stream. */
static void bench_open(const struct corpus *corpus)
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

static void bench_close(const struct corpus *corpus)
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
    if (access->write && (offset < bench.verdict->start[region] ||
                          offset + access->length > bench.verdict->end[region])) {
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

static void execute(void)
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
    counts.completed += outcome == NPU_OUTCOME_STOPPED;
    counts.cut_short += outcome == NPU_OUTCOME_ABORTED;
}

/** Run a stream; false: it made an access that it must not make. */
static bool bench_run(const struct changed *s, const struct verdict *verdict)
{
    bench.npu = npu_of(s->origin->config);
    bench.changed = s;
    bench.verdict = verdict;
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
        execute();
    }
    counts.accesses += bench.accesses;
    counts.outside += bench.outside;
    counts.unreported += bench.unreported;
    return !bench.outside && !bench.unreported;
}

/* ---- verdicts ---- */

/** Does the other build say the same of this stream? */
static bool same(const struct verdict *verdict)
{
    struct verdict other;
    if (fread(&other, sizeof other, 1, stdin) != 1) {
        fprintf(stderr, "the other build gives no verdict\n");
        exit(2);
    }
    if (memcmp(&other, verdict, sizeof other) == 0) {
        return true;
    }
    fprintf(stderr,
            "verdicts differ: error %" PRId32 " at word %" PRId32 ", found %" PRIu64
            ", expected %" PRIu64 "; the other build: error %" PRId32 " at word %" PRId32
            ", found %" PRIu64 ", expected %" PRIu64 "\n",
            verdict->error, verdict->index, verdict->found, verdict->expected, other.error,
            other.index, other.found, other.expected);
    counts.different++;
    return false;
}

/** Judge one stream and run it; false: something was found. */
static bool check(const struct changed *s, bool verified)
{
    struct verdict verdict;
    verdict_of(s, &verdict);
    bool good = !verified || same(&verdict);
    counts.accepted += verdict.error == 0;
    if (verdict.error != 0 && verified) {
        return good;
    }
    return bench_run(s, &verdict) && good;
}

static void print_counts(uint32_t streams)
{
    printf("{\"streams\": %" PRIu32 ", \"accepted\": %" PRIu32 ", \"different\": %" PRIu32
           ", \"completed\": %" PRIu32 ", \"accesses\": %" PRIu64 ", \"cut_short\": %" PRIu32
           ", \"outside\": %" PRIu32 ", \"unreported\": %" PRIu32 "}\n",
           streams, counts.accepted, counts.different, counts.completed, counts.accesses,
           counts.cut_short, counts.outside, counts.unreported);
}

int main(int argc, char **argv)
{
    struct corpus corpus;
    struct changed stream;
    if (argc != 6) {
        fprintf(stderr, "usage: streams run|unverified CORPUS SEED FIRST COUNT\n");
        return 2;
    }
    bool verified = strcmp(argv[1], "unverified") != 0;
    corpus_read(argv[2], &corpus);
    uint32_t seed = (uint32_t)strtoul(argv[3], NULL, 10);
    uint32_t first = (uint32_t)strtoul(argv[4], NULL, 10);
    uint32_t count = (uint32_t)strtoul(argv[5], NULL, 10);
    stream.words = malloc(4 * (size_t)change_most_words(&corpus));
    bench_open(&corpus);
    for (uint32_t number = first; number - first < count; number++) {
        change(&corpus, seed, number, &stream);
        if (!check(&stream, verified)) {
            fprintf(stderr, "stream %" PRIu32 " of seed %" PRIu32 ", for %s\n", number, seed,
                    stream.origin->config->name);
        }
    }
    print_counts(count);
    bench_close(&corpus);
    free(stream.words);
    corpus_free(&corpus);
    return counts.different + counts.outside + counts.unreported == 0 ? 0 : 1;
}
