// SPDX-License-Identifier: MIT
/** The plugin's arguments. To add one, add a row to the table and a function that reads it. */
#include "start/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/watch.h"
#include "npu_sim.h"

#define MODEL_MHZ 32          /**< clock of the NPU on the AN547 board */
#define VECTORS_ALIGNMENT 128 /**< the lower bits of VTOR are 0 (Arm DDI 0553, VTOR) */
#define MODEL_MHZ_MAX 10000

/** Reads the value of one argument. Returns NULL, or a description of the expected value. */
typedef const char *(*reader)(struct options *options, const char *value);

struct option {
    const char *name;
    reader read;
};

static const char *board_values(void)
{
    static char text[256];
    size_t used = 0;
    for (size_t i = 0; i < board_count && used < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "",
                                 boards[i].name);
    }
    return text;
}

static const char *read_board(struct options *options, const char *value)
{
    (void)options;
    return board_choose(value) ? NULL : board_values();
}

static const char *read_timing(struct options *options, const char *value)
{
    static const char expected[] = "host, model or model:MHZ with MHZ from 1 to 10000";
    static const char prefix[] = "model:";
    unsigned *megahertz = &options->timing.megahertz;
    if (strcmp(value, "host") == 0) {
        *megahertz = 0;
        return NULL;
    }
    if (strcmp(value, "model") == 0) {
        *megahertz = MODEL_MHZ;
        return NULL;
    }
    char rest;
    bool right = strncmp(value, prefix, sizeof prefix - 1) == 0 &&
                 sscanf(value + sizeof prefix - 1, "%5u%c", megahertz, &rest) == 1 &&
                 *megahertz >= 1 && *megahertz <= MODEL_MHZ_MAX;
    return right ? NULL : expected;
}

/** A memory for the NPU's cycle estimate; see npu_set_memories(). */
static const char *read_npu_memory(struct options *options, const char *value)
{
    struct npu_timing *timing = &options->timing;
    struct npu_memory memory = {.regions = 0};
    int64_t start, size;
    char rest;
    if (timing->memory_count == NPU_MEMORIES) {
        return "at most 4 of them";
    }
    int fields =
        sscanf(value, "%" SCNi64 ":%" SCNi64 ":%" SCNu32 ":%" SCNu16 ":%" SCNu16 ":%" SCNu16 "%c",
               &start, &size, &memory.millibytes, &memory.read_latency, &memory.write_latency,
               &memory.burst, &rest);
    if (fields != 6 || memory.millibytes == 0 || memory.burst == 0) {
        return "START:SIZE:MILLIBYTES:READ_LATENCY:WRITE_LATENCY:BURST";
    }
    memory.start = (uint64_t)start;
    memory.size = (uint64_t)size;
    timing->memories[timing->memory_count++] = memory;
    return NULL;
}

static const char *read_console(struct options *options, const char *value)
{
    options->console = strcmp(value, "pty") == 0;
    return options->console ? NULL : "pty";
}

static const char *read_page(struct options *options, const char *value)
{
    options->no_page = strcmp(value, "none") == 0;
    return options->no_page ? NULL : "none";
}

static const char *read_unmapped(struct options *options, const char *value)
{
    options->unmapped_silent = strcmp(value, "silent") == 0;
    return options->unmapped_silent || strcmp(value, "error") == 0 ? NULL : "error or silent";
}

/** The name is checked later, since the devices do not exist yet. */
static const char *read_fault(struct options *options, const char *value)
{
    size_t count = 0;
    while (options->faults[count]) {
        count++;
    }
    if (count == OPTIONS_MAX_FAULTS) {
        return "at most 8 faults";
    }
    options->faults[count] = value;
    return NULL;
}

static const char *read_log(struct options *options, const char *value)
{
    static const char *const levels[] = {
        [MESSAGE_NONE] = "none", [MESSAGE_GUEST_ERROR] = "guest_error", [MESSAGE_ALL] = "all"};
    (void)options;
    for (int level = MESSAGE_NONE; level <= MESSAGE_ALL; level++) {
        if (strcmp(levels[level], value) == 0) {
            message_set_level((enum message_level)level);
            return NULL;
        }
    }
    return "none, guest_error or all";
}

static const char *read_coherence(struct options *options, const char *value)
{
    return coherence_parse(value, &options->coherence) ? NULL : "off, strict or evict:SEED";
}

