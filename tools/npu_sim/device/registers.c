// SPDX-License-Identifier: MIT
/**
 * The register window: one row per register or register array. This is the only list. Layout: Arm's
 * interface headers of Ethos-U55, Ethos-U65 and Ethos-U85.
 */
#include <string.h>

#include "core/npu_internal.h"
#include "device/device.h"

enum {
    ID = 0x000,
    STATUS = 0x004,
    CMD = 0x008,
    RESET = 0x00C,
    QBASE_LO = 0x010,
    QBASE_HI = 0x014,
    QREAD = 0x018,
    QCONFIG = 0x01C,
    QSIZE = 0x020,
    PROT = 0x024,
    CONFIG = 0x028,
    COND_STATUS = 0x030,
    REGIONCFG = 0x03C,
    MEM_ATTR = 0x040,
    BASEP0 = 0x080,
    BASEP_LAST = 0x0BC,
    TSU_CMD0 = 0x800,
    TSU_CMD0_LAST = 0x93C,
    TSU_CMD1 = 0xA00,
    TSU_LAST = 0xBCC,
};

/** Sets of families. */
enum {
    ON_U55 = 1 << NPU_U55,
    ON_U65 = 1 << NPU_U65,
    ON_U85 = 1 << NPU_U85,
    ON_OLD = ON_U55 | ON_U65,
    ON_ANY = ON_OLD | ON_U85,
};

enum {
    STATUS_RUNNING = 1 << 0,
    STATUS_IRQ = 1 << 1,
    STATUS_BUS = 1 << 2,
    STATUS_RESET = 1 << 3,
    STATUS_PARSE = 1 << 4,
    STATUS_END = 1 << 5,
    STATUS_PMU_IRQ = 1 << 6,
    STATUS_WEIGHTS = 1 << 7,
    STATUS_BRANCH = 1 << 9,
    STATUS_FAULTS = STATUS_BUS | STATUS_PARSE | STATUS_WEIGHTS | STATUS_BRANCH,
    STATUS_INTERFACE_SHIFT = 11,
    STATUS_CHANNEL_SHIFT = 12,
    STATUS_HISTORY_SHIFT = 16,
};

enum {
    CMD_RUN = 1 << 0,
    CMD_CLEAR_IRQ = 1 << 1,
    CMD_CLOCK_Q = 1 << 2,
    CMD_POWER_Q = 1 << 3,
    CMD_STOP = 1 << 4,
    CMD_HISTORY_SHIFT = 16,
};

enum { PROT_PRIVILEGED = 1 << 0, PROT_NON_SECURE = 1 << 1 };

enum { MEM_ATTRS = 4, MEM_ATTR_PORT = 2 };

struct register_row {
    uint16_t first, last; /**< byte offsets of the first and last word */
    uint8_t families;     /**< set of ON_* */
    uint32_t writable;    /**< bits that a plain write stores; 0 is read-only */
    uint32_t reset;
    uint32_t (*read)(struct npu *npu, uint32_t offset);
    enum npu_action (*write)(struct npu *npu, uint32_t offset, uint32_t value);
    const char *name;
};

static uint32_t *slot(struct npu *npu, uint32_t offset)
{
    return &npu->registers[offset / 4];
}

static uint32_t read_id(struct npu *npu, uint32_t offset)
{
    (void)offset;
    return npu->product->family->id;
}

static uint32_t read_config(struct npu *npu, uint32_t offset)
{
    (void)offset;
    return npu->product->config;
}

static uint32_t read_part_id0(struct npu *npu, uint32_t offset)
{
    (void)offset;
    return npu->product->family->part_id0;
}

/** The flag evaluated by NPU_OP_BRANCH; owned by the run while the NPU is running. */
static uint32_t read_cond_status(struct npu *npu, uint32_t offset)
{
    (void)offset;
    return !npu->running && npu->result_flag ? 1 : 0;
}

static uint32_t read_qread(struct npu *npu, uint32_t offset)
{
    (void)offset;
    return atomic_load(&npu->qread);
}

