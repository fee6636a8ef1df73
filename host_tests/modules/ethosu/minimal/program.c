// SPDX-License-Identifier: MIT
/** A complete firmware that loads and runs a model, without any other part of the module. */
#include "ethosu_board.h"
#include "ethosu_driver.h"
#include "ethosu_model.h"

extern const uint8_t model_file[1024];

const struct ethosu_board ethosu_board = {.name = "program"};
static struct ethosu_driver npu;
static _Alignas(16) uint8_t object[1024];
static _Alignas(32) uint8_t arena[65536];

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return 0;
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    (void)flag;
}

void npu_interrupt(void)
{
    ethosu_irq_handler(&npu);
}

int main(void)
{
    struct ethosu_model_source source = {
        .file = model_file, .file_size = sizeof model_file, .driver = &npu, .skip_verify = true};
    struct ethosu_model_memory memory = {
        .object = object, .object_size = sizeof object, .arena = arena, .arena_size = sizeof arena};
    struct ethosu_model_error error;
    struct ethosu_model *model;
    if (ethosu_init(&npu, (void *)0x48102000, NULL, 0, 1, 1) != 0 ||
        ethosu_model_load(&source, &memory, &model, &error) != ETHOSU_MODEL_OK) {
        return 1;
    }
    return ethosu_model_invoke(model, &npu);
}
