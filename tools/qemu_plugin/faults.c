// SPDX-License-Identifier: MIT
/** Faults that the user or the guest lets devices have: [DEVICE.]NAME[:COUNT]. */
#include "faults.h"

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
    const char *colon = strchr(name, ':');
    char rest;
    *fault = (struct fault){.device = "npu", .count = 1};
    if (dot) {
        snprintf(fault->device, sizeof fault->device, "%.*s", (int)(dot - text), text);
    }
    snprintf(fault->name, sizeof fault->name, "%.*s", (int)strcspn(name, ":"), name);
    return !colon ||
           (sscanf(colon + 1, "%7u%c", &fault->count, &rest) == 1 && fault->count <= COUNT_MAX);
}
