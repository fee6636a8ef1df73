// SPDX-License-Identifier: MIT
/**
 * A DMA-330 in ordinary memory, which runs the driver's program when the CPU sleeps. Instructions
 * and registers: Arm DDI 0424, chapters 3 and 4.
 */
#ifndef FAKE_PL330_H
#define FAKE_PL330_H

#define FAKE_NO_COMMAND 0xFFu

static void fake_prepare(volatile uint32_t *registers)
{
    registers[0xFE0 / 4] = 0x30;
    registers[0xFE4 / 4] = 0x13;
    controller()->debug_command = FAKE_NO_COMMAND;
}

/** Sometimes the channel is still busy, and accepts no other program. */
static void fake_begin_copy(void)
{
    controller()->channels[0].status = pseudo_random(8) == 0;
}

static bool fake_begun(void)
{
    return controller()->debug_command == 0 &&
           (controller()->debug_instruction[0] & 0x00FF0001u) == 0x00A00000u;
}

/** The channel of a running program. */
struct fake_channel {
    uint32_t address[2]; /**< source, destination */
    uint32_t control, counter[2];
    uint8_t buffer[128];
    size_t held;
};

/** One burst of the source (end 0) or the destination (end 1). */
static void fake_burst(struct fake_channel *channel, int end)
{
    uint32_t control = channel->control >> 14 * end;
    uint32_t width = 1u << (control >> 1 & 7u), size = width * ((control >> 4 & 15u) + 1);
    check(control & 1u, "the address does not step");
    check(channel->address[end] % width == 0, "a burst is not aligned to its beats");
    check(end ? channel->held == size : channel->held == 0 && size <= sizeof channel->buffer,
          "the data buffer is too full or too empty");
    uint8_t *place = bus(channel->address[end], size);
    memmove(end ? place : channel->buffer, end ? channel->buffer : place, size);
    channel->held = end ? 0 : size;
    channel->address[end] += size;
}

/** Run a program; true if it has sent its event. */
static bool fake_program(uint32_t address, int bursts)
{
    struct fake_channel channel = {.held = 0};
    bool sent = false;
    for (;;) {
        const uint8_t *at = bus(address, 1);
        uint32_t value;
        switch (*at) {
        case 0x00:
            return sent;
        case 0x04:
            fake_burst(&channel, 0);
            address += 1;
            break;
        case 0x08:
            fake_burst(&channel, 1);
            address += 1;
            if (--bursts == 0) {
                return false;
            }
            break;
        case 0x13:
            address += 1;
            break;
        case 0x20:
        case 0x22:
            channel.counter[*at >> 1 & 1] = at[1];
            address += 2;
            break;
        case 0x34:
            sent = at[1] >> 3 == EVENT;
            address += 2;
            break;
        case 0x38:
        case 0x3C:
            address = channel.counter[*at >> 2 & 1]-- != 0 ? address - at[1] : address + 2;
            break;
        case 0xBC:
            memcpy(&value, at + 2, sizeof value);
            *(at[1] == 1 ? &channel.control : &channel.address[at[1] / 2]) = value;
            address += 6;
            break;
        default:
            check(false, "an instruction is unknown");
        }
    }
}

static void fake_run(bool fail)
{
    uint32_t program_address = controller()->debug_instruction[1];
    controller()->debug_command = FAKE_NO_COMMAND;
    check(controller()->channels[CHANNEL].status == 0, "a channel that runs is given a program");
    bool sent = fake_program(program_address, fail ? 1 : -1);
    check(sent != fail, "a program ends without its event");
    fail ? on_abort(NULL) : on_done(NULL);
}

#endif
