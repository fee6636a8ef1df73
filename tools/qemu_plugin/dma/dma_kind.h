// SPDX-License-Identifier: MIT
/** Interface between dma_device.c and the controller kinds, dma_NAME.c. */
#ifndef DMA_KIND_H
#define DMA_KIND_H

#include <stdint.h>

#include "board/slots.h"
#include "dma/dma_run.h"

/** Operations of a kind. */
struct dma_operations {
    void (*create)(const struct dma_slot *slot);
    void (*reset)(void);
    uint32_t window_size; /**< bytes of registers */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
};

#define DMA(kind, keys) extern const struct dma_operations dma_##kind;
#include "board/devices.def"

#endif
