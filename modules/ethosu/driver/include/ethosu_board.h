// SPDX-License-Identifier: MIT
/**
 * Interface that each board implements: a table of its memories and NPUs, a
 * clock and a sleep function.
 *
 * For each memory, the table lists the bus masters that can access it, its
 * address and its cache policy. Driver, runtime, copy hook and Python module
 * read it through ethosu_memory.h.
 *
 * Everything here is an ordinary const object or function. A MicroPython board
 * that omits one fails to link, and one with an outdated layout fails to
 * compile. C programs can skip all of it: the driver's archive has a default
 * clock and sleep (README.md), and ethosu_ext_memory_use() takes a table.
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
    ETHOSU_CACHE_WRITE_BACK,    /**< CPU writes stay in the cache until it is cleaned */
    ETHOSU_CACHE_WRITE_THROUGH, /**< CPU writes reach memory immediately */
    ETHOSU_CACHE_NONE,          /**< not cached */
};

/** Bus masters that can access a memory, and how; bits. */
enum ethosu_masters {
    ETHOSU_NPU_READS = 1,
    ETHOSU_NPU_WRITES = 2,
    ETHOSU_DMA_READS = 4, /**< the DMA controller used by the board's copy hook */
    ETHOSU_DMA_WRITES = 8,
    ETHOSU_MASTERS_READ = ETHOSU_NPU_READS | ETHOSU_DMA_READS,
    ETHOSU_MASTERS_ALL = 15,
};

/**
 * Port and attributes that an NPU uses to access a memory. This is the value of
 * its REGIONCFG and QCONFIG fields: it selects an AXI_LIMIT register on Ethos-U55
 * and U65 (0 and 1 on port M0, 2 and 3 on M1), a MEM_ATTR register on U85.
 * M1 of Ethos-U55 is read-only.
 */
enum ethosu_port {
    ETHOSU_PORT_DEFAULT, /**< the driver's default for the base pointer */
    ETHOSU_PORT_0,
    ETHOSU_PORT_1,
    ETHOSU_PORT_2,
    ETHOSU_PORT_3,
};

/** CPU access to a memory; the firmware configures its MPU accordingly. */
enum ethosu_cpu_access {
    ETHOSU_CPU_DATA,     /**< read and write */
    ETHOSU_CPU_CODE,     /**< read and execute; never written by the CPU */
    ETHOSU_CPU_ALL,      /**< read, write and execute, for native code compiled by Python */
    ETHOSU_CPU_REGISTERS /**< device registers, accessed in order */
};

/** One memory, or part of one with different properties. */
struct ethosu_memory {
    const char *name;     /**< for messages: "SRAM", "DDR" */
    const void *start;    /**< CPU address; multiple of 32 */
    const void *end;      /**< first address past it; multiple of 32 */
    uint64_t npu_address; /**< NPU address of `start`; 0: same as the CPU's */
    uint8_t masters;      /**< enum ethosu_masters, or-ed */
    uint8_t port;         /**< enum ethosu_port */
    uint8_t cache;        /**< enum ethosu_cache */
    uint8_t cpu;          /**< enum ethosu_cpu_access */
    uint32_t dma_address; /**< the DMA controller's address of `start`; 0: same as the NPU's */
};

/* ---- NPUs ---- */

/**
 * Register values that configure an NPU's AXI ports and power ramp. A board
 * provides them if the driver's defaults do not suit its memories (Technical
 * Reference Manuals of Ethos-U55, U65 and U85, registers AXI_LIMIT0 to 3,
 * MEM_ATTR0 to 3, AXI_SRAM, AXI_EXT, POWER_CTRL).
 */
struct ethosu_npu_settings {
    uint32_t axi_limit[4]; /**< Ethos-U55, U65: outstanding accesses, burst length, memory type */
    uint32_t mem_attr[4];  /**< Ethos-U85: port, memory type and domain */
    uint32_t axi_sram;     /**< Ethos-U85; fields are clamped to the NPU's limits */
    uint32_t axi_ext;      /**< Ethos-U85; the same */
    uint32_t power_ramp;   /**< Ethos-U85: units of four cycles for the MACs to power up, 0 to 63 */
};

/** One NPU of the board. */
struct ethosu_npu {
    uintptr_t base;          /**< register base address */
    unsigned irq;            /**< interrupt number */
    bool secure;             /**< run the NPU in secure state */
    bool privileged;         /**< run the NPU privileged */
    void *fast_memory;       /**< spilling memory of Dedicated_Sram systems, or NULL */
    size_t fast_memory_size; /**< bytes */
    const struct ethosu_npu_settings *settings; /**< NULL: the driver's defaults */
    /**
     * Switch the NPU's clock and power; NULL if always on. Called before the first
     * and after the last access to its registers, and when ethosu_request_power()
     * takes the first request and ethosu_release_power() the last.
     *
     * @return  false if they could not be switched on
     */
    bool (*power)(const struct ethosu_npu *npu, bool on);
};

/* ---- the board ---- */

struct ethosu_board {
    const char *name;
    const struct ethosu_memory *memories; /**< none overlapping */
    size_t memory_count;                  /**< 0: all addresses are usable and unchecked */
    uint32_t cache_line; /**< data cache line size in bytes; 0 without a data cache */
    const struct ethosu_npu *npus;
    size_t npu_count;
};

extern const struct ethosu_board ethosu_board;

/**
 * Is the NPU at this index present? Called once, before its registers are read,
 * so that one image can also run on hardware without the NPU.
 */
bool ethosu_ext_board_npu_present(size_t index);

/** Route the interrupt of NPU `index` to `handler(argument)` and enable it. */
void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument);

/** Disable the interrupt of NPU `index`. */
void ethosu_ext_board_irq_disconnect(size_t index);

/** Free-running millisecond counter for time-outs; wraps around. */
uint32_t ethosu_ext_board_ticks_ms(void);

/**
 * Sleep until an interrupt, or return immediately if *flag is not 0. An interrupt
 * that sets *flag between the check and the sleep must not be missed (mask
 * interrupts, check, WFI, unmask). It must return when `at_most_ms` milliseconds have
 * passed, of which some are more than a clock can count, and may return early: where a tick wakes
 * the CPU each millisecond, it need not look at this number.
 */
void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms);

/**
 * Have an interrupt when `ms` milliseconds have passed, or earlier. Only the Python module calls
 * this, when a task waits for an inference with a time-out. The default does nothing, which suits
 * a port where a tick wakes the CPU each millisecond.
 */
void ethosu_ext_board_alarm(uint32_t ms);

#ifdef __cplusplus
}
#endif

#endif
