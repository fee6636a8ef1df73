// SPDX-License-Identifier: MIT
/**
 * Driver for Arm Ethos-U NPUs: the interface of Arm's core driver, 1.0 and 1.99.
 *
 * Names, constants and signatures are Arm's, so that code written for its
 * driver compiles and links unchanged. The implementation and ethosu_ext.h are
 * this project's. Additional guarantees are noted below.
 */
#ifndef ETHOSU_DRIVER_H
#define ETHOSU_DRIVER_H

#include "ethosu_pmu_types.h"
#include "ethosu_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of Arm's driver interface. */
#define ETHOSU_DRIVER_VERSION_MAJOR 1
#define ETHOSU_DRIVER_VERSION_MINOR 99
#define ETHOSU_DRIVER_VERSION_PATCH 0

/** Time-out that never ends. */
#define ETHOSU_SEMAPHORE_WAIT_FOREVER (UINT64_MAX)

/**
 * Time-out units per second. All time-outs use the unit of the port's ethosu_semaphore_take(),
 * milliseconds by default. A port with a different unit builds driver and application with
 * -DETHOSU_EXT_SECOND=..., Zephyr with CONFIG_SYS_CLOCK_TICKS_PER_SEC.
 */
#ifndef ETHOSU_EXT_SECOND
#define ETHOSU_EXT_SECOND 1000u
#endif

/** Default time-out of an inference: 10 s. Arm's driver waits forever. */
#ifndef ETHOSU_SEMAPHORE_WAIT_INFERENCE
#define ETHOSU_SEMAPHORE_WAIT_INFERENCE (10u * ETHOSU_EXT_SECOND)
#endif

/** The lowest byte of struct ethosu_job's `word`. */
enum __attribute__((packed)) ethosu_job_state {
    ETHOSU_JOB_IDLE = 0,
    ETHOSU_JOB_RUNNING,
    ETHOSU_JOB_DONE,     /**< the NPU has finished, ethosu_wait() has not been called */
    ETHOSU_JOB_STARTING, /**< addition: a start is in progress */
    ETHOSU_JOB_ENDING,   /**< addition: a thread is finishing the job */
};

enum ethosu_job_result {
    ETHOSU_JOB_RESULT_OK = 0,
    ETHOSU_JOB_RESULT_TIMEOUT,
    ETHOSU_JOB_RESULT_ERROR,
};

/**
 * The current inference. The interrupt handler only changes the state to DONE;
 * threads make all other changes.
 */
struct ethosu_job {
    union {
        volatile enum ethosu_job_state state;
        volatile uint32_t word; /**< addition: state, waiters and inference number */
    };
    volatile enum ethosu_job_result result; /**< valid from ethosu_inference_end() on */
    /* Arguments of ethosu_invoke_*() until ethosu_inference_end() has returned; else 0. */
    const void *custom_data_ptr;
    int custom_data_size;
    const uint64_t *base_addr;
    const size_t *base_addr_size;
    int num_base_addr;
    void *user_arg;

    /* additions */
    volatile uint32_t status;             /**< STATUS register when the end was detected */
    const struct ethosu_ext_program *run; /**< the current inference */
};

/**
 * Number of payloads that each handle keeps verified and prepared for ethosu_invoke_*(). A build
 * may set it: library and program must have the same number, else they do not link. 0 leaves
 * ethosu_invoke_*() out, for a program that starts prepared inferences (ethosu_ext.h).
 */
#ifndef ETHOSU_EXT_STREAMS
#define ETHOSU_EXT_STREAMS 1
#endif

#if ETHOSU_EXT_STREAMS != 1 // the size of struct ethosu_driver differs
#define ETHOSU_EXT_OF_STREAMS(name, number) name##_of_##number##_streams
#define ETHOSU_EXT_OF(name, number) ETHOSU_EXT_OF_STREAMS(name, number)
#define ethosu_init ETHOSU_EXT_OF(ethosu_ext_init, ETHOSU_EXT_STREAMS)
#define ethosu_init_ex ETHOSU_EXT_OF(ethosu_ext_init_ex, ETHOSU_EXT_STREAMS)
#endif

