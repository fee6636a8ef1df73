// SPDX-License-Identifier: MIT
/** Detects the version of QEMU, and whether it has all functions that the plugin needs. */
#include "qemu_api.h"

#include <inttypes.h>
#include <stdio.h>

struct function {
    const char *name;
    void (*address)(void);
};

#define ROW(result, name, parameters) {#name, (void (*)(void))(name)},
static const struct function common[] = {QEMU_FUNCTIONS(ROW){NULL, NULL}};
static const struct function api_1[] = {QEMU_FUNCTIONS_API_1(ROW){NULL, NULL}};
static const struct function of_cortex_m[] = {QEMU_FUNCTIONS_CORTEX_M(ROW){NULL, NULL}};
static const struct function of_none[] = {QEMU_FUNCTIONS_NONE(ROW){NULL, NULL}};
static const struct function api_2[] = {QEMU_FUNCTIONS_API_2(ROW){NULL, NULL}};
#undef ROW

/** QEMU reads this after loading the plugin and rejects unknown versions. */
QEMU_EXPORT extern int qemu_plugin_version;
int qemu_plugin_version;

__attribute__((constructor)) static void choose_version(void)
{
    qemu_plugin_version = qemu_api_level();
}

int qemu_api_level(void)
{
    return qemu_plugin_scoreboard_new ? 2 : 1;
}

static const char *first_missing(const struct function *function)
{
    while (function->name && function->address) {
        function++;
    }
    return function->name;
}

const char *qemu_api_missing(bool cortex_m, bool none)
{
    const char *missing = first_missing(common);
    if (!missing && cortex_m) {
        missing = first_missing(of_cortex_m);
    }
    if (!missing && none) {
        missing = first_missing(of_none);
    }
    return missing ? missing : first_missing(qemu_api_level() == 1 ? api_1 : api_2);
}

const char *qemu_api_version(void)
{
    static char text[64];
    VersionInfo *info = qmp_query_version ? qmp_query_version(NULL) : NULL;
    if (!info) {
        return "version unknown";
    }
    snprintf(text, sizeof text, "version %" PRId64 ".%" PRId64 ".%" PRId64, info->qemu->major,
             info->qemu->minor, info->qemu->micro);
    return text;
}
