// SPDX-License-Identifier: MIT
/**
 * The guest's memories as host pointers.
 *
 * QEMU does not see writes through these pointers. That is right for data, but
 * a guest that executes code which the NPU wrote would run a stale translation.
 */
#include "guest_memory.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "message.h"
#include "qemu_api.h"

struct memory {
    const char *name;
    const char *blocks[2]; /**< QEMU's names of adjacent RAM blocks; none: the machine's main RAM */
    uint32_t base;
    bool shared; /**< on a path of the NPU's ports and of the DMA controller's */
    bool writable;
    uint64_t kept_from; /**< offset of what outlives a loss of power; 0: nothing */
    uint8_t *host;
    uint64_t size; /**< bytes */
    int file;      /**< descriptor of a file that is this memory, or -1 */
};

/** Corstone-300 as QEMU's mps3-an547 has it. */
static struct memory memories[] = {
    {"ITCM", {"sse300-itcm"}, 0x00000000, false, true, 0, NULL, 0, -1},
    {"SSRAM", {"sram"}, 0x01000000, true, true, 0, NULL, 0, -1},
    {"DTCM", {"sse300-dtcm"}, 0x20000000, false, true, 0, NULL, 0, -1},
    {"ISRAM", {"armsse.sram0", "armsse.sram1"}, 0x21000000, true, true, 0, NULL, 0, -1},
    {"QSPI", {"QSPI"}, 0x28000000, true, false, 0, NULL, 0, -1},
    // The ROM file system and the host's window stand for flash, and for a connected host.
    {"DDR", {NULL}, 0x60000000, true, true, 0x02000000, NULL, 0, -1},
};
#define MEMORY_COUNT (sizeof memories / sizeof memories[0])

/** From here on (DDR) bit 28 is an address bit. */
#define FIRST_ADDRESS_WITHOUT_ALIAS 0x40000000u

/** The main RAM is a backend object, whether the user made it or QEMU. */
static void find_main_ram(struct memory *memory)
{
    Object *backend = object_property_get_link(qdev_get_machine(), "memory-backend", NULL);
    if (!backend) {
        fatal("this machine has no main RAM to serve as %s", memory->name);
    }
    MemoryRegion *region = host_memory_backend_get_memory(backend);
    memory->host = memory_region_get_ram_ptr(region);
    memory->size = memory_region_size(region);
    memory->file =
        object_property_get_bool(backend, "share", NULL) ? memory_region_get_fd(region) : -1;
}

static uint8_t *find_block(const char *name, uint64_t *size)
{
    RAMBlock *block = qemu_ram_block_by_name(name);
    if (!block) {
        fatal("this machine has no memory called %s: start QEMU with -machine mps3-an547", name);
    }
    *size = qemu_ram_get_used_length(block);
    return qemu_ram_get_host_addr(block);
}

/**
 * Give two RAM blocks that are neighbours for the guest one view in which they
 * are neighbours for the host too, by putting the same pages behind both.
 * Called before the guest runs.
 */
static uint8_t *join_blocks(uint8_t *const hosts[2], const uint64_t sizes[2])
{
    size_t total = (size_t)(sizes[0] + sizes[1]);
    int pages = memfd_create("ethosu-guest-memory", MFD_CLOEXEC);
    if (pages < 0 || ftruncate(pages, (off_t)total) < 0) {
        return NULL;
    }
    uint8_t *view = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, pages, 0);
    bool right = view != MAP_FAILED;
    size_t offset = 0;
    for (int i = 0; right && i < 2; i++) {
        size_t size = (size_t)sizes[i];
        memcpy(view + offset, hosts[i], size);
        right = mmap(hosts[i], size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages,
                     (off_t)offset) == hosts[i];
        offset += size;
    }
    close(pages);
    return right ? view : NULL;
}

static void find_blocks(struct memory *memory)
{
    uint64_t sizes[2] = {0, 0};
    uint8_t *hosts[2] = {find_block(memory->blocks[0], &sizes[0]), NULL};
    memory->host = hosts[0];
    if (memory->blocks[1]) {
        hosts[1] = find_block(memory->blocks[1], &sizes[1]);
        memory->host = join_blocks(hosts, sizes);
    }
    memory->size = sizes[0] + sizes[1];
    if (!memory->host) {
        fatal("the host gives no memory for %s", memory->name);
    }
}

void guest_memory_find(void)
{
    for (size_t i = 0; i < MEMORY_COUNT; i++) {
        struct memory *memory = &memories[i];
        memory->blocks[0] ? find_blocks(memory) : find_main_ram(memory);
    }
}

void guest_memory_lose(void)
{
    uint64_t noise = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < MEMORY_COUNT; i++) {
        const struct memory *memory = &memories[i];
        uint64_t size = memory->kept_from ? memory->kept_from : memory->size;
        for (uint64_t at = 0; memory->writable && at < size; at += sizeof noise) {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            memcpy(memory->host + at, &noise, sizeof noise);
        }
    }
}

bool guest_memory_next(size_t *index, struct guest_memory_block *block)
{
    while (*index < MEMORY_COUNT && !memories[*index].shared) {
        ++*index;
    }
    if (*index == MEMORY_COUNT) {
        return false;
    }
    const struct memory *memory = &memories[(*index)++];
    *block = (struct guest_memory_block){.name = memory->name,
                                         .base = memory->base,
                                         .aliased = memory->base < FIRST_ADDRESS_WITHOUT_ALIAS,
                                         .host = memory->host,
                                         .size = memory->size,
                                         .file = memory->file};
    return true;
}

uint8_t *guest_memory_map(enum guest_memory_master master, uint64_t address, uint64_t length,
                          bool write)
{
    if (address < FIRST_ADDRESS_WITHOUT_ALIAS) {
        address &= ~(uint64_t)GUEST_MEMORY_ALIAS;
    }
    for (size_t i = 0; i < MEMORY_COUNT; i++) {
        const struct memory *memory = &memories[i];
        uint64_t offset = address - memory->base;
        if (address < memory->base || offset >= memory->size) {
            continue;
        }
        bool allowed = (memory->shared || master == MASTER_CPU) && (memory->writable || !write);
        return allowed && length <= memory->size - offset ? memory->host + offset : NULL;
    }
    return NULL;
}
