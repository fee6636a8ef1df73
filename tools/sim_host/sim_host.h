// SPDX-License-Identifier: MIT
/**
 * The board that is this process: up to two NPUs whose registers are answered
 * by the simulator, and memory that they see.
 *
 * Plain C types only, so that ctypes can load it:
 *
 *     lib.sim_host_open(0, b"ethos-u55-128")     -> handle of the driver
 *     lib.sim_host_alloc(size)                   -> memory that the NPU sees
 *     ... ethosu_model_*(), ethosu_*() on that handle ...
 *     lib.sim_host_close(0)
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ethosu_driver;
struct npu_operation;
struct npu_memory;

/** NPUs that can be open at once. */
#define SIM_HOST_NPU_COUNT 2

/** First bus address of the memory that the NPUs see. */
#define SIM_HOST_BUS_BASE 0x60000000u

/** Bytes of address space for it; only what is used costs memory. */
#define SIM_HOST_BUS_SIZE 0x40000000u

/**
 * Create an NPU and its driver; one that was open is closed first.
 *
 * @param config  "ethos-u55-128" and so on
 * @return        the driver's handle, not reserved; NULL: sim_host_log() says why
 */
struct ethosu_driver *sim_host_open(unsigned index, const char *config);

/** Take driver and NPU away. */
void sim_host_close(unsigned index);

/**
 * Create an NPU without a driver, and take it away again: for a program that has a
 * board table of its own and calls ethosu_init().
 *
 * @return  false: no such config
 */
bool sim_host_create(unsigned index, const char *config);
void sim_host_destroy(unsigned index);

/** Names of the configs that sim_host_open() knows, ended by NULL. */
const char *const *sim_host_configs(void);

/**
 * Memory that the NPUs see, zeroed, aligned to 64, with a guard zone on either
 * side: an access of an NPU outside of it is a bus error, and under
 * AddressSanitizer an access of the CPU is an error too.
 *
 * @return  NULL when there is none left
 */
void *sim_host_alloc(size_t size);

/** The same, where the CPU's cache writes through, and where the CPU caches nothing. */
void *sim_host_alloc_write_through(size_t size);
void *sim_host_alloc_uncached(size_t size);

/**
 * How the CPU's data cache shows in memory that is allocated from now on:
 * "off": not at all. "strict": NPU and CPU see their own copies, and only the
 * driver's cache hooks and barriers move data between them. "evict:SEED":
 * besides, lines are evicted and fetched at random moments. Without a call the
 * environment variable ETHOSU_COHERENCE decides, without that it is off.
 *
 * @return  false: there is no such mode
 */
bool sim_host_coherence(const char *mode);

/** Give memory of sim_host_alloc() back; NULL does nothing. */
void sim_host_free(void *memory);

/** Guard zones that somebody has written to, among the memory in use. */
unsigned sim_host_damaged_guards(void);

/**
 * Let an NPU work on a thread of its own, which also calls the interrupt
 * handler, or (the default) inside the register write that starts it. Without
 * threads time is virtual: it passes only while the driver waits.
 */
void sim_host_use_thread(unsigned index, bool on);

/**
 * Inject a fault, by name; see tools/npu_sim/npu_faults.c for the names.
 *
 * @param count  how many times it shall happen; 0 withdraws it, also a hang in progress
 * @return       false: no such fault
 */
bool sim_host_inject(unsigned index, const char *fault, unsigned count);

/** A register access of the driver that is about to happen. */
struct sim_host_access {
    unsigned index; /**< of the NPU */
    uint32_t offset;
    uint32_t value; /**< to be written */
    bool write;
};

/**
 * Call `watch` before each register access, on the thread that makes it; NULL ends it. It may
 * inject faults and use the driver. For tests: set it before the first access.
 */
void sim_host_watch(void (*watch)(const struct sim_host_access *access));

/** Call the interrupt handler now, as if the line had been raised. */
void sim_host_interrupt(unsigned index);

/** Estimated NPU cycles of the last inference. */
uint64_t sim_host_cycles(unsigned index);

/**
 * The memories that the estimate assumes, until sim_host_close(); see npu_set_memories().
 *
 * @return  false: there is no such NPU, or a value is not allowed
 */
bool sim_host_memories(unsigned index, const struct npu_memory *table, unsigned count);

/**
 * Call `observer` after every operation that an NPU executes, on the thread that
 * executes it; the NPU waits meanwhile. NULL ends it, and so does sim_host_close().
 *
 * @param observer  gets a `struct npu_operation` of npu_sim.h
 */
void sim_host_observe(unsigned index,
                      void (*observer)(void *context, const struct npu_operation *operation),
                      void *context);

/**
 * Bytes [offset, offset + size) of a region of the command stream that runs, or ran last.
 *
 * @return  NULL when the NPU sees no such memory
 */
const void *sim_host_region(unsigned index, unsigned region, uint64_t offset, uint64_t size);

/** What the simulator and this process have logged since the last call; "" if nothing. */
const char *sim_host_log(void);

#endif