/** Code of the command mirrored at this offset; the mirror omits unused opcodes. */
static uint32_t tsu_code(uint32_t offset)
{
    static const uint8_t groups[] = {0x00, 0x10, 0x20, 0x30, 0x80, 0x90, 0xA0, 0x38};
    if (offset < TSU_CMD1) {
        uint32_t index = (offset - TSU_CMD0) / 4;
        return 0x100 + index + (index >= 0x40 ? 0x40 : 0);
    }
    uint32_t index = (offset - TSU_CMD1) / 8;
    return NPU_CODE_CLASS_PAYLOAD | (groups[index / 8] + index % 8);
}

/** Mirror of the command registers; owned by the run while the NPU is running. */
static uint32_t read_tsu(struct npu *npu, uint32_t offset)
{
    int row = npu_command_find(npu->product->family->index, tsu_code(offset));
    if (npu->running || row < 0) {
        return 0;
    }
    bool high = offset >= TSU_CMD1 && (offset & 4) != 0;
    return (uint32_t)(npu->command[row] >> (high ? 32 : 0));
}

/** Writing QBASE or QSIZE of a stopped NPU clears cmd_end_reached. */
static enum npu_action write_queue(struct npu *npu, uint32_t offset, uint32_t value)
{
    *slot(npu, offset) = value;
    if (!npu->running) {
        *slot(npu, STATUS) &= ~(uint32_t)STATUS_END;
    }
    return NPU_ACTION_NONE;
}

static uint64_t read_address(struct npu *npu, uint32_t offset)
{
    uint64_t mask = ((uint64_t)1 << npu->product->family->address_bits) - 1;
    return ((uint64_t)*slot(npu, offset + 4) << 32 | *slot(npu, offset)) & mask;
}

static enum npu_action start(struct npu *npu)
{
    uint32_t *status = slot(npu, STATUS);
    if (npu->running || (*status & STATUS_FAULTS) != 0) {
        npu_log(npu, "run ignored: NPU is %s (STATUS 0x%08x)",
                npu->running ? "running" : "faulty and needs a reset", (unsigned)*status);
        return NPU_ACTION_NONE;
    }
    struct npu_run *run = &npu->run;
    memset(run, 0, sizeof *run);
    npu_state_reset(npu);
    run->qbase = read_address(npu, QBASE_LO);
    run->qsize = *slot(npu, QSIZE);
    run->qconfig = *slot(npu, QCONFIG);
    run->region_config = *slot(npu, REGIONCFG);
    run->secure = (*slot(npu, PROT) & PROT_NON_SECURE) == 0;
    run->privileged = (*slot(npu, PROT) & PROT_PRIVILEGED) != 0;
    for (uint32_t i = 0; i < MEM_ATTRS; i++) {
        uint32_t attributes = *slot(npu, MEM_ATTR + 4 * i);
        bool own = npu->product->family->memory_attributes;
        run->port[i] = (uint8_t)((own ? attributes >> MEM_ATTR_PORT : i >> 1) & 1);
    }
    for (uint32_t i = 0; i < NPU_REGION_COUNT; i++) {
        run->base[i] = read_address(npu, BASEP0 + 8 * i);
    }
    run->row = -1;
    npu_pmu_start(npu);
    atomic_store(&npu->abort, false);
    atomic_store(&npu->qread, 0);
    npu->running = true;
    *status = (*status | STATUS_RUNNING) & ~(uint32_t)STATUS_END;
    return NPU_ACTION_EXECUTE;
}

static enum npu_action write_cmd(struct npu *npu, uint32_t offset, uint32_t value)
{
    uint32_t *status = slot(npu, STATUS);
    *slot(npu, offset) = value & (CMD_CLOCK_Q | CMD_POWER_Q);
    if ((value & CMD_CLEAR_IRQ) != 0) {
        *status &= ~(uint32_t)(STATUS_IRQ | STATUS_PMU_IRQ);
    }
    *status &= ~(value >> CMD_HISTORY_SHIFT << STATUS_HISTORY_SHIFT);
    npu_update_irq(npu);
    if ((value & CMD_STOP) != 0 && npu->running) {
        return NPU_ACTION_ABORT;
    }
    return (value & CMD_RUN) != 0 ? start(npu) : NPU_ACTION_NONE;
}