/** NAME:FD; the file's size is checked once the memory exists. */
static const char *read_memory(struct options *options, const char *value)
{
    static char expected[512];
    size_t used = (size_t)snprintf(expected, sizeof expected, "NAME:FD with FD an open file");
    struct guest_memory_file *next = options->memories;
    while (next->row) {
        next++;
    }
    if (next == options->memories + BOARD_MEMORIES_MAX) {
        return "fewer files";
    }
    for (size_t i = 0; i < board()->memory_count; i++) {
        const struct board_memory *row = &board()->memories[i];
        size_t length = strlen(row->name);
        int end = 0;
        if (strncmp(value, row->name, length) == 0 &&
            sscanf(value + length, ":%9d%n", &next->file, &end) == 1 &&
            value[length + (size_t)end] == 0) {
            next->row = row;
            return NULL;
        }
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s",
                                 i ? ", " : " and NAME one of ", row->name);
    }
    return expected;
}

/** NAME:KIB; the machine's main RAM has the size that QEMU is told. */
static const char *read_size(struct options *options, const char *value)
{
    static char expected[512];
    size_t used =
        (size_t)snprintf(expected, sizeof expected, "NAME:KIB with KIB from 1 to 4194303 and");
    struct memory_size *next = options->sizes;
    while (next->row) {
        if (strncmp(value, next->row->name, strlen(next->row->name)) == 0 &&
            value[strlen(next->row->name)] == ':') {
            return "each memory once";
        }
        next++;
    }
    for (size_t i = 0; i < board()->memory_count; i++) {
        const struct board_memory *row = &board()->memories[i];
        size_t length = strlen(row->name);
        char rest;
        if (!row->blocks[0]) {
            continue;
        }
        if (strncmp(value, row->name, length) == 0 &&
            sscanf(value + length, ":%7" SCNu32 "%c", &next->kib, &rest) == 1 && next->kib > 0 &&
            next->kib < 1u << 22) {
            next->row = row;
            return NULL;
        }
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s",
                                 i ? ", " : " NAME one of ", row->name);
    }
    return expected;
}

/** Read a hexadecimal number that ends with `end`, and advance behind it. */
static bool read_hex(const char **text, char end, uint32_t *number)
{
    char *rest;
    unsigned long long value = strtoull(*text, &rest, 16);
    bool right = isxdigit((unsigned char)**text) && value <= UINT32_MAX && *rest == end;
    *number = (uint32_t)value;
    *text = right && end ? rest + 1 : rest;
    return right;
}

static const char *read_dump(struct options *options, const char *value)
{
    struct memory_dump *next = options->dumps;
    while (next->size) {
        next++;
    }
    if (next == options->dumps + MEMORY_DUMPS_MAX) {
        return "fewer dumps";
    }
    int end = 0;
    const bool right = sscanf(value, "%9d:%n", &next->file, &end) == 1 && end > 0;
    value += end;
    return right && read_hex(&value, ':', &next->address) && read_hex(&value, '\0', &next->size) &&
                   next->size
               ? NULL
               : "FD:ADDRESS:SIZE with FD an open file, the rest in hexadecimal";
}

static const char *read_watch(struct options *options, const char *value)
{
    uint32_t address;
    (void)options;
    if (!read_hex(&value, '\0', &address)) {
        return "an address in hexadecimal";
    }
    return watch_add(address) ? NULL : "at most 32 addresses";
}

static const char *read_heapinfo(struct options *options, const char *value)
{
    struct semihosting_heap *heap = &options->heap;
    return read_hex(&value, ':', &heap->heap_base) && read_hex(&value, ':', &heap->heap_limit) &&
                   read_hex(&value, ':', &heap->stack_base) &&
                   read_hex(&value, '\0', &heap->stack_limit)
               ? NULL
               : "HEAP_BASE:HEAP_LIMIT:STACK_BASE:STACK_LIMIT in hexadecimal";
}

static const char *read_stderr(struct options *options, const char *value)
{
    options->one_console = strcmp(value, "stdout") == 0;
    return options->one_console || strcmp(value, "own") == 0 ? NULL : "own or stdout";
}

/** The folder is opened once the machine is ready. */
static const char *read_files(struct options *options, const char *value)
{
    options->files = value;
    return *value ? NULL : "a folder";
}

static const char *read_tell(struct options *options, const char *value)
{
    options->only_tells = strcmp(value, "qemu") == 0;
    return options->only_tells ? NULL : "qemu";
}

