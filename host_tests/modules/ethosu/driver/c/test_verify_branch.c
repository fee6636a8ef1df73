// SPDX-License-Identifier: MIT
/** The verifier against Ethos-U85 streams that branch. */
#include "walked.h"

enum { STOP = 0x000, BRANCH = 0x100 /* has a payload */ };

/** A branch to a byte of the stream, always or if the result flag is set. */
static void branch(uint32_t condition, uint32_t target)
{
    put(0x4000 | BRANCH, condition);
    words[count++] = target;
}

/** Copy so many bytes from region 0 to region 1. */
static void copy(uint32_t bytes)
{
    PUT(0x130, 0, 0x131, 1);
    PAY(0x30, 0, 0x31, 0, 0x32, bytes);
    put(DMA, 0);
}

TEST(a_target_is_the_begin_of_a_command)
{
    static const struct {
        uint32_t target;
        int error;
    } cases[] = {
        {0, 0},                           // begin
        {4, ETHOSU_EXT_E_BRANCH_TARGET},  // payload of the first command
        {6, ETHOSU_EXT_E_BRANCH_TARGET},  // inside a word
        {8, 0},                           // DMA_WAIT
        {12, 0},                          // the branch itself
        {16, ETHOSU_EXT_E_BRANCH_TARGET}, // its payload
        {20, 0},                          // STOP
        {24, ETHOSU_EXT_E_BRANCH_TARGET}, // behind all
        {UINT32_MAX, ETHOSU_EXT_E_BRANCH_TARGET},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        count = 0;
        pay(0x32, 64);
        put(DMA_WAIT, 0);
        branch(0, cases[i].target);
        CHECK_EQ(verify(U85, 2), cases[i].error);
    }
    CHECK_TEXT(sentence(), "branches to byte 4294967295, where none of its commands begins");
}

TEST(a_branch_has_two_conditions_and_a_payload)
{
    count = 0;
    branch(2, 0);
    CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_COMMAND_UNKNOWN);
    words[0] = 0x4000 | BRANCH;
    CHECK_EQ(ethosu_ext_verify(words, 4, U85, size, 2, NULL, &fault), ETHOSU_EXT_E_COMMAND_CUT);
    words[0] = 0x4000 | BRANCH;
    CHECK_EQ(ethosu_ext_verify(words, 8, 0x1807, size, 2, NULL, &fault),
             ETHOSU_EXT_E_COMMAND_UNKNOWN);
}

/** Without what was set before it: the NPU may come from elsewhere. */
TEST(registers_are_set_anew_behind_a_target)
{
    size[0] = size[1] = 64;
    count = 0;
    copy(64);
    uint32_t loop = count;
    copy(64);
    branch(1, 4 * loop);
    CHECK_EQ(verify(U85, 2), 0);
    CHECK_EQ(written, 2);
    words[loop] = DMA_WAIT; // instead of the source region
    CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_COMMAND_UNSET);
    CHECK_EQ(fault.found, 0x130);
    count -= 2; // without the branch it is known
    CHECK_EQ(verify(U85, 2), 0);
}

TEST(each_way_is_bounded)
{
    size[0] = size[1] = 64;
    for (unsigned i = 0; i < 3; i++) {
        count = 0;
        branch(1, 4 * 13);
        copy(i == 1 ? 65 : 64); // words 2 to 10
        branch(0, 4 * 22);      // words 11 and 12
        copy(i == 2 ? 65 : 64); // words 13 to 21
        CHECK_EQ(verify(U85, 2), i == 0 ? 0 : ETHOSU_EXT_E_REGION_BOUNDS);
    }
}

TEST(the_walk_goes_on_behind_a_stop_that_is_jumped_over)
{
    size[0] = size[1] = 64;
    count = 0;
    branch(1, 4 * 3);
    put(STOP, 0);
    copy(65);
    CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_REGION_BOUNDS);
    count = 0;
    branch(1, 4 * 3);
    PUT(STOP, 0, DMA_WAIT, 0);
    CHECK_EQ(ethosu_ext_verify(words, 4 * count, U85, size, 2, NULL, NULL),
             ETHOSU_EXT_E_COMMAND_NO_STOP);
    put(STOP, 0);
    words[count++] = UINT32_MAX; // this one nobody reaches
    CHECK_EQ(ethosu_ext_verify(words, 4 * count, U85, size, 2, NULL, NULL), 0);
}

TEST(an_unknown_register_is_found_in_each_piece)
{
    count = 0;
    put(0x106, 0); // no such register
    branch(1, 12);
    put(DMA_WAIT, 0);
    CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_COMMAND_UNKNOWN);
    CHECK_EQ(fault.found, 0x106);
    count = 0;
    branch(1, 16);
    put(STOP, 0);
    put(0x106, 0); // nobody reaches this one
    put(DMA_WAIT, 0);
    CHECK_EQ(verify(U85, 2), 0);
    words[4] = 0x106;
    CHECK_EQ(verify(U85, 2), ETHOSU_EXT_E_COMMAND_UNKNOWN);
    CHECK_EQ(fault.found, 0x106);
    CHECK_EQ(fault.index, 4);
}

TEST(more_targets_than_can_be_kept_are_refused)
{
    for (uint32_t targets = 48; targets <= 49; targets++) {
        count = 0;
        for (uint32_t i = 0; i < targets; i++) {
            branch(1, 8 * (targets - 1 - i)); // from behind: each goes before the others
        }
        branch(1, 0); // one that is known counts no more
        CHECK_EQ(verify(U85, 2), targets == 48 ? 0 : ETHOSU_EXT_E_BRANCH_COUNT);
    }
    CHECK_TEXT(sentence(), "branches to more than 48 places");
}
