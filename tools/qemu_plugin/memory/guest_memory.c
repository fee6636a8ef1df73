// SPDX-License-Identifier: MIT
/**
 * The guest's memories as host pointers.
 *
 * QEMU does not see writes through these pointers. That is fine for data, but code written by the
 * NPU would be executed from a stale translation.
 */
#include "memory/guest_memory.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/board.h"
#include "memory/board_memory.h"
#include "memory/board_power.h"

struct memory {
    const struct board_memory *row;
    uint8_t *host;
    uint64_t size; /**< bytes */
    int file;      /**< descriptor of the file that backs it, or -1 */
};

static struct memory memories[BOARD_MEMORIES_MAX];
static size_t memory_count;

/** The main RAM is a backend object, whether created by the user or by QEMU. */
static void find_main_ram(struct memory *memory)
{
    Object *backend = object_property_get_link(qdev_get_machine(), "memory-backend", NULL);
    if (!backend) {
        fatal("this machine has no main RAM to serve as %s", memory->row->name);
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
        fatal("this machine has no memory called %s: start QEMU with -machine %s", name,
              board()->machine);
    }
    *size = qemu_ram_get_used_length(block);
    return qemu_ram_get_host_addr(block);
}

/**
 * Make two RAM blocks that are adjacent for the guest adjacent for the host too, by mapping the
 * same pages in a second place. Called before the guest runs.
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
    const char *replacement = board_memory_block(memory->row);
    const char *first = replacement ? replacement : memory->row->blocks[0];
    uint8_t *hosts[2] = {find_block(first, &sizes[0]), NULL};
    memory->host = hosts[0];
    if (memory->row->blocks[1] && !replacement) {
        hosts[1] = find_block(memory->row->blocks[1], &sizes[1]);
        memory->host = join_blocks(hosts, sizes);
    }
    memory->size = sizes[0] + sizes[1];
    if (!memory->host) {
        fatal("no host memory for %s", memory->row->name);
    }
}

/** Replace the memory's pages by those of a file. Called before the guest runs. */
static void map_file(struct memory *memory, int file)
{
    struct stat status;
    if (fstat(file, &status) < 0 || (uint64_t)status.st_size != memory->size) {
        fatal("memory=%s:%d: expected an open file of %llu bytes", memory->row->name, file,
              (unsigned long long)memory->size);
    }
    if (mmap(memory->host, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
        memory->host) {
        fatal("memory=%s:%d: the host cannot map the file", memory->row->name, file);
    }
    memory->file = file;
}

void guest_memory_find(const struct guest_memory_file *files)
{
    for (; memory_count < board()->memory_count; memory_count++) {
        struct memory *memory = &memories[memory_count];
        *memory = (struct memory){.row = &board()->memories[memory_count], .file = -1};
        memory->row->blocks[0] ? find_blocks(memory) : find_main_ram(memory);
        for (const struct guest_memory_file *next = files; next->row; next++) {
            if (next->row == memory->row) {
                map_file(memory, next->file);
            }
        }
        if (memory->row->starts_with) {
            memcpy(memory->host, memory->row->starts_with, strlen(memory->row->starts_with));
        }
    }
}

void guest_memory_randomize(void)
{
    uint64_t noise = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < memory_count; i++) {
        const struct memory *memory = &memories[i];
        const struct board_memory *row = memory->row;
        uint64_t size = row->access & BOARD_KEEPS ? row->kept_from : memory->size;
        for (uint64_t at = 0; row->access & BOARD_CPU_WRITES && at < size; at += sizeof noise) {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            memcpy(memory->host + at, &noise, sizeof noise);
        }
    }
}

bool guest_memory_next(size_t *index, struct guest_memory_block *block)
{
    while (*index < memory_count && !(memories[*index].row->access & BOARD_BUS_READS)) {
        ++*index;
    }
    if (*index == memory_count) {
        return false;
    }
    const struct memory *memory = &memories[(*index)++];
    *block = (struct guest_memory_block){.name = memory->row->name,
                                         .base = memory->row->base,
                                         .host = memory->host,
                                         .size = memory->size,
                                         .file = memory->file};
    return true;
}

/** Bytes from an address of a memory to its end; 0 if the memory does not exist. */
static uint64_t bytes_left(const struct memory *memory, uint32_t base, uint64_t address)
{
    return address >= base && address - base < memory->size ? memory->size - (address - base) : 0;
}

static unsigned needed(enum guest_memory_master master, bool write)
{
    if (master == MASTER_CPU) {
        return write ? BOARD_CPU_WRITES : 0;
    }
    return write ? BOARD_BUS_WRITES : BOARD_BUS_READS;
}

uint8_t *guest_memory_map(enum guest_memory_master master, uint64_t address, uint64_t length,
                          bool write)
{
    unsigned access = needed(master, write);
    for (size_t i = 0; i < memory_count; i++) {
        const struct memory *memory = &memories[i];
        const struct board_memory *row = memory->row;
        bool at_base = master == MASTER_CPU || !(row->access & BOARD_BUS_AT_ALIAS);
        uint64_t bytes = at_base ? bytes_left(memory, row->base, address) : 0;
        if (bytes == 0 && row->alias != 0) {
            bytes = bytes_left(memory, row->alias, address);
        }
        if (bytes != 0) {
            uint64_t offset = memory->size - bytes;
            bool allowed = (row->access & access) == access && length <= bytes &&
                           (master == MASTER_CPU || board_power_on(row, offset + length));
            return allowed ? memory->host + offset : NULL;
        }
    }
    return NULL;
}
