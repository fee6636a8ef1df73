// SPDX-License-Identifier: MIT
/**
 * A DataWire controller in ordinary memory, which executes channel 0's descriptor when the CPU
 * sleeps. Registers: Infineon's SVD file.
 */
#ifndef FAKE_DW_H
#define FAKE_DW_H

/** Offsets in channel 0. */
enum fake_register {
    FAKE_CONTROL = 0x00,
    FAKE_STATUS = 0x04,
    FAKE_POINTER = 0x0C,
    FAKE_MASK = 0x18,
    FAKE_TRIGGER = 0x28,
};

static volatile uint32_t *fake_channel;
static bool fake_at_work; /**< with another descriptor, which is as good as endless */

static void fake_prepare(volatile uint32_t *registers)
{
    fake_channel = registers + 0x8000 / 4;
}

/** Sometimes the channel is still busy, and accepts no trigger. */
static void fake_begin_copy(void)
{
    fake_at_work = pseudo_random(8) == 0;
    fake_channel[FAKE_CONTROL / 4] = fake_at_work ? 1u << 31 : 0;
}

static bool fake_begun(void)
{
    return fake_channel[FAKE_CONTROL / 4] >> 31 && fake_channel[FAKE_TRIGGER / 4];
}

/** Copy all rows, or only the first half of each, and signal the end. */
static void fake_run(bool fail)
{
    uint32_t words[6];
    memcpy(words, bus(fake_channel[FAKE_POINTER / 4], sizeof words), sizeof words);
    const uint32_t shift = words[0] >> 28 & 3u, unit = 1u << shift;
    const uint32_t row = (words[3] >> 24) + 1u, rows = (words[4] >> 24) + 1u;
    check(!fake_at_work, "a channel at work is given a trigger");
    check(fake_channel[FAKE_MASK / 4] == 1, "the interrupt is masked");
    check((words[0] & ~(3u << 28)) == 0x81000088u, "not a copy of rows by one trigger");
    check(shift <= 2, "a unit is wider than a word");
    check(words[1] % unit == 0 && words[2] % unit == 0, "an end is not aligned to the unit");
    check((words[3] & 0xFFFFFFu) == 0x1001u, "units do not follow each other");
    check((words[4] & 0xFFFFFFu) == (row | row << 12), "rows do not follow each other");
    check(words[5] == 0, "a descriptor follows");
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t at = i * row << shift;
        const size_t size = (size_t)(fail ? row / 2 : row) << shift;
        memmove(bus(words[2] + at, size), bus(words[1] + at, size), size);
    }
    fake_channel[FAKE_CONTROL / 4] = 0;
    fake_channel[FAKE_TRIGGER / 4] = 0;
    fake_channel[FAKE_STATUS / 4] = fail ? 3 : 1;
    on_interrupt(NULL);
}

#endif
