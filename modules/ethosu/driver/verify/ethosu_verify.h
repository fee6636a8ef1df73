// SPDX-License-Identifier: MIT
/**
 * Shared by the verifier's files: the walk along a command stream, the registers
 * set so far, and the bounds check of an access.
 *
 * Each product's file contains its operations and its columns of
 * ethosu_commands.def. Code common to all products is here and in
 * ethosu_verify_maps.c.
 */
#ifndef ETHOSU_VERIFY_H
#define ETHOSU_VERIFY_H

#include "ethosu_ext.h"
#include "driver/base/ethosu_fault.h"

#include <string.h>

/* Words: opcode [9:0], 0 [13:10], 1 [14] if a payload follows, 0 [15], parameter [31:16]. */
#define CODE(word) ((word) & 0xFFFFu)
#define PARAM(word) ((word) >> 16)
#define CODE_PAYLOAD 0x4000u

/** First code of the 16-bit registers, and number of codes of each kind. */
#define REGISTER_FIRST 0x100u
#define REGISTER_CODES 0x90u
#define PAYLOAD_CODES 0x98u

/** Values are kept by slot, numbered from 1 in the order of the table. */
#define REGISTER(opcode, name, products, bits, bits85) name,
#define PAYLOAD(opcode, name, products, bits, bits85) name,
enum {
    NO_SLOT,
#include "driver/verify/ethosu_commands.def"
    SLOT_END,
    SLOTS = (SLOT_END + 3) / 4 * 4,
    U65_SLOT_LAST = NPU_SET_DMA0_SKIP1 /**< U55 lacks all registers up to this one */
};
#undef REGISTER
#undef PAYLOAD

#define OPERATION(opcode, name) name = (opcode),
enum {
#include "driver/verify/ethosu_operations.def"
};
#undef OPERATION

/** Inlined even with -Os, because every operation runs this code. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/** Never set. No valid address or step equals it (2 GB), but a scale or a number may. */
#define UNSET INT32_MIN

#define LUT_BYTES 2048u

struct walk;

/** An operation command: `check` bounds its accesses. */
struct operation {
    uint32_t needs;   /**< groups of registers that must have been set */
    uint16_t largest; /**< parameter */
    int (*check)(struct walk *walk, uint32_t word);
};

/** The commands of one generation. */
struct ethosu_ext_commands {
    const uint8_t *registers; /**< slot by code, less REGISTER_FIRST */
    const uint8_t *payloads;  /**< slot by opcode */
    const uint16_t *zeros;    /**< parameter bits that must be 0, by slot */
    const struct operation *operations;
    uint8_t operation_count;
    uint8_t size_log2_max; /**< of the elements of a feature map */
    bool narrow;           /**< addresses have 32 bits, and the registers of U65 are unknown */
    /** Check or reject any other command. */
    int (*other)(struct walk *walk, uint32_t word);
    /** Walk the stream, in one piece if it never branches. */
    int (*walk)(struct walk *walk);
};

extern const struct ethosu_ext_commands ethosu_ext_commands_U55;
extern const struct ethosu_ext_commands ethosu_ext_commands_U65;
extern const struct ethosu_ext_commands ethosu_ext_commands_U85;

struct walk {
    int32_t values[SLOTS];
    const struct ethosu_ext_commands *commands;
    const uint8_t *stream;
    const uint8_t *begin; /**< of the piece: earlier commands don't count */
    const uint8_t *at;    /**< the current command */
    const uint8_t *end;
    const size_t *size;
    uint32_t regions;
    uint32_t config;
    uint32_t cores;
    bool narrow; /**< as in `commands` */
    bool stopped;
    bool branches; /**< the stream has a branch, so it is walked in pieces */
    struct ethosu_ext_writes writes;
    uint32_t ready;                   /**< bit per enum group: completely set */
    uint32_t chained;                 /**< bit per chain buffer of U85 that has been written */
    uint16_t tables[LUT_BYTES / 256]; /**< bit per 16 bytes that have been filled */
    int32_t kept[3]; /**< shape of the accumulators left by an operation of U85; depth 0: none */
    struct ethosu_ext_fault *fault;
};

/** Registers used together; a group is checked until all of it is set, and not after that. */
enum group {
    NO_GROUP,
    SHAPE,
    OFM_SHAPE,
    WINDOW,
    IFM,
    IFM2,
    OFM,
    WEIGHTS,
    SCALES,
    WEIGHTS1,
    SCALES1,
    DMA,
    DMA_ROWS,
    DMA_PLANES,
    DMA_INDICES,
    KERNEL_SIZE,
    RESULT,
    RESULT_U85,
    ACCUMULATORS,
    OFM_SCALED,
    IFM_TYPE,
    IFM2_TYPE,
    IFM2_BUFFER,
    SCALE_A,
    SCALE_AB,
    SCALE_IFM,
    SCALE_BOTH,
    SCALAR_U55,
    SCALAR_U85,
    RESIZING,
    WEIGHTS_U85
};

