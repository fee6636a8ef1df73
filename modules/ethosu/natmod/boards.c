// SPDX-License-Identifier: MIT
/**
 * Boards that init() knows by name, as the firmware that is sold with them, or MicroPython's own
 * port, sees them: their NPUs, and the memories that these reach. A buffer anywhere else is
 * refused.
 *
 * No image of such a firmware has run with this table; README.md has its sources.
 */
#include "boards.h"

#define KB 1024u
#define MB (1024u * KB)
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

#define MEMORY(at, size, ...) \
    {.start = (const void *)(at), .end = (const void *)((at) + (size)), __VA_ARGS__}
/** RAM behind the data cache. A firmware may cache it less, which costs a needless cleaning. */
#define RAM(at, size) MEMORY(at, size, .masters = ETHOSU_MASTERS_ALL)
/** A tightly coupled memory: never cached, and for the NPU at an address of its own. */
#define TCM(at, size, npu)                                                \
    MEMORY(at, size, .npu_address = (npu), .masters = ETHOSU_MASTERS_ALL, \
           .cache = ETHOSU_CACHE_NONE)
/** Memory that the NPU cannot write, and the CPU not by stores that its cache keeps. */
#define ROM(at, size)                                                            \
    MEMORY(at, size, .masters = ETHOSU_MASTERS_READ, .cache = ETHOSU_CACHE_NONE, \
           .cpu = ETHOSU_CPU_CODE)

#define NPU(at, line, ...) \
    {.base = (at), .irq = (line), .secure = true, .privileged = true, __VA_ARGS__}

/* ---- Alif Ensemble E3 and E7: each core has an NPU and TCMs of its own ---- */

#define ALIF_MEMORIES                                                                  \
    RAM(0x02000000u, 4 * MB), RAM(0x08000000u, 2560 * KB), RAM(0x60000000u, 768 * KB), \
        RAM(0x62000000u, MB), RAM(0x62400000u, MB), RAM(0x63000000u, 512 * KB),        \
        RAM(0x63200000u, 2 * MB), ROM(0x80000000u, 5632 * KB), ROM(0xA0000000u, 1024 * MB)

static const struct ethosu_memory alif_hp_memories[] = {
    TCM(0x00000000u, 256 * KB, 0x50000000u), TCM(0x20000000u, MB, 0x50800000u), ALIF_MEMORIES};

static const struct ethosu_memory alif_he_memories[] = {TCM(0x00000000u, 256 * KB, 0x58000000u),
                                                        TCM(0x20000000u, 256 * KB, 0x58800000u),
                                                        ALIF_MEMORIES};

/** Let the NPU of a core have its clock; it stays on, the firmware may use the NPU too. */
static bool alif_hp_power(const struct ethosu_npu *npu, bool on)
{
    (void)npu;
    *(volatile uint32_t *)0x400F0010u |= on;
    return true;
}

static bool alif_he_power(const struct ethosu_npu *npu, bool on)
{
    (void)npu;
    *(volatile uint32_t *)0x43007010u |= on;
    return true;
}

static const struct ethosu_npu alif_hp_npus[] = {NPU(0x400E1000u, 55, .power = alif_hp_power)};
static const struct ethosu_npu alif_he_npus[] = {NPU(0x400E1000u, 55, .power = alif_he_power)};

/* ---- Nuvoton M55M1, Himax WE2, Corstone-300: their NPUs reach no TCM of the CPU ---- */

static const struct ethosu_memory m55m1_memories[] = {ROM(0x00100000u, 2 * MB),
                                                      RAM(0x20100000u, MB)};
static const struct ethosu_npu m55m1_npus[] = {NPU(0x40003000u, 13)};

static const struct ethosu_memory we2_memories[] = {RAM(0x34000000u, 2 * MB),
                                                    ROM(0x3A000000u, 16 * MB)};
static const struct ethosu_npu we2_npus[] = {NPU(0x53020000u, 192)};

static const struct ethosu_memory an547_memories[] = {
    RAM(0x01000000u, 2 * MB), RAM(0x21000000u, 4 * MB), ROM(0x28000000u, 8 * MB),
    RAM(0x60000000u, 256 * MB)};
static const struct ethosu_npu an547_npus[] = {NPU(0x48102000u, 56)};

/* ---- the boards ---- */

#define BOARD(title, chip, config)                     \
    {.board = {.name = (title),                        \
               .memories = chip##_memories,            \
               .memory_count = COUNT(chip##_memories), \
               .npus = chip##_npus,                    \
               .npu_count = COUNT(chip##_npus)},       \
     .npu = (config)}

const struct known_board known_boards[] = {
    BOARD("ALIF_ENSEMBLE_E7-M55_HP", alif_hp, "ethos-u55-256"),
    BOARD("ALIF_ENSEMBLE_E7-M55_HE", alif_he, "ethos-u55-128"),
    BOARD("OPENMV_AE3-M55_HP", alif_hp, "ethos-u55-256"),
    BOARD("OPENMV_AE3-M55_HE", alif_he, "ethos-u55-128"),
    BOARD("NUMAKER_M55M1", m55m1, "ethos-u55-256"),
    BOARD("GROVE_VISION_AI_V2", we2, "ethos-u55-64"),
    BOARD("MPS3_AN547", an547, NULL),
};
const size_t known_board_count = COUNT(known_boards);
