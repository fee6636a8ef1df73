// SPDX-License-Identifier: MIT
/**
 * The device part: all that knows the NPU's registers, behind one small
 * interface. What differs between products is a table, struct ethosux_part,
 * chosen at run time from the CONFIG register.
 */
#ifndef ETHOSU_DEVICE_H
#define ETHOSU_DEVICE_H

#include "ethosu_driver_ex.h"
#include "ethosu_registers.h"

#include <ethosu_io.h>

/** A register and the value that it gets after each reset. */
struct ethosux_setting {
    uint16_t offset;
    uint32_t value;
};

/** First and last number of a run of PMU events. */
struct ethosux_event_range {
    uint16_t first;
    uint16_t last;
};

/** What is particular to one product. */
struct ethosux_part {
    uint8_t product;         /**< CONFIG.product */
    uint8_t macs_log2_first; /**< smallest and largest CONFIG.macs_per_cc */
    uint8_t macs_log2_last;
    uint8_t address_bits;
    uint8_t pmu_counters;
    uint8_t qconfig;      /**< default QCONFIG */
    uint16_t regioncfg;   /**< default REGIONCFG */
    uint32_t fault_bits;  /**< STATUS bits after which the NPU needs a reset */
    uint32_t config_mask; /**< CONFIG bits in which a model must equal the NPU */
    const struct ethosux_setting *settings;
    const struct ethosux_setting *witness; /**< one that tells by its loss that the power was
                                                off: differs from its reset value; or NULL */
    uint8_t setting_count;
    uint8_t event_range_count;
    const struct ethosux_event_range *event_ranges;
};

/** The part for a CONFIG word, or NULL. */
const struct ethosux_part *ethosux_part_find(uint32_t config);

/** Find out what NPU is there: fills part, config, id. @return 0, or why not */
int ethosux_device_probe(struct ethosu_device *dev, struct ethosux_fault *fault);

/** Stop whatever runs, set protection and memory attributes. @return 0, or why not */
int ethosux_device_reset(const struct ethosu_device *dev, struct ethosux_fault *fault);

/** Keep clock and power on; reset the NPU if its state was lost. @return 0, or why not */
int ethosux_device_power_up(const struct ethosu_device *dev, struct ethosux_fault *fault);

/** May clock and power go while the NPU is idle? */
static inline void ethosux_device_set_power(const struct ethosu_device *dev, bool keep_on)
{
    ethosu_io_write(dev->reg, NPU_CMD, keep_on ? 0 : NPU_CMD_Q_BITS);
}

/** Start a checked program; power has been requested. */
void ethosux_device_start(const struct ethosu_device *dev, const struct ethosux_program *program);

/**
 * Answer the NPU's interrupt.
 *
 * @param status  STATUS after the interrupt was cleared
 * @return        the NPU has completed its command stream, or failed on it
 */
bool ethosux_device_acknowledge(const struct ethosu_device *dev, uint32_t *status);

/** Does this STATUS tell of a stream that ran to its end without a fault? */
static inline bool ethosux_device_succeeded(const struct ethosu_device *dev, uint32_t status)
{
    return (status & (dev->part->fault_bits | ETHOSUX_STATUS_END_REACHED)) ==
           ETHOSUX_STATUS_END_REACHED;
}

/** Can a model compiled for (config, id) run here? @return 0, or why not */
int ethosux_device_check(const struct ethosu_device *dev, uint32_t config, uint32_t id,
                         struct ethosux_fault *fault);

#endif
