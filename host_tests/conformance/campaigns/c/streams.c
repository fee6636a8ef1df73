// SPDX-License-Identifier: MIT
/**
 * libFuzzer target: the verifier checks a command stream, in this build and in a 32-bit build.
 * Accepted streams run on the simulator, on a bus that checks each access against the regions.
 *
 * Input: see verdict.h. Environment: VERDICTS is the path of verdict.c's 32-bit program; with
 * UNVERIFIED all streams run, and findings do not end the program.
 *
 * The bus rejects accesses outside all regions. Each region ends at an inaccessible page, so that
 * the program ends if the simulator accesses bytes after those that it requested; with
 * AddressSanitizer also bytes before them.
 */
#define _GNU_SOURCE
#include "libfuzzer.h"
#include "mutate_stream.h"
#include "npu_sim.h"
#include "verdict.h"

#include <inttypes.h>
#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

/**
 * libFuzzer learns only where a stream comes from, so it mutates each of Vela's streams and no
 * others.
 */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t origins[1024];

#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)

#define PAGE 4096u
#define MAX_NPUS 32u
#define MAX_WORDS 16384u
#define MAX_CHANGES 3u

/** Maximum size of a region, and by how much a change may enlarge it. */
#define MAX_BYTES (1u << 20)
#define MORE_BYTES 65536u

/** Distance between regions; not a power of two, because mutated addresses often are. */
#define DISTANCE 0x0FEDCBA0u
#define STREAM_ADDRESS 0xF1234560u

/** Limits of a run: changed shapes can be huge with strides of 0, and branches can loop. */
#define MAX_ACCESSES 3000u
#define MAX_OPERATIONS 10000u
#define MAX_ROUNDS 100u
#define MAX_MICROSECONDS 5000u

enum { CMD = 0x008, RESET = 0x00C, QBASE = 0x010, QSIZE = 0x020, CONFIG = 0x028, BASEP = 0x080 };

static struct {
    uint64_t inputs, accepted, completed, cut_short, accesses;
    uint64_t outside;    /**< accesses outside the regions */
    uint64_t unreported; /**< of what the verifier does not report as written */
} counts;

/** Memory that ends at a guard page; the last `size` bytes are in use. */
struct guarded {
    uint8_t *end;
    size_t size;
};

static struct {
    npu_t *npus[MAX_NPUS]; /**< NULL until it is needed */
    npu_t *npu;
    struct guarded regions[REGIONS];
    struct guarded stream;
    struct stream_header header;
    struct verdict verdict;
    uint32_t accesses;
} bench;

static bool verified; /**< only accepted streams run */

static struct guarded reserve(size_t size)
{
    uint8_t *memory = mmap(NULL, size + 2 * PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0 ||
        mprotect(memory + PAGE + size, PAGE, PROT_NONE) != 0) {
        perror("memory for the regions");
        exit(2);
    }
    ASAN_POISON_MEMORY_REGION(memory + PAGE, size);
    return (struct guarded){memory + PAGE + size, 0};
}

/** Use the last bytes of this memory. */
static uint8_t *use(struct guarded *memory, size_t size)
{
    ASAN_POISON_MEMORY_REGION(memory->end - memory->size, memory->size);
    ASAN_UNPOISON_MEMORY_REGION(memory->end - size, size);
    memory->size = size;
    return memory->end - size;
}

/* ---- bus ---- */

static void find(const struct npu_access *access, const char *what)
{
    if (verified) {
        fprintf(stderr, "refused: %s %s: address 0x%" PRIx64 ", %" PRIu64 " bytes\n",
                access->write ? "write" : "read", what, access->address, access->length);
        abort();
    }
}

static uint8_t *map(void *context, const struct npu_access *access)
{
    (void)context;
    counts.accesses++;
    if (++bench.accesses > MAX_ACCESSES) {
        npu_abort(bench.npu);
    }
    uint64_t offset = access->address - STREAM_ADDRESS;
    if (!access->write && access->length <= bench.stream.size &&
        offset <= bench.stream.size - access->length) {
        return bench.stream.end - bench.stream.size + offset;
    }
    uint64_t region = access->address / DISTANCE - 1;
    uint32_t size = region < bench.header.regions ? bench.header.sizes[region] : 0;
    offset = access->address % DISTANCE;
    if (access->length > size || offset > size - access->length) {
        counts.outside++;
        find(access, "outside all regions");
        return NULL;
    }
    if (access->write && (offset < bench.verdict.start[region] ||
                          offset + access->length > bench.verdict.end[region])) {
        counts.unreported++;
        find(access, "writes bytes that are not reported as written");
    }
    return bench.regions[region].end - size + offset;
}

