// SPDX-License-Identifier: MIT
/** Declarations shared by the files of this folder. */
#ifndef SIM_ACCEL_INTERNAL_H
#define SIM_ACCEL_INTERNAL_H

#include "accel_uapi.h"
#include "npu_sim.h"
#include "sim_accel.h"

#define OBJECTS_MAX 512
#define EVENTS_MAX 8

/** Object of a handle: a buffer or a command stream. */
struct object {
    uint8_t *bytes; /**< NULL if the handle is free */
    size_t size;
    bool is_stream;
};

/** An open file. */
struct device {
    int file; /**< -1 if free */
    npu_t *npu;
    size_t sram_size;
    struct object objects[OBJECTS_MAX]; /**< by handle; 0 is not used */
    uint16_t events[EVENTS_MAX];
    uint32_t event_count; /**< of the perfmon; 0 without a perfmon */
    uint64_t counts[EVENTS_MAX + 1];
};

/** Would the kernel accept these words as a command stream? @return 0, or an errno */
int job_check_stream(const uint32_t *words, size_t bytes);

enum job_flag {
    JOB_COUNTED = 1,    /**< count events for the perfmon */
    JOB_ONLY_CHECK = 2, /**< leave memory unchanged */
};

/** Run a job after all checks; `flags`: enum job_flag, or-ed. @return 0, or an errno */
int job_run(struct device *device, const struct accel_job *job, unsigned flags);

extern const struct npu_bus job_bus;

/** The object of a handle, or NULL if it is not of this kind. */
struct object *device_object(struct device *device, uint32_t handle, bool is_stream);

#endif
