// SPDX-License-Identifier: MIT
/** Checks that a model was compiled for this NPU, without reading a register; used by every kind
 * of NPU access. */
#include "driver/device/device.h"

#include "driver/base/ethosu_fault.h"

int ethosu_ext_device_check(const struct ethosu_device *dev, uint32_t config, uint32_t id,
                            struct ethosu_ext_fault *fault)
{
    if ((config ^ dev->config_register) & dev->part->config_mask) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_CONFIG_MISMATCH, -1, config,
                                 dev->config_register);
    }
    if (NPU_CONFIG_STREAM_VERSION(config) != NPU_CONFIG_STREAM_VERSION(dev->config_register)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_STREAM_VERSION, -1,
                                 NPU_CONFIG_STREAM_VERSION(config),
                                 NPU_CONFIG_STREAM_VERSION(dev->config_register));
    }
    if (config & ~dev->config_register & NPU_CONFIG_CUSTOM_DMA) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_CUSTOM_DMA, -1, config, dev->config_register);
    }
    if (NPU_ID_ARCH_MAJOR(id) != NPU_ID_ARCH_MAJOR(dev->id) ||
        NPU_ID_ARCH_MINOR(id) > NPU_ID_ARCH_MINOR(dev->id)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_ARCH_MISMATCH, -1, id, dev->id);
    }
    return 0;
}
