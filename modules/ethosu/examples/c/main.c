// SPDX-License-Identifier: MIT
/**
 * One inference in C, without an operating system, on an MPS3-AN547: NPU, interrupt, clock, memory
 * for the model, inference. See the README of the runtime for how to build and run it.
 */
#include "ethosu_ext.h"
#include "ethosu_model.h"

#include <stdio.h>

#define NPU_REGISTERS ((void *)0x48102000u)
#define NPU_IRQ 56u
#define CPU_HZ 32000000u

/** Memory that the NPU reads and writes: DDR. */
#define OF_NPU __attribute__((section(".npu"), aligned(32)))

__asm__(".section .npu,\"aw\"\n.balign 16\n"
        "model: .incbin \"" MODEL_FILE "\"\nmodel_end:\n.previous");
extern const uint8_t model[], model_end[];

static struct ethosu_driver npu;
static uint8_t arena[1 << 20] OF_NPU;
static uint64_t object[4096 / 8];
static volatile uint32_t milliseconds;

/* ---- the board ---- */

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return milliseconds;
}

static void on_tick(void)
{
    milliseconds++;
}

static void on_npu(void)
{
    ethosu_irq_handler(&npu);
}

/** Write a line through the debugger, or QEMU's semihosting. */
static void print(const char *line)
{
    register int operation __asm__("r0") = 4;
    register const char *text __asm__("r1") = line;
    __asm__ volatile("bkpt 0xAB" : "+r"(operation) : "r"(text) : "memory");
}

static void leave(uint32_t code)
{
    const uint32_t words[2] = {0x20026, code};
    register int operation __asm__("r0") = 0x20;
    register const uint32_t *argument __asm__("r1") = words;
    __asm__ volatile("bkpt 0xAB" : "+r"(operation) : "r"(argument) : "memory");
}

/* ---- the inference ---- */

static int fail(const char *message)
{
    print(message);
    print("\n");
    return 1;
}

static int fail_with(const struct ethosu_ext_fault *fault)
{
    char message[160];
    (void)ethosu_ext_describe(fault, message, sizeof message);
    return fail(message);
}

static void print_outputs(const struct ethosu_model *loaded)
{
    char line[16];
    const struct ethosu_model_buffer *output = ethosu_model_outputs(loaded);
    for (uint32_t i = 0; i < output->size; i++) {
        (void)snprintf(line, sizeof line, "%d\n", ((const int8_t *)output->data)[i]);
        print(line);
    }
}

static int infer(void)
{
    struct ethosu_ext_fault fault;
    struct ethosu_model_error error;
    struct ethosu_model *loaded;

    if (ethosu_init(&npu, NPU_REGISTERS, NULL, 0, 1, 1) != 0) {
        return fail_with(ethosu_ext_last_error(&npu));
    }
    struct ethosu_driver *driver = ethosu_ext_reserve(NULL, 1000, &fault);
    if (driver == NULL) {
        return fail_with(&fault);
    }
    const struct ethosu_model_source source = {
        .file = model, .file_size = (size_t)(model_end - model), .driver = driver};
    struct ethosu_model_memory memory;
    if (ethosu_model_measure(&source, &memory, &error) != ETHOSU_MODEL_OK) {
        return fail(error.text);
    }
    // A program that allocates memory does so here, with the measured sizes.
    memory.object = object;
    memory.object_size = sizeof object;
    memory.arena = arena;
    memory.arena_size = sizeof arena;
    if (ethosu_model_load(&source, &memory, &loaded, &error) != ETHOSU_MODEL_OK) {
        return fail(error.text);
    }
    const struct ethosu_model_buffer *input = ethosu_model_inputs(loaded);
    for (uint32_t i = 0; i < input->size; i++) {
        ((uint8_t *)input->data)[i] = (uint8_t)i;
    }
    int status = ethosu_model_invoke(loaded, driver);
    if (status != ETHOSU_MODEL_OK) {
        (void)ethosu_model_explain(loaded, status, &error);
        return fail(error.text);
    }
    print_outputs(loaded);
    ethosu_release_driver(driver);
    return 0;
}

/* ---- start ---- */

void reset(void);

extern char stack_top[];

__attribute__((section(".vectors"), used, aligned(512))) static const void *const vectors[] = {
    stack_top, reset, reset, reset, [15] = on_tick, [16 + NPU_IRQ] = on_npu,
};

void reset(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;       // CPACR: floating point and MVE
    *(volatile uint32_t *)0xE000E014u = CPU_HZ / 1000 - 1; // SysTick: every millisecond
    *(volatile uint32_t *)0xE000E018u = 0;
    *(volatile uint32_t *)0xE000E010u = 7;
    *(volatile uint32_t *)(0xE000E100u + 4 * (NPU_IRQ / 32)) = 1u << NPU_IRQ % 32; // NVIC
    __asm__ volatile("cpsie i");
    leave((uint32_t)infer());
    for (;;) {
    }
}