static const char *read_vectors(struct options *options, const char *value)
{
    char *end;
    errno = 0;
    const unsigned long long address = strtoull(value, &end, 0);
    options->vectors = (uint32_t)address;
    options->has_vectors = errno == 0 && end != value && *end == 0 && address <= UINT32_MAX &&
                           address % VECTORS_ALIGNMENT == 0;
    return options->has_vectors ? NULL : "an address that is a multiple of 128";
}

static const struct option table[] = {
    {"board", read_board},         {"timing", read_timing},
    {"coherence", read_coherence}, {"console", read_console},
    {"fault", read_fault},         {"log", read_log},
    {"memory", read_memory},       {"npu_memory", read_npu_memory},
    {"page", read_page},           {"unmapped", read_unmapped},
    {"size", read_size},           {"heapinfo", read_heapinfo},
    {"vectors", read_vectors},     {"stderr", read_stderr},
    {"dump", read_dump},           {"watch", read_watch},
    {"files", read_files},         {"tell", read_tell},
};
#define OPTION_COUNT (sizeof table / sizeof table[0])

/* --- One argument per NPU of the board ------------------------------------ */

static const char *npu_values(void)
{
    static char text[256];
    size_t used = (size_t)snprintf(text, sizeof text, "none");
    for (const char *const *config = npu_configs(); *config && used < sizeof text; config++) {
        used += (size_t)snprintf(text + used, sizeof text - used, ", %s", *config);
    }
    return text;
}

static const char *read_npu(const char **chosen, const char *value)
{
    if (strcmp(value, "none") == 0) {
        *chosen = NULL;
        return NULL;
    }
    const char *const *config = npu_configs();
    while (*config && strcmp(*config, value) != 0) {
        config++;
    }
    *chosen = *config;
    return *config ? NULL : npu_values();
}

/* --- All arguments -------------------------------------------------------- */

static const struct npu_slot *find_npu(const char *name)
{
    for (size_t i = 0; i < BOARD_NPUS_MAX; i++) {
        const struct npu_slot *slot = &board()->npus[i];
        if (slot->argument && strcmp(slot->argument, name) == 0) {
            return slot;
        }
    }
    return NULL;
}

static void print_unknown(const char *name)
{
    char known[256];
    size_t used = 0;
    known[0] = '\0';
    for (size_t i = 0; i < BOARD_NPUS_MAX + OPTION_COUNT && used < sizeof known; i++) {
        const char *next =
            i < BOARD_NPUS_MAX ? board()->npus[i].argument : table[i - BOARD_NPUS_MAX].name;
        if (next) {
            used +=
                (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", next);
        }
    }
    message(MESSAGE_NONE, "unknown argument \"%s\"; expected %s", name, known);
}

/** Read NAME=VALUE. False if the argument is unknown. */
static bool read_named(struct options *options, const char *name, const char *value,
                       const char **expected)
{
    const struct npu_slot *slot = find_npu(name);
    if (slot) {
        *expected = read_npu(&options->npu[slot - board()->npus], value);
        return true;
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *expected = table[i].read(options, value);
            return true;
        }
    }
    return false;
}

static bool read_argument(struct options *options, const char *argument)
{
    char name[32];
    const char *equals = strchr(argument, '=');
    int length = equals ? (int)(equals - argument) : (int)strlen(argument);
    const char *value = equals ? equals + 1 : "";
    snprintf(name, sizeof name, "%.*s", length, argument);
    const char *expected = NULL;
    if (!read_named(options, name, value, &expected)) {
        print_unknown(name);
        return false;
    }
    if (expected) {
        message(MESSAGE_NONE, "%s=%s: expected %s", name, value, expected);
    }
    return !expected;
}

/** The board determines the other valid arguments, so it is read first. */
static bool choose_board(struct options *options, int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "board=", strlen("board=")) == 0 &&
            !read_argument(options, arguments[i])) {
            return false;
        }
    }
    return true;
}

bool options_parse(struct options *options, int count, char **arguments)
{
    *options = (struct options){.timing = {.megahertz = 0}};
    if (!choose_board(options, count, arguments)) {
        return false;
    }
    for (size_t i = 0; i < BOARD_NPUS_MAX; i++) {
        options->npu[i] = board()->npus[i].preset;
    }
    for (int i = 0; i < count; i++) {
        if (!read_argument(options, arguments[i])) {
            return false;
        }
    }
    return true;
}
