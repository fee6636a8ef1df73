// SPDX-License-Identifier: MIT
#include "walked.h"

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

void put_all(const uint32_t *pairs, size_t number)
{
    for (size_t i = 0; i < number; i++) {
        put(pairs[2 * i], pairs[2 * i + 1]);
    }
}

void pay_all(const uint64_t *pairs, size_t number)
{
    for (size_t i = 0; i < number; i++) {
        pay((uint32_t)pairs[2 * i], pairs[2 * i + 1]);
    }
}

void map(uint32_t block, uint32_t region, uint32_t base, int32_t y, int32_t x, int32_t c)
{
    uint32_t first = block == 0x100 ? 0x00 : block == 0x110 ? 0x10 : 0x80;
    PUT(block + 0xF, region, block + 0xA, 0xFFFF, block + 0xB, 0xFFFF, block + 0xC, 0xFFFF);
    PAY(first, base, first + 4, (uint32_t)x, first + 5, (uint32_t)y, first + 6, (uint32_t)c);
}

void shape(uint32_t height, uint32_t width, uint32_t depth)
{
    PUT(0x104, depth - 1, 0x111, width - 1, 0x112, height - 1, 0x113, depth - 1);
}

void conv(uint32_t config)
{
    count = 0;
    if (config == U65) {
        put(0x123, 0);
    }
    if (config >= U85) {
        PUT(0x124, 0, 0x125, 0);
    }
    shape(4, 6, 8);
    map(0x100, 1, 0, 48, 8, 1);
    map(0x110, 1, 192, 48, 8, 1);
    PUT(0x105, 1, 0x114, 1, 0x107, 0, 0x120, 0, 0x121, 0, 0x122, 0, 0x128, 0, 0x129, 0);
    PUT(0x100, 0, 0x101, 0, 0x102, 0, 0x103, 0);
    PAY(0x20, 0, 0x21, 80, 0x22, 80, 0x23, 80);
}

void dma(uint32_t source, uint32_t target, uint32_t length)
{
    count = 0;
    PUT(0x130, 0, 0x131, 1);
    PAY(0x30, source, 0x31, target, 0x32, length);
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
