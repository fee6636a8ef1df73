// SPDX-License-Identifier: MIT
/**
 * The verifier: streams that branch.
 *
 * The stream is split at branch targets, and each piece is walked with all
 * registers unset. Whichever path the NPU takes, it executes only commands that
 * were checked, with the registers that they were checked with. The walk is
 * therefore linear, even with loops. It does not check that loops end. Tables that an
 * earlier piece fills count as filled, because Vela 5.2 fills them once in the order of
 * the stream; so a stream can jump over that and see the tables of the job before.
 */
#include "driver/verify/ethosu_verify.h"

#include "driver/base/ethosu_fault.h"

#define TARGETS 48u /**< enough for loops and conditions nested 16 deep, at three each */

/** Byte offsets of the pieces in the stream, ascending. */
struct targets {
    uint32_t count;
    uint32_t at[TARGETS];
};

static int insert(struct targets *targets, uint32_t target, struct ethosu_ext_fault *fault)
{
    uint32_t place = 0;
    while (place < targets->count && targets->at[place] < target) {
        place++;
    }
    if (place < targets->count && targets->at[place] == target) {
        return 0;
    }
    if (targets->count == TARGETS) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_BRANCH_COUNT, -1, TARGETS + 1, TARGETS);
    }
    memmove(&targets->at[place + 1], &targets->at[place],
            (targets->count++ - place) * sizeof targets->at[0]);
    targets->at[place] = target;
    return 0;
}

/** Bytes of a command. */
static uint32_t length_of(uint32_t word)
{
    return word & CODE_PAYLOAD ? 8 : 4;
}

/** Collect the branch targets, up to the last reachable STOP. */
static int collect(const struct walk *walk, struct targets *targets)
{
    uint32_t bytes = (uint32_t)(walk->end - walk->stream);
    uint32_t furthest = 0;
    uint32_t word;
    for (uint32_t at = 0; at < bytes; at += length_of(word)) {
        word = word_at(walk->stream + at);
        if (CODE(word) == NPU_OP_STOP && at + 4 > furthest) {
            return 0;
        }
        if (CODE(word) == NPU_OP_BRANCH && at + 4 < bytes) {
            uint32_t target = word_at(walk->stream + at + 4);
            furthest = target > furthest ? target : furthest;
            RETURN_IF_ERROR(insert(targets, target, walk->fault));
        }
    }
    return 0;
}

/** Does a command begin at each target? */
static int check_targets(const struct walk *walk, const struct targets *targets)
{
    uint32_t bytes = (uint32_t)(walk->end - walk->stream);
    uint32_t at = 0;
    for (uint32_t i = 0; i < targets->count; i++) {
        while (at < targets->at[i] && at < bytes) {
            at += length_of(word_at(walk->stream + at));
        }
        if (at != targets->at[i] || at >= bytes) {
            return ethosu_ext_refuse(walk->fault, ETHOSU_EXT_E_BRANCH_TARGET, -1, targets->at[i],
                                     bytes);
        }
    }
    return 0;
}

int ethosu_ext_walk_branch(struct walk *walk, uint32_t word)
{
    if (CODE(word) != NPU_OP_BRANCH || PARAM(word) > 1) {
        return ethosu_ext_walk_refuse_command(walk, word);
    }
    if (walk->at == walk->end - 4) {
        return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_COMMAND_CUT, 0, 0);
    }
    walk->at += 4;
    walk->stopped = !walk->branches;
    walk->branches = true;
    return 0;
}

int ethosu_ext_walk_pieces(struct walk *walk)
{
    int error = ethosu_ext_walk_straight(walk);
    if (error != 0 || !walk->branches) { // most streams do not branch
        return error;
    }
    struct targets targets;
    targets.count = 0;
    walk->stopped = false;
    RETURN_IF_ERROR(collect(walk, &targets));
    RETURN_IF_ERROR(check_targets(walk, &targets));
    const uint8_t *at = walk->stream;
    for (uint32_t i = 0; i <= targets.count; i++) {
        const uint8_t *end = i < targets.count ? walk->stream + targets.at[i] : walk->end;
        RETURN_IF_ERROR(ethosu_ext_walk_run(walk, at, end));
        at = end;
    }
    return 0;
}
