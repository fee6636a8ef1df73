// SPDX-License-Identifier: MIT
/** The chip's flash, by its controller (FMC). */
#ifndef NUMAKER_FLASH_H
#define NUMAKER_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLASH_PAGE 8192u /**< bytes that are erased together */
#define FLASH_UID_WORDS 3u

/** Give the controller its clock. */
void flash_start(void);

/** Erase the page at `at`. @return  false if the controller reports a failure */
bool flash_erase(uint8_t *at);

/** Program `size` bytes, a multiple of 8, to erased flash. @return  as flash_erase() */
bool flash_write(uint8_t *at, const uint8_t *bytes, size_t size);

/** The chip's unique number; 0 where it cannot be read. */
void flash_read_uid(uint32_t id[FLASH_UID_WORDS]);

#endif
