// SPDX-License-Identifier: MIT
/** Preparation of an inference, shared by ethosu_ext_prepare() and ethosu_invoke_*(). */
#ifndef ETHOSU_PREPARE_H
#define ETHOSU_PREPARE_H

#include "ethosu_ext.h"

/** The arguments of ethosu_invoke_v3(). */
struct ethosu_ext_call {
    const void *payload;
    size_t payload_size;
    const uint64_t *base;
    const size_t *base_size;
    int count;
};

/** Extends enum ethosu_ext_prepare_flag: the stream was verified, `writes` is already set. */
#define ETHOSU_EXT_KNOWN_WRITES 0x80u

/** ethosu_ext_prepare() that returns, or with the flag above takes, the stream's writes. */
int ethosu_ext_prepare_with(struct ethosu_driver *drv, struct ethosu_ext_program *program,
                            const struct ethosu_ext_call *call, unsigned flags,
                            struct ethosu_ext_writes *writes);

/** The base pointer of the lowest set bit. */
static inline const struct ethosu_ext_base *
ethosu_ext_first_base(const struct ethosu_ext_program *program, uint32_t mask)
{
    return &program->base[__builtin_ctz(mask)];
}

/** Write the CPU's data to memory, and leave no dirty line where the NPU writes. */
static inline void ethosu_ext_clean_caches(const struct ethosu_ext_program *program)
{
    for (uint32_t mask = program->clean; mask != 0; mask &= mask - 1) {
        const struct ethosu_ext_base *base = ethosu_ext_first_base(program, mask);
        ethosu_flush_dcache(&base->cpu, &base->size, 1);
    }
}

/** Invalidate the CPU's copies of the data written by the NPU. */
static inline void ethosu_ext_invalidate_caches(const struct ethosu_ext_program *program)
{
    for (uint32_t mask = program->invalidate; mask != 0; mask &= mask - 1) {
        const struct ethosu_ext_base *base = ethosu_ext_first_base(program, mask);
        ethosu_invalidate_dcache(&base->invalidate, &base->invalidate_size, 1);
    }
}

#endif
