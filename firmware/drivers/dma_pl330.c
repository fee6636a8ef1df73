// SPDX-License-Identifier: MIT
/**
 * Copies by an Arm DMA-330 (PL330; Arm DDI 0424). The controller runs a program,
 * which is made here for each transfer, in memory that the controller reads.
 */
#include "dma_controller.h"
#include "ethosu_memory.h"
#include "irq.h"
#include "primecell.h"

#define PART_NUMBER 0x330u

struct controller {
    uint32_t unused[8];
    volatile uint32_t events_interrupt;
    uint32_t unused_2[2];
    volatile uint32_t interrupt_clear;
    volatile uint32_t manager_fault;
    uint32_t unused_3[51];
    struct {
        volatile uint32_t status;
        volatile uint32_t program_counter;
    } channels[8];
    uint32_t unused_4[752];
    volatile uint32_t debug_status;
    volatile uint32_t debug_command;
    volatile uint32_t debug_instruction[2];
};

_Static_assert(offsetof(struct controller, events_interrupt) == 0x020, "INTEN, DDI 0424, 3.1");
_Static_assert(offsetof(struct controller, interrupt_clear) == 0x02C, "INTCLR, DDI 0424, 3.1");
_Static_assert(offsetof(struct controller, channels) == 0x100, "CSR0, DDI 0424, 3.1");
_Static_assert(offsetof(struct controller, debug_status) == 0xD00, "DBGSTATUS, DDI 0424, 3.1");

enum {
    CHANNEL = 0,
    EVENT = 0,    /**< signalled by a program when it is done; raises the interrupt */
    STATUS = 0xF, /**< in a channel's status; 0: stopped */
    DEBUG_BUSY = 1,
    MANAGER_FAULT = 1,
};

/** Instructions, and register operands of DMAMOV (DDI 0424, 4.3). */
enum instruction {
    DMAEND = 0x00,
    DMAKILL = 0x01,
    DMALD = 0x04,
    DMAST = 0x08,
    DMAWMB = 0x13,
    DMALP_0 = 0x20,
    DMALP_1 = 0x22,
    DMASEV = 0x34,
    DMALPEND_0 = 0x38,
    DMALPEND_1 = 0x3C,
    DMAGO = 0xA0,
    DMAMOV = 0xBC,
};
enum operand { SOURCE = 0, CONTROL = 1, DESTINATION = 2 };

/** For the debug registers: executed by the manager or by the channel's thread. */
#define BY_MANAGER(instruction) ((uint32_t)(instruction) << 16)
#define BY_CHANNEL(instruction) ((uint32_t)(instruction) << 16 | CHANNEL << 8 | 1u)

/** Channel control: bursts of `beats` beats of 1 << shift bytes, the same at both ends. */
#define BURSTS(beats, shift) (1u | (shift) << 1 | ((beats) - 1u) << 4)
#define NORMAL_MEMORY 2u /**< AxCACHE: not cached */
#define CHANNEL_CONTROL(beats, shift) \
    (BURSTS(beats, shift) | NORMAL_MEMORY << 11 | BURSTS(beats, shift) << 14 | NORMAL_MEMORY << 25)

#define BEATS 16u
#define SHIFT_MAX 3u /**< 8 bytes: the bus */
#define LOOP_MAX 256u
#define BURSTS_MAX (LOOP_MAX * LOOP_MAX)

/** Looks at a register that changes within some cycles of the controller. */
#define TRIES 1000u

static struct microcode {
    uint8_t bytes[64];
    size_t size;
} microcode DMA_SHARED;
static const struct ethosu_memory *microcode_memory;

static struct controller *controller(void)
{
    return (struct controller *)dma_board.base;
}

/* --- Programs ------------------------------------------------------------- */

static void append(unsigned byte)
{
    microcode.bytes[microcode.size++] = (uint8_t)byte;
}

static void append_move(enum operand operand, uint32_t value)
{
    append(DMAMOV);
    append(operand);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        append(value >> shift);
    }
}

/** Close the loop whose body begins at `body`. */
static void append_end(enum instruction end, size_t body)
{
    size_t back = microcode.size - body;
    append(end);
    append((unsigned)back);
}

