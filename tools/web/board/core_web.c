// SPDX-License-Identifier: MIT
/** The core of this board: counter, interrupts and sleep; see core_web.h. */
#include "counter.h"
#include "cpu.h"
#include "host.h"
#include "sim_host_internal.h"
#include "startup.h"
#include "uart.h"

#include <math.h>

/** Input and the end of an inference are noticed after at most this time. */
#define LONGEST_SLEEP_MS 1.0

uint32_t core_primask;
uint32_t core_ipsr;

static uint32_t enabled, pending;
/** On the host's clock: when the counter started, and when the alarm is due. */
static double started;
static double alarm_due = INFINITY;

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

void counter_start(void)
{
    started = host_now();
}

uint64_t counter_now(uint32_t *cycles)
{
    double passed = host_now() - started;
    double ms = floor(passed);
    *cycles = (uint32_t)((passed - ms) * CYCLES_PER_MS);
    return (uint64_t)ms;
}

void counter_alarm(uint64_t cycles)
{
    double due = host_now() + (double)cycles / CYCLES_PER_MS;
    alarm_due = due < alarm_due ? due : alarm_due;
}

static void serve_alarm(void)
{
    if (host_now() >= alarm_due) {
        alarm_due = INFINITY;
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
    core_ipsr = 15; // as in the handler of the alarm, so that no interrupt is served inside
    serve_alarm();
    uart_receive();
    core_ipsr = 0;
    serve_devices();
}

void core_wait(void)
{
    if (!sim_host_step() && !uart_has_input()) {
        double left = alarm_due - host_now();
        if (left > 0) {
            host_sleep(left < LONGEST_SLEEP_MS ? left : LONGEST_SLEEP_MS);
        }
    }
}

void web_between_byte_codes(void)
{
    (void)sim_host_step();
    core_poll();
}
