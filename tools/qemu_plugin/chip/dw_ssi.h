// SPDX-License-Identifier: MIT
/**
 * A serial controller (Synopsys DWC_ssi) that maps a flash chip into memory: where the flash will
 * be are its registers, until it is set up for reads that the chip understands, and the chip's mode
 * for executing in place (XIP) is on.
 */
#ifndef DW_SSI_H
#define DW_SSI_H

#include <stdbool.h>

#include "board/board.h"

/** Create the controller of the board's memory with `xip`, if it has one. */
void dw_ssi_create(void);

/**
 * Faults of the flash chip: "no-quad", its quad mode is off, so two of four data lines have other
 * functions; "dead", it does not answer. `count` of 0 ends the fault.
 *
 * @return  false if the fault is unknown, or the board has no such memory
 */
bool dw_ssi_inject(const char *fault, unsigned count);

#endif
