// SPDX-License-Identifier: MIT
/** Streams made by hand, a command at a time, and what the verifier says of them. */
#ifndef WALKED_H
#define WALKED_H

#include "ethosu_ext.h"

extern uint32_t words[1024];
extern uint32_t count; /**< of words */
extern size_t size[8]; /**< of regions */
extern struct ethosu_ext_fault fault;
extern uint32_t written; /**< regions, a bit each */
extern struct ethosu_ext_writes writes;

/** A command with a parameter; with a payload. */
void put(uint32_t code, uint32_t param);
void pay(uint32_t opcode, uint64_t value);

/** A feature map at `base`: NHWC, one tile. block: 0x100 IFM, 0x110 OFM, 0x180 IFM2. */
void map(uint32_t block, uint32_t region, uint32_t base, int32_t y, int32_t x, int32_t c);

/** Verify the words and a STOP. */
int verify(uint32_t config, uint32_t regions);

const char *sentence(void);

/** Accepted with these sizes of region 0 and 1, refused with one byte less in `tight`. */
void check_exact(uint32_t config, size_t size0, size_t size1, unsigned tight);

#endif
