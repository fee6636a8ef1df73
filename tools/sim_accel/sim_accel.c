// SPDX-License-Identifier: MIT
/** The five system calls: files, handles and the job queue. */
#include "sim_accel_internal.h"

#include "ethosu_accel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES_MAX 8
#define QUEUE_MAX 32
#define FENCES_MAX 32
#define PAGE 4096u
#define COUNTERS 4

/** A queued job. */
struct queued {
    struct device *device;
    struct accel_job job;
    unsigned flags;
};

static struct {
    char config[32];
    size_t sram_size;
    struct device *devices[FILES_MAX];
    struct queued queue[QUEUE_MAX];
    unsigned queued;
    int fences[FENCES_MAX]; /**< to be signalled at the end of the queue */
    unsigned fence_count;
    bool held;
    unsigned lost;
    unsigned failing; /**< ioctl number whose next call fails; 0 for none */
    int error;
} kernel = {.config = "ethos-u65-256", .sram_size = 393216};

/* ---- set-up ---- */

bool sim_accel_set_up(const char *config, size_t sram)
{
    npu_t *npu = strlen(config) < sizeof kernel.config ? npu_create(config, &job_bus) : NULL;
    if (npu == NULL) {
        return false;
    }
    npu_destroy(npu);
    strcpy(kernel.config, config);
    kernel.sram_size = sram;
    kernel.failing = kernel.lost = 0;
    return true;
}

void sim_accel_drop(unsigned jobs)
{
    kernel.lost = jobs;
}

void sim_accel_fail(unsigned number, int error)
{
    kernel.failing = number;
    kernel.error = error;
}

unsigned sim_accel_open_files(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < FILES_MAX; i++) {
        count += kernel.devices[i] != NULL;
    }
    return count;
}

unsigned sim_accel_buffers(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < FILES_MAX; i++) {
        for (unsigned j = 1; kernel.devices[i] != NULL && j < OBJECTS_MAX; j++) {
            const struct object *object = &kernel.devices[i]->objects[j];
            count += object->bytes != NULL && !object->is_stream;
        }
    }
    return count;
}

/* ---- the queue ---- */

static void run_queue(void)
{
    for (unsigned i = 0; i < kernel.queued; i++) {
        const struct queued *next = &kernel.queue[i];
        (void)job_run(next->device, &next->job, next->flags);
    }
    kernel.queued = 0;
    for (unsigned i = 0; i < kernel.fence_count; i++) {
        (void)eventfd_write(kernel.fences[i], 1);
        close(kernel.fences[i]);
    }
    kernel.fence_count = 0;
}

void sim_accel_hold(bool on)
{
    kernel.held = on;
    if (!on) {
        run_queue();
    }
}

/** Drop the jobs of a closed file. */
static void forget_jobs(const struct device *device)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < kernel.queued; i++) {
        if (kernel.queue[i].device != device) {
            kernel.queue[kept++] = kernel.queue[i];
        }
    }
    kernel.queued = kept;
}

/* ---- handles ---- */

struct object *device_object(struct device *device, uint32_t handle, bool is_stream)
{
    struct object *object = handle < OBJECTS_MAX ? &device->objects[handle] : NULL;
    return object != NULL && object->bytes != NULL && object->is_stream == is_stream ? object
                                                                                     : NULL;
}

/** @return 0, or an errno */
static int add(struct device *device, size_t size, bool is_stream, uint32_t *handle)
{
    for (uint32_t i = 1; i < OBJECTS_MAX; i++) {
        struct object *object = &device->objects[i];
        if (object->bytes != NULL) {
            continue;
        }
        if (posix_memalign((void **)&object->bytes, PAGE, size) != 0) {
            object->bytes = NULL;
            return ENOMEM;
        }
        memset(object->bytes, 0, size);
        object->size = size;
        object->is_stream = is_stream;
        *handle = i;
        return 0;
    }
    return ENOMEM;
}

static void remove_object(struct object *object)
{
    free(object->bytes);
    *object = (struct object){0};
}

