// SPDX-License-Identifier: MIT
/**
 * Damage a model file in all ways of one kind, and exercise each result.
 *
 *     damage load FILE...  as they are: print what came out, a line for each
 *     damage cut FILE      every prefix of it
 *     damage set FILE      every byte of it set to each of a few values
 *     damage words FILE    every aligned word of it set to each of a few values
 *     damage later FILE    the same after loading: check the description of inputs and outputs
 *     damage change FILE   each word that is read again, before each read by the loader and the
 * last one damage data FILE     with a data file whose last byte is the arena's first
 */
#include "describe_all.h"
#include "exercise.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

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

/** As offsets, the third leads behind the file from each place but the first. */
static int set_words(uint8_t *data, size_t size)
{
    const uint32_t bad_words[] = {0, 1, (uint32_t)size - 4, 0x80808080, INT32_MAX, UINT32_MAX};
    size_t accepted = 0;
    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint8_t good[4];
        memcpy(good, data + i, sizeof good);
        for (size_t k = 0; k < COUNT(bad_words); ++k) {
            memcpy(data + i, &bad_words[k], sizeof good);
            accepted += check(data, size, i) == ETHOSU_MODEL_OK;
        }
        memcpy(data + i, good, sizeof good);
    }
    printf("%zu changes, %zu accepted\n", size / 4 * COUNT(bad_words), accepted);
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

/* ---- a file that changes while it is used ---- */

/**
 * The runtime's reads of a file. Sanitized objects call a function for each (see the Makefile of
 * tools/sim_host), which the linker replaces by those below.
 */
static struct {
    uint8_t *file;
    size_t words;             /* of the file; 0: nothing is watched */
    uint32_t reads[1u << 18]; /* of each word */
    size_t word;              /* that changes */
    uint32_t when;            /* before which of its reads; 0: never */
    uint32_t value;           /* what is added to it, or what it becomes */
    bool adds;
} watched;

static void note_read(uintptr_t address)
{
    size_t word = (address - (uintptr_t)watched.file) / 4;
    if (word < watched.words && ++watched.reads[word] == watched.when && word == watched.word) {
        uint32_t number;
        memcpy(&number, watched.file + 4 * word, 4);
        number = watched.adds ? number + watched.value : watched.value;
        memcpy(watched.file + 4 * word, &number, 4);
    }
}

#define WATCH(size)                                   \
    void __real___asan_load##size(uintptr_t address); \
    void __wrap___asan_load##size(uintptr_t address); \
    void __wrap___asan_load##size(uintptr_t address)  \
    {                                                 \
        note_read(address);                           \
        __real___asan_load##size(address);            \
    }
WATCH(1)
WATCH(2)
WATCH(4)
WATCH(8)

void __real___asan_loadN(uintptr_t address, uintptr_t size);
void __wrap___asan_loadN(uintptr_t address, uintptr_t size);
void __wrap___asan_loadN(uintptr_t address, uintptr_t size)
{
    note_read(address);
    __real___asan_loadN(address, size);
}

static bool stop_after_many(void *polls)
{
    return ++*(unsigned *)polls > 2000;
}

static void give_memory(struct ethosu_model_memory *memory, void *given)
{
    struct ethosu_model_memory *kept = given;
    memory->object = malloc(memory->object_size);
    memory->arena = NULL;
    (void)posix_memalign(&memory->arena, 64, memory->arena_size);
    *kept = *memory;
}

/** Load, describe and run the file, which may change at any read; notes reads until it is loaded.
 */
static void use_changing(uint8_t *data, size_t size, uint32_t *loaded)
{
    unsigned polls = 0;
    struct ethosu_model_error error = {""};
    struct ethosu_model_source source = {.file = data,
                                         .file_size = size,
                                         .file_may_change = true,
                                         .stop = stop_after_many,
                                         .argument = &polls};
    struct ethosu_model_memory memory = {0};
    struct ethosu_model *model;
    memset(watched.reads, 0, 4 * (size / 4));
    watched.words = size / 4;
    if (ethosu_model_create(&source, give_memory, &memory, &model, &error) == ETHOSU_MODEL_OK) {
        memcpy(loaded, watched.reads, 4 * (size / 4));
        exercise_model(model);
        (void)ethosu_model_invoke(model, NULL);
    }
    watched.words = 0;
    free(memory.object);
    free(memory.arena);
}

/** Change the watched word in several ways before one of its reads. */
static size_t change_before(uint8_t *data, size_t size, uint32_t when)
{
    static const struct {
        bool adds;
        uint32_t value;
    } changes[] = {{true, 16}, {false, 1u << 26}, {false, UINT32_MAX}, {false, 0}};
    static uint32_t unused[COUNT(watched.reads)];
    uint8_t *word = data + 4 * watched.word;
    uint32_t good;
    memcpy(&good, word, 4);
    watched.when = when;
    for (size_t k = 0; k < COUNT(changes); ++k) {
        watched.adds = changes[k].adds;
        watched.value = changes[k].value;
        use_changing(data, size, unused);
        memcpy(word, &good, 4);
    }
    watched.when = 0;
    return COUNT(changes);
}

static int change(uint8_t *data, size_t size)
{
    static uint32_t loaded[COUNT(watched.reads)];
    static uint32_t reads[COUNT(watched.reads)];
    size_t rounds = 0;
    watched.file = data;
    use_changing(data, size, loaded);
    memcpy(reads, watched.reads, sizeof reads);
    for (size_t word = 0; word < size / 4; ++word) {
        watched.word = word;
        for (uint32_t when = 2; when <= loaded[word]; ++when) {
            rounds += change_before(data, size, when);
        }
        rounds += reads[word] > 1 ? change_before(data, size, reads[word]) : 0;
    }
    printf("%zu changes\n", rounds);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(uint8_t *data, size_t size);
    } ways[] = {{"cut", cut},     {"set", set},       {"words", set_words},
                {"later", later}, {"change", change}, {"data", share_data}};
    if (argc >= 3 && strcmp(argv[1], "load") == 0) {
        return load(argv + 2);
    }
    for (size_t i = 0; argc == 3 && i < COUNT(ways); ++i) {
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
