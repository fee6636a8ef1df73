// SPDX-License-Identifier: MIT
/** Scenarios of the test program, selected by name in its command line. */
#include "emulator_registers.h"
#include "guest.h"

#define PAGE(reg) (*word(EMULATOR_BASE + (reg)))

/** Address at which streams are built; far from all data that they move. */
#define STREAM ((uint32_t *)(DDR + 0x01000000u))

/** Far more than the host copies before the guest's next step. */
#define LONG_COPIES 2000
#define LONG_COPY_SIZE 0x00800000u

static uint32_t *copies(int count)
{
    uint32_t *end = STREAM;
    for (int i = 0; i < count; i++) {
        end = copy(end, DDR + 0x10000000u, DDR + 0x20000000u, LONG_COPY_SIZE);
    }
    return stop(end);
}

static void fill(uintptr_t address, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i += 4) {
        seed = seed * 1664525u + 1013904223u;
        *word(address + i) = seed;
    }
}

static bool same(uintptr_t a, uintptr_t b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes_at(a)[i] != bytes_at(b)[i]) {
            return false;
        }
    }
    return true;
}

/* --- Registers ------------------------------------------------------------ */

SCENARIO(identify)
{
    report("id", NPU(NPU_ID));
    report("id_secure", *word(NPU_BASE + SECURE + NPU_ID));
    report("config", NPU(NPU_CONFIG));
    report("page", *word(EMULATOR_ID));
    report("features", PAGE(EMULATOR_FEATURES));
    NPU(NPU_BASEP + 8) = 0x11111110;
    *(volatile uint64_t *)(NPU_BASE + NPU_BASEP + 16) = 0x33333333ull; // one doubleword store
    report("basep1", NPU(NPU_BASEP + 8));
    report("basep2", NPU(NPU_BASEP + 16));
}

SCENARIO(halfword_access)
{
    report("value", *(volatile uint16_t *)NPU_BASE);
}

/* --- Runs ----------------------------------------------------------------- */

SCENARIO(only_stop)
{
    report("status_before", NPU(NPU_STATUS));
    report("status", npu_run(STREAM, stop(STREAM)));
    report("status_after", NPU(NPU_STATUS));
    report("interrupts", irq_count[NPU_IRQ]);
}

struct transfer {
    const char *name;
    uint32_t from, to, size;
};

static const struct transfer transfers[] = {
    {"ddr_to_isram", DDR, ISRAM, 0x1000},
    {"isram_to_ddr", ISRAM + 16, DDR + 0x2000, 0x1000},
    {"both_isram_banks", DDR, ISRAM + ISRAM_BANK - 0x800, 0x1000},
    {"ssram", DDR, SSRAM, 0x1000},
    {"qspi_read", QSPI, DDR + 0x2000, 0x1000},
    {"secure_isram", DDR, ISRAM + SECURE + 0x4000, 0x1000},
    {"secure_qspi", QSPI + SECURE, SSRAM + SECURE + 0x4000, 0x1000},
    {"end_of_ddr", DDR, DDR + DDR_SIZE - 0x1000, 0x1000},
};

SCENARIO(moves)
{
    for (size_t i = 0; i < sizeof transfers / sizeof transfers[0]; i++) {
        const struct transfer *transfer = &transfers[i];
        if ((transfer->from & ~SECURE) != QSPI) {
            fill(transfer->from, transfer->size, i);
        }
        uint32_t *end = stop(copy(STREAM, transfer->from, transfer->to, transfer->size));
        uint32_t status = npu_run(STREAM, end);
        bool right = same(transfer->from, transfer->to, transfer->size);
        report(transfer->name, right ? status : 0xBAD);
    }
}

