// SPDX-License-Identifier: MIT
/** verdicts CORPUS SEED FIRST COUNT: writes the verdict on each changed stream to standard output.
 */
#include "changed.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct corpus corpus;
    struct changed stream;
    if (argc != 5) {
        fprintf(stderr, "usage: verdicts CORPUS SEED FIRST COUNT\n");
        return 2;
    }
    corpus_read(argv[1], &corpus);
    stream.words = malloc(4 * (size_t)change_most_words(&corpus));
    uint32_t seed = (uint32_t)strtoul(argv[2], NULL, 10);
    uint32_t first = (uint32_t)strtoul(argv[3], NULL, 10);
    uint32_t count = (uint32_t)strtoul(argv[4], NULL, 10);
    for (uint32_t number = first; number - first < count; number++) {
        struct verdict verdict;
        change(&corpus, seed, number, &stream);
        verdict_of(&stream, &verdict);
        if (fwrite(&verdict, sizeof verdict, 1, stdout) != 1) {
            return 1; // the reader has gone
        }
    }
    free(stream.words);
    corpus_free(&corpus);
    return 0;
}
