// SPDX-License-Identifier: MIT
/** Constants of the WebAssembly board. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#define BOARD_NAME "Web page"
#define BOARD_MCU_NAME "WebAssembly"
#define BOARD_PLATFORM "web"

/** Cycles are not counted; this is the time unit of clock_cycles(). */
#define BOARD_CLOCK_HZ 1000000000u

#define BOARD_IRQ_COUNT 8u
#define BOARD_IRQ_PRIORITY_BITS 3u

/** Size of linear memory in bytes, as set by the link. */
#define WEB_MEMORY_SIZE 0x08000000u

#define MICROPY_EMIT_THUMB (0)
#define MICROPY_EMIT_INLINE_THUMB (0)

// Interrupts are also served between byte codes, so that Ctrl-C can end a loop and NPUs make
// progress.
extern void web_between_byte_codes(void);
#define MICROPY_VM_HOOK_COUNT (256)
#define MICROPY_VM_HOOK_INIT static unsigned vm_hook_left = MICROPY_VM_HOOK_COUNT;
#define MICROPY_VM_HOOK_POLL                  \
    if (--vm_hook_left == 0) {                \
        vm_hook_left = MICROPY_VM_HOOK_COUNT; \
        web_between_byte_codes();             \
    }
#define MICROPY_VM_HOOK_LOOP MICROPY_VM_HOOK_POLL
#define MICROPY_VM_HOOK_RETURN MICROPY_VM_HOOK_POLL

#endif
