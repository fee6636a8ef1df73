// SPDX-License-Identifier: MIT
/**
 * A DMA-350 in ordinary memory, which executes the driver's command when the CPU sleeps. It has
 * 16-bit sizes and an 8-byte bus. Registers: Linux, drivers/dma/arm-dma350.c.
 */
#ifndef FAKE_350_H
#define FAKE_350_H

/** Offsets in channel 0. */
enum fake_register {
    FAKE_COMMAND = 0x00,
    FAKE_STATUS = 0x04,
    FAKE_CONTROL = 0x0C,
    FAKE_SOURCE = 0x10,
    FAKE_DESTINATION = 0x18,
    FAKE_SIZE = 0x20,
    FAKE_SIZE_HIGH = 0x24,
    FAKE_SOURCE_TRANSFER = 0x28,
    FAKE_DESTINATION_TRANSFER = 0x2C,
    FAKE_BUILD_0 = 0xF8,
};

static volatile uint32_t *fake_channel;
static bool fake_at_work; /**< with another command, which is as good as endless */

static uint32_t fake_get(enum fake_register offset)
{
    return fake_channel[offset / 4];
}

static void fake_prepare(volatile uint32_t *registers)
{
    registers[0xFC8 / 4] = 0x3A0u << 20 | 0x43Bu;
    fake_channel = registers + 0x1000 / 4;
    fake_channel[FAKE_BUILD_0 / 4] = 3u << 22;
}

/** Sometimes the channel is still busy, and accepts no command. */
static void fake_begin_copy(void)
{
    fake_at_work = pseudo_random(8) == 0;
    fake_channel[FAKE_COMMAND / 4] = fake_at_work;
}

static bool fake_begun(void)
{
    return fake_get(FAKE_COMMAND) & 1u;
}

/** Copy all of it, or half, and signal the end. */
static void fake_run(bool fail)
{
    const unsigned shift = fake_get(FAKE_CONTROL) & 7u;
    const uint32_t units = fake_get(FAKE_SIZE) & 0xFFFFu, unit = 1u << shift;
    const uint32_t from = fake_get(FAKE_SOURCE), to = fake_get(FAKE_DESTINATION);
    check(!fake_at_work, "a channel at work is given a command");
    check(shift <= 3, "a unit is wider than the bus");
    check(from % unit == 0 && to % unit == 0, "an end is not aligned to the unit");
    check(fake_get(FAKE_SIZE) >> 16 == units, "source and destination differ in size");
    check(fake_get(FAKE_SIZE_HIGH) == 0, "a size has more than 16 bits");
    check(((fake_get(FAKE_SOURCE_TRANSFER) | fake_get(FAKE_DESTINATION_TRANSFER)) & 1u << 10) == 0,
          "secure memory does not answer to what is not secure");
    const size_t size = (size_t)(fail ? units / 2 : units) << shift;
    memmove(bus(to, size), bus(from, size), size);
    fake_channel[FAKE_COMMAND / 4] = 0;
    fake_channel[FAKE_STATUS / 4] = fail ? 1u << 17 | 1u << 1 : 1u << 16 | 1u;
    on_interrupt(NULL);
}

#endif
