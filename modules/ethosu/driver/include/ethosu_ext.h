// SPDX-License-Identifier: MIT
/**
 * Extensions to Arm's interface: error details, prepared inferences, time-outs,
 * cancel, choice of NPU, verification.
 *
 * All names begin with ethosu_ext_ or ETHOSU_EXT_, so that they can't clash with a
 * later version of Arm's header.
 *
 * Check once, run many times:
 *
 *     struct ethosu_driver *npu = ethosu_ext_reserve("ethos-u55-128", 1000, &fault);
 *     ethosu_ext_prepare(npu, &program, payload, payload_size, bases, sizes, count, 0);
 *     for (;;) {
 *         ethosu_ext_start(npu, &program, NULL);
 *         ethosu_ext_wait(npu, 100);      // milliseconds; 0 only polls
 *     }
 *     ethosu_release_driver(npu);
 *
 * Unless noted otherwise, functions that return int return 0 or an enum
 * ethosu_ext_error, which is negative.
 *
 * Threads: reserve may be called at any time, as may cancel, release, deinit and forget for an NPU
 * that another thread uses. A waiting call then fails, and ethosu_ext_last_error() belongs to the
 * next holder. All other functions of a handle may only be called by the thread that reserved it.
 * The counter of ethosu_request_power() is not atomic, and each inference uses it, too. While an
 * application calls it or ethosu_release_power(), no other thread may cancel, release or reset
 * that NPU.
 */
#ifndef ETHOSU_EXT_H
#define ETHOSU_EXT_H

#include "ethosu_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reasons ---- */

/** Error codes: ETHOSU_EXT_E_ARGUMENT and so on, negative; listed in ethosu_errors.def. */
enum ethosu_ext_error {
    ETHOSU_EXT_OK = 0,
#define ETHOSU_EXT_ERROR(number, name, errno_name, message) ETHOSU_EXT_E_##name = -(number),
#include "ethosu_errors.def"
#undef ETHOSU_EXT_ERROR
};

/** errno values of MicroPython and Linux; the C library's differ on some targets. */
enum ethosu_ext_errno {
    ETHOSU_EXT_EPERM = 1,
    ETHOSU_EXT_EIO = 5,
    ETHOSU_EXT_ENOMEM = 12,
    ETHOSU_EXT_EFAULT = 14,
    ETHOSU_EXT_EBUSY = 16,
    ETHOSU_EXT_ENODEV = 19,
    ETHOSU_EXT_EINVAL = 22,
    ETHOSU_EXT_ETIMEDOUT = 110,
    ETHOSU_EXT_ECANCELED = 125,
};

/** Convert an enum ethosu_ext_error to a positive errno; 0 for ETHOSU_EXT_OK. */
int ethosu_ext_errno(int error);

/**
 * Describe a fault in one message, always NUL-terminated.
 *
 * @param text  may be NULL when size is 0
 * @param size  bytes of text
 * @return      length of the whole message without NUL
 */
size_t ethosu_ext_describe(const struct ethosu_ext_fault *fault, char *text, size_t size);

/** Error of the last call on this handle; code is ETHOSU_EXT_OK if it succeeded. */
const struct ethosu_ext_fault *ethosu_ext_last_error(const struct ethosu_driver *drv);

/**
 * Print one log line; called if the driver was built with ETHOSU_LOG_SEVERITY. An
 * application may implement it; the default in the archive uses printf().
 *
 * @param severity  0 error, 1 warning, 2 information, 3 debug
 * @param text      valid only during the call
 */
void ethosu_ext_log(int severity, const char *text);

/** Bits of struct ethosu_ext_status, common to all products. */
enum ethosu_ext_status_bit {
    ETHOSU_EXT_STATUS_RUNNING = 1u << 0,
    ETHOSU_EXT_STATUS_IRQ_RAISED = 1u << 1,
    ETHOSU_EXT_STATUS_BUS_ERROR = 1u << 2,
    ETHOSU_EXT_STATUS_RESETTING = 1u << 3,
    ETHOSU_EXT_STATUS_PARSE_ERROR = 1u << 4,
    ETHOSU_EXT_STATUS_END_REACHED = 1u << 5,
    ETHOSU_EXT_STATUS_PMU_IRQ = 1u << 6,
    ETHOSU_EXT_STATUS_WATCHDOG = 1u << 7, /**< Ethos-U55 and U65 */
    ETHOSU_EXT_STATUS_ECC = 1u << 8,
    ETHOSU_EXT_STATUS_BRANCH = 1u << 9, /**< Ethos-U85 */
};

/* ---- names ---- */

/** Buffer size for any config name, including NUL. */
#define ETHOSU_EXT_CONFIG_NAME_SIZE 20

/** Name of a CONFIG word in Vela's spelling, "ethos-u55-128". */
void ethosu_ext_config_name(uint32_t config, char name[ETHOSU_EXT_CONFIG_NAME_SIZE]);