/** Slots relative to the first of a feature map. */
enum { PRECISION, WIDTH0, HEIGHT0, HEIGHT1, REGION, STRIDE_X, STRIDE_Y, BASE0, STRIDE_C = 11 };

/** A shape is three sizes minus one, as in the registers. */
enum { HEIGHT_M1, WIDTH_M1, DEPTH_M1 };

/** An access in a region, in bytes: from the lowest to one past the highest. */
struct extent {
    uint32_t region;
    int64_t low;
    int64_t high;
};

/* Each returns 0, or an error that the fault explains. */

/** Walk [at, end) or up to a STOP, starting with all registers unset. */
int ethosu_ext_walk_run(struct walk *walk, const uint8_t *at, const uint8_t *end);

/** Walk the stream, which has no branches. */
int ethosu_ext_walk_straight(struct walk *walk);

/** Walk the stream, which may branch. */
int ethosu_ext_walk_pieces(struct walk *walk);

/** Check a branch; reject any other command. */
int ethosu_ext_walk_branch(struct walk *walk, uint32_t word);

int ethosu_ext_walk_refuse(struct walk *walk, int code, uint64_t found, uint64_t expected);

/** Reject a command that neither sets a register nor is an operation, and explain why. */
int ethosu_ext_walk_refuse_command(struct walk *walk, uint32_t word);

/** Reject an invalid register value. */
int ethosu_ext_walk_refuse_value(struct walk *walk, uint64_t found, uint32_t slot);

/** Reject the use of a register that was never set. */
int ethosu_ext_walk_refuse_unset(struct walk *walk, uint32_t slot);

/** Are all registers of these groups set? */
int ethosu_ext_walk_complete(struct walk *walk, uint32_t needed);

/** Reject an out-of-bounds access and explain why. */
int ethosu_ext_walk_refuse_extent(struct walk *walk, struct extent extent);

/** Kinds of feature maps; the value is the position of the element size in the precision. */
enum map_kind { MAP_WRITTEN = 1, MAP_READ = 2 };

/**
 * Check the bounds of a feature map of this shape.
 *
 * @param map  its first register in walk->values
 */
int ethosu_ext_walk_map(struct walk *walk, int32_t *map, enum map_kind kind, const int32_t *shape);

/** Get the shape of the IFM that a kernel's window moves over. */
int ethosu_ext_walk_window(struct walk *walk, int32_t ifm[3]);

/** Check that IFM and OFM have the same depth. */
int ethosu_ext_walk_depth(struct walk *walk);

/** Note a copy to `at` in the lookup tables, of whole granules of 16 bytes. */
void ethosu_ext_walk_fill_table(struct walk *walk, uint32_t at, uint32_t bytes);

/** Check that the stream has filled a lookup table. */
int ethosu_ext_walk_table(struct walk *walk, uint32_t at, uint32_t bytes);

/** DMA_START of Ethos-U85. */
int ethosu_ext_walk_dma_u85(struct walk *walk, uint32_t word);

/** For operations that access nothing. */
int ethosu_ext_walk_ignore(struct walk *walk, uint32_t word);

int ethosu_ext_walk_stop(struct walk *walk, uint32_t word);

ALWAYS_INLINE uint32_t word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

ALWAYS_INLINE int require(struct walk *walk, uint32_t needed)
{
    return needed & ~walk->ready ? ethosu_ext_walk_complete(walk, needed) : 0;
}

ALWAYS_INLINE int require_slot(struct walk *walk, uint32_t slot)
{
    return walk->values[slot] == UNSET ? ethosu_ext_walk_refuse_unset(walk, slot) : 0;
}

ALWAYS_INLINE uint32_t get(const struct walk *walk, uint32_t slot)
{
    return (uint32_t)walk->values[slot];
}

ALWAYS_INLINE int check_extent(struct walk *walk, const struct extent *extent)
{
    if (extent->region < walk->regions && extent->low >= 0 &&
        (uint64_t)extent->high <= walk->size[extent->region]) {
        return 0;
    }
    return ethosu_ext_walk_refuse_extent(walk, *extent);
}

/** Weights or scales: base and length are two slots. */
ALWAYS_INLINE int check_stream(struct walk *walk, uint32_t region, uint32_t slot)
{
    int64_t base = get(walk, slot);
    struct extent extent = {region, base, base + get(walk, slot + 1)};
    return check_extent(walk, &extent);
}

/** Record a write to bytes [start, end) of a region, which are within its bounds. */
ALWAYS_INLINE void note_write(struct walk *walk, uint32_t region, size_t start, size_t end)
{
    struct ethosu_ext_writes *writes = &walk->writes;
    if (start < writes->start[region]) {
        writes->start[region] = start;
    }
    if (end > writes->end[region]) {
        writes->end[region] = end;
    }
}

ALWAYS_INLINE int check_ofm(struct walk *walk, const int32_t *shape)
{
    return ethosu_ext_walk_map(walk, walk->values + NPU_SET_OFM_PRECISION, MAP_WRITTEN, shape);
}

#endif
