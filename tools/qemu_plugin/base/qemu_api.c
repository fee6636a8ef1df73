// SPDX-License-Identifier: MIT
/** Detects the version of QEMU, and whether it has all functions that the plugin needs. */
#include "base/qemu_api.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/callbacks.h"
#include "base/message.h"

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

/** QEMU reads this after loading the plugin, and rejects levels of the API that it does not have.
 */
QEMU_EXPORT extern int qemu_plugin_version;
int qemu_plugin_version;

static bool asked; /**< QEMU has called qemu_plugin_install() */

/** 0 if QEMU does not tell. */
static struct qemu_release release(void)
{
    struct qemu_release found = {0, 0, 0};
    bool can_ask = qmp_query_version && qapi_free_VersionInfo;
    VersionInfo *info = can_ask ? qmp_query_version(NULL) : NULL;
    if (info) {
        found = *info->qemu;
        qapi_free_VersionInfo(info);
    }
    return found;
}

__attribute__((constructor)) static void choose_version(void)
{
    qemu_plugin_version = callbacks_claim(release());
}

static void refuse(const char *what)
{
    message(MESSAGE_NONE,
            "this QEMU, %s%s, is not supported: the plugin works with QEMU 7.2 and later if its "
            "plugin API is one of 1 to %d; install qemu-system-arm of Debian 12 or 13 or of their "
            "backports, or set ETHOSU_QEMU to such a program",
            qemu_api_version(), what, QEMU_API_NEWEST);
}

/** QEMU unloads the plugin if it does not have the level, with a message that does not help. */
__attribute__((destructor)) static void explain(void)
{
    if (qmp_query_version && !asked) {
        refuse("");
    }
}

bool qemu_api_accept(const qemu_info_t *info)
{
    static const struct qemu_release oldest = {7, 2, 0};
    char what[64];
    const struct qemu_release found = release();
    asked = true;
    if (callbacks_choose(info->version.cur) &&
        (found.major == 0 || !qemu_release_before(found, oldest))) {
        return true;
    }
    snprintf(what, sizeof what, " with plugin API %d", info->version.cur);
    refuse(what);
    return false;
}

static const char *first_missing(const struct function *function)
{
    while (function->name && function->address) {
        function++;
    }
    return function->name;
}

const char *qemu_api_missing(int api, bool cortex_m, bool none)
{
    const char *missing = first_missing(common);
    if (!missing && cortex_m) {
        missing = first_missing(of_cortex_m);
    }
    if (!missing && none) {
        missing = first_missing(of_none);
    }
    return missing ? missing : first_missing(api == 1 ? api_1 : api_2);
}

const char *qemu_api_version(void)
{
    static char text[64];
    const struct qemu_release found = release();
    if (found.major == 0) {
        return "version unknown";
    }
    snprintf(text, sizeof text, "version %" PRId64 ".%" PRId64 ".%" PRId64, found.major,
             found.minor, found.micro);
    return text;
}
