// SPDX-License-Identifier: MIT
/** Delayed faults, each with a timer on QEMU's virtual clock. */
#include "delayed_faults.h"

#include <stddef.h>
#include <string.h>

#include "qemu_api.h"

#define MAX_DELAYED 16

static struct delayed {
    struct fault fault;
    void (*inject)(const struct fault *fault); /**< NULL if free */
    bool has_timer;
    struct virtual_timer timer;
} delayed_faults[MAX_DELAYED];

static void on_time(void *context)
{
    struct delayed *delayed = context;
    void (*inject)(const struct fault *fault) = delayed->inject;
    struct fault fault = delayed->fault;
    delayed->inject = NULL;
    inject(&fault);
}

bool delayed_fault_add(const struct fault *fault, void (*inject)(const struct fault *fault))
{
    for (struct delayed *delayed = delayed_faults; delayed < delayed_faults + MAX_DELAYED;
         delayed++) {
        if (delayed->inject) {
            continue;
        }
        if (!delayed->has_timer) {
            virtual_timer_create(&delayed->timer, on_time, delayed);
            delayed->has_timer = true;
        }
        delayed->fault = *fault;
        delayed->inject = inject;
        virtual_timer_set(&delayed->timer,
                          qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + (int64_t)fault->after);
        return true;
    }
    return false;
}

void delayed_fault_cancel(const struct fault *fault)
{
    for (struct delayed *delayed = delayed_faults; delayed < delayed_faults + MAX_DELAYED;
         delayed++) {
        if (delayed->inject && strcmp(delayed->fault.device, fault->device) == 0 &&
            strcmp(delayed->fault.name, fault->name) == 0) {
            virtual_timer_stop(&delayed->timer);
            delayed->inject = NULL;
        }
    }
}
