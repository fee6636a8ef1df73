// SPDX-License-Identifier: MIT
/** The core of this board: ticks, interrupts and sleep; see core_web.h. */
#include "cpu.h"
#include "host.h"
#include "sim_host_internal.h"
#include "startup.h"
#include "uart.h"

#define TICK_MS 1.0
/** Maximum number of ticks to catch up on after the page was frozen; the clock skips the rest. */
#define TICKS_AT_ONCE 1000

uint32_t core_primask;
uint32_t core_ipsr;

static uint32_t enabled, pending;
static uint32_t cycles_per_tick;
/** Due time of the last tick, on the host's clock. */
static double ticked;

void NVIC_EnableIRQ(IRQn_Type irq)
{
    enabled |= 1u << irq;
}

void NVIC_DisableIRQ(IRQn_Type irq)
{
    enabled &= ~(1u << irq);
}

void NVIC_ClearPendingIRQ(IRQn_Type irq)
{
    pending &= ~(1u << irq);
}

void core_pend(uint32_t irq)
{
    pending |= 1u << irq;
}

uint32_t SysTick_Config(uint32_t cycles)
{
    cycles_per_tick = cycles;
    ticked = host_now();
    return 0;
}

uint32_t core_systick_value(void)
{
    double part = host_now() - ticked;
    uint32_t cycles = part < TICK_MS ? (uint32_t)(part * cycles_per_tick) : cycles_per_tick - 1u;
    return cycles_per_tick - 1u - cycles;
}

static void serve_ticks(void)
{
    double now = host_now();
    if (now - ticked > TICKS_AT_ONCE * TICK_MS) {
        ticked = now - TICK_MS;
    }
    while (cycles_per_tick != 0 && now - ticked >= TICK_MS) {
        ticked += TICK_MS;
        startup_systick_handler();
    }
}

/** Pend the interrupts of lines that are still high. */
static void pend_again(void)
{
    for (uint32_t i = 0; i < SIM_HOST_NPU_COUNT; i++) {
        if (sim_host_npus[i].level) {
            core_pend(i);
        }
    }
}

static void serve_devices(void)
{
    for (uint32_t due = pending & enabled; due != 0; due = pending & enabled) {
        uint32_t irq = (uint32_t)__builtin_ctz(due);
        pending &= ~(1u << irq);
        core_ipsr = 16u + irq;
        startup_device_handler();
        core_ipsr = 0;
        pend_again();
    }
}

void core_poll(void)
{
    if (core_primask != 0 || core_ipsr != 0) {
        return;
    }
    core_ipsr = 15; // as in the tick handler, so that no interrupt is served inside
    serve_ticks();
    uart_receive();
    core_ipsr = 0;
    serve_devices();
}

void core_wait(void)
{
    if (!sim_host_step() && !uart_has_input()) {
        double left = TICK_MS - (host_now() - ticked);
        if (left > 0) {
            host_sleep(left);
        }
    }
}

void web_between_byte_codes(void)
{
    (void)sim_host_step();
    core_poll();
}