/** Convert a config name to a CONFIG word (product and MACs only); false if the name is unknown. */
bool ethosu_ext_config_parse(const char *name, uint32_t *config);

/** Do two CONFIG words have the same product and MACs, so that they run the same streams? */
static inline bool ethosu_ext_config_same(uint32_t config, uint32_t other)
{
    return ((config ^ other) & 0xF000000Fu) == 0;
}

/** Can a command stream for this NPU use fast scratch besides the scratch? */
static inline bool ethosu_ext_config_spills(uint32_t config)
{
    return config >> 28 != 0; // Vela uses none on Ethos-U55
}

/* ---- which NPU ---- */

/** Time-out of ethosu_reserve_driver(). The default is none, as in Arm's driver. */
#ifndef ETHOSU_EXT_RESERVE_TIMEOUT
#define ETHOSU_EXT_RESERVE_TIMEOUT ETHOSU_SEMAPHORE_WAIT_FOREVER
#endif

/**
 * Reserve an NPU; requests are served in order.
 *
 * @param config   name of a config, or NULL for any
 * @param timeout  0 does not wait; ETHOSU_EXT_SECOND units per second, by default milliseconds
 * @param fault    set if NULL is returned; may be NULL
 */
struct ethosu_driver *ethosu_ext_reserve(const char *config, uint64_t timeout,
                                         struct ethosu_ext_fault *fault);

/** Reserve this NPU. ETHOSU_EXT_E_NONE_SUCH: it was deinitialised; its memory is not accessed. */
int ethosu_ext_reserve_this(struct ethosu_driver *drv, uint64_t timeout);

/** Iterate over the NPUs: NULL returns the first, the last returns NULL. */
struct ethosu_driver *ethosu_ext_next(const struct ethosu_driver *drv);

/** CONFIG register of this NPU, read at init; ethosu_ext_config_name() converts it to a name. */
uint32_t ethosu_ext_config(const struct ethosu_driver *drv);

/** Was fast scratch passed to ethosu_init()? Its size is ethosu_ext_fast_memory_size(). */
static inline bool ethosu_ext_has_fast_memory(const struct ethosu_driver *drv)
{
    return drv->fast_memory != 0;
}

static inline size_t ethosu_ext_fast_memory_size(const struct ethosu_driver *drv)
{
    return drv->fast_memory_size;
}

/** Check for `size` bytes of fast scratch. Returns 0 or an error: see ethosu_ext_last_error(). */
int ethosu_ext_check_fast_memory(struct ethosu_driver *drv, size_t size);

/* ---- inferences ---- */

enum ethosu_ext_prepare_flag {
    /**
     * Don't walk the command stream; the caller trusts it. Required in a build with
     * ETHOSU_VERIFY=0, where ethosu_ext_prepare() fails without it.
     */
    ETHOSU_EXT_NO_VERIFY = 1,
    ETHOSU_EXT_CONSTANTS = 2, /**< reject command streams that write base pointer 0 */
    /**
     * The caller owns the cache lines at both ends of each buffer and does not
     * write to them while the NPU is running. Outputs may share cache lines with
     * other data.
     */
    ETHOSU_EXT_OWN_LINES = 4,
};

/** Return value of ethosu_config_select() for "use the default". */
#define ETHOSU_EXT_CONFIG_DEFAULT (~0u)

/**
 * Parse a payload (COP1 or COP2) without running it. All bounds are checked.
 *
 * @param payload  set on success
 * @param fault    set on failure; may be NULL
 */
int ethosu_ext_parse_payload(const void *data, size_t size, struct ethosu_ext_payload *payload,
                             struct ethosu_ext_fault *fault);

/**
 * Check an inference: payload, config, alignment, placement, command stream.
 * No NPU register is written. Parameters as for ethosu_invoke_v3().
 *
 * @param flags  enum ethosu_ext_prepare_flag, or-ed
 */
int ethosu_ext_prepare(struct ethosu_driver *drv, struct ethosu_ext_program *program,
                       const void *payload, size_t payload_size, const uint64_t *base_addr,
                       const size_t *base_addr_size, int num_base_addr, unsigned flags);

/**
 * Clean the command stream, base pointer 0 (if the stream does not write it)
 * and base pointer 2 again, like ethosu_ext_prepare(). Call this after the CPU has
 * changed them. On Linux base pointer 0 is copied again, but a changed command
 * stream must be prepared again because the kernel holds an immutable copy.
 */
void ethosu_ext_clean(const struct ethosu_ext_program *program);

/**
 * Start a prepared inference on a reserved NPU; `program` must remain valid until it has ended.
 *
 * @return  0: call ethosu_ext_wait()
 */
int ethosu_ext_start(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                     void *user_arg);

/**
 * Start a prepared inference and wait for it. Costs less than the two calls, and no other thread's
 * inference can come between them.
 *
 * @param timeout  not 0; unit as ethosu_ext_reserve()
 * @return         0, or -1: failed, cancelled or timed out; the NPU has stopped
 */