/* ---- ioctls ---- */

static int query(struct device *device, void *argument)
{
    struct accel_query *query = argument;
    struct accel_npu_info info = {npu_read(device->npu, 0), npu_read(device->npu, 0x28),
                                  (uint32_t)device->sram_size, COUNTERS};
    if (query->type != 0 || query->size > sizeof info) {
        return EINVAL;
    }
    memcpy((void *)(uintptr_t)query->pointer, &info, query->size);
    return 0;
}

static int create_buffer(struct device *device, void *argument)
{
    struct accel_buffer_create *create = argument;
    if (create->size == 0 || create->flags > 1) {
        return EINVAL;
    }
    create->size = (create->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return add(device, create->size, false, &create->handle);
}

static int wait_buffer(struct device *device, void *argument)
{
    const struct accel_buffer_wait *wait = argument;
    if (wait->pad != 0 || device_object(device, wait->handle, false) == NULL) {
        return EINVAL;
    }
    return kernel.queued > 0 ? ETIME : 0;
}

static int place_buffer(struct device *device, void *argument)
{
    struct accel_buffer_offset *place = argument;
    place->offset = (uint64_t)place->handle << 32;
    return device_object(device, place->handle, false) != NULL ? 0 : ENOENT;
}

static int create_stream(struct device *device, void *argument)
{
    struct accel_stream_create *create = argument;
    const void *words = (const void *)(uintptr_t)create->data;
    if (create->size == 0 || create->flags != 0 || create->pad != 0) {
        return EINVAL;
    }
    int error = job_check_stream(words, create->size);
    error = error != 0 ? error : add(device, create->size, true, &create->handle);
    if (error == 0) {
        memcpy(device->objects[create->handle].bytes, words, create->size);
    }
    return error;
}

static int submit_one(struct device *device, const struct accel_job *job, uint32_t perfmon)
{
    unsigned flags = perfmon == 1 && device->event_count > 0 ? JOB_COUNTED : 0;
    bool lost = kernel.lost > 0;
    kernel.lost -= lost;
    if (!kernel.held || lost) {
        return job_run(device, job, flags | (lost ? JOB_ONLY_CHECK : 0));
    }
    int error = kernel.queued == QUEUE_MAX ? ENOMEM : job_run(device, job, JOB_ONLY_CHECK);
    if (error == 0) {
        kernel.queue[kernel.queued++] = (struct queued){device, *job, flags};
    }
    return error;
}

static int submit(struct device *device, void *argument)
{
    const struct accel_submit *submit = argument;
    const struct accel_job *jobs = (const struct accel_job *)(uintptr_t)submit->jobs;
    int error = 0;
    for (uint32_t i = 0; i < submit->job_count && error == 0; i++) {
        error = submit_one(device, &jobs[i], submit->perfmon);
    }
    return error;
}

static int create_perfmon(struct device *device, void *argument)
{
    struct accel_perfmon_create *create = argument;
    if (create->counters == 0 || create->counters > COUNTERS) {
        return EINVAL;
    }
    memset(device->counts, 0, sizeof device->counts);
    memcpy(device->events, create->events, create->counters * sizeof create->events[0]);
    device->event_count = create->counters++;
    create->id = 1;
    return 0;
}

static int destroy_perfmon(struct device *device, void *argument)
{
    (void)argument;
    device->event_count = 0;
    return 0;
}

static int get_values(struct device *device, void *argument)
{
    const struct accel_perfmon_values *values = argument;
    if (values->id != 1 || device->event_count == 0) {
        return EINVAL;
    }
    memcpy((void *)(uintptr_t)values->values, device->counts,
           (device->event_count + 1) * sizeof device->counts[0]);
    return 0;
}

static int close_handle(struct device *device, void *argument)
{
    const struct accel_handle_close *close = argument;
    struct object *object = device_object(device, close->handle, false);
    if (object == NULL) {
        return EINVAL;
    }
    remove_object(object);
    return 0;
}

static int export(struct device *device, void *argument)
{
    struct accel_export *export = argument;
    export->file = eventfd(0, EFD_CLOEXEC);
    return device_object(device, export->handle, false) != NULL ? 0 : ENOENT;
}

/** An event that is signalled when the queue is empty. */
static int export_fence(void *argument)
{
    struct accel_fence *fence = argument;
    fence->file = eventfd(kernel.queued == 0, EFD_CLOEXEC);
    if (kernel.queued > 0) {
        if (kernel.fence_count == FENCES_MAX) {
            return ENOMEM;
        }
        kernel.fences[kernel.fence_count++] = dup(fence->file);
    }
    return 0;
}

static const struct {
    unsigned long request;
    int (*answer)(struct device *device, void *argument);
} ioctls[] = {
    {ACCEL_QUERY, query},
    {ACCEL_BUFFER_CREATE, create_buffer},
    {ACCEL_BUFFER_WAIT, wait_buffer},
    {ACCEL_BUFFER_OFFSET, place_buffer},
    {ACCEL_STREAM_CREATE, create_stream},
    {ACCEL_SUBMIT, submit},
    {ACCEL_PERFMON_CREATE, create_perfmon},
    {ACCEL_PERFMON_DESTROY, destroy_perfmon},
    {ACCEL_PERFMON_VALUES, get_values},
    {ACCEL_HANDLE_CLOSE, close_handle},
    {ACCEL_EXPORT, export},
};

static struct device **find(int file)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        if (kernel.devices[i] != NULL && kernel.devices[i]->file == file) {
            return &kernel.devices[i];
        }
    }
    return NULL;
}

