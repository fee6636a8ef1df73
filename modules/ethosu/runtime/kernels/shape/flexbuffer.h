// SPDX-License-Identifier: MIT
/** Reads numbers in a FlexBuffers map, the options of custom operators. Every read is bounded. */
#ifndef FLEXBUFFER_H
#define FLEXBUFFER_H

#include <stdint.h>

/**
 * Find a number, or a truth value as 0 or 1, in a map.
 *
 * @param data  the whole buffer, which ends with its root
 * @return      `fallback` if the key is not found or the buffer is not a valid map
 */
double flexbuffer_number(const uint8_t *data, uint32_t size, const char *key, double fallback);

#endif
