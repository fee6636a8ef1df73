// SPDX-License-Identifier: MIT
/** The command streams that a campaign starts from: the file that corpus.py writes. */
#ifndef CORPUS_H
#define CORPUS_H

#include <stddef.h>
#include <stdint.h>

#define CORPUS_REGIONS 8u

struct corpus_config {
    char name[20];
    uint32_t word; /**< its CONFIG register */
};

/** One command stream of Vela. */
struct corpus_stream {
    const struct corpus_config *config;
    const uint32_t *words;
    uint32_t count; /**< words */
    uint32_t regions;
    uint32_t sizes[CORPUS_REGIONS];
    const uint8_t *constants; /**< content of region 0, sizes[0] bytes */
};

struct corpus {
    uint8_t *data; /**< the file */
    struct corpus_config *configs;
    uint32_t config_count;
    struct corpus_stream *streams;
    uint32_t stream_count;
};

/** Read a corpus; what is wrong with it ends the program. */
void corpus_read(const char *path, struct corpus *corpus);

void corpus_free(struct corpus *corpus);

#endif
