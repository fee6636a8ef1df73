// SPDX-License-Identifier: MIT
/** Operations as they were decoded the last time. */
#include "time/memo.h"

#include <stdlib.h>
#include <string.h>

#include "core/clones.h"

enum { BASE_UNIT = 16 /**< alignment of QBASE */ };

/** Operations of a stream have successive slots, and streams begin at different ones. */
static struct npu_memo **slot_of(struct npu *npu)
{
    uint64_t start = npu->run.qbase / BASE_UNIT * 0x9E3779B97F4A7C15u >> 32;
    return &npu->memos[(start + npu->run.operations) % NPU_MEMOS];
}

/** All bytes are set, so that keys can be compared as memory. */
static void fill_key(const struct npu *npu, uint32_t param, struct npu_memo_key *key)
{
    const struct npu_run *run = &npu->run;
    memset(key, 0, sizeof *key);
    memcpy(key->base, run->base, sizeof key->base);
    memcpy(key->lut_written, npu->lut_written, sizeof key->lut_written);
    memcpy(key->port, run->port, sizeof key->port);
    memcpy(&key->kept, &run->kept, sizeof key->kept);
    key->row = run->row;
    key->param = param;
    key->payload = run->payload;
    key->qsize = run->qsize;
    key->region_config = run->region_config;
}

struct npu_memo *npu_memo_find(struct npu *npu, uint32_t param)
{
    struct npu_memo **slot = slot_of(npu);
    if (*slot == NULL) {
        *slot = calloc(1, sizeof **slot);
    }
    struct npu_memo *memo = *slot;
    if (memo == NULL) {
        npu_fail(npu, NPU_FAULT_PARSE, "no host memory for it");
        return NULL;
    }
    struct npu_memo_key key;
    fill_key(npu, param, &key);
    if (NPU_FAST_WAYS && memo->valid && memcmp(&memo->key, &key, sizeof key) == 0 &&
        memcmp(memo->command, npu->command, sizeof memo->command) == 0 &&
        memcmp(memo->command_set, npu->command_set, sizeof memo->command_set) == 0) {
        return memo;
    }
    memo->valid = false;
    memo->key = key;
    memcpy(memo->command, npu->command, sizeof memo->command);
    memcpy(memo->command_set, npu->command_set, sizeof memo->command_set);
    return memo;
}

void npu_memo_free(struct npu *npu)
{
    for (int i = 0; i < NPU_MEMOS; i++) {
        free(npu->memos[i]);
        npu->memos[i] = NULL;
    }
}
