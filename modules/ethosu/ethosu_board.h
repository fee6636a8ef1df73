// SPDX-License-Identifier: MIT
/**
 * What a board supplies, and nothing else: where its NPUs are, which memories
 * they see, and how their interrupts are connected.
 *
 * Everything here is an ordinary const object or function: a board that
 * forgets one fails to link, a board that still has an old shape fails to
 * compile. The weak hooks (copy, cache, address remap) are in the driver's
 * headers; a board overrides those it needs.
 */
#ifndef ETHOSU_BOARD_H
#define ETHOSU_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One NPU of the board. */
struct ethosu_board_npu {
    uintptr_t base;          /**< address of the register window */
    void *fast_memory;       /**< spilling memory of Dedicated_Sram systems, or NULL */
    size_t fast_memory_size; /**< bytes */
    bool secure;             /**< run the NPU in secure state */
    bool privileged;         /**< run the NPU privileged */
};

/** A range of CPU addresses that every NPU of the board can reach. */
struct ethosu_board_range {
    uintptr_t start;
    size_t size; /**< bytes */
    bool writable;
    const char *name; /**< for messages: "SRAM", "DDR" */
    uint8_t port;     /**< enum ethosu_board_port: how the NPU reaches it */
};

/**
 * The port and attributes through which an NPU reaches a range: the value of
 * its REGIONCFG and QCONFIG fields (Ethos-U55 and U65: which AXI_LIMIT
 * register, 0 and 1 on port M0, 2 and 3 on M1; U85: which MEM_ATTR register).
 */
enum ethosu_board_port {
    ETHOSU_PORT_DEFAULT, /**< by the number of the base pointer, as the driver's table has it */
    ETHOSU_PORT_0,
    ETHOSU_PORT_1,
    ETHOSU_PORT_2,
    ETHOSU_PORT_3,
};

struct ethosu_board {
    const char *name;
    const struct ethosu_board_npu *npus;
    size_t npu_count;
    const struct ethosu_board_range *ranges; /**< may not overlap */
    size_t range_count;                      /**< 0: the driver does not check where buffers are */
    uint32_t cache_line;                     /**< bytes; 0: the CPU has no data cache to manage */
};

extern const struct ethosu_board ethosu_board;

/**
 * Is the NPU at this index there? Looked at once, before its registers are
 * read: a board whose image also runs where the NPU is missing says so here.
 */
bool ethosu_board_npu_present(size_t index);

/** Route the interrupt of NPU `index` to `handler(argument)` and enable it. */
void ethosu_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument);

/** Disable the interrupt of NPU `index`. */
void ethosu_board_irq_disconnect(size_t index);

/** Milliseconds since some moment; wraps around. Time-outs are measured with it. */
uint32_t ethosu_board_ticks_ms(void);

/**
 * Sleep until an interrupt, or return at once when *flag is not 0. An interrupt
 * that sets *flag between the look and the sleep must not be slept over (mask
 * interrupts, look, WFI, unmask). It must wake at least once per millisecond
 * tick, and may return early.
 */
void ethosu_board_idle(const volatile uint32_t *flag);

#endif
