// SPDX-License-Identifier: MIT
/**
 * Functional simulator of an Arm Ethos-U NPU: its registers, and a bus to memory.
 *
 * The simulator implements registers, command stream and arithmetic. The host (an
 * emulator, a test, a PC process) provides a bus, forwards register accesses and
 * chooses the thread that executes a command stream.
 *
 * One inference, from the host's view:
 *
 *     npu_write(CMD, run) -> NPU_ACTION_EXECUTE      register thread
 *     npu_execute()                                   any one thread
 *     npu_finish()                                    register thread
 *         -> STATUS is updated, bus.irq(level) is called
 *
 * Threads: npu_read(), npu_write(), npu_finish() and npu_reset() belong to one
 * thread at a time (the "register thread"). npu_execute() may run at the same time
 * as npu_read() and npu_write(); a write that returns NPU_ACTION_ABORT (soft
 * reset, stop request while running) asks the host to call npu_abort(), to
 * wait until npu_execute() has returned, and then to call npu_finish().
 */
#ifndef NPU_SIM_H
#define NPU_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Size in bytes of the register window (APB) of Ethos-U55 and U65, and of U85. */
#define NPU_REGISTERS_SIZE 0x1000u
#define NPU_REGISTERS_MAX 0x2000u

typedef struct npu npu_t;

/** AXI ports of the NPU, numbered as in STATUS.faulting_interface. */
enum npu_port {
    NPU_PORT_M0, /**< of Ethos-U85: the SRAM ports */
    NPU_PORT_M1, /**< of Ethos-U85: the EXT ports; read-only on Ethos-U55 */
};

/** An access of the NPU to guest bytes [address, address + length). */
struct npu_access {
    uint64_t address;
    uint64_t length;
    bool write;
    bool secure;     /**< PROT.active_CSL: else a non-secure transaction */
    bool privileged; /**< PROT.active_CPL */
    uint8_t port;    /**< enum npu_port, by REGIONCFG or QCONFIG */
};

/** Bus interface supplied by the host. */
struct npu_bus {
    void *context;
    /**
     * Host pointer to the bytes of an access, or NULL if any of them is
     * inaccessible (the simulator then reports a bus error).
     * Called from the thread that runs npu_execute().
     */
    uint8_t *(*map)(void *context, const struct npu_access *access);
    /** New level of the interrupt line. Called from the register thread only. */
    void (*irq)(void *context, bool level);
    /** Log an error of the program: one line, no newline. May be NULL. Called from any thread. */
    void (*log)(void *context, const char *message);
};

/** Action required of the host after a register write. */
enum npu_action {
    NPU_ACTION_NONE,
    NPU_ACTION_EXECUTE, /**< call npu_execute(), then npu_finish() */
    NPU_ACTION_ABORT,   /**< call npu_abort(), join npu_execute(), call npu_finish() */
};

/** Why npu_execute() returned. */
enum npu_outcome {
    NPU_OUTCOME_STOPPED, /**< NPU_OP_STOP reached */
    NPU_OUTCOME_IRQ,     /**< NPU_OP_IRQ: call npu_finish(), then npu_execute() again */
    NPU_OUTCOME_STEPPED, /**< max_operations done: call npu_execute() again */
    NPU_OUTCOME_BUS_ERROR,
    NPU_OUTCOME_PARSE_ERROR,
    NPU_OUTCOME_ABORTED,
    NPU_OUTCOME_WEIGHT_FAULT, /**< the weight decoder met a malformed stream */
    NPU_OUTCOME_BRANCH_FAULT, /**< branch out of the stream */
};

/**
 * Create an NPU in its reset state.
 *
 * @param config  accelerator config in Vela's spelling, "ethos-u55-128"
 * @param bus     copied; its context must be valid until npu_destroy()
 * @return        NULL if the config is unknown or memory is exhausted
 */
npu_t *npu_create(const char *config, const struct npu_bus *bus);
void npu_destroy(npu_t *npu);

/** Size in bytes of the register window: NPU_REGISTERS_SIZE or NPU_REGISTERS_MAX. */
uint32_t npu_registers_size(const npu_t *npu);

/** Names of the supported configs, NULL-terminated. */
const char *const *npu_configs(void);

/** Hardware reset (not the soft reset of the RESET register). */
void npu_reset(npu_t *npu);

/** Read the 32-bit register at byte offset (multiple of 4) of the window. */
uint32_t npu_read(npu_t *npu, uint32_t offset);

/** Write the 32-bit register at byte offset (multiple of 4) of the window. */
enum npu_action npu_write(npu_t *npu, uint32_t offset, uint32_t value);

/**
 * Continue to execute the command stream.
 *
 * @param max_operations  stop after this many operations (single step: 1), 0 for no limit
 */
