// SPDX-License-Identifier: MIT
/** Registers, board and hooks of the fake NPU. */
#include "fake_npu.h"

#include "ethosu_sync.h"
#include "sim_host_io.h"

struct NPU_REG fakes[2];
char trace[256];
struct fake_spans flushed, invalidated;
unsigned begins, ends;
uint32_t fake_ms;
void (*fake_on_sleep)(void);
void (*fake_meddle)(void);
unsigned fake_moments;

static void moment(void)
{
    if (fake_moments != 0 && --fake_moments == 0 && fake_meddle != NULL) {
        fake_meddle();
    }
}

static void note(char what)
{
    moment();
    size_t length = strlen(trace);
    if (length + 1 < sizeof trace) {
        trace[length] = what;
        trace[length + 1] = '\0';
    }
}

/* ---- registers ---- */

static uint32_t *slot(struct NPU_REG *npu, uint32_t offset)
{
    CHECK(offset < 0x1000 && offset % 4 == 0);
    return &npu->registers[offset / 4];
}

/** Counters lie one page further on in Ethos-U85, and in none of the others; here at one place. */
static uint32_t known(struct NPU_REG *npu, uint32_t offset)
{
    uint32_t low = offset % 0x1000;
    bool counter = (low >= 0x180 && low < 0x1B0) || (low >= 0x300 && low < 0x400);
    bool u85 = npu->registers[NPU_CONFIG / 4] >> 28 == 2;
    CHECK_EQ(offset / 0x1000, u85 && counter);
    return low;
}

static void interrupt(struct NPU_REG *npu)
{
    bool high =
        (*slot(npu, NPU_STATUS) & (ETHOSU_EXT_STATUS_IRQ_RAISED | ETHOSU_EXT_STATUS_PMU_IRQ));
    if (high && !npu->masked && npu->driver != NULL) {
        ethosu_irq_handler(npu->driver);
    }
}

void fake_complete(struct NPU_REG *npu)
{
    if (npu->running) {
        npu->running = false;
        uint32_t *status = slot(npu, NPU_STATUS);
        *status &= ~(uint32_t)ETHOSU_EXT_STATUS_RUNNING;
        *status |= ETHOSU_EXT_STATUS_IRQ_RAISED | npu->end_status;
        interrupt(npu);
    }
}

/** Count an access; does a fault happen at it? */
static void count_access(struct NPU_REG *npu)
{
    npu->accesses++;
    moment();
    if (npu->dead_from != 0 && npu->accesses >= npu->dead_from) {
        npu->dead = true;
    }
    if (npu->accesses == npu->wrap_at) {
        *slot(npu, NPU_PMCCNTR_LO) = 0;
        *slot(npu, NPU_PMCCNTR_HI) += 1;
    }
    if (npu->accesses == npu->interrupt_at) {
        fake_complete(npu);
    }
}

uint32_t sim_host_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    offset = known(npu, offset);
    count_access(npu);
    if (npu->dead) {
        return UINT32_MAX;
    }
    if (offset == NPU_STATUS && npu->reset_pending > 0 && --npu->reset_pending == 0) {
        *slot(npu, NPU_STATUS) &= ~(uint32_t)ETHOSU_EXT_STATUS_RESETTING;
    }
    if (offset == NPU_PMCNTENCLR || offset == NPU_PMINTCLR || offset == NPU_PMOVSCLR) {
        offset -= 4;
    }
    return *slot(npu, offset);
}

static void wipe(struct NPU_REG *npu)
{
    static const uint32_t kept[] = {NPU_CONFIG, NPU_ID, NPU_CFG_SRAM_CAP, NPU_CFG_EXT_CAP};
    uint32_t registers[sizeof npu->registers / 4] = {0};
    for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        registers[kept[i] / 4] = *slot(npu, kept[i]);
    }
    memcpy(npu->registers, registers, sizeof registers);
}

