// SPDX-License-Identifier: MIT
/** Parser of device faults, and a timer on QEMU's virtual clock for each delayed one. */
#include "base/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/qemu_api.h"

#define COUNT_MAX 1000000u
#define MAX_DELAYED 16

bool fault_parse(struct fault *fault, const char *text)
{
    if (strlen(text) >= FAULT_TEXT_SIZE) {
        return false;
    }
    const char *dot = strchr(text, '.');
    const char *name = dot ? dot + 1 : text;
    *fault = (struct fault){.device = "npu", .count = 1};
    if (dot) {
        snprintf(fault->device, sizeof fault->device, "%.*s", (int)(dot - text), text);
    }
    snprintf(fault->name, sizeof fault->name, "%.*s", (int)strcspn(name, ":@"), name);
    const char *rest = name + strlen(fault->name);
    int used = 0;
    if (*rest == ':' && sscanf(rest, ":%7u%n", &fault->count, &used) == 1) {
        rest += used;
    }
    if (*rest == '@' && sscanf(rest, "@%12" SCNu64 "%n", &fault->after, &used) == 1) {
        rest += used;
    }
    return *rest == '\0' && fault->count <= COUNT_MAX;
}

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

bool fault_delay(const struct fault *fault, void (*inject)(const struct fault *fault))
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

void fault_cancel(const struct fault *fault)
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
