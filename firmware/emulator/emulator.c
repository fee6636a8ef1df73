// SPDX-License-Identifier: MIT
/** The emulator's registers; see emulator_registers.h. */
#include "emulator.h"

#include "cpu.h"
#include "emulator_registers.h"
#include "irq.h"
#include "mpconfigboard.h"

/** Tries, each some microseconds of the host's, to send a fault report to a reader that sleeps. */
#define FAULT_MAX_POLLS 10000u

static uint32_t features;

static volatile uint32_t *at(uint32_t offset)
{
    return (volatile uint32_t *)(BOARD_EMULATOR_BASE + offset);
}

static void transfer(uint32_t command, const void *buffer, size_t size)
{
    // An interrupt between the two writes could start another transfer.
    uint32_t state = irq_mask();
    *at(EMULATOR_BUFFER_ADDRESS) = (uint32_t)(uintptr_t)buffer;
    *at(command) = (uint32_t)size;
    irq_restore(state);
}

bool emulator_present(void)
{
    return *(volatile uint32_t *)EMULATOR_ID == EMULATOR_ID_VALUE;
}

static bool start_log(void)
{
    features = emulator_present() ? *at(EMULATOR_FEATURES) : 0;
    return features != 0;
}

uint32_t emulator_features(void)
{
    return features;
}

uint32_t emulator_register(uint32_t offset)
{
    return features ? *at(offset) : 0;
}

uint64_t emulator_counter(uint32_t offset)
{
    uint32_t state = irq_mask();
    uint32_t low = emulator_register(offset);
    uint32_t high = emulator_register(offset + 4u);
    irq_restore(state);
    return (uint64_t)high << 32 | low;
}

static void send_log(const char *bytes, size_t size)
{
    transfer(EMULATOR_LOG, bytes, size);
}

void emulator_log(const char *bytes, size_t size)
{
    if (features) {
        send_log(bytes, size);
    }
}

bool emulator_inject(const char *bytes, size_t size)
{
    if (!features) {
        return false;
    }
    transfer(EMULATOR_FAULT, bytes, size);
    return *at(EMULATOR_FAULT_KNOWN) != 0;
}

static void receive(void)
{
    static uint8_t burst[256];
    while (*at(EMULATOR_CONSOLE_WAITING) != 0) {
        size_t room = console_room();
        if (room == 0) {
            *at(EMULATOR_CONSOLE_IRQ_ENABLE) = 0;
            return;
        }
        transfer(EMULATOR_CONSOLE_RECEIVE, burst, room < sizeof(burst) ? room : sizeof(burst));
        size_t count = *at(EMULATOR_CONSOLE_COUNT);
        for (size_t i = 0; i < count && i < sizeof(burst); i++) {
            console_receive(&emulator_console, burst[i]);
        }
    }
}

static void on_interrupt(void *unused)
{
    if (*at(EMULATOR_CALLS) != 0) {
        emulator_on_call();
    }
    receive();
}

static bool start(void)
{
    if (!start_log() || (features & EMULATOR_FEATURE_CONSOLE) == 0) {
        return false;
    }
    irq_connect(BOARD_EMULATOR_IRQ, on_interrupt, NULL);
    *at(EMULATOR_CONSOLE_IRQ_ENABLE) = EMULATOR_CONSOLE_IRQ_RECEIVE;
    return true;
}

static void resume(void)
{
    *at(EMULATOR_CONSOLE_IRQ_ENABLE) = EMULATOR_CONSOLE_IRQ_RECEIVE;
}

static bool has_peer(void)
{
    return *at(EMULATOR_CONSOLE_PEER) != 0;
}

/** Programs wait for a slow reader without limit, a fault report only for a limited time. */
static bool wait_for_reader(uint32_t *polls_left)
{
    if (__get_IPSR() != 0) {
        return (*polls_left)-- > 0;
    }
    irq_wait_ms(1);
    return true;
}

static void send(const char *bytes, size_t size)
{
    uint32_t polls_left = FAULT_MAX_POLLS;
    while (size > 0) {
        transfer(EMULATOR_CONSOLE_SEND, bytes, size);
        size_t sent = *at(EMULATOR_CONSOLE_SENT); // fewer while the host's program reads slowly
        if (sent == 0 && !wait_for_reader(&polls_left)) {
            return;
        }
        bytes += sent;
        size -= sent;
    }
}

const struct console_port emulator_console = {
    .start = start,
    .resume = resume,
    .has_peer = has_peer,
    .send = send,
};

static void resume_log(void)
{
}

const struct console_port emulator_log_port = {
    .start = start_log,
    .resume = resume_log,
    .send = send_log,
};
