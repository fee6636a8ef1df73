// SPDX-License-Identifier: MIT
/**
 * A program that prints the driver's log: of an inference, of one that fails on the NPU, and of a
 * rejected call.
 */
#include "driver/base/ethosu_log.h"
#include "board.h"

void ethosu_ext_log(int severity, const char *text)
{
    printf("%d %s\n", severity, text);
}

TEST(all)
{
    struct ethosu_driver *drv = open_driver("ethos-u55-128");
    CHECK_EQ(run_good(drv), 0);
    inject("bus-error", 1);
    CHECK_EQ(run_good(drv), -1);
    CHECK_EQ(ethosu_wait(drv, true), -2);
}
