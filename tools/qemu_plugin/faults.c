// SPDX-License-Identifier: MIT
/** Parser of device faults injected by the user or the guest: [DEVICE.]NAME[:COUNT][@AFTER]. */
#include "faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX 1000000u

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
