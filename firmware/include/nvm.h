// SPDX-License-Identifier: MIT
/**
 * Non-volatile memory: memory-mapped reads, writes through the board's functions.
 *
 * Data is written in chunks, read back and compared; erased memory holds 0xFF.
 */
#ifndef FIRMWARE_NVM_H
#define FIRMWARE_NVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Chunk size: unit and alignment of writes. */
#define NVM_CHUNK 256u

/** How a memory is written. */
struct nvm {
    /** Erase unit in bytes, a power of two of at least NVM_CHUNK; 0 if no erase is needed. */
    size_t erase_unit;
    /** Erase the unit at `at`; NULL without erase_unit. @return  false: the device failed */
    bool (*erase)(uint8_t *at);
    /**
     * Write `size` bytes, a multiple of NVM_CHUNK at a multiple of NVM_CHUNK; `bytes` are in RAM
     * and word-aligned. NULL: the memory is read-only. @return  false: the device failed
     */
    bool (*write)(uint8_t *at, const uint8_t *bytes, size_t size);
    /** False: the memory does not answer, so there is nothing to read. NULL: it always does. */
    bool (*is_there)(void);
    const char *why_not; /**< without write(): a message with the alternative, or NULL */
};

/** For memory written with plain stores: {.write = nvm_write_plain}. */
bool nvm_write_plain(uint8_t *at, const uint8_t *bytes, size_t size);

/** Unit in which old content is cleared: an erase unit, or a chunk. */
size_t nvm_unit(const struct nvm *nvm);

/** Clear the unit at `at`. @return  false: the device failed, or something else reads back */
bool nvm_clear(const struct nvm *nvm, uint8_t *at);

/**
 * Write one chunk to cleared memory.
 *
 * @return  false: the device failed, or the data reads back differently
 */
bool nvm_write(const struct nvm *nvm, uint8_t *at, const uint8_t chunk[NVM_CHUNK]);

#endif
