// SPDX-License-Identifier: MIT
/**
 * The CPU's data cache, which this process lacks. The CPU (this process) works on the bus window
 * and the NPUs on a second window; only the hooks called by the driver move data between the two
 * (tools/npu_sim/coherence.h).
 */
#include "sim_host_internal.h"

#include "coherence.h"

#include "driver/board/ethosu_io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_COUNT (SIM_HOST_BUS_SIZE / COHERENCE_LINE)

static struct {
    pthread_mutex_t lock;
    struct coherence coherence;
    struct coherence_mode mode; /**< for new memory */
    bool mode_known;
    bool environment_is_invalid;
    uint8_t *cpu; /**< the bus window; the next two have its size, `state` one byte per line */
    uint8_t *memory;
    uint8_t *snapshot;
    uint8_t *state;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- mode ---- */

static bool set_mode(const char *text)
{
    struct coherence_mode mode;
    cache.mode_known = true;
    if (!coherence_parse(text, &mode)) {
        return false;
    }
    cache.mode = mode;
    coherence_evict(&cache.coherence, mode.evict, mode.seed);
    return true;
}

/** On first use, take the mode from the environment unless it is already set. */
static void read_mode(void)
{
    const char *text = getenv("ETHOSU_COHERENCE");
    if (!cache.mode_known && text != NULL && *text != '\0') {
        cache.environment_is_invalid = !set_mode(text);
    }
    cache.mode_known = true;
}

bool sim_host_coherence(const char *mode)
{
    pthread_mutex_lock(&cache.lock);
    bool known = set_mode(mode);
    cache.environment_is_invalid = cache.environment_is_invalid && !known;
    pthread_mutex_unlock(&cache.lock);
    return known;
}

bool sim_host_cache_mode_is_valid(void)
{
    pthread_mutex_lock(&cache.lock);
    read_mode();
    bool valid = !cache.environment_is_invalid;
    pthread_mutex_unlock(&cache.lock);
    return valid;
}

/* ---- memory ---- */

static uint8_t *reserve(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool open_windows(uint8_t *window)
{
    if (cache.memory == NULL) {
        cache.cpu = window;
        cache.snapshot = reserve(SIM_HOST_BUS_SIZE);
        cache.state = reserve(LINE_COUNT);
        cache.memory = reserve(SIM_HOST_BUS_SIZE);
    }
    return cache.memory != NULL && cache.snapshot != NULL && cache.state != NULL;
}

static uint8_t *add(uint8_t *window, size_t start, size_t size, enum coherence_attribute attribute)
{
    struct coherence_range range = {
        .base = (uintptr_t)(window + start),
        .size = size,
        .attribute = attribute,
        .cpu = window + start,
        .memory = cache.memory + start,
        .snapshot = cache.snapshot + start,
        .state = cache.state + start / COHERENCE_LINE,
    };
    return coherence_add(&cache.coherence, &range, COHERENCE_UNKNOWN) ? range.memory : NULL;
}

bool sim_host_cache_add(uint8_t *window, size_t start, size_t size,
                        enum coherence_attribute attribute, uint8_t **memory)
{
    *memory = NULL;
    pthread_mutex_lock(&cache.lock);
    read_mode();
    bool enabled = cache.mode.on;
    if (enabled && open_windows(window)) {
        *memory = add(window, start, size, attribute);
    }
    pthread_mutex_unlock(&cache.lock);
    return !enabled || *memory != NULL;
}

void sim_host_cache_remove(const uint8_t *start)
{
    pthread_mutex_lock(&cache.lock);
    coherence_remove(&cache.coherence, (uintptr_t)start);
    pthread_mutex_unlock(&cache.lock);
}

uint8_t *sim_host_cache_map(const uint8_t *start, uint64_t length)
{
    bool cpu_stopped = !sim_host_time_is_real();
    pthread_mutex_lock(&cache.lock);
    uint8_t *bytes = coherence_map(&cache.coherence, (uintptr_t)start, length, cpu_stopped);
    pthread_mutex_unlock(&cache.lock);
    return bytes;
}

void sim_host_cache_event(void)
{
    bool cpu_stopped = !sim_host_time_is_real();
    pthread_mutex_lock(&cache.lock);
    coherence_event(&cache.coherence, cpu_stopped);
    pthread_mutex_unlock(&cache.lock);
}

/* ---- the driver's hooks ---- */

void sim_host_cache_maintain(enum coherence_operation operation, const uint64_t *base,
                             const size_t *size, int count)
{
    pthread_mutex_lock(&cache.lock);
    for (int i = 0; i < count; i++) {
        coherence_maintain(&cache.coherence, operation, base[i], size[i]);
    }
    pthread_mutex_unlock(&cache.lock);
}

void sim_host_barrier(void)
{
    pthread_mutex_lock(&cache.lock);
    coherence_barrier(&cache.coherence);
    pthread_mutex_unlock(&cache.lock);
}