/** A payload that was verified and prepared, and the data that detects changes to it. */
struct ethosu_ext_stream {
    const void *payload; /**< NULL if the entry is empty */
    size_t payload_size;
    uint32_t settings;      /**< the handle's settings when this was prepared */
    uint32_t reservation;   /**< reservation in which the program was last cleaned */
    uint32_t checked_words; /**< payload words covered by the checksum; 0 if constant */
    uint32_t checksum;
    struct ethosu_ext_writes writes;
    struct ethosu_ext_program program;
};

struct ethosu_driver {
    struct ethosu_device dev;
    struct ethosu_driver *next;
#if ETHOSU_EXT_STREAMS
    const struct ethosu_pmu_desc *pmu; /**< driver 1.99; every product has the same functions */
#endif
    struct ethosu_job job;
    void *semaphore;
    uint64_t fast_memory;
    size_t fast_memory_size;
    uint32_t power_request_counter;
    bool reserved;

    /* additions */
    bool skip_verify;
    bool constant_payloads;
    uint8_t flush_mask;
    uint8_t invalidate_mask;
    uint32_t settings;             /**< changes whenever the settings change */
    uint32_t reservation;          /**< number of releases so far */
    uint64_t timeout;              /**< of ethosu_wait(drv, true) */
    struct ethosu_ext_fault fault; /**< why the last call failed */
    void (*on_done)(struct ethosu_driver *drv, void *argument);
    void *on_done_argument;
    volatile uint32_t spurious; /**< interrupts that completed no inference */
    uint32_t timeouts;
    uint32_t resets;
#if ETHOSU_EXT_STREAMS
    uint32_t next_stream;                                 /**< the one to replace */
    struct ethosu_ext_stream streams[ETHOSU_EXT_STREAMS]; /**< of ethosu_invoke_*() */
#endif
};

struct ethosu_driver_version {
    uint8_t major;
    uint8_t minor;
    uint8_t patch;
};

enum ethosu_request_clients {
    ETHOSU_PMU_REQUEST = 0,
    ETHOSU_INFERENCE_REQUEST = 1,
};

/* ---- performance counters (driver 1.99); ethosu_pmu_funcs.h declares the functions ---- */

/** A table of the functions ETHOSU_PMU_*(). */
struct ethosu_pmu_ops {
    void (*ETHOSU_PMU_Enable)(struct ethosu_driver *drv);
    void (*ETHOSU_PMU_Disable)(struct ethosu_driver *drv);
    uint32_t (*ETHOSU_PMU_Get_NumEventCounters)(void); /**< of the family */
    void (*ETHOSU_PMU_Set_EVTYPER)(struct ethosu_driver *drv, uint32_t num,
                                   enum ethosu_pmu_event_type type);
    enum ethosu_pmu_event_type (*ETHOSU_PMU_Get_EVTYPER)(struct ethosu_driver *drv, uint32_t num);
    void (*ETHOSU_PMU_CYCCNT_Reset)(struct ethosu_driver *drv);
    void (*ETHOSU_PMU_EVCNTR_ALL_Reset)(struct ethosu_driver *drv);
    void (*ETHOSU_PMU_CNTR_Enable)(struct ethosu_driver *drv, uint32_t mask);
    void (*ETHOSU_PMU_CNTR_Disable)(struct ethosu_driver *drv, uint32_t mask);
    uint32_t (*ETHOSU_PMU_CNTR_Status)(struct ethosu_driver *drv);
    uint64_t (*ETHOSU_PMU_Get_CCNTR)(struct ethosu_driver *drv);
    void (*ETHOSU_PMU_Set_CCNTR)(struct ethosu_driver *drv, uint64_t val);
    uint32_t (*ETHOSU_PMU_Get_EVCNTR)(struct ethosu_driver *drv, uint32_t num);
    void (*ETHOSU_PMU_Set_EVCNTR)(struct ethosu_driver *drv, uint32_t num, uint32_t val);
    uint32_t (*ETHOSU_PMU_Get_CNTR_OVS)(struct ethosu_driver *drv);
    void (*ETHOSU_PMU_Set_CNTR_OVS)(struct ethosu_driver *drv, uint32_t mask);
    void (*ETHOSU_PMU_Set_CNTR_IRQ_Enable)(struct ethosu_driver *drv, uint32_t mask);
    void (*ETHOSU_PMU_Set_CNTR_IRQ_Disable)(struct ethosu_driver *drv, uint32_t mask);
    uint32_t (*ETHOSU_PMU_Get_IRQ_Enable)(struct ethosu_driver *drv);
    void (*ETHOSU_PMU_CNTR_Increment)(struct ethosu_driver *drv, uint32_t mask);
    void (*ETHOSU_PMU_PMCCNTR_CFG_Set_Start_Event)(struct ethosu_driver *drv,
                                                   enum ethosu_pmu_event_type start_event);
    void (*ETHOSU_PMU_PMCCNTR_CFG_Set_Stop_Event)(struct ethosu_driver *drv,
                                                  enum ethosu_pmu_event_type stop_event);
    uint32_t (*ETHOSU_PMU_Get_QREAD)(struct ethosu_driver *drv);
    uint32_t (*ETHOSU_PMU_Get_STATUS)(struct ethosu_driver *drv);
};

