// SPDX-License-Identifier: MIT
/**
 * One NPU of the emulated board.
 *
 * The "register thread" of npu_sim.h is the holder of QEMU's big lock: the CPU in a register
 * access, the main loop in a completion. Command streams run on a worker thread, so the guest can
 * really sleep meanwhile. With a modelled clock they run inside the register access that starts
 * them, since the completion time must be known, and a timer on the virtual clock completes them.
 */
#include "npu/npu_device.h"

#include <stdlib.h>

#include "base/callbacks.h"
#include "base/message.h"
#include "base/qemu_api.h"
#include "base/watch.h"
#include "base/worker.h"
#include "board/board.h"
#include "board/machine.h"
#include "cpu/cache.h"
#include "memory/board_power.h"
#include "npu/timing_adapter.h"
#include "npu_faults.h"
#include "npu_sim.h"

#define PORTS 2

struct npu_device {
    const struct npu_slot *slot;
    npu_t *sim;
    struct timing_adapter *adapters[PORTS]; /**< NULL if absent */
    qemu_irq irq;
    struct npu_timing timing;
    struct worker worker;
    struct virtual_timer timer;
    struct virtual_timer settle; /**< until the CPU sleeps, see board_power_settle() */
    bool running;                /**< started, but npu_finish() not yet called */
    bool settling;
    enum npu_outcome outcome; /**< of the last npu_execute() */
    uint64_t instructions_at_start;
    struct npu_faults faults;
    bool level;      /**< level of the simulator's interrupt line */
    bool is_refused; /**< as a bus master, since the last reset */
};

static struct npu_run_record last_run;
/** Number of running NPUs. */
static unsigned runs;

const struct npu_run_record *npu_device_last_run(void)
{
    return &last_run;
}

/* --- The simulator's bus ------------------------------------------------------ */

/** Does the interconnect lead from the port of an access to all its addresses? */
static bool port_reaches(const struct npu_device *device, const struct npu_access *access)
{
    const struct npu_reach *reach =
        access->port == NPU_PORT_M0 ? &device->slot->m0 : &device->slot->m1;
    return reach->last == 0 ||
           (access->address >= reach->first && access->address + access->length - 1 <= reach->last);
}

/**
 * An access has the NPU's security state, and the memory protection controllers are in their reset
 * state: all blocks accept only secure accesses, at both aliases. (Arm 102803, "NPU security
 * mapping"; 101104, "TrustZone Memory Protection Controller".) The guest's writes to the
 * controllers are ignored. `security` of a board's table names another state.
 */
static bool accepted(bool secure)
{
    static const bool accepts[][2] = {
        [BOARD_SECURITY_SECURE] = {false, true},
        [BOARD_SECURITY_NON_SECURE] = {true, false},
        [BOARD_SECURITY_ANY] = {true, true},
    };
    return accepts[board()->security][secure];
}

/**
 * What a master security controller (MSC) leads to when it does not let the NPU's accesses through,
 * and is not set to answer with an error: zeros, and a place that nobody reads.
 */
static uint8_t *map_nowhere(struct npu_device *device, const struct npu_access *access)
{
    static uint8_t zeros[1u << 24], ignored[1u << 24]; // pages exist once they are touched
    if (!device->is_refused) {
        device->is_refused = true; // a run may try a thousand times
        message(MESSAGE_GUEST_ERROR,
                "%s: as a bus master it is not secure: it reads zeros, and its writes are ignored",
                device->slot->argument);
    }
    uint8_t *place = access->write ? ignored : zeros;
    return access->length <= sizeof zeros ? place : NULL;
}

static uint8_t *bus_map(void *context, const struct npu_access *access)
{
    struct npu_device *device = context;
    bool refused = device->faults.run.bus_error || !accepted(access->secure);
    if (!refused && !port_reaches(device, access)) {
        message(MESSAGE_GUEST_ERROR, "%s: its port M%u does not reach 0x%08llx",
                device->slot->argument, access->port, (unsigned long long)access->address);
        refused = true;
    }
    if (!refused && !gates_are_open(&device->slot->master)) {
        return map_nowhere(device, access);
    }
    return refused ? NULL : cache_map(MASTER_NPU, access->address, access->length, access->write);
}

static void bus_irq(void *context, bool level)
{
    struct npu_device *device = context;
    bool rises = level && !device->level;
    device->level = level;
    if (!level || !rises || npu_faults_deliver(&device->faults)) {
        qemu_set_irq(device->irq, level);
    }
}

/** A spurious interrupt, without a cause in any register. */
static void pulse_irq(const struct npu_device *device)
{
    qemu_set_irq(device->irq, 1);
    qemu_set_irq(device->irq, device->level);
}

static void bus_log(void *context, const char *text)
{
    const struct npu_device *device = context;
    message(MESSAGE_GUEST_ERROR, "%s: %s", device->slot->argument, text);
}

static void fault_log(void *context, const char *name)
{
    const struct npu_device *device = context;
    message(MESSAGE_GUEST_ERROR, "%s: injected fault %s", device->slot->argument, name);
}

/* --- A run ---------------------------------------------------------------- */

static void execute(void *context)
{
    struct npu_device *device = context;
    device->outcome = npu_execute(device->sim, 0);
}

static void set_running(struct npu_device *device, bool running)
{
    runs += (unsigned)running - (unsigned)device->running;
    device->running = running;
}

bool npu_device_any_runs(void)
{
    return runs > 0;
}

static void execute_by_virtual_clock(struct npu_device *device)
{
    int64_t start = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    execute(device);
    uint64_t duration = npu_cycles(device->sim) * 1000 / device->timing.megahertz;
    virtual_timer_set(&device->timer, start + (int64_t)duration);
}

