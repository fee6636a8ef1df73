// SPDX-License-Identifier: MIT
/** Device layer common to all products. */
#include "driver/device/device.h"

#include "driver/base/ethosu_build.h"
#include "driver/base/ethosu_fault.h"
#include "driver/device/ethosu_products.h"

#include <string.h>

/** STATUS reads before waiting for a reset in milliseconds. */
#define RESET_POLLS 1000
#define RESET_WAITS 100

/** Read a word from a table of register values. */
static uint32_t word_at(const void *table, uint32_t offset)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)table + offset, sizeof value);
    return value;
}

/** The required value of a setting. */
static uint32_t required_setting(const struct ethosu_device *dev,
                                 const struct ethosu_ext_setting *setting)
{
    return dev->config != NULL ? word_at(dev->config->config, setting->configured)
                               : word_at(dev->settings, setting->value);
}

/** Use the values passed to ethosu_init_ex(), or else the product's table and the global hooks. */
static void choose_ports(struct ethosu_device *dev)
{
    const struct ethosu_device_user_ops *ops = dev->user_ops;
    const void *table = dev->config != NULL ? dev->config->config : NULL;
    const uint8_t at = dev->part->qconfig_at;
    dev->qconfig = table != NULL ? word_at(table, at) : dev->part->qconfig;
    dev->regioncfg = table != NULL ? word_at(table, at + 4u) : dev->part->regioncfg;
    dev->remap =
        ops != NULL && ops->address_remap != NULL ? ops->address_remap : ethosu_address_remap;
    dev->select =
        ops != NULL && ops->config_select != NULL ? ops->config_select : ethosu_config_select;
}

/**
 * Choose a setting that detects whether the NPU has lost its state: one that is
 * nonzero now, but 0 after a reset. Only the four AXI_LIMIT or MEM_ATTR registers
 * are known to reset to 0.
 */
static void choose_reset_canary(struct ethosu_device *dev)
{
    dev->canary_offset = 0;
    for (int i = 0; i < 4; i++) {
        const struct ethosu_ext_setting *setting = &dev->part->settings[i];
        if (required_setting(dev, setting) != 0) {
            dev->canary_offset = setting->offset;
            dev->canary_value = required_setting(dev, setting);
        }
    }
}

RARE int ethosu_ext_device_probe(struct ethosu_device *dev, struct ethosu_ext_fault *fault)
{
    dev->config_register = ethosu_io_read(dev->reg, NPU_CONFIG);
    dev->id = ethosu_io_read(dev->reg, NPU_ID);
    dev->part = NULL;
    dev->protection =
        (dev->privileged ? NPU_PROT_PRIVILEGED : 0) | (dev->secure ? 0 : NPU_PROT_NON_SECURE);
    const struct ethosu_ext_product *product = ethosu_ext_product_find(dev->config_register);
    if (product == NULL || dev->id == 0 || dev->id == UINT32_MAX) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NO_NPU, -1, dev->config_register, dev->id);
    }
    if (product->part == NULL) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_NOT_BUILT_IN, -1, dev->config_register, 0);
    }
    if (dev->desc != NULL && dev->desc->product != product->number) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_OTHER_PRODUCT, -1, dev->config_register, 0);
    }
    dev->part = product->part;
    dev->caps.product = product->number;
    dev->caps.log2_macs = product->macs_log2;
    const struct ethosu_npu *npu = dev->npu;
    dev->settings = npu != NULL && npu->settings != NULL ? npu->settings : dev->part->defaults;
    choose_reset_canary(dev);
    choose_ports(dev);
    return 0;
}

/** The value of a setting, with each field clamped to this NPU's limit. */
static uint32_t clamped_setting(const struct ethosu_device *dev,
                                const struct ethosu_ext_setting *setting)
{
    uint32_t required = required_setting(dev, setting);
    if (setting->limit == 0) {
        return required;
    }
    uint32_t limit = ethosu_io_read(dev->reg, setting->limit);
    uint32_t value = 0;
    for (const uint32_t *field = dev->part->limited_fields; *field != 0; field++) {
        uint32_t part = required & *field;
        uint32_t max = limit & *field;
        value |= part < max ? part : max;
    }
    return value;
}

static bool is_resetting(const struct ethosu_device *dev)
{
    return (ethosu_io_read(dev->reg, NPU_STATUS) & ETHOSU_EXT_STATUS_RESETTING) != 0;
}

/** Wait for the end of a reset; false on time-out. The semaphore is not given while waiting. */
static bool wait_for_reset(const struct ethosu_device *dev, void *semaphore)
{
    for (int polls = 0; polls < RESET_POLLS; polls++) {
        if (!is_resetting(dev)) {
            return true;
        }
    }
    for (int waited = 0; waited < RESET_WAITS && is_resetting(dev); waited++) {
        (void)ethosu_semaphore_take(semaphore, ETHOSU_EXT_SLICE);
    }
    return !is_resetting(dev);
}

RARE int ethosu_ext_device_reset(const struct ethosu_device *dev, void *semaphore,
                                 struct ethosu_ext_fault *fault)
{
    ethosu_io_write(dev->reg, NPU_RESET, dev->protection);
    if (!wait_for_reset(dev, semaphore)) {
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
        ethosu_io_write(dev->reg, setting->offset, clamped_setting(dev, setting));
    }
    return 0;
}

int ethosu_ext_device_wake(const struct ethosu_device *dev, void *semaphore,
                           struct ethosu_ext_fault *fault)
{
    int error = ethosu_ext_device_reset(dev, semaphore, fault);
    ethosu_ext_device_set_power(dev, error == 0);
    return error;
}
