// SPDX-License-Identifier: MIT
/**
 * Starts inferences and waits for them; the kernel does the rest.
 *
 * A started job can't be stopped. After a time-out, the handle is busy until the kernel has ended
 * the job; the kernel kills a hanging job after half a second.
 */
#include "accel.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

/** Milliseconds that a cancellation waits for the job to end. */
#define CANCEL_MS 5000u

/** Longest time-out, milliseconds: a year. */
#define MAX_TIMEOUT UINT64_C(31536000000)

static int fail(struct accel *accel, int code, size_t found)
{
    return ethosu_ext_refuse(&accel->driver.fault, code, -1, found, 0);
}

/* ---- copies ---- */

void accel_fill_copies(struct accel *accel, const struct ethosu_ext_program *program,
                       uint32_t bases)
{
    for (uint32_t mask = bases; mask != 0; mask &= mask - 1) {
        const struct ethosu_ext_base *base = &program->base[__builtin_ctz(mask)];
        accel_copy(accel, accel_buffer_of(accel, (uint32_t)base->npu)->map,
                   (const void *)(uintptr_t)base->cpu, base->size);
    }
}

/** Read back the NPU's output. */
static void read_copies(struct accel *accel, const struct ethosu_ext_program *program)
{
    for (uint32_t mask = program->invalidate; mask != 0; mask &= mask - 1) {
        const struct ethosu_ext_base *base = &program->base[__builtin_ctz(mask)];
        accel_copy(accel, (uint8_t *)(uintptr_t)base->cpu + base->invalidate,
                   accel_buffer_of(accel, (uint32_t)base->npu)->map + base->invalidate,
                   base->invalidate_size);
    }
}

/* ---- the mark ---- */

static struct accel_mark *mark_of(const struct accel *accel)
{
    return (struct accel_mark *)accel->mark->map;
}

/* ---- the job ---- */

/** @return 0, or an errno; ETIME if the job is still running */
static int wait_until(const struct accel *accel, uint64_t timeout)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ms = timeout < MAX_TIMEOUT ? timeout : MAX_TIMEOUT;
    int64_t end = now.tv_sec * INT64_C(1000000000) + now.tv_nsec + (int64_t)(ms * 1000000);
    struct accel_buffer_wait wait = {.handle = accel->mark->handle, .timeout_ns = end};
    int error = accel_call(accel, accel->file, ACCEL_BUFFER_WAIT, &wait);
    return error == ETIMEDOUT || error == EBUSY ? ETIME : error;
}

/** Has the job ended? A late job may have ended meanwhile. */
static bool is_free(struct accel *accel)
{
    if (accel->state == ACCEL_LEFT && wait_until(accel, 0) == 0) {
        accel->state = ACCEL_IDLE;
    }
    return accel->state == ACCEL_IDLE;
}

static int submit(struct accel *accel, const struct ethosu_ext_program *program)
{
    struct accel_job job = {.stream = (uint32_t)program->stream};
    for (uint32_t mask = program->regioncfg; mask != 0; mask &= mask - 1) {
        uint32_t region = (uint32_t)__builtin_ctz(mask);
        job.regions[region] = (uint32_t)program->base[region].npu;
        if (job.regions[region] == 0) {
            job.sram_size = accel->sram_size; // all of it: see accel_buffers.c, SLACK
        }
    }
    job.regions[ACCEL_REGIONS - 1] = accel->mark->handle;
    struct accel_submit submit = {
        .jobs = (uintptr_t)&job, .job_count = 1, .perfmon = accel->perfmon};
    return accel_call(accel, accel->file, ACCEL_SUBMIT, &submit);
}

