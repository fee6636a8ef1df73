// SPDX-License-Identifier: MIT
/** Names of accelerator configs, in Vela's spelling. */
#include "ethosu_ext.h"
#include "ethosu_format.h"
#include "ethosu_registers.h"

#include <string.h>

static const char *const products[] = {"55", "65", "85"};

void ethosu_ext_config_name(uint32_t config, char name[ETHOSU_EXT_CONFIG_NAME_SIZE])
{
    uint32_t product = NPU_CONFIG_PRODUCT(config);
    if (product >= sizeof products / sizeof products[0]) {
        strcpy(name, "unknown");
        return;
    }
    struct ethosu_text text = {name, ETHOSU_EXT_CONFIG_NAME_SIZE, 0};
    ethosu_ext_text_string(&text, "ethos-u");
    ethosu_ext_text_string(&text, products[product]);
    ethosu_ext_text_char(&text, '-');
    ethosu_ext_text_decimal(&text, 1u << NPU_CONFIG_MACS(config));
    ethosu_ext_text_end(&text);
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
