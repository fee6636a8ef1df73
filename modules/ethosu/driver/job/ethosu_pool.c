// SPDX-License-Identifier: MIT
/**
 * The list of NPUs and their reservations.
 *
 * A caller that finds no free NPU waits in a queue with its own semaphore.
 * ethosu_release_driver() assigns the NPU to the first caller in the queue that can
 * use it. Callers are thus served in order, and no semaphore count leaks to the next.
 */
#include "driver/job/ethosu_pool.h"

#include "driver/base/ethosu_build.h"
#include "ethosu_ext.h"
#include "driver/base/ethosu_fault.h"
#include "driver/job/ethosu_job.h"
#include "driver/base/ethosu_registers.h"
#include "driver/base/ethosu_sync.h"

#define ANY_CONFIG UINT32_MAX

/**
 * Number of unused semaphores kept for reuse. A port without ethosu_semaphore_destroy(), such as
 * Zephyr's, leaks each semaphore that is destroyed.
 */
#define IDLE_SEMAPHORES 8

/** A caller's request, linked in the queue. */
struct request {
    uint32_t config;                  /**< or ANY_CONFIG */
    const struct ethosu_driver *this; /**< or NULL for any */
    struct ethosu_driver *assigned;
    bool no_match; /**< no matching NPU is left */
    void *semaphore;
    struct request *next;
};

/** Guarded by its mutex, created by the first ethosu_init(); `settings` is atomic. */
static struct {
    void *mutex;
    struct ethosu_driver *drivers;
    struct request *queue;
    volatile uint32_t settings; /**< the last number assigned */
    void *idle[IDLE_SEMAPHORES];
    uint32_t idle_count;
} pool;

uint32_t ethosu_ext_new_settings(void)
{
    return __atomic_add_fetch(&pool.settings, 1, __ATOMIC_RELAXED);
}

static bool lock(struct ethosu_ext_fault *fault)
{
    if (pool.mutex != NULL && ethosu_mutex_lock(pool.mutex) == 0) {
        return true;
    }
    ethosu_ext_fail(fault, ETHOSU_EXT_E_LOCKED, -1);
    return false;
}

static void unlock(void)
{
    (void)ethosu_mutex_unlock(pool.mutex);
}

/** A semaphore with count 0. The lock is held. */
static void *get_semaphore(void)
{
    return pool.idle_count != 0 ? pool.idle[--pool.idle_count] : ethosu_semaphore_create();
}

static void recycle_semaphore(void *semaphore)
{
    if (pool.idle_count < IDLE_SEMAPHORES) {
        pool.idle[pool.idle_count++] = semaphore;
    } else {
        ethosu_semaphore_destroy(semaphore);
    }
}

void *ethosu_ext_semaphore_get(void)
{
    if (pool.mutex == NULL) {
        pool.mutex = ethosu_mutex_create();
    }
    if (!lock(NULL)) {
        return NULL;
    }
    void *semaphore = get_semaphore();
    unlock();
    return semaphore;
}

void ethosu_ext_semaphore_recycle(void *semaphore)
{
    if (lock(NULL)) {
        recycle_semaphore(semaphore);
        unlock();
    }
}

/** The link to a handle, or the NULL link at the end of the list. */
static struct ethosu_driver **find(const struct ethosu_driver *drv)
{
    struct ethosu_driver **link = &pool.drivers;
    while (*link != NULL && *link != drv) {
        link = &(*link)->next;
    }
    return link;
}

static bool fits(const struct request *request, const struct ethosu_driver *drv)
{
    return (request->this == NULL || request->this == drv) &&
           (request->config == ANY_CONFIG ||
            ethosu_ext_config_same(request->config, drv->dev.config_register));
}

/** A start reads this without the lock, see claim() in ethosu_driver.c. */
static inline void set_reserved(struct ethosu_driver *drv, bool reserved)
{
    __atomic_store_n(&drv->reserved, reserved, __ATOMIC_SEQ_CST);
}

/** Remove a request from the queue and wake its caller. */
static void dequeue(struct request **link)
{
    struct request *request = *link;
    *link = request->next;
    (void)ethosu_semaphore_give(request->semaphore);
}

/** Assign a free NPU to the first caller waiting for a matching one. */
static RARE void assign_to_first(struct ethosu_driver *drv)
{
    struct request **link = &pool.queue;
    while (*link != NULL && !fits(*link, drv)) {
        link = &(*link)->next;
    }
    struct request *request = *link;
    if (request != NULL) {
        set_reserved(drv, true);
        __atomic_store_n(&request->assigned, drv, __ATOMIC_RELEASE);
        dequeue(link);
    }
}

static inline void assign(struct ethosu_driver *drv)
{
    if (pool.queue != NULL) {
        assign_to_first(drv);
    }
}

/** This reservation has ended: `reserved` is cleared. The lock is held. */
static inline void offer(struct ethosu_driver *drv, uint32_t reservation)
{
    ETHOSU_EXT_SET(drv->reservation, reservation + 1);
    assign(drv);
}

