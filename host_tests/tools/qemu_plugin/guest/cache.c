// SPDX-License-Identifier: MIT
/** Scenarios of the caches. Registers: Armv8-M Architecture Reference Manual, D1.2. */
#include "guest.h"

#define CCR (*word(0xE000ED14))
#define CLIDR (*word(0xE000ED78))
#define CTR (*word(0xE000ED7C))
#define CCSIDR (*word(0xE000ED80))
#define CSSELR (*word(0xE000ED84))
#define AIRCR (*word(0xE000ED0C))

#define CCR_DC 0x10000u
#define CCR_IC 0x20000u

/** Operations of the caches, by the offset of their register. */
enum operation {
    ICIALLU = 0xF50,
    ICIMVAU = 0xF58,
    DCIMVAC = 0xF5C,
    DCISW = 0xF60,
    DCCMVAC = 0xF68,
    DCCSW = 0xF6C,
    DCCIMVAC = 0xF70,
    DCCISW = 0xF74,
};

#define LINE 32u
#define SETS 256u
#define WAYS 4u

static void barrier(void)
{
    __asm__ volatile("dsb; isb" ::: "memory");
}

static void operate(enum operation operation, uint32_t value)
{
    *word(0xE000E000u + operation) = value;
}

/** By address, as CMSIS does it. */
static void maintain(enum operation operation, uintptr_t start, size_t size)
{
    barrier();
    for (uintptr_t line = start - start % LINE; line < start + size; line += LINE) {
        operate(operation, line);
    }
    barrier();
}

/** By set and way, from `last_set` down. */
static void maintain_sets(enum operation operation, uint32_t last_set)
{
    barrier();
    for (uint32_t set = last_set + 1; set-- > 0;) {
        for (uint32_t way = WAYS; way-- > 0;) {
            operate(operation, set << 5 | way << 30);
        }
    }
    barrier();
}

void cache_enable(void)
{
    maintain_sets(DCISW, SETS - 1);
    operate(ICIALLU, 0);
    barrier();
    CCR |= CCR_DC | CCR_IC;
    barrier();
}

void cache_clean(uintptr_t start, size_t size)
{
    maintain(DCCMVAC, start, size);
}

void cache_invalidate(uintptr_t start, size_t size)
{
    maintain(DCIMVAC, start, size);
}

SCENARIO(cache_registers)
{
    uint32_t before = CCR;
    report("on_before", before & (CCR_DC | CCR_IC));
    cache_enable();
    report("changed", CCR ^ before);
    report("clidr", CLIDR);
    report("ctr", CTR);
    CSSELR = 0;
    report("data", CCSIDR);
    CSSELR = 1;
    report("instructions", CCSIDR);
    report("selected", CSSELR);
    CCR &= ~CCR_DC;
    report("off_again", CCR ^ before);
    report("neighbours", *word(0xE000ED00) >> 24 == 0x41 && *word(0xE000ED10) == 0); // CPUID, SCR
}

/* --- The NPU -------------------------------------------------------------- */

#define STREAM ((uint32_t *)(DDR + 0x00100000u))
#define SIZE 0x400u

enum step { CLEAN_STREAM = 1, CLEAN_INPUT = 2, CLEAN_OUTPUT = 4, INVALIDATE_OUTPUT = 8, ALL = 15 };

static uint32_t runs; /**< makes each run's data new */

/** Copy with the NPU and these maintenance steps; returns whether the CPU sees the right result. */
static bool npu_copies(unsigned steps, uint32_t from, uint32_t to)
{
    runs++;
    for (uint32_t i = 0; i < SIZE; i += 4) {
        *word(from + i) = runs * 0x10001u + i;
        *word(to + i) = ~runs;
    }
    uint32_t *end = copy(STREAM, from, to, SIZE);
    for (unsigned i = 0; i < 4; i++) {
        end = copy(end, from, DDR + 0x00800000u + runs * SIZE, SIZE); // another stream each time
    }
    end = stop(end);
    if (steps & CLEAN_STREAM) {
        cache_clean((uintptr_t)STREAM, (uintptr_t)end - (uintptr_t)STREAM);
    }
    if (steps & CLEAN_INPUT) {
        cache_clean(from, SIZE);
    }
    if (steps & CLEAN_OUTPUT) {
        maintain(DCCIMVAC, to, SIZE);
    }
    barrier();
    npu_run(STREAM, end);
    NPU(NPU_RESET) = 0; // an old stream may have been a wrong one
    if (steps & INVALIDATE_OUTPUT) {
        cache_invalidate(to, SIZE);
    }
    for (uint32_t i = 0; i < SIZE; i += 4) {
        if (*word(to + i) != *word(from + i)) {
            return false;
        }
    }
    return true;
}

