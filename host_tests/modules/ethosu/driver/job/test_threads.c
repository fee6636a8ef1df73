// SPDX-License-Identifier: MIT
/** Another thread, or a hook of a call, acts at each moment of that call. */
#include "board.h"

static struct ethosu_driver *late_driver;

static void cancel_now(void)
{
    int error = ethosu_ext_cancel(late_driver);
    CHECK(error == 0 || error == ETHOSU_EXT_E_BUSY);
}

static void release_now(void)
{
    ethosu_release_driver(late_driver);
}

static void release_and_start_now(void)
{
    ethosu_release_driver(late_driver);
    if (ethosu_ext_reserve_this(late_driver, 0) == 0) { // only when the call has left the handle
        CHECK_EQ(start_good(late_driver), 0);
    }
}

static void start_now(void)
{
    CHECK_EQ(start_good(late_driver), -1);
}

static void reset_now(void)
{
    (void)ethosu_soft_reset(late_driver);
}

static void deinit_now(void)
{
    ethosu_deinit(late_driver);
}

static void wait_now(void)
{
    int result = ethosu_ext_wait(late_driver, 5);
    CHECK(result == 0 || result == -1 || (result == -2 && !is_running(0)));
}

static void look_now(void)
{
    bool works = is_running(0);
    int result = ethosu_ext_wait(late_driver, 0);
    CHECK(result == 1 || result == 0 || !works);
    CHECK(ethosu_ext_is_running(late_driver) || !works);
}

/** One inference, at the Nth register access or hook of which another thread acts, for every N. */
TEST(the_npu_never_runs_unowned_whatever_another_thread_does)
{
    static void (*const interferences[])(void) = {cancel_now, release_now, release_and_start_now,
                                                  start_now,  reset_now,   deinit_now,
                                                  wait_now,   look_now};
    for (unsigned which = 0; which < sizeof interferences / sizeof interferences[0]; which++) {
        for (unsigned at = 1; at < 60; at++) {
            struct ethosu_driver *drv = late_driver = open_driver("ethos-u55-128");
            npus[0].end = at % 2 ? END_ON_SLEEP : END_AT_ONCE;
            interfere = interferences[which];
            accesses_left = at;
            int result = ethosu_invoke_v3(drv, good_payload, GOOD_PAYLOAD_SIZE, good_bases,
                                          good_sizes, 3, NULL);
            bool acted = accesses_left == 0;
            accesses_left = 0;
            interfere = NULL;
            CHECK(result == 0 || (result == -1 && acted));
            CHECK(result == 0 || interferences[which] != start_now);
            if (interferences[which] == deinit_now && acted) {
                CHECK(ethosu_ext_next(NULL) == NULL);
                continue;
            }
            CHECK_EQ(ethosu_ext_cancel(drv), 0);
            CHECK(!is_running(0));
            check_clean(drv);
            (void)ethosu_ext_reserve_this(drv, 0);
            check_next_works(drv);
            ethosu_deinit(drv);
        }
    }
}

/** The holder acts at the Nth moment of a cancel by another thread. */
TEST(cancel_reports_success_only_when_the_npu_has_stopped)
{
    static void (*const holders[])(void) = {look_now, wait_now, release_now};
    for (unsigned which = 0; which < sizeof holders / sizeof holders[0]; which++) {
        unsigned acted = 0;
        for (unsigned at = 1; at < 40; at++) {
            struct ethosu_driver *drv = late_driver = open_driver("ethos-u55-128");
            start_endless(drv);
            interfere = holders[which];
            accesses_left = at;
            uint32_t start = clock_ms;
            CHECK_EQ(ethosu_ext_cancel(drv), 0);
            bool waited = clock_ms - start >= 5000; // for the cancel, which is below this call
            CHECK(which == 0 || at > 1 || waited);
            acted += accesses_left == 0;
            accesses_left = 0;
            CHECK(!is_running(0));
            check_clean(drv);
            CHECK_EQ(ethosu_ext_reserve_this(drv, 0),
                     which == 2 && acted == at ? 0 : ETHOSU_EXT_E_NONE_FREE);
            check_next_works(drv);
            ethosu_deinit(drv);
        }
        CHECK(acted > 5);
    }
}

static unsigned sleeps;

/** Two calls wait; then a third thread cancels. */
static void wait_within_the_wait(void)
{
    sleeps++;
    CHECK(sleeps <= 2);
    if (sleeps == 1) {
        CHECK_EQ(ethosu_ext_wait(late_driver, ETHOSU_SEMAPHORE_WAIT_FOREVER), -1);
    } else {
        CHECK_EQ(ethosu_ext_cancel(late_driver), 0);
    }
}

DRIVER_TEST(a_leaving_call_wakes_all_waiting_calls, "ethos-u55-128")
{
    late_driver = drv;
    start_endless(drv);
    on_sleep = wait_within_the_wait;
    check_error(drv, ethosu_ext_wait(drv, ETHOSU_SEMAPHORE_WAIT_FOREVER), ETHOSU_EXT_E_CANCELLED,
                "");
    CHECK_EQ(sleeps, 2);
    check_next_works(drv);
}
