// SPDX-License-Identifier: MIT
/** The flash chip, memory-mapped by its serial controller. */
#ifndef WE2_FLASH_H
#define WE2_FLASH_H

#include <stdbool.h>

/**
 * Make the flash readable as memory, by CPU and bus masters. Call it with the caches off.
 *
 * @return  false: it did not answer as expected; its addresses are not those of a memory then
 */
bool flash_map(void);

/** Is it? */
bool flash_is_mapped(void);

#endif
