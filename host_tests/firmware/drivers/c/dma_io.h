// SPDX-License-Identifier: MIT
/** In the place of the driver's ethosu_io.h: dma_caches.c sees each barrier. */
#ifndef DMA_IO_H
#define DMA_IO_H

void ethosu_io_barrier(void);

#endif
