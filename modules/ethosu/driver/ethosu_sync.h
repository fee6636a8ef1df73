// SPDX-License-Identifier: MIT
/** The few atomic steps that the driver needs, on plain 32-bit words. */
#ifndef ETHOSU_SYNC_H
#define ETHOSU_SYNC_H

#include <stdbool.h>
#include <stdint.h>

/** Read a word, and see all that was written before it was set. */
static inline uint32_t ethosu_ext_load(const volatile uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/** Set a word, after all that was written before. */
static inline void ethosu_ext_store(volatile uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/** Change a word from one value to another; false when it held something else. */
static inline bool ethosu_ext_change(volatile uint32_t *word, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline void ethosu_ext_add(volatile uint32_t *word, uint32_t value)
{
    __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

#endif
