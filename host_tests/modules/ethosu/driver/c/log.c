// SPDX-License-Identifier: MIT
/** A program with the driver's log: one inference, then one that the NPU fails, then a refusal. */
#include "ethosu_log.h"
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
