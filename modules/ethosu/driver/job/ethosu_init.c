// SPDX-License-Identifier: MIT
/** Init and deinit of a handle. */
#include "ethosu_ext.h"

#include "driver/base/ethosu_build.h"
#include "driver/base/ethosu_fault.h"
#include "driver/job/ethosu_job.h"
#include "driver/base/ethosu_log.h"
#include "ethosu_memory.h"
#include "driver/job/ethosu_pool.h"
#include "driver/job/ethosu_power.h"

/** Check that the board does not route this NPU's writes to a read-only port. */
static int check_ports(const struct ethosu_device *dev, struct ethosu_ext_fault *fault)
{
    const struct ethosu_board *board = ethosu_ext_memory_board();
    for (size_t i = 0; i < board->memory_count; i++) {
        const struct ethosu_memory *memory = &board->memories[i];
        uint32_t config = memory->port - (uint32_t)ETHOSU_PORT_0;
        if (memory->port != ETHOSU_PORT_DEFAULT && (memory->masters & ETHOSU_NPU_WRITES) &&
            (dev->part->reads_only >> config & 1)) {
            return ethosu_ext_refuse(fault, ETHOSU_EXT_E_BOARD_PORT, (int)i, config, 0);
        }
    }
    return 0;
}

/** Identify the NPU and reset it. Its power is on. */
static int bring_up(struct ethosu_driver *drv)
{
    RETURN_IF_ERROR(ethosu_ext_device_probe(&drv->dev, &drv->fault));
    RETURN_IF_ERROR(check_ports(&drv->dev, &drv->fault));
#if ETHOSU_EXT_STREAMS && ETHOSU_PMU
    static const struct ethosu_pmu_desc *const descs[] = {
        [ETHOSU_PRODUCT_U55] = &ethosu_pmu_desc_u55,
        [ETHOSU_PRODUCT_U65] = &ethosu_pmu_desc_u65,
        [ETHOSU_PRODUCT_U85] = &ethosu_pmu_desc_u85,
    };
    drv->pmu = descs[drv->dev.caps.product];
#endif
    return ethosu_ext_reset_npu(drv, &drv->fault);
}

/** Bring the NPU up, and offer it to waiting callers. */
static int register_npu(struct ethosu_driver *drv)
{
    ETHOSU_EXT_SET(drv->semaphore, ethosu_ext_semaphore_get());
    if (drv->semaphore == NULL) {
        return ethosu_ext_fail(&drv->fault, ETHOSU_EXT_E_NO_SEMAPHORE, -1);
    }
    int error = ethosu_ext_switch_power(drv, true);
    if (error == 0) {
        error = bring_up(drv);
        (void)ethosu_ext_switch_power(drv, false);
    }
    if (error == 0) { // last: from now on a waiting caller may use the NPU
        error = ethosu_ext_pool_add(drv, &drv->fault);
    }
    if (error != 0) {
        ethosu_ext_semaphore_recycle(drv->semaphore);
        ETHOSU_EXT_SET(drv->semaphore, NULL);
    }
    return error;
}

/** Wait until no other thread uses a handle that was removed. */
static bool wait_for_others(const struct ethosu_driver *drv)
{
    void *delay = ethosu_ext_semaphore_get();
    bool left = delay != NULL && ethosu_ext_job_poll(drv, delay, true);
    if (delay != NULL) {
        ethosu_ext_semaphore_recycle(delay);
    }
    return left;
}

/** Remove a handle from the list and end its inference; false if another thread still uses it. */
static bool unregister_npu(struct ethosu_driver *drv)
{
    if (!ethosu_ext_pool_remove(drv)) {
        return true;
    }
    if (ethosu_ext_job_defer(drv, JOB_DEINIT)) {
        return wait_for_others(drv);
    }
    ethosu_ext_switch_off(drv);
    return true;
}

/** Initialise a handle and register it. */
static int init_handle(struct ethosu_driver *drv, const struct ethosu_device *dev,
                       const void *fast_memory, size_t fast_memory_size)
{
    if (!unregister_npu(drv)) { // no effect on a new handle
        return ethosu_ext_fail(&drv->fault, ETHOSU_EXT_E_BUSY, -1);
    }
    *drv = (struct ethosu_driver){
        .dev = *dev,
        .fast_memory = (uintptr_t)fast_memory,
        .fast_memory_size = fast_memory_size,
        .skip_verify = ETHOSU_TRUST_STREAMS,
        .constant_payloads = ETHOSU_CONSTANT_PAYLOADS,
        .timeout = ETHOSU_SEMAPHORE_WAIT_INFERENCE,
        .settings = ethosu_ext_new_settings(),
    };
    if (drv->dev.reg == NULL) {
        return ethosu_ext_fail(&drv->fault, ETHOSU_EXT_E_ARGUMENT, 1);
    }
    drv->dev.npu = ethosu_ext_memory_npu((uintptr_t)drv->dev.reg);
    drv->dev.power = drv->dev.npu != NULL ? drv->dev.npu->power : NULL;
    return register_npu(drv);
}

/** Common part of ethosu_init() and ethosu_init_ex(); `dev` has the differences. */
static int init(struct ethosu_driver *drv, const struct ethosu_device *dev, const void *fast_memory,
                size_t fast_memory_size)
{
    if (init_handle(drv, dev, fast_memory, fast_memory_size) != 0) {
        ethosu_ext_pool_end_requests(); // the handle is no longer in the list
        return -1;
    }
#if ETHOSU_LOG_SEVERITY >= ETHOSU_LOG_INFO
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    ethosu_ext_config_name(drv->dev.config_register, name);
    ethosu_ext_log(ETHOSU_LOG_INFO, name);
#endif
    return 0;
}

int ethosu_init(struct ethosu_driver *drv, void *const base_address, const void *fast_memory,
                const size_t fast_memory_size, uint32_t secure_enable, uint32_t privilege_enable)
{
    const struct ethosu_device dev = {.reg = (volatile struct NPU_REG *)base_address,
                                      .secure = secure_enable,
                                      .privileged = privilege_enable};
    return drv != NULL ? init(drv, &dev, fast_memory, fast_memory_size) : -1;
}

int ethosu_init_ex(struct ethosu_driver *drv, const struct ethosu_device_desc *dev_desc,
                   struct ethosu_device_config *dev_config,
                   struct ethosu_device_user_ops *dev_user_ops, void *const base_address,
                   const void *fast_memory, const size_t fast_memory_size, uint32_t secure_enable,
                   uint32_t privilege_enable)
{
    const struct ethosu_device dev = {.reg = (volatile struct NPU_REG *)base_address,
                                      .secure = secure_enable,
                                      .privileged = privilege_enable,
                                      .desc = dev_desc,
                                      .user_ops = dev_user_ops,
                                      .config = dev_config};
    bool complete =
        dev_desc != NULL && dev_config != NULL && dev_config->config != NULL && drv != NULL;
    return complete ? init(drv, &dev, fast_memory, fast_memory_size) : -1;
}

void ethosu_deinit(struct ethosu_driver *drv)
{
    (void)unregister_npu(drv);
    ethosu_ext_pool_end_requests();
}
