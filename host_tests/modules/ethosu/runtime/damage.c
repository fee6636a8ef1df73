// SPDX-License-Identifier: MIT
/**
 * Damage a model file in every way of one kind, and exercise each result.
 *
 *     damage load FILE               as it is: print what came out
 *     damage cut FILE                every prefix of it
 *     damage set FILE                every byte of it set to each of a few values
 */
#include "exercise.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t bad_bytes[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};

/** Exercise a copy that has nothing behind its last byte; a refusal must say why. */
static int check(const uint8_t *data, size_t size, size_t place)
{
    struct ethosu_model_error error = {""};
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    memcpy(copy, data, size);
    int status = exercise(copy, size, &error);
    free(copy);
    if (status < 0 && error.text[0] == '\0') {
        fprintf(stderr, "byte %zu: refused with status %d and no reason\n", place, status);
        exit(1);
    }
    return status;
}

static int load(const uint8_t *data, size_t size)
{
    struct ethosu_model_error error = {""};
    int status = exercise(data, size, &error);
    printf("%d %s\n", status, error.text);
    return 0;
}

static int cut(const uint8_t *data, size_t size)
{
    size_t accepted = 0;
    for (size_t length = 0; length < size; ++length) {
        accepted += check(data, length, length) == ETHOSU_MODEL_OK;
    }
    printf("%zu prefixes, %zu accepted\n", size, accepted);
    return 0;
}

static int set(uint8_t *data, size_t size)
{
    size_t accepted = 0;
    for (size_t i = 0; i < size; ++i) {
        uint8_t good = data[i];
        for (size_t k = 0; k < sizeof bad_bytes; ++k) {
            data[i] = bad_bytes[k];
            accepted += check(data, size, i) == ETHOSU_MODEL_OK;
        }
        data[i] = good;
    }
    printf("%zu changes, %zu accepted\n", size * sizeof bad_bytes, accepted);
    return 0;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: damage load|cut|set FILE\n");
        return 2;
    }
    static uint8_t data[1 << 20];
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    if (strcmp(argv[1], "load") == 0) {
        return load(data, size);
    }
    return strcmp(argv[1], "cut") == 0 ? cut(data, size) : set(data, size);
}
