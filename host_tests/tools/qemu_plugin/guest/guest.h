// SPDX-License-Identifier: MIT
/** Shared by all scenarios of the test program. */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Output through semihosting ------------------------------------------- */

/** Print "name=0x...\n". */
void report(const char *name, uint32_t value);

/** End QEMU with this exit code. */
__attribute__((noreturn)) void finish(int code);

/* --- The CPU and the board ------------------------------------------------ */

static inline volatile uint32_t *word(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

static inline uint8_t *bytes_at(uintptr_t address)
{
    return (uint8_t *)address;
}

/**
 * Number of interrupts of each external line since the start. All handlers except the NPU's mask
 * their line.
 */
extern volatile uint32_t irq_count[96];

void irq_enable(unsigned number);
bool irq_pending(unsigned number);

/** Sleep until `*counter` differs from `seen`; safe against an interrupt just before. */
void sleep_until_changed(volatile uint32_t *counter, uint32_t seen);

/** The counter of 20 MHz cycles that QEMU gives the board, which runs with QEMU's virtual clock. */
#define BOARD_CYCLES (*word(0x49302018))

/* --- Memories ------------------------------------------------------------- */

#define SSRAM 0x01100000u
#define ISRAM 0x21000000u
#define ISRAM_BANK 0x00200000u
#define QSPI 0x28000000u
#define DDR 0x60000000u
#define DDR_SIZE 0x80000000u
#define SECURE 0x10000000u

/* --- The NPU -------------------------------------------------------------- */

#define NPU_BASE 0x48102000u
#define NPU_IRQ 56u

/* --- The emulator's registers --------------------------------------------------- */

#define EMULATOR_BASE 0x4F000000u
#define EMULATOR_IRQ 57u

enum npu_register {
    NPU_ID = 0x00,
    NPU_STATUS = 0x04,
    NPU_CMD = 0x08,
    NPU_RESET = 0x0C,
    NPU_QBASE = 0x10,
    NPU_QCONFIG = 0x1C,
    NPU_QSIZE = 0x20,
    NPU_PROT = 0x24,
    NPU_CONFIG = 0x28,
    NPU_BASEP = 0x80,
};

enum npu_status {
    STATUS_RUNNING = 0x1,
    STATUS_IRQ = 0x2,
    STATUS_BUS_ERROR = 0x4,
    STATUS_RESETTING = 0x8,
    STATUS_PARSE_ERROR = 0x10,
    STATUS_END = 0x20,
};

/** Registers of a timing adapter, by number. */
enum adapter_register {
    ADAPTER_RLATENCY = 3,
    ADAPTER_BWCAP = 7,
    ADAPTER_PERFCTRL = 8,
    ADAPTER_MODE = 10,
    ADAPTER_HISTBIN = 12,
    ADAPTER_HISTCNT = 13,
    ADAPTER_VERSION = 14,
};

#define NPU(reg) (*word(NPU_BASE + (reg)))

/** Build a command stream at an address: stop(copy(copy(at, ...), ...)). */
uint32_t *copy(uint32_t *at, uint32_t from, uint32_t to, uint32_t size);
uint32_t *stop(uint32_t *at);

/** Start the stream [begin, end); its region 0 is the whole address space. */
void npu_start(const uint32_t *begin, const uint32_t *end);

/** Like a driver's interrupt handler: store STATUS and acknowledge. */
void npu_interrupt(void);

/** Start, sleep until the interrupt; returns STATUS as it was at the interrupt. */
uint32_t npu_run(const uint32_t *begin, const uint32_t *end);

/* --- Scenarios ------------------------------------------------------------ */

/** Scenarios, by the name in the command line. Each ends with finish(), or returns. */
struct scenario {
    const char *name;
    void (*run)(void);
};

#define SCENARIO(name)                                                                            \
    static void name(void);                                                                       \
    __attribute__((section(".scenarios"), used)) static const struct scenario scenario_##name = { \
        #name, name};                                                                             \
    static void name(void)

/* ---- Caches (cache.c) ---- */
void cache_enable(void);
void cache_clean(uintptr_t start, size_t size);
void cache_invalidate(uintptr_t start, size_t size);

#endif
