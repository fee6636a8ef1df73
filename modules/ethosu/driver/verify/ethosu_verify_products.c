// SPDX-License-Identifier: MIT
/** The verifier for an NPU, and the only reference to the commands of each family. */
#include "driver/verify/ethosu_verify.h"

#include "driver/base/ethosu_build.h"
#include "driver/base/ethosu_fault.h"
#include "driver/device/ethosu_products.h"

#define COMMANDS(family)        \
    [ETHOSU_PRODUCT_##family] = \
        ETHOSU_##family && ETHOSU_VERIFY ? &ethosu_ext_commands_##family : NULL

/** NULL: this build has no verifier for the family. */
static const struct ethosu_ext_commands *const commands[] = {
    COMMANDS(U55),
    COMMANDS(U65),
    COMMANDS(U85),
};

int ethosu_ext_verify(const void *stream, size_t stream_bytes, uint32_t config, const size_t *size,
                      int count, struct ethosu_ext_writes *writes, struct ethosu_ext_fault *fault)
{
    struct walk walk; // too large to be copied from an initialiser
    const struct ethosu_ext_product *product = ethosu_ext_product_find(config);
    if (product == NULL) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NO_NPU, -1, config, 0);
    }
    if (product->part == NULL) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NOT_BUILT_IN, -1, config, 0);
    }
    walk.commands = commands[product->number];
    if (walk.commands == NULL) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NO_VERIFIER, -1, config, 0);
    }
    walk.stream = stream;
    walk.end = walk.stream + stream_bytes / 4 * 4;
    walk.size = size;
    walk.regions = (uint32_t)count;
    walk.config = config;
    walk.cores = product->cores;
    walk.narrow = walk.commands->narrow;
    walk.stopped = walk.branches = false;
    memset(walk.tables, 0, sizeof walk.tables);
    for (uint32_t region = 0; region < ETHOSU_EXT_MAX_BASES; region++) {
        walk.writes.start[region] = SIZE_MAX;
        walk.writes.end[region] = 0;
    }
    walk.fault = fault;
    int error = stream_bytes >= 4 ? walk.commands->walk(&walk) : 0;
    if (writes != NULL) {
        *writes = walk.writes;
    }
    if (error != 0 || walk.stopped) {
        return error;
    }
    return ethosu_ext_refuse(fault, ETHOSU_EXT_E_COMMAND_NO_STOP, -1, stream_bytes / 4, 0);
}
