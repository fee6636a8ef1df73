// SPDX-License-Identifier: MIT
/**
 * A board emulated in this process: up to two NPUs implemented by the simulator,
 * and memory that they can access.
 *
 * Plain C types only, so that ctypes can load it:
 *
 *     lib.sim_host_open(0, b"ethos-u55-128")     -> driver handle
 *     lib.sim_host_alloc(size)                   -> memory for CPU and NPU
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

/** Maximum number of open NPUs. */
#define SIM_HOST_NPU_COUNT 2

/** First bus address of the NPUs' memory. */
#define SIM_HOST_BUS_BASE 0x60000000u

/** Bytes of address space for it; only used pages take up memory. */
#define SIM_HOST_BUS_SIZE 0x40000000u

/**
 * Create an NPU and its driver; if already open, it is closed first.
 *
 * @param config  "ethos-u55-128" and so on
 * @return        the driver's handle, not reserved; NULL on failure, see sim_host_log()
 */
struct ethosu_driver *sim_host_open(unsigned index, const char *config);

/** Remove driver and NPU. */
void sim_host_close(unsigned index);

/**
 * Create an NPU without a driver, and remove it: for programs with their own board
 * table that call ethosu_init().
 *
 * @return  false if the config is unknown
 */
bool sim_host_create(unsigned index, const char *config);
void sim_host_destroy(unsigned index);

/** Names of the supported configs, NULL-terminated. */
const char *const *sim_host_configs(void);

/**
 * Allocate memory for CPU and NPUs, zeroed, aligned to 64, with a guard zone on either
 * side. NPU accesses outside of it are bus errors; with AddressSanitizer, CPU accesses
 * are errors too.
 *
 * @return  NULL if out of memory
 */
void *sim_host_alloc(size_t size);

/** The same for write-through and for uncached memory. */
void *sim_host_alloc_write_through(size_t size);
void *sim_host_alloc_uncached(size_t size);

/**
 * Set how the CPU's data cache is modelled for memory allocated from now on.
 * "off": not modelled. "strict": NPU and CPU have separate copies, and only the
 * driver's cache hooks and barriers move data between them. "evict:SEED": in
 * addition, lines are evicted and fetched at random times. The default is the
 * environment variable ETHOSU_COHERENCE, or else "off".
 *
 * @return  false if the mode is unknown
 */
bool sim_host_coherence(const char *mode);

/** Free memory of sim_host_alloc(); NULL does nothing. */
void sim_host_free(void *memory);

/** Number of overwritten guard zones of allocated memory. */
unsigned sim_host_damaged_guards(void);

/**
 * Run an NPU on its own thread, which also calls the interrupt handler, or (the
 * default) inside the register write that starts it. Without threads time is
 * virtual and passes only while the driver waits.
 */
void sim_host_use_thread(unsigned index, bool on);

/**
 * Inject a fault, by name; see tools/npu_sim/device/npu_faults.c for the names.
 *
 * @param count  number of occurrences; 0 cancels it, including a hang in progress
 * @return       false if the fault is unknown
 */
bool sim_host_inject(unsigned index, const char *fault, unsigned count);

/** A register access that the driver is about to make. */
struct sim_host_access {
    unsigned index; /**< of the NPU */
    uint32_t offset;
    uint32_t value; /**< to be written */
    bool write;
};

/**
 * Call `watch` before each register access, on the accessing thread; NULL removes it. It may
 * inject faults and use the driver. For tests: set it before the first access.
 */
void sim_host_watch(void (*watch)(const struct sim_host_access *access));

/** Call the interrupt handler now, as if the line had been raised. */
void sim_host_interrupt(unsigned index);

/** Estimated NPU cycles of the last inference. */
uint64_t sim_host_cycles(unsigned index);

/**
 * The memories that the estimate assumes, until sim_host_close(); see npu_set_memories(). Not
 * during a run.
 *
 * @return  false if the NPU or a value is invalid
 */
bool sim_host_memories(unsigned index, const struct npu_memory *table, unsigned count);

/**
 * Call `observer` after every operation that an NPU executes, on the thread that
 * executes it, while the NPU waits. NULL or sim_host_close() removes it.
 *
 * @param observer  gets a `struct npu_operation` of npu_sim.h
 */
void sim_host_observe(unsigned index,
                      void (*observer)(void *context, const struct npu_operation *operation),
                      void *context);

/**
 * Bytes [offset, offset + size) of a region of the current or last command stream.
 *
 * @return  NULL if the NPU can't access that memory
 */
const void *sim_host_region(unsigned index, unsigned region, uint64_t offset, uint64_t size);

/** Log messages of the simulator and this process since the last call, or "". */
const char *sim_host_log(void);

#endif