static void ignore_irq(void *context, bool level)
{
    (void)context;
    (void)level;
}

/* ---- a run ---- */

static npu_t *npu_of(uint32_t index)
{
    static const struct npu_bus bus = {NULL, map, ignore_irq, NULL};
    if (bench.npus[index] == NULL) {
        bench.npus[index] = npu_create(npu_configs()[index], &bus);
    }
    return bench.npus[index];
}

static void abort_run(int signal)
{
    (void)signal;
    npu_abort(bench.npu);
}

/** End a run after this processor time; 0 for never. */
static void set_limit(long microseconds)
{
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, microseconds}, {0, microseconds}}, NULL);
}

static void execute(void)
{
    enum npu_outcome outcome = NPU_OUTCOME_IRQ;
    set_limit(MAX_MICROSECONDS);
    for (uint32_t round = 0; outcome == NPU_OUTCOME_IRQ; round++) {
        outcome = npu_execute(bench.npu, MAX_OPERATIONS);
        if (outcome == NPU_OUTCOME_STEPPED || round == MAX_ROUNDS) {
            npu_abort(bench.npu);
            outcome = npu_execute(bench.npu, 0);
        }
        npu_finish(bench.npu);
    }
    set_limit(0);
    counts.completed += outcome == NPU_OUTCOME_STOPPED;
    counts.cut_short += outcome == NPU_OUTCOME_ABORTED;
}

/**
 * Place each region at the end of its memory, before the guard page; the constants first, as far as
 * they fit.
 */
static void run(const uint8_t *constants, size_t size)
{
    const struct stream_header *header = &bench.header;
    for (uint32_t i = 0; i < header->regions; i++) {
        uint8_t *start = use(&bench.regions[i], header->sizes[i]);
        if (i == 0) {
            memcpy(start, constants, size < header->sizes[0] ? size : header->sizes[0]);
        }
    }
    bench.accesses = 0;
    npu_reset(bench.npu);
    npu_write(bench.npu, RESET, 1);
    npu_write(bench.npu, QBASE, STREAM_ADDRESS);
    npu_write(bench.npu, QSIZE, 4 * header->count);
    for (uint32_t i = 0; i < header->regions; i++) {
        npu_write(bench.npu, BASEP + 8 * i, (i + 1) * DISTANCE);
    }
    if (npu_write(bench.npu, CMD, 1) == NPU_ACTION_EXECUTE) {
        execute();
    }
}

/* ---- the other build ---- */

static FILE *requests, *answers;

static void start_other_build(const char *program)
{
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) {
        exit(2);
    }
    if (fork() == 0) {
        dup2(there[0], STDIN_FILENO);
        dup2(back[1], STDOUT_FILENO);
        close(there[1]);
        close(back[0]);
        execl(program, program, NULL);
        _exit(2);
    }
    close(there[0]);
    close(back[1]);
    requests = fdopen(there[1], "wb");
    answers = fdopen(back[0], "rb");
    (void)signal(SIGPIPE, SIG_IGN);
}

/** The other build must give the same verdict. */
static void compare(uint32_t config, const uint32_t *words)
{
    struct verdict other;
    const struct verdict *verdict = &bench.verdict;
    (void)fwrite(&config, sizeof config, 1, requests);
    (void)fwrite(&bench.header, sizeof bench.header, 1, requests);
    (void)fwrite(words, 4, bench.header.count, requests);
    if (fflush(requests) != 0 || fread(&other, sizeof other, 1, answers) != 1) {
        fprintf(stderr, "ERROR: the other build gives no verdict\n");
        abort();
    }
    if (memcmp(&other, verdict, sizeof other) != 0) {
        fprintf(stderr,
                "ERROR: verdicts differ: error %" PRId32 " at word %" PRId32 ", found %" PRIu64
                ", expected %" PRIu64 "; the other build: error %" PRId32 " at word %" PRId32
                ", found %" PRIu64 ", expected %" PRIu64 "\n",
                verdict->error, verdict->index, verdict->found, verdict->expected, other.error,
                other.index, other.found, other.expected);
        abort();
    }
}