struct ethosu_pmu_desc {
    const struct ethosu_pmu_ops *ops;
};

extern const struct ethosu_pmu_desc ethosu_pmu_desc_u55;
extern const struct ethosu_pmu_desc ethosu_pmu_desc_u65;
extern const struct ethosu_pmu_desc ethosu_pmu_desc_u85;

/* ---- weak functions: a board or an RTOS may override them ---- */

/** Call this when the NPU raises its interrupt. */
void ethosu_irq_handler(struct ethosu_driver *drv);

/**
 * Write dirty cache lines of these buffers back to memory before the NPU starts.
 * Addresses and sizes are those of the base pointers, not rounded to cache
 * lines. The default does nothing.
 */
void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size,
                         int num_base_addr);

/**
 * Invalidate cache lines of these buffers. Called after the NPU has finished, to
 * drop lines fetched while it ran. The default does nothing.
 */
void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size,
                              int num_base_addr);

/**
 * Mutex that protects the list of drivers. The default is for systems without
 * threads: locking it twice fails instead of waiting.
 */
void *ethosu_mutex_create(void);
void ethosu_mutex_destroy(void *mutex);
/** @return 0, or negative if the lock was not taken */
int ethosu_mutex_lock(void *mutex);
/** @return 0, or negative */
int ethosu_mutex_unlock(void *mutex);

/**
 * Counting semaphore that starts at 0. The default sleeps with
 * ethosu_ext_board_idle(), measures time-outs with ethosu_ext_board_ticks_ms(),
 * allocates from a fixed pool and may be given from an interrupt. The driver
 * keeps up to 8 unused semaphores before it destroys one.
 */
void *ethosu_semaphore_create(void);
void ethosu_semaphore_destroy(void *sem);
/**
 * @param timeout  ETHOSU_EXT_SECOND units per second; 0 does not wait,
 *                 ETHOSU_SEMAPHORE_WAIT_FOREVER waits forever
 * @return         0 when taken, negative on time-out
 */
int ethosu_semaphore_take(void *sem, uint64_t timeout);
/** Also called from the interrupt handler. @return 0, or negative */
int ethosu_semaphore_give(void *sem);

/** Called just before an inference starts. */
void ethosu_inference_begin(struct ethosu_driver *drv, void *user_arg);

/** Called once per ethosu_inference_begin(): on success, error, time-out, cancel and release. */
void ethosu_inference_end(struct ethosu_driver *drv, void *user_arg);