static void start(void *context)
{
    struct npu_device *device = context;
    device->settling = false;
    if (device->timing.megahertz) {
        execute_by_virtual_clock(device);
    } else {
        worker_start(&device->worker);
    }
}

static void resume(struct npu_device *device)
{
    set_running(device, true);
    device->instructions_at_start = callbacks_counted();
    watch_npu(device->slot->argument, "starts");
    if (device->faults.run.hang) {
        return;
    }
    const int64_t settle = board_power_settle();
    if (settle > 0) {
        device->settling = true;
        virtual_timer_set(&device->settle, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + settle);
    } else {
        start(device);
    }
}

/** Without a modelled clock nothing takes the estimated time. */
static void use_adapters(struct npu_device *device)
{
    for (unsigned port = 0; device->timing.megahertz && port < PORTS; port++) {
        if (device->adapters[port]) {
            struct npu_adapter settings = timing_adapter_settings(device->adapters[port]);
            npu_set_adapter(device->sim, port, &settings);
        }
    }
}

static void begin(struct npu_device *device)
{
    npu_faults_begin(&device->faults);
    use_adapters(device);
    cache_barrier();
    if (device->faults.run.spurious) {
        pulse_irq(device);
    }
    resume(device);
}

/** The run is done, or its modelled time has passed: notify the guest. */
static void complete(void *context)
{
    struct npu_device *device = context;
    last_run.instructions = callbacks_counted() - device->instructions_at_start;
    last_run.idle = all_cpu_threads_idle();
    watch_npu(device->slot->argument, "ends");
    set_running(device, false);
    if (device->outcome == NPU_OUTCOME_IRQ) {
        npu_finish(device->sim);
        resume(device);
        return;
    }
    npu_faults_end(&device->faults);
    npu_finish(device->sim);
    if (device->faults.run.spurious) {
        pulse_irq(device);
    }
}

/** Make the simulator return early; afterwards only this thread uses it. */
static void end_run(struct npu_device *device)
{
    npu_abort(device->sim);
    worker_join(&device->worker);
    virtual_timer_stop(&device->timer);
    virtual_timer_stop(&device->settle);
    if (device->faults.run.hang || device->settling) {
        execute(device); // not started yet; ends immediately since it is aborted
        device->faults.run.hang = device->settling = false;
    }
    set_running(device, false);
}

/* --- Registers ------------------------------------------------------------ */

static uint32_t read_register(void *context, uint32_t offset)
{
    struct npu_device *device = context;
    cache_event();
    return npu_faults_read(&device->faults, device->sim, offset);
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    struct npu_device *device = context;
    cache_event();
    switch (npu_faults_write(&device->faults, device->sim, offset, value)) {
    case NPU_ACTION_NONE:
        break;
    case NPU_ACTION_EXECUTE:
        begin(device);
        break;
    case NPU_ACTION_ABORT:
        end_run(device);
        npu_finish(device->sim);
        break;
    }
    if (npu_faults_release_held(&device->faults, offset)) {
        pulse_irq(device);
    }
}

bool npu_device_inject(struct npu_device *device, const char *fault, unsigned count)
{
    bool hung = device->running && device->faults.run.hang;
    bool known = npu_faults_inject(&device->faults, fault, count);
    if (hung && !device->faults.run.hang) {
        resume(device);
    }
    return known;
}

/* --- Start and reset ------------------------------------------------------ */

/** Without those in whose place this NPU has registers: an Ethos-U85 on a Corstone-300. */
static void create_adapters(struct npu_device *device)
{
    const uint32_t behind = device->slot->base + npu_registers_size(device->sim);
    for (unsigned port = 0; port < PORTS; port++) {
        if (device->slot->adapters[port] >= behind) {
            device->adapters[port] = timing_adapter_create(
                device->slot->argument, device->slot->adapters[port], npu_axi_bytes(device->sim));
        }
    }
}

struct npu_device *npu_device_create(const struct npu_slot *slot, const char *config,
                                     struct npu_timing timing)
{
    struct npu_device *device = calloc(1, sizeof *device);
    if (!device) {
        fatal("no memory for %s", slot->argument);
    }
    const struct npu_bus bus = {.context = device, .map = bus_map, .irq = bus_irq, .log = bus_log};
    device->slot = slot;
    device->timing = timing;
    device->faults.happens = fault_log;
    device->faults.context = device;
    device->irq = machine_irq(slot->irq);
    device->sim = npu_create(config, &bus);
    if (!device->sim) {
        fatal("no memory for %s=%s", slot->argument, config);
    }
    npu_set_memories(device->sim, timing.memories, timing.memory_count);
    worker_init(&device->worker, execute, complete, device);
    virtual_timer_create(&device->timer, complete, device);
    virtual_timer_create(&device->settle, start, device);
    machine_map(&(struct machine_window){.name = slot->argument,
                                         .base = slot->base,
                                         .size = npu_registers_size(device->sim),
                                         .read = read_register,
                                         .write = write_register,
                                         .gate = &slot->gate,
                                         .protection = &slot->protection},
                device);
    create_adapters(device);
    return device;
}

void npu_device_reset(struct npu_device *device)
{
    if (device->running) {
        end_run(device);
    }
    npu_reset(device->sim);
    for (unsigned port = 0; port < PORTS; port++) {
        if (device->adapters[port]) {
            timing_adapter_reset(device->adapters[port]);
        }
    }
    device->level = device->is_refused = false;
    npu_faults_reset(&device->faults);
    qemu_set_irq(device->irq, 0);
}

void npu_device_stop(struct npu_device *device)
{
    npu_abort(device->sim);
    worker_join(&device->worker);
}
