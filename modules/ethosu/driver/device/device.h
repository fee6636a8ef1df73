// SPDX-License-Identifier: MIT
/**
 * Device layer: all register accesses to the NPU. Product differences are in a
 * table, struct ethosu_ext_part, selected at run time by the CONFIG register.
 * Functions used by every inference are inline here, the rest is in device.c.
 */
#ifndef ETHOSU_EXT_DEVICE_H
#define ETHOSU_EXT_DEVICE_H

#include "ethosu_ext.h"
#include "driver/base/ethosu_registers.h"

#include "ethosu_board.h"
#include "driver/board/ethosu_io.h"

/** A register that is set from struct ethosu_npu_settings after each reset. */
struct ethosu_ext_setting {
    uint16_t offset;
    uint16_t limit;      /**< register with the maximum of each field, or 0 */
    uint16_t value;      /**< offset in struct ethosu_npu_settings */
    uint16_t configured; /**< offset in struct u55_config_t, u65_config_t or u85_config_t */
};

/** Poll interval while another thread or a slow NPU finishes: one millisecond. */
#define ETHOSU_EXT_SLICE (ETHOSU_EXT_SECOND / 1000 + (ETHOSU_EXT_SECOND % 1000 != 0))

/** Properties of one family of products. */
struct ethosu_ext_part {
    uint8_t address_bits;
    uint8_t pmu_counters;
    uint16_t pmu_offset;  /**< added to the offsets of the PMU registers */
    uint8_t qconfig;      /**< default QCONFIG */
    uint8_t qconfig_at;   /**< its offset in struct u55_config_t and so on; REGIONCFG's follows */
    uint16_t regioncfg;   /**< default REGIONCFG */
    uint32_t fault_bits;  /**< STATUS bits that require a reset */
    uint32_t config_mask; /**< CONFIG bits that must match between model and NPU */
    const struct ethosu_ext_setting *settings;
    const struct ethosu_npu_settings *defaults; /**< unless set by the board */
    uint8_t reads_only;             /**< bit per REGIONCFG value with a read-only port */
    const uint32_t *limited_fields; /**< masks of the fields of a setting with a limit, then 0 */
    uint8_t setting_count;
    uint8_t pmu_family; /**< bit of ethosu_pmu_events.def */
};

extern const struct ethosu_ext_part ethosu_ext_part_U55;
extern const struct ethosu_ext_part ethosu_ext_part_U65;
extern const struct ethosu_ext_part ethosu_ext_part_U85;

/** Identify the NPU: set part, config and id. @return 0, or an error */
int ethosu_ext_device_probe(struct ethosu_device *dev, struct ethosu_ext_fault *fault);

/** Reset the NPU, set protection and memory attributes. @return 0, or an error */
int ethosu_ext_device_reset(const struct ethosu_device *dev, void *semaphore,
                            struct ethosu_ext_fault *fault);

/** Reset an NPU that has lost its state, and keep its clock and power on. @return 0, or an error */
int ethosu_ext_device_wake(const struct ethosu_device *dev, void *semaphore,
                           struct ethosu_ext_fault *fault);

/** Set whether clock and power may be switched off while the NPU is idle. */
static inline void ethosu_ext_device_set_power(const struct ethosu_device *dev, bool keep_on)
{
    ethosu_io_write(dev->reg, NPU_CMD, keep_on ? 0 : NPU_CMD_Q_BITS);
}

/** Keep clock and power on. @return has the NPU kept its state, so that it needs no reset? */
static inline bool ethosu_ext_device_awake(const struct ethosu_device *dev)
{
    const uint32_t unclean =
        dev->part->fault_bits | ETHOSU_EXT_STATUS_RUNNING | ETHOSU_EXT_STATUS_RESETTING;
    ethosu_ext_device_set_power(dev, true);
    return dev->canary_offset != 0 &&
           ethosu_io_read(dev->reg, dev->canary_offset) == dev->canary_value &&
           ethosu_io_read(dev->reg, NPU_PROT) == dev->protection &&
           !(ethosu_io_read(dev->reg, NPU_STATUS) & unclean);
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
    // Complete the CPU's writes and cleans before the NPU reads memory.
    ethosu_io_barrier();
    // Power and clock are needed while an inference runs, so no Q bit is set.
    ethosu_io_write(reg, NPU_CMD, NPU_CMD_RUN);
}

/** Cause of an NPU interrupt. */
enum ethosu_ext_interrupt {
    ETHOSU_EXT_INTERRUPT_OTHER,   /**< unknown, or a command within the stream */
    ETHOSU_EXT_INTERRUPT_COUNTER, /**< only a PMU counter overflow */
    ETHOSU_EXT_INTERRUPT_END,     /**< the command stream was completed, or failed */
};

/**
 * Acknowledge the NPU's interrupt.
 *
 * @param status  for an END: STATUS after the interrupt was cleared
 */
static inline enum ethosu_ext_interrupt
ethosu_ext_device_acknowledge(const struct ethosu_device *dev, uint32_t *status)
{
    uint32_t before = ethosu_io_read(dev->reg, NPU_STATUS);
    enum ethosu_ext_interrupt came = ETHOSU_EXT_INTERRUPT_OTHER;
    if (__builtin_expect(before & ETHOSU_EXT_STATUS_PMU_IRQ, 0)) {
        ethosu_io_write(dev->reg, NPU_PMINTCLR + dev->part->pmu_offset, UINT32_MAX);
        came = ETHOSU_EXT_INTERRUPT_COUNTER;
    }
    if (__builtin_expect(!(before & ETHOSU_EXT_STATUS_IRQ_RAISED), 0)) {
        return came;
    }
    // Clear before reading STATUS, so that a later event is seen here or interrupts again.
    uint32_t kept = ethosu_io_read(dev->reg, NPU_CMD) & NPU_CMD_Q_BITS;
    ethosu_io_write(dev->reg, NPU_CMD, kept | NPU_CMD_CLEAR_IRQ);
    *status = ethosu_io_read(dev->reg, NPU_STATUS);
    bool ended = !(*status & ETHOSU_EXT_STATUS_RUNNING) || (*status & dev->part->fault_bits);
    return ended ? ETHOSU_EXT_INTERRUPT_END : came;
}

/** Does this STATUS mean that the stream ended without a fault? */
static inline bool ethosu_ext_device_succeeded(const struct ethosu_device *dev, uint32_t status)
{
    return (status & (dev->part->fault_bits | ETHOSU_EXT_STATUS_END_REACHED)) ==
           ETHOSU_EXT_STATUS_END_REACHED;
}

/** Can a model compiled for (config, id) run here? @return 0, or an error */
int ethosu_ext_device_check(const struct ethosu_device *dev, uint32_t config, uint32_t id,
                            struct ethosu_ext_fault *fault);

#endif
