// SPDX-License-Identifier: MIT
/**
 * See verdict.h. With VERDICT_MAIN a program: reads CONFIG, a header and a stream from standard
 * input, again and again, and writes the verdict on each to standard output.
 */
#include "verdict.h"

#include "ethosu_ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ask_verdict(const struct stream_header *header, uint32_t config, const uint32_t *words,
                 struct verdict *verdict)
{
    size_t sizes[REGIONS];
    struct ethosu_ext_writes writes = {{0}, {0}};
    struct ethosu_ext_fault fault = {0};
    for (uint32_t i = 0; i < REGIONS; i++) {
        sizes[i] = header->sizes[i];
    }
    memset(verdict, 0, sizeof *verdict);
    verdict->error = ethosu_ext_verify(words, 4 * (size_t)header->count, config, sizes,
                                       (int)header->regions, &writes, &fault);
    verdict->code = fault.code;
    verdict->index = fault.index;
    verdict->found = fault.found;
    verdict->expected = fault.expected;
    verdict->detail = fault.detail;
    for (uint32_t i = 0; i < REGIONS; i++) {
        verdict->start[i] = writes.end[i] == 0 ? 0 : writes.start[i];
        verdict->end[i] = writes.end[i];
    }
}

#ifdef VERDICT_MAIN
int main(void)
{
    uint32_t config;
    struct stream_header header;
    while (fread(&config, sizeof config, 1, stdin) == 1 &&
           fread(&header, sizeof header, 1, stdin) == 1) {
        struct verdict verdict;
        uint32_t *words = malloc(4 * (size_t)header.count + 1);
        if (fread(words, 4, header.count, stdin) != header.count) {
            return 1;
        }
        ask_verdict(&header, config, words, &verdict);
        free(words);
        fwrite(&verdict, sizeof verdict, 1, stdout);
        (void)fflush(stdout);
    }
    return 0;
}
#endif
