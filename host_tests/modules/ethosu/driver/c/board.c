// SPDX-License-Identifier: MIT
/** The board of the driver's C tests. */
#include "board.h"

#include "driver/base/ethosu_sync.h"

struct board_npu npus[2];
char trace[256];
struct board_spans flushed, invalidated;
unsigned begins, ends;
uint32_t clock_ms;
void (*on_sleep)(void);
void (*on_access)(const struct sim_host_access *access);
void (*interfere)(void);
unsigned accesses_left;
uint64_t bus_offset;

struct ethosu_memory memories[2] = {
    {.name = "all", .end = (void *)UINTPTR_MAX, .masters = ETHOSU_MASTERS_ALL}};

struct ethosu_npu npu_table[2] = {{.base = (uintptr_t)&sim_host_npus[0]},
                                  {.base = (uintptr_t)&sim_host_npus[1]}};

const struct ethosu_board ethosu_board = {
    .name = "test",
    .memories = memories,
    .memory_count = 2,
    .cache_line = COHERENCE_LINE,
    .npus = npu_table,
    .npu_count = 2,
};

static void moment(void)
{
    if (accesses_left != 0 && --accesses_left == 0 && interfere != NULL) {
        interfere();
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

static void prepare_run(unsigned index)
{
    struct board_npu *npu = &npus[index];
    note('R');
    CHECK(npu->driver->job.state != ETHOSU_JOB_IDLE);
    npu->runs++;
    CHECK(sim_host_inject(index, "hang", npu->end != END_AT_ONCE));
}

/** The counters of Ethos-U85 are in the second page, all other registers in the first. */
static void check_page(unsigned index, uint32_t offset)
{
    uint32_t low = offset % 0x1000;
    bool counter = (low >= 0x180 && low < 0x1B0) || (low >= 0x300 && low < 0x400);
    bool u85 = reg(index, NPU_CONFIG) >> 28 == 2;
    CHECK_EQ(offset / 0x1000, u85 && counter);
}

static void watch(const struct sim_host_access *access)
{
    struct board_npu *npu = &npus[access->index];
    npu->accesses++;
    npu->writes += access->write;
    npu->written = access->write ? *access : npu->written;
    check_page(access->index, access->offset);
    moment();
    if (on_access != NULL) {
        on_access(access);
    }
    if (npu->dead_from != 0 && npu->accesses >= npu->dead_from) {
        CHECK(sim_host_inject(access->index, "dead", UINT32_MAX));
    }
    if (npu->accesses == npu->complete_at) {
        complete(access->index);
    }
    if (access->write && access->offset == NPU_CMD && (access->value & NPU_CMD_RUN)) {
        prepare_run(access->index);
    }
    if (access->write && access->offset == NPU_RESET) {
        note('X');
        npu->resets++;
    }
}

static npu_t *simulator(unsigned index)
{
    return sim_host_npus[index].sim;
}

static uint32_t in_window(unsigned index, uint32_t offset)
{
    bool counter = offset >= NPU_PMCR && offset < 0x400;
    return offset + (counter && npu_registers_size(simulator(index)) > 0x1000 ? 0x1000 : 0);
}

uint32_t reg(unsigned index, uint32_t offset)
{
    return simulator(index) == NULL ? 0 : npu_read(simulator(index), in_window(index, offset));
}

void set_reg(unsigned index, uint32_t offset, uint32_t value)
{
    CHECK_EQ(npu_write(simulator(index), in_window(index, offset), value), NPU_ACTION_NONE);
}

uint32_t *storage(unsigned index, uint32_t offset)
{
    return &simulator(index)->registers[in_window(index, offset) / 4];
}

void inject(const char *fault, unsigned count)
{
    CHECK(sim_host_inject(0, fault, count));
}

bool is_running(unsigned index)
{
    return simulator(index) != NULL && (reg(index, NPU_STATUS) & ETHOSU_EXT_STATUS_RUNNING) != 0;
}

void complete(unsigned index)
{
    CHECK(sim_host_inject(index, "hang", 0));
}

/* ---- clock and hooks ---- */

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return clock_ms;
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    clock_ms++;
    for (unsigned i = 0; i < 2; i++) {
        if (npus[i].end == END_ON_SLEEP) {
            complete(i);
        }
    }
    if (on_sleep != NULL && *flag == 0) {
        on_sleep();
    }
}

/** Calls the default hook, with a moment before and after it. */
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

/** Address of all memory on the bus, independent of the table; it fits into 32 bits. */
uint64_t ethosu_address_remap(uint64_t address, int index)
{
    (void)index;
    struct ethosu_memory window[SIM_HOST_PART_COUNT];
    sim_host_bus_open(window);
    uint64_t offset = address - (uintptr_t)window[0].start;
    return bus_offset +
           (offset < SIM_HOST_BUS_SIZE ? SIM_HOST_BUS_BASE + offset : (uint32_t)address);
}

static void record(struct board_spans *spans, const uint64_t *start, const size_t *size, int count)
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

void *alloc(size_t size)
{
    CHECK(sim_host_coherence("off")); // whatever the environment says: hooks are only recorded
    void *memory = sim_host_alloc(size);
    CHECK(memory != NULL);
    return memory;
}

uint64_t bus_address(const void *memory)
{
    return ethosu_address_remap((uintptr_t)memory, 0);
}

struct NPU_REG *power_up(unsigned index, const char *config)
{
    CHECK(sim_host_create(index, config));
    sim_host_watch(watch);
    npus[index] = (struct board_npu){0};
    return &sim_host_npus[index];
}

static void handle_interrupt(void *argument)
{
    ethosu_irq_handler(argument);
}

void attach(unsigned index, struct ethosu_driver *drv)
{
    npus[index].driver = drv;
    ethosu_ext_board_irq_connect(index, handle_interrupt, drv);
}

static struct ethosu_driver first_driver;

struct ethosu_driver *open_driver(const char *config)
{
    ethosu_ext_memory_use(&ethosu_board);
    CHECK_EQ(ethosu_init(&first_driver, power_up(0, config), NULL, 0, 1, 1), 0);
    attach(0, &first_driver);
    CHECK(ethosu_reserve_driver() == &first_driver);
    trace[0] = '\0';
    return &first_driver;
}

const char *error_text(const struct ethosu_driver *drv)
{
    static char message[200];
    ethosu_ext_describe(ethosu_ext_last_error(drv), message, sizeof message);
    return message;
}

uint32_t *good_payload;
uint64_t good_bases[3];
size_t good_sizes[3] = {64, 256, 128};

static uint8_t *buffers[3];

__attribute__((constructor)) static void make_good(void)
{
    static const uint32_t words[GOOD_PAYLOAD_SIZE / 4] = {
        0x31504F43u, 0x00100001u, 0x00000007u, 0x10066001u, 5, 5, 5, 0x00010002u, 0xFFFF0000u,
    };
    good_payload = alloc(sizeof words);
    memcpy(good_payload, words, sizeof words);
    for (unsigned i = 0; i < 3; i++) {
        buffers[i] = alloc(good_sizes[i]);
    }
}

int start_good(struct ethosu_driver *drv)
{
    for (unsigned i = 0; i < 3; i++) {
        good_bases[i] = (uintptr_t)buffers[i];
    }
    return ethosu_invoke_async(drv, good_payload, GOOD_PAYLOAD_SIZE, good_bases, good_sizes, 3,
                               NULL);
}

void start_endless(struct ethosu_driver *drv)
{
    npus[0].end = END_NEVER;
    CHECK_EQ(start_good(drv), 0);
}

int run_good(struct ethosu_driver *drv)
{
    CHECK_EQ(start_good(drv), 0);
    return ethosu_wait(drv, true);
}

void check_error(const struct ethosu_driver *drv, int result, int code, const char *text)
{
    CHECK_EQ(result, -1);
    CHECK_EQ(ethosu_ext_last_error(drv)->code, code);
    CHECK_TEXT(error_text(drv), text);
}

void check_clean(const struct ethosu_driver *drv)
{
    CHECK_EQ(begins, ends);
    CHECK_EQ(drv->power_request_counter, 0);
    CHECK_EQ(drv->job.state, ETHOSU_JOB_IDLE);
}

void check_next_works(struct ethosu_driver *drv)
{
    static const char *const faults[] = {"dead", "irq-lost", "prot-stuck", "reset-stuck"};
    struct board_npu *npu = &npus[0];
    npu->end = END_ON_SLEEP;
    npu->dead_from = npu->complete_at = 0;
    on_sleep = NULL;
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        inject(faults[i], 0);
    }
    unsigned runs = npu->runs;
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(ethosu_wait(drv, false), 1); // a leftover count would end it here
    CHECK_EQ(ethosu_wait(drv, true), 0);
    CHECK_EQ(npu->runs, runs + 1);
    CHECK_EQ(sim_host_damaged_guards(), 0);
    check_clean(drv);
}