static void write_command(struct NPU_REG *npu, uint32_t value)
{
    if (npu->loses_power && (value & NPU_CMD_POWER_Q_ENABLE)) {
        wipe(npu);
    }
    *slot(npu, NPU_CMD) = value & NPU_CMD_Q_BITS;
    if (value & NPU_CMD_CLEAR_IRQ) {
        *slot(npu, NPU_STATUS) &= ~(uint32_t)ETHOSU_EXT_STATUS_IRQ_RAISED;
    }
    if (value & NPU_CMD_RUN) {
        note('R');
        CHECK(npu->driver->job.state != ETHOSU_JOB_IDLE);
        npu->runs++;
        npu->running = true;
        *slot(npu, NPU_STATUS) = ETHOSU_EXT_STATUS_RUNNING;
        if (npu->end == FAKE_AT_ONCE) {
            fake_complete(npu);
        }
    }
}

static void write_reset(struct NPU_REG *npu, uint32_t value)
{
    note('X');
    wipe(npu);
    *slot(npu, NPU_PROT) = value ^ npu->prot_flips;
    *slot(npu, NPU_STATUS) = npu->reset_reads > 0 ? ETHOSU_EXT_STATUS_RESETTING : 0;
    *slot(npu, NPU_CMD) = NPU_CMD_Q_BITS;
    npu->reset_pending = npu->reset_reads;
    npu->running = false;
    npu->resets++;
}

/** Nothing is kept back here; tools/sim_host checks barriers. */
void sim_host_barrier(void)
{
}

void sim_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    offset = known(npu, offset);
    count_access(npu);
    npu->writes++;
    if (npu->dead) {
        return;
    }
    switch (offset) {
    case NPU_CMD:
        write_command(npu, value);
        break;
    case NPU_RESET:
        write_reset(npu, value);
        break;
    case NPU_PMCNTENSET:
    case NPU_PMINTSET:
    case NPU_PMOVSSET:
        *slot(npu, offset) |= value;
        break;
    case NPU_PMCNTENCLR:
    case NPU_PMINTCLR:
    case NPU_PMOVSCLR:
        *slot(npu, offset - 4) &= ~value;
        break;
    default:
        *slot(npu, offset) = value;
        break;
    }
}

/* ---- board ---- */

struct ethosu_memory fake_memories[2] = {
    {.name = "all", .end = (void *)UINTPTR_MAX, .masters = ETHOSU_MASTERS_ALL}};

struct ethosu_npu fake_npus[2] = {{.base = (uintptr_t)&fakes[0]}, {.base = (uintptr_t)&fakes[1]}};

const struct ethosu_board ethosu_board = {
    .name = "fake",
    .memories = fake_memories,
    .memory_count = 2,
    .cache_line = FAKE_CACHE_LINE,
    .npus = fake_npus,
    .npu_count = 2,
};

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return fake_ms;
}

void ethosu_ext_board_idle(const volatile uint32_t *flag)
{
    fake_ms++;
    for (unsigned i = 0; i < 2; i++) {
        if (fakes[i].end == FAKE_ON_SLEEP) {
            fake_complete(&fakes[i]);
        }
    }
    if (fake_on_sleep != NULL && *flag == 0) {
        fake_on_sleep();
    }
}

/* ---- hooks ---- */

/** The default's, with a moment before and after. */
int ethosu_mutex_lock(void *mutex)
{
    moment();
    return ethosu_ext_change(mutex, 0, 1) ? 0 : -1;
}

int ethosu_mutex_unlock(void *mutex)
{
    ethosu_ext_store(mutex, 0);
    moment();
    return 0;
}

uint64_t fake_bus_offset;

/** The process has more than 32 bits of addresses, the bus has not. */
uint64_t ethosu_address_remap(uint64_t address, int index)
{
    (void)index;
    return (uint32_t)address + fake_bus_offset;
}

static void record(struct fake_spans *spans, const uint64_t *start, const size_t *size, int count)
{
    for (int i = 0; i < count; i++) {
        if (spans->count < sizeof spans->size / sizeof spans->size[0]) {
            spans->start[spans->count] = (uintptr_t)start[i];
            spans->size[spans->count] = size[i];
        }
        spans->count++;
    }
}

void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int num_base_addr)
{
    note('f');
    record(&flushed, base_addr, base_addr_size, num_base_addr);
}

void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size,
                              int num_base_addr)
{
    note('i');
    record(&invalidated, base_addr, base_addr_size, num_base_addr);
}

