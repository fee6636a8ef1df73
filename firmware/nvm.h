// SPDX-License-Identifier: MIT
/**
 * Non-volatile memory: read where it lies, written as the board's table says.
 *
 * Writing goes in chunks. What is written is read back and compared.
 */
#ifndef FIRMWARE_NVM_H
#define FIRMWARE_NVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a chunk: all that is written at once, at a multiple of it. */
#define NVM_CHUNK 256u

/** How a memory is written. */
struct nvm {
    /** Bytes that are erased together, a power of two from NVM_CHUNK on; 0: a write needs none. */
    size_t erase_unit;
    /** Erase the unit at `at`; NULL without erase_unit. @return  false: the device failed */
    bool (*erase)(uint8_t *at);
    /**
     * Write `size` bytes, a multiple of NVM_CHUNK at a multiple of NVM_CHUNK; `bytes` are in RAM
     * and word-aligned. NULL: the memory is read-only. @return  false: the device failed
     */
    bool (*write)(uint8_t *at, const uint8_t *bytes, size_t size);
    const char *why_not; /**< without write(): a sentence that says what to do instead, or NULL */
};

/** Memory that the CPU writes as any other: {.write = nvm_write_plain}. */
bool nvm_write_plain(uint8_t *at, const uint8_t *bytes, size_t size);

/** What an old content is dropped by: a unit to erase, or a chunk. */
size_t nvm_unit(const struct nvm *nvm);

/** Drop what is in the unit at `at`. @return  false: the device failed */
bool nvm_clear(const struct nvm *nvm, uint8_t *at);

/**
 * Write one chunk to a place that was cleared.
 *
 * @return  false: the device failed, or the memory holds something else now
 */
bool nvm_write(const struct nvm *nvm, uint8_t *at, const uint8_t chunk[NVM_CHUNK]);

#endif
