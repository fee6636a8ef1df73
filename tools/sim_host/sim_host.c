// SPDX-License-Identifier: MIT
/** The board: its description, one driver per NPU, and cache hooks. */
#include "sim_host_internal.h"

static const struct ethosu_npu npus[SIM_HOST_NPU_COUNT] = {
    {.base = (uintptr_t)&sim_host_npus[0], .secure = true, .privileged = true},
    {.base = (uintptr_t)&sim_host_npus[1], .secure = true, .privileged = true},
};

/** Filled when the first NPU is opened. */
static struct ethosu_memory memories[SIM_HOST_PART_COUNT];

const struct ethosu_board ethosu_board = {
    .name = "sim_host",
    .npus = npus,
    .npu_count = SIM_HOST_NPU_COUNT,
    .memories = memories,
    .memory_count = SIM_HOST_PART_COUNT,
    .cache_line = COHERENCE_LINE,
};

static void on_interrupt(void *argument)
{
    ethosu_irq_handler(argument);
}

static void print_fault(const struct ethosu_driver *driver)
{
    char message[160];
    ethosu_ext_describe(ethosu_ext_last_error(driver), message, sizeof message);
    sim_host_print(message);
}

struct ethosu_driver *sim_host_open(unsigned index, const char *config)
{
    if (index >= SIM_HOST_NPU_COUNT) {
        sim_host_print("unknown NPU number");
        return NULL;
    }
    struct NPU_REG *npu = &sim_host_npus[index];
    const struct ethosu_npu *facts = &npus[index];
    sim_host_close(index);
    if (!sim_host_cache_mode_is_valid()) {
        sim_host_print("ETHOSU_COHERENCE: expected off, strict or evict:SEED");
        return NULL;
    }
    sim_host_bus_open(memories);
    ethosu_ext_memory_use(&ethosu_board);
    if (!sim_host_create(index, config)) {
        sim_host_print("unknown NPU config");
        return NULL;
    }
    ethosu_ext_board_irq_connect(index, on_interrupt, &npu->driver);
    if (ethosu_init(&npu->driver, npu, facts->fast_memory, facts->fast_memory_size, facts->secure,
                    facts->privileged) != 0) {
        print_fault(&npu->driver);
        sim_host_destroy(index);
        return NULL;
    }
    return &npu->driver;
}

void sim_host_close(unsigned index)
{
    if (index < SIM_HOST_NPU_COUNT && sim_host_npus[index].sim != NULL) {
        ethosu_deinit(&sim_host_npus[index].driver);
        ethosu_ext_board_irq_disconnect(index);
        sim_host_destroy(index);
    }
}

bool ethosu_ext_board_npu_present(size_t index)
{
    return index < SIM_HOST_NPU_COUNT && sim_host_npus[index].sim != NULL;
}

/* ---- the driver's hooks, defined here since archives would supply the weak defaults ---- */

void ethosu_flush_dcache(const uint64_t *base, const size_t *size, int count)
{
    sim_host_cache_maintain(COHERENCE_CLEAN, base, size, count);
}

void ethosu_invalidate_dcache(const uint64_t *base, const size_t *size, int count)
{
    sim_host_cache_maintain(COHERENCE_INVALIDATE, base, size, count);
}
