// SPDX-License-Identifier: MIT
/** The kernel's checks of streams and jobs, and the execution of a job on the simulator. */
#include "sim_accel_internal.h"

#include "driver/base/ethosu_registers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OP_STOP = 0x00, OP_RESIZE = 0x07, HAS_PAYLOAD = 0x4000 };

/** NPU address of region 0; each region and the stream get this much address space. */
#define REGION_SHIFT 36
#define STREAM_INDEX ACCEL_REGIONS

/** Register values set by the kernel when it powers the NPU up: non-secure, REGIONCFG. */
#define NON_SECURE 2u
#define KERNEL_REGIONCFG 0xAA8Au

int job_check_stream(const uint32_t *words, size_t bytes)
{
    size_t count = bytes / 4;
    for (size_t at = 0; at < count; at += words[at] & HAS_PAYLOAD ? 2 : 1) {
        uint32_t code = words[at] & 0xFFFF;
        if (code == OP_RESIZE) {
            return EINVAL;
        }
        if (code == OP_STOP) {
            return at + 1 == count ? 0 : EINVAL;
        }
    }
    return EINVAL;
}

/** The memory of a running job. */
struct window {
    struct {
        uint8_t *bytes; /**< a copy until the job is accepted */
        size_t size;
        uint8_t *original;
        bool touched;
    } regions[ACCEL_REGIONS + 1];
    bool missing; /**< a region without a buffer was accessed */
    bool over;    /**< a region was accessed beyond its end */
    bool over_sram;
};

static uint8_t *map(void *context, const struct npu_access *access)
{
    struct window *window = *(struct window **)context;
    uint64_t index = (access->address >> REGION_SHIFT) - 1;
    uint64_t offset = access->address & ((UINT64_C(1) << REGION_SHIFT) - 1);
    if (window == NULL || access->secure || index > STREAM_INDEX) {
        return NULL;
    }
    window->regions[index].touched = true;
    if (window->regions[index].bytes == NULL) {
        window->missing = true;
        return NULL;
    }
    size_t size = window->regions[index].size;
    if (offset > size || access->length > size - offset) {
        window->over = true;
        window->over_sram = window->regions[index].original == NULL;
        return NULL;
    }
    return window->regions[index].bytes + offset;
}

/** The running job, for the simulator's bus. */
static struct window *current;

static void no_irq(void *context, bool level)
{
    (void)context;
    (void)level;
}

const struct npu_bus job_bus = {.context = &current, .map = map, .irq = no_irq};

static uint32_t pmu(const struct device *device)
{
    return npu_registers_size(device->npu) > NPU_REGISTERS_SIZE ? 0x1000 : 0;
}

static void begin_counting(const struct device *device)
{
    uint32_t offset = pmu(device);
    for (uint32_t i = 0; i < device->event_count; i++) {
        npu_write(device->npu, NPU_PMEVTYPER0 + offset + 4 * i, device->events[i]);
    }
    npu_write(device->npu, NPU_PMCR + offset,
              NPU_PMCR_ENABLE | NPU_PMCR_EVENT_RESET | NPU_PMCR_CYCLE_RESET);
    npu_write(device->npu, NPU_PMCNTENSET + offset,
              0x80000000u | ((1u << device->event_count) - 1));
}

static void end_counting(struct device *device)
{
    uint32_t offset = pmu(device);
    for (uint32_t i = 0; i < device->event_count; i++) {
        device->counts[i] += npu_read(device->npu, NPU_PMEVCNTR0 + offset + 4 * i);
    }
    uint64_t high = npu_read(device->npu, NPU_PMCCNTR_HI + offset);
    device->counts[device->event_count] +=
        high << 32 | npu_read(device->npu, NPU_PMCCNTR_LO + offset);
}

