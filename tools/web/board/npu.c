// SPDX-License-Identifier: MIT
/** The NPUs of this board; see npu.h. Linear memory is their bus: an address is the CPU's. */
#include "npu.h"

#include "cpu.h"
#include "host.h"
#include "npu_io.h"
#include "npu_sim.h"

/** The first KiB holds nothing: a null pointer with an offset is a bus error. */
#define BUS_START 1024u

struct NPU_REG web_npus[WEB_NPUS];

static uint8_t *map(void *context, const struct npu_access *access)
{
    (void)context;
    uint64_t end = (uint64_t)__builtin_wasm_memory_size(0) << 16;
    bool inside = access->address >= BUS_START && access->address <= end &&
                  access->length <= end - access->address;
    return inside ? (uint8_t *)(uintptr_t)access->address : NULL;
}

static void pend(const struct NPU_REG *npu)
{
    core_pend(WEB_NPU_IRQ + (uint32_t)(npu - web_npus));
}

static void set_level(void *context, bool level)
{
    struct NPU_REG *npu = context;
    npu->level = level;
    if (level) {
        pend(npu);
    }
}

void npu_level_again(void)
{
    for (unsigned i = 0; i < WEB_NPUS; i++) {
        if (web_npus[i].level) {
            pend(&web_npus[i]);
        }
    }
}

void npu_start(void)
{
    struct npu_memory memories[NPU_MEMORIES] = {0};
    uint32_t count = host_memories(memories, NPU_MEMORIES);
    for (unsigned i = 0; i < WEB_NPUS; i++) {
        struct NPU_REG *npu = &web_npus[i];
        const struct npu_bus bus = {.context = npu, .map = map, .irq = set_level};
        char config[32];
        size_t size = host_npu(i, config, sizeof config - 1);
        config[size] = '\0';
        npu->sim = size != 0 ? npu_create(config, &bus) : NULL;
        npu->id = npu->sim != NULL;
        if (npu->sim != NULL) {
            npu_set_memories(npu->sim, memories, count);
        }
    }
}

static void work(struct NPU_REG *npu, unsigned operations)
{
    enum npu_outcome outcome = npu_execute(npu->sim, operations);
    if (outcome != NPU_OUTCOME_STEPPED) {
        npu->working = outcome == NPU_OUTCOME_IRQ;
        npu_finish(npu->sim);
    }
}

bool npu_work(void)
{
    bool any = false;
    for (unsigned i = 0; i < WEB_NPUS; i++) {
        if (web_npus[i].working) {
            work(&web_npus[i], 1);
            any = true;
        }
    }
    return any;
}

uint32_t ethosu_io_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    return npu_read(reg->sim, offset);
}

void ethosu_io_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    struct NPU_REG *npu = (struct NPU_REG *)reg;
    enum npu_action action = npu_write(npu->sim, offset, value);
    if (action == NPU_ACTION_EXECUTE) {
        npu->working = true;
    } else if (action == NPU_ACTION_ABORT) {
        npu_abort(npu->sim);
        if (npu->working) {
            work(npu, 0);
        }
        npu->working = false;
    }
}
