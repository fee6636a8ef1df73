// SPDX-License-Identifier: MIT
/**
 * Registers that only the emulator has: fast console, counters, host log.
 *
 * This file is the contract between firmware and emulator: firmware/emulator/
 * uses the registers, tools/qemu_plugin/ implements them. Their
 * address and the number of their interrupt belong to the board (mpconfigboard.h).
 *
 * The firmware uses them when EMULATOR_ID reads EMULATOR_ID_VALUE. This word is
 * not on the bus but in the core: DPIDR5 of its System Control Space, which is 0
 * on each chip (Armv8-M Architecture Reference Manual, Arm DDI 0553, D1.2: RES0).
 * So one image serves chip and emulator, and on a chip it never accesses the
 * page. All registers are 32 bits wide.
 */
#ifndef EMULATOR_REGISTERS_H
#define EMULATOR_REGISTERS_H

#define EMULATOR_REGISTERS_SIZE 0x1000u
#define EMULATOR_ID 0xE000EFD4u       /**< address, the same on each board */
#define EMULATOR_ID_VALUE 0x45485531u /**< "1UHE" in memory order */

enum emulator_offset {
    EMULATOR_FEATURES = 0x004, /**< RO: EMULATOR_FEATURE_* bits */

    EMULATOR_INSN_LO = 0x010, /**< RO: guest instructions; reading LO latches HI */
    EMULATOR_INSN_HI = 0x014,
    EMULATOR_NPU_INSN_LO =
        0x018, /**< RO: guest instructions between the last NPU start and its completion */
    EMULATOR_NPU_INSN_HI = 0x01C,
    EMULATOR_NPU_IDLE =
        0x020, /**< RO: 1 if the CPU was asleep (WFI) when the last NPU run completed */
    EMULATOR_DMA_INSN_LO = 0x028, /**< RO: the same two for the DMA controller's last transfer */
    EMULATOR_DMA_INSN_HI = 0x02C,
    EMULATOR_DMA_IDLE = 0x030,

    EMULATOR_BUFFER_ADDRESS = 0x100, /**< RW: guest address for the next transfer */
    EMULATOR_CONSOLE_SEND =
        0x104, /**< WO: send up to this many bytes from BUFFER_ADDRESS to the console */
    EMULATOR_CONSOLE_RECEIVE = 0x108, /**< WO: receive up to this many bytes to BUFFER_ADDRESS */
    EMULATOR_CONSOLE_COUNT = 0x10C,   /**< RO: bytes that the last RECEIVE delivered */
    EMULATOR_CONSOLE_WAITING = 0x110, /**< RO: bytes waiting to be received */
    EMULATOR_CONSOLE_IRQ_ENABLE =
        0x114, /**< RW: EMULATOR_CONSOLE_IRQ_* bits; each is a level, all share one line */
    EMULATOR_CONSOLE_PEER = 0x118, /**< RO: 1 while a host program has the console open */
    EMULATOR_CONSOLE_SENT =
        0x11C, /**< RO: bytes accepted by the last SEND; fewer than requested if the FIFO is full */
    EMULATOR_CONSOLE_SPACE =
        0x120, /**< RO: bytes that a SEND would accept now; never 0 without a listener */

    EMULATOR_FAULT = 0x180, /**< WO: inject the fault named by this many bytes from BUFFER_ADDRESS,
                               [DEVICE.]NAME[:COUNT][@AFTER] as in the plugin's argument fault */
    EMULATOR_FAULT_KNOWN = 0x184, /**< RO: 1 when the last FAULT named one */

    EMULATOR_CALLS =
        0x188, /**< RO: faults "board.call" since the last read; reading clears the interrupt */

    EMULATOR_LOG = 0x200, /**< WO: print this many bytes from BUFFER_ADDRESS on the host's stderr */
};

#define EMULATOR_FEATURE_CONSOLE 0x1u /**< the user requested a console (console=...) */
#define EMULATOR_FEATURE_INSN_COUNT 0x2u

#define EMULATOR_CONSOLE_IRQ_RECEIVE 0x1u /**< high while bytes are waiting */
#define EMULATOR_CONSOLE_IRQ_SEND 0x2u    /**< high while the send FIFO is at most half full */

#endif