/**
 * Address as the NPU sees it; the default returns it unchanged.
 *
 * @param index  base pointer number, or -1 for the command stream
 */
uint64_t ethosu_address_remap(uint64_t address, int index);

/**
 * Memory attribute (QCONFIG, REGIONCFG field) for an address. The default returns
 * ETHOSU_EXT_CONFIG_DEFAULT, which selects the attribute from the board's table
 * or else the product's.
 *
 * @param address  NPU address
 * @param index    base pointer number, or -1 for the command stream
 */
unsigned int ethosu_config_select(uint64_t address, int index);

/* ---- functions ---- */

/**
 * Initialise an NPU and make it available to ethosu_reserve_driver(). A handle
 * that is already initialised is deinitialised first.
 *
 * @param base_address      its registers
 * @param fast_memory       buffer that replaces base pointer 2 in every inference, or NULL
 * @param fast_memory_size  bytes
 * @return                  0, or -1, see ethosu_ext_last_error()
 */
int ethosu_init(struct ethosu_driver *drv, void *const base_address, const void *fast_memory,
                const size_t fast_memory_size, uint32_t secure_enable, uint32_t privilege_enable);

/**
 * Like ethosu_init(), but the caller specifies family and register values (driver 1.99). One image
 * may use all families, with either function.
 *
 * @param dev_desc      &ethosu_device_desc_u55, _u65 or _u85; an NPU of another family is rejected
 * @param dev_config    &ethosu_device_config_u55 and so on, or the caller's; must remain valid
 * @param dev_user_ops  this NPU's hooks, or NULL; NULL members default to the global hooks
 * @return              0, or -1
 */
int ethosu_init_ex(struct ethosu_driver *drv, const struct ethosu_device_desc *dev_desc,
                   struct ethosu_device_config *dev_config,
                   struct ethosu_device_user_ops *dev_user_ops, void *const base_address,
                   const void *fast_memory, const size_t fast_memory_size, uint32_t secure_enable,
                   uint32_t privilege_enable);

/**
 * Stop the NPU and remove it: a running inference is cancelled, a reservation ends, and requests
 * that no other NPU can satisfy fail. Calls of other threads that wait on the handle have returned
 * when this returns. Called from within such a call (a hook), it returns after a few seconds, and
 * the handle must remain valid until that call has returned. Before the handle is reused, the
 * interrupt handler must have returned, too.
 */
void ethosu_deinit(struct ethosu_driver *drv);

/** Reset the NPU; a running inference is cancelled. @return 0, or -1 */
int ethosu_soft_reset(struct ethosu_driver *drv);

/** Keep clock and power on; requests are counted. @return 0, or -1 */
int ethosu_request_power(struct ethosu_driver *drv);

/** Undo one request. */
void ethosu_release_power(struct ethosu_driver *drv);

void ethosu_get_driver_version(struct ethosu_driver_version *ver);

void ethosu_get_hw_info(struct ethosu_driver *drv, struct ethosu_hw_info *hw);

/**
 * Base pointers to flush before and invalidate after each inference prepared or
 * invoked from now on; bit n is base pointer n. This is in addition to the cache
 * maintenance that the board's memories require.
 */
void ethosu_set_basep_cache_mask(struct ethosu_driver *drv, uint8_t flush_mask,
                                 uint8_t invalidate_mask);

#if ETHOSU_EXT_STREAMS
/**
 * Run an inference and wait for it. Everything is checked before the first
 * register is written; the arrays are not used after the call returns.
 *
 * @param drv               NULL: like ethosu_invoke_auto()
 * @param custom_data_ptr   payload, COP1 or COP2
 * @param custom_data_size  bytes
 * @param base_addr         addresses of the regions, aligned to 16; the array is not modified
 * @param base_addr_size    their sizes in bytes
 * @param num_base_addr     at most 8
 * @param user_arg          for ethosu_inference_begin() and _end()
 * @return                  0, or -1, see ethosu_ext_last_error()
 */
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr,
                     const int custom_data_size, uint64_t *const base_addr,
                     const size_t *base_addr_size, const int num_base_addr, void *user_arg);

