// SPDX-License-Identifier: MIT
/**
 * Alif Ensemble E7 and E3: boards with one core each, the high-performance one
 * (M55_HP) or the high-efficiency one (M55_HE).
 *
 * The numbers are not those of the firmware's source, MicroPython's port and
 * Alif's headers. They are from, as each row says,
 *   [Z] Zephyr's device trees, alifsemi/zephyr_alif: dts/arm/alif/ensemble/
 *       common/ensemble_rtss_hp.dtsi, ensemble_rtss_he.dtsi, e3_e5_e7.dtsi,
 *       e3/ae302f80f5582xx.dtsi, dts/arm/alif/ensemble_rtss_common.dtsi,
 *       dts/arm/alif/ensemble_rtss_hp.dtsi (the DMA controller)
 *   [S] Alif's SVD files of the E3, AE302F80F55D5AE_CM55_{HP,HE}_View.svd
 *   [O] OpenMV's board AE3, openmv/openmv: boards/OPENMV_AE3/board_config.h
 */
#include "board.h"

enum {
    RAM = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_BUS_WRITES,
    TCM = RAM | BOARD_BUS_AT_ALIAS,
    NVM = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_KEEPS | BOARD_TAKES_LINES,
};

/* What both cores see. */
#define SHARED_MEMORIES                                                                        \
    {"SRAM0", {"sram0"}, 0x02000000, 0, 0x00400000, RAM, 0},        /* [Z] */                  \
        {"SRAM1", {"sram1"}, 0x08000000, 0, 0x00280000, RAM, 0},    /* [Z] */                  \
        {"SRAM9", {"sram9"}, 0x60000000, 0, 0x000C0000, RAM, 0},    /* [O] */                  \
        {"SRAM6_A", {"sram6a"}, 0x62000000, 0, 0x00100000, RAM, 0}, /* [O] */                  \
        {"SRAM6_B", {"sram6b"}, 0x62400000, 0, 0x00100000, RAM, 0}, /* [O] */                  \
        {"SRAM7", {"sram7"}, 0x63000000, 0, 0x00080000, RAM, 0},    /* [O] */                  \
        {"SRAM8", {"sram8"}, 0x63200000, 0, 0x00200000, RAM, 0},    /* [O] */                  \
        {"MRAM", {"mram"}, 0x80000000, 0, 0x00580000, NVM, 0},      /* [Z]; lines: hal_alif */ \
        {                                                                                      \
            "OSPI", {"ospi"}, 0xC0000000, 0, 0x02000000, BOARD_BUS_READS, 0 /* [Z] */          \
        }

#define HP_MEMORIES                                                               \
    {"ITCM", {"itcm"}, 0x00000000, 0x50000000, 0x00040000, TCM, 0},     /* [Z] */ \
        {"DTCM", {"dtcm"}, 0x20000000, 0x50800000, 0x00100000, TCM, 0}, /* [Z] */ \
        SHARED_MEMORIES
#define HE_MEMORIES                                                               \
    {"ITCM", {"itcm"}, 0x00000000, 0x58000000, 0x00040000, TCM, 0},     /* [Z] */ \
        {"DTCM", {"dtcm"}, 0x20000000, 0x58800000, 0x00040000, TCM, 0}, /* [Z] */ \
        SHARED_MEMORIES

static const struct board_memory hp_memories[] = {HP_MEMORIES};
static const struct board_memory he_memories[] = {HE_MEMORIES};

/* The AE3's flash chip: 32 MB at OSPI0 [O], boot_config.h; its address: Alif's global_map.h. */
#define FLASH_CHIP {"FLASH", {"ospi0"}, 0xA0000000, 0, 0x02000000, BOARD_BUS_READS, 0}

static const struct board_memory ae3_hp_memories[] = {HP_MEMORIES, FLASH_CHIP};
static const struct board_memory ae3_he_memories[] = {HE_MEMORIES, FLASH_CHIP};

