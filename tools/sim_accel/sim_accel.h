// SPDX-License-Identifier: MIT
/**
 * The kernel's side of /dev/accel/accel*, in this process, over the simulator: what
 * ethosu_accel_open() calls instead of the C library's functions.
 *
 *     sim_accel_set_up("ethos-u65-256", 393216);
 *     ethosu_accel_open("/dev/accel/accel0", sim_accel_calls(), &fault);
 *
 * It accepts and refuses as Linux 7.3's driver does, as far as host_tests/linux shows
 * that; jobs run in the call that submits them, unless they are held.
 */
#ifndef SIM_ACCEL_H
#define SIM_ACCEL_H

#include <stdbool.h>
#include <stddef.h>

struct ethosu_accel_calls;

const struct ethosu_accel_calls *sim_accel_calls(void);

/**
 * Which NPU the files that are opened from now on have.
 *
 * @param sram  bytes of SRAM; 0: none
 * @return      false: the simulator knows no such config
 */
bool sim_accel_set_up(const char *config, size_t sram);

/** Let the next jobs be killed, as those that hang or meet a bus error: nothing says so. */
void sim_accel_lose(unsigned jobs);

/** Let jobs wait from now on; false: run those that wait, and all others at once. */
void sim_accel_hold(bool on);

/** Let the next call of this ioctl number (from 0x40 on) fail with an errno. */
void sim_accel_fail(unsigned number, int error);

/** Files that are open, and buffers in all of them. */
unsigned sim_accel_open_files(void);
unsigned sim_accel_buffers(void);

#endif
