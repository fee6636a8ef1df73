// SPDX-License-Identifier: MIT
/**
 * What a board supplies: one table with its memories and its NPUs, a clock and
 * a way to sleep.
 *
 * The table answers once and for all: what memory is this, who reaches it,
 * under which address, and does the CPU's data cache hold copies of it?
 * Driver, runtime, copy hook and Python module ask ethosu_memory.h.
 *
 * Everything here is an ordinary const object or function: a MicroPython board
 * that forgets one fails to link, a board that still has an old shape fails to
 * compile. A program in C needs none of it: the driver's archive has a clock
 * and a way to sleep (README.md), and ethosu_ext_memory_use() takes a table.
 */
#ifndef ETHOSU_BOARD_H
#define ETHOSU_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memories ---- */

/** How the CPU's data cache treats a memory. */
enum ethosu_cache {
    ETHOSU_CACHE_WRITE_BACK,    /**< what the CPU writes stays in the cache until it is cleaned */
    ETHOSU_CACHE_WRITE_THROUGH, /**< what the CPU writes reaches memory at once */
    ETHOSU_CACHE_NONE,          /**< the CPU keeps no copy */
};

/** Which bus masters reach a memory, and how; bits. */
enum ethosu_masters {
    ETHOSU_NPU_READS = 1,
    ETHOSU_NPU_WRITES = 2,
    ETHOSU_DMA_READS = 4, /**< the controller of the board's copy hook */
    ETHOSU_DMA_WRITES = 8,
    ETHOSU_MASTERS_READ = ETHOSU_NPU_READS | ETHOSU_DMA_READS,
    ETHOSU_MASTERS_ALL = 15,
};

/**
 * The port and attributes through which an NPU reaches a memory: the value of
 * its REGIONCFG and QCONFIG fields (Ethos-U55 and U65: which AXI_LIMIT
 * register, 0 and 1 on port M0, 2 and 3 on M1; U85: which MEM_ATTR register).
 * M1 of Ethos-U55 only reads.
 */
enum ethosu_port {
    ETHOSU_PORT_DEFAULT, /**< by the number of the base pointer, as the driver's table has it */
    ETHOSU_PORT_0,
    ETHOSU_PORT_1,
    ETHOSU_PORT_2,
    ETHOSU_PORT_3,
};

/** What the CPU does with a memory; the firmware sets its memory protection unit by it. */
enum ethosu_cpu_access {
    ETHOSU_CPU_DATA,     /**< read and write */
    ETHOSU_CPU_CODE,     /**< read and execute: the CPU never writes it */
    ETHOSU_CPU_ALL,      /**< read, write and execute: Python compiles native code into it */
    ETHOSU_CPU_REGISTERS /**< device registers: read and write in order */
};

/** One memory, or a part of it with properties of its own. */
struct ethosu_memory {
    const char *name;     /**< for messages: "SRAM", "DDR" */
    const void *start;    /**< as the CPU addresses it; multiples of 32 */
    const void *end;      /**< the first address behind it */
    uint64_t npu_address; /**< where the NPU sees `start`; 0: at the CPU's address */
    uint8_t masters;      /**< enum ethosu_masters, or-ed */
    uint8_t port;         /**< enum ethosu_port */
    uint8_t cache;        /**< enum ethosu_cache */
    uint8_t cpu;          /**< enum ethosu_cpu_access */
};

/* ---- NPUs ---- */

/**
 * How an NPU uses its AXI ports, and its power ramp: values of its registers.
 * A board whose memories want others than the driver's defaults names its own
 * (Technical Reference Manuals of Ethos-U55, U65 and U85, register AXI_LIMIT0
 * and following, MEM_ATTR0 and following, AXI_SRAM, AXI_EXT, POWER_CTRL).
 */
struct ethosu_npu_settings {
    uint32_t axi_limit[4]; /**< Ethos-U55, U65: outstanding accesses, burst length, memory type */
    uint32_t mem_attr[4];  /**< Ethos-U85: port, memory type and domain */
    uint32_t axi_sram;     /**< Ethos-U85; fields above what the NPU can do are lowered */
    uint32_t axi_ext;      /**< Ethos-U85; the same */
    uint32_t power_ramp;   /**< Ethos-U85: units of four cycles for the MACs to power up, 0 to 63 */
};

/** One NPU of the board. */
struct ethosu_npu {
    uintptr_t base;          /**< address of the registers */
    unsigned irq;            /**< number of its interrupt */
    bool secure;             /**< run the NPU in secure state */
    bool privileged;         /**< run the NPU privileged */
    void *fast_memory;       /**< spilling memory of Dedicated_Sram systems, or NULL */
    size_t fast_memory_size; /**< bytes */
    const struct ethosu_npu_settings *settings; /**< NULL: the driver's defaults */
    /**
     * Switch clock and power of the NPU; NULL: they are always on. Called
     * before the first and after the last access to its registers, and around
     * the time in which ethosu_request_power() holds them.
     *
     * @return  false: they could not be switched on
     */
    bool (*power)(const struct ethosu_npu *npu, bool on);
};

/* ---- the board ---- */

struct ethosu_board {
    const char *name;
    const struct ethosu_memory *memories; /**< none overlapping */
    size_t memory_count;                  /**< 0: every address can be used, nothing is checked */
    uint32_t cache_line; /**< bytes of a line of the data cache; 0: the CPU has none */
    const struct ethosu_npu *npus;
    size_t npu_count;
};

extern const struct ethosu_board ethosu_board;

/**
 * Is the NPU at this index there? Looked at once, before its registers are
 * read: an image that also runs where the NPU is missing says so here.
 */
bool ethosu_ext_board_npu_present(size_t index);

/** Route the interrupt of NPU `index` to `handler(argument)` and enable it. */
void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument);

/** Disable the interrupt of NPU `index`. */
void ethosu_ext_board_irq_disconnect(size_t index);

/** Milliseconds since some moment; wraps around. Time-outs are measured with it. */
uint32_t ethosu_ext_board_ticks_ms(void);

/**
 * Sleep until an interrupt, or return at once when *flag is not 0. An interrupt
 * that sets *flag between the look and the sleep must not be slept over (mask
 * interrupts, look, WFI, unmask). It must wake at least once per millisecond
 * tick, and may return early.
 */
void ethosu_ext_board_idle(const volatile uint32_t *flag);

#ifdef __cplusplus
}
#endif

#endif
