// SPDX-License-Identifier: MIT
/**
 * Registers, widths and meanings: Arm's driver for it, timing_adapter.h and .c of ethos-u
 * core_platform (version 0x1117). As in Arm's Fast Model, by the same header, MODE is always 1.
 * The values after a reset are not documented: 0, which is no limit for each of them.
 *
 * Not modelled: limits of pending accesses (MAXR, MAXW, MAXRW), since the estimate has no single
 * accesses, and counting (PERFCNT, HISTCNT). They keep what is written.
 */
#include "npu/timing_adapter.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/message.h"
#include "board/machine.h"

#define WINDOW_SIZE 0x200u
#define VERSION_VALUE 0x1117u
#define MODE_VALUE 1u
#define BINS 16u
#define MILLI 1000u

enum {
    MAXR,
    MAXW,
    MAXRW,
    RLATENCY,
    WLATENCY,
    PULSE_ON,
    PULSE_OFF,
    BWCAP,
    PERFCTRL,
    PERFCNT,
    MODE,
    MAXPENDING,
    HISTBIN,
    HISTCNT,
    VERSION,
    REGISTERS
};

static const struct {
    const char *name;
    uint32_t mask;  /**< bits that can be written */
    uint32_t fixed; /**< of a register that cannot be written */
} registers[REGISTERS] = {
    [MAXR] = {"MAXR", 0x3F, 0},
    [MAXW] = {"MAXW", 0x3F, 0},
    [MAXRW] = {"MAXRW", 0x3F, 0},
    [RLATENCY] = {"RLATENCY", 0xFFF, 0},
    [WLATENCY] = {"WLATENCY", 0xFFF, 0},
    [PULSE_ON] = {"PULSE_ON", 0xFFFF, 0},
    [PULSE_OFF] = {"PULSE_OFF", 0xFFFF, 0},
    [BWCAP] = {"BWCAP", 0xFFFF, 0},
    [PERFCTRL] = {"PERFCTRL", 0x3F, 0},
    [PERFCNT] = {"PERFCNT", UINT32_MAX, 0},
    [MODE] = {"MODE", 0, MODE_VALUE},
    [MAXPENDING] = {"MAXPENDING", 0, 0x3F}, // the largest MAXR
    [HISTBIN] = {"HISTBIN", BINS - 1, 0},
    [HISTCNT] = {"HISTCNT", UINT32_MAX, 0},
    [VERSION] = {"VERSION", 0, VERSION_VALUE},
};

struct timing_adapter {
    const char *npu;
    uint32_t base;
    unsigned word;
    uint32_t values[REGISTERS];
    uint32_t bins[BINS];
    bool reported; /**< what is wrong with the present values */
};

/** A message about one of them. */
#define REPORT(adapter, format, ...)                                                   \
    message(MESSAGE_GUEST_ERROR, "%s: its timing adapter at 0x%08" PRIx32 ": " format, \
            (adapter)->npu, (adapter)->base, __VA_ARGS__)

/** Where a register's value is. */
static uint32_t *value_of(struct timing_adapter *adapter, uint32_t index)
{
    return index == HISTCNT ? &adapter->bins[adapter->values[HISTBIN]] : &adapter->values[index];
}

static uint32_t read_register(void *context, uint32_t offset)
{
    const uint32_t index = offset / 4;
    return index < REGISTERS ? *value_of(context, index) : 0;
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    struct timing_adapter *adapter = context;
    const uint32_t index = offset / 4;
    if (index >= REGISTERS) {
        REPORT(adapter, "it has no register at offset 0x%" PRIx32, offset);
        return;
    }
    const uint32_t mask = registers[index].mask;
    if (mask == 0) {
        if (value != registers[index].fixed) {
            REPORT(adapter, "%s is always 0x%" PRIx32 ", 0x%" PRIx32 " is ignored",
                   registers[index].name, registers[index].fixed, value);
        }
        return;
    }
    if (value & ~mask) {
        REPORT(adapter, "%s is 0x%" PRIx32 ", expected at most 0x%" PRIx32 "; it keeps 0x%" PRIx32,
               registers[index].name, value, mask, value & mask);
    }
    if (index == PERFCTRL && value != 0) {
        REPORT(adapter, "event %" PRIu32 " of PERFCTRL is not counted", value);
    }
    *value_of(adapter, index) = value & mask;
    adapter->reported = false;
}

void timing_adapter_reset(struct timing_adapter *adapter)
{
    for (uint32_t i = 0; i < REGISTERS; i++) {
        adapter->values[i] = registers[i].fixed;
    }
    for (uint32_t i = 0; i < BINS; i++) {
        adapter->bins[i] = 0;
    }
    adapter->reported = false;
}

struct timing_adapter *timing_adapter_create(const char *npu, uint32_t base, unsigned word)
{
    struct timing_adapter *adapter = calloc(1, sizeof *adapter); // never freed
    if (!adapter) {
        fatal("no memory for a timing adapter of %s", npu);
    }
    *adapter = (struct timing_adapter){.npu = npu, .base = base, .word = word};
    timing_adapter_reset(adapter);
    machine_map(&(struct machine_window){.name = "timing-adapter",
                                         .base = base,
                                         .size = WINDOW_SIZE,
                                         .read = read_register,
                                         .write = write_register},
                adapter);
    return adapter;
}

/** NULL, or why no access would ever end, or be limited. */
static const char *fault_of(const uint32_t *values)
{
    if (values[PULSE_ON] == 0 && values[PULSE_OFF] != 0) {
        return "PULSE_ON is 0 and PULSE_OFF is not, so it lets no access through, and the NPU would "
               "wait forever";
    }
    if (values[BWCAP] != 0 && values[PULSE_ON] == 0) {
        return "BWCAP is a number of words in PULSE_ON and PULSE_OFF cycles, which are both 0";
    }
    return NULL;
}

/**
 * In each period of PULSE_ON and PULSE_OFF cycles BWCAP words pass. Without BWCAP the pulses alone
 * limit no bandwidth: they stop addresses, and one address stands for many words.
 */
struct npu_adapter timing_adapter_settings(struct timing_adapter *adapter)
{
    const uint32_t *values = adapter->values;
    const char *fault = fault_of(values);
    if (fault && !adapter->reported) {
        REPORT(adapter, "%s; the estimate ignores PULSE_ON, PULSE_OFF and BWCAP", fault);
        adapter->reported = true;
    }
    struct npu_adapter settings = {.read_latency = (uint16_t)values[RLATENCY],
                                   .write_latency = (uint16_t)values[WLATENCY]};
    if (!fault && values[BWCAP] != 0) {
        const uint64_t bytes = (uint64_t)values[BWCAP] * adapter->word;
        const uint64_t period = values[PULSE_ON] + values[PULSE_OFF];
        settings.millibytes = (uint32_t)((bytes * MILLI + period - 1) / period);
    }
    return settings;
}
