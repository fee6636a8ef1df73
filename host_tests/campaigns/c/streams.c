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
 */
#include "bench.h"
#include "verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    uint32_t accepted, different;
    struct bench_counts bench;
} counts;

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
    return bench_run(s, verdict.start, verdict.end, &counts.bench) && good;
}

static void print_counts(uint32_t streams)
{
    const struct bench_counts *bench = &counts.bench;
    printf("{\"streams\": %" PRIu32 ", \"accepted\": %" PRIu32 ", \"different\": %" PRIu32
           ", \"completed\": %" PRIu32 ", \"accesses\": %" PRIu64 ", \"cut_short\": %" PRIu32
           ", \"outside\": %" PRIu32 ", \"unreported\": %" PRIu32 "}\n",
           streams, counts.accepted, counts.different, bench->completed, bench->accesses,
           bench->cut_short, bench->outside, bench->unreported);
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
    return counts.different + counts.bench.outside + counts.bench.unreported == 0 ? 0 : 1;
}