int ethosu_ext_start(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                     void *user_arg)
{
    struct accel *accel = accel_of(drv);
    (void)user_arg; // on Linux, no hooks use it
    if (program->owner != drv) {
        return fail(accel, ETHOSU_EXT_E_OTHER_NPU, 0);
    }
    if (!is_free(accel)) {
        return fail(accel, ETHOSU_EXT_E_BUSY, 0);
    }
    accel_fill_copies(accel, program, program->clean); // the CPU may have changed these
    struct accel_mark *mark = mark_of(accel);
    mark->next = ++accel->runs;
    mark->done = ~accel->runs;
    int error = submit(accel, program);
    if (error != 0) {
        return fail(accel, ETHOSU_EXT_E_ACCEL_REFUSED, (size_t)error);
    }
    drv->fault.code = ETHOSU_EXT_OK;
    accel->state = ACCEL_RUNNING;
    accel->run = program;
    return 0;
}

/** Check whether a job that the kernel reports as ended was actually completed. */
static int check_completion(struct accel *accel)
{
    const struct accel_mark *mark = mark_of(accel);
    accel->state = ACCEL_IDLE;
    __sync_synchronize(); // results are read after this
    if (mark->done != mark->next) {
        (void)fail(accel, ETHOSU_EXT_E_ACCEL_SILENT, 0);
        return -1;
    }
    read_copies(accel, accel->run);
    return 0;
}

static int time_out(struct accel *accel, uint64_t timeout)
{
    accel->state = ACCEL_LEFT;
    (void)ethosu_ext_refuse_wide(&accel->driver.fault, ETHOSU_EXT_E_ACCEL_TIMEOUT, -1, timeout, 0);
    return -1;
}

int ethosu_ext_wait(struct ethosu_driver *drv, uint64_t timeout)
{
    struct accel *accel = accel_of(drv);
    if (accel->state != ACCEL_RUNNING) {
        (void)fail(accel, ETHOSU_EXT_E_NOT_STARTED, 0);
        return -2;
    }
    int error = wait_until(accel, timeout);
    if (error == 0) {
        return check_completion(accel);
    }
    if (error == ETIME) {
        return timeout == 0 ? 1 : time_out(accel, timeout);
    }
    accel->state = ACCEL_LEFT;
    (void)fail(accel, ETHOSU_EXT_E_ACCEL_WAIT, (size_t)error);
    return -1;
}

int ethosu_ext_wait_program(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                            uint64_t timeout)
{
    struct accel *accel = accel_of(drv);
    if (accel->run != program) {
        (void)fail(accel, ETHOSU_EXT_E_NOT_STARTED, 0);
        return -2;
    }
    return ethosu_ext_wait(drv, timeout);
}

int ethosu_wait(struct ethosu_driver *drv, bool block)
{
    return ethosu_ext_wait(drv, block ? drv->timeout : 0);
}

bool ethosu_ext_is_running(const struct ethosu_driver *drv)
{
    const struct accel *accel = (const struct accel *)drv;
    return accel->state == ACCEL_RUNNING && wait_until(accel, 0) == ETIME;
}

int ethosu_ext_cancel(struct ethosu_driver *drv)
{
    struct accel *accel = accel_of(drv);
    if (accel->state == ACCEL_RUNNING) {
        accel->state = ACCEL_LEFT;
        (void)wait_until(accel, CANCEL_MS);
        (void)fail(accel, ETHOSU_EXT_E_CANCELLED, 0);
    }
    return is_free(accel) ? 0 : fail(accel, ETHOSU_EXT_E_BUSY, 0);
}

int ethosu_accel_fence(struct ethosu_driver *drv)
{
    struct accel *accel = accel_of(drv);
    struct accel_export export = {.handle = accel->mark->handle, .flags = O_CLOEXEC | O_RDWR};
    int error = accel_call(accel, accel->file, ACCEL_EXPORT, &export);
    if (error == 0) {
        struct accel_fence fence = {.flags = 1};
        error = accel_call(accel, export.file, ACCEL_EXPORT_FENCE, &fence);
        (void)accel->calls->close(export.file);
        if (error == 0) {
            return fence.file;
        }
    }
    (void)fail(accel, ETHOSU_EXT_E_ACCEL_WAIT, (size_t)error);
    return -1;
}

int ethosu_ext_run(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                   void *user_arg, uint64_t timeout)
{
    return ethosu_ext_start(drv, program, user_arg) == 0 ? ethosu_ext_wait(drv, timeout) : -1;
}
