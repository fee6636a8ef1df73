// SPDX-License-Identifier: MIT
/** Names of accelerator configs, in Vela's spelling. */
#include "ethosu_ext.h"
#include "ethosu_registers.h"

#include <string.h>

static const char prefix[] = "ethos-u";
static const char *const products[] = {"55", "65", "85"};

#define PREFIX_LENGTH (sizeof prefix - 1)

void ethosu_ext_config_name(uint32_t config, char name[ETHOSU_EXT_CONFIG_NAME_SIZE])
{
    uint32_t product = NPU_CONFIG_PRODUCT(config);
    if (product >= sizeof products / sizeof products[0]) {
        strcpy(name, "unknown");
        return;
    }
    strcpy(name, prefix);
    strcpy(name + PREFIX_LENGTH, products[product]);
    char *end = name + PREFIX_LENGTH + 2;
    *end++ = '-';
    uint32_t divisor = 10000;
    uint32_t macs = 1u << NPU_CONFIG_MACS(config);
    while (divisor > macs) {
        divisor /= 10;
    }
    for (; divisor > 0; divisor /= 10) {
        *end++ = (char)('0' + macs / divisor % 10);
    }
    *end = '\0';
}

bool ethosu_ext_config_parse(const char *name, uint32_t *config)
{
    for (uint32_t product = 0; product < sizeof products / sizeof products[0]; product++) {
        for (uint32_t macs = 0; macs < 16; macs++) {
            char candidate[ETHOSU_EXT_CONFIG_NAME_SIZE];
            ethosu_ext_config_name(product << 28 | macs, candidate);
            if (strcmp(candidate, name) == 0) {
                *config = product << 28 | macs;
                return true;
            }
        }
    }
    return false;
}
