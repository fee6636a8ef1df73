// SPDX-License-Identifier: MIT
/**
 * Damage a model file in all ways of one kind, and exercise each result.
 *
 *     damage load FILE...  as they are: print what came out, a line for each
 *     damage cut FILE      every prefix of it
 *     damage set FILE      every byte of it set to each of a few values
 *     damage later FILE    the same after loading: check the description of inputs and outputs
 *     damage change FILE   dimensions and offsets, whenever a callback of the program may run
 *     damage data FILE     with a data file whose last byte is the arena's first
 */
#include "describe_all.h"
#include "exercise.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t bad_bytes[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};

/** Exercise and describe a copy that ends with its allocation; a rejection must give a reason. */
static int check(const uint8_t *data, size_t size, size_t place)
{
    struct ethosu_model_error error = {""};
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    memcpy(copy, data, size);
    int status = exercise(copy, size, &error);
    struct ethosu_model_error described = {""};
    (void)describe_all(copy, size, &described);
    free(copy);
    if (status < 0 && error.text[0] == '\0') {
        fprintf(stderr, "byte %zu: refused with status %d and no reason\n", place, status);
        exit(1);
    }
    return status;
}

/** The file in memory that ends with it; the caller frees it. */
static uint8_t *read_file(const char *path, size_t *size)
{
    static uint8_t read[1 << 20];
    FILE *file = fopen(path, "rb");
    void *data = NULL;
    *size = file != NULL ? fread(read, 1, sizeof read, file) : 0;
    if (file == NULL || posix_memalign(&data, 64, *size + (*size == 0)) != 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return memcpy(data, read, *size);
}

static int load(char **paths)
{
    for (; *paths != NULL; ++paths) {
        size_t size;
        uint8_t *data = read_file(*paths, &size);
        struct ethosu_model_error error = {""};
        (void)describe_all(data, size, &error);
        error.text[0] = '\0';
        int status = exercise(data, size, &error);
        printf("%d %s\n", status, error.text);
        fflush(stdout); /* the lines before an error tell which file it is about */
        free(data);
    }
    return 0;
}

static int cut(uint8_t *data, size_t size)
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

/** Number of inputs and outputs whose tensor is described with another size than the buffer's. */
static size_t count_wrong(const struct ethosu_model *model, uint32_t ends)
{
    size_t wrong = 0;
    for (uint32_t i = 0; i < ends; ++i) {
        const struct ethosu_model_buffer *buffer = &ethosu_model_inputs(model)[i];
        struct ethosu_model_tensor tensor;
        wrong += ethosu_model_get_tensor(model, buffer->tensor, &tensor) &&
                 (tensor.size != buffer->size || tensor.type != buffer->type);
    }
    return wrong;
}

static int share_data(uint8_t *data, size_t size)
{
    struct ethosu_model_error error = {""};
    struct ethosu_model_source source = {.file = data, .file_size = size};
    struct ethosu_model_memory memory;
    struct ethosu_model *model;
    if (ethosu_model_measure(&source, &memory, &error) != ETHOSU_MODEL_OK) {
        return 1;
    }
    memory.object = malloc(memory.object_size);
    uint8_t *both = aligned_alloc(32, 64 + ((memory.arena_size + 32) & ~(size_t)31));
    memory.arena = both + 64;
    source.data = both;
    source.data_size = 65;
    int status = ethosu_model_load(&source, &memory, &model, &error);
    printf("%d %s\n", status, error.text);
    free(memory.object);
    free(both);
    return 0;
}

static int later(uint8_t *data, size_t size)
{
    struct ethosu_model_error error = {""};
    struct ethosu_model_source source = {.file = data, .file_size = size};
    struct ethosu_model_memory memory;
    struct ethosu_model_info info;
    struct ethosu_model *model;
    size_t wrong = 0;
    if (ethosu_model_measure(&source, &memory, &error) != ETHOSU_MODEL_OK) {
        return 1;
    }
    memory.object = malloc(memory.object_size);
    memory.arena = aligned_alloc(32, (memory.arena_size + 32) & ~(size_t)31);
    if (ethosu_model_load(&source, &memory, &model, &error) != ETHOSU_MODEL_OK) {
        return 1;
    }
    ethosu_model_get_info(model, &info);
    for (size_t i = 0; i < size; ++i) {
        uint8_t good = data[i];
        for (size_t k = 0; k < sizeof bad_bytes; ++k) {
            data[i] = bad_bytes[k];
            wrong += count_wrong(model, info.inputs + info.outputs);
        }
        data[i] = good;
    }
    printf("%zu changes, %zu wrong\n", size * sizeof bad_bytes, wrong);
    free(memory.object);
    free(memory.arena);
    return 0;
}

/** A number of the file that changes while it is loaded. */
struct change {
    uint8_t *place;
    int32_t value;
    unsigned polls; /**< until it changes; after the load: that were left */
};

static bool poll_change(void *argument)
{
    struct change *change = argument;
    if (change->polls > 0 && --change->polls == 0) {
        memcpy(change->place, &change->value, sizeof change->value);
    }
    return false;
}

static void give_memory(struct ethosu_model_memory *memory, void *given)
{
    struct ethosu_model_memory *kept = given;
    memory->object = malloc(memory->object_size);
    memory->arena = aligned_alloc(32, (memory->arena_size + 32) & ~(size_t)31);
    *kept = *memory;
}

/** Load and run a file that changes; @return whether the load was over before. */
static bool load_changing(uint8_t *data, size_t size, struct change *change)
{
    struct ethosu_model_error error = {""};
    struct ethosu_model_source source = {.file = data,
                                         .file_size = size,
                                         .file_may_change = true,
                                         .stop = poll_change,
                                         .argument = change};
    struct ethosu_model_memory memory = {0};
    struct ethosu_model *model;
    if (ethosu_model_create(&source, give_memory, &memory, &model, &error) == ETHOSU_MODEL_OK) {
        (void)ethosu_model_invoke(model, NULL);
    }
    free(memory.object);
    free(memory.arena);
    return change->polls > 0;
}

static int change(uint8_t *data, size_t size)
{
    /* A dimension of the test's model, and the offset of its output in the arena. */
    static const int32_t numbers[] = {37, 1376};
    static const int32_t values[] = {400, 1 << 26};
    size_t changes = 0;
    for (size_t i = 0; i + 4 <= size; i += 4) {
        int32_t good;
        memcpy(&good, data + i, 4);
        if (good != numbers[0] && good != numbers[1]) {
            continue;
        }
        for (size_t k = 0; k < sizeof values / sizeof *values; ++k) {
            bool over = false;
            for (unsigned when = 1; !over; ++when) {
                struct change each = {.place = data + i, .value = values[k], .polls = when};
                over = load_changing(data, size, &each);
                memcpy(data + i, &good, 4);
                changes += !over;
            }
        }
    }
    printf("%zu changes\n", changes);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(uint8_t *data, size_t size);
    } ways[] = {
        {"cut", cut}, {"set", set}, {"later", later}, {"change", change}, {"data", share_data}};
    if (argc >= 3 && strcmp(argv[1], "load") == 0) {
        return load(argv + 2);
    }
    for (size_t i = 0; argc == 3 && i < sizeof ways / sizeof ways[0]; ++i) {
        if (strcmp(argv[1], ways[i].name) == 0) {
            size_t size;
            uint8_t *data = read_file(argv[2], &size);
            int status = ways[i].run(data, size);
            free(data);
            return status;
        }
    }
    fprintf(stderr, "usage: damage load FILE..., or damage cut|set|later|change|data FILE\n");
    return 2;
}