static const struct board_registers registers[] = {
    {"pins", 0x1A000000, 0x01000000},
    {"peripherals", 0x40000000, 0x0A000000},
};

/** UART number n is at 0x49018000 + n * 4 KB with interrupt 124 + n [Z]; bit n clocks it [S]. */
#define UART(number)                                                                      \
    {                                                                                     \
        .kind = BOARD_UART_16550,                                                         \
        .base = 0x49018000u + (number) * 0x1000u,                                         \
        .irq = 124u + (number),                                                           \
        .gate = {.address = 0x4902F008, .mask = 1u << (number), .value = 1u << (number)}, \
    }

/** Where a core starts is in the table that is flashed with it: [O] OMV_FLASH_ORIGIN. */
#define CHIP(start, clock, uart_number)                                                    \
    &(const struct board_chip)                                                             \
    {                                                                                      \
        .vectors = (start), .irqs = 480, .clock_hz = (clock), .uart = UART(uart_number),   \
        .registers = registers, .registers_count = sizeof registers / sizeof registers[0], \
    }
#define HP_CHIP(uart_number) CHIP(0x80020000, 400000000, uart_number) // clock [Z]
#define HE_CHIP(uart_number) CHIP(0x80320000, 160000000, uart_number) // clock [Z]

/** `configuration`: M55HP_CFG or M55HE_CFG [S], CLK_ENA with NPU_CKEN and DMA_CKEN, DMA_CTRL. */
#define BOARD(board_name, board_memories, configuration, macs, board_chip)                     \
    {                                                                                          \
        .name = (board_name),                                                                  \
        .machine = "none",                                                                     \
        .memories = (board_memories),                                                          \
        .memory_count = sizeof(board_memories) / sizeof(board_memories)[0],                    \
        .npus = {{.argument = "npu",                                                           \
                  .preset = (macs),                                                            \
                  .base = 0x400E1000, /* [Z] [S] */                                            \
                  .irq = 55,          /* [Z] */                                                \
                  .gate = {.address = (configuration) + 0x10, .mask = 1, .value = 1}}},        \
        .dma = {.kind = DMA_PL330,                                                             \
                .base = 0x400C0000, /* [Z] [S] */                                              \
                .irq = 0,           /* [Z] */                                                  \
                .abort_irq = 32,    /* [Z] [S] */                                              \
                .gate = {.address = (configuration) + 0x10, .mask = 1 << 4, .value = 1 << 4},  \
                .reset = {.address = (configuration), .mask = 1 << 16 | 1, .value = 1 << 16}}, \
        .page = {.base = 0x4F000000, .irq = 479},                                              \
        .chip = (board_chip),                                                                  \
    }
#define HP_CONFIGURATION 0x400F0000 // [Z] [S]
#define HE_CONFIGURATION 0x43007000 // [Z] [S]

/* MACs per cycle: OpenMV's tools/vela.ini. UARTs: consoles of Zephyr's alif_e7_dk, pins of the AE3
 * [O]. */
const struct board board_alif_ensemble_e7_hp =
    BOARD("ALIF_ENSEMBLE_E7-M55_HP", hp_memories, HP_CONFIGURATION, "ethos-u55-256", HP_CHIP(4));
const struct board board_alif_ensemble_e7_he =
    BOARD("ALIF_ENSEMBLE_E7-M55_HE", he_memories, HE_CONFIGURATION, "ethos-u55-128", HE_CHIP(2));
const struct board board_openmv_ae3_hp =
    BOARD("OPENMV_AE3-M55_HP", ae3_hp_memories, HP_CONFIGURATION, "ethos-u55-256", HP_CHIP(4));
const struct board board_openmv_ae3_he =
    BOARD("OPENMV_AE3-M55_HE", ae3_he_memories, HE_CONFIGURATION, "ethos-u55-128", HE_CHIP(5));
