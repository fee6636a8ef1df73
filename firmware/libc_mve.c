// SPDX-License-Identifier: MIT
/**
 * memcpy() and memset() with vectors, in place of the C library's, which has none for Armv8.1-M.
 * Both take normal memory of any alignment. Each 64 bytes cost 12 and 8 instructions, newlib's 36.
 *
 * Most of the time that MicroPython takes to allocate a large object is that to clear it.
 */
#include <stddef.h>

// Not from <string.h>: the compiler knows these names, and warns of a body that it can't follow.
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int value, size_t size);

// r3 keeps the return address, since lr counts the bytes that are left.

__attribute__((naked)) void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    __asm volatile("    mov      r3, lr           \n"
                   "    mov      ip, r0           \n"
                   "    wlstp.8  lr, r2, 2f       \n"
                   "1:  vldrb.8  q0, [r1], #16    \n"
                   "    vstrb.8  q0, [ip], #16    \n"
                   "    letp     lr, 1b           \n"
                   "2:  bx       r3               \n");
}

__attribute__((naked)) void *memset(void *to, int value, size_t size)
{
    __asm volatile("    mov      r3, lr           \n"
                   "    mov      ip, r0           \n"
                   "    vdup.8   q0, r1           \n"
                   "    wlstp.8  lr, r2, 2f       \n"
                   "1:  vstrb.8  q0, [ip], #16    \n"
                   "    letp     lr, 1b           \n"
                   "2:  bx       r3               \n");
}
