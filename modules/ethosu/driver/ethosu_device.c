// SPDX-License-Identifier: MIT
/** The device part that all products share. */
#include "ethosu_device.h"

#include "ethosu_driver_ex.h"
#include "ethosu_fault.h"
#include "ethosu_registers.h"

#include <ethosu_io.h>

/** STATUS reads until a reset is given up; an NPU at 1/10 of the CPU's clock needs far fewer. */
#define RESET_POLLS 100000

int ethosux_device_probe(struct ethosu_device *dev, struct ethosux_fault *fault)
{
    dev->config = ethosu_io_read(dev->reg, NPU_CONFIG);
    dev->id = ethosu_io_read(dev->reg, NPU_ID);
    dev->part = ethosux_part_find(dev->config);
    if (dev->part == NULL || dev->id == 0 || dev->id == UINT32_MAX) {
        return ethosux_refuse(fault, ETHOSUX_E_NO_NPU, -1, dev->config, dev->id);
    }
    return 0;
}

static uint32_t protection(const struct ethosu_device *dev)
{
    return (dev->privileged ? NPU_PROT_PRIVILEGED : 0) | (dev->secure ? 0 : NPU_PROT_NON_SECURE);
}

int ethosux_device_reset(const struct ethosu_device *dev, struct ethosux_fault *fault)
{
    ethosu_io_write(dev->reg, NPU_RESET, protection(dev));

    int polls = RESET_POLLS;
    while ((ethosu_io_read(dev->reg, NPU_STATUS) & ETHOSUX_STATUS_RESETTING) && --polls > 0) {
    }
    if (polls == 0) {
        ethosux_refuse(fault, ETHOSUX_E_RESET, -1, 0, 0);
        fault->status = ethosu_io_read(dev->reg, NPU_STATUS);
        return fault->code;
    }

    uint32_t active = ethosu_io_read(dev->reg, NPU_PROT);
    if (active != protection(dev)) {
        return ethosux_refuse(fault, ETHOSUX_E_PROTECTION, -1, active, protection(dev));
    }

    const struct ethosux_setting *setting = dev->part->settings;
    for (unsigned i = 0; i < dev->part->setting_count; i++) {
        ethosu_io_write(dev->reg, setting[i].offset, setting[i].value);
    }
    return 0;
}

void ethosux_device_set_power(const struct ethosu_device *dev, bool keep_on)
{
    ethosu_io_write(dev->reg, NPU_CMD, keep_on ? 0 : NPU_CMD_Q_BITS);
}

static void write_address(const struct ethosu_device *dev, uint32_t offset, uint64_t address)
{
    ethosu_io_write(dev->reg, offset, (uint32_t)address);
    if (dev->part->address_bits > 32) {
        ethosu_io_write(dev->reg, offset + 4, (uint32_t)(address >> 32));
    }
}

static void command(const struct ethosu_device *dev, uint32_t bits)
{
    uint32_t kept = ethosu_io_read(dev->reg, NPU_CMD) & NPU_CMD_Q_BITS;
    ethosu_io_write(dev->reg, NPU_CMD, kept | bits);
}

void ethosux_device_start(const struct ethosu_device *dev, const struct ethosux_program *program)
{
    write_address(dev, NPU_QBASE, program->stream);
    ethosu_io_write(dev->reg, NPU_QSIZE, program->stream_bytes);
    ethosu_io_write(dev->reg, NPU_QCONFIG, program->qconfig);
    for (uint32_t i = 0; i < program->count; i++) {
        write_address(dev, NPU_BASEP0 + 8 * i, program->npu_base[i]);
    }
    ethosu_io_write(dev->reg, NPU_REGIONCFG, program->regioncfg);
    command(dev, NPU_CMD_RUN);
}

bool ethosux_device_acknowledge(const struct ethosu_device *dev, uint32_t *status)
{
    uint32_t before = ethosu_io_read(dev->reg, NPU_STATUS);
    if (before & ETHOSUX_STATUS_PMU_IRQ) {
        ethosu_io_write(dev->reg, NPU_PMINTCLR, UINT32_MAX);
    }
    if (!(before & ETHOSUX_STATUS_IRQ_RAISED)) {
        return false;
    }
    // Clear first, then look: what happens in between is seen here or raises anew.
    command(dev, NPU_CMD_CLEAR_IRQ);
    *status = ethosu_io_read(dev->reg, NPU_STATUS);
    return !(*status & ETHOSUX_STATUS_RUNNING) || (*status & dev->part->fault_bits);
}

bool ethosux_device_succeeded(const struct ethosu_device *dev, uint32_t status)
{
    return (status & (dev->part->fault_bits | ETHOSUX_STATUS_END_REACHED)) ==
           ETHOSUX_STATUS_END_REACHED;
}

int ethosux_device_check(const struct ethosu_device *dev, uint32_t config, uint32_t id,
                         struct ethosux_fault *fault)
{
    if ((config ^ dev->config) & dev->part->config_mask) {
        return ethosux_refuse(fault, ETHOSUX_E_CONFIG_MISMATCH, -1, config, dev->config);
    }
    if (NPU_CONFIG_STREAM_VERSION(config) != NPU_CONFIG_STREAM_VERSION(dev->config)) {
        return ethosux_refuse(fault, ETHOSUX_E_STREAM_VERSION, -1,
                              NPU_CONFIG_STREAM_VERSION(config),
                              NPU_CONFIG_STREAM_VERSION(dev->config));
    }
    if (config & ~dev->config & NPU_CONFIG_CUSTOM_DMA) {
        return ethosux_refuse(fault, ETHOSUX_E_CUSTOM_DMA, -1, config, dev->config);
    }
    if (NPU_ID_ARCH_MAJOR(id) != NPU_ID_ARCH_MAJOR(dev->id) ||
        NPU_ID_ARCH_MINOR(id) > NPU_ID_ARCH_MINOR(dev->id)) {
        return ethosux_refuse(fault, ETHOSUX_E_ARCH_MISMATCH, -1, id, dev->id);
    }
    return 0;
}
