// SPDX-License-Identifier: MIT
/** Clock, power and reset of an NPU. */
#include "driver/job/ethosu_power.h"

#include "driver/base/ethosu_fault.h"
#include "driver/job/ethosu_job.h"
#include "driver/base/ethosu_log.h"
#include "driver/base/ethosu_sync.h"

int ethosu_ext_switch_power(struct ethosu_driver *drv, bool on)
{
    if (drv->dev.power == NULL || drv->dev.power(drv->dev.npu, on) || !on) {
        return 0;
    }
    return ethosu_ext_fail(&drv->fault, ETHOSU_EXT_E_POWER, -1);
}

int ethosu_ext_power_up(struct ethosu_driver *drv)
{
    RETURN_IF_ERROR(ethosu_ext_switch_power(drv, true));
    int error = ethosu_ext_device_awake(&drv->dev)
                    ? 0
                    : ethosu_ext_device_wake(&drv->dev, drv->semaphore, &drv->fault);
    if (error != 0) {
        (void)ethosu_ext_switch_power(drv, false);
    }
    return error;
}

void ethosu_ext_power_down(struct ethosu_driver *drv)
{
    ethosu_ext_device_set_power(&drv->dev, false);
    (void)ethosu_ext_switch_power(drv, false);
}

void ethosu_ext_power_underflow(struct ethosu_driver *drv)
{
    (void)ethosu_ext_fail(&drv->fault, ETHOSU_EXT_E_POWER_UNDERFLOW, -1);
}

int ethosu_request_power(struct ethosu_driver *drv)
{
    return ethosu_ext_request_power(drv) == 0 ? 0 : -1;
}

void ethosu_release_power(struct ethosu_driver *drv)
{
    ethosu_ext_release_power(drv);
}

int ethosu_ext_reset_npu(struct ethosu_driver *drv, struct ethosu_ext_fault *fault)
{
    ETHOSU_EXT_LOG_DEBUG("reset");
    ETHOSU_EXT_SET(drv->resets, drv->resets + 1); // others read it
    RETURN_IF_ERROR(ethosu_ext_device_reset(&drv->dev, drv->semaphore, fault));
    ethosu_ext_device_set_power(&drv->dev, drv->power_request_counter > 0);
    return 0;
}

int ethosu_ext_reset_idle(struct ethosu_driver *drv)
{
    if (drv->power_request_counter != 0) {
        return ethosu_ext_reset_npu(drv, &drv->fault);
    }
    RETURN_IF_ERROR(ethosu_ext_switch_power(drv, true));
    int error = ethosu_ext_reset_npu(drv, &drv->fault);
    (void)ethosu_ext_switch_power(drv, false);
    return error;
}
