// SPDX-License-Identifier: MIT
/** The NPU's counters, through the kernel's interface. */
#include "accel.h"

#include <errno.h>
#include <string.h>

static int refuse(struct accel *accel, unsigned number, int error)
{
    return ethosu_ext_refuse(&accel->driver.fault, ETHOSU_EXT_E_ACCEL_COUNTERS, error, number,
                             accel->counters);
}

int ethosu_accel_count(struct ethosu_driver *drv, const uint16_t *events, unsigned number)
{
    struct accel *accel = accel_of(drv);
    if (accel->perfmon != 0) {
        struct accel_perfmon_destroy destroy = {.id = accel->perfmon};
        (void)accel_call(accel, accel->file, ACCEL_PERFMON_DESTROY, &destroy);
        accel->perfmon = 0;
    }
    if (number == 0) {
        return 0;
    }
    if (number > accel->counters || number > ETHOSU_ACCEL_EVENTS_MAX) {
        return refuse(accel, number, 0);
    }
    struct accel_perfmon_create create = {.counters = number};
    memcpy(create.events, events, number * sizeof *events);
    int error = accel_call(accel, accel->file, ACCEL_PERFMON_CREATE, &create);
    if (error != 0) {
        return refuse(accel, number, error);
    }
    accel->perfmon = create.id;
    accel->events = number;
    return 0;
}

int ethosu_accel_counts(struct ethosu_driver *drv, uint64_t *counts)
{
    struct accel *accel = accel_of(drv);
    struct accel_perfmon_values values = {.id = accel->perfmon, .values = (uintptr_t)counts};
    int error = accel->perfmon == 0 ? EINVAL
                                    : accel_call(accel, accel->file, ACCEL_PERFMON_VALUES, &values);
    return error == 0 ? 0 : refuse(accel, 0, error);
}
