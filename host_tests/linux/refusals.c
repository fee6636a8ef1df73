// SPDX-License-Identifier: MIT
/** See refusals.h. Linux and tools/sim_accel give the same answers: test_refusals.py. */
#include "refusals.h"

#include "accel_uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define UNKNOWN 0x7777u
#define BUFFER_SIZE 4096u

static const struct ethosu_accel_calls *calls;
static int file;
static void (*report)(const char *name, int error);

static int call(unsigned long request, void *argument)
{
    return calls->ioctl(file, request, argument) < 0 ? errno : 0;
}

static void check(const char *name, unsigned long request, void *argument)
{
    report(name, call(request, argument));
}

/* ---- streams ---- */

#define WORDS_MAX 16

struct words {
    uint32_t word[WORDS_MAX];
    uint32_t count;
};

static void put(struct words *words, uint32_t word)
{
    words->word[words->count++] = word;
}

/** Copy 16 bytes from the start of one region to a place in another one. */
static void put_copy(struct words *words, uint32_t from, uint32_t to, uint32_t offset)
{
    const uint32_t commands[] = {
        0x130 | from << 16, 0x131 | to << 16, 0x4030, 0, 0x4031, offset, 0x4032, 16, 0x10};
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        put(words, commands[i]);
    }
}

static int create(const struct words *words, uint32_t flags, uint32_t *handle)
{
    struct accel_stream_create create = {
        .size = words->count * 4, .flags = flags, .data = (uintptr_t)words->word};
    int error = call(ACCEL_STREAM_CREATE, &create);
    *handle = create.handle;
    return error;
}

static void check_streams(void)
{
    const uint32_t stop = 0xFFFF0000;
    uint32_t handle;
    struct words words = {0};
    report("stream empty", create(&words, 0, &handle));
    put_copy(&words, 1, 1, 16);
    report("stream without stop", create(&words, 0, &handle));
    put(&words, stop);
    report("stream", create(&words, 0, &handle));
    report("stream with flags", create(&words, 1, &handle));
    put(&words, stop);
    report("stream with two stops", create(&words, 0, &handle));
    const struct words resize = {{0x07, stop}, 2};
    report("stream with resize", create(&resize, 0, &handle));
}

/* ---- jobs ---- */

static uint32_t new_stream(uint32_t from, uint32_t to, uint32_t offset)
{
    struct words words = {0};
    uint32_t handle = 0;
    put_copy(&words, from, to, offset);
    put(&words, 0xFFFF0000);
    (void)create(&words, 0, &handle);
    return handle;
}

static uint32_t new_buffer(void)
{
    struct accel_buffer_create create = {.size = BUFFER_SIZE};
    (void)call(ACCEL_BUFFER_CREATE, &create);
    return create.handle;
}

static void check_job(const char *name, struct accel_job job)
{
    struct accel_submit submit = {.jobs = (uintptr_t)&job, .job_count = 1};
    check(name, ACCEL_SUBMIT, &submit);
}

static void check_jobs(uint32_t sram)
{
    uint32_t one = new_buffer(), two = new_buffer(), three = new_buffer();
    uint32_t near = new_stream(0, 1, 16), far = new_stream(0, 1, BUFFER_SIZE);
    uint32_t through_sram = new_stream(2, 1, 0), beyond_sram = new_stream(1, 2, 64);
    check_job("job", (struct accel_job){near, 0, {one, two}});
    check_job("job, one buffer twice", (struct accel_job){near, 0, {one, one}});
    check_job("job without a region", (struct accel_job){near, 0, {one}});
    check_job("job, unknown buffer", (struct accel_job){near, 0, {one, UNKNOWN}});
    check_job("job, buffer too small", (struct accel_job){far, 0, {one, two}});
    check_job("job, region not used", (struct accel_job){near, 0, {one, two, 0, three}});
    check_job("job, stream as buffer", (struct accel_job){near, 0, {one, near}});
    check_job("job, buffer as stream", (struct accel_job){one, 0, {one, two}});
    check_job("job, unknown stream", (struct accel_job){UNKNOWN, 0, {one, two}});
    check_job("job, SRAM", (struct accel_job){through_sram, sram, {0, one}});
    check_job("job, region 2 a buffer", (struct accel_job){through_sram, 0, {0, one, two}});
    check_job("job, SRAM and buffer", (struct accel_job){through_sram, sram, {0, one, two}});
    check_job("job, SRAM too large", (struct accel_job){through_sram, sram + 4096, {0, one}});
    check_job("job, beyond SRAM", (struct accel_job){beyond_sram, 64, {0, one}});
    struct accel_job job = {near, 0, {one, two}};
    struct accel_submit counted = {(uintptr_t)&job, 1, UNKNOWN};
    check("job, unknown perfmon", ACCEL_SUBMIT, &counted);
    struct accel_buffer_wait wait = {.handle = one, .timeout_ns = INT64_MAX};
    check("wait", ACCEL_BUFFER_WAIT, &wait);
}

/* ---- the rest ---- */

static void check_others(void)
{
    struct accel_query query = {.type = 9, .size = 16, .pointer = (uintptr_t)&query};
    check("query of an unknown kind", ACCEL_QUERY, &query);
    struct accel_buffer_create nothing = {.size = 0};
    check("buffer of 0 bytes", ACCEL_BUFFER_CREATE, &nothing);
    struct accel_buffer_offset place = {.handle = UNKNOWN};
    check("place of an unknown buffer", ACCEL_BUFFER_OFFSET, &place);
    struct accel_buffer_wait wait = {.handle = UNKNOWN};
    check("wait for an unknown buffer", ACCEL_BUFFER_WAIT, &wait);
    struct accel_handle_close close = {.handle = UNKNOWN};
    check("close an unknown buffer", ACCEL_HANDLE_CLOSE, &close);
    struct accel_perfmon_create create = {.counters = 9};
    check("perfmon of 9 events", ACCEL_PERFMON_CREATE, &create);
    struct accel_perfmon_values values = {.id = UNKNOWN, .values = (uintptr_t)&create};
    check("values of an unknown perfmon", ACCEL_PERFMON_VALUES, &values);
}

void refusals(const struct ethosu_accel_calls *made, const char *path,
              void (*callback)(const char *name, int error))
{
    struct accel_npu_info info = {0};
    struct accel_query query = {.size = sizeof info, .pointer = (uintptr_t)&info};
    calls = made;
    report = callback;
    file = calls->open(path, O_RDWR);
    check("query", ACCEL_QUERY, &query);
    check_streams();
    check_jobs(info.sram_size);
    check_others();
    (void)calls->close(file);
}
