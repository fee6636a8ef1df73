// SPDX-License-Identifier: MIT
/** The device part that all products share. */
#include "ethosu_device.h"

#include "ethosu_fault.h"

/** STATUS reads until a reset is given up; an NPU at 1/10 of the CPU's clock needs far fewer. */
#define RESET_POLLS 100000

int ethosu_ext_device_probe(struct ethosu_device *dev, struct ethosu_ext_fault *fault)
{
    dev->config = ethosu_io_read(dev->reg, NPU_CONFIG);
    dev->id = ethosu_io_read(dev->reg, NPU_ID);
    dev->part = ethosu_ext_part_find(dev->config);
    dev->protection =
        (dev->privileged ? NPU_PROT_PRIVILEGED : 0) | (dev->secure ? 0 : NPU_PROT_NON_SECURE);
    if (dev->part == NULL || dev->id == 0 || dev->id == UINT32_MAX) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NO_NPU, -1, dev->config, dev->id);
    }
    return 0;
}

/** The value of a setting, each field of it no greater than this NPU can do. */
static uint32_t possible(const struct ethosu_device *dev, const struct ethosu_ext_setting *setting)
{
    if (setting->limit == 0) {
        return setting->value;
    }
    uint32_t limit = ethosu_io_read(dev->reg, setting->limit);
    uint32_t value = 0;
    for (const uint32_t *field = dev->part->limited_fields; *field != 0; field++) {
        uint32_t wanted = setting->value & *field;
        uint32_t most = limit & *field;
        value |= wanted < most ? wanted : most;
    }
    return value;
}

int ethosu_ext_device_reset(const struct ethosu_device *dev, struct ethosu_ext_fault *fault)
{
    ethosu_io_write(dev->reg, NPU_RESET, dev->protection);

    int polls = RESET_POLLS;
    while ((ethosu_io_read(dev->reg, NPU_STATUS) & ETHOSU_EXT_STATUS_RESETTING) && --polls > 0) {
    }
    if (polls == 0) {
        struct ethosu_ext_fault stuck = {.code = ETHOSU_EXT_E_RESET, .index = -1};
        stuck.status = ethosu_io_read(dev->reg, NPU_STATUS);
        return ethosu_ext_report(fault, &stuck);
    }

    uint32_t active = ethosu_io_read(dev->reg, NPU_PROT);
    if (active != dev->protection) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_PROTECTION, -1, active, dev->protection);
    }

    const struct ethosu_ext_setting *end = dev->part->settings + dev->part->setting_count;
    for (const struct ethosu_ext_setting *setting = dev->part->settings; setting != end;
         setting++) {
        ethosu_io_write(dev->reg, setting->offset, possible(dev, setting));
    }
    return 0;
}

int ethosu_ext_device_power_up(const struct ethosu_device *dev, struct ethosu_ext_fault *fault)
{
    const struct ethosu_ext_setting *witness = dev->part->witness;
    const uint32_t unclean =
        dev->part->fault_bits | ETHOSU_EXT_STATUS_RUNNING | ETHOSU_EXT_STATUS_RESETTING;

    ethosu_ext_device_set_power(dev, true);
    if (witness != NULL && ethosu_io_read(dev->reg, witness->offset) == witness->value &&
        ethosu_io_read(dev->reg, NPU_PROT) == dev->protection &&
        !(ethosu_io_read(dev->reg, NPU_STATUS) & unclean)) {
        return 0;
    }
    int error = ethosu_ext_device_reset(dev, fault);
    ethosu_ext_device_set_power(dev, error == 0);
    return error;
}

void ethosu_ext_device_write_high(const struct ethosu_device *dev,
                                  const struct ethosu_ext_program *program)
{
    ethosu_io_write(dev->reg, NPU_QBASE + 4, (uint32_t)(program->stream >> 32));
    for (uint32_t i = 0; i < program->count; i++) {
        ethosu_io_write(dev->reg, NPU_BASEP0 + 8 * i + 4, (uint32_t)(program->npu_base[i] >> 32));
    }
}

int ethosu_ext_device_check(const struct ethosu_device *dev, uint32_t config, uint32_t id,
                            struct ethosu_ext_fault *fault)
{
    if ((config ^ dev->config) & dev->part->config_mask) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_CONFIG_MISMATCH, -1, config, dev->config);
    }
    if (NPU_CONFIG_STREAM_VERSION(config) != NPU_CONFIG_STREAM_VERSION(dev->config)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_STREAM_VERSION, -1,
                                 NPU_CONFIG_STREAM_VERSION(config),
                                 NPU_CONFIG_STREAM_VERSION(dev->config));
    }
    if (config & ~dev->config & NPU_CONFIG_CUSTOM_DMA) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_CUSTOM_DMA, -1, config, dev->config);
    }
    if (NPU_ID_ARCH_MAJOR(id) != NPU_ID_ARCH_MAJOR(dev->id) ||
        NPU_ID_ARCH_MINOR(id) > NPU_ID_ARCH_MINOR(dev->id)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_ARCH_MISMATCH, -1, id, dev->id);
    }
    return 0;
}
