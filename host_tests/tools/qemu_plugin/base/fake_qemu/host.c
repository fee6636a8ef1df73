// SPDX-License-Identifier: MIT
/**
 * Loads a plugin as QEMU does, and translates and executes one block of two instructions. Compiled
 * for one convention of the plugin API, the number API.
 *
 * Arguments: file of the plugin, oldest and newest level of the API, major and minor version of
 * QEMU, arguments of the plugin.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INSTRUCTIONS 2u
#define FIRST 0x1000u

typedef void (*executed)(unsigned cpu, void *data);

struct instruction {
    uint64_t address;
    uint64_t *counter;
    uint64_t added;
    executed callback;
    void *data;
};

struct block {
    struct instruction instructions[INSTRUCTIONS];
};

static const uint64_t plugin_id = 0x1D;

/* --- QEMU's version --------------------------------------------------------------- */

struct version {
    struct {
        int64_t major, minor, micro;
    } *numbers;
    char *package;
};

static int64_t numbers[3];
static struct version version = {(void *)numbers, NULL};

struct version *qmp_query_version(void *error)
{
    (void)error;
    return &version;
}

void qapi_free_VersionInfo(struct version *info)
{
    (void)info;
}

/* --- The plugin API --------------------------------------------------------------- */

#if API < 7
typedef void (*translated)(uint64_t id, struct block *block);
static translated on_translation;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated callback)
{
    on_translation = id == plugin_id ? callback : NULL;
}

static void translate(struct block *block)
{
    on_translation(plugin_id, block);
}
#else
typedef void (*translated)(struct block *block, void *data);
static translated on_translation;
static void *translation_data;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated callback, void *data)
{
    on_translation = id == plugin_id ? callback : NULL;
    translation_data = data;
}

static void translate(struct block *block)
{
    on_translation(block, translation_data);
}
#endif

size_t qemu_plugin_tb_n_insns(const struct block *block)
{
    (void)block;
    return INSTRUCTIONS;
}

struct instruction *qemu_plugin_tb_get_insn(struct block *block, size_t index)
{
    return &block->instructions[index];
}

uint64_t qemu_plugin_tb_vaddr(const struct block *block)
{
    return block->instructions[0].address;
}

uint64_t qemu_plugin_insn_vaddr(const struct instruction *instruction)
{
    return instruction->address;
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct instruction *instruction, executed callback,
                                            int registers, void *data)
{
    (void)registers;
    instruction->callback = callback;
    instruction->data = data;
}

#if API == 1
void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *instruction, int operation,
                                                void *counter, uint64_t value)
{
    instruction->counter = operation == 0 ? counter : NULL;
    instruction->added = value;
}
#else
struct entry {
    void *scoreboard;
    size_t offset;
};

static uint64_t scoreboard;

void *qemu_plugin_scoreboard_new(size_t size)
{
    return size == sizeof scoreboard ? &scoreboard : NULL;
}

void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct instruction *instruction,
                                                         int operation, struct entry entry,
                                                         uint64_t value)
{
    instruction->counter = operation == 0 ? entry.scoreboard : NULL;
    instruction->added = value;
}

uint64_t qemu_plugin_u64_sum(struct entry entry)
{
    return *(uint64_t *)entry.scoreboard;
}
#endif

void qemu_add_machine_init_done_notifier(void *notifier)
{
    (void)notifier;
}

/* --- QEMU ------------------------------------------------------------------------- */

struct info {
    const char *target;
    struct {
        int min, cur;
    } api;
    bool is_system;
};

static void run(void)
{
    struct block block = {{{.address = FIRST}, {.address = FIRST + 4}}};
    translate(&block);
    for (size_t i = 0; i < INSTRUCTIONS; i++) {
        struct instruction *instruction = &block.instructions[i];
        *instruction->counter += instruction->added;
        if (instruction->callback) {
            instruction->callback(0, instruction->data);
        }
    }
}

int main(int count, char **words)
{
    int (*install)(uint64_t id, const struct info *info, int count, char **arguments);
    struct info info = {"arm", {atoi(words[2]), atoi(words[3])}, true};
    numbers[0] = atoi(words[4]);
    numbers[1] = atoi(words[5]);
    void *plugin = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int api = *(int *)dlsym(plugin, "qemu_plugin_version");
    printf("made for %d\n", api);
    *(void **)&install = dlsym(plugin, "qemu_plugin_install");
    if (api < info.api.min || api > info.api.cur ||
        install(plugin_id, &info, count - 6, words + 6) != 0) {
        dlclose(plugin);
        return 1;
    }
    run();
    return 0;
}
