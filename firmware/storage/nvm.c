// SPDX-License-Identifier: MIT
/** Non-volatile memory: writing, with data cache maintenance, and comparing. */
#include "nvm.h"

#include <string.h>

#include "cpu.h"
#include "ethosu_ext.h"

bool nvm_write_plain(uint8_t *at, const uint8_t *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return true;
}

size_t nvm_unit(const struct nvm *nvm)
{
    return nvm->erase_unit != 0 ? nvm->erase_unit : NVM_CHUNK;
}

#ifdef FIRMWARE_PLAIN
static void forget_streams(void)
{
}
#else
/** Memory written only by this file counts as constant, so the driver does not recheck it. */
static void forget_streams(void)
{
    struct ethosu_driver *npu = ethosu_ext_next(NULL);
    for (; npu != NULL; npu = ethosu_ext_next(npu)) {
        ethosu_ext_forget(npu);
    }
}
#endif

/**
 * The data cache may hold bytes written by the CPU, or stale ones that a flash
 * controller has changed. Only one applies to a given memory, so do both here.
 */
static void synchronize(uint8_t *at, size_t size)
{
    forget_streams();
    __DSB();
    SCB_CleanInvalidateDCache_by_Addr(at, (int32_t)size);
}

/** A controller may report an erase that its memory has not made. */
static bool is_erased(const uint8_t *at, size_t size)
{
    uint32_t word = UINT32_MAX;
    for (size_t i = 0; i < size && word == UINT32_MAX; i += sizeof(word)) {
        memcpy(&word, at + i, sizeof(word));
    }
    return word == UINT32_MAX;
}

bool nvm_clear(const struct nvm *nvm, uint8_t *at)
{
    if (nvm->erase_unit != 0) {
        bool done = nvm->erase(at);
        synchronize(at, nvm->erase_unit);
        return done && is_erased(at, nvm->erase_unit);
    }
    _Alignas(uint64_t) uint8_t blank[NVM_CHUNK];
    memset(blank, 0xFF, sizeof blank);
    return nvm_write(nvm, at, blank);
}

bool nvm_write(const struct nvm *nvm, uint8_t *at, const uint8_t chunk[NVM_CHUNK])
{
    if (nvm->write == NULL) {
        return false;
    }
    bool done = nvm->write(at, chunk, NVM_CHUNK);
    synchronize(at, NVM_CHUNK);
    return done && memcmp(at, chunk, NVM_CHUNK) == 0;
}