SCENARIO(cache_steps)
{
    cache_enable();
    report("all", npu_copies(ALL, DDR, ISRAM));
    report("without_clean_stream", npu_copies(ALL & ~CLEAN_STREAM, DDR, ISRAM + SIZE));
    report("without_clean_input", npu_copies(ALL & ~CLEAN_INPUT, DDR, ISRAM));
    report("without_clean_output", npu_copies(ALL & ~CLEAN_OUTPUT, DDR, ISRAM));
    report("without_invalidate", npu_copies(ALL & ~INVALIDATE_OUTPUT, DDR, ISRAM));
    report("other_memories", npu_copies(ALL, SSRAM, DDR + SIZE));
    report("secure_alias", npu_copies(ALL, DDR, ISRAM + SECURE));
    report("without_invalidate_of_alias",
           npu_copies(ALL & ~INVALIDATE_OUTPUT, DDR, ISRAM + SECURE));
}

/** While the cache is off, no step is needed. */
SCENARIO(cache_is_off)
{
    report("all", npu_copies(ALL, DDR, ISRAM));
    report("none", npu_copies(0, DDR, ISRAM));
    report("other_memories", npu_copies(0, SSRAM, DDR + SIZE));
}

/** When switched off, the cache writes everything back and hides nothing. */
SCENARIO(cache_off_again)
{
    cache_enable();
    *word(DDR) = 0x11111111;
    report("right", npu_copies(ALL & ~INVALIDATE_OUTPUT, DDR, ISRAM) == false);
    CCR &= ~CCR_DC;
    barrier();
    report("sees_the_output", *word(ISRAM) == *word(DDR));
    report("none", npu_copies(0, DDR, ISRAM));
    cache_enable();
    report("without_invalidate", npu_copies(ALL & ~INVALIDATE_OUTPUT, DDR, ISRAM));
}

SCENARIO(cache_sets_and_ways)
{
    cache_enable();
    *word(DDR) = 1;
    *word(ISRAM) = 0x55555555;
    cache_clean(ISRAM, 4);
    npu_run(STREAM, stop(copy(STREAM, DDR, ISRAM, 16)));
    report("without", *word(ISRAM) == 1);
    maintain_sets(DCCSW, SETS - 2); // leaves one set out
    npu_run(STREAM, stop(copy(STREAM, DDR, ISRAM, 16)));
    cache_invalidate(ISRAM, 16);
    report("without_a_set", *word(ISRAM) == 1);
    maintain_sets(DCCSW, SETS - 1);
    npu_run(STREAM, stop(copy(STREAM, DDR, ISRAM, 16)));
    report("before_the_invalidate", *word(ISRAM) == 1);
    maintain_sets(DCCISW, SETS - 1);
    report("after", *word(ISRAM) == 1);
    *word(DDR + 64) = 2;
    maintain_sets(DCISW, SETS - 1);
    report("lost", *word(DDR + 64) != 2);
}

/* --- Memory that the MPU makes uncached or write-through --------------------- */

#define MPU_CTRL (*word(0xE000ED94))
#define MPU_RNR (*word(0xE000ED98))
#define MPU_RBAR (*word(0xE000ED9C))
#define MPU_RLAR (*word(0xE000EDA0))
#define MPU_MAIR0 (*word(0xE000EDC0))

enum attribute { WRITE_BACK, WRITE_THROUGH, UNCACHED };

static void set_region(uint32_t number, uint32_t first, uint32_t last, enum attribute attribute)
{
    MPU_RNR = number;
    MPU_RBAR = first | 1u << 1; // read and write, execute
    MPU_RLAR = (last & ~31u) | (uint32_t)attribute << 1 | 1u;
}