enum npu_outcome npu_execute(npu_t *npu, unsigned max_operations);

/** Make a running npu_execute() return soon; callable from any thread. */
void npu_abort(npu_t *npu);

/** Publish the outcome of npu_execute() in the registers and on the IRQ line. */
void npu_finish(npu_t *npu);

/** Estimated cycles added by the last npu_execute(); deterministic, see README.md. */
uint64_t npu_cycles(const npu_t *npu);

/** Maximum number of memories of npu_set_memories(). */
#define NPU_MEMORIES 4

/**
 * A memory for the cycle estimate, with times in NPU cycles. A region is in the first memory that
 * lists it or contains its base address, else in the first memory.
 */
struct npu_memory {
    uint64_t start, size; /**< bus address range; size 0 if none */
    uint32_t millibytes;  /**< bandwidth in thousandths of a byte per cycle; not 0 */
    uint16_t read_latency, write_latency;
    uint16_t burst;  /**< minimum transfer in bytes; not 0 */
    uint8_t regions; /**< bit per region placed in it regardless of address */
};

/**
 * Set the memories behind the bus. By default memory has no latency and the speed of the ports.
 * From the register thread, while npu_execute() does not run.
 *
 * @return false, without changes, for an invalid number or value
 */
bool npu_set_memories(npu_t *npu, const struct npu_memory *memories, unsigned count);

/**
 * What stands between an AXI interface of a port and the memories, for the cycle estimate, in NPU
 * cycles: it only makes them slower. 0: no limit.
 */
struct npu_adapter {
    uint32_t millibytes;                  /**< bandwidth in thousandths of a byte per cycle */
    uint16_t read_latency, write_latency; /**< at least, of any memory */
};

/**
 * Put an adapter (which is copied) in front of each AXI interface of a port. By default none. From
 * the register thread, while npu_execute() does not run.
 */
void npu_set_adapter(npu_t *npu, enum npu_port port, const struct npu_adapter *adapter);

/** Bytes per beat of the NPU's AXI interfaces. */
unsigned npu_axi_bytes(const npu_t *npu);

/**
 * Cost of an operation: busy cycles of each unit by itself. The units run in parallel, so the
 * operation takes as long as the slowest one, plus its start.
 */
struct npu_costs {
    uint64_t mac, output;
    uint64_t issue;   /**< of blocks, by their latencies */
    uint64_t start;   /**< before the first block, and after the last */
    uint64_t copy;    /**< of a DMA */
    uint64_t port[2]; /**< by enum npu_port */
    uint64_t memory[NPU_MEMORIES];
};

/** One feature map of an operation, as the command registers describe it. */
struct npu_feature_map {
    bool used;
    bool is_signed;
    bool nhcwb16; /**< else NHWC */
    bool chained; /**< in chaining buffer `region`; bases, tiles and strides are unused */
    uint8_t bits; /**< 8, 16, 32 or 64 */
    uint8_t region;
    uint32_t height, width, depth;
    int32_t zero_point;
    int64_t base[4];                      /**< tile offsets in the region */
    uint32_t width0, height0, height1;    /**< tile sizes */
    int64_t stride_y, stride_x, stride_c; /**< bytes */
};

/** Trace record of one operation. */
struct npu_operation {
    unsigned index;   /**< of the operation in the stream, from 0 */
    unsigned command; /**< index of its command in the stream */
    uint32_t offset;  /**< of its command, bytes from QBASE */
    const char *name; /**< "NPU_OP_CONV" */
    uint32_t param;   /**< parameter of its command: the mode */
    struct npu_feature_map ifm, ifm2, ofm;
    uint32_t kernel_height, kernel_width; /**< dilated */
    uint64_t macs;
    uint64_t cycles; /**< estimated cycles added to the run; 0 if hidden by others */
    /** Estimated cycles since the start of the run; a kernel may begin before the last ended. */
    uint64_t begin, end;
    struct npu_costs costs;
    uint32_t commands; /**< bytes of the commands since the operation before it */
    uint64_t read[8];  /**< bytes per region, in whole beats, commands not included */
    uint64_t written[8];
};

typedef void (*npu_observer_t)(void *context, const struct npu_operation *operation);

/** Call observer after every executed operation, from the thread in npu_execute(). */
void npu_observe(npu_t *npu, npu_observer_t observer, void *context);

/** One command of a config. */
struct npu_command_info {
    const char *name;    /**< "NPU_SET_IFM_REGION" */
    uint16_t code;       /**< bits [15:0] of the command word */
    uint16_t param_mask; /**< meaningful bits of [31:16] */
};

/**
 * The command set of a config, sorted by code.
 *
 * @param index  of the command, from 0
 * @return       false if the config or index is invalid
 */
bool npu_command_info(const char *config, unsigned index, struct npu_command_info *info);

#endif
