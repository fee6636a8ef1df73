// SPDX-License-Identifier: MIT
/**
 * Loads and stores of elements of any type. Always inline: with a constant type
 * they are single loads and stores, which gcc can vectorise.
 */
#ifndef ELEMENT_H
#define ELEMENT_H

#include "ethosu_model.h"

#define ELEMENT_INLINE static inline __attribute__((always_inline))

/** Element of an integer type (int8, uint8, bool, int16, int32). */
ELEMENT_INLINE int32_t element_load(const void *data, int32_t index, uint32_t type)
{
    switch (type) {
    case ETHOSU_TYPE_INT8:
        return ((const int8_t *)data)[index];
    case ETHOSU_TYPE_INT16:
        return ((const int16_t *)data)[index];
    case ETHOSU_TYPE_INT32:
        return ((const int32_t *)data)[index];
    default:
        return ((const uint8_t *)data)[index];
    }
}

ELEMENT_INLINE void element_store(void *data, int32_t index, uint32_t type, int32_t value)
{
    switch (type) {
    case ETHOSU_TYPE_INT16:
        ((int16_t *)data)[index] = (int16_t)value;
        break;
    case ETHOSU_TYPE_INT32:
        ((int32_t *)data)[index] = value;
        break;
    default:
        ((uint8_t *)data)[index] = (uint8_t)value;
        break;
    }
}

/** Address of element `index` of a tensor whose elements have `size` bytes. */
ELEMENT_INLINE void *element_at(const void *data, int32_t index, uint32_t size)
{
    return (uint8_t *)(uintptr_t)data + (intptr_t)index * (intptr_t)size;
}

#endif
