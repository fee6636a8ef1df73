// SPDX-License-Identifier: MIT
/** Settings and properties of a handle and its NPU. */
#include "ethosu_ext.h"

#include "driver/job/ethosu_job.h"
#include "driver/job/ethosu_pool.h"
#include "driver/base/ethosu_registers.h"
#include "driver/base/ethosu_sync.h"

void ethosu_get_driver_version(struct ethosu_driver_version *ver)
{
    *ver = (struct ethosu_driver_version){ETHOSU_DRIVER_VERSION_MAJOR, ETHOSU_DRIVER_VERSION_MINOR,
                                          ETHOSU_DRIVER_VERSION_PATCH};
}

void ethosu_get_hw_info(struct ethosu_driver *drv, struct ethosu_hw_info *hw)
{
    uint32_t id = drv->dev.id;
    uint32_t config = drv->dev.config_register;
    *hw = (struct ethosu_hw_info){
        .version =
            {
                .version_status = NPU_ID_VERSION_STATUS(id),
                .version_minor = NPU_ID_VERSION_MINOR(id),
                .version_major = NPU_ID_VERSION_MAJOR(id),
                .product_major = NPU_ID_PRODUCT_MAJOR(id),
                .arch_patch_rev = NPU_ID_ARCH_PATCH(id),
                .arch_minor_rev = NPU_ID_ARCH_MINOR(id),
                .arch_major_rev = NPU_ID_ARCH_MAJOR(id),
            },
        .cfg =
            {
                .macs_per_cc = NPU_CONFIG_MACS(config),
                .cmd_stream_version = NPU_CONFIG_STREAM_VERSION(config),
                .custom_dma = (config & NPU_CONFIG_CUSTOM_DMA) != 0,
            },
    };
}

void ethosu_set_basep_cache_mask(struct ethosu_driver *drv, uint8_t flush_mask,
                                 uint8_t invalidate_mask)
{
    ETHOSU_EXT_SET(drv->flush_mask, flush_mask);
    ETHOSU_EXT_SET(drv->invalidate_mask, invalidate_mask);
    ethosu_ext_forget(drv);
}

void ethosu_ext_set_timeout(struct ethosu_driver *drv, uint64_t timeout)
{
    ETHOSU_EXT_SET(drv->timeout, timeout);
}

void ethosu_ext_set_verify(struct ethosu_driver *drv, bool verify)
{
    ETHOSU_EXT_SET(drv->skip_verify, !verify);
    ethosu_ext_forget(drv);
}

void ethosu_ext_set_constant_payloads(struct ethosu_driver *drv, bool constant)
{
    ETHOSU_EXT_SET(drv->constant_payloads, constant);
    ethosu_ext_forget(drv);
}

void ethosu_ext_forget(struct ethosu_driver *drv)
{
    ETHOSU_EXT_SET(drv->settings, ethosu_ext_new_settings());
}

void ethosu_ext_on_done(struct ethosu_driver *drv,
                        void (*on_done)(struct ethosu_driver *drv, void *argument), void *argument)
{
    ETHOSU_EXT_SET(drv->on_done, NULL); // the interrupt handler never sees half of it
    __atomic_store_n(&drv->on_done_argument, argument, __ATOMIC_RELEASE);
    __atomic_store_n(&drv->on_done, on_done, __ATOMIC_RELEASE);
}

const struct ethosu_ext_fault *ethosu_ext_last_error(const struct ethosu_driver *drv)
{
    return &drv->fault;
}

bool ethosu_ext_is_running(const struct ethosu_driver *drv)
{
    enum ethosu_job_state state = ethosu_ext_job_state(ethosu_ext_job_word(drv));
    return state != ETHOSU_JOB_IDLE &&
           state != ETHOSU_JOB_DONE; // until it is reset, it may still be running
}

uint32_t ethosu_ext_config(const struct ethosu_driver *drv)
{
    return drv->dev.config_register;
}

const struct ethosu_ext_program *ethosu_ext_last_program(const struct ethosu_driver *drv)
{
    return ETHOSU_EXT_GET(drv->job.run);
}

void ethosu_ext_get_counts(const struct ethosu_driver *drv, struct ethosu_ext_counts *counts)
{
    *counts = (struct ethosu_ext_counts){
        .timeouts = ETHOSU_EXT_GET(drv->timeouts),
        .resets = ETHOSU_EXT_GET(drv->resets),
        .spurious = ETHOSU_EXT_GET(drv->spurious),
    };
}