/** Activate the privilege and security levels requested by a reset. */
static void complete_reset(struct npu *npu)
{
    uint32_t prot = *slot(npu, RESET) & (PROT_PRIVILEGED | PROT_NON_SECURE);
    npu_registers_reset(npu);
    *slot(npu, PROT) = prot;
    npu_update_irq(npu);
}

static enum npu_action write_reset(struct npu *npu, uint32_t offset, uint32_t value)
{
    *slot(npu, offset) = value & 3u;
    if (npu->running) {
        npu->reset_pending = true;
        return NPU_ACTION_ABORT;
    }
    complete_reset(npu);
    return NPU_ACTION_NONE;
}

#define WORD 0xFFFFFFFFu

static const struct register_row rows[] = {
    {ID, ID, ON_ANY, 0, 0, read_id, NULL, "ID"},
    {STATUS, STATUS, ON_ANY, 0, 0, NULL, NULL, "STATUS"},
    {CMD, CMD, ON_ANY, WORD, CMD_CLOCK_Q | CMD_POWER_Q, NULL, write_cmd, "CMD"},
    {RESET, RESET, ON_ANY, WORD, 0, NULL, write_reset, "RESET"},
    {QBASE_LO, QBASE_HI, ON_ANY, WORD, 0, NULL, write_queue, "QBASE"},
    {QREAD, QREAD, ON_ANY, 0, 0, read_qread, NULL, "QREAD"},
    {QCONFIG, QCONFIG, ON_ANY, 0x3, 0, NULL, NULL, "QCONFIG"},
    {QSIZE, QSIZE, ON_ANY, WORD, 0, NULL, write_queue, "QSIZE"},
    {PROT, PROT, ON_ANY, 0, 0, NULL, NULL, "PROT"},
    {CONFIG, CONFIG, ON_ANY, 0, 0, read_config, NULL, "CONFIG"},
    {0x02C, 0x02C, ON_OLD, WORD, 0, NULL, NULL, "LOCK"},
    {COND_STATUS, COND_STATUS, ON_U85, 0, 0, read_cond_status, NULL, "COND_STATUS"},
    {0x038, 0x038, ON_U85, 0x3F, 0, NULL, NULL, "POWER_CTRL"},
    {REGIONCFG, REGIONCFG, ON_ANY, 0xFFFF, 0, NULL, NULL, "REGIONCFG"},
    {0x040, 0x04C, ON_U55, 0x0F1F00F3u, 0, NULL, NULL, "AXI_LIMIT"},
    {0x040, 0x04C, ON_U65, 0x1F3F00F3u, 0, NULL, NULL, "AXI_LIMIT"},
    {MEM_ATTR, 0x04C, ON_U85, 0xF7, 0, NULL, NULL, "MEM_ATTR"},
    {0x050, 0x054, ON_U85, 0x31F3F, 0, NULL, NULL, "AXI_SRAM/EXT"},
    {0x060, 0x064, ON_U85, 0, 0x21F3F, NULL, NULL, "CFG_SRAM/EXT_CAP"},
    {0x068, 0x07C, ON_U85, 0, 0, NULL, NULL, "CFG_SRAM/EXT_HASH"},
    {BASEP0, BASEP_LAST, ON_ANY, WORD, 0, NULL, NULL, "BASEP"},
    {0x100, 0x108, ON_OLD, 0, 0, NULL, NULL, "WD/MAC/AO_STATUS"},
    {0x110, 0x114, ON_OLD, 0, 0, NULL, NULL, "DMA_STATUS"},
    {0x140, 0x140, ON_ANY, 0x3F, 0, NULL, NULL, "CLKFORCE"},
    {0x144, 0x148, ON_ANY, WORD, 0, NULL, NULL, "DEBUG_ADDRESS/MISC"},
    {0x14C, 0x14C, ON_U65, WORD, 0, NULL, NULL, "DEBUGCORE"},
    {0x150, 0x150, ON_OLD, WORD, 0, NULL, NULL, "DEBUG_BLOCK"},
    {0x154, 0x154, ON_U85, 0x3, 0, NULL, NULL, "FEATURE_DISABLE"},
    {0x180, 0x198, ON_OLD, WORD, 0, npu_pmu_read, npu_pmu_write, "PMU control"},
    {0x1A0, 0x1A4, ON_OLD, WORD, 0, npu_pmu_read, npu_pmu_write, "PMCCNTR"},
    {0x1A8, 0x1A8, ON_OLD, 0x03FF03FFu, 0, npu_pmu_read, npu_pmu_write, "PMCCNTR_CFG"},
    {0x1AC, 0x1AC, ON_OLD, 0x70F, 0, npu_pmu_read, npu_pmu_write, "PMCAXI_CHAN"},
    {0x200, 0x2BC, ON_ANY, 0, 0, NULL, NULL, "TSU_DEBUG"},
    {0x300, 0x30C, ON_OLD, WORD, 0, npu_pmu_read, npu_pmu_write, "PMEVCNTR"},
    {0x380, 0x38C, ON_OLD, 0x3FF, 0, npu_pmu_read, npu_pmu_write, "PMEVTYPER"},
    {0x400, 0x7FC, ON_ANY, 0, 0, NULL, NULL, "SHARED_BUFFER"},
    {TSU_CMD0, TSU_CMD0_LAST, ON_ANY, 0, 0, read_tsu, NULL, "TSU"},
    {TSU_CMD1, TSU_LAST, ON_ANY, 0, 0, read_tsu, NULL, "TSU"},
    {0xFC0, 0xFC0, ON_ANY, 0, 0, NULL, NULL, "REVISION"},
    {0xFD0, 0xFD0, ON_ANY, 0, 4, NULL, NULL, "PID4"},
    {0xFD4, 0xFDC, ON_ANY, 0, 0, NULL, NULL, "PID5..7"},
    {0xFE0, 0xFE0, ON_ANY, 0, 0, read_part_id0, NULL, "PID0"},
    {0xFE4, 0xFE4, ON_ANY, 0, 0xB5, NULL, NULL, "PID1"},
    {0xFE8, 0xFE8, ON_ANY, 0, 0x0B, NULL, NULL, "PID2"},
    {0xFEC, 0xFEC, ON_ANY, 0, 0, NULL, NULL, "PID3"},
    {0xFF0, 0xFF0, ON_ANY, 0, 0x0D, NULL, NULL, "CID0"},
    {0xFF4, 0xFF4, ON_ANY, 0, 0xF0, NULL, NULL, "CID1"},
    {0xFF8, 0xFF8, ON_ANY, 0, 0x05, NULL, NULL, "CID2"},
    {0xFFC, 0xFFC, ON_ANY, 0, 0xB1, NULL, NULL, "CID3"},
    {0x1100, 0x1108, ON_U85, 0, 0, NULL, NULL, "WD/MAC/AO_STATUS"},
    {0x1110, 0x1114, ON_U85, 0, 0, NULL, NULL, "DMA_STATUS"},
    {0x1180, 0x1198, ON_U85, WORD, 0, npu_pmu_read, npu_pmu_write, "PMU control"},
    {0x11A0, 0x11A4, ON_U85, WORD, 0, npu_pmu_read, npu_pmu_write, "PMCCNTR"},
    {0x11A8, 0x11A8, ON_U85, 0xF3FFF3FFu, 0, npu_pmu_read, npu_pmu_write, "PMCCNTR_CFG"},
    {0x11AC, 0x11AC, ON_U85, 0x50F, 0, npu_pmu_read, npu_pmu_write, "PMCAXI_CHAN"},
    {0x11B0, 0x11B0, ON_U85, 0xFFFF0001u, 0, NULL, NULL, "PMCLUT"},
    {0x1300, 0x131C, ON_U85, WORD, 0, npu_pmu_read, npu_pmu_write, "PMEVCNTR"},
    {0x1380, 0x139C, ON_U85, 0xF3FF, 0, npu_pmu_read, npu_pmu_write, "PMEVTYPER"},
};

