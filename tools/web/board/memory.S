// SPDX-License-Identifier: MIT
// The memories that a board's memory.ld sets aside, here in the linear memory of the instance.

        .macro  area name, size
        .p2align 8
        .globl  \name\()_start
        .type   \name\()_start, @object
\name\()_start:
        .skip   \size
        .size   \name\()_start, \size
        .globl  \name\()_end
        .type   \name\()_end, @object
\name\()_end:
        .skip   256
        .size   \name\()_end, 256
        .endm

        .section .bss.memory, "", @
        area    _gc_heap, 33554432
        area    _romfs, 33554688
        area    _ramdisk, 4194304
        area    _flashdisk, 0

        // The stack grows down from _stack_top. It ends before the stack that a browser gives a worker.
        .p2align 8
        .globl  _stack_limit
        .type   _stack_limit, @object
_stack_limit:
        .skip   131072
        .size   _stack_limit, 131072
        .globl  _stack_top
        .type   _stack_top, @object
_stack_top:
        .skip   256
        .size   _stack_top, 256

// The export that begins: the firmware's stack, then web_start().
        .globaltype __stack_pointer, i32
        .functype web_start () -> ()
        .section .text.start, "", @
        .globl  start
        .type   start, @function
        .export_name start, start
start:
        .functype start () -> ()
        i32.const _stack_top
        global.set __stack_pointer
        call    web_start
        end_function
