// SPDX-License-Identifier: MIT
/**
 * The board of the driver's C tests: NPUs and memory of tools/sim_host, with a memory table, a
 * clock and hooks that a test can script, and a record of the driver's actions.
 */
#ifndef BOARD_H
#define BOARD_H

#include "check.h"
#include "ethosu_ext.h"
#include "ethosu_memory.h"
#include "core/npu_internal.h"
#include "driver/base/ethosu_registers.h"
#include "sim_host_internal.h"

/** When a command stream completes. */
enum board_end {
    END_AT_ONCE,  /**< inside the register write that starts it */
    END_ON_SLEEP, /**< when the CPU sleeps */
    END_NEVER,    /**< only by complete() */
};

/** One NPU: the test's script and the record. All zero at the start of each test. */
struct board_npu {
    struct ethosu_driver *driver; /**< whose interrupt handler is called; see attach() */
    enum board_end end;
    unsigned complete_at; /**< the register access at which it completes; 0: none */
    unsigned dead_from;   /**< the register access from which on it is dead; 0: none */
    unsigned accesses;    /**< of registers */
    unsigned writes;      /**< among these */
    unsigned runs, resets;
    struct sim_host_access written; /**< the last write */
};

extern struct board_npu npus[2];

/**
 * The driver's actions, one letter each: f, i flush and invalidate; b, e begin and end of an
 * inference; R, X run and reset.
 */
extern char trace[256];

/** Buffers passed to a cache hook. */
struct board_spans {
    uintptr_t start[32];
    size_t size[32];
    unsigned count;
};
extern struct board_spans flushed, invalidated;
extern unsigned begins, ends;

extern uint32_t clock_ms;

/** Called when the CPU sleeps; may be NULL. */
extern void (*on_sleep)(void);

/** Called before a register access; may be NULL. */
extern void (*on_access)(const struct sim_host_access *access);

/**
 * Called once, after `accesses_left` more register accesses, hooks and locks, to act like another
 * thread at that moment. May be NULL.
 */
extern void (*interfere)(void);
extern unsigned accesses_left;

/** Memories of the board; one for all addresses until a test changes them. */
extern struct ethosu_memory memories[2];

/** NPUs of the board. */
extern struct ethosu_npu npu_table[2];

/** Added to every address on the bus. */
extern uint64_t bus_offset;

/** Allocate memory that the NPUs can access, aligned to 64, zeroed. */
void *alloc(size_t size);

/** Address of memory from alloc() on the NPUs' bus. */
uint64_t bus_address(const void *memory);

/** Switch an NPU on: "ethos-u55-128". */
struct NPU_REG *power_up(unsigned index, const char *config);

/** Connect the interrupt of an NPU to a driver. */
void attach(unsigned index, struct ethosu_driver *drv);

/**
 * Read a register without recording it. Counters of Ethos-U85 are at the offsets of the other
 * families.
 */
uint32_t reg(unsigned index, uint32_t offset);

/** Write a register without recording it, as another bus master could. */
void set_reg(unsigned index, uint32_t offset, uint32_t value);

/** A register's storage, even if it is read-only. */
uint32_t *storage(unsigned index, uint32_t offset);

/** Inject a fault of npu_faults.c into the first NPU. */
void inject(const char *fault, unsigned count);

/** Is a command stream running? */
bool is_running(unsigned index);

/** Complete the running command stream. */
void complete(unsigned index);

/** A driver on the first NPU, reserved. */
struct ethosu_driver *open_driver(const char *config);

/** A test that begins with this driver, `drv`. */
#define DRIVER_TEST(name, config)                              \
    static void with_driver_##name(struct ethosu_driver *drv); \
    TEST(name)                                                 \
    {                                                          \
        with_driver_##name(open_driver(config));               \
    }                                                          \
    static void with_driver_##name(struct ethosu_driver *drv)

/** The message for the driver's last error. */
const char *error_text(const struct ethosu_driver *drv);

/* ---- a payload that runs ---- */

/** COP1 for ethos-u55-128 with a stream of one STOP, at byte 32. */
extern uint32_t *good_payload;
#define GOOD_PAYLOAD_SIZE 36

/** Weights, scratch, fast scratch. */
extern uint64_t good_bases[3];
extern size_t good_sizes[3];

/** ethosu_invoke_async() of the good payload. */
int start_good(struct ethosu_driver *drv);

/** The same on an NPU that never completes. */
void start_endless(struct ethosu_driver *drv);

/** The same, then wait; returns the result of the wait. */
int run_good(struct ethosu_driver *drv);

/** Check that a call's result is -1, and the driver's last error and part of its message. */
void check_error(const struct ethosu_driver *drv, int result, int code, const char *text);

/** Check that an inference has ended completely: hooks called in pairs, power off, handle idle. */
void check_clean(const struct ethosu_driver *drv);

/** Check that the next inference on this handle is correct. */
void check_next_works(struct ethosu_driver *drv);

#endif