static bool exists(const struct npu *npu, const struct register_row *row)
{
    return (row->families >> npu->product->family->index & 1) != 0;
}

static const struct register_row *find_row(const struct npu *npu, uint32_t offset)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && offset % 4 == 0; i++) {
        if (offset >= rows[i].first && offset <= rows[i].last && exists(npu, &rows[i])) {
            return &rows[i];
        }
    }
    return NULL;
}

void npu_registers_reset(struct npu *npu)
{
    memset(npu->registers, 0, sizeof npu->registers);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint32_t offset = rows[i].first; offset <= rows[i].last && exists(npu, &rows[i]);
             offset += 4) {
            *slot(npu, offset) = rows[i].reset;
        }
    }
    npu_pmu_reset(npu);
    npu_state_reset(npu);
    atomic_store(&npu->qread, 0);
}

uint32_t npu_read(npu_t *npu, uint32_t offset)
{
    if (npu->reset_pending) {
        return offset == STATUS ? *slot(npu, STATUS) | STATUS_RESET : 0;
    }
    const struct register_row *row = find_row(npu, offset);
    if (row == NULL) {
        npu_log(npu, "read of unknown register 0x%03x", (unsigned)offset);
        return 0;
    }
    return row->read != NULL ? row->read(npu, offset) : *slot(npu, offset);
}

