// SPDX-License-Identifier: MIT
/** Constants of the board that is a WebAssembly instance. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#define BOARD_NAME "Web page"
#define BOARD_MCU_NAME "WebAssembly"
#define BOARD_PLATFORM "web"

/** Nobody counts cycles here: a unit of time for clock_cycles(). */
#define BOARD_CLOCK_HZ 1000000000u

#define BOARD_IRQ_COUNT 8u
#define BOARD_IRQ_PRIORITY_BITS 3u

/** Bytes of linear memory, as the link sets it. */
#define WEB_MEMORY_SIZE 0x08000000u

#define MICROPY_EMIT_THUMB (0)
#define MICROPY_EMIT_INLINE_THUMB (0)

// Interrupts are served between byte codes too, so that Ctrl-C ends a loop, and NPUs work.
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
