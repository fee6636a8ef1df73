// SPDX-License-Identifier: MIT
/**
 * Interrupts that are lost, late, doubled or not the NPU's, and the time-out that races with them.
 */
#include "board.h"

DRIVER_TEST(a_lost_interrupt_is_reported_as_a_time_out, "ethos-u55-128")
{
    inject("irq-lost", 1);
    check_error(drv, run_good(drv), ETHOSU_EXT_E_IRQ_LOST,
                "no interrupt came within 10000 ms: end reached");
    CHECK_EQ(ethosu_ext_errno(ETHOSU_EXT_E_IRQ_LOST), ETHOSU_EXT_ETIMEDOUT);
    check_next_works(drv);
}

/** The interrupt occurs at each register access from a poll to the release, or of a time-out. */
TEST(an_interrupt_before_a_reset_leaves_no_stale_completion)
{
    for (unsigned at = 1; at < 40; at++) {
        for (unsigned polls = 0; polls < 2; polls++) {
            struct ethosu_driver *drv = open_driver("ethos-u55-128");
            start_endless(drv);
            CHECK(!polls || ethosu_wait(drv, false) == 1);
            npus[0].complete_at = npus[0].accesses + at;
            if (polls) {
                ethosu_release_driver(drv);
            } else {
                int result = ethosu_ext_wait(drv, 5);
                CHECK(result == -1 || result == 0);
            }
            check_clean(drv);
            (void)ethosu_ext_reserve_this(drv, 0);
            check_next_works(drv);
            ethosu_deinit(drv);
        }
    }
}

static void complete_in_the_last_moment(void)
{
    complete(0);
}

DRIVER_TEST(an_inference_that_ends_as_the_time_runs_out_is_a_success, "ethos-u55-128")
{
    npus[0].end = END_NEVER;
    on_sleep = complete_in_the_last_moment;
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(ethosu_ext_wait(drv, 1), 0);
    check_next_works(drv);
}

DRIVER_TEST(a_late_interrupt_of_an_old_job_does_not_complete_the_new_one, "ethos-u55-128")
{
    start_endless(drv);
    CHECK_EQ(ethosu_ext_wait(drv, 5), -1);
    CHECK_EQ(start_good(drv), 0);
    ethosu_irq_handler(drv); // latched by the interrupt controller before the reset
    CHECK_EQ(ethosu_wait(drv, false), 1);
    complete(0);
    CHECK_EQ(ethosu_wait(drv, false), 0);
    check_next_works(drv);
}

DRIVER_TEST(a_doubled_interrupt_completes_once, "ethos-u55-128")
{
    CHECK_EQ(start_good(drv), 0);
    ethosu_irq_handler(drv);
    CHECK_EQ(ethosu_wait(drv, true), 0);
    ethosu_irq_handler(drv);
    check_next_works(drv);
}

DRIVER_TEST(a_counter_interrupt_is_silenced_and_not_a_completion, "ethos-u55-128")
{
    start_endless(drv);
    set_reg(0, NPU_PMINTSET, 0xF);
    *storage(0, NPU_STATUS) |= ETHOSU_EXT_STATUS_PMU_IRQ;
    ethosu_irq_handler(drv);
    CHECK_EQ(reg(0, NPU_PMINTSET), 0);
    CHECK_EQ(drv->spurious, 0); // it was for something
    CHECK_EQ(ethosu_wait(drv, false), 1);
    CHECK_EQ(ethosu_ext_cancel(drv), 0);
    check_next_works(drv);
}

DRIVER_TEST(an_irq_command_is_not_a_completion, "ethos-u55-128")
{
    start_endless(drv);
    *storage(0, NPU_STATUS) |= ETHOSU_EXT_STATUS_IRQ_RAISED; // NPU_OP_IRQ
    ethosu_irq_handler(drv);
    CHECK_EQ(ethosu_wait(drv, false), 1);
    complete(0);
    CHECK_EQ(ethosu_wait(drv, true), 0);
    check_clean(drv);
}
