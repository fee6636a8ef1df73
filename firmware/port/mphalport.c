// SPDX-License-Identifier: MIT
/** MicroPython's hardware layer on top of console, clock and interrupts. */
#include "py/mphal.h"

#include <stdbool.h>

#include "clock.h"
#include "console.h"
#include "py/runtime.h"
#include "py/stream.h"

/** A delay in microseconds ends awake, and therefore exactly. */
#define LONGEST_SPIN_US 100u

/** A stream written in Python was called since the last wait. */
static bool python_stream_called;

/** How MicroPython's modio.c calls a method of a stream written in Python (see Makefile). */
mp_obj_t mp_hal_call_python_stream(size_t n_args, size_t n_kw, const mp_obj_t *args);

mp_obj_t mp_hal_call_python_stream(size_t n_args, size_t n_kw, const mp_obj_t *args)
{
    python_stream_called = true;
    return mp_call_method_n_kw(n_args, n_kw, args);
}

/** No interrupt announces a stream written in Python, so select.poll() asks it each millisecond. */
void mp_hal_wait_ms(uint32_t at_most_ms)
{
    bool poll = python_stream_called && at_most_ms > 1;
    python_stream_called = false;
    irq_wait_ms(poll ? 1 : at_most_ms);
}

uintptr_t mp_hal_stdio_poll(uintptr_t flags)
{
    uintptr_t ready = flags & MP_STREAM_POLL_WR;
    if ((flags & MP_STREAM_POLL_RD) && console_waiting() != 0) {
        ready |= MP_STREAM_POLL_RD;
    }
    return ready;
}

int mp_hal_stdin_rx_chr(void)
{
    for (;;) {
        mp_event_handle_nowait();
        if (console_waiting() != 0) {
            return console_read();
        }
        irq_wait_ms(UINT32_MAX);
    }
}

mp_uint_t mp_hal_stdout_tx_strn(const char *bytes, size_t size)
{
    console_write(bytes, size);
    return size;
}

mp_uint_t mp_hal_ticks_ms(void)
{
    return (mp_uint_t)clock_ms();
}

mp_uint_t mp_hal_ticks_us(void)
{
    return (mp_uint_t)clock_us();
}

mp_uint_t mp_hal_ticks_cpu(void)
{
    return clock_cycles();
}

uint64_t mp_hal_time_ns(void)
{
    return clock_epoch_ns();
}

/** Sleep up to this time, with Python's events served in between. */
static void sleep_until(uint64_t end_us)
{
    for (uint64_t now = clock_us(); now < end_us; now = clock_us()) {
        uint64_t left = end_us - now;
        irq_wait_us(left < UINT32_MAX ? (uint32_t)left : UINT32_MAX);
        mp_event_handle_nowait();
    }
}

void mp_hal_delay_ms(mp_uint_t ms)
{
    uint64_t end = clock_us() + (uint64_t)ms * 1000u;
    mp_event_handle_nowait();
    sleep_until(end);
}

void mp_hal_delay_us(mp_uint_t us)
{
    uint64_t end = clock_us() + us;
    if (us > LONGEST_SPIN_US) {
        sleep_until(end - LONGEST_SPIN_US);
    }
    while (clock_us() < end) {
    }
}
