// SPDX-License-Identifier: MIT
/** Parts of the guest's memory that are written to files when QEMU ends. */
#ifndef MEMORY_DUMP_H
#define MEMORY_DUMP_H

#include <stdint.h>

#define MEMORY_DUMPS_MAX 8

struct memory_dump {
    int file; /**< open descriptor */
    uint32_t address;
    uint32_t size; /**< bytes; 0 ends the list */
};

/** Once the memories exist: ends QEMU with an error message if a part is not in one of them. */
void memory_dump_check(const struct memory_dump *dumps);

/** Write all parts. Called once, when the guest runs no more. */
void memory_dump_write(const struct memory_dump *dumps);

#endif
