// SPDX-License-Identifier: MIT
/**
 * The device part: all that knows the NPU's registers, behind one small
 * interface. What differs between products is a table, struct ethosu_ext_part,
 * chosen at run time from the CONFIG register. What every inference does is
 * in line here, the rest is in device.c.
 */
#ifndef ETHOSU_EXT_DEVICE_H
#define ETHOSU_EXT_DEVICE_H

#include "ethosu_ext.h"
#include "ethosu_registers.h"

#include "ethosu_board.h"
#include "ethosu_io.h"

/** A register that gets a value of struct ethosu_npu_settings after each reset. */
struct ethosu_ext_setting {
    uint16_t offset;
    uint16_t limit;      /**< the register that holds the most of each field; 0: there is none */
    uint16_t value;      /**< offset in struct ethosu_npu_settings */
    uint16_t configured; /**< offset in struct u55_config_t, u65_config_t or u85_config_t */
};

/** What is particular to one family of products. */
struct ethosu_ext_part {
    uint8_t address_bits;
    uint8_t pmu_counters;
    uint16_t pmu_offset;  /**< added to the offsets of the counters' registers */
    uint8_t qconfig;      /**< default QCONFIG */
    uint8_t qconfig_at;   /**< its offset in struct u55_config_t and so on; REGIONCFG's follows */
    uint16_t regioncfg;   /**< default REGIONCFG */
    uint32_t fault_bits;  /**< STATUS bits after which the NPU needs a reset */
    uint32_t config_mask; /**< CONFIG bits in which a model must equal the NPU */
    const struct ethosu_ext_setting *settings;
    const struct ethosu_npu_settings *defaults; /**< where the board says nothing */
    uint8_t reads_only;             /**< a bit for each REGIONCFG value whose port can't write */
    const uint32_t *limited_fields; /**< masks of the fields of a setting with a limit, then 0 */
    uint8_t setting_count;
    uint8_t pmu_family; /**< bit of ethosu_pmu_events.def */
};

extern const struct ethosu_ext_part ethosu_ext_part_U55;
extern const struct ethosu_ext_part ethosu_ext_part_U65;
extern const struct ethosu_ext_part ethosu_ext_part_U85;

/** Find out what NPU is there: fills part, config, id. @return 0, or why not */
int ethosu_ext_device_probe(struct ethosu_device *dev, struct ethosu_ext_fault *fault);

/** Stop whatever runs, set protection and memory attributes. @return 0, or why not */
int ethosu_ext_device_reset(const struct ethosu_device *dev, void *semaphore,
                            struct ethosu_ext_fault *fault);

/** Keep clock and power on; reset the NPU if its state was lost. @return 0, or why not */
int ethosu_ext_device_power_up(const struct ethosu_device *dev, void *semaphore,
                               struct ethosu_ext_fault *fault);

/** May clock and power go while the NPU is idle? */
static inline void ethosu_ext_device_set_power(const struct ethosu_device *dev, bool keep_on)
{
    ethosu_io_write(dev->reg, NPU_CMD, keep_on ? 0 : NPU_CMD_Q_BITS);
}

/** Start a checked program; power has been requested. */
static inline void ethosu_ext_device_start(const struct ethosu_device *dev,
                                           const struct ethosu_ext_program *program)
{
    volatile struct NPU_REG *reg = dev->reg;
    ethosu_io_write(reg, NPU_QSIZE, program->stream_bytes);
    ethosu_io_write(reg, NPU_QCONFIG, program->qconfig);
    ethosu_io_write(reg, NPU_REGIONCFG, program->regioncfg);
    if (__builtin_expect(dev->part->address_bits > 32, 0)) {
        ethosu_io_write(reg, NPU_QBASE, (uint32_t)program->stream);
        ethosu_io_write(reg, NPU_QBASE + 4, (uint32_t)(program->stream >> 32));
        for (uint32_t i = 0; i < program->count; i++) {
            ethosu_io_write(reg, NPU_BASEP0 + 8 * i, (uint32_t)program->base[i].npu);
            ethosu_io_write(reg, NPU_BASEP0 + 8 * i + 4, (uint32_t)(program->base[i].npu >> 32));
        }
    } else {
        ethosu_io_write(reg, NPU_QBASE, (uint32_t)program->stream);
        const struct ethosu_ext_base *base = program->base;
        uint32_t offset = NPU_BASEP0;
        for (uint32_t left = program->count; left != 0; left--, base++, offset += 8) {
            ethosu_io_write(reg, offset, (uint32_t)base->npu);
        }
    }
    // What the CPU wrote and cleaned is in memory before the NPU reads it.
    ethosu_io_barrier();
    // Power and clock are requested while an inference runs: no Q bit is set.
    ethosu_io_write(reg, NPU_CMD, NPU_CMD_RUN);
}

/** What an interrupt of the NPU was for. */
enum ethosu_ext_interrupt {
    ETHOSU_EXT_INTERRUPT_OTHER,   /**< nothing that is known, or a command inside the stream */
    ETHOSU_EXT_INTERRUPT_COUNTER, /**< a counter of the PMU has overflowed, and nothing else */
    ETHOSU_EXT_INTERRUPT_END,     /**< the command stream was completed, or failed */
};

/**
 * Answer the NPU's interrupt.
 *
 * @param status  for an END: STATUS after the interrupt was cleared
 */
static inline enum ethosu_ext_interrupt
ethosu_ext_device_acknowledge(const struct ethosu_device *dev, uint32_t *status)
{
    uint32_t before = ethosu_io_read(dev->reg, NPU_STATUS);
    enum ethosu_ext_interrupt came = ETHOSU_EXT_INTERRUPT_OTHER;
    if (before & ETHOSU_EXT_STATUS_PMU_IRQ) {
        ethosu_io_write(dev->reg, NPU_PMINTCLR + dev->part->pmu_offset, UINT32_MAX);
        came = ETHOSU_EXT_INTERRUPT_COUNTER;
    }
    if (!(before & ETHOSU_EXT_STATUS_IRQ_RAISED)) {
        return came;
    }
    // Clear first, then look: a later event is seen here or raises the interrupt again.
    uint32_t kept = ethosu_io_read(dev->reg, NPU_CMD) & NPU_CMD_Q_BITS;
    ethosu_io_write(dev->reg, NPU_CMD, kept | NPU_CMD_CLEAR_IRQ);
    *status = ethosu_io_read(dev->reg, NPU_STATUS);
    bool ended = !(*status & ETHOSU_EXT_STATUS_RUNNING) || (*status & dev->part->fault_bits);
    return ended ? ETHOSU_EXT_INTERRUPT_END : came;
}

/** Does this STATUS tell of a stream that ran to its end without a fault? */
static inline bool ethosu_ext_device_succeeded(const struct ethosu_device *dev, uint32_t status)
{
    return (status & (dev->part->fault_bits | ETHOSU_EXT_STATUS_END_REACHED)) ==
           ETHOSU_EXT_STATUS_END_REACHED;
}

/** Can a model compiled for (config, id) run here? @return 0, or why not */
int ethosu_ext_device_check(const struct ethosu_device *dev, uint32_t config, uint32_t id,
                            struct ethosu_ext_fault *fault);

#endif
