// SPDX-License-Identifier: MIT
/**
 * The kernel side of /dev/accel/accel*, implemented in this process with the simulator.
 * ethosu_accel_open() calls it instead of the C library's functions.
 *
 *     sim_accel_set_up("ethos-u65-256", 393216);
 *     ethosu_accel_open("/dev/accel/accel0", sim_accel_calls(), &fault);
 *
 * It accepts and rejects calls like Linux 7.3's driver, as far as host_tests/linux verifies that.
 * Jobs run in the call that submits them, unless they are held.
 */
#ifndef SIM_ACCEL_H
#define SIM_ACCEL_H

#include <stdbool.h>
#include <stddef.h>

struct ethosu_accel_calls;

const struct ethosu_accel_calls *sim_accel_calls(void);

/**
 * Select the NPU for files opened from now on.
 *
 * @param sram  bytes of SRAM; 0 for none
 * @return      false if the simulator does not support the config
 */
bool sim_accel_set_up(const char *config, size_t sram);

/** Let the next jobs be killed silently, like jobs that hang or cause a bus error. */
void sim_accel_drop(unsigned jobs);

/** Hold jobs from now on; false runs the held ones, and all others immediately. */
void sim_accel_hold(bool on);

/** Make the next call of this ioctl number (from 0x40 on) fail with an errno. */
void sim_accel_fail(unsigned number, int error);

/** Number of open files, and of buffers in all of them. */
unsigned sim_accel_open_files(void);
unsigned sim_accel_buffers(void);

#endif
