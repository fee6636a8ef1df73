// SPDX-License-Identifier: MIT
/**
 * What this driver offers beyond Arm's interface: reasons for failures,
 * prepared inferences, time-outs, cancel, a choice of NPU, checks.
 *
 * All names begin with ethosu_ext_ or ETHOSU_EXT_, so that they can't clash with a
 * later version of Arm's header.
 *
 * An inference that runs many times is checked once:
 *
 *     struct ethosu_driver *npu = ethosu_ext_reserve("ethos-u55-128", 1000, &fault);
 *     ethosu_ext_prepare(npu, &program, payload, payload_size, bases, sizes, count, 0);
 *     for (;;) {
 *         ethosu_ext_start(npu, &program, NULL);
 *         ethosu_ext_wait(npu, 100);      // milliseconds; 0 only looks
 *     }
 *     ethosu_release_driver(npu);
 *
 * Functions that return int return 0 or an enum ethosu_ext_error, which is
 * negative, unless they say otherwise.
 *
 * Threads. Reserving, and cancel, release, deinit and forget of an NPU that another thread uses,
 * are allowed at any time. A call that waits then ends with an error, and ethosu_ext_last_error()
 * is the next holder's. The other functions of a handle belong to the thread that has reserved it.
 * The count of ethosu_request_power() is not atomic, and each inference uses it, too: an
 * application that calls it or ethosu_release_power() sees that no other thread cancels, releases
 * or resets that NPU meanwhile.
 */
#ifndef ETHOSU_EXT_H
#define ETHOSU_EXT_H

#include "ethosu_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reasons ---- */

/** Why a call failed: ETHOSU_EXT_E_ARGUMENT and so on, negative; the list is ethosu_errors.def. */
enum ethosu_ext_error {
    ETHOSU_EXT_OK = 0,
#define ETHOSU_EXT_ERROR(number, name, errno_name, sentence) ETHOSU_EXT_E_##name = -(number),
#include "ethosu_errors.def"
#undef ETHOSU_EXT_ERROR
};

/** Number of an errno as MicroPython and Linux count them; not the C library's on every target. */
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

/** The errno that stands for an enum ethosu_ext_error, positive; 0 for ETHOSU_EXT_OK. */
int ethosu_ext_errno(int error);

/**
 * One sentence about a fault, with its numbers, always NUL-terminated.
 *
 * @param text  may be NULL when size is 0
 * @param size  bytes of text
 * @return      bytes that the whole sentence needs, NUL not counted
 */
size_t ethosu_ext_describe(const struct ethosu_ext_fault *fault, char *text, size_t size);

/** Why the last call on this handle failed; code is ETHOSU_EXT_OK when none did. */
const struct ethosu_ext_fault *ethosu_ext_last_error(const struct ethosu_driver *drv);

/**
 * Print one line of the log; called when the driver was built with ETHOSU_LOG_SEVERITY. An
 * application may implement it; the default in the archive uses printf().
 *
 * @param severity  0 error, 1 warning, 2 information, 3 debug
 * @param text      gone after the call
 */
void ethosu_ext_log(int severity, const char *text);

/** Bits of struct ethosu_ext_status, whatever the product. */
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

/** Bytes that hold any config name, NUL included. */
#define ETHOSU_EXT_CONFIG_NAME_SIZE 20

/** Name of a CONFIG word in Vela's spelling, "ethos-u55-128". */
void ethosu_ext_config_name(uint32_t config, char name[ETHOSU_EXT_CONFIG_NAME_SIZE]);

/** CONFIG word (product and MACs only) of a name; false when it is none. */
bool ethosu_ext_config_parse(const char *name, uint32_t *config);

/** Is this the same NPU, for a command stream: product and MACs of two CONFIG words? */
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
 * Reserve an NPU, in the order of asking.
 *
 * @param config   name of a config, or NULL for any
 * @param timeout  0 does not wait; the unit is that of ETHOSU_EXT_SECOND, milliseconds by default
 * @param fault    set when NULL is returned; may be NULL
 */
struct ethosu_driver *ethosu_ext_reserve(const char *config, uint64_t timeout,
                                         struct ethosu_ext_fault *fault);

/** Reserve this very NPU. ETHOSU_EXT_E_NONE_SUCH: it was deinitialised, its memory is not touched.
 */
int ethosu_ext_reserve_this(struct ethosu_driver *drv, uint64_t timeout);

/** Walk the list of NPUs: NULL gives the first, the last gives NULL. */
struct ethosu_driver *ethosu_ext_next(const struct ethosu_driver *drv);

/** CONFIG register of this NPU, read at init; ethosu_ext_config_name() makes a name of it. */
uint32_t ethosu_ext_config(const struct ethosu_driver *drv);

/** Did ethosu_init() get memory for fast scratch? Then it has ethosu_ext_fast_memory_size() bytes.
 */
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
    ETHOSU_EXT_CONSTANTS = 2, /**< refuse a command stream that writes base pointer 0 */
    /**
     * The caller owns the cache lines at both ends of each buffer and does not
     * write to them while the NPU is running. Outputs may share cache lines with
     * other data.
     */
    ETHOSU_EXT_OWN_LINES = 4,
};

