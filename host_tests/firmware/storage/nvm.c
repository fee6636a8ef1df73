// SPDX-License-Identifier: MIT
/** Change a payload in memory declared constant, with nvm_write() and with nvm_clear(). */
#include "ethosu_ext.h"
#include "nvm.h"
#include "sim_host.h"

#include <stdio.h>
#include <string.h>

enum { BYTES = 64 };

static const uint32_t copy[15] = {
    0x31504F43u, 5,           5,       0x000B0002u, // COP1, 11 words of stream
    0x00000130u, 0x00010131u, 0x4030u, 0,           0x4031u,     0,
    0x4032u,     BYTES,       0x010u,  0x011u,      0xFFFF0000u,
};

static struct ethosu_driver *npu;
static uint8_t *memory;
static uint64_t bases[2];

static int invoke(void)
{
    const size_t sizes[2] = {BYTES, BYTES};
    return ethosu_invoke_v3(npu, memory, sizeof copy, bases, sizes, 2, NULL);
}

static bool erase(uint8_t *at)
{
    memset(at, 0xFF, NVM_CHUNK);
    return true;
}

int main(void)
{
    const struct nvm nvm = {.write = nvm_write_plain};
    const struct nvm flash = {.write = nvm_write_plain, .erase = erase, .erase_unit = NVM_CHUNK};
    uint32_t chunk[NVM_CHUNK / 4] = {0};
    npu = sim_host_open(0, "ethos-u55-128");
    memory = sim_host_alloc_uncached(NVM_CHUNK); // as fake_cpu.h has it
    bases[0] = (uintptr_t)sim_host_alloc(BYTES);
    bases[1] = (uintptr_t)sim_host_alloc(BYTES);
    if (npu == NULL || ethosu_ext_reserve_this(npu, 0) != 0) {
        return 1;
    }
    ethosu_ext_set_constant_payloads(npu, true);
    memcpy(chunk, copy, sizeof copy);
    printf("write %d\n", nvm_write(&nvm, memory, (const uint8_t *)chunk));
    printf("copy %d\n", invoke());
    chunk[11] = 2 * BYTES; // more than there is
    printf("write %d\n", nvm_write(&nvm, memory, (const uint8_t *)chunk));
    printf("changed %d\n", invoke());
    printf("bounds %d\n", ethosu_ext_last_error(npu)->code == ETHOSU_EXT_E_REGION_BOUNDS);
    memcpy(chunk, copy, sizeof copy);
    printf("write %d\n", nvm_write(&nvm, memory, (const uint8_t *)chunk));
    printf("copy %d\n", invoke());
    printf("clear %d\n", nvm_clear(&flash, memory));
    printf("cleared %d\n", invoke());
    sim_host_close(0);
    return 0;
}