enum npu_action npu_write(npu_t *npu, uint32_t offset, uint32_t value)
{
    const struct register_row *row = find_row(npu, offset);
    if (row == NULL || row->writable == 0 || npu->reset_pending) {
        npu_log(npu, "write of 0x%08x to %s register 0x%03x ignored", (unsigned)value,
                row == NULL ? "unknown" : row->name, (unsigned)offset);
        return NPU_ACTION_NONE;
    }
    value &= row->writable;
    if (row->write != NULL) {
        return row->write(npu, offset, value);
    }
    *slot(npu, offset) = value;
    return NPU_ACTION_NONE;
}

void npu_update_irq(struct npu *npu)
{
    bool level = (*slot(npu, STATUS) & (STATUS_IRQ | STATUS_PMU_IRQ)) != 0;
    if (level != npu->irq_level) {
        npu->irq_level = level;
        npu->bus.irq(npu->bus.context, level);
    }
}

/** STATUS bits that report how the run failed. */
static uint32_t fault_status(const struct npu *npu)
{
    const struct npu_run *run = &npu->run;
    switch (run->fault) {
    case NPU_FAULT_PARSE:
        return STATUS_PARSE | STATUS_IRQ;
    case NPU_FAULT_WEIGHTS:
        return (npu->product->family->weight_faults ? STATUS_WEIGHTS : STATUS_PARSE) | STATUS_IRQ;
    case NPU_FAULT_BRANCH:
        return STATUS_BRANCH | STATUS_IRQ;
    case NPU_FAULT_BUS:
        return STATUS_BUS | STATUS_IRQ | (uint32_t)run->fault_interface << STATUS_INTERFACE_SHIFT |
               (uint32_t)run->fault_channel << STATUS_CHANNEL_SHIFT;
    default:
        return 0;
    }
}

void npu_finish(npu_t *npu)
{
    struct npu_run *run = &npu->run;
    uint32_t *status = slot(npu, STATUS);
    if (!npu->running) {
        return;
    }
    if (npu->reset_pending) {
        npu->reset_pending = false;
        npu->running = false;
        complete_reset(npu);
        return;
    }
    if (run->interrupted || run->stopped) {
        *status |= STATUS_IRQ | (uint32_t)run->irq_mask << STATUS_HISTORY_SHIFT;
        run->irq_mask = 0;
        run->interrupted = false;
    }
    if (run->stopped || run->fault != NPU_FAULT_NONE) {
        npu->running = false;
        *status &= ~(uint32_t)STATUS_RUNNING;
        *status |= run->fault == NPU_FAULT_NONE ? STATUS_END : fault_status(npu);
    }
    if (npu_pmu_publish(npu)) {
        *status |= STATUS_PMU_IRQ;
    }
    npu_update_irq(npu);
}
