// SPDX-License-Identifier: MIT
/** What the files of this folder share. */
#ifndef SIM_ACCEL_INTERNAL_H
#define SIM_ACCEL_INTERNAL_H

#include "accel_uapi.h"
#include "npu_sim.h"
#include "sim_accel.h"

#define OBJECTS_MAX 512
#define EVENTS_MAX 8

/** A handle's object: a buffer, or a command stream. */
struct object {
    uint8_t *bytes; /**< NULL: the handle is free */
    size_t size;
    bool is_stream;
};

/** An open file. */
struct device {
    int file; /**< -1: free */
    npu_t *npu;
    size_t sram_size;
    struct object objects[OBJECTS_MAX]; /**< by handle; 0 is none */
    uint16_t events[EVENTS_MAX];
    uint32_t event_count; /**< of the perfmon; 0: there is none */
    uint64_t counts[EVENTS_MAX + 1];
};

/** May the kernel take these words for a command stream? @return 0, or an errno */
int job_check_stream(const uint32_t *words, size_t bytes);

enum job_flag {
    JOB_COUNTED = 1,    /**< for the perfmon */
    JOB_ONLY_CHECK = 2, /**< memory stays as it is */
};

/** Run a job, all checks included; `flags`: enum job_flag, or-ed. @return 0, or an errno */
int job_run(struct device *device, const struct accel_job *job, unsigned flags);

extern const struct npu_bus job_bus;

/** The object of a handle, if it is of this kind. */
struct object *device_object(struct device *device, uint32_t handle, bool is_stream);

#endif