static const struct transfer faults[] = {
    {"read_dtcm", 0x20000000, DDR, 0x10},
    {"write_dtcm", DDR, 0x20000000, 0x10},
    {"read_secure_dtcm", 0x30000000, DDR, 0x10},
    {"read_itcm", 0x00000000, DDR, 0x10},
    {"write_qspi", DDR, QSPI, 0x10},
    {"across_end_of_ssram", DDR, 0x01200000 - 16, 0x20},
    {"across_end_of_isram", ISRAM + 2 * ISRAM_BANK - 16, DDR, 0x20},
    {"across_end_of_ddr", DDR, DDR + DDR_SIZE - 16, 0x20},
    {"registers", NPU_BASE, DDR, 0x10},
    {"nothing", 0x1F000000, DDR, 0x10},
};

static void report_each(const struct transfer *transfer, size_t count)
{
    for (; count > 0; count--, transfer++) {
        uint32_t *end = stop(copy(STREAM, transfer->from, transfer->to, transfer->size));
        report(transfer->name, npu_run(STREAM, end));
        NPU(NPU_RESET) = 0;
    }
}

SCENARIO(refused)
{
    report_each(faults, sizeof faults / sizeof faults[0]);
    report("good_after_all", npu_run(STREAM, stop(copy(STREAM, DDR, ISRAM, 0x10))));
}

/** Copies around the place where the first of the two banks of ISRAM ends. */
SCENARIO(half_of_isram)
{
    static const struct transfer places[] = {
        {"before", DDR, ISRAM + 0x1FFFF0, 0x10},
        {"across", DDR, ISRAM + 0x1FFFF0, 0x20},
        {"behind", DDR, ISRAM + 0x200000, 0x10},
        {"behind_secure", DDR, ISRAM + SECURE + 0x200000, 0x10},
        {"last", DDR, ISRAM + 0x3FFFF0, 0x10},
        {"behind_all", DDR, ISRAM + 0x400000, 0x10},
    };
    report_each(places, sizeof places / sizeof places[0]);
}

/** The same copy in each state of PROT: privilege in bit 0, security in bit 1. */
SCENARIO(states)
{
    static const char *const names[] = {"user", "privileged", "non_secure_user",
                                        "non_secure_privileged"};
    for (uint32_t prot = 0; prot < 4; prot++) {
        NPU(NPU_RESET) = prot;
        report(names[prot], npu_run(STREAM, stop(copy(STREAM, DDR, ISRAM, 0x10))));
    }
}

SCENARIO(power_and_reset)
{
    NPU(NPU_CMD) = 0; // requests power
    NPU(NPU_RESET) = 3;
    report("prot", NPU(NPU_PROT));
    NPU(NPU_CMD) = 0xC; // releases it
}

SCENARIO(stream_in_tcm)
{
    static _Alignas(16) uint32_t stream[4];
    report("status", npu_run(stream, stop(stream)));
}

/** One copy within DDR, whose file the host checks. */
SCENARIO(move_in_ddr)
{
    report("status", npu_run(STREAM, stop(copy(STREAM, DDR + 0x100000, DDR + 0x200000, 0x10000))));
}

/* --- Interrupts and sleep ------------------------------------------------- */

SCENARIO(masked)
{
    npu_start(STREAM, stop(STREAM));
    while (!(NPU(NPU_STATUS) & STATUS_IRQ)) {
    }
    report("pending", irq_pending(NPU_IRQ));
    report("interrupts_masked", irq_count[NPU_IRQ]);
    irq_enable(NPU_IRQ);
    __asm__ volatile("dsb; isb");
    report("interrupts_unmasked", irq_count[NPU_IRQ]);
    report("good_after", npu_run(STREAM, stop(STREAM)));
}

SCENARIO(sleep_during_run)
{
    // Far longer than even a busy host needs to reach the WFI.
    report("status", npu_run(STREAM, copies(50)));
    report("instructions", PAGE(EMULATOR_NPU_INSN_LO));
    report("idle", PAGE(EMULATOR_NPU_IDLE));
}

