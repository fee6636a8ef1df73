// SPDX-License-Identifier: MIT
/** The board's DMA controller: selection of its kind. */
#include "dma/dma_device.h"

#include <stddef.h>

#include "board/machine.h"
#include "dma/dma_kind.h"

static const struct dma_operations *const kinds[] = {
#define DMA(kind, keys) [DMA_##kind] = &dma_##kind,
#include "board/devices.def"
};

/** NULL if the board has none. */
static const struct dma_operations *kind;

void dma_device_create(const struct dma_slot *slot)
{
    kind = kinds[slot->kind];
    kind->create(slot);
    machine_map(&(struct machine_window){.name = "dma",
                                         .base = slot->base,
                                         .size = kind->window_size,
                                         .read = kind->read,
                                         .write = kind->write,
                                         .gate = &slot->gate,
                                         .protection = &slot->protection},
                NULL);
}

void dma_device_reset(void)
{
    if (kind) {
        kind->reset();
    }
}

bool dma_device_inject(const char *fault, unsigned count)
{
    return kind && dma_run_inject(fault, count);
}