int ethosu_ext_run(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                   void *user_arg, uint64_t timeout);

/**
 * Wait for the running inference and finish it.
 *
 * @param timeout  0 only looks; ETHOSU_SEMAPHORE_WAIT_FOREVER; unit as ethosu_ext_reserve()
 * @return         as ethosu_wait(): 0 success, 1 still running (timeout 0 only),
 *                 -1 failed or timed out (the NPU is stopped and ready again), -2 no inference
 */
int ethosu_ext_wait(struct ethosu_driver *drv, uint64_t timeout);

/**
 * The same, but only for an inference of this program; returns -2 if another one is running.
 * Use it where another thread may release the NPU between start and wait.
 */
int ethosu_ext_wait_program(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                            uint64_t timeout);

/**
 * Stop the running inference and finish it. Any thread may call this. If another thread is
 * waiting for the inference, its call returns -1.
 *
 * @return  0: no inference is running. ETHOSU_EXT_E_BUSY: another thread is starting or finishing
 *          it and will stop it; call again to check. Otherwise the NPU could not be stopped
 */
int ethosu_ext_cancel(struct ethosu_driver *drv);

/** Is an inference running or being stopped? */
bool ethosu_ext_is_running(const struct ethosu_driver *drv);

/** The program started last, or NULL. Only compare it: its memory may have been freed. */
const struct ethosu_ext_program *ethosu_ext_last_program(const struct ethosu_driver *drv);

/** Time-out of ethosu_wait(drv, true) and ethosu_invoke_*(); unit as for ethosu_ext_reserve(). */
void ethosu_ext_set_timeout(struct ethosu_driver *drv, uint64_t timeout);

/**
 * Set whether ethosu_invoke_*() verifies each new command stream (default: true).
 *
 * A stream is new unless payload address, payload size and region sizes match an earlier inference
 * on this NPU and the payload is unchanged. It counts as unchanged if it is in memory that nothing
 * writes (struct ethosu_memory: ETHOSU_CPU_CODE, no master that writes), or if its checksum
 * matches. Releasing the NPU keeps the entries. Each handle keeps the last ETHOSU_EXT_STREAMS
 * payloads (a build macro, 1).
 */
void ethosu_ext_set_verify(struct ethosu_driver *drv, bool verify);

/**
 * The caller guarantees that payloads do not change while in use, wherever they are. They are then
 * identified by address, without a checksum. Default: false, or ETHOSU_CONSTANT_PAYLOADS, a macro
 * of the driver's build.
 */
void ethosu_ext_set_constant_payloads(struct ethosu_driver *drv, bool constant);

/**
 * Make ethosu_invoke_*() verify and prepare its next payload again. Call this
 * - after a program was written to memory that counts as constant (flash), or after a payload
 *   changed that was declared constant,
 * - before an untrusted payload replaces another one at the same address, because two may have
 *   been crafted with the same checksum,
 * - when the results of ethosu_address_remap() or ethosu_config_select() change.
 */
void ethosu_ext_forget(struct ethosu_driver *drv);

/**
 * Call `on_done` from the interrupt handler when an inference completes; NULL for no callback. It
 * may be changed at any time, by one thread: a callback always gets its own argument. An inference
 * that completes during this call may call neither the old nor the new one.
 */
void ethosu_ext_on_done(struct ethosu_driver *drv,
                        void (*on_done)(struct ethosu_driver *drv, void *argument), void *argument);

/* ---- counters ---- */

/** Events of an NPU since ethosu_init(). */
struct ethosu_ext_counts {
    uint32_t timeouts; /**< inferences stopped by a time-out */
    uint32_t resets;   /**< resets of the NPU, including the one in ethosu_init() */
    uint32_t spurious; /**< interrupts that completed no inference */
};

void ethosu_ext_get_counts(const struct ethosu_driver *drv, struct ethosu_ext_counts *counts);

/** Can this NPU count the event with this hardware number (ETHOSU_EXT_PMU_*)? */
bool ethosu_ext_pmu_has_event(const struct ethosu_driver *drv, uint32_t number);

/** ETHOSU_PMU_Set_EVTYPER() with the hardware number. */
void ethosu_ext_pmu_set_event(struct ethosu_driver *drv, uint32_t num, uint32_t number);

/* ---- checks ---- */

/**
 * Walk a command stream and check that every access stays within its region. Linear
 * time, no allocation, needs neither NPU nor driver. Returns ETHOSU_EXT_E_NO_VERIFIER
 * in a build with ETHOSU_VERIFY=0.
 *
 * @param config   CONFIG word of the NPU that will run it
 * @param size     bytes of each region
 * @param writes   set to the range written in each region; may be NULL
 * @param fault    set to the failing word and its values; may be NULL
 */
int ethosu_ext_verify(const void *stream, size_t stream_bytes, uint32_t config, const size_t *size,
                      int count, struct ethosu_ext_writes *writes, struct ethosu_ext_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
