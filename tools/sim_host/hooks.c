// SPDX-License-Identifier: MIT
/** The driver's cache hooks; a test may bring its own. */
#include "sim_host_internal.h"

void ethosu_flush_dcache(const uint64_t *base, const size_t *size, int count)
{
    sim_host_cache_maintain(COHERENCE_CLEAN, base, size, count);
}

void ethosu_invalidate_dcache(const uint64_t *base, const size_t *size, int count)
{
    sim_host_cache_maintain(COHERENCE_DISCARD, base, size, count);
}