void ethosu_inference_begin(struct ethosu_driver *drv, void *user_arg)
{
    (void)drv;
    (void)user_arg;
    note('b');
    begins++;
}

void ethosu_inference_end(struct ethosu_driver *drv, void *user_arg)
{
    (void)drv;
    (void)user_arg;
    note('e');
    ends++;
}

/* ---- set-up ---- */

void fake_power_up(struct NPU_REG *npu, const char *config)
{
    uint32_t word = 0;
    CHECK(ethosu_ext_config_parse(config, &word));
    *npu = (struct NPU_REG){.end_status = ETHOSU_EXT_STATUS_END_REACHED};
    *slot(npu, NPU_CONFIG) = word;
    *slot(npu, NPU_ID) = word >> 28 == 2 ? 0x20007000u : 0x10066001u;
    *slot(npu, NPU_CFG_SRAM_CAP) = 15 | 15 << 8 | 2 << 16;
    *slot(npu, NPU_CFG_EXT_CAP) = 63 | 7 << 8 | 1 << 16;
    *slot(npu, NPU_CMD) = NPU_CMD_Q_BITS;
}

static struct ethosu_driver first_driver;

struct ethosu_driver *fake_driver(const char *config)
{
    ethosu_ext_memory_use(&ethosu_board);
    fake_power_up(&fakes[0], config);
    CHECK_EQ(ethosu_init(&first_driver, &fakes[0], NULL, 0, 1, 1), 0);
    fakes[0].driver = &first_driver;
    CHECK(ethosu_reserve_driver() == &first_driver);
    trace[0] = '\0';
    return &first_driver;
}

const char *fake_error(const struct ethosu_driver *drv)
{
    static char sentence[200];
    ethosu_ext_describe(ethosu_ext_last_error(drv), sentence, sizeof sentence);
    return sentence;
}

_Alignas(16) uint32_t good_payload[9] = {
    0x31504F43u, 0x00100001u, 0x00000007u, 0x10066001u, 5, 5, 5, 0x00010002u, 0xFFFF0000u,
};

_Alignas(64) static uint8_t weights[64], scratch[256], fast_scratch[128];
uint64_t good_bases[3];
size_t good_sizes[3] = {sizeof weights, sizeof scratch, sizeof fast_scratch};

int start_good(struct ethosu_driver *drv)
{
    good_bases[0] = (uintptr_t)weights;
    good_bases[1] = (uintptr_t)scratch;
    good_bases[2] = (uintptr_t)fast_scratch;
    return ethosu_invoke_async(drv, good_payload, GOOD_PAYLOAD_SIZE, good_bases, good_sizes, 3,
                               NULL);
}

void start_endless(struct ethosu_driver *drv)
{
    fakes[0].end = FAKE_NEVER;
    CHECK_EQ(start_good(drv), 0);
}

int run_good(struct ethosu_driver *drv)
{
    CHECK_EQ(start_good(drv), 0);
    return ethosu_wait(drv, true);
}

void check_error(const struct ethosu_driver *drv, int code, const char *text)
{
    CHECK_EQ(ethosu_ext_last_error(drv)->code, code);
    CHECK_TEXT(fake_error(drv), text);
}

void check_clean(const struct ethosu_driver *drv)
{
    CHECK_EQ(begins, ends);
    CHECK_EQ(drv->power_request_counter, 0);
    CHECK_EQ(drv->job.state, ETHOSU_JOB_IDLE);
}

void check_next_works(struct ethosu_driver *drv)
{
    struct NPU_REG *npu = &fakes[0];
    npu->end = FAKE_ON_SLEEP;
    npu->end_status = ETHOSU_EXT_STATUS_END_REACHED;
    npu->masked = npu->dead = false;
    npu->dead_from = npu->interrupt_at = 0;
    npu->reset_reads = npu->prot_flips = 0;
    fake_on_sleep = NULL;
    unsigned runs = npu->runs;
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(ethosu_wait(drv, false), 1); // a leftover count would end it here
    CHECK_EQ(ethosu_wait(drv, true), 0);
    CHECK_EQ(npu->runs, runs + 1);
    check_clean(drv);
}
