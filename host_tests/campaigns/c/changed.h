// SPDX-License-Identifier: MIT
/** A command stream of Vela with a few changes that a number names for good, and what the verifier
 * says of it. */
#ifndef CHANGED_H
#define CHANGED_H

#include "corpus.h"

/** A region is at most so much larger than it was. */
#define CHANGE_MORE_BYTES 65536u

struct changed {
    const struct corpus_stream *origin;
    uint32_t *words;
    uint32_t count; /**< words */
    uint32_t sizes[CORPUS_REGIONS];
};

/** Words that any changed stream of a corpus can have. */
uint32_t change_most_words(const struct corpus *corpus);

/**
 * One to five changes of mutate_stream.h.
 *
 * @param changed  its `words` has room for change_most_words()
 */
void change(const struct corpus *corpus, uint32_t seed, uint32_t number, struct changed *changed);

/** What the verifier says of a stream, as bytes that are the same in every build. */
struct verdict {
    uint64_t found, expected;
    uint64_t start[CORPUS_REGIONS], end[CORPUS_REGIONS]; /**< written; both 0: nothing is */
    int32_t error, code, index;
    uint32_t detail;
};

void verdict_of(const struct changed *stream, struct verdict *verdict);

#endif
