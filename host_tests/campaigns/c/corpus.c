// SPDX-License-Identifier: MIT
/** See corpus.h. */
#include "corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t *at, *end;

static const void *take(size_t size)
{
    const uint8_t *found = at;
    size_t padded = (size + 3) / 4 * 4;
    if (padded > (size_t)(end - at)) {
        fprintf(stderr, "the corpus ends too early\n");
        exit(2);
    }
    at += padded;
    return found;
}

static uint32_t take_word(void)
{
    uint32_t word;
    memcpy(&word, take(sizeof word), sizeof word);
    return word;
}

static uint8_t *load(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    size_t size = (size_t)ftell(file);
    uint8_t *data = malloc(size + 1);
    rewind(file);
    if (fread(data, 1, size, file) != size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    at = data;
    end = data + size;
    return data;
}

static void read_config(struct corpus_config *config)
{
    memcpy(config->name, take(sizeof config->name), sizeof config->name);
    config->word = take_word();
}

static void read_stream(const struct corpus *corpus, struct corpus_stream *stream)
{
    stream->config = &corpus->configs[take_word() % corpus->config_count];
    stream->count = take_word();
    stream->regions = take_word();
    memcpy(stream->sizes, take(sizeof stream->sizes), sizeof stream->sizes);
    stream->words = take(4 * stream->count);
    stream->constants = take(stream->sizes[0]);
}

void corpus_read(const char *path, struct corpus *corpus)
{
    corpus->data = load(path);
    corpus->config_count = take_word();
    corpus->stream_count = take_word();
    corpus->configs = calloc(corpus->config_count + 1, sizeof *corpus->configs);
    corpus->streams = calloc(corpus->stream_count + 1, sizeof *corpus->streams);
    for (uint32_t i = 0; i < corpus->config_count; i++) {
        read_config(&corpus->configs[i]);
    }
    for (uint32_t i = 0; i < corpus->stream_count; i++) {
        read_stream(corpus, &corpus->streams[i]);
    }
}

void corpus_free(struct corpus *corpus)
{
    free(corpus->configs);
    free(corpus->streams);
    free(corpus->data);
}
