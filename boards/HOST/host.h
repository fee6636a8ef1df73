// SPDX-License-Identifier: MIT
/**
 * The board that is this process: up to two NPUs whose registers are answered
 * by the functional model, and memory that they see.
 *
 * Plain C types only, so that ctypes can load it:
 *
 *     lib.host_open(0, b"ethos-u55-128")     -> handle of the driver
 *     lib.host_alloc(size)                   -> memory that the NPU sees
 *     ... ethosu_model_*(), ethosu_*() on that handle ...
 *     lib.host_close(0)
 */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ethosu_driver;

/** NPUs that can be open at once. */
#define HOST_NPU_COUNT 2

/** First bus address of the memory that the NPUs see. */
#define HOST_BUS_BASE 0x60000000u

/** Bytes of address space for it; only what is used costs memory. */
#define HOST_BUS_SIZE 0x40000000u

/**
 * Create an NPU and its driver; one that was open is closed first.
 *
 * @param config  "ethos-u55-128" and so on
 * @return        the driver's handle, not reserved; NULL: host_log() says why
 */
struct ethosu_driver *host_open(unsigned index, const char *config);

/** Take driver and NPU away. */
void host_close(unsigned index);

/** Names of the configs that host_open() knows, ended by NULL. */
const char *const *host_configs(void);

/**
 * Memory that the NPUs see, zeroed, aligned to 64, with a guard zone on either
 * side: an access of an NPU outside of it is a bus error, and under
 * AddressSanitizer an access of the CPU is an error too.
 *
 * @return  NULL when there is none left
 */
void *host_alloc(size_t size);

/** Give memory of host_alloc() back; NULL does nothing. */
void host_free(void *memory);

/** Guard zones that somebody has written to, among the memory in use. */
unsigned host_damaged_guards(void);

/**
 * Let an NPU work on a thread of its own, which also calls the interrupt
 * handler, or (the default) inside the register write that starts it. Without
 * threads time is virtual: it passes only while the driver waits.
 */
void host_use_thread(unsigned index, bool on);

/**
 * Inject a fault, by name; see tools/npu_model/npu_faults.c for the names.
 *
 * @param count  how many times it shall happen; 0 withdraws it
 * @return       false: no such fault
 */
bool host_inject(unsigned index, const char *fault, unsigned count);

/** Call the interrupt handler now, as if the line had been raised. */
void host_interrupt(unsigned index);

/** Estimated NPU cycles of the last inference. */
uint64_t host_cycles(unsigned index);

/** What the model and this board have logged since the last call; "" if nothing. */
const char *host_log(void);

#endif
