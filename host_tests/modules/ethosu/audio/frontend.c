// SPDX-License-Identifier: MIT
/**
 * Runs the front ends for test_frontends.py: numbers from stdin, results to stdout.
 *
 *   frontend micro HOP | mfcc HOP GAIN | log_mel HOP GAIN    samples in, rows out
 *   frontend sqrt                                            64-bit in, 32-bit out
 *   frontend ring                                            checks itself
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ethosu_audio.h"
#include "micro_sqrt.h"

/** Read stdin into a block of exactly that size, so that reads beyond it are detected. */
static void *read_all(size_t *size)
{
    size_t room = 1 << 16;
    size_t got;
    char *data = malloc(room);
    *size = 0;
    while ((got = fread(data + *size, 1, room - *size, stdin)) > 0) {
        *size += got;
        if (*size == room) {
            data = realloc(data, room *= 2);
        }
    }
    return realloc(data, *size > 0 ? *size : 1);
}

/** Pass samples in pieces of varying size; `row` writes a row for each full window. */
static void stream(struct ethosu_audio_window *window, void *frontend, void (*row)(void *))
{
    size_t size;
    int16_t *samples = read_all(&size);
    size_t count = size / sizeof(*samples);
    size_t expected = ethosu_audio_rows(window, count);
    size_t rows = 0;
    uint32_t random = 1;
    for (size_t at = 0; at < count;) {
        random = random * 1664525u + 1013904223u;
        size_t piece = (random >> 16) % 700;
        piece = piece < count - at ? piece : count - at;
        at += ethosu_audio_window_take(window, samples + at, piece);
        if (ethosu_audio_window_full(window)) {
            row(frontend);
            rows++;
            ethosu_audio_window_advance(window);
        }
    }
    free(samples);
    CHECK(rows == expected);
}

static void micro_row(void *frontend)
{
    uint16_t row[ETHOSU_AUDIO_MICRO_BANDS];
    ethosu_audio_micro_row(frontend, row);
    fwrite(row, sizeof(row), 1, stdout);
}

static void mel_row(void *frontend)
{
    size_t values = ethosu_audio_mel_values(frontend);
    float *row = malloc(values * sizeof(*row));
    ethosu_audio_mel_row(frontend, row);
    fwrite(row, sizeof(*row), values, stdout);
    free(row);
}

static void mel(const struct ethosu_audio_mel_config *config, float gain)
{
    CHECK(ethosu_audio_mel_check(config) == NULL);
    void *memory = malloc(ethosu_audio_mel_size(config));
    struct ethosu_audio_mel frontend;
    ethosu_audio_mel_start(&frontend, config, memory);
    frontend.gain = gain;
    stream(&frontend.window, &frontend, mel_row);
    free(memory);
}

static void roots(void)
{
    size_t size;
    uint64_t *numbers = read_all(&size);
    for (size_t i = 0; i < size / sizeof(*numbers); i++) {
        uint32_t root = micro_sqrt(numbers[i]);
        fwrite(&root, sizeof(root), 1, stdout);
    }
    free(numbers);
}

/** Numbered samples arrive in order, or are counted as lost. */
static void ring(void)
{
    int16_t *memory = malloc(64 * sizeof(*memory));
    struct ethosu_audio_ring it = {.samples = memory, .size = 64};
    int16_t next = 0;
    int16_t expected = 0;
    it.written = it.read = UINT32_MAX - 100; // they wrap around
    for (uint32_t round = 0; round < 300; round++) {
        int16_t samples[70];
        uint32_t count = round * 7 % 30;
        for (uint32_t i = 0; i < count; i++) {
            samples[i] = next++;
        }
        ethosu_audio_ring_write(&it, samples, count);
        CHECK(it.lost == 0 && it.overruns == 0);
        const int16_t *piece;
        while ((count = ethosu_audio_ring_piece(&it, &piece)) > 0) {
            for (uint32_t i = 0; i < count; i++) {
                CHECK(piece[i] == expected++);
            }
            ethosu_audio_ring_took(&it, count);
        }
    }
    CHECK(next == expected && next > 4000);
    int16_t many[100] = {0};
    ethosu_audio_ring_write(&it, many, 100);
    CHECK(ethosu_audio_ring_count(&it) == 64 && it.lost == 36 && it.overruns == 1);
    ethosu_audio_ring_write(&it, many, 0);
    CHECK(it.overruns == 1);
    ethosu_audio_ring_write(&it, many, 1);
    CHECK(it.lost == 37 && it.overruns == 2);
    free(memory);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    const char *kind = argv[1];
    if (strcmp(kind, "sqrt") == 0) {
        roots();
    } else if (strcmp(kind, "ring") == 0) {
        ring();
    } else if (strcmp(kind, "micro") == 0) {
        struct ethosu_audio_micro *micro = malloc(sizeof(*micro));
        ethosu_audio_micro_start(micro, strtoul(argv[2], NULL, 10));
        stream(&micro->window, micro, micro_row);
        free(micro);
    } else {
        size_t hop = strtoul(argv[2], NULL, 10);
        struct ethosu_audio_mel_config mfcc = {
            480, hop, 40, 10, 20.0f, 4000.0f, ETHOSU_AUDIO_HTK, false, 1e-6f, 1.0f};
        struct ethosu_audio_mel_config log_mel = {
            1024, hop,           128,        0, 0.0f, 8000.0f, ETHOSU_AUDIO_SLANEY,
            true, 2.220446e-16f, 4.34294482f};
        mel(strcmp(kind, "mfcc") == 0 ? &mfcc : &log_mel, strtof(argv[3], NULL));
    }
    return 0;
}
