// SPDX-License-Identifier: MIT
/**
 * Connects the parts to a running QEMU: at load, when the machine is ready, at reset and at exit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/callbacks.h"
#include "base/faults.h"
#include "base/message.h"
#include "base/qemu_api.h"
#include "base/watch.h"
#include "board/board.h"
#include "board/machine.h"
#include "chip/dw_ssi.h"
#include "cpu/cache.h"
#include "cpu/cache_registers.h"
#include "cpu/code_check.h"
#include "cpu/core_check.h"
#include "cpu/core_power.h"
#include "dma/dma_device.h"
#include "memory/board_memory.h"
#include "memory/guest_memory.h"
#include "memory/mram.h"
#include "memory/power_cut.h"
#include "npu/npu_device.h"
#include "pc/console.h"
#include "pc/emulator_device.h"
#include "pc/semihosting.h"
#include "start/board_faults.h"
#include "start/boot.h"
#include "start/machine_none.h"
#include "start/options.h"

static struct options options;
static struct npu_device *npus[BOARD_NPUS_MAX]; /**< NULL if absent */

/** Only boards with a Cortex-M have one. */
static bool has_page(void)
{
    return board()->page.base && !options.no_page;
}

static void reset(void *opaque)
{
    (void)opaque;
    board_reset();
    power_cut_reset();
    for (size_t i = 0; i < BOARD_NPUS_MAX; i++) {
        if (npus[i]) {
            npu_device_reset(npus[i]);
        }
    }
    dma_device_reset();
    cache_registers_reset();
    emulator_device_reset();
}

static bool inject(const struct fault *fault, unsigned count)
{
    static const struct {
        const char *device;
        bool (*inject)(const char *fault, unsigned count);
    } others[] = {
        {"board", board_inject},  {"console", console_inject}, {"dma", dma_device_inject},
        {"flash", dw_ssi_inject}, {"nvm", power_cut_inject},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(fault->device, others[i].device) == 0) {
            return others[i].inject(fault->name, count);
        }
    }
    for (size_t i = 0; i < BOARD_NPUS_MAX; i++) {
        if (npus[i] && strcmp(fault->device, board()->npus[i].argument) == 0) {
            return npu_device_inject(npus[i], fault->name, count);
        }
    }
    return false;
}

static void inject_now(const struct fault *fault)
{
    inject(fault, fault->count);
}

static bool inject_text(const char *text)
{
    struct fault fault;
    if (!fault_parse(&fault, text)) {
        return false;
    }
    fault_cancel(&fault);
    if (fault.after == 0) {
        return inject(&fault, fault.count);
    }
    return inject(&fault, 0) && fault_delay(&fault, inject_now);
}

static void inject_all(void)
{
    for (const char *const *text = options.faults; *text; text++) {
        if (!inject_text(*text)) {
            fatal("fault=%s: expected [DEVICE.]NAME[:COUNT][@AFTER], an existing device, "
                  "and a fault that it supports",
                  *text);
        }
    }
}

static void on_exit_of_qemu(Notifier *notifier, void *data)
{
    (void)notifier;
    (void)data;
    for (size_t i = 0; i < BOARD_NPUS_MAX; i++) {
        if (npus[i]) {
            npu_device_stop(npus[i]);
        }
    }
    memory_dump_write(options.dumps);
}

/** Create the board's memories that QEMU's machine lacks; machine "none" already has them. */
static void make_memories(void)
{
    for (size_t i = 0; !board()->chip && i < board()->memory_count; i++) {
        if (board()->memories[i].size) {
            board_memory_create(&board()->memories[i], MACHINE_OVER_DEVICES);
        }
    }
}

/** Firmware may look for an NPU that is absent: a bus error, but not one for QEMU's log. */
static void make_npus(void)
{
    for (size_t i = 0; i < BOARD_NPUS_MAX; i++) {
        const struct npu_slot *slot = &board()->npus[i];
        if (options.npu[i]) {
            npus[i] = npu_device_create(slot, options.npu[i], options.timing);
        } else if (slot->argument && !options.unmapped_silent) {
            machine_map_hole(MACHINE_EMPTY, get_system_memory(), slot->argument, slot->base,
                             NPU_REGISTERS_SIZE);
        }
    }
}

static void on_machine_ready(Notifier *notifier, void *data)
{
    static Notifier exit_notifier = {.notify = on_exit_of_qemu};
    (void)notifier;
    (void)data;
    machine_find();
    boot_choose_start();
    if (options.has_vectors && machine_cortex_m()) {
        qdev_prop_set_uint32(machine_cortex_m(), "init-svtor", options.vectors);
    }
    power_cut_create(npu_device_any_runs, board_lose_power);
    make_memories();
    board_memory_resize(options.sizes);
    guest_memory_find(options.memories);
    memory_dump_check(options.dumps);
    cache_create(&options.coherence);
    cache_registers_create();
    make_npus();
    if (board()->dma.base) {
        dma_device_create(&board()->dma);
    }
    if (machine_has_cortex_m()) {
        core_power_create();
    }
    if (board()->page.base) {
        emulator_device_identify(!options.no_page);
    }
    if (has_page()) {
        emulator_device_create(&board()->page, inject_text);
    }
    if (options.unmapped_silent) {
        machine_map_hole(MACHINE_SILENT, get_system_memory(), "silence", 0, UINT64_C(1) << 32);
    }
    semihosting_create(&options.heap, options.one_console, options.files);
    inject_all();
    qemu_register_reset(reset, NULL);
    qemu_add_exit_notifier(&exit_notifier);
}

/** The guest is about to execute code for the first time, or for the first time after a change. */
static void on_translation(struct qemu_plugin_tb *tb)
{
    if (has_page() || watch_is_used()) { // nothing else reads the count
        callbacks_count(tb);
    }
    watch(tb);
    mram_watch(tb);
    code_check(tb);
    if (machine_has_cortex_m()) {
        core_check(tb);
    }
}

QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count,
                                    char **arguments);

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count, char **arguments)
{
    static Notifier ready_notifier = {.notify = on_machine_ready};
    const int api = info->version.cur;
    if (!qemu_api_accept(info) || !options_parse(&options, count, arguments)) {
        return -1;
    }
    const char *missing = qemu_api_missing(api, machine_has_cortex_m(), board()->chip);
    if (missing) {
        message(MESSAGE_NONE,
                "this QEMU, %s for %s, does not export %s, which the plugin needs; "
                "qemu-system-arm as Debian builds it, 7.2 to 11.1, does",
                qemu_api_version(), info->target_name, missing);
        return -1;
    }
    if (options.only_tells) {
        message(MESSAGE_NONE, "QEMU %s with plugin API %d; the plugin knows 1 to %d",
                qemu_api_version(), api, QEMU_API_NEWEST);
        exit(EXIT_SUCCESS);
    }
    if (board()->chip && !machine_none_prepare()) {
        return -1;
    }
    if (options.console && !console_open()) {
        return -1;
    }
    callbacks_translated(id, on_translation);
    qemu_add_machine_init_done_notifier(&ready_notifier);
    return 0;
}
