// SPDX-License-Identifier: MIT
/**
 * A client of Arm's driver, like TensorFlow Lite Micro's kernel: it uses only Arm's headers, links
 * a static library, and reserves, invokes and releases for each inference. It has no ethosu_board,
 * and overrides three of the semaphore's hooks, as Zephyr's glue code does.
 */
#include <ethosu_driver.h>
#include <pmu_ethosu.h>

#include "semihost.h"

#include <stdlib.h>
#include <string.h>

#include "client_model.h" // made by test_library.py: payload, constants, sizes, input and output

#ifndef NPU_AT // else of another machine, with NPU_IRQ
#define NPU_AT 0x48102000u
#define NPU_IRQ 56u
#endif
#define NPU_BASE ((void *)NPU_AT)
#define RUNS 5u
#define IN_NPU_MEMORY __attribute__((section(".npu"), aligned(32)))

static struct ethosu_driver npu;
static uint32_t payload[] IN_NPU_MEMORY = {CLIENT_PAYLOAD};
static uint8_t constants[CLIENT_CONSTANTS_SIZE] IN_NPU_MEMORY = {CLIENT_CONSTANTS};
static uint8_t scratch[CLIENT_SCRATCH_SIZE] IN_NPU_MEMORY = {0};
static uint8_t fast_scratch[CLIENT_FAST_SCRATCH_SIZE] IN_NPU_MEMORY = {0};
static const uint8_t input[] = {CLIENT_INPUT};
static const uint8_t expected[] = {CLIENT_OUTPUT};
static unsigned results[3];
static unsigned seen; // of the job's members, at its end

/* ---- hooks ---- */

#ifndef CLIENT_NO_HOOKS // else the archive's semaphore, and its clock
struct semaphore {
    volatile unsigned count;
};

static struct semaphore semaphores[4];
#endif
static unsigned semaphores_made;

#ifndef CLIENT_NO_HOOKS
void *ethosu_semaphore_create(void)
{
    return &semaphores[semaphores_made++ % 4];
}

int ethosu_semaphore_take(void *sem, uint64_t timeout)
{
    struct semaphore *semaphore = sem;
    for (uint64_t waited = 0; semaphore->count == 0; waited++) {
        if (waited == timeout) {
            return -1;
        }
        __asm__ volatile("wfe");
    }
    semaphore->count--;
    return 0;
}

int ethosu_semaphore_give(void *sem)
{
    ((struct semaphore *)sem)->count++;
    __asm__ volatile("sev");
    return 0;
}

#endif

#ifdef CLIENT_ADAPTERS
/** RLATENCY to BWCAP of the timing adapters at two ports, and where they are. */
static const uint32_t settings[2][5] = {CLIENT_ADAPTERS};
static const uintptr_t adapters[2] = {CLIENT_ADAPTERS_AT};
static uint32_t cycles;

static void set_adapters(void)
{
    for (unsigned port = 0; port < 2; port++) {
        for (unsigned i = 0; i < 5; i++) {
            ((volatile uint32_t *)adapters[port])[3 + i] = settings[port][i];
        }
    }
}

void ethosu_inference_begin(struct ethosu_driver *drv, void *user_arg)
{
    (void)user_arg;
    ETHOSU_PMU_Enable(drv);
    ETHOSU_PMU_CYCCNT_Reset(drv);
    ETHOSU_PMU_CNTR_Enable(drv, ETHOSU_PMU_CCNT_Msk);
}
#endif

void ethosu_inference_end(struct ethosu_driver *drv, void *user_arg)
{
    (void)user_arg;
#ifdef CLIENT_ADAPTERS
    cycles = (uint32_t)ETHOSU_PMU_Get_CCNTR(drv);
#endif
    results[drv->job.result]++;
    seen += drv->job.custom_data_ptr == payload && drv->job.custom_data_size == sizeof payload &&
            drv->job.num_base_addr == 3 && drv->job.base_addr[1] == (uintptr_t)scratch &&
            drv->job.base_addr_size[1] == sizeof scratch;
}

