// SPDX-License-Identifier: MIT
/** Failures while non-volatile memory is being written. */
#include "memory/power_cut.h"

#include <stddef.h>
#include <string.h>

#include "base/message.h"

static struct {
    unsigned left;  /**< steps until the power fails; 0 for never */
    unsigned again; /**< the same for cut-again, counted from the end of that cut */
    unsigned fail;  /**< steps until one is rejected; 0 for never */
    unsigned lost;  /**< steps until one has no effect; 0 for never */
    unsigned seed;
    bool second; /**< waiting for the step of cut-again */
    bool off;    /**< power has failed, and the machine has not been reset since */
} power;

static bool (*npu_runs)(void);
static void (*lose_power)(void);

void power_cut_create(bool (*any_npu_runs)(void), void (*lose)(void))
{
    npu_runs = any_npu_runs;
    lose_power = lose;
}

/** xorshift64 */
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void write_torn(uint8_t *at, const uint8_t *bytes, uint32_t size)
{
    uint64_t state = 0x9E3779B97F4A7C15u * (power.seed + UINT64_C(1));
    for (uint32_t i = 0; i < size; i++) {
        const uint8_t changed = (uint8_t)(next(&state) >> 32);
        at[i] = (uint8_t)((at[i] & ~changed) | (bytes[i] & changed));
    }
}

/** Count down. @return  this step is the one */
static bool is_due(unsigned *steps, const char *fault, uint32_t size)
{
    const bool due = *steps != 0 && --*steps == 0;
    if (due) {
        message(MESSAGE_GUEST_ERROR, "nvm: injected fault %s, instead of a change of %u bytes",
                fault, size);
    }
    return due;
}

bool power_cut_write(uint8_t *at, const uint8_t *bytes, uint32_t size)
{
    if (power.off) {
        return true; // not observable
    }
    if (npu_runs()) {
        message(MESSAGE_GUEST_ERROR, "nvm: %u bytes change while an NPU may read them", size);
    }
    if (is_due(&power.fail, "fail", size)) {
        return false;
    }
    if (is_due(&power.lost, "lost", size)) {
        return true;
    }
    if (power.left == 0 || --power.left > 0) {
        memcpy(at, bytes, size);
        return true;
    }
    write_torn(at, bytes, size);
    message(MESSAGE_GUEST_ERROR, "nvm: injected fault %s, while %u bytes change",
            power.second ? "cut-again" : "cut", size);
    power.off = true;
    lose_power();
    return true;
}

bool power_cut_inject(const char *fault, unsigned count)
{
    const struct {
        const char *name;
        unsigned *value;
    } values[] = {{"cut", &power.left},
                  {"cut-again", &power.again},
                  {"seed", &power.seed},
                  {"fail", &power.fail},
                  {"lost", &power.lost}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (strcmp(values[i].name, fault) == 0) {
            *values[i].value = count;
            power.second = power.second && i != 0;
            return true;
        }
    }
    return false;
}

void power_cut_reset(void)
{
    if (power.off) {
        power.left = power.again;
        power.again = 0;
        power.second = true;
    }
    power.off = false;
}
