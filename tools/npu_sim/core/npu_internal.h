// SPDX-License-Identifier: MIT
/**
 * The simulator's state, shared by its files.
 *
 * Two owners: the register thread owns struct npu except for `run`; the thread inside npu_execute()
 * owns `memos` and `run`, which npu_write() fills before and npu_finish() reads after. Only the
 * atomics are accessed by both.
 */
#ifndef NPU_INTERNAL_H
#define NPU_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/commands.h"
#include "core/parts.h"
#include "core/pmu.h"
#include "core/product.h"
#include "core/scratch.h"
#include "npu_sim.h"

#define NPU_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

enum {
    NPU_REGION_COUNT = 8,
    NPU_LUT_BYTES = 2048,
    NPU_LUT_GRANULE = 16, /**< unit of the copies into the tables */
    NPU_CHAINS = 6,
    NPU_MEMOS = 1024,          /**< operations that are kept as they were decoded */
    NPU_ARRANGED = NPU_CHAINS, /**< number of the buffer in which an OFM is arranged */
};

/** Cause of a failed run: the STATUS bit to set. */
enum npu_run_fault {
    NPU_FAULT_NONE,
    NPU_FAULT_PARSE,   /**< cmd_parse_error */
    NPU_FAULT_BUS,     /**< bus_status with interface and channel */
    NPU_FAULT_WEIGHTS, /**< wd_fault, or cmd_parse_error on products without it */
    NPU_FAULT_BRANCH,  /**< branch_fault */
    NPU_FAULT_ABORTED, /**< npu_abort(); sets no STATUS bit */
};

/** State owned by the thread inside npu_execute(). */
struct npu_run {
    /* Copied from the registers when the run starts. */
    uint64_t qbase;
    uint32_t qsize;
    uint32_t qconfig;
    uint32_t region_config;
    uint8_t port[4]; /**< enum npu_port by REGIONCFG and QCONFIG value */
    bool secure, privileged;
    uint64_t base[NPU_REGION_COUNT];

    /* Position in the stream. */
    uint32_t offset;     /**< of the current command, bytes from QBASE */
    uint32_t next;       /**< of the command after it */
    unsigned command;    /**< index of the current command */
    int row;             /**< its row in the command table, or -1 */
    uint32_t payload;    /**< its payload, if any */
    unsigned operations; /**< operations executed since the run started */
    bool decoding;       /**< an operation is being decoded: command registers may be read */
    bool stopped;        /**< NPU_OP_STOP was executed */
    bool interrupted;    /**< NPU_OP_IRQ was executed */
    uint16_t irq_mask;   /**< collected irq_history_mask bits */
    uint32_t fetched;    /**< bytes of commands that npu_count_commands() has not counted */

    /** Chaining buffers: data kept inside the NPU for later operations. */
    struct npu_chain {
        size_t elements; /**< written in this run */
        uint8_t bits;    /**< of an element; 0 if never written */
    } chain[NPU_CHAINS + 1];

    /** Shape of the accumulators kept for the next operation, or 0. */
    struct npu_kept {
        uint32_t height, width, depth;
    } kept;

    /* Cause of the failure. */
    enum npu_run_fault fault;
    uint8_t fault_interface;
    uint8_t fault_channel;

    struct npu_mapped mapped[NPU_MAPPED_MAX];
    uint64_t cycles; /**< estimate for this npu_execute() */
    struct npu_timeline timeline;
    struct npu_pmu_run pmu;
    uint32_t commands;               /**< bytes since the last operation */
    struct npu_operation *trace;     /**< of the operation being executed */
    struct npu_feature_map last_ofm; /**< of the last operation before it that had one */
};

struct npu {
    const struct npu_product *product;
    struct npu_command_index command_index; /**< of the product's family */
    struct npu_bus bus;
    uint32_t registers[NPU_REGISTERS_MAX / 4];
    struct npu_pmu pmu;
    bool running;
    bool reset_pending; /**< RESET was written while running */
    bool irq_level;
    atomic_bool abort;
    atomic_uint qread;
    struct npu_run run;

    /* Command registers: preserved by STOP, cleared when the next job begins. */
    uint64_t command[NPU_COMMAND_COUNT];
    bool command_set[NPU_COMMAND_COUNT];

    uint8_t lut[NPU_LUT_BYTES];
    /** Bit per granule that a DMA of this job filled. */
    uint64_t lut_written[NPU_LUT_BYTES / NPU_LUT_GRANULE / 64];

    struct npu_memory memories[NPU_MEMORIES];
    unsigned memory_count;
    struct npu_adapter adapters[2]; /**< by enum npu_port */

    bool result_flag; /**< condition evaluated by the last conditional branch */

    struct npu_scratch scratch;
    struct npu_weight_cache weights;
    struct npu_memo *memos[NPU_MEMOS];
    npu_observer_t observer;
    void *observer_context;
};

/** Log one line. */
void npu_log(struct npu *npu, const char *format, ...) NPU_PRINTF(2, 3);

/**
 * Record the first fault of the run and log it with command index, name and
 * stream offset.
 *
 * @return false, for the caller to return
 */
bool npu_fail(struct npu *npu, enum npu_run_fault fault, const char *format, ...) NPU_PRINTF(3, 4);

/** True if the current run should be aborted; records NPU_FAULT_ABORTED. */
bool npu_should_abort(struct npu *npu);

/* Command registers (state.c): for decoding only. */

/** Value of a register the current operation needs; a parse error if this job never set it. */
bool npu_get(struct npu *npu, enum npu_command_row row, uint64_t *value);

/** Value of a field of a register the current operation needs; 0 if the family lacks it. */
bool npu_get_field(struct npu *npu, enum npu_field field, uint32_t *value);

/** Value of a register, 0 until it is set. */
static inline uint64_t npu_peek(const struct npu *npu, enum npu_command_row row)
{
    return npu->command[row];
}

/** An address or offset in a register, with the product's address width. */
bool npu_get_offset(struct npu *npu, enum npu_command_row row, int64_t *offset);

/** A distance in memory: the same, but signed. */
bool npu_get_distance(struct npu *npu, enum npu_command_row row, int64_t *distance);

/**
 * Forget what an earlier job left in command registers and tables. A chip keeps both until a reset;
 * a stream that used them would have other results after another job, so it is refused.
 */
void npu_state_reset(struct npu *npu);

/** Note that bytes of the tables, whole granules, have been filled. */
void npu_tables_fill(struct npu *npu, uint32_t at, uint32_t bytes);

/** The first byte of [at, end) of the tables that this job did not fill; `end` if there is none. */
uint32_t npu_tables_unfilled(const struct npu *npu, uint32_t at, uint32_t end);

#endif
