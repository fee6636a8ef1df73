// SPDX-License-Identifier: MIT
/** One NPU of the emulated board: the simulator behind registers and an interrupt. */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "board/slots.h"
#include "npu_sim.h"

/** Completion time of command streams. */
struct npu_timing {
    /**
     * Clock of the modelled NPU in MHz: streams complete after the estimated cycles in virtual
     * time. 0: as soon as the host has executed them.
     */
    unsigned megahertz;
    struct npu_memory memories[NPU_MEMORIES]; /**< for the estimate; see npu_sim.h */
    unsigned memory_count;
};

/** The last run of any NPU, from start to completion. */
struct npu_run_record {
    uint64_t instructions; /**< executed by the guest meanwhile */
    bool idle;             /**< the CPU was asleep on completion */
};

struct npu_device;

/** Create the NPU of a slot in the machine; on failure ends QEMU with an error message. */
struct npu_device *npu_device_create(const struct npu_slot *slot, const char *config,
                                     struct npu_timing timing);

/** Hardware reset; ends a current run first. Big lock. */
void npu_device_reset(struct npu_device *device);

/** End a current run before the process exits; callable from any thread. */
void npu_device_stop(struct npu_device *device);

/**
 * Let a fault happen `count` times; see npu_faults.h for the names.
 *
 * @return  false if the fault is unknown
 */
bool npu_device_inject(struct npu_device *device, const char *fault, unsigned count);

const struct npu_run_record *npu_device_last_run(void);

/** Is any NPU running? Big lock. */
bool npu_device_any_runs(void);

#endif
