// SPDX-License-Identifier: MIT
/**
 * See load_npu.h. Two counts limit a run: after too many accesses the bus rejects them, and after
 * too many operations the stream is aborted. The linker redirects the calls to this file (--wrap).
 */
#include "load_npu.h"

#include "ethosu_ext.h"
#include "npu_sim.h"
#include "sim_host.h"
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ACCESSES 3000u
#define MAX_OPERATIONS 1000u

static unsigned accesses;

void *load_npu_memory(size_t size)
{
    void *memory = sim_host_alloc(size == 0 ? 1 : size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void load_npu_free(void *memory)
{
    sim_host_free(memory);
}

struct ethosu_driver *load_npu_driver(const char *config)
{
    static char open[ETHOSU_EXT_CONFIG_NAME_SIZE];
    static struct ethosu_driver *driver;
    accesses = 0;
    if (driver != NULL && strcmp(config, open) == 0) {
        return driver;
    }
    driver = sim_host_open(0, config);
    if (driver == NULL) {
        sim_host_log();
        return NULL;
    }
    snprintf(open, sizeof open, "%s", config);
    return ethosu_ext_reserve_this(driver, 0) == 0 ? driver : NULL;
}

void load_npu_stop(struct ethosu_driver *driver)
{
    if (driver != NULL && ethosu_ext_cancel(driver) != 0) {
        fprintf(stderr, "a call of the driver was left half-way\n");
        abort();
    }
}

void load_npu_check(void)
{
    sim_host_log();
    if (sim_host_damaged_guards() != 0) {
        fprintf(stderr, "a guard zone was written\n");
        abort();
    }
}

uint8_t *__real_sim_host_map(const struct npu_access *access);
uint8_t *__wrap_sim_host_map(const struct npu_access *access);
uint8_t *__wrap_sim_host_map(const struct npu_access *access)
{
    return ++accesses > MAX_ACCESSES ? NULL : __real_sim_host_map(access);
}

enum npu_outcome __real_npu_execute(npu_t *npu, unsigned most);
enum npu_outcome __wrap_npu_execute(npu_t *npu, unsigned most);
enum npu_outcome __wrap_npu_execute(npu_t *npu, unsigned most)
{
    (void)most;
    enum npu_outcome outcome = __real_npu_execute(npu, MAX_OPERATIONS);
    if (outcome == NPU_OUTCOME_STEPPED) {
        npu_abort(npu);
        outcome = __real_npu_execute(npu, 0);
    }
    return outcome;
}

/** The runtime's calls of the driver are not interrupted. */
#define WHOLE(function, parameters, arguments)    \
    int __real_##function parameters;             \
    int __wrap_##function parameters;             \
    int __wrap_##function parameters              \
    {                                             \
        steps_pause();                            \
        int result = __real_##function arguments; \
        steps_resume();                           \
        return result;                            \
    }

WHOLE(ethosu_ext_prepare,
      (struct ethosu_driver * drv, struct ethosu_ext_program *program, const void *payload,
       size_t payload_size, const uint64_t *base, const size_t *size, int count, unsigned flags),
      (drv, program, payload, payload_size, base, size, count, flags))
WHOLE(ethosu_ext_start,
      (struct ethosu_driver * drv, const struct ethosu_ext_program *program, void *argument),
      (drv, program, argument))
WHOLE(ethosu_ext_run,
      (struct ethosu_driver * drv, const struct ethosu_ext_program *program, void *argument,
       uint64_t timeout),
      (drv, program, argument, timeout))
WHOLE(ethosu_ext_wait_program,
      (struct ethosu_driver * drv, const struct ethosu_ext_program *program, uint64_t timeout),
      (drv, program, timeout))
WHOLE(ethosu_ext_cancel, (struct ethosu_driver * drv), (drv))
