// SPDX-License-Identifier: MIT
/** Streams made by hand, a command at a time, and what the verifier says of them. */
#ifndef WALKED_H
#define WALKED_H

#include "check.h"
#include "ethosu_ext.h"

#define U55 0x00001807u
#define U65 0x10006009u
#define U85 0x20000118u      // 256 MACs, one core
#define U85_1024 0x2000251Au // four cores

enum {
    CONV = 0x002,
    DEPTHWISE = 0x003,
    POOL = 0x005,
    ELEMENTWISE = 0x006,
    RESIZE = 0x007,
    DMA = 0x010,
    DMA_WAIT = 0x011,
};

extern uint32_t words[1024];
extern uint32_t count; /**< of words */
extern size_t size[8]; /**< of regions */
extern struct ethosu_ext_fault fault;
extern uint32_t written; /**< regions, a bit each */
extern struct ethosu_ext_writes writes;

/** A command with a parameter; with a payload. */
void put(uint32_t code, uint32_t param);
void pay(uint32_t opcode, uint64_t value);

/** Several of them: code, parameter, code, ... */
#define PUT(...) put_all((const uint32_t[]){__VA_ARGS__}, sizeof(uint32_t[]){__VA_ARGS__} / 8)
#define PAY(...) pay_all((const uint64_t[]){__VA_ARGS__}, sizeof(uint64_t[]){__VA_ARGS__} / 16)
void put_all(const uint32_t *pairs, size_t number);
void pay_all(const uint64_t *pairs, size_t number);

/** A feature map at `base`: NHWC, one tile. block: 0x100 IFM, 0x110 OFM, 0x180 IFM2. */
void map(uint32_t block, uint32_t region, uint32_t base, int32_t y, int32_t x, int32_t c);

void shape(uint32_t height, uint32_t width, uint32_t depth);

/** A 1x1 CONV of 4x6x8 int8, IFM at 0 and OFM at 192 of region 1; weights and scales in 0. */
void conv(uint32_t config);

/** A copy from region 0 to region 1. */
void dma(uint32_t source, uint32_t target, uint32_t length);

/** Verify the words and a STOP. */
int verify(uint32_t config, uint32_t regions);

const char *sentence(void);

/** Accepted with these sizes of region 0 and 1, refused with one byte less in `tight`. */
void check_exact(uint32_t config, size_t size0, size_t size1, unsigned tight);

/** The same for the words and an operation, which is taken away again. */
#define EXACT(config, operation, mode, size0, size1, tight) \
    do {                                                    \
        put(operation, mode);                               \
        check_exact(config, size0, size1, tight);           \
        count--;                                            \
    } while (0)

/** What is said of the words and an operation, which is taken away again. */
#define SAYS(config, operation, mode, error) \
    do {                                     \
        put(operation, mode);                \
        CHECK_EQ(verify(config, 2), error);  \
        count--;                             \
    } while (0)

#endif
