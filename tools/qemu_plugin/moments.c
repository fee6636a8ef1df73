// SPDX-License-Identifier: MIT
/** Delayed faults, each with a timer on QEMU's virtual clock. */
#include "moments.h"

#include <stddef.h>
#include <string.h>

#include "qemu_api.h"

#define MOMENT_COUNT 16

static struct moment {
    struct fault fault;
    void (*happen)(const struct fault *fault); /**< NULL if free */
    bool has_timer;
    _Alignas(max_align_t) unsigned char timer[TIMER_ROOM];
} moments[MOMENT_COUNT];

static QEMUTimer *moment_timer(struct moment *moment)
{
    return (QEMUTimer *)moment->timer;
}

static void on_time(void *context)
{
    struct moment *moment = context;
    void (*happen)(const struct fault *fault) = moment->happen;
    struct fault fault = moment->fault;
    moment->happen = NULL;
    happen(&fault);
}

bool moment_add(const struct fault *fault, void (*happen)(const struct fault *fault))
{
    for (struct moment *moment = moments; moment < moments + MOMENT_COUNT; moment++) {
        if (moment->happen) {
            continue;
        }
        if (!moment->has_timer) {
            timer_init_full(moment_timer(moment), NULL, QEMU_CLOCK_VIRTUAL, 1, 0, on_time, moment);
            moment->has_timer = true;
        }
        moment->fault = *fault;
        moment->happen = happen;
        timer_mod(moment_timer(moment),
                  qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + (int64_t)fault->after);
        return true;
    }
    return false;
}

void moment_forget(const struct fault *fault)
{
    for (struct moment *moment = moments; moment < moments + MOMENT_COUNT; moment++) {
        if (moment->happen && strcmp(moment->fault.device, fault->device) == 0 &&
            strcmp(moment->fault.name, fault->name) == 0) {
            timer_del(moment_timer(moment));
            moment->happen = NULL;
        }
    }
}
