// SPDX-License-Identifier: MIT
/** Addresses, interrupts and gates of a board's devices: rows of its table. */
#ifndef SLOTS_H
#define SLOTS_H

#include <stdint.h>

#include "board/gate.h"

/** The addresses that a port reaches: `first` to `last`, all of them if `last` is 0. */
struct npu_reach {
    uint32_t first;
    uint32_t last;
};

/** An NPU of a board, and the plugin argument that selects its config. */
struct npu_slot {
    const char *argument; /**< "npu" */
    const char *preset;   /**< default config; NULL for no NPU without the argument */
    uint32_t base;
    unsigned irq; /**< NVIC number */
    struct gates gate;
    struct gates protection; /**< of its registers, see machine.h */
    struct gates master;     /**< while closed, it reads zeros and its writes are ignored */
    struct npu_reach m0, m1; /**< by enum npu_port */
    uint32_t adapters[2];    /**< addresses of the ports' timing adapters; 0: none */
};

enum dma_kind {
#define DMA(kind, keys) DMA_##kind,
#include "board/devices.def"
};

/** The DMA controller's addresses and interrupts on a board. */
struct dma_slot {
    enum dma_kind kind;
    uint32_t base;      /**< 0 if the board has none */
    unsigned irq;       /**< NVIC interrupt number; of event 0 (PL330) or channel 0 (DMA-350, DW) */
    unsigned abort_irq; /**< PL330: NVIC number for aborts */
    struct gates gate;  /**< its clock */
    struct gates protection; /**< of its registers, see machine.h */
    struct gates master;     /**< PL081: while closed, its transfers change nothing */
    struct gate reset;       /**< PL330: the reset that makes its manager secure */
};

enum board_uart_kind {
#define UART(kind, keys) BOARD_UART_##kind,
#include "board/devices.def"
};

struct board_uart {
    enum board_uart_kind kind;
    uint32_t base;
    unsigned irq;
    unsigned sent_irq; /**< CMSDK, whose `irq` is for received bytes */
    struct gates gate;
    struct gate pins;  /**< SCB: settings of its pins */
    uint32_t clock_hz; /**< CMSDK, SCB: of its clock before the divider */
    uint32_t divider;  /**< SCB: address of the divider's register */
};

enum board_device_kind {
#define DEVICE(kind) BOARD_DEVICE_##kind,
#include "board/devices.def"
};

/** A device of one chip, with registers over store-only ones. */
struct board_device {
    enum board_device_kind kind;
    uint32_t base;
};

/** Location of the emulator's registers on a board. */
struct emulator_slot {
    uint32_t base;
    unsigned irq; /**< NVIC number of the console's interrupt */
};

#endif
