// SPDX-License-Identifier: MIT
/** The command stream: fetch, decode and execute. */
#include <inttypes.h>

#include "core/npu_internal.h"
#include "device/device.h"
#include "memory/memory.h"
#include "operands/operation.h"

/** Alignment of a command stream's address, as required by Arm's driver. */
enum { BASE_ALIGNMENT = 16 };

static uint32_t load_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/** The whole stream, or NULL after recording a bus error. */
static const uint8_t *map_stream(struct npu *npu)
{
    struct npu_run *run = &npu->run;
    if (run->qbase % BASE_ALIGNMENT != 0) {
        npu_fail(npu, NPU_FAULT_PARSE, "begins at QBASE 0x%" PRIx64 ", not a multiple of %d",
                 run->qbase, BASE_ALIGNMENT);
        return NULL;
    }
    enum npu_port port = (enum npu_port)run->port[run->qconfig];
    const uint8_t *stream = npu_access(npu, port, run->qbase, run->qsize, false);
    if (stream == NULL) {
        run->fault_interface = (uint8_t)port;
        run->fault_channel = NPU_READ_COMMAND;
        npu_fail(npu, NPU_FAULT_BUS, "of %" PRIu32 " bytes at 0x%" PRIx64 ": %s", run->qsize,
                 run->qbase, npu_refusal(npu, port, false));
    }
    return stream;
}

/** Store the registers that valid commands from run->offset on set, up to the first other command.
 */
static void store_registers(struct npu *npu, const uint8_t *stream)
{
    struct npu_run *run = &npu->run;
    const enum npu_family_index family = npu->product->family->index;
    uint32_t offset = run->offset;
    while (run->qsize - offset >= 2 * sizeof(uint32_t)) {
        uint32_t word = load_word(stream + offset);
        uint32_t param = word >> NPU_WORD_PARAM_SHIFT;
        int row = npu_command_look_up(&npu->command_index, word & NPU_WORD_CODE_MASK);
        if (row < 0 || !npu_command_table[row].is_register ||
            npu_command_table[row].param_mask[family] < 0 ||
            (param & ~(uint32_t)npu_command_table[row].param_mask[family]) != 0) {
            break;
        }
        /* Without a branch on the class, which is hard to predict. */
        unsigned payload = (word & NPU_CODE_CLASS_PAYLOAD) != 0;
        uint64_t both = (uint64_t)param << 32 | load_word(stream + offset + sizeof word);
        npu->command[row] = both >> 32 * (1 - payload);
        npu->command_set[row] = true;
        offset += (uint32_t)sizeof word << payload;
        run->command++;
    }
    run->fetched += offset - run->offset;
    run->commands += offset - run->offset;
    run->offset = offset;
    atomic_store_explicit(&npu->qread, offset, memory_order_relaxed);
}

/** Decode the command at run->offset; false after recording a parse error. */
static bool decode(struct npu *npu, const uint8_t *stream, uint32_t *param)
{
    struct npu_run *run = &npu->run;
    run->row = -1;
    if (run->qsize - run->offset < 4) {
        return npu_fail(npu, NPU_FAULT_PARSE, "ends after %" PRIu32 " bytes without NPU_OP_STOP",
                        run->qsize);
    }
    uint32_t word = load_word(stream + run->offset);
    run->row = npu_command_look_up(&npu->command_index, word & NPU_WORD_CODE_MASK);
    if (run->row < 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has unknown command word 0x%08" PRIx32, word);
    }
    const struct npu_command *command = &npu_command_table[run->row];
    *param = word >> NPU_WORD_PARAM_SHIFT;
    run->next = run->offset + 4;
    int32_t mask = command->param_mask[npu->product->family->index];
    if (mask < 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "does not exist on %s", npu->product->name);
    }
    if ((*param & ~(uint32_t)mask) != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has parameter 0x%04" PRIx32 ", allowed bits 0x%04x",
                        *param, (unsigned)mask);
    }
    if ((command->code & NPU_CODE_CLASS_MASK) == NPU_CODE_CLASS_PAYLOAD) {
        if (run->qsize - run->next < 4) {
            return npu_fail(npu, NPU_FAULT_PARSE, "lacks its payload: the stream ends");
        }
        run->payload = load_word(stream + run->next);
        run->next += 4;
    }
    return true;
}

/** Execute or store the decoded command. */
static bool perform(struct npu *npu, uint32_t param)
{
    struct npu_run *run = &npu->run;
    const struct npu_command_action *action = npu_action_of(run->row);
    if (action->operator!= NULL) {
        return npu_perform(npu, action->operator, param);
    }
    if (action->control != NULL) {
        return action->control(npu, param);
    }
    npu->command[run->row] = param; /* of a register without payload, at the stream's end */
    npu->command_set[run->row] = true;
    return true;
}

static enum npu_outcome outcome_of(const struct npu_run *run)
{
    static const enum npu_outcome outcomes[] = {
        [NPU_FAULT_NONE] = NPU_OUTCOME_STOPPED,
        [NPU_FAULT_PARSE] = NPU_OUTCOME_PARSE_ERROR,
        [NPU_FAULT_BUS] = NPU_OUTCOME_BUS_ERROR,
        [NPU_FAULT_WEIGHTS] = NPU_OUTCOME_WEIGHT_FAULT,
        [NPU_FAULT_BRANCH] = NPU_OUTCOME_BRANCH_FAULT,
        [NPU_FAULT_ABORTED] = NPU_OUTCOME_ABORTED,
    };
    return outcomes[run->fault];
}

static enum npu_outcome execute(struct npu *npu, unsigned max_operations)
{
    struct npu_run *run = &npu->run;
    unsigned limit = run->operations + max_operations;
    const uint8_t *stream = map_stream(npu);
    while (stream != NULL && !npu_should_abort(npu)) {
        uint32_t param = 0;
        store_registers(npu, stream);
        if (!decode(npu, stream, &param)) {
            break;
        }
        run->fetched += run->next - run->offset;
        run->commands += run->next - run->offset;
        if (!perform(npu, param)) {
            break;
        }
        run->command++;
        run->offset = run->next;
        atomic_store_explicit(&npu->qread, run->offset, memory_order_relaxed);
        if (run->stopped) {
            break;
        }
        if (run->interrupted) {
            return NPU_OUTCOME_IRQ;
        }
        if (max_operations != 0 && run->operations == limit) {
            return NPU_OUTCOME_STEPPED;
        }
    }
    return outcome_of(run);
}

enum npu_outcome npu_execute(npu_t *npu, unsigned max_operations)
{
    struct npu_run *run = &npu->run;
    run->cycles = 0;
    if (run->stopped || run->fault != NPU_FAULT_NONE) {
        return outcome_of(run);
    }
    enum npu_outcome outcome = execute(npu, max_operations);
    npu_count_commands(npu, true);
    npu_advance_time(npu);
    return outcome;
}

bool npu_command_info(const char *config, unsigned index, struct npu_command_info *info)
{
    const struct npu_product *product = npu_product_find(config);
    for (int row = 0; product != NULL && row < NPU_COMMAND_COUNT; row++) {
        const struct npu_command *command = &npu_command_table[row];
        int32_t mask = command->param_mask[product->family->index];
        if (mask >= 0 && index-- == 0) {
            *info = (struct npu_command_info){command->name, command->code, (uint16_t)mask};
            return true;
        }
    }
    return false;
}
