// SPDX-License-Identifier: MIT
/** The boot loader of a board: where it starts an image, and the state of the core then. */
#include "start/boot.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "base/region.h"
#include "board/board.h"
#include "board/machine.h"

/* --- Loaders that start the first section of the ELF file --------------------------- */

/*
 * They take the sections in the order of their headers, and not the entry or a fixed address. The
 * order then decides whether the board starts at all.
 */

#define NAME_SIZE 32

/** What the loader takes for the vector table. */
struct first_section {
    uint32_t address;
    uint32_t words[2]; /**< stack and entry; 0 beyond its end */
    char name[NAME_SIZE];
};

static bool read_at(FILE *file, uint64_t offset, void *to, size_t size)
{
    return fseek(file, (long)offset, SEEK_SET) == 0 && fread(to, 1, size, file) == size;
}

/** Does the loader copy it? It must be in the file, even with no byte. */
static bool is_loaded(const Elf32_Shdr *section)
{
    return section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS;
}

static bool read_header(FILE *file, const Elf32_Ehdr *elf, unsigned index, Elf32_Shdr *section)
{
    return index < elf->e_shnum && read_at(file, (uint64_t)elf->e_shoff + index * sizeof *section,
                                           section, sizeof *section);
}

/** The name is only for a message. */
static void read_name(FILE *file, const Elf32_Ehdr *elf, const Elf32_Shdr *section,
                      char name[NAME_SIZE])
{
    Elf32_Shdr names;
    strcpy(name, "?");
    if (read_header(file, elf, elf->e_shstrndx, &names) &&
        fseek(file, (long)((uint64_t)names.sh_offset + section->sh_name), SEEK_SET) == 0) {
        name[fread(name, 1, NAME_SIZE - 1, file)] = '\0';
    }
}

static bool find_first(FILE *file, struct first_section *first)
{
    Elf32_Ehdr elf;
    if (!read_at(file, 0, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS32 || elf.e_shentsize != sizeof(Elf32_Shdr)) {
        return false;
    }
    for (unsigned i = 0; i < elf.e_shnum; i++) {
        Elf32_Shdr section;
        if (!read_header(file, &elf, i, &section)) {
            return false;
        }
        if (is_loaded(&section)) {
            size_t size =
                section.sh_size < sizeof first->words ? section.sh_size : sizeof first->words;
            *first = (struct first_section){.address = section.sh_addr};
            read_name(file, &elf, &section, first->name);
            return read_at(file, section.sh_offset, first->words, size);
        }
    }
    return false;
}

/** Is it in one of the board's memories, or, for a stack, at its end? */
static bool is_in_memory(uint32_t address, bool stack)
{
    for (size_t i = 0; i < board()->memory_count; i++) {
        const struct board_memory *memory = &board()->memories[i];
        uint32_t offset = address - stack - memory->base;
        if (offset < memory->size && (memory->access & BOARD_CPU_WRITES || !stack)) {
            return true;
        }
    }
    return false;
}

/**
 * Address of the first section that is loaded from the image given by `-device loader,file=IMAGE`.
 * Ends QEMU if there is no vector table: a board would stay silent.
 */
static uint32_t first_section_address(void)
{
    Object *loader = object_resolve_path_type("", "loader", NULL);
    char *path = loader ? object_property_get_str(loader, "file", NULL) : NULL;
    if (!path) {
        fatal("board=%s: its boot loader starts the first section of an image, expected one "
              "-device loader,file=IMAGE",
              board()->name);
    }
    struct first_section first;
    FILE *file = fopen(path, "rb");
    if (!file || !find_first(file, &first)) {
        fatal("board=%s: %s is not an ELF file for this board with a section to load",
              board()->name, path);
    }
    fclose(file);
    g_free(path);
    uint32_t stack = first.words[0], entry = first.words[1];
    if (!is_in_memory(stack, true) || !(entry & 1) || !is_in_memory(entry, false)) {
        fatal("the boot loader starts the first section of the image, %s: jump_addr=0x%08x; there "
              "is no vector table (stack 0x%08x, entry 0x%08x), so the board stays silent",
              first.name, first.address, stack, entry);
    }
    return first.address;
}

/* --- A stage that leaves a core that is not as after a reset ------------------------ */

/*
 * It is code of the guest, since a plugin cannot set registers of the core. It writes the registers
 * of the table, and then starts the image like most loaders: vector table, stack from its word 0,
 * jump to word 1.
 */

#define STAGE_SIZE 0x1000u
/** Over the memory in which it is, so that nothing overwrites it. */
#define STAGE_PRIORITY 1

/** Thumb code for the address VECTORS_SIZE; the pairs of address and value follow it. */
static const uint16_t code[] = {
    0xA009,         //       adr   r0, pairs
    0xE8F0, 0x1202, // next: ldrd  r1, r2, [r0], #8
    0xB109,         //       cbz   r1, leave
    0x600A,         //       str   r2, [r1]
    0xE7FA,         //       b     next
    0xF3BF, 0x8F4F, // leave: dsb
    0xF3BF, 0x8F6F, //       isb
    0xF381, 0x880A, //       msr   msplim, r1, which is 0
    0x4802,         //       ldr   r0, =0xE000ED08 (VTOR)
    0x6002,         //       str   r2, [r0]
    0xF8D2, 0xD000, //       ldr   sp, [r2]
    0xF8D2, 0xF004, //       ldr   pc, [r2, #4]
    0xED08, 0xE000, //       the constant
};

enum { VECTORS_SIZE = 8, PAIRS = VECTORS_SIZE + sizeof code };

static void create_stage(uint32_t jump_address)
{
    const struct board_boot *boot = &board()->chip->boot;
    MemoryRegion *region = region_create_ram("boot-stage", boot->stage, STAGE_SIZE, STAGE_PRIORITY);
    uint8_t *memory = memory_region_get_ram_ptr(region);
    const uint32_t vectors[] = {boot->stack, (boot->stage + VECTORS_SIZE) | 1u};
    struct board_value pairs[BOARD_LEAVES_MAX + 1] = {0};
    size_t count = 0;
    while (count < BOARD_LEAVES_MAX && boot->leaves[count].address) {
        pairs[count] = boot->leaves[count];
        count++;
    }
    pairs[count].value = jump_address;
    memcpy(memory, vectors, sizeof vectors);
    memcpy(memory + VECTORS_SIZE, code, sizeof code);
    memcpy(memory + PAIRS, pairs, sizeof pairs);
    memory_region_set_readonly(region, true);
}

void boot_choose_start(void)
{
    const struct board_chip *chip = board()->chip;
    if (!chip || (!chip->starts_first_section && !chip->boot.stage)) {
        return;
    }
    uint32_t start = chip->starts_first_section ? first_section_address() : chip->vectors;
    if (chip->boot.stage) {
        create_stage(start);
        start = chip->boot.stage;
    }
    qdev_prop_set_uint32(machine_cortex_m(), "init-svtor", start);
}
