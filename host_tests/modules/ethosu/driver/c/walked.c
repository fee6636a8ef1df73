// SPDX-License-Identifier: MIT
#include "walked.h"

#include "check.h"

uint32_t words[1024];
uint32_t count;
size_t size[8];
struct ethosu_ext_fault fault;
uint32_t written;
struct ethosu_ext_writes writes;

void put(uint32_t code, uint32_t param)
{
    words[count++] = code | param << 16;
}

void pay(uint32_t opcode, uint64_t value)
{
    put(0x4000 | opcode, (uint32_t)(value >> 32) & 0xFFFF);
    words[count++] = (uint32_t)value;
}

void map(uint32_t block, uint32_t region, uint32_t base, int32_t y, int32_t x, int32_t c)
{
    uint32_t first = block == 0x100 ? 0x00 : block == 0x110 ? 0x10 : 0x80;
    put(block + 0xF, region);
    put(block + 0xA, 0xFFFF);
    put(block + 0xB, 0xFFFF);
    put(block + 0xC, 0xFFFF);
    pay(first, base);
    pay(first + 4, (uint32_t)x);
    pay(first + 5, (uint32_t)y);
    pay(first + 6, (uint32_t)c);
}

int verify(uint32_t config, uint32_t regions)
{
    put(0, 0xFFFF);
    fault = (struct ethosu_ext_fault){0};
    int error = ethosu_ext_verify(words, 4 * count, config, size, (int)regions, &writes, &fault);
    written = 0;
    for (uint32_t i = 0; i < ETHOSU_EXT_MAX_BASES; i++) {
        written |= (uint32_t)(writes.end[i] != 0) << i;
    }
    CHECK_EQ(fault.code, error);
    count--;
    return error;
}

const char *sentence(void)
{
    static char text[200];
    ethosu_ext_describe(&fault, text, sizeof text);
    return text;
}

void check_exact(uint32_t config, size_t size0, size_t size1, unsigned tight)
{
    size[0] = size0;
    size[1] = size1;
    int error = verify(config, 2);
    if (error != 0) {
        fprintf(stderr, "%s\n", sentence());
    }
    CHECK_EQ(error, 0);
    size[tight]--;
    CHECK_EQ(verify(config, 2), ETHOSU_EXT_E_REGION_BOUNDS);
    CHECK_EQ(fault.found, size[tight] + 1);
    CHECK_EQ(fault.expected, size[tight]);
    CHECK_EQ(fault.detail, tight);
    size[tight]++;
}
