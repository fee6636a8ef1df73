// SPDX-License-Identifier: MIT
/**
 * The boards that the plugin emulates: board_table.py generates their tables
 * from the files in boards/.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board/gate.h"
#include "board/slots.h"

/* Limits of a board. */
#define BOARD_NPUS_MAX 2
#define BOARD_MEMORIES_MAX 16
#define BOARD_REGISTERS_MAX 8
#define BOARD_LEAVES_MAX 32
#define BOARD_ALIASES_MAX 2
#define BOARD_DEVICES_MAX 4

/** Allowed accesses to a memory; bits. The CPU can read all. */
enum board_access {
    BOARD_CPU_WRITES = 1 << 0,
    BOARD_BUS_READS = 1 << 1, /**< NPU and DMA controller */
    BOARD_BUS_WRITES = 1 << 2,
    BOARD_BUS_AT_ALIAS = 1 << 3, /**< NPU and DMA access it only at `alias`, like the CPU's TCMs */
    BOARD_KEEPS = 1 << 4,        /**< non-volatile from `kept_from` on */
    BOARD_NO_FETCH =
        1 << 5, /**< MRAM: stores are lost if the CPU executes code from it meanwhile */
};

enum board_memory_kind {
#define MEMORY(kind, keys, access, init) BOARD_MEMORY_##kind,
#include "board/devices.def"
};

/** A memory of the board. */
struct board_memory {
    const char *name;
    enum board_memory_kind kind;
    /** names of QEMU's adjacent RAM blocks; none for the machine's main RAM, or if created here */
    const char *blocks[2];
    uint32_t base;
    uint32_t alias; /**< second address of the same memory, or 0 */
    uint32_t size;  /**< bytes if the plugin creates it; 0 if it is part of QEMU's machine */
    unsigned access;
    uint32_t kept_from;      /**< offset in bytes */
    struct gates power;      /**< it responds to nobody until they are open */
    uint32_t powered_from;   /**< offset in bytes at which the part begins that `power` is for */
    struct gates xip;        /**< until open, registers are in its place, see dw_ssi.h */
    struct gates protection; /**< with `xip`: until open, nothing passes to chip and registers */
    const char *starts_with; /**< its first bytes, such as those of the boot loader; or NULL */
    struct gates idle_clock; /**< unless they are open, its clock stops while the CPU sleeps */
};

/** Accesses that memories accept. */
enum board_security { BOARD_SECURITY_SECURE, BOARD_SECURITY_NON_SECURE, BOARD_SECURITY_ANY };

/** Registers that only store the values written. */
struct board_registers {
    const char *name;
    uint32_t base;
    uint32_t size; /**< bytes */
};

/** Value of a store-only register after a reset, if it is not 0. */
struct board_value {
    uint32_t address;
    uint32_t value;
};

/** The stage that starts an image; without one it starts as after a reset. */
struct board_boot {
    uint32_t stage; /**< address of its code, with a free page; 0 for none */
    uint32_t stack;
    struct board_value leaves[BOARD_LEAVES_MAX]; /**< registers of the core, in this order */
};

/** A second address range of the same devices and memories. */
struct board_alias {
    uint32_t base;
    uint32_t of;   /**< first address of what appears there */
    uint32_t size; /**< bytes */
};

/** A chip that the plugin builds on QEMU's machine "none". */
struct board_chip {
    uint32_t vectors;          /**< address of the vector table */
    bool starts_first_section; /**< it is at the image's first section instead, see boot.h */
    struct board_boot boot;
    unsigned irqs;      /**< inputs of the interrupt controller */
    uint32_t clock_hz;  /**< of the CPU and its SysTick after a reset */
    unsigned closed_ms; /**< after a reset all registers read as 0 and ignore writes */
    struct board_uart uart;
    struct board_alias aliases[BOARD_ALIASES_MAX];
    const struct board_registers *registers;
    size_t registers_count;
    const struct board_value *after_reset;
    size_t after_reset_count;
    struct board_device devices[BOARD_DEVICES_MAX]; /**< unused without `base` */
};

struct board {
    const char *name;    /**< of the folder in boards/ */
    const char *machine; /**< QEMU's machine type */
    const struct board_memory *memories;
    size_t memory_count;
    struct npu_slot npus[BOARD_NPUS_MAX]; /**< unused without `argument` */
    struct dma_slot dma;
    struct emulator_slot page;     /**< unused without `base` */
    const struct board_chip *chip; /**< for machine "none", else NULL */
    enum board_security security;  /**< accesses of the NPU that the memories accept */
};

/** All boards; the first is the default. */
extern const struct board boards[];
extern const size_t board_count;

/** The board that this process emulates. */
const struct board *board(void);

/** Select the board to emulate; false if unknown. */
bool board_choose(const char *name);

#endif