/** `outer` times `inner` bursts, at most LOOP_MAX each. */
static void append_bursts(size_t outer, size_t inner)
{
    if (outer == 0 || inner == 0) {
        return;
    }
    append(DMALP_0);
    append((unsigned)outer - 1u);
    size_t outer_body = microcode.size;
    append(DMALP_1);
    append((unsigned)inner - 1u);
    size_t body = microcode.size;
    append(DMALD);
    append(DMAST);
    append_end(DMALPEND_1, body);
    append_end(DMALPEND_0, outer_body);
}

/** Beats of 1 << shift bytes, to which both ends are aligned. */
static unsigned shift_for(uintptr_t ends)
{
    unsigned shift = 0;
    while (shift < SHIFT_MAX && (ends >> shift & 1u) == 0) {
        shift++;
    }
    return shift;
}

static void make_microcode(struct dma_transfer *rest)
{
    const unsigned shift = shift_for(rest->to | rest->from);
    const size_t burst = BEATS << shift;
    size_t bursts = rest->size / burst, lines = rest->size % burst / DMA_LINE;
    if (bursts > BURSTS_MAX) {
        bursts = BURSTS_MAX;
        lines = 0;
    }
    size_t size = bursts * burst + lines * DMA_LINE;
    microcode.size = 0;
    append_move(SOURCE, (uint32_t)rest->from);
    append_move(DESTINATION, (uint32_t)rest->to);
    append_move(CONTROL, CHANNEL_CONTROL(BEATS, shift));
    append_bursts(bursts / LOOP_MAX, LOOP_MAX);
    append_bursts(1, bursts % LOOP_MAX);
    if (lines > 0) {
        append_move(CONTROL, CHANNEL_CONTROL(DMA_LINE >> shift, shift));
        append_bursts(1, lines);
    }
    append(DMAWMB); // before the event, all writes have arrived
    append(DMASEV);
    append(EVENT << 3);
    append(DMAEND);
    ethosu_ext_memory_clean_in(microcode_memory, &microcode, sizeof microcode);
    rest->to += size;
    rest->from += size;
    rest->size -= size;
}

/* --- The controller ------------------------------------------------------- */

/** Wait a little until bits of a register are 0. */
static bool cleared(const volatile uint32_t *bits, uint32_t mask)
{
    for (unsigned i = 0; i < TRIES; i++) {
        if ((*bits & mask) == 0) {
            return true;
        }
    }
    return false;
}

/** Let the controller execute one instruction immediately; false if it is not ready. */
static bool execute(uint32_t first, uint32_t second)
{
    if (!cleared(&controller()->debug_status, DEBUG_BUSY)) {
        return false;
    }
    controller()->debug_instruction[0] = first;
    controller()->debug_instruction[1] = second;
    controller()->debug_command = 0;
    return true;
}

/**
 * The last program signals its event before it ends, and a running channel can't start another
 * one, so wait for the channel first.
 */
bool dma_controller_start(struct dma_transfer *rest)
{
    if (!cleared(&controller()->channels[CHANNEL].status, STATUS)) {
        return false;
    }
    make_microcode(rest);
    ethosu_ext_memory_barrier(); // complete writes that the controller reads
    return execute(BY_MANAGER(DMAGO) | CHANNEL << 24,
                   (uint32_t)dma_copy_bus_address(microcode_memory, microcode.bytes));
}

/** A thread stays in its error state until it is killed. */
void dma_controller_halt(void)
{
    if (controller()->manager_fault & MANAGER_FAULT) {
        (void)execute(BY_MANAGER(DMAKILL), 0);
    }
    (void)execute(BY_CHANNEL(DMAKILL), 0);
    (void)cleared(&controller()->channels[CHANNEL].status, STATUS); // its last writes arrive
    controller()->interrupt_clear = 1u << EVENT;
}

static void on_done(void *unused)
{
    controller()->interrupt_clear = 1u << EVENT;
    dma_copy_ended(false);
}

static void on_abort(void *unused)
{
    dma_controller_halt();
    dma_copy_ended(true);
}

bool dma_controller_prepare(void)
{
    microcode_memory = dma_copy_memory(&microcode, sizeof microcode, ETHOSU_DMA_READS);
    if (microcode_memory == NULL || primecell_part(dma_board.base) != PART_NUMBER) {
        return false;
    }
    controller()->events_interrupt = 1u << EVENT;
    irq_connect(dma_board.irq + EVENT, on_done, NULL);
    irq_connect(dma_board.abort_irq, on_abort, NULL);
    return true;
}
