// SPDX-License-Identifier: MIT
/** See changed.h. */
#include "changed.h"

#include "ethosu_ext.h"
#include "mutate_stream.h"

#include <string.h>

#define MOST_CHANGES 5u

/** Words that changes may add. */
#define MORE_WORDS 64u

uint32_t change_most_words(const struct corpus *corpus)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < corpus->stream_count; i++) {
        most = corpus->streams[i].count > most ? corpus->streams[i].count : most;
    }
    return most + MORE_WORDS;
}

void change(const struct corpus *corpus, uint32_t seed, uint32_t number, struct changed *s)
{
    const struct corpus_stream *origin = &corpus->streams[number % corpus->stream_count];
    uint32_t most_sizes[CORPUS_REGIONS];
    struct stream stream = {
        .family = stream_family(origin->config->name),
        .words = s->words,
        .count = origin->count,
        .most = origin->count + MORE_WORDS,
        .regions = origin->regions,
        .sizes = s->sizes,
        .most_sizes = most_sizes,
    };
    s->origin = origin;
    memcpy(s->words, origin->words, 4 * origin->count);
    memcpy(s->sizes, origin->sizes, sizeof s->sizes);
    for (uint32_t i = 0; i < CORPUS_REGIONS; i++) {
        most_sizes[i] = origin->sizes[i] + CHANGE_MORE_BYTES;
    }
    draw_from(((uint64_t)seed << 32 | number) * UINT64_C(0x9E3779B97F4A7C15) + 1);
    draw(1);
    for (uint32_t changes = 1 + draw(MOST_CHANGES); changes > 0; changes--) {
        stream_mutate(&stream);
    }
    s->count = stream.count;
}

void verdict_of(const struct changed *s, struct verdict *verdict)
{
    size_t sizes[CORPUS_REGIONS];
    struct ethosu_ext_writes writes = {{0}, {0}};
    struct ethosu_ext_fault fault = {0};
    for (uint32_t i = 0; i < CORPUS_REGIONS; i++) {
        sizes[i] = s->sizes[i];
    }
    memset(verdict, 0, sizeof *verdict);
    verdict->error = ethosu_ext_verify(s->words, 4 * s->count, s->origin->config->word, sizes,
                                       (int)s->origin->regions, &writes, &fault);
    verdict->code = fault.code;
    verdict->index = fault.index;
    verdict->found = fault.found;
    verdict->expected = fault.expected;
    verdict->detail = fault.detail;
    for (uint32_t i = 0; i < CORPUS_REGIONS; i++) {
        verdict->start[i] = writes.end[i] == 0 ? 0 : writes.start[i];
        verdict->end[i] = writes.end[i];
    }
}