SCENARIO(poll_during_run)
{
    npu_start(STREAM, copies(1));
    while (!(NPU(NPU_STATUS) & STATUS_IRQ)) {
    }
    report("idle", PAGE(EMULATOR_NPU_IDLE));
}

/* --- Resets --------------------------------------------------------------- */

SCENARIO(soft_reset)
{
    irq_enable(NPU_IRQ);
    for (uint32_t i = 0; i < 20; i++) {
        npu_start(STREAM, copies(LONG_COPIES));
        if (!(NPU(NPU_STATUS) & STATUS_RUNNING)) {
            report("not_running", i);
        }
        NPU(NPU_RESET) = 0;
        if (NPU(NPU_STATUS) & (STATUS_RUNNING | STATUS_IRQ | STATUS_RESETTING)) {
            report("not_reset", i);
        }
    }
    report("interrupts_of_runs_reset", irq_count[NPU_IRQ]);
    fill(DDR, 0x1000, 1);
    report("good_after", npu_run(STREAM, stop(copy(STREAM, DDR, ISRAM, 0x1000))));
    report("same", same(DDR, ISRAM, 0x1000));
}

static void reset_machine_during(int count)
{
    volatile uint32_t *starts = word(DDR + 0x30000000u); // memory outlives a reset
    volatile uint32_t *failures = word(DDR + 0x30000004u);
    if (NPU(NPU_STATUS) & (STATUS_RUNNING | STATUS_IRQ) || NPU(NPU_QSIZE) != 0) {
        *failures += 1;
    }
    *starts += 1;
    if (*starts < 5) {
        irq_count[NPU_IRQ] = 0;
        npu_start(STREAM, copies(count));
        *word(0xE000ED0C) = 0x05FA0004; // SYSRESETREQ
        for (;;) {
        }
    }
    report("starts", *starts);
    report("failures", *failures);
    report("good_after", npu_run(STREAM, stop(STREAM)));
}

SCENARIO(machine_reset)
{
    reset_machine_during(LONG_COPIES);
}

/**
 * With a modelled clock, the host computes the whole run at its start, so a short one is
 * sufficient.
 */
SCENARIO(timed_machine_reset)
{
    reset_machine_during(1);
}

SCENARIO(exit_during_run)
{
    npu_start(STREAM, copies(LONG_COPIES));
    report("status", NPU(NPU_STATUS));
}

SCENARIO(sleep_for_ever_during_run)
{
    npu_start(STREAM, copies(LONG_COPIES));
    report("status", NPU(NPU_STATUS));
    for (;;) {
        __asm__ volatile("wfi");
    }
}

/* --- Emulator page -------------------------------------------------------- */

__attribute__((noinline)) static uint32_t count_loop(uint32_t turns)
{
    uint32_t before = PAGE(EMULATOR_INSN_LO);
    __asm__ volatile("1: subs %0, #1\n bne 1b" : "+r"(turns)::"cc");
    return PAGE(EMULATOR_INSN_LO) - before;
}

SCENARIO(count_instructions)
{
    uint32_t few = count_loop(1000);
    report("again", count_loop(1000) - few);
    report("thousand_turns_more", count_loop(2000) - few);
    report("high", PAGE(EMULATOR_INSN_HI));
    report("total", PAGE(EMULATOR_INSN_LO));
}

SCENARIO(bad_buffers)
{
    PAGE(EMULATOR_BUFFER_ADDRESS) = 0x80000000u + 0x60000000u;
    PAGE(EMULATOR_CONSOLE_SEND) = 16;
    report("sent", PAGE(EMULATOR_CONSOLE_SENT));
    PAGE(EMULATOR_BUFFER_ADDRESS) = QSPI;
    PAGE(EMULATOR_CONSOLE_RECEIVE) = 16;
    report("received", PAGE(EMULATOR_CONSOLE_COUNT));
    PAGE(EMULATOR_LOG) = 0x10000000;
    report("unknown_register", PAGE(0x300));
}

