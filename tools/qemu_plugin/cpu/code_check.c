// SPDX-License-Identifier: MIT
/** See code_check.h. Everything here is called by the CPU's thread, or while it is stopped. */
#include "cpu/code_check.h"

#include <string.h>

#include "base/message.h"
#include "cpu/cache.h"

/** Number of code lines remembered; a new line replaces another in the same slot. */
#define LINE_COUNT 16384u

/** A line of the instruction cache, with its content when fetched. */
struct line {
    uint32_t address;
    uint32_t generation; /**< generation of the cache's content; if different, not fetched */
    uint8_t bytes[COHERENCE_LINE];
};

static struct line lines[LINE_COUNT];
static uint32_t generation = 1;
static bool enabled;

static struct line *line_at(uint32_t address)
{
    return &lines[address / COHERENCE_LINE % LINE_COUNT];
}

void code_check_enable(bool on)
{
    enabled = on;
    generation++;
}

void code_check_invalidate_all(void)
{
    generation++;
}

void code_check_invalidate(uint32_t address)
{
    struct line *line = line_at(address);
    if (line->address == address - address % COHERENCE_LINE) {
        line->generation = 0;
    }
}

/** Does code in one line match the instruction cache? Fetches the line if it is new. */
static bool is_fetched(uint32_t address, uint32_t size)
{
    uint32_t at = address % COHERENCE_LINE;
    const uint8_t *bytes = guest_memory_map(MASTER_CPU, address - at, COHERENCE_LINE, false);
    struct line *line = line_at(address);
    if (!bytes) {
        return true;
    }
    if (line->address != address - at || line->generation != generation) {
        line->address = address - at;
        line->generation = generation;
        memcpy(line->bytes, bytes, COHERENCE_LINE);
    }
    return memcmp(line->bytes + at, bytes + at, size) == 0;
}

static bool all_fetched(uint32_t address, uint32_t size)
{
    while (size > 0) {
        uint32_t left = COHERENCE_LINE - address % COHERENCE_LINE;
        uint32_t part = size < left ? size : left;
        if (!is_fetched(address, part)) {
            return false;
        }
        address += part;
        size -= part;
    }
    return true;
}

static uint32_t size_of(const struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, count - 1);
    return (uint32_t)(qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last) -
                      qemu_plugin_tb_vaddr(tb));
}

void code_check(const struct qemu_plugin_tb *tb)
{
    if (!cache_is_requested() || qemu_plugin_tb_n_insns(tb) == 0) {
        return;
    }
    uint32_t address = (uint32_t)qemu_plugin_tb_vaddr(tb), size = size_of(tb);
    if (!cache_is_clean(address, size)) {
        fatal("executes code at 0x%08x that was not cleaned to memory, or was written there by "
              "another bus master and not invalidated",
              address);
    }
    if (enabled && !all_fetched(address, size)) {
        fatal("executes code at 0x%08x that has changed since the instruction cache was last "
              "invalidated",
              address);
    }
}
