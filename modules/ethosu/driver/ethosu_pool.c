// SPDX-License-Identifier: MIT
/**
 * The list of NPUs, and which of them are reserved.
 *
 * A caller that finds no free NPU waits in a queue, with a semaphore of its
 * own. ethosu_release_driver() assigns the NPU to the first caller in the queue
 * that can use it. So callers are served in order, and no semaphore count is
 * left for the next one.
 */
#include "ethosu_pool.h"

#include "ethosu_ext.h"
#include "ethosu_fault.h"
#include "ethosu_registers.h"

#define ANY_CONFIG UINT32_MAX

/**
 * Semaphores that are not needed are kept for the next who needs one, so many of them: a port may
 * have no ethosu_semaphore_destroy() of its own (Zephyr's has none), and then what is destroyed is
 * lost.
 */
#define IDLE_SEMAPHORES 8

/** Product and MACs: what tells configs apart. */
#define CONFIG_NAME_BITS 0xF000000Fu

/** What a caller asks for, and its place in the queue. */
struct request {
    uint32_t config;                  /**< or ANY_CONFIG */
    const struct ethosu_driver *this; /**< or NULL for any */
    struct ethosu_driver *given;
    void *semaphore;
    struct request *next;
};

/** Guarded by its mutex, which the first ethosu_init() makes; `settings` is atomic. */
static struct {
    void *mutex;
    struct ethosu_driver *drivers;
    struct request *queue;
    volatile uint32_t settings; /**< the last number that was given */
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

/** A semaphore, counting 0. The lock is held. */
static void *take_semaphore(void)
{
    return pool.idle_count != 0 ? pool.idle[--pool.idle_count] : ethosu_semaphore_create();
}

static void keep_semaphore(void *semaphore)
{
    if (pool.idle_count < IDLE_SEMAPHORES) {
        pool.idle[pool.idle_count++] = semaphore;
    } else {
        ethosu_semaphore_destroy(semaphore);
    }
}

void *ethosu_ext_semaphore_take_one(void)
{
    if (pool.mutex == NULL) {
        pool.mutex = ethosu_mutex_create();
    }
    if (!lock(NULL)) {
        return NULL;
    }
    void *semaphore = take_semaphore();
    unlock();
    return semaphore;
}

void ethosu_ext_semaphore_keep(void *semaphore)
{
    if (lock(NULL)) {
        keep_semaphore(semaphore);
        unlock();
    }
}

/** Where the list points to a handle, or to NULL at its end. */
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
            ((request->config ^ drv->dev.config_register) & CONFIG_NAME_BITS) == 0);
}

/** Assign a free NPU to the first caller that waits for one like it. */
static void assign(struct ethosu_driver *drv)
{
    struct request **link = &pool.queue;
    while (*link != NULL && !fits(*link, drv)) {
        link = &(*link)->next;
    }
    struct request *request = *link;
    if (request != NULL) {
        *link = request->next;
        drv->reserved = true;
        __atomic_store_n(&request->given, drv, __ATOMIC_RELEASE);
        (void)ethosu_semaphore_give(request->semaphore);
    }
}

int ethosu_ext_pool_add(struct ethosu_driver *drv, struct ethosu_ext_fault *fault)
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

bool ethosu_ext_pool_remove(struct ethosu_driver *drv)
{
    if (pool.mutex == NULL || !lock(NULL)) {
        return false;
    }
    struct ethosu_driver **link = find(drv);
    bool found = *link != NULL;
    if (found) {
        *link = drv->next;
        drv->reserved = false;
    }
    unlock();
    return found;
}

struct ethosu_driver *ethosu_ext_next(const struct ethosu_driver *drv)
{
    return drv == NULL ? pool.drivers : drv->next;
}

