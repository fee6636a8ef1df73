// SPDX-License-Identifier: MIT
/**
 * Types that the driver shares with its users.
 *
 * Names above the line "additions" are those of Arm's Ethos-U core driver, 1.0 and
 * 1.99, so that code written for it compiles. The additions are named ethosu_ext_*.
 */
#ifndef ETHOSU_TYPES_H
#define ETHOSU_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Values of CONFIG.product, for ethosu_reserve_driver_ex() (driver 1.99). */
#define ETHOSU_PRODUCT_U55 0U
#define ETHOSU_PRODUCT_U65 1U
#define ETHOSU_PRODUCT_U85 2U

/** Base 2 logarithms of MACs per clock cycle (driver 1.99). */
#define ETHOSU_MACS_32 5U
#define ETHOSU_MACS_64 6U
#define ETHOSU_MACS_128 7U
#define ETHOSU_MACS_256 8U
#define ETHOSU_MACS_512 9U
#define ETHOSU_MACS_1024 10U
#define ETHOSU_MACS_2048 11U

enum ethosu_error_codes {
    ETHOSU_SUCCESS = 0,
    ETHOSU_GENERIC_FAILURE = -1,
    ETHOSU_INVALID_PARAM = -2,
};

/** May the clock be switched off while the NPU is stopped and idle? */
enum ethosu_clock_q_request {
    ETHOSU_CLOCK_Q_DISABLE = 0,
    ETHOSU_CLOCK_Q_ENABLE = 1,
    ETHOSU_CLOCK_Q_UNCHANGED = 2,
};

/** May the power be switched off while the NPU is stopped and idle? */
enum ethosu_power_q_request {
    ETHOSU_POWER_Q_DISABLE = 0,
    ETHOSU_POWER_Q_ENABLE = 1,
    ETHOSU_POWER_Q_UNCHANGED = 2,
};

/** Fields of the ID register. */
struct ethosu_id {
    uint32_t version_status;
    uint32_t version_minor;
    uint32_t version_major;
    uint32_t product_major;
    uint32_t arch_patch_rev;
    uint32_t arch_minor_rev;
    uint32_t arch_major_rev;
};

/** Fields of the CONFIG register. */
struct ethosu_config {
    uint32_t macs_per_cc; /**< base 2 logarithm of the MACs per clock cycle */
    uint32_t cmd_stream_version;
    uint32_t custom_dma;
};

struct ethosu_hw_info {
    struct ethosu_id version;
    struct ethosu_config cfg;
};

/* ---- additions ---- */

/** Base pointers (regions) that a command stream can name. */
#define ETHOSU_EXT_MAX_BASES 8

/**
 * Why a call failed. `code` is an enum ethosu_ext_error; the meaning of
 * the other fields depends on it, see ethosu_ext_describe().
 */
struct ethosu_ext_fault {
    int code;
    int index; /**< base pointer or command word number, or -1 */
    uint64_t found;
    uint64_t expected;
    uint32_t detail; /**< region that was exceeded */
    uint32_t status; /**< STATUS register at the fault, 0 before a start */
    uint32_t qread;  /**< bytes of command stream consumed at the fault */
};

/** Contents of a custom operator payload; see ethosu_ext_parse_payload(). */
struct ethosu_ext_payload {
    const uint8_t *stream; /**< first command word, inside the payload */
    uint32_t stream_bytes; /**< nonzero multiple of 4 */
    bool has_config;       /**< `config` and `id` are valid */
    uint32_t config;       /**< CONFIG register of the NPU it was compiled for */
    uint32_t id;           /**< ID register of the NPU it was compiled for */
    uint32_t fast_scratch; /**< bytes of base pointer 2 that it uses, if specified */
};

/** The range of each region that a command stream writes. `end` is exclusive. */
struct ethosu_ext_writes {
    size_t start[ETHOSU_EXT_MAX_BASES]; /**< offset from the base pointer */
    size_t end[ETHOSU_EXT_MAX_BASES];   /**< 0 if nothing is written */
};

/** A base pointer of a program; addresses have 64 bits for Arm's cache hooks. */
struct ethosu_ext_base {
    uint64_t npu;        /**< NPU address */
    uint64_t cpu;        /**< CPU address */
    uint64_t invalidate; /**< what is invalidated after a run, as the CPU sees it; all of the base
                              if the command stream does not write it */
    size_t size;         /**< bytes */
    size_t invalidate_size; /**< bytes */
};

/**
 * A checked inference that can be started any number of times: created by
 * ethosu_ext_prepare(), read by ethosu_ext_start(). Valid only for its driver, and
 * as long as payload and buffers do not move.
 */
struct ethosu_ext_program {
    const struct ethosu_driver *owner; /**< NULL: not prepared */
    uintptr_t cpu_stream;              /**< CPU address of the command stream */
    uint64_t stream;                   /**< its NPU address */
    uint32_t stream_bytes;
    uint16_t regioncfg; /**< two bits for each base pointer */
    uint8_t qconfig;
    uint8_t count; /**< base pointers in use */
    /* Bits by base pointer. */
    uint8_t written;    /**< the command stream writes it */
    uint8_t clean_once; /**< cleaned when the program is prepared */
    uint8_t clean;      /**< cleaned before each run */
    uint8_t invalidate; /**< the written part is invalidated after each run */
    struct ethosu_ext_base base[ETHOSU_EXT_MAX_BASES];
};

/** Used bytes of a program with `count` base pointers, 3 or more: preparation reads the first 3. */
#define ETHOSU_EXT_PROGRAM_SIZE(count) \
    (offsetof(struct ethosu_ext_program, base) + (count) * sizeof(struct ethosu_ext_base))

#ifdef __cplusplus
}
#endif

#include "ethosu_device.h" // home of struct ethosu_device in driver 1.99; 1.0 has it here

#endif
