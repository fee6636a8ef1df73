// SPDX-License-Identifier: MIT
/** The board: its description, opening and closing of NPUs, interrupts, time, log. */
#include "sim_host_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NPU_INITIAL(number) \
    {.index = (number), .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}

struct NPU_REG sim_host_npus[SIM_HOST_NPU_COUNT] = {NPU_INITIAL(0), NPU_INITIAL(1)};

static const struct ethosu_npu npus[SIM_HOST_NPU_COUNT] = {
    {.base = (uintptr_t)&sim_host_npus[0], .secure = true, .privileged = true},
    {.base = (uintptr_t)&sim_host_npus[1], .secure = true, .privileged = true},
};

/** Known when the first NPU is opened. */
static struct ethosu_memory memories[SIM_HOST_PART_COUNT];

const struct ethosu_board ethosu_board = {
    .name = "sim_host",
    .npus = npus,
    .npu_count = SIM_HOST_NPU_COUNT,
    .memories = memories,
    .memory_count = SIM_HOST_PART_COUNT,
    .cache_line = COHERENCE_LINE,
};

/* ---- log ---- */

static struct {
    pthread_mutex_t lock;
    char lines[4096];
    char taken[4096];
    size_t length;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sim_host_print(const char *line)
{
    pthread_mutex_lock(&journal.lock);
    size_t room = sizeof journal.lines - journal.length;
    int added = snprintf(journal.lines + journal.length, room, "%s\n", line);
    if (added > 0 && (size_t)added < room) {
        journal.length += (size_t)added;
    }
    pthread_mutex_unlock(&journal.lock);
}

const char *sim_host_log(void)
{
    pthread_mutex_lock(&journal.lock);
    memcpy(journal.taken, journal.lines, journal.length);
    journal.taken[journal.length] = '\0';
    journal.length = 0;
    pthread_mutex_unlock(&journal.lock);
    return journal.taken;
}

/* ---- open and close ---- */

static void on_interrupt(void *argument)
{
    ethosu_irq_handler(argument);
}

static void print_fault(const struct ethosu_driver *driver)
{
    char sentence[160];
    ethosu_ext_describe(ethosu_ext_last_error(driver), sentence, sizeof sentence);
    sim_host_print(sentence);
}

struct ethosu_driver *sim_host_open(unsigned index, const char *config)
{
    if (index >= SIM_HOST_NPU_COUNT) {
        sim_host_print("there is no NPU of this number");
        return NULL;
    }
    struct NPU_REG *npu = &sim_host_npus[index];
    const struct ethosu_npu *facts = &npus[index];
    sim_host_close(index);
    if (!sim_host_cache_is_right()) {
        sim_host_print("ETHOSU_COHERENCE: expected off, strict or evict:SEED");
        return NULL;
    }
    sim_host_bus_open(memories);
    ethosu_ext_memory_use(&ethosu_board);
    if (!sim_host_npu_create(npu, config)) {
        sim_host_print("the simulator knows no such config");
        return NULL;
    }
    ethosu_ext_board_irq_connect(index, on_interrupt, &npu->driver);
    if (ethosu_init(&npu->driver, npu, facts->fast_memory, facts->fast_memory_size, facts->secure,
                    facts->privileged) != 0) {
        print_fault(&npu->driver);
        sim_host_npu_destroy(npu);
        return NULL;
    }
    return &npu->driver;
}

void sim_host_close(unsigned index)
{
    if (index < SIM_HOST_NPU_COUNT && sim_host_npus[index].sim != NULL) {
        ethosu_deinit(&sim_host_npus[index].driver);
        ethosu_ext_board_irq_disconnect(index);
        sim_host_npu_destroy(&sim_host_npus[index]);
        memset(&sim_host_npus[index].faults, 0, sizeof sim_host_npus[index].faults);
    }
}

const char *const *sim_host_configs(void)
{
    return npu_configs();
}

uint64_t sim_host_cycles(unsigned index)
{
    return npu_cycles(sim_host_npus[index].sim);
}

bool sim_host_memories(unsigned index, const struct npu_memory *table, unsigned count)
{
    return index < SIM_HOST_NPU_COUNT && sim_host_npus[index].sim != NULL &&
           npu_set_memories(sim_host_npus[index].sim, table, count);
}

/* ---- ethosu_board.h ---- */

bool ethosu_ext_board_npu_present(size_t index)
{
    return index < SIM_HOST_NPU_COUNT && sim_host_npus[index].sim != NULL;
}

void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument)
{
    pthread_mutex_lock(&sim_host_npus[index].lock);
    sim_host_npus[index].handler = handler;
    sim_host_npus[index].argument = argument;
    pthread_mutex_unlock(&sim_host_npus[index].lock);
}

void ethosu_ext_board_irq_disconnect(size_t index)
{
    ethosu_ext_board_irq_connect(index, NULL, NULL);
}

bool sim_host_time_is_real(void)
{
    bool real = false;
    for (unsigned i = 0; i < SIM_HOST_NPU_COUNT; i++) {
        real = real || sim_host_npus[i].threaded;
    }
    return real;
}

/** Milliseconds that were slept while no NPU had a thread. */
static uint32_t virtual_ms;

uint32_t ethosu_ext_board_ticks_ms(void)
{
    struct timespec now = {0};
    if (sim_host_time_is_real()) {
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return virtual_ms + (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void ethosu_ext_board_idle(const volatile uint32_t *flag)
{
    (void)flag;
    if (sim_host_time_is_real()) {
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    } else {
        virtual_ms++;
    }
}