static void execute(struct device *device, bool counted)
{
    npu_t *npu = device->npu;
    npu_reset(npu);
    npu_write(npu, NPU_RESET, NON_SECURE);
    npu_write(npu, NPU_REGIONCFG, KERNEL_REGIONCFG);
    for (uint32_t i = 0; i <= STREAM_INDEX; i++) {
        uint32_t offset = i == STREAM_INDEX ? NPU_QBASE : NPU_BASEP0 + 8 * i;
        npu_write(npu, offset, 0);
        npu_write(npu, offset + 4, (i + 1) << (REGION_SHIFT - 32));
    }
    npu_write(npu, NPU_QSIZE, (uint32_t)current->regions[STREAM_INDEX].size);
    if (counted) {
        begin_counting(device);
    }
    if (npu_write(npu, NPU_CMD, NPU_CMD_RUN) == NPU_ACTION_EXECUTE) {
        npu_execute(npu, 0);
        npu_finish(npu);
    }
    if (counted) {
        end_counting(device);
    }
}

static bool map_region(struct window *window, uint32_t index, uint8_t *original, size_t size)
{
    window->regions[index].original = original;
    window->regions[index].size = size;
    window->regions[index].bytes = calloc(1, size);
    if (window->regions[index].bytes != NULL && original != NULL) {
        memcpy(window->regions[index].bytes, original, size);
    }
    return window->regions[index].bytes != NULL;
}

/** Copy all buffers that the job refers to. @return 0, or an errno */
static int open_window(struct device *device, const struct accel_job *job, struct window *window)
{
    const struct object *stream = device_object(device, job->stream, true);
    if (stream == NULL) {
        return device_object(device, job->stream, false) != NULL ? EINVAL : ENOENT;
    }
    if (job->sram_size > device->sram_size ||
        (job->sram_size > 0 && job->regions[ACCEL_SRAM_REGION] != 0)) {
        return EINVAL;
    }
    if (!map_region(window, STREAM_INDEX, stream->bytes, stream->size) ||
        (job->sram_size > 0 && !map_region(window, ACCEL_SRAM_REGION, NULL, job->sram_size))) {
        return ENOMEM;
    }
    for (uint32_t i = 0; i < ACCEL_REGIONS; i++) {
        if (job->regions[i] == 0) {
            continue;
        }
        const struct object *buffer = device_object(device, job->regions[i], false);
        if (buffer == NULL) {
            return device_object(device, job->regions[i], true) != NULL ? EINVAL : ENOENT;
        }
        if (!map_region(window, i, buffer->bytes, buffer->size)) {
            return ENOMEM;
        }
    }
    return 0;
}

/** Checks of a region that the kernel makes before the job runs; here they are made afterwards. */
static int check_region(const struct accel_job *job, const struct window *window, uint32_t index)
{
    if (job->regions[index] == 0) {
        return 0;
    }
    for (uint32_t other = 0; other < index; other++) {
        if (job->regions[other] == job->regions[index]) {
            return EALREADY;
        }
    }
    return window->regions[index].touched ? 0 : EINVAL;
}

static int check_job(const struct accel_job *job, const struct window *window)
{
    if (window->missing) {
        return ENOENT;
    }
    if (window->over) {
        return window->over_sram ? EINVAL : EOVERFLOW;
    }
    int error = 0;
    for (uint32_t i = 0; i < ACCEL_REGIONS && error == 0; i++) {
        error = check_region(job, window, i);
    }
    return error;
}

/** Copy the results back to the originals. */
static void commit(const struct window *window)
{
    for (uint32_t i = 0; i < ACCEL_REGIONS; i++) {
        if (window->regions[i].original != NULL) {
            memcpy(window->regions[i].original, window->regions[i].bytes, window->regions[i].size);
        }
    }
}

int job_run(struct device *device, const struct accel_job *job, unsigned flags)
{
    struct window window = {0};
    int error = open_window(device, job, &window);
    if (error == 0) {
        current = &window;
        execute(device, flags & JOB_COUNTED);
        current = NULL;
        error = check_job(job, &window);
    }
    if (error == 0 && !(flags & JOB_ONLY_CHECK)) {
        commit(&window);
    }
    for (uint32_t i = 0; i <= STREAM_INDEX; i++) {
        free(window.regions[i].bytes);
    }
    return error;
}
