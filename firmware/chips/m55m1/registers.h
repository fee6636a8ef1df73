// SPDX-License-Identifier: MIT
/** The chip's system registers that more than one file uses (sources: the pages of its boards). */
#ifndef NUMAKER_REGISTERS_H
#define NUMAKER_REGISTERS_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

/** System manager. */
#define SYS_RSTCTL REGISTER(0x40000004u)
#define SYS_VREFCTL REGISTER(0x4000002Cu)
#define SYS_REGLCTL REGISTER(0x40000100u)
#define SYS_GDMARST REGISTER(0x40000240u)
#define SYS_UARTRST REGISTER(0x400002CCu)
#define SYS_GPB_MFP3 REGISTER(0x4000031Cu)

/** Clock controller. */
#define CLK_SRCCTL REGISTER(0x40001000u)
#define CLK_STATUS REGISTER(0x40001004u)
#define CLK_APLL0CTL REGISTER(0x40001018u)
#define CLK_APLL0SEL REGISTER(0x4000101Cu)
#define CLK_FMCCTL REGISTER(0x4000123Cu)
#define CLK_GDMACTL REGISTER(0x40001240u)
#define CLK_NPUCTL REGISTER(0x4000128Cu)
#define CLK_SRAMCTL REGISTER(0x400012C0u)
#define CLK_UARTCTL REGISTER(0x400012E0u)
#define CLK_SCLKSEL REGISTER(0x40001400u)
#define CLK_UARTSEL0 REGISTER(0x40001460u)
#define CLK_HCLKDIV REGISTER(0x40001508u)
#define CLK_PCLKDIV REGISTER(0x4000150Cu)
#define CLK_UARTDIV0 REGISTER(0x4000153Cu)

/** Power manager. */
#define PMC_PLCTL REGISTER(0x40002010u)
#define PMC_PLSTS REGISTER(0x40002014u)
#define PMC_SYSRB1PC REGISTER(0x40002104u)
#define PMC_SYSRB2PC REGISTER(0x40002108u)

/** Let the protected registers be written. An interrupt between two words of the key
 * spoils it. */
static inline void registers_unlock(void)
{
    do {
        SYS_REGLCTL = 0x59;
        SYS_REGLCTL = 0x16;
        SYS_REGLCTL = 0x88;
    } while ((SYS_REGLCTL & 1u) == 0);
}

static inline void registers_lock(void)
{
    SYS_REGLCTL = 0;
}

/** Reset a device by its bit in a protected register. */
static inline void registers_pulse(volatile uint32_t *control, uint32_t bit)
{
    *control |= bit;
    *control &= ~bit;
}

#endif
