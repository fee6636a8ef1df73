// SPDX-License-Identifier: MIT
/** Memory of the instance. It only grows; what is new reads as zero. */
#include <sys/mman.h>

#include <stdint.h>
#include <unistd.h>

#define PAGE 0x10000u

void *mmap(void *address, size_t size, int protection, int flags, int file, long offset)
{
    (void)address, (void)protection, (void)flags, (void)file, (void)offset;
    uintptr_t end = (uintptr_t)sbrk(0);
    uintptr_t start = (end + PAGE - 1) / PAGE * PAGE;
    // The allocator expects that others may move the end of the memory.
    return sbrk((intptr_t)(start - end + size)) == (void *)-1 ? MAP_FAILED : (void *)start;
}

/** The host looks at the memory anew on each access. */
void emscripten_notify_memory_growth(size_t memory);
void emscripten_notify_memory_growth(size_t memory)
{
    (void)memory;
}