/* ---- the interrupt ---- */

static void npu_interrupt(void)
{
    ethosu_irq_handler(&npu);
}

__attribute__((aligned(512))) static const void *table[128];

static void connect(void)
{
    memcpy(table, vectors, sizeof vectors);
    table[16 + NPU_IRQ] = npu_interrupt;
    *(volatile uint32_t *)0xE000ED08u = (uintptr_t)table;
#ifndef CLIENT_NO_INTERRUPT
    *(volatile uint32_t *)(0xE000E100u + 4 * (NPU_IRQ / 32)) = 1u << NPU_IRQ % 32;
#endif
    __asm__ volatile("cpsie i");
}

/* ---- what it does ---- */

static int infer(void)
{
    uint64_t bases[3] = {(uintptr_t)constants, (uintptr_t)scratch, (uintptr_t)fast_scratch};
    const size_t sizes[3] = {sizeof constants, sizeof scratch, sizeof fast_scratch};
    struct ethosu_driver *drv = ethosu_reserve_driver();
    int result = ethosu_invoke_v3(drv, payload, sizeof payload, bases, sizes, 3, NULL);
    ethosu_release_driver(drv);
    return result;
}

static unsigned wrong_bytes(void)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < sizeof expected; i++) {
        wrong += scratch[CLIENT_OUTPUT_AT + i] != expected[i];
    }
    return wrong;
}

static void run_often(void)
{
    unsigned wrong = 0;
    unsigned failed = 0;
    uint32_t last = 0;
    uint32_t first = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        memset(scratch, 0xA5, sizeof scratch);
        memcpy(scratch + CLIENT_INPUT_AT, input, sizeof input);
        uint32_t before = SYST_CVR;
        failed += infer() != 0;
        last = (before - SYST_CVR) & 0xFFFFFFu;
        first = run == 0 ? last : first;
        wrong += wrong_bytes();
    }
    print("failed", failed);
    print("wrong", wrong);
    print("first_ticks", first);
    print("ticks", last);
}

/** Find the events of this NPU, like Arm's example. */
static unsigned count_events(void)
{
    unsigned events = 0;
    ETHOSU_PMU_Enable(&npu);
    for (unsigned type = 0; type < ETHOSU_PMU_SENTINEL; type++) {
        ETHOSU_PMU_Set_EVTYPER(&npu, 0, ETHOSU_PMU_NO_EVENT);
        ETHOSU_PMU_Set_EVTYPER(&npu, 0, (enum ethosu_pmu_event_type)type);
        events += ETHOSU_PMU_Get_EVTYPER(&npu, 0) == type;
    }
    ETHOSU_PMU_Disable(&npu);
    return events;
}

/** Objects that an ethosu_semaphore_destroy() would have to free; this port has none. */
static unsigned thousand_initialisations(void)
{
    unsigned before = semaphores_made;
    for (unsigned i = 0; i < 1000; i++) {
        struct ethosu_driver *drv = ethosu_reserve_driver();
        ethosu_release_driver(drv);
        ethosu_deinit(&npu);
        (void)ethosu_init(&npu, NPU_BASE, NULL, 0, 1, 1);
    }
    return semaphores_made - before;
}

void reset(void)
{
    start_counter();
    connect();
#ifdef UART
    *(volatile uint32_t *)(UART + 16) = 217; // 115,200 baud at 25 MHz
    *(volatile uint32_t *)(UART + 8) = 1;
#endif
    print("init", (uint32_t)-ethosu_init(&npu, NPU_BASE, NULL, 0, 1, 1));
#ifdef CLIENT_ADAPTERS
    set_adapters();
#endif
    run_often();
#ifdef CLIENT_ADAPTERS
    print("cycles", cycles);
#endif
    print("results_ok", results[ETHOSU_JOB_RESULT_OK]);
    print("late", results[ETHOSU_JOB_RESULT_TIMEOUT]);
    print("seen", seen);
    print("events", count_events());
    print("semaphores_lost", thousand_initialisations());
    leave(0);
}
