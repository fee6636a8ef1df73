// SPDX-License-Identifier: MIT
/** The emulator's own registers; see firmware/emulator/emulator_registers.h. */
#include "emulator_registers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/callbacks.h"
#include "base/faults.h"
#include "base/fifo.h"
#include "base/message.h"
#include "board/machine.h"
#include "dma/dma_run.h"
#include "memory/guest_memory.h"
#include "npu/npu_device.h"
#include "pc/console.h"
#include "pc/emulator_device.h"

static struct {
    qemu_irq irq;
    uint32_t buffer_address;
    uint32_t irq_enable;
    uint32_t received; /**< bytes, of the last RECEIVE */
    uint32_t sent;     /**< bytes, of the last SEND */
    bool (*inject_fault)(const char *fault);
    uint32_t fault_known;
    uint32_t calls; /**< requested since the guest last read them */
    uint32_t high;  /**< high word, latched when the low word of the 64-bit counter was read */
} device;

static void update_irq(void *context)
{
    (void)context;
    uint32_t pending = 0;
    if (console_waiting() > 0) {
        pending |= EMULATOR_CONSOLE_IRQ_RECEIVE;
    }
    if (console_space() >= FIFO_SIZE / 2) {
        pending |= EMULATOR_CONSOLE_IRQ_SEND;
    }
    qemu_set_irq(device.irq, (pending & device.irq_enable) != 0 || device.calls > 0);
}

static uint32_t features(void)
{
    return EMULATOR_FEATURE_INSN_COUNT | (console_exists() ? EMULATOR_FEATURE_CONSOLE : 0);
}

static uint32_t latch(uint64_t counter)
{
    device.high = (uint32_t)(counter >> 32);
    return (uint32_t)counter;
}

static uint32_t take_calls(void)
{
    uint32_t calls = device.calls;
    device.calls = 0;
    update_irq(NULL);
    return calls;
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    switch (offset) {
    case EMULATOR_FEATURES:
        return features();
    case EMULATOR_INSN_LO:
        return latch(callbacks_counted());
    case EMULATOR_NPU_INSN_LO:
        return latch(npu_device_last_run()->instructions);
    case EMULATOR_DMA_INSN_LO:
        return latch(dma_run_last()->instructions);
    case EMULATOR_INSN_HI:
    case EMULATOR_NPU_INSN_HI:
    case EMULATOR_DMA_INSN_HI:
        return device.high;
    case EMULATOR_NPU_IDLE:
        return npu_device_last_run()->idle;
    case EMULATOR_DMA_IDLE:
        return dma_run_last()->idle;
    case EMULATOR_FAULT_KNOWN:
        return device.fault_known;
    case EMULATOR_CALLS:
        return take_calls();
    case EMULATOR_BUFFER_ADDRESS:
        return device.buffer_address;
    case EMULATOR_CONSOLE_COUNT:
        return device.received;
    case EMULATOR_CONSOLE_WAITING:
        return (uint32_t)console_waiting();
    case EMULATOR_CONSOLE_IRQ_ENABLE:
        return device.irq_enable;
    case EMULATOR_CONSOLE_PEER:
        return console_has_client();
    case EMULATOR_CONSOLE_SENT:
        return device.sent;
    case EMULATOR_CONSOLE_SPACE:
        return (uint32_t)console_space();
    default:
        message(MESSAGE_GUEST_ERROR, "emulator registers: no register to read at 0x%03x", offset);
        return 0;
    }
}

/** The guest's buffer, or NULL unless all of it is in memory; then nothing is transferred. */
static uint8_t *buffer(uint32_t size, bool write)
{
    uint8_t *bytes = guest_memory_map(MASTER_CPU, device.buffer_address, size, write);
    if (!bytes) {
        message(MESSAGE_GUEST_ERROR, "emulator registers: no %smemory for %u bytes at 0x%08x",
                write ? "writable " : "", size, device.buffer_address);
    }
    return bytes;
}

static void send(uint32_t size)
{
    const uint8_t *bytes = buffer(size, false);
    device.sent = bytes ? (uint32_t)console_send(bytes, size) : 0;
}

static void receive(uint32_t size)
{
    uint8_t *bytes = buffer(size, true);
    device.received = bytes ? (uint32_t)console_receive(bytes, size) : 0;
}

static void print(uint32_t size)
{
    const uint8_t *bytes = buffer(size, false);
    if (bytes) {
        fwrite(bytes, 1, size, stderr);
        fflush(stderr);
    }
}

static void inject(uint32_t size)
{
    char text[FAULT_TEXT_SIZE] = "";
    const uint8_t *bytes = size < sizeof text ? buffer(size, false) : NULL;
    if (bytes) {
        memcpy(text, bytes, size);
    }
    device.fault_known = device.inject_fault(text);
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    switch (offset) {
    case EMULATOR_BUFFER_ADDRESS:
        device.buffer_address = value;
        break;
    case EMULATOR_CONSOLE_SEND:
        send(value);
        break;
    case EMULATOR_CONSOLE_RECEIVE:
        receive(value);
        break;
    case EMULATOR_CONSOLE_IRQ_ENABLE:
        device.irq_enable = value & (EMULATOR_CONSOLE_IRQ_RECEIVE | EMULATOR_CONSOLE_IRQ_SEND);
        break;
    case EMULATOR_FAULT:
        inject(value);
        break;
    case EMULATOR_LOG:
        print(value);
        break;
    default:
        message(MESSAGE_GUEST_ERROR, "emulator registers: no register to write at 0x%03x", offset);
        break;
    }
    update_irq(NULL);
}

/* --- The core's identification register ------------------------------------ */

static uint32_t read_id(void *present, uint32_t offset)
{
    (void)offset;
    return present ? EMULATOR_ID_VALUE : 0;
}

static void write_id(void *present, uint32_t offset, uint32_t value)
{
    (void)present;
    (void)offset;
    (void)value;
}

void emulator_device_identify(bool present)
{
    machine_map(&(struct machine_window){.name = "ethosu-id",
                                         .base = EMULATOR_ID,
                                         .size = 4,
                                         .read = read_id,
                                         .write = write_id,
                                         .view = machine_cpu_view()},
                present ? &device : NULL);
}

void emulator_device_create(const struct emulator_slot *slot,
                            bool (*inject_fault)(const char *fault))
{
    const struct machine_window window = {.name = "emulator-page",
                                          .base = slot->base,
                                          .size = EMULATOR_REGISTERS_SIZE,
                                          .read = read_register,
                                          .write = write_register};
    device.irq = machine_irq(slot->irq);
    device.inject_fault = inject_fault;
    machine_map(&window, NULL);
    console_start(update_irq, NULL);
}

void emulator_device_call(void)
{
    device.calls++;
    update_irq(NULL);
}

void emulator_device_reset(void)
{
    device.calls = 0;
    device.buffer_address = 0;
    device.irq_enable = 0;
    update_irq(NULL);
}