/* ---- the target ---- */

static uint32_t npu_count(void)
{
    uint32_t count = 0;
    while (npu_configs()[count] != NULL) {
        count++;
    }
    return count;
}

/** Read an input's header; every field is in bounds afterwards. */
static bool read_header(const uint8_t *data, size_t size, struct stream_header *header)
{
    if (size < sizeof *header) {
        return false;
    }
    memcpy(header, data, sizeof *header);
    const uint32_t most = (uint32_t)((size - sizeof *header) / 4);
    header->npu %= npu_count();
    header->regions = header->regions > REGIONS ? REGIONS : header->regions;
    header->count = header->count > most ? most : header->count;
    for (uint32_t i = 0; i < REGIONS; i++) {
        header->sizes[i] = header->sizes[i] > MAX_BYTES ? MAX_BYTES : header->sizes[i];
    }
    return header->count <= MAX_WORDS;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *program = getenv("VERDICTS");
    (void)argc;
    (void)argv;
    verified = getenv("UNVERIFIED") == NULL;
    for (uint32_t i = 0; i < REGIONS; i++) {
        bench.regions[i] = reserve(MAX_BYTES);
    }
    bench.stream = reserve(4 * MAX_WORDS);
    (void)signal(SIGVTALRM, abort_run);
    if (program != NULL) {
        start_other_build(program);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!read_header(data, size, &bench.header)) {
        return 0;
    }
    const size_t head = sizeof bench.header + 4 * (size_t)bench.header.count;
    uint8_t *words = use(&bench.stream, 4 * (size_t)bench.header.count);
    memcpy(words, data + sizeof bench.header, bench.stream.size);
    bench.npu = npu_of(bench.header.npu);
    const uint32_t config = npu_read(bench.npu, CONFIG);
    ask_verdict(&bench.header, config, (uint32_t *)(void *)words, &bench.verdict);
    origins[bench.header.origin % sizeof origins] = 1;
    counts.inputs++;
    counts.accepted += bench.verdict.error == 0;
    if (requests != NULL) {
        compare(config, (uint32_t *)(void *)words);
    }
    if (bench.verdict.error == 0 || !verified) {
        run(data + head, size - head);
    }
    return 0;
}

/** Change the stream and the sizes of its regions. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static uint32_t words[MAX_WORDS];
    uint32_t most_sizes[REGIONS];
    struct stream_header header;
    draw_from(seed);
    if (!read_header(data, size, &header)) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    const size_t room = header.count + (max_size - size) / 4;
    struct stream stream = {
        .family = stream_family(npu_configs()[header.npu]),
        .words = words,
        .count = header.count,
        .most = (uint32_t)(room < MAX_WORDS ? room : MAX_WORDS),
        .regions = header.regions,
        .sizes = header.sizes,
        .most_sizes = most_sizes,
    };
    for (uint32_t i = 0; i < REGIONS; i++) {
        const uint32_t most = header.sizes[i] + MORE_BYTES;
        most_sizes[i] = most < MAX_BYTES ? most : MAX_BYTES;
    }
    memcpy(words, data + sizeof header, 4 * (size_t)header.count);
    for (uint32_t changes = 1 + draw(MAX_CHANGES); changes > 0; changes--) {
        stream_mutate(&stream);
    }
    const size_t behind = size - sizeof header - 4 * (size_t)header.count;
    uint8_t *end = data + sizeof header + 4 * (size_t)stream.count;
    memmove(end, data + size - behind, behind);
    header.count = stream.count;
    memcpy(data, &header, sizeof header);
    memcpy(data + sizeof header, words, 4 * (size_t)stream.count);
    return (size_t)(end - data) + behind;
}

__attribute__((destructor)) static void print_counts(void)
{
    fprintf(stderr,
            "\n{\"inputs\": %" PRIu64 ", \"accepted\": %" PRIu64 ", \"completed\": %" PRIu64
            ", \"accesses\": %" PRIu64 ", \"cut_short\": %" PRIu64 ", \"outside\": %" PRIu64
            ", \"unreported\": %" PRIu64 "}\n",
            counts.inputs, counts.accepted, counts.completed, counts.accesses, counts.cut_short,
            counts.outside, counts.unreported);
}

#pragma clang attribute pop
