// SPDX-License-Identifier: MIT
/**
 * The DMA controller that copies tensors while the CPU sleeps, under
 * firmware/drivers/dma_copy.c. Replace the registers with your chip's. If several
 * boards use the controller, put its driver in firmware/drivers. Without one,
 * delete this file and [dma] in board.toml; the driver's memcpy() is then linked.
 *
 * arm_ethos_io_memcpy() of dma_copy.c replaces the weak one. Check that it does:
 *
 *     arm-none-eabi-nm firmware.elf | grep arm_ethos_io_memcpy     # one line, with T
 */
#include "ethosu_memory.h"
#include "dma_controller.h"
#include "irq.h"

struct controller {
    volatile uint32_t source;
    volatile uint32_t destination;
    volatile uint32_t size; /**< bytes; writing it starts the transfer */
    volatile uint32_t status;
};

enum status { DONE = 1u << 0, FAILED = 1u << 1, STOP = 1u << 2 };

/** Bytes that the controller copies at once. */
#define SIZE_MAX_AT_ONCE 0x10000u

static struct controller *controller(void)
{
    return (struct controller *)dma_board.base;
}

static void on_interrupt(void *unused)
{
    bool failed = controller()->status & FAILED;
    controller()->status = DONE | FAILED; // clears them
    dma_copy_ended(failed);               // last: it may start the next transfer
}

bool dma_controller_prepare(void)
{
    irq_connect(dma_board.irq, on_interrupt, NULL);
    return true;
}

/**
 * The addresses are the bus's already. A controller that reads a list of
 * transfers gets it in a DMA_SHARED variable: firmware/drivers/dma_pl081.c.
 */
bool dma_controller_start(struct dma_transfer *rest)
{
    const struct dma_transfer now = *rest;
    const size_t size = now.size < SIZE_MAX_AT_ONCE ? now.size : SIZE_MAX_AT_ONCE;
    rest->to += size;
    rest->from += size;
    rest->size -= size;
    ethosu_ext_memory_barrier(); // complete the cache maintenance
    controller()->source = (uint32_t)now.from;
    controller()->destination = (uint32_t)now.to;
    controller()->size = (uint32_t)size;
    return true;
}

void dma_controller_halt(void)
{
    controller()->status = STOP | DONE | FAILED;
}
