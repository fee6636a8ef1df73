// SPDX-License-Identifier: MIT
/**
 * Memory with a data cache in front of it: the CPU accesses one copy, the NPU and a
 * DMA controller another. Only cache maintenance, barriers and evictions move data
 * between them.
 *
 * The cache is the worst case that the architecture allows. Every line
 * of a range is always in the cache, so the CPU never sees what another bus
 * master wrote until it invalidates the line, and a master never sees what the
 * CPU wrote until the CPU cleans it. Cleaned data waits in a queue until a
 * barrier, and invalidates take effect at a barrier (DSB), since Armv8-M guarantees
 * them no earlier. With evictions (coherence_evict()), dirty lines are written back
 * and clean lines refetched at random times, as in a real cache.
 *
 * A line is dirty if the CPU's bytes differ from those at the last synchronisation of
 * the copies, or while its state is unknown (COHERENCE_UNKNOWN). A store that does
 * not change a byte is not detected.
 *
 * No function here takes a lock; the owner of a struct coherence must. Other threads
 * may access the memory concurrently, like CPU and NPU.
 */
#ifndef COHERENCE_H
#define COHERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a cache line: Cortex-M55. */
#define COHERENCE_LINE 32u

#define COHERENCE_RANGE_MAX 512u
#define COHERENCE_QUEUE_MAX 64u
#define COHERENCE_RECENT_MAX 32u

enum coherence_attribute {
    COHERENCE_WRITE_BACK,    /**< stores reach memory when a line is cleaned */
    COHERENCE_WRITE_THROUGH, /**< stores reach memory at a barrier; old lines must be invalidated */
    COHERENCE_UNCACHED,      /**< only needs a barrier, in both directions */
};

/** Memory with one attribute. The owner supplies the arrays, which must outlive it. */
struct coherence_range {
    uint64_t base; /**< address of the first byte for the CPU, a multiple of COHERENCE_LINE */
    uint64_t size; /**< bytes */
    enum coherence_attribute attribute;
    uint8_t *cpu;      /**< the CPU's copy */
    uint8_t *memory;   /**< the copy of all other bus masters */
    uint8_t *snapshot; /**< the CPU's bytes at the last synchronisation */
    uint8_t *state;    /**< one byte for each line */
    /**
     * For large, mostly unused memory: find the next bytes at or after *offset
     * that may differ from 0 in any copy. NULL if all may.
     *
     * @return  false if not found
     */
    bool (*next)(const struct coherence_range *range, uint64_t *offset, uint64_t *size);
    void *context; /**< for next() */
};

/** Initial state of a range. */
enum coherence_start {
    COHERENCE_EQUAL,   /**< both copies and the snapshot are equal already */
    COHERENCE_UNKNOWN, /**< the CPU may have written any of it */
};

/** Cache maintenance; the sum of two does both. */
enum coherence_operation {
    COHERENCE_CLEAN = 1,
    COHERENCE_INVALIDATE = 2, /**< Arm's invalidate; dirty data is lost */
    COHERENCE_CLEAN_INVALIDATE = 3,
};

/** Requested mode; see coherence_parse(). */
struct coherence_mode {
    bool on;
    bool evict;
    uint32_t seed;
};

/** Maintenance of lines of a range, pending until a barrier. */
struct coherence_pending {
    uint64_t base; /**< of the range */
    enum coherence_operation operation;
    uint64_t first;
    uint64_t count;
};

/** Memory that a bus master has used. */
struct coherence_span {
    uint64_t address;
    uint64_t length;
};

/** All fields belong to coherence.c and coherence_evict.c. Zeroed, it is empty. */
struct coherence {
    struct coherence_range ranges[COHERENCE_RANGE_MAX];
    size_t range_count;
    struct coherence_pending queue[COHERENCE_QUEUE_MAX];
    size_t queued;
    bool evicting;
    uint64_t random;
    struct coherence_span recent[COHERENCE_RECENT_MAX];
    size_t recent_count;
    size_t recent_next;
};

/**
 * Read "off", "strict" or "evict:SEED", SEED a decimal number below 2^32.
 *
 * @return  false if invalid
 */
bool coherence_parse(const char *text, struct coherence_mode *mode);

/** Turn random evictions on or off. The same seed repeats them. */
void coherence_evict(struct coherence *c, bool on, uint32_t seed);

/**
 * Add a range; it may not overlap another.
 *
 * @return  false if there are already COHERENCE_RANGE_MAX
 */
bool coherence_add(struct coherence *c, const struct coherence_range *range,
                   enum coherence_start start);

/** Remove the range with this base. */
void coherence_remove(struct coherence *c, uint64_t base);

/** Remove all ranges and pending maintenance. */
void coherence_remove_all(struct coherence *c);

/**
 * Clean, invalidate or both, for all lines that overlap [address, address + size).
 * Bytes outside all ranges are skipped. Takes effect at a barrier.
 */
void coherence_maintain(struct coherence *c, enum coherence_operation operation, uint64_t address,
                        uint64_t size);

/** The same for the whole cache. */
void coherence_maintain_all(struct coherence *c, enum coherence_operation operation);

/** Data barrier (DSB): all maintenance and all stores to uncached memory are complete. */
void coherence_barrier(struct coherence *c);

/** Adopt the CPU's bytes as memory when an empty cache is switched on. */
void coherence_adopt(struct coherence *c);

/**
 * Memory for a bus master: host pointer to [address, address + length), or NULL
 * if these bytes are not in one range. Evictions may happen before it returns.
 *
 * @param cpu_stopped  no other thread is storing to the CPU's copies, so lines may be fetched
 */
uint8_t *coherence_map(struct coherence *c, uint64_t address, uint64_t length, bool cpu_stopped);

/** Memory for part of an access already mapped by coherence_map(); no side effects. */
uint8_t *coherence_memory(const struct coherence *c, uint64_t address, uint64_t length);

/** A point at which evictions may happen; no effect without coherence_evict(). */
void coherence_event(struct coherence *c, bool cpu_stopped);

/**
 * Is memory equal to the CPU's copy in [address, address + size)? Bytes outside all
 * ranges count as equal.
 */
bool coherence_equal(const struct coherence *c, uint64_t address, uint64_t size);

#endif
