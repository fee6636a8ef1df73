// SPDX-License-Identifier: MIT
/** What the files of this board share. */
#ifndef SIM_HOST_INTERNAL_H
#define SIM_HOST_INTERNAL_H

#include "ethosu_memory.h"
#include "ethosu_ext.h"
#include "sim_host.h"
#include "coherence.h"
#include "npu_faults.h"
#include "npu_sim.h"

#include <pthread.h>

/** One NPU; the driver takes its address for that of the register window. */
struct NPU_REG {
    unsigned index;
    npu_t *sim; /**< NULL: not open */
    struct ethosu_driver driver;

    pthread_mutex_t lock; /**< guards the simulator's registers and all below */
    pthread_cond_t changed;
    pthread_t worker;
    bool threaded;
    bool stepped; /**< sim_host_step() does the work; a program sets it before the first run */
    bool quit;
    bool working; /**< a command stream is being executed */
    bool aborted;

    bool level; /**< of the interrupt line */
    void (*handler)(void *argument);
    void *argument;

    struct npu_faults faults;
};

extern struct NPU_REG sim_host_npus[SIM_HOST_NPU_COUNT];

/** Do one operation of each stepped NPU that is at work; false: all of them are idle. */
bool sim_host_step(void);

/** Call `handler` for the interrupt line of an NPU: again while it stays high. NULL: do not. */
void sim_host_connect(unsigned index, void (*handler)(void *argument), void *argument);

/** Host pointer to the bytes of an NPU's access; NULL: this process' bus refuses it. */
uint8_t *sim_host_map(const struct npu_access *access);

/** Parts of the memory that the NPUs see, one for each enum coherence_attribute. */
#define SIM_HOST_PART_COUNT 3

/** The memories that the NPUs see. */
void sim_host_bus_open(struct ethosu_memory memories[SIM_HOST_PART_COUNT]);

/** False: the environment asks for a mode of coherence that does not exist. */
bool sim_host_cache_is_right(void);

/**
 * Put a cache before new memory.
 *
 * @param start   offset of the memory in the window
 * @param memory  receives memory's copy; NULL: the mode is off, there is one copy
 * @return        false: the host gives no memory for it
 */
bool sim_host_cache_add(uint8_t *window, size_t start, size_t size,
                        enum coherence_attribute attribute, uint8_t **memory);

/** Forget memory that sim_host_cache_add() gave a copy, by the CPU's address. */
void sim_host_cache_remove(const uint8_t *start);

/** Memory's copy of bytes that the CPU has at this address, for an NPU's access. */
uint8_t *sim_host_cache_map(const uint8_t *start, uint64_t length);

/** Clean or discard lines, as the driver's cache hooks do. */
void sim_host_cache_maintain(enum coherence_operation operation, const uint64_t *base,
                             const size_t *size, int count);

/** A moment at which lines may be evicted. */
void sim_host_cache_event(void);

/** Any NPU on a thread of its own? Then time is real. */
bool sim_host_time_is_real(void);

/** Add a line to the log. */
void sim_host_print(const char *line);

#endif