SCENARIO(print_log)
{
    static const char text[] = "hello from the guest\n";
    PAGE(EMULATOR_BUFFER_ADDRESS) = (uint32_t)text;
    PAGE(EMULATOR_LOG) = sizeof text - 1;
}

static void sleep_until_console(uint32_t reason)
{
    uint32_t before = irq_count[EMULATOR_IRQ];
    PAGE(EMULATOR_CONSOLE_IRQ_ENABLE) = reason;
    irq_enable(EMULATOR_IRQ);
    sleep_until_changed(&irq_count[EMULATOR_IRQ], before);
}

/**
 * Send back each byte received, plus one, so that it differs from an echo of the terminal itself.
 */
SCENARIO(echo)
{
    static uint8_t buffer[4096];
    PAGE(EMULATOR_BUFFER_ADDRESS) = (uint32_t)buffer;
    for (;;) {
        PAGE(EMULATOR_CONSOLE_RECEIVE) = sizeof buffer;
        uint32_t size = PAGE(EMULATOR_CONSOLE_COUNT);
        for (uint32_t i = 0; i < size; i++) {
            buffer[i]++;
        }
        for (uint32_t sent = 0; sent < size;) {
            PAGE(EMULATOR_BUFFER_ADDRESS) = (uint32_t)buffer + sent;
            PAGE(EMULATOR_CONSOLE_SEND) = size - sent;
            sent += PAGE(EMULATOR_CONSOLE_SENT);
            if (sent < size) {
                sleep_until_console(EMULATOR_CONSOLE_IRQ_SEND);
            }
        }
        PAGE(EMULATOR_BUFFER_ADDRESS) = (uint32_t)buffer;
        if (size == 0) {
            sleep_until_console(EMULATOR_CONSOLE_IRQ_RECEIVE);
        }
    }
}

/** The first client receives what was printed before it connected. */
SCENARIO(greet_then_echo)
{
    static const char greeting[] = "before the first client";
    PAGE(EMULATOR_BUFFER_ADDRESS) = (uint32_t)greeting;
    PAGE(EMULATOR_CONSOLE_SEND) = sizeof greeting - 1;
    echo();
}

/** Receive until a byte 0xFF; report the number of bytes and their sum. */
SCENARIO(count_bytes)
{
    static uint8_t buffer[1024];
    uint32_t count = 0;
    uint32_t sum = 0;
    PAGE(EMULATOR_BUFFER_ADDRESS) = (uint32_t)buffer;
    for (;;) {
        PAGE(EMULATOR_CONSOLE_RECEIVE) = sizeof buffer;
        uint32_t size = PAGE(EMULATOR_CONSOLE_COUNT);
        for (uint32_t i = 0; i < size; i++) {
            if (buffer[i] == 0xFF) {
                report("count", count);
                report("sum", sum);
                return;
            }
            count++;
            sum += buffer[i];
        }
        if (size == 0) {
            sleep_until_console(EMULATOR_CONSOLE_IRQ_RECEIVE);
        }
    }
}

/** Never take a byte. */
SCENARIO(deaf)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}

/* --- Virtual time --------------------------------------------------------- */

SCENARIO(timed_run)
{
    uint32_t *end = stop(copy(STREAM, DDR + 0x10000000u, DDR + 0x20000000u, 0x10000));
    for (int i = 0; i < 3; i++) {
        uint32_t start = BOARD_CYCLES;
        report("status", npu_run(STREAM, end));
        report("board_cycles", BOARD_CYCLES - start);
    }
    report("idle", PAGE(EMULATOR_NPU_IDLE));
    report("total_cycles", BOARD_CYCLES);
    report("total_instructions", PAGE(EMULATOR_INSN_LO));
}

/* --- Timing adapters -------------------------------------------------------- */

