// SPDX-License-Identifier: MIT
/** Declarations shared by this board's files. */
#ifndef SIM_HOST_INTERNAL_H
#define SIM_HOST_INTERNAL_H

#include "ethosu_memory.h"
#include "ethosu_ext.h"
#include "sim_host.h"
#include "coherence.h"
#include "npu_faults.h"
#include "npu_sim.h"

#include <pthread.h>

/** One NPU; the driver uses its address as that of the register window. */
struct NPU_REG {
    unsigned index;
    npu_t *sim; /**< NULL if not open */
    struct ethosu_driver driver;

    pthread_mutex_t lock; /**< guards the simulator's registers and all fields below */
    pthread_cond_t changed;
    pthread_t worker;
    bool threaded;
    bool stepped; /**< executed by sim_host_step(); set before the first run */
    bool quit;
    bool working; /**< a command stream is being executed */
    bool aborted;

    bool level; /**< of the interrupt line */
    void (*handler)(void *argument);
    void *argument;

    struct npu_faults faults;
};

extern struct NPU_REG sim_host_npus[SIM_HOST_NPU_COUNT];

/** Execute one operation of each running stepped NPU; false if all are idle. */
bool sim_host_step(void);

/**
 * Call `handler` for an NPU's interrupt line, repeatedly while it stays high. NULL disconnects it.
 */
void sim_host_connect(unsigned index, void (*handler)(void *argument), void *argument);

/** Host pointer to the bytes of an NPU's access; NULL if this process's bus rejects it. */
uint8_t *sim_host_map(const struct npu_access *access);

/** Parts of the NPUs' memory, one for each enum coherence_attribute. */
#define SIM_HOST_PART_COUNT 3

/** The memories seen by the NPUs. */
void sim_host_bus_open(struct ethosu_memory memories[SIM_HOST_PART_COUNT]);

/** False if the environment specifies an unknown coherence mode. */
bool sim_host_cache_mode_is_valid(void);

/**
 * Add a cache for new memory.
 *
 * @param start   offset of the memory in the window
 * @param memory  receives memory's copy; NULL if the mode is off and there is only one copy
 * @return        false if out of memory
 */
bool sim_host_cache_add(uint8_t *window, size_t start, size_t size,
                        enum coherence_attribute attribute, uint8_t **memory);

/** Remove memory added by sim_host_cache_add(), by its CPU address. */
void sim_host_cache_remove(const uint8_t *start);

/** Memory's copy of bytes at this CPU address, for an NPU's access. */
uint8_t *sim_host_cache_map(const uint8_t *start, uint64_t length);

/** Clean or invalidate lines, as the driver's cache hooks do. */
void sim_host_cache_maintain(enum coherence_operation operation, const uint64_t *base,
                             const size_t *size, int count);

/** A point at which lines may be evicted. */
void sim_host_cache_event(void);

/** Does any NPU have its own thread? If so, time is real. */
bool sim_host_time_is_real(void);

/** Add a line to the log. */
void sim_host_print(const char *line);

#endif
