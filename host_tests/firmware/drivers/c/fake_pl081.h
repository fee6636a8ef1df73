// SPDX-License-Identifier: MIT
/** A PL081 in ordinary memory, which executes what the driver has written when the CPU sleeps. */
#ifndef FAKE_PL081_H
#define FAKE_PL081_H

static void fake_prepare(volatile uint32_t *registers)
{
    registers[0xFE0 / 4] = 0x81;
    registers[0xFE4 / 4] = 0x10;
}

static void fake_begin_copy(void)
{
}

static bool fake_begun(void)
{
    return controller()->channel.configuration & ENABLE;
}

static void fake_move(const struct piece *piece)
{
    unsigned width = piece->control >> 18 & 7u;
    size_t size = (size_t)(piece->control & UNITS_MAX) << width;
    check(piece->source % (1u << width) == 0 && piece->destination % (1u << width) == 0,
          "a piece is not aligned to its width");
    check((piece->control >> 21 & 7u) == width, "a piece has two widths");
    memmove(bus(piece->destination, size), bus(piece->source, size), size);
}

/** Make the transfer, or only its first piece, and signal the end. */
static void fake_run(bool fail)
{
    struct piece piece = {controller()->channel.piece.source,
                          controller()->channel.piece.destination, controller()->channel.piece.next,
                          controller()->channel.piece.control};
    fake_move(&piece);
    while (!fail && piece.next != 0) {
        memcpy(&piece, bus(piece.next, sizeof piece), sizeof piece);
        fake_move(&piece);
    }
    controller()->channel.configuration = 0;
    controller()->error_status = fail;
    controller()->done_status = !fail;
    on_interrupt(NULL);
    controller()->error_status = controller()->done_status = 0;
}

#endif
