// SPDX-License-Identifier: MIT
/** Where a boot loader starts an image: at its first section. */
#include "boot_image.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "message.h"
#include "qemu_api.h"

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

uint32_t boot_image_start(void)
{
    Object *loader = object_resolve_path_type("", "loader", NULL);
    const char *path = loader ? object_property_get_str(loader, "file", NULL) : NULL;
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
    uint32_t stack = first.words[0], entry = first.words[1];
    if (!is_in_memory(stack, true) || !(entry & 1) || !is_in_memory(entry, false)) {
        fatal("the boot loader starts the first section of the image, %s: jump_addr=0x%08x; there "
              "is no vector table (stack 0x%08x, entry 0x%08x), so the board stays silent",
              first.name, first.address, stack, entry);
    }
    return first.address;
}
