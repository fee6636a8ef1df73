// SPDX-License-Identifier: MIT
/**
 * Faults that a host can inject into an NPU, by name.
 *
 * The simulator itself never fails: these are put between it and the program that
 * drives it, where silicon would have them. A host passes register accesses
 * through npu_faults_read() and npu_faults_write(), asks at each start and end
 * of a run, and delivers interrupts as the flags say. All belongs to the
 * register thread of npu_sim.h, but for `run`, which only begins to change
 * when no run is under way.
 */
#ifndef NPU_FAULTS_H
#define NPU_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum npu_fault {
    NPU_FAULT_IRQ_LOST,
    NPU_FAULT_IRQ_LATE,
    NPU_FAULT_IRQ_SPURIOUS,
    NPU_FAULT_HANG,
    NPU_FAULT_BUS_ERROR,
    NPU_FAULT_PARSE_ERROR,
    NPU_FAULT_WATCHDOG,
    NPU_FAULT_ECC_ERROR,
    NPU_FAULT_BRANCH_ERROR,
    NPU_FAULT_POWER_REFUSED,
    NPU_FAULT_RESET_STUCK,
    NPU_FAULT_PROT_STUCK,
    NPU_FAULT_DEAD,
    NPU_FAULT_COUNT,
};

struct npu_faults {
    unsigned due[NPU_FAULT_COUNT]; /**< how many times each is still to happen */
    struct {
        bool bus_error;  /**< each memory access fails */
        bool hang;       /**< it shall not be executed until it is aborted */
        bool spurious;   /**< interrupts that mean nothing, at its start and at its end */
    } run;               /**< of the run under way */
    bool asked;          /**< for power */
    bool off;            /**< power was refused: registers read as 0 until it is released */
    bool irq_held;       /**< an interrupt comes after the next reset */
    uint32_t status_set; /**< STATUS bits forced until the next reset */
    uint32_t status_clear;
    /** Called when a fault happens, if not NULL; for "dead" at the first read only. */
    void (*happens)(void *context, const char *name);
    void *context;  /**< of `happens` */
    bool dead_told; /**< `happens` was called for it */
};

/**
 * Let a fault happen `count` times, from now on; 0 withdraws it.
 *
 * @return  false: no fault has that name
 */
bool npu_faults_inject(struct npu_faults *faults, const char *name, unsigned count);

/** Hardware reset: what has happened is over, what is still to happen stays. */
void npu_faults_reset(struct npu_faults *faults);

/** What a register read gives, instead of `value`. */
uint32_t npu_faults_read(struct npu_faults *faults, uint32_t offset, uint32_t value);

/** A register is about to be written; may change the value. False: the write is lost. */
bool npu_faults_write(struct npu_faults *faults, uint32_t offset, uint32_t *value);

/** A run begins: sets `run`. */
void npu_faults_begin(struct npu_faults *faults);

/** A run has ended, with or without success: sets the bits forced upon STATUS. */
void npu_faults_end(struct npu_faults *faults);

/**
 * A run has raised its interrupt. False: it is not delivered, neither now nor
 * later, or (irq_held is set) after the next reset.
 */
bool npu_faults_deliver(struct npu_faults *faults);

/** Was an interrupt held back until this register write, a reset? Takes it. */
bool npu_faults_take_held(struct npu_faults *faults, uint32_t offset);

#endif