/** Take a free NPU, or queue up. @return 0, or why neither is possible */
static int ask(struct request *request, uint64_t timeout, struct ethosu_ext_fault *fault)
{
    bool known = false;
    for (struct ethosu_driver *drv = pool.drivers; drv != NULL; drv = drv->next) {
        if (fits(request, drv)) {
            known = true;
            if (!drv->reserved) {
                drv->reserved = true;
                request->given = drv;
                return 0;
            }
        }
    }
    if (!known) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NONE_SUCH, -1, 0, request->config);
    }
    if (timeout == 0) {
        return ethosu_ext_fail(fault, ETHOSU_EXT_E_NONE_FREE, -1);
    }
    request->semaphore = take_semaphore();
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

/** Leave the queue, unless an NPU was handed over in the meantime. */
static void leave_queue(struct request *request, bool taken)
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
    if (request->given != NULL && !taken) { // both at the same time: it was given
        (void)ethosu_semaphore_take(request->semaphore, 0);
    }
    keep_semaphore(request->semaphore);
    unlock();
}

static int reserve(struct request *request, uint64_t timeout, struct ethosu_ext_fault *fault)
{
    if (pool.mutex == NULL) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NONE_SUCH, -1, 0, request->config);
    }
    if (!lock(fault)) {
        return ETHOSU_EXT_E_LOCKED;
    }
    int error = ask(request, timeout, fault);
    unlock();
    if (error != 0 || request->semaphore == NULL) {
        return error;
    }

    bool taken;
    do { // a semaphore that was another's may have been given once too often
        taken = ethosu_semaphore_take(request->semaphore, timeout) >= 0;
    } while (taken && __atomic_load_n(&request->given, __ATOMIC_ACQUIRE) == NULL);
    leave_queue(request, taken);
    if (request->given == NULL) {
        return ethosu_ext_refuse_wide(fault, ETHOSU_EXT_E_NONE_FREE, -1,
                                      ethosu_ext_milliseconds(timeout), 0);
    }
    return 0;
}

struct ethosu_driver *ethosu_ext_reserve(const char *config, uint64_t timeout,
                                         struct ethosu_ext_fault *fault)
{
    struct request request = {.config = ANY_CONFIG};
    if (config != NULL && !ethosu_ext_config_parse(config, &request.config)) {
        ethosu_ext_fail(fault, ETHOSU_EXT_E_ARGUMENT, 0);
        return NULL;
    }
    (void)reserve(&request, timeout, fault);
    return request.given;
}

int ethosu_ext_reserve_this(struct ethosu_driver *drv, uint64_t timeout)
{
    struct request request = {.config = ANY_CONFIG, .this = drv};
    return reserve(&request, timeout, &drv->fault);
}

struct ethosu_driver *ethosu_reserve_driver(void)
{
#ifdef ETHOSU_MULTI_VARIANT // as Arm's: which NPU is meant is known when the payload is
    return NULL;
#else
    return ethosu_ext_reserve(NULL, ETHOSU_EXT_RESERVE_TIMEOUT, NULL);
#endif
}

struct ethosu_driver *ethosu_reserve_driver_ex(uint32_t product, uint32_t log2_macs)
{
    struct request request = {.config = product << 28 | (log2_macs & 0xF)};
    (void)reserve(&request, ETHOSU_EXT_RESERVE_TIMEOUT, NULL);
    return request.given;
}

void ethosu_release_driver(struct ethosu_driver *drv)
{
    if (drv == NULL || !drv->reserved) {
        return;
    }
    if (__atomic_load_n(&drv->job.state, __ATOMIC_ACQUIRE) != ETHOSU_JOB_IDLE) {
        (void)ethosu_ext_cancel(drv);
    }
    drv->reservation++;
    if (lock(&drv->fault)) {
        if (drv->reserved) {
            drv->reserved = false;
            assign(drv);
        }
        unlock();
    }
}

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
    int result = ethosu_invoke_v3(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size,
                                  num_base_addr, user_arg);
    ethosu_release_driver(drv);
    return result;
}