RARE bool ethosu_ext_pool_offer(struct ethosu_driver *drv, uint32_t *word)
{
    bool locked = lock(NULL);
    bool ends = locked && *find(drv) != NULL && drv->reserved;
    if (ends) { // a deinit can't have deferred anything while it is in the list
        set_reserved(drv, false);
    }
    bool done;
    do {
        done = ethosu_ext_job_step(drv, word, *word & ~JOB_BUSY);
    } while (!done && ends);
    if (ends) {
        offer(drv, drv->reservation);
    }
    if (locked) {
        unlock();
    }
    return done;
}

RARE int ethosu_ext_pool_add(struct ethosu_driver *drv, struct ethosu_ext_fault *fault)
{
    if (!lock(fault)) {
        return ETHOSU_EXT_E_LOCKED;
    }
    drv->next = pool.drivers;
    pool.drivers = drv;
    assign(drv);
    unlock();
    return 0;
}

RARE bool ethosu_ext_pool_remove(struct ethosu_driver *drv)
{
    if (pool.mutex == NULL || !lock(NULL)) {
        return false;
    }
    struct ethosu_driver **link = find(drv);
    bool found = *link != NULL;
    if (found) {
        *link = drv->next;
        set_reserved(drv, false);
    }
    unlock();
    return found;
}

/** Is there a matching NPU? */
static bool has_match(const struct request *request)
{
    const struct ethosu_driver *drv = pool.drivers;
    while (drv != NULL && !fits(request, drv)) {
        drv = drv->next;
    }
    return drv != NULL;
}

RARE void ethosu_ext_pool_end_requests(void)
{
    if (!lock(NULL)) {
        return;
    }
    struct request **link = &pool.queue;
    while (*link != NULL) {
        if (has_match(*link)) {
            link = &(*link)->next;
        } else {
            __atomic_store_n(&(*link)->no_match, true, __ATOMIC_RELEASE);
            dequeue(link);
        }
    }
    unlock();
}

struct ethosu_driver *ethosu_ext_next(const struct ethosu_driver *drv)
{
    return drv == NULL ? pool.drivers : drv->next;
}

/** Leave the queue, unless the request has been answered in the meantime. */
static RARE void leave_queue(struct request *request, bool taken)
{
    while (ethosu_mutex_lock(pool.mutex) != 0) {
    }
    struct request **link = &pool.queue;
    while (*link != NULL && *link != request) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = request->next;
    }
    if ((request->assigned != NULL || request->no_match) && !taken) { // both at the same time
        (void)ethosu_semaphore_take(request->semaphore, 0);
    }
    recycle_semaphore(request->semaphore);
    unlock();
}

/** A free matching NPU. The lock is held. */
static inline struct ethosu_driver *take(const struct request *request)
{
    for (struct ethosu_driver *drv = pool.drivers; drv != NULL; drv = drv->next) {
        if (!drv->reserved && fits(request, drv)) {
            set_reserved(drv, true);
            return drv;
        }
    }
    return NULL;
}

/** Take a free NPU or join the queue. @return 0, or an error */
static int take_or_enqueue(struct request *request, uint64_t timeout,
                           struct ethosu_ext_fault *fault)
{
    request->assigned = take(request);
    if (request->assigned != NULL) {
        return 0;
    }
    if (!has_match(request)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NONE_SUCH, -1, 0, request->config);
    }
    if (timeout == 0) {
        return ethosu_ext_fail(fault, ETHOSU_EXT_E_NONE_FREE, -1);
    }
    request->semaphore = get_semaphore();
    if (request->semaphore == NULL) {
        return ethosu_ext_fail(fault, ETHOSU_EXT_E_NO_SEMAPHORE, -1);
    }
    struct request **link = &pool.queue;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = request;
    return 0;
}

/** Wait in the queue. */
static void wait_in_queue(struct request *request, uint64_t timeout, struct ethosu_ext_fault *fault)
{
    bool taken;
    do { // a reused semaphore may have a surplus count
        taken = ethosu_semaphore_take(request->semaphore, timeout) >= 0;
    } while (taken && __atomic_load_n(&request->assigned, __ATOMIC_ACQUIRE) == NULL &&
             !__atomic_load_n(&request->no_match, __ATOMIC_ACQUIRE));
    leave_queue(request, taken);
    if (request->no_match) {
        ethosu_ext_refuse(fault, ETHOSU_EXT_E_NONE_SUCH, -1, 0, request->config);
    } else if (request->assigned == NULL) {
        ethosu_ext_refuse_wide(fault, ETHOSU_EXT_E_NONE_FREE, -1, ethosu_ext_milliseconds(timeout),
                               0);
    }
}

