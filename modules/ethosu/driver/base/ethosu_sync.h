// SPDX-License-Identifier: MIT
/** Atomic operations of the driver, on plain 32-bit words. */
#ifndef ETHOSU_SYNC_H
#define ETHOSU_SYNC_H

#include <stdbool.h>
#include <stdint.h>

/** Load a word with acquire semantics. */
static inline uint32_t ethosu_ext_load(const volatile uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/** Store a word with release semantics. */
static inline void ethosu_ext_store(volatile uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/** Compare and swap a word; false if it had a different value. */
static inline bool ethosu_ext_change(volatile uint32_t *word, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/**
 * Store or load a word, or a pointer, without ordering it. On Cortex-M a volatile access is one
 * instruction; the compiler's relaxed one first computes the address.
 */
#ifdef __arm__
#define ETHOSU_EXT_SET(object, value) (*(volatile __typeof__(object) *)&(object) = (value))
#define ETHOSU_EXT_GET(object) (*(volatile __typeof__(object) *)&(object))
#else
#define ETHOSU_EXT_SET(object, value) __atomic_store_n(&(object), (value), __ATOMIC_RELAXED)
#define ETHOSU_EXT_GET(object) __atomic_load_n(&(object), __ATOMIC_RELAXED)
#endif

static inline void ethosu_ext_add(volatile uint32_t *word, uint32_t value)
{
    __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

#endif
