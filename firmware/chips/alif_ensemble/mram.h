// SPDX-License-Identifier: MIT
/** The chip's MRAM: read as any memory, written in lines. */
#ifndef ALIF_MRAM_H
#define ALIF_MRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Write MRAM: the function of struct nvm. Old content needs no erasing. */
bool mram_write(uint8_t *at, const uint8_t *bytes, size_t size);

#endif
