// SPDX-License-Identifier: MIT
/**
 * Faults: print the cause, decoded from the fault status registers, and the
 * registers of the faulting code on all consoles; then reset.
 */
#include "fault.h"

#include <stddef.h>
#include <stdarg.h>
#include <stdio.h>

#include "console.h"
#include "cpu.h"
#include "startup.h"

/** Registers stacked by the core at an exception. */
struct frame {
    uint32_t r[4], r12, lr, pc, xpsr;
};

/** Registers saved in addition by startup_fault_handler(). */
struct saved {
    uint32_t r4_to_r11[8];
    uint32_t exc_return;
};

struct cause {
    uint32_t mask;
    const char *text;
};

/** Bits of CFSR (Armv8-M Architecture Reference Manual, D1.2.32). */
static const struct cause cfsr_causes[] = {
    {SCB_CFSR_IACCVIOL_Msk, "code fetched from a forbidden address"},
    {SCB_CFSR_DACCVIOL_Msk, "forbidden data access"},
    {SCB_CFSR_MUNSTKERR_Msk, "forbidden stack at exception return"},
    {SCB_CFSR_MSTKERR_Msk, "forbidden stack at exception entry"},
    {SCB_CFSR_MLSPERR_Msk, "forbidden stack while saving FPU state"},
    {SCB_CFSR_IBUSERR_Msk, "bus error at instruction fetch"},
    {SCB_CFSR_PRECISERR_Msk, "bus error at data access"},
    {SCB_CFSR_IMPRECISERR_Msk, "imprecise bus error (pc is later)"},
    {SCB_CFSR_UNSTKERR_Msk, "bus error on the stack at exception return"},
    {SCB_CFSR_STKERR_Msk, "bus error on the stack at exception entry"},
    {SCB_CFSR_LSPERR_Msk, "bus error while saving FPU state"},
    {SCB_CFSR_UNDEFINSTR_Msk, "undefined instruction"},
    {SCB_CFSR_INVSTATE_Msk, "jump to a non-Thumb address"},
    {SCB_CFSR_INVPC_Msk, "invalid exception return"},
    {SCB_CFSR_NOCP_Msk, "coprocessor or FPU is off"},
    {SCB_CFSR_STKOF_Msk, "stack overflow"},
    {SCB_CFSR_UNALIGNED_Msk, "unaligned access"},
    {SCB_CFSR_DIVBYZERO_Msk, "division by zero"},
};

/** Bits of CFSR after which the stacked registers are not to be trusted. */
#define NOT_STACKED                                                                            \
    (SCB_CFSR_MSTKERR_Msk | SCB_CFSR_MLSPERR_Msk | SCB_CFSR_STKERR_Msk | SCB_CFSR_LSPERR_Msk | \
     SCB_CFSR_STKOF_Msk)

/** Names of exceptions 2 to 7; others are not faults. */
static const char *const exception_names[] = {
    "NMI", "HardFault", "MemManage", "BusFault", "UsageFault", "SecureFault",
};
#define FIRST_EXCEPTION 2u
#define EXCEPTION_COUNT (sizeof(exception_names) / sizeof(exception_names[0]))

/** Bounds of the load in fault_guarded_read(), and where execution continues after a fault. */
extern const char fault_guarded_load[], fault_guarded_failed[];

