// SPDX-License-Identifier: MIT
/** See verdict.h. */
#include "verdict.h"

#include "ethosu_ext.h"

#include <string.h>

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
