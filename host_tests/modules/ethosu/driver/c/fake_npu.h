// SPDX-License-Identifier: MIT
/**
 * A register block that stands in for an NPU, scripted by the tests; with the
 * board, the clock and recording hooks that the driver needs around it.
 */
#ifndef FAKE_NPU_H
#define FAKE_NPU_H

#include "check.h"
#include "ethosu_memory.h"
#include "ethosu_ext.h"
#include "ethosu_registers.h"

/** How a started command stream goes on. */
enum fake_end {
    FAKE_AT_ONCE,  /**< completes inside the register write */
    FAKE_ON_SLEEP, /**< completes when the CPU sleeps */
    FAKE_NEVER,
};

struct NPU_REG {
    uint32_t registers[0x1000 / 4];
    struct ethosu_driver *driver; /**< whose handler the interrupt line calls */
    enum fake_end end;
    uint32_t end_status;  /**< STATUS bits that a completion sets */
    uint32_t reset_reads; /**< STATUS reads until a reset ends */
    uint32_t prot_flips;  /**< bits of PROT that don't follow RESET */
    bool loses_power;     /**< registers are lost when the power may go */
    bool masked;          /**< the interrupt line leads nowhere */
    bool dead;            /**< every read gives all ones */
    bool running;
    unsigned accesses;     /**< reads and writes so far */
    unsigned writes;       /**< writes so far */
    unsigned interrupt_at; /**< complete and interrupt at this access; 0: never */
    unsigned wrap_at;      /**< the cycle counter's low word wraps before this access; 0: never */
    unsigned dead_from;    /**< dead from this access on; 0: never */
    unsigned runs, resets;
    uint32_t reset_pending;
};

/** Two NPUs; both like new at the start of each test. */
extern struct NPU_REG fakes[2];

/** What the hooks saw, as one letter each: f, i flush and invalidate; b, e begin and end; P, p
 * power on and off; R, X run and reset. */
extern char trace[256];

/** Buffers that the cache hooks saw: the first of them, and how many there were. */
struct fake_spans {
    uintptr_t start[32];
    size_t size[32];
    unsigned count;
};
extern struct fake_spans flushed, invalidated;
extern unsigned begins, ends;

/** Added to every bus address. */
extern uint64_t fake_bus_offset;

/** Milliseconds of the fake clock. */
extern uint32_t fake_ms;

/** Called when the CPU sleeps; may be NULL. */
extern void (*fake_on_sleep)(void);

/**
 * Called once, when `fake_moments` more accesses, hooks and locks have come: what another thread
 * does just then. May be NULL.
 */
extern void (*fake_meddle)(void);
extern unsigned fake_moments;

/** Bring a fake NPU to life: "ethos-u55-128". */
void fake_power_up(struct NPU_REG *npu, const char *config);

/** Complete the running command stream and raise the interrupt. */
void fake_complete(struct NPU_REG *npu);

/** Memories of the board: all addresses, until a test changes them. */
extern struct ethosu_memory fake_memories[2];

/** NPUs of the board, at fakes[0] and fakes[1]. */
extern struct ethosu_npu fake_npus[2];

/** Cache line of the board. */
#define FAKE_CACHE_LINE 32u

/** A driver on fakes[0], reserved. */
struct ethosu_driver *fake_driver(const char *config);

/** The sentence for the driver's last error. */
const char *fake_error(const struct ethosu_driver *drv);

/* ---- a payload that runs ---- */

/** COP1 for ethos-u55-128 with a stream of one STOP; stream at byte 32. */
extern uint32_t good_payload[9];
#define GOOD_PAYLOAD_SIZE ((int)sizeof good_payload)

/** Weights, scratch, fast scratch. */
extern uint64_t good_bases[3];
extern size_t good_sizes[3];

/** ethosu_invoke_async() of the good payload. */
int start_good(struct ethosu_driver *drv);

/** The same on an NPU that never ends. */
void start_endless(struct ethosu_driver *drv);

/** The same, waited for; what the wait gives. */
int run_good(struct ethosu_driver *drv);

/** Check the driver's last error, and a part of its sentence. */
void check_error(const struct ethosu_driver *drv, int code, const char *text);

/** Check that nothing of an ended inference is left: pairs closed, power off, handle idle. */
void check_clean(const struct ethosu_driver *drv);

/** Check that the next inference on this handle is right, whatever came before. */
void check_next_works(struct ethosu_driver *drv);

#endif