/** Answer of ethosu_config_select() for "no opinion". */
#define ETHOSU_EXT_CONFIG_DEFAULT (~0u)

/**
 * Read a payload (COP1 or COP2) without running it. All bounds are checked.
 *
 * @param payload  set on success
 * @param fault    set on failure; may be NULL
 */
int ethosu_ext_parse_payload(const void *data, size_t size, struct ethosu_ext_payload *payload,
                             struct ethosu_ext_fault *fault);

/**
 * Check an inference: payload, config, alignment, placement, command stream.
 * No register of the NPU is written. Parameters as ethosu_invoke_v3().
 *
 * @param flags  enum ethosu_ext_prepare_flag, or-ed
 */
int ethosu_ext_prepare(struct ethosu_driver *drv, struct ethosu_ext_program *program,
                       const void *payload, size_t payload_size, const uint64_t *base_addr,
                       const size_t *base_addr_size, int num_base_addr, unsigned flags);

/**
 * Clean the command stream, base pointer 0 (if the stream does not write it)
 * and base pointer 2 again, as ethosu_ext_prepare() did: to be called when the
 * CPU has changed them since. On Linux (accel/) base pointer 0 is copied again; a changed command
 * stream has to be prepared again there, since the kernel has a copy of it that nobody can change.
 */
void ethosu_ext_clean(const struct ethosu_ext_program *program);

/**
 * Start a prepared inference on a reserved NPU; `program` must stay until it has ended.
 *
 * @return  0: call ethosu_ext_wait()
 */
int ethosu_ext_start(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                     void *user_arg);

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

/** Time-out of ethosu_wait(drv, true) and ethosu_invoke_*(); unit as ethosu_ext_reserve(). */
void ethosu_ext_set_timeout(struct ethosu_driver *drv, uint64_t timeout);

/**
 * Let ethosu_invoke_*() walk each new command stream first (the default), or not.
 *
 * A stream is new unless payload address, payload size and the regions' sizes are those of an
 * earlier inference on this NPU, and the payload's bytes are the same: either they are in memory
 * that nothing writes (struct ethosu_memory: ETHOSU_CPU_CODE, no master that writes), or their
 * checksum is the same. Releasing the NPU forgets nothing. The last ETHOSU_EXT_STREAMS payloads
 * (a macro of the build, 4) of all NPUs are kept.
 */
void ethosu_ext_set_verify(struct ethosu_driver *drv, bool verify);

/**
 * The caller promises that a payload keeps its bytes for as long as it is used, wherever it is:
 * then its address stands for them, and no checksum is compared. Default: false.
 */
void ethosu_ext_set_constant_payloads(struct ethosu_driver *drv, bool constant);

/**
 * Make ethosu_invoke_*() verify and prepare its next payload again. Call this
 * - after a program was written to memory that counts as constant (flash), or the bytes of a
 *   payload changed that were promised to stay,
 * - before a payload of a stranger stands where another payload of a stranger stood: two may
 *   have been made with the same checksum,
 * - when ethosu_address_remap() or ethosu_config_select() begins to answer otherwise.
 */
void ethosu_ext_forget(struct ethosu_driver *drv);

/** Call `on_done` from the interrupt handler when an inference has completed; NULL: don't. */
void ethosu_ext_on_done(struct ethosu_driver *drv,
                        void (*on_done)(struct ethosu_driver *drv, void *argument), void *argument);

/* ---- counters ---- */

/** Events of an NPU since ethosu_init(). */
struct ethosu_ext_counts {
    uint32_t timeouts; /**< inferences that were stopped because they were late */
    uint32_t resets;   /**< resets of the NPU, that of ethosu_init() included */
    uint32_t spurious; /**< interrupts that completed no inference */
};

void ethosu_ext_get_counts(const struct ethosu_driver *drv, struct ethosu_ext_counts *counts);

/** Event counters of this NPU; ETHOSU_PMU_Get_NumEventCounters() gives the least of all NPUs. */
uint32_t ethosu_ext_pmu_counters(const struct ethosu_driver *drv);

/** Can this NPU count the event of this number, as the hardware has it (ETHOSU_EXT_PMU_*)? */
bool ethosu_ext_pmu_has_event(const struct ethosu_driver *drv, uint32_t number);

/** ETHOSU_PMU_Set_EVTYPER() with the hardware's number. */
void ethosu_ext_pmu_set_event(struct ethosu_driver *drv, uint32_t num, uint32_t number);

/* ---- checks ---- */

/**
 * Walk a command stream and bound every access by the sizes of its regions.
 * Linear in the stream, no allocation; needs neither NPU nor driver. A build with
 * ETHOSU_VERIFY=0 has no verifier: then this returns ETHOSU_EXT_E_NO_VERIFIER.
 *
 * @param config   CONFIG word of the NPU that shall run it
 * @param size     bytes of each region
 * @param writes   set to what is written of each region; may be NULL
 * @param fault    set on failure: which word, which numbers; may be NULL
 */
int ethosu_ext_verify(const void *stream, size_t stream_bytes, uint32_t config, const size_t *size,
                      int count, struct ethosu_ext_writes *writes, struct ethosu_ext_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
