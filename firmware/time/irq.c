// SPDX-License-Identifier: MIT
/**
 * Interrupts: one dispatcher for all devices and the SysTick, so that every
 * interrupt leaves the note that irq_wait_ms() looks for.
 */
#include "irq.h"

#include <stddef.h>

#include "clock.h"
#include "cpu.h"
#include "startup.h"

/** Devices share one priority: their handlers never interrupt each other. */
#define DEVICE_PRIORITY ((1u << BOARD_IRQ_PRIORITY_BITS) - 2u)

_Static_assert((unsigned)(IRQn_Type)(BOARD_IRQ_COUNT - 1u) == BOARD_IRQ_COUNT - 1u,
               "IRQn_Type has fewer bits than the interrupts' numbers");

struct connection {
    void (*handler)(void *argument);
    void *argument;
};

static struct connection connections[BOARD_IRQ_COUNT];

/** An interrupt was served since irq_wait_ms() or irq_wait_us() last returned. */
static volatile uint32_t served;

void irq_connect(unsigned number, void (*handler)(void *argument), void *argument)
{
    if (number >= BOARD_IRQ_COUNT) {
        return;
    }
    IRQn_Type irq = (IRQn_Type)number;
    NVIC_DisableIRQ(irq);
    connections[number] = (struct connection){.handler = handler, .argument = argument};
    NVIC_SetPriority(irq, DEVICE_PRIORITY);
    NVIC_ClearPendingIRQ(irq);
    NVIC_EnableIRQ(irq);
}

void irq_disconnect(unsigned number)
{
    if (number >= BOARD_IRQ_COUNT) {
        return;
    }
    NVIC_DisableIRQ((IRQn_Type)number);
    connections[number] = (struct connection){.handler = NULL, .argument = NULL};
}

uint32_t irq_mask(void)
{
    uint32_t state = __get_PRIMASK();
    __disable_irq();
    return state;
}

void irq_restore(uint32_t state)
{
    __set_PRIMASK(state);
}

/** Sleep, with interrupts masked: WFI wakes for one that is pending. It is served when unmasked. */
static void sleep(void)
{
    __DSB();
    __WFI();
}

/** Return when the interrupt that ended a sleep has been served. */
static void serve(uint32_t state)
{
    irq_restore(state);
    __ISB();
}

void irq_wait_unless(const volatile uint32_t *flag, uint32_t at_most_ms)
{
    uint32_t state = irq_mask();
    if (*flag == 0 && at_most_ms != 0) {
        if (at_most_ms != UINT32_MAX) {
            clock_alarm_ms(at_most_ms);
        }
        sleep();
    }
    serve(state);
}

void irq_wait_ms(uint32_t at_most_ms)
{
    irq_wait_unless(&served, at_most_ms);
    served = 0;
}

void irq_wait_us(uint32_t at_most_us)
{
    uint32_t state = irq_mask();
    if (served == 0) {
        clock_alarm_us(at_most_us);
        sleep();
    }
    serve(state);
    served = 0;
}

void startup_device_handler(void)
{
    unsigned number = (__get_IPSR() & IPSR_ISR_Msk) - 16u;
    if (number < BOARD_IRQ_COUNT && connections[number].handler != NULL) {
        connections[number].handler(connections[number].argument);
    }
    served = 1;
    __DSB(); // the device sees its interrupt cleared before the handler is left
}

void startup_systick_handler(void)
{
    clock_interrupt();
    served = 1;
}