static void set_mpu(void)
{
    MPU_MAIR0 = 0x44AAFFu;
    set_region(0, SSRAM, SSRAM + 0xFFFFF, WRITE_THROUGH);
    set_region(1, ISRAM, ISRAM + 0xFFFFF, UNCACHED);
    set_region(2, DDR, DDR + DDR_SIZE / 2 - 1, WRITE_BACK); // the rest is background: write-back
    barrier();
    MPU_CTRL = 1 | 1 << 2;
    barrier();
}

SCENARIO(cache_by_the_mpu)
{
    unsigned run = CLEAN_STREAM;
    set_mpu();
    cache_enable();
    report("uncached_to_uncached", npu_copies(run, ISRAM, ISRAM + 0x10000));
    report("through_to_uncached", npu_copies(run, SSRAM, ISRAM));
    report("uncached_to_through", npu_copies(run, ISRAM, SSRAM));
    report("the_same_with_invalidate", npu_copies(run | INVALIDATE_OUTPUT, ISRAM, SSRAM + SIZE));
    report("back_to_uncached", npu_copies(run, DDR, ISRAM));
    report("the_same_with_clean", npu_copies(run | CLEAN_INPUT, DDR, ISRAM));
    report("background_to_uncached", npu_copies(run, DDR + DDR_SIZE / 2, ISRAM));
    report("behind_the_region", npu_copies(run, ISRAM + 0x100000, ISRAM)); // background again
    MPU_RNR = 1;
    MPU_RLAR &= ~1u; // ISRAM is background from now on
    barrier();
    MPU_CTRL = 1 | 1 << 2;
    report("selected", MPU_RNR);
    report("uncached_no_more", npu_copies(CLEAN_STREAM, ISRAM, ISRAM + 0x10000));
    report("all", npu_copies(ALL, ISRAM, ISRAM + 0x10000));
}

/** For evictions: number of wrong runs of a program that does not clean its output. */
SCENARIO(cache_evictions)
{
    cache_enable();
    uint32_t wrong = 0, wrong_without = 0;
    for (int i = 0; i < 40; i++) {
        wrong += !npu_copies(ALL, DDR, ISRAM);
        wrong_without += !npu_copies(ALL & ~CLEAN_OUTPUT, DDR, ISRAM);
    }
    report("wrong", wrong);
    report("wrong_without_clean_output", wrong_without);
    report("ends_at", *word(0x49302018)); // the board's cycles
}

/* --- The machine's reset -------------------------------------------------- */

/** Data that was not cleaned is lost. */
SCENARIO(cache_lost_at_reset)
{
    volatile uint32_t *cleaned = word(DDR), *dirty = word(DDR + 64);
    if (*cleaned == 0) {
        cache_enable();
        *dirty = 1;
        *cleaned = 1;
        cache_clean(DDR, 4);
        AIRCR = 0x05FA0004;
        for (;;) {
        }
    }
    report("cleaned", *cleaned);
    report("dirty", *dirty);
    report("on", CCR & (CCR_DC | CCR_IC));
}

/* --- Code ----------------------------------------------------------------- */

#define CODE (DDR + 0x00200000u)

/** Write a function that returns a number below 256. */
static void write_code(uint32_t number)
{
    *word(CODE) = 0x47702000u | number; // movs r0, #number; bx lr
}

static uint32_t call_code(void)
{
    return ((uint32_t (*)(void))(CODE | 1u))();
}

SCENARIO(code_right)
{
    cache_enable();
    for (uint32_t number = 1; number < 4; number++) {
        write_code(number);
        cache_clean(CODE, 4);
        if (number == 2) {
            operate(ICIMVAU, CODE);
        } else {
            operate(ICIALLU, 0);
        }
        barrier();
        report("returns", call_code());
    }
}

SCENARIO(code_not_cleaned)
{
    cache_enable();
    write_code(1);
    operate(ICIALLU, 0);
    barrier();
    report("returns", call_code());
}

SCENARIO(code_not_invalidated)
{
    cache_enable();
    write_code(1);
    cache_clean(CODE, 4);
    report("returns", call_code()); // nothing was there before
    write_code(2);
    cache_clean(CODE, 4);
    report("returns_again", call_code());
}