#define ADAPTER(port, index) (*word(NPU_BASE + 0x1000 + 0x200 * (port) + 4 * (index)))

/** Cycles of one copy in the DDR, which is behind port M0. */
static uint32_t copy_cycles(void)
{
    uint32_t *end = stop(copy(STREAM, DDR + 0x10000000u, DDR + 0x20000000u, 0x10000));
    uint32_t start = BOARD_CYCLES;
    npu_run(STREAM, end);
    return BOARD_CYCLES - start;
}

static void set_adapter(unsigned port, uint32_t latency, uint32_t on, uint32_t off, uint32_t words)
{
    const uint32_t values[] = {latency, latency, on, off, words};
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        ADAPTER(port, ADAPTER_RLATENCY + i) = values[i];
    }
}

SCENARIO(adapters)
{
    report("version", ADAPTER(0, ADAPTER_VERSION));
    report("version_1_secure", *word(SECURE + NPU_BASE + 0x1200 + 4 * ADAPTER_VERSION));
    report("plain", copy_cycles());
    set_adapter(0, 0, 360, 40, 100); // 2 bytes per cycle
    report("quarter", copy_cycles());
    set_adapter(0, 0, 720, 80, 100);
    report("eighth", copy_cycles());
    set_adapter(0, 4000, 0, 0, 0);
    report("late", copy_cycles());
    set_adapter(0, 0, 0, 0, 0);
    set_adapter(1, 4000, 3000, 1000, 1);
    report("other_port", copy_cycles());
}

SCENARIO(adapter_keeps)
{
    for (unsigned i = 0; i < ADAPTER_VERSION; i++) {
        ADAPTER(0, i) = i + 1;
    }
    for (unsigned i = 0; i <= ADAPTER_VERSION; i++) {
        static char name[] = "register_0";
        name[9] = "0123456789abcdef"[i];
        report(name, ADAPTER(0, i));
    }
    report("other", ADAPTER(1, ADAPTER_RLATENCY));
    ADAPTER(0, ADAPTER_HISTBIN) = 3;
    report("other_bin", ADAPTER(0, ADAPTER_HISTCNT));
}

SCENARIO(adapter_errors)
{
    ADAPTER(0, ADAPTER_RLATENCY) = 0x1004;
    report("latency", ADAPTER(0, ADAPTER_RLATENCY));
    ADAPTER(0, ADAPTER_RLATENCY) = 0;
    ADAPTER(1, ADAPTER_MODE) = 3;
    ADAPTER(1, ADAPTER_PERFCTRL) = 14;
    ADAPTER(0, 20) = 1;
    set_adapter(0, 0, 0, 0, 0);
    report("plain", copy_cycles());
    set_adapter(0, 0, 0, 10, 1);
    report("no_pulse_on", copy_cycles());
    report("again", copy_cycles());
    set_adapter(0, 0, 0, 0, 1);
    report("no_period", copy_cycles());
}

/** After a reset of the machine the adapters have no limits. */
SCENARIO(adapter_reset)
{
    if (*word(SSRAM) != 0x5AFE) {
        *word(SSRAM) = 0x5AFE;
        set_adapter(0, 4000, 1, 1, 1);
        *word(0xE000ED0C) = 0x05FA0004;
        for (;;) {
        }
    }
    report("latency", ADAPTER(0, ADAPTER_RLATENCY));
    report("words", ADAPTER(0, ADAPTER_BWCAP));
    report("mode", ADAPTER(0, ADAPTER_MODE));
}

SCENARIO(timed_reset)
{
    irq_enable(NPU_IRQ);
    npu_start(STREAM, copies(1));
    report("running", NPU(NPU_STATUS) & STATUS_RUNNING);
    NPU(NPU_RESET) = 0;
    report("after_reset", NPU(NPU_STATUS));
    report("good_after", npu_run(STREAM, stop(STREAM)));
    report("interrupts", irq_count[NPU_IRQ]);
}
