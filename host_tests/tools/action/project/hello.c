// SPDX-License-Identifier: MIT
/** Tells which NPU Corstone-300 has; the exit code is 0 if it is an Ethos-U55. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
/** CONFIG of the NPU: its product in bits 28 to 31, the base 2 logarithm of its MACs in bits 0
 * to 3. */
#define NPU_CONFIG (*(const volatile uint32_t *)0x48102028u)

extern uint32_t stack_top[];
extern void _start(void); // newlib's, which calls main() and exits by semihosting

static void reset(void)
{
    CPACR |= 0xFu << 20; // the FPU
    _start();
}

static void fault(void)
{
    _exit(99);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top,     (void *)reset, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};

int main(void)
{
    uint32_t config = NPU_CONFIG;
    unsigned product = config >> 28, macs = 1u << (config & 0xF);
    printf("hello, NPU: product %u with %u MACs\n", product, macs);
    return product == 0 ? 0 : 1;
}