/** Take a free NPU, or wait for one; sets `fault` on failure. */
static RARE struct ethosu_driver *reserve_or_wait(uint32_t config, const struct ethosu_driver *this,
                                                  uint64_t timeout, struct ethosu_ext_fault *fault)
{
    struct request request = {.config = config, .this = this};
    if (pool.mutex == NULL) {
        ethosu_ext_refuse(fault, ETHOSU_EXT_E_NONE_SUCH, -1, 0, config);
        return NULL;
    }
    if (!lock(fault)) {
        return NULL;
    }
    int error = take_or_enqueue(&request, timeout, fault);
    unlock();
    if (error == 0 && request.semaphore != NULL) {
        wait_in_queue(&request, timeout, fault);
    }
    return request.assigned;
}

struct ethosu_driver *ethosu_ext_reserve(const char *config, uint64_t timeout,
                                         struct ethosu_ext_fault *fault)
{
    uint32_t requested = ANY_CONFIG;
    if (config != NULL && !ethosu_ext_config_parse(config, &requested)) {
        ethosu_ext_fail(fault, ETHOSU_EXT_E_ARGUMENT, 0);
        return NULL;
    }
    return reserve_or_wait(requested, NULL, timeout, fault);
}

/** This NPU is not free at first sight: find the reason, and wait. */
static RARE int reserve_this_or_wait(struct ethosu_driver *drv, uint64_t timeout)
{
    struct ethosu_ext_fault fault;
    if (reserve_or_wait(ANY_CONFIG, drv, timeout, &fault) != NULL) {
        return 0;
    }
    if (lock(NULL)) {
        if (*find(drv) != NULL) { // else it was deinitialised, its memory may be freed
            (void)ethosu_ext_report(&drv->fault, &fault);
        }
        unlock();
    }
    return fault.code;
}

int ethosu_ext_reserve_this(struct ethosu_driver *drv, uint64_t timeout)
{
    // The fast path, which a build for size does without.
    if (!ETHOSU_FOR_SIZE && pool.mutex != NULL && ethosu_mutex_lock(pool.mutex) == 0) {
        bool free = *find(drv) != NULL && !drv->reserved;
        if (free) {
            set_reserved(drv, true);
        }
        unlock();
        if (free) {
            return 0;
        }
    }
    return reserve_this_or_wait(drv, timeout);
}

struct ethosu_driver *ethosu_reserve_driver(void)
{
#ifdef ETHOSU_MULTI_VARIANT // as Arm's: which NPU is meant is known when the payload is
    return NULL;
#else
    if (pool.mutex != NULL && ethosu_mutex_lock(pool.mutex) == 0) { // fast path
        struct ethosu_driver *drv = take(&(struct request){.config = ANY_CONFIG});
        unlock();
        if (drv != NULL) {
            return drv;
        }
    }
    return reserve_or_wait(ANY_CONFIG, NULL, ETHOSU_EXT_RESERVE_TIMEOUT, NULL);
#endif
}

struct ethosu_driver *ethosu_reserve_driver_ex(uint32_t product, uint32_t log2_macs)
{
    return reserve_or_wait(product << 28 | (log2_macs & 0xF), NULL, ETHOSU_EXT_RESERVE_TIMEOUT,
                           NULL);
}

/** Release the NPU, unless this reservation has already ended and the NPU has a new holder. */
static void release(struct ethosu_driver *drv, uint32_t reservation)
{
    for (bool retry = true; retry;) {
        bool taken = (ethosu_ext_job_word(drv) & JOB_BUSY) != 0;
        if ((taken && (ethosu_ext_reservation(drv) != reservation ||
                       ethosu_ext_job_defer(drv, JOB_RELEASE))) ||
            !lock(&drv->fault)) {
            return;
        }
        retry = false;
        if (drv->reserved && ethosu_ext_reservation(drv) == reservation) {
            set_reserved(drv, false);
            retry = (ethosu_ext_job_word(drv) & JOB_BUSY) != 0;
            if (retry) { // started since the first check
                set_reserved(drv, true);
            } else {
                offer(drv, reservation);
            }
        }
        unlock();
    }
}

void ethosu_release_driver(struct ethosu_driver *drv)
{
    if (drv != NULL) {
        release(drv, ethosu_ext_reservation(drv));
    }
}

#if ETHOSU_EXT_STREAMS
int ethosu_invoke_auto(const void *custom_data_ptr, const int custom_data_size,
                       uint64_t *const base_addr, const size_t *base_addr_size,
                       const int num_base_addr, void *user_arg)
{
    uint32_t product;
    uint32_t log2_macs;
    if (ethosu_get_product_config_from_cop_data(custom_data_ptr, custom_data_size, &product,
                                                &log2_macs) != 0) {
        return -1;
    }
    struct ethosu_driver *drv = ethosu_reserve_driver_ex(product, log2_macs);
    if (drv == NULL) {
        return -1;
    }
    const uint32_t reservation = ethosu_ext_reservation(drv);
    int result = ethosu_invoke_v3(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size,
                                  num_base_addr, user_arg);
    release(drv, reservation);
    return result;
}
#endif
