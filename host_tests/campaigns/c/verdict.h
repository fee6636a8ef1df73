// SPDX-License-Identifier: MIT
/** What the verifier says of a stream, as bytes that are the same in every build. */
#ifndef VERDICT_H
#define VERDICT_H

#include "change.h"

struct verdict {
    uint64_t found, expected;
    uint64_t start[CORPUS_REGIONS], end[CORPUS_REGIONS]; /**< written; both 0: nothing is */
    int32_t error, code, index;
    uint32_t detail;
};

void verdict_of(const struct changed *stream, struct verdict *verdict);

#endif
