// SPDX-License-Identifier: MIT
/** Clock, power and reset of an NPU, for the driver's other files. */
#ifndef ETHOSU_POWER_H
#define ETHOSU_POWER_H

#include "driver/device/device.h"

/** Switch the NPU's clock and power, if the board supports it. */
int ethosu_ext_switch_power(struct ethosu_driver *drv, bool on);

/** Switch on clock and power at the first request, if the board can switch them. */
int ethosu_ext_power_up(struct ethosu_driver *drv);

/** Switch off clock and power, which are no longer needed. */
void ethosu_ext_power_down(struct ethosu_driver *drv);

/** Report the release of a request that was never made. */
void ethosu_ext_power_underflow(struct ethosu_driver *drv);

/** Reset the NPU, keeping its power as requested. The fault is filled in only on failure. */
int ethosu_ext_reset_npu(struct ethosu_driver *drv, struct ethosu_ext_fault *fault);

/** Reset an NPU that may be powered off. */
int ethosu_ext_reset_idle(struct ethosu_driver *drv);

/** Inlined because each inference calls it. */
static inline __attribute__((always_inline)) int ethosu_ext_request_power(struct ethosu_driver *drv)
{
    if (drv->power_request_counter++ != 0) {
        return 0;
    }
    int error = 0;
    if (drv->dev.power != NULL) {
        error = ethosu_ext_power_up(drv);
    } else if (!ethosu_ext_device_awake(&drv->dev)) {
        error = ethosu_ext_device_wake(&drv->dev, drv->semaphore, &drv->fault);
    }
    if (__builtin_expect(error != 0, 0)) {
        drv->power_request_counter--;
    }
    return error;
}

static inline __attribute__((always_inline)) void
ethosu_ext_release_power(struct ethosu_driver *drv)
{
    if (drv->power_request_counter == 0) {
        ethosu_ext_power_underflow(drv);
    } else if (--drv->power_request_counter == 0) {
        if (drv->dev.power != NULL) {
            ethosu_ext_power_down(drv);
        } else {
            ethosu_ext_device_set_power(&drv->dev, false);
        }
    }
}

#endif