__attribute__((naked)) bool fault_guarded_read(const volatile uint32_t *address, uint32_t *value)
{
    __asm volatile(".global fault_guarded_load     \n"
                   ".global fault_guarded_failed   \n"
                   "fault_guarded_load:            \n"
                   "ldr.w r2, [r0]                 \n"
                   "str   r2, [r1]                 \n"
                   "movs  r0, #1                   \n"
                   "bx    lr                       \n"
                   "fault_guarded_failed:          \n"
                   "movs  r0, #0                   \n"
                   "bx    lr                       \n");
}

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...)
{
    char line[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    console_alarm(line);
}

static void print_causes(uint32_t cfsr)
{
    for (size_t i = 0; i < sizeof(cfsr_causes) / sizeof(cfsr_causes[0]); i++) {
        if (cfsr & cfsr_causes[i].mask) {
            print("  cause: %s\r\n", cfsr_causes[i].text);
        }
    }
    if (cfsr & SCB_CFSR_MMARVALID_Msk) {
        print("  address: 0x%08x\r\n", (unsigned)SCB->MMFAR);
    } else if (cfsr & SCB_CFSR_BFARVALID_Msk) {
        print("  address: 0x%08x\r\n", (unsigned)SCB->BFAR);
    }
}

static void print_registers(const struct frame *frame, const struct saved *saved)
{
    const uint32_t *high = saved->r4_to_r11;
    print("  r0  %08x  r1  %08x  r2  %08x  r3  %08x\r\n", (unsigned)frame->r[0],
          (unsigned)frame->r[1], (unsigned)frame->r[2], (unsigned)frame->r[3]);
    print("  r4  %08x  r5  %08x  r6  %08x  r7  %08x\r\n", (unsigned)high[0], (unsigned)high[1],
          (unsigned)high[2], (unsigned)high[3]);
    print("  r8  %08x  r9  %08x  r10 %08x  r11 %08x\r\n", (unsigned)high[4], (unsigned)high[5],
          (unsigned)high[6], (unsigned)high[7]);
    print("  r12 %08x  sp  %08x  lr  %08x  pc  %08x  xpsr %08x\r\n", (unsigned)frame->r12,
          (unsigned)(uintptr_t)frame, (unsigned)frame->lr, (unsigned)frame->pc,
          (unsigned)frame->xpsr);
    print("  where: arm-none-eabi-addr2line -fpe firmware.elf 0x%08x 0x%08x\r\n",
          (unsigned)frame->pc, (unsigned)frame->lr);
}

static void print_reset(void)
{
    print("*** The board resets; boot.py and main.py are skipped once.\r\n");
}

static bool was_guarded_read(struct frame *frame)
{
    if (frame->pc != ((uint32_t)(uintptr_t)fault_guarded_load & ~1u)) {
        return false;
    }
    frame->pc = (uint32_t)(uintptr_t)fault_guarded_failed & ~1u;
    SCB->CFSR = SCB->CFSR;
    SCB->HFSR = SCB->HFSR;
    return true;
}

void fault_report(struct frame *frame, const struct saved *saved);

/** Returns only from a fault in fault_guarded_read(). */
__attribute__((used)) void fault_report(struct frame *frame, const struct saved *saved)
{
    uint32_t cfsr = SCB->CFSR;
    bool stacked = (cfsr & NOT_STACKED) == 0;
    if (stacked && was_guarded_read(frame)) {
        return;
    }
    uint32_t exception = __get_IPSR();
    bool named = exception < FIRST_EXCEPTION + EXCEPTION_COUNT;
    print("\r\n*** Fault: %s, exception %u, in %s\r\n",
          named ? exception_names[exception - FIRST_EXCEPTION] : "unexpected", (unsigned)exception,
          saved->exc_return & EXC_RETURN_MODE ? "the main program" : "an interrupt handler");
    print_causes(cfsr);
    print("  cfsr %08x  hfsr %08x  sfsr %08x  exc_return %08x\r\n", (unsigned)cfsr,
          (unsigned)SCB->HFSR, (unsigned)SCB->SFSR, (unsigned)saved->exc_return);
    if (stacked) {
        print_registers(frame, saved);
    } else {
        print("  registers were not saved; sp %08x\r\n", (unsigned)(uintptr_t)frame);
    }
    print_reset();
    startup_reset(RESET_FAULT);
}

__attribute__((naked)) void startup_fault_handler(void)
{
    __asm volatile("tst   lr, #4           \n"
                   "ite   eq               \n"
                   "mrseq r0, msp          \n"
                   "mrsne r0, psp          \n"
                   "push  {r4-r11, lr}     \n"
                   "mov   r1, sp           \n"
                   "sub   sp, #4           \n" // the stack stays a multiple of 8
                   "bl    fault_report     \n"
                   "add   sp, #4           \n"
                   "pop   {r4-r11, pc}     \n");
}

_Noreturn void fault_panic(const char *reason)
{
    print("\r\n*** Fatal: %s\r\n", reason);
    print_reset();
    startup_reset(RESET_FAULT);
}