static int answer(int file, unsigned long request, void *argument)
{
    if (kernel.failing != 0 && (request & 0xFF) == kernel.failing) {
        kernel.failing = 0;
        return kernel.error;
    }
    if (request == ACCEL_EXPORT_FENCE) {
        return export_fence(argument);
    }
    struct device **device = find(file);
    for (size_t i = 0; device != NULL && i < sizeof ioctls / sizeof ioctls[0]; i++) {
        if (ioctls[i].request == request) {
            return ioctls[i].answer(*device, argument);
        }
    }
    return ENOTTY;
}

/* ---- the calls ---- */

static int sim_open(const char *path, int flags, ...)
{
    struct device **place = kernel.devices;
    while (place < kernel.devices + FILES_MAX && *place != NULL) {
        place++;
    }
    struct device *device = place < kernel.devices + FILES_MAX ? calloc(1, sizeof *device) : NULL;
    if (strncmp(path, "/dev/accel/accel", strlen("/dev/accel/accel")) != 0 || device == NULL) {
        free(device);
        errno = ENOENT;
        return -1;
    }
    device->file = open("/dev/null", flags);
    device->npu = npu_create(kernel.config, &job_bus);
    device->sram_size = kernel.sram_size;
    *place = device;
    return device->file;
}

static int sim_ioctl(int file, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    int error = answer(file, request, va_arg(arguments, void *));
    va_end(arguments);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return 0;
}

static void *sim_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    (void)address;
    (void)protection;
    (void)flags;
    struct device **device = find(file);
    struct object *object =
        device != NULL ? device_object(*device, (uint32_t)(offset >> 32), false) : NULL;
    if (object == NULL || size > object->size) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    return object->bytes;
}

static int sim_munmap(void *address, size_t size)
{
    (void)address;
    (void)size;
    return 0;
}

static int sim_close(int file)
{
    struct device **place = find(file);
    if (place != NULL) {
        struct device *device = *place;
        forget_jobs(device);
        for (unsigned i = 1; i < OBJECTS_MAX; i++) {
            remove_object(&device->objects[i]);
        }
        npu_destroy(device->npu);
        free(device);
        *place = NULL;
    }
    return close(file);
}

const struct ethosu_accel_calls *sim_accel_calls(void)
{
    static const struct ethosu_accel_calls calls = {sim_open, sim_ioctl, sim_mmap, sim_munmap,
                                                    sim_close};
    return &calls;
}