#define ethosu_invoke(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size, \
                      num_base_addr)                                                     \
    ethosu_invoke_v3(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size,  \
                     num_base_addr, 0)

/** Like ethosu_invoke_v3(), but returns once the NPU is running; then call ethosu_wait(). */
int ethosu_invoke_async(struct ethosu_driver *drv, const void *custom_data_ptr,
                        const int custom_data_size, uint64_t *const base_addr,
                        const size_t *base_addr_size, const int num_base_addr, void *user_arg);

/**
 * Reserve an NPU matching the payload's accelerator config, run the inference on it and
 * release it (driver 1.99). @return as ethosu_invoke_v3()
 */
int ethosu_invoke_auto(const void *custom_data_ptr, const int custom_data_size,
                       uint64_t *const base_addr, const size_t *base_addr_size,
                       const int num_base_addr, void *user_arg);
#endif

/**
 * Return the product that a payload (COP1 or COP2) was compiled for (driver 1.99).
 *
 * @param product_out    ETHOSU_PRODUCT_*; may be NULL
 * @param log2_macs_out  ETHOSU_MACS_*; may be NULL
 * @return               0, or -1 if the payload is damaged or does not specify it
 */
int ethosu_get_product_config_from_cop_data(const void *custom_data_ptr, const int custom_data_size,
                                            uint32_t *product_out, uint32_t *log2_macs_out);

/**
 * Finish an inference started by ethosu_invoke_async().
 *
 * @param block  wait for up to the driver's time-out; else only poll
 * @return       0 success, 1 still running, -1 failed (reset and ready again, unless
 *               ethosu_ext_last_error() is ETHOSU_EXT_E_BUSY, when a hook waits for the call that
 *               called it), -2 no inference
 *
 * The driver does not track which thread started an inference. If another thread may release the
 * NPU between ethosu_invoke_async() and this call, the inference may belong to the next holder. In
 * that case start a prepared program and use ethosu_ext_wait_program() instead.
 */
int ethosu_wait(struct ethosu_driver *drv, bool block);

/**
 * Reserve an NPU, waiting until one is free. A build may limit the wait with
 * ETHOSU_EXT_RESERVE_TIMEOUT. ethosu_ext_reserve() takes a time-out and reports why it failed.
 *
 * @return  NULL if there are no NPUs. A driver built with ETHOSU_MULTI_VARIANT always returns
 *          NULL, for which ethosu_invoke_v3() selects the NPU by the payload
 */
struct ethosu_driver *ethosu_reserve_driver(void);

/**
 * Reserve an NPU of a given product (driver 1.99).
 *
 * @param product    ETHOSU_PRODUCT_*
 * @param log2_macs  ETHOSU_MACS_*
 * @return           NULL if there is no such NPU
 */
struct ethosu_driver *ethosu_reserve_driver_ex(uint32_t product, uint32_t log2_macs);

/**
 * Release a reserved NPU. A running inference is cancelled, and the NPU has stopped when this
 * returns. A call that waits for the inference returns -1. The next caller gets the NPU once no
 * other thread uses the handle. Releasing a free NPU has no effect, but a second release takes a
 * reserved NPU from its next holder.
 */
void ethosu_release_driver(struct ethosu_driver *drv);

#if ETHOSU_EXT_STREAMS
/** Reserve, invoke, release. @return 0, or -1 */
static inline int ethosu_invoke_v2(const void *custom_data_ptr, const int custom_data_size,
                                   uint64_t *const base_addr, const size_t *base_addr_size,
                                   const int num_base_addr)
{
    int result = -1;
    struct ethosu_driver *drv = ethosu_reserve_driver();
    if (drv != NULL) {
        result = ethosu_invoke_v3(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size,
                                  num_base_addr, NULL);
        ethosu_release_driver(drv);
    }
    return result;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
