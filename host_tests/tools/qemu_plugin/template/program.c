// SPDX-License-Identifier: MIT
/** A program for the chip of template.toml: it echoes a line, and copies by DMA. */
#include "semihost.h"

static volatile uint32_t *word(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

#define CLOCKS (*word(0x40000010u))
#define UART_DATA (*word(0x40001000u))
#define UART_STATUS (*word(0x40001004u))
#define UART_CONTROL (*word(0x40001008u))
#define MAILBOX 0x31000000u
enum { UART_IRQ = 3, DMA_IRQ = 5 };

/** Interrupts are never enabled: pending is enough. */
static void wait_for(unsigned irq)
{
    while (!(*word(0xE000E200u) >> irq & 1u)) {
    }
}

/** Once the device no longer asks for it: else it stays pending. */
static void clear(unsigned irq)
{
    *word(0xE000E280u) = 1u << irq;
}

static void echo(void)
{
    uint32_t byte = 0;
    UART_DATA = '?'; // lost: it is off
    UART_CONTROL = 3;
    wait_for(UART_IRQ);
    while (byte != '\n') {
        if (UART_STATUS) {
            byte = UART_DATA;
            UART_DATA = byte;
        }
    }
}

/** STATUS after a copy. */
static uint32_t copy(const void *from, uintptr_t to)
{
    volatile uint32_t *dma = word(0x40003000u);
    dma[0] = (uint32_t)from;
    dma[1] = to;
    dma[2] = 8;
    dma[3] = 1;
    wait_for(DMA_IRQ);
    uint32_t status = dma[4];
    dma[4] = 0;
    clear(DMA_IRQ);
    return status;
}

void reset(void)
{
    static const uint32_t words[2] = {0x12345678u, 42};
    static uint32_t back[2];
    start_counter();
    CLOCKS = 3;
    echo();
    print("copy", copy(words, MAILBOX));
    print("copied", *word(MAILBOX) == words[0] ? *word(MAILBOX + 4) : 0);
    print("not_read", copy((const void *)MAILBOX, (uintptr_t)back));
    leave(0);
}
