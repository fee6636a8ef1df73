// SPDX-License-Identifier: MIT
/** Before newlib's start-up: the vectors, and access to the FPU. A fault ends the run with code 99.
 */
#include <stdint.h>

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define SYS_EXIT_EXTENDED 0x20
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

extern uint32_t stack_top[];
extern void _mainCRTStartup(void);

static void reset(void)
{
    CPACR |= 0xFu << 20;
    __asm volatile("dsb\n\tisb");
    _mainCRTStartup();
}

static void fault(void)
{
    static const uint32_t block[] = {ADP_STOPPED_APPLICATION_EXIT, 99};
    register uint32_t operation __asm("r0") = SYS_EXIT_EXTENDED;
    register const uint32_t *argument __asm("r1") = block;
    __asm volatile("bkpt 0xAB" : : "r"(operation), "r"(argument) : "memory");
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top,     (void *)reset, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};
