// SPDX-License-Identifier: MIT
/**
 * QEMU functions used by the plugin, declared here because distributions package QEMU without
 * headers.
 *
 * Debian's and Ubuntu's qemu-system-arm export their internal functions, so a plugin can use them
 * like the plugin API itself. All are weak: a QEMU that lacks one still loads the plugin, and
 * qemu_api_missing() returns its name.
 */
#ifndef QEMU_API_H
#define QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_EXPORT __attribute__((visibility("default")))

typedef struct AioContext AioContext;
typedef struct CharFrontend CharFrontend;
typedef struct Clock Clock;
typedef struct Error Error;
typedef struct MemoryRegion MemoryRegion;
typedef struct Object Object;
typedef struct QEMUTimer QEMUTimer;
typedef struct RAMBlock RAMBlock;
typedef struct IRQState *qemu_irq;

typedef struct Notifier {
    void (*notify)(struct Notifier *notifier, void *data);
    void *links[2];
} Notifier;

/** Attributes of an access, a few bits in one integer: 32 of them up to QEMU 9, then 64. */
typedef uint64_t MemTxAttrs;

enum device_endian {
    DEVICE_NATIVE_ENDIAN,
    DEVICE_BIG_ENDIAN,
    DEVICE_LITTLE_ENDIAN,
};

typedef struct MemoryRegionOps {
    uint64_t (*read)(void *opaque, uint64_t offset, unsigned size);
    void (*write)(void *opaque, uint64_t offset, uint64_t value, unsigned size);
    uint32_t (*read_with_attrs)(void *opaque, uint64_t offset, uint64_t *value, unsigned size,
                                MemTxAttrs attributes);
    uint32_t (*write_with_attrs)(void *opaque, uint64_t offset, uint64_t value, unsigned size,
                                 MemTxAttrs attributes);
    enum device_endian endianness;
    struct {
        unsigned min_access_size;
        unsigned max_access_size;
        bool unaligned;
        void (*accepts)(void);
    } valid;
    struct {
        unsigned min_access_size;
        unsigned max_access_size;
        bool unaligned;
    } impl;
} MemoryRegionOps;

/** A 32-bit access in the guest's byte order. */
#define MEMOP_WORD 2u

/** Start of QEMU's structure, and room for the rest. */
typedef struct MemoryRegionSection {
    _Alignas(16) uint64_t size[2];
    MemoryRegion *region;
    void *view;
    uint64_t offset; /**< in the region */
    uint64_t rest[8];
} MemoryRegionSection;

/** Start of GLib's structure. */
typedef struct GByteArray {
    uint8_t *data;
    unsigned length;
} GByteArray;

/** Sizes of QEMU's own objects differ by version; these are ample for all. */
#define CHAR_FRONTEND_ROOM 512
#define MEMORY_REGION_ROOM 2048
#define TIMER_ROOM 512

enum qemu_clock { QEMU_CLOCK_VIRTUAL = 1 };

/** Reset cause; the number is the same in all releases. */
#define SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET 3

struct qemu_release {
    int64_t major, minor, micro;
};

typedef struct VersionInfo {
    struct qemu_release *qemu;
    char *package;
} VersionInfo;

/* --- The plugin API proper ------------------------------------------------ */

typedef uint64_t qemu_plugin_id_t;

/** Start of QEMU's structure; the rest is not used. */
typedef struct qemu_info {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

typedef struct {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} qemu_plugin_u64;

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

enum qemu_plugin_registers { QEMU_PLUGIN_CB_NO_REGS };

/** Newest level of the plugin API that is known: see callbacks.c. */
#define QEMU_API_NEWEST 7

/** The plugin's own: QEMU's differs by level. */
typedef void (*translation_callback)(struct qemu_plugin_tb *tb);
/** The same in all levels. */
typedef void (*execution_callback)(unsigned vcpu, void *context);

/* --- Functions: X(result, name, parameters) ------------------------------- */

#define QEMU_FUNCTIONS(X)                                                                        \
    X(void, aio_bh_schedule_oneshot_full,                                                        \
      (AioContext * context, void (*callback)(void *), void *opaque, const char *name))          \
    X(bool, all_cpu_threads_idle, (void))                                                        \
    X(MemoryRegion *, get_system_memory, (void))                                                 \
    X(MemoryRegion *, host_memory_backend_get_memory, (Object * backend))                        \
    X(void, memory_region_add_subregion_overlap,                                                 \
      (MemoryRegion * container, uint64_t offset, MemoryRegion *region, int priority))           \
    X(uint32_t, memory_region_dispatch_read,                                                     \
      (MemoryRegion * region, uint64_t offset, uint64_t *value, unsigned operation,              \
       MemTxAttrs attributes))                                                                   \
    X(uint32_t, memory_region_dispatch_write,                                                    \
      (MemoryRegion * region, uint64_t offset, uint64_t value, unsigned operation,               \
       MemTxAttrs attributes))                                                                   \
    X(MemoryRegionSection, memory_region_find,                                                   \
      (MemoryRegion * region, uint64_t address, uint64_t size))                                  \
    X(int, memory_region_get_fd, (MemoryRegion * region))                                        \
    X(void *, memory_region_get_ram_ptr, (MemoryRegion * region))                                \
    X(void, memory_region_init_alias,                                                            \
      (MemoryRegion * region, Object * owner, const char *name, MemoryRegion *original,          \
       uint64_t offset, uint64_t size))                                                          \
    X(void, memory_region_init_ram,                                                              \
      (MemoryRegion * region, Object * owner, const char *name, uint64_t size, Error **error))   \
    X(void, memory_region_init_io,                                                               \
      (MemoryRegion * region, Object * owner, const MemoryRegionOps *ops, void *opaque,          \
       const char *name, uint64_t size))                                                         \
    X(void, memory_region_set_readonly, (MemoryRegion * region, bool readonly))                  \
    X(uint64_t, memory_region_size, (MemoryRegion * region))                                     \
    X(void, memory_region_unref, (MemoryRegion * region))                                        \
    X(bool, object_property_get_bool, (Object * object, const char *name, Error **error))        \
    X(Object *, object_property_get_link, (Object * object, const char *name, Error **error))    \
    X(bool, object_property_set_link,                                                            \
      (Object * object, const char *name, Object *value, Error **error))                         \
    X(Object *, object_resolve_path_component, (Object * parent, const char *name))              \
    X(Object *, object_resolve_path_type, (const char *path, const char *type, bool *ambiguous)) \
    X(qemu_irq, qdev_get_gpio_in_named, (Object * device, const char *name, int number))         \
    X(Object *, qdev_get_machine, (void))                                                        \
    X(Object *, qdev_new, (const char *type))                                                    \
    X(void, qemu_add_exit_notifier, (Notifier * notifier))                                       \
    X(void, qemu_add_machine_init_done_notifier, (Notifier * notifier))                          \
    X(int64_t, qemu_clock_get_ns, (enum qemu_clock clock))                                       \
    X(AioContext *, qemu_get_aio_context, (void))                                                \
    X(RAMBlock *, qemu_ram_block_by_name, (const char *name))                                    \
    X(void *, qemu_ram_get_host_addr, (RAMBlock * block))                                        \
    X(uint64_t, qemu_ram_get_used_length, (RAMBlock * block))                                    \
    X(void, qemu_register_reset, (void (*callback)(void *), void *opaque))                       \
    X(void, qemu_set_fd_handler,                                                                 \
      (int fd, void (*readable)(void *), void (*writable)(void *), void *opaque))                \
    X(void, qemu_set_irq, (qemu_irq irq, int level))                                             \
    X(void, qemu_system_reset_request, (int cause))                                              \
    X(void, sysbus_connect_irq, (Object * device, int number, qemu_irq irq))                     \
    X(MemoryRegion *, sysbus_mmio_get_region, (Object * device, int number))                     \
    X(bool, sysbus_realize_and_unref, (Object * device, Error * *error))                         \
    X(void, timer_del, (QEMUTimer * timer))                                                      \
    X(void, timer_init_full,                                                                     \
      (QEMUTimer * timer, void *group, enum qemu_clock clock, int scale, int attributes,         \
       void (*callback)(void *), void *opaque))                                                  \
    X(void, timer_mod, (QEMUTimer * timer, int64_t expiry))                                      \
    X(size_t, qemu_plugin_tb_n_insns, (const struct qemu_plugin_tb *tb))                         \
    X(struct qemu_plugin_insn *, qemu_plugin_tb_get_insn,                                        \
      (const struct qemu_plugin_tb *tb, size_t index))                                           \
    X(uint64_t, qemu_plugin_tb_vaddr, (const struct qemu_plugin_tb *tb))                         \
    X(size_t, qemu_plugin_insn_size, (const struct qemu_plugin_insn *insn))                      \
    X(uint64_t, qemu_plugin_insn_vaddr, (const struct qemu_plugin_insn *insn))                   \
    X(void, qemu_plugin_register_vcpu_tb_exec_cb,                                                \
      (struct qemu_plugin_tb * tb, execution_callback callback,                                  \
       enum qemu_plugin_registers registers, void *context))                                     \
    X(void, qemu_plugin_register_vcpu_insn_exec_cb,                                              \
      (struct qemu_plugin_insn * insn, execution_callback callback,                              \
       enum qemu_plugin_registers registers, void *context))                                     \
    X(void, qemu_plugin_register_vcpu_tb_trans_cb, (void)) /* by level: see callbacks.c */

/** Only QEMU with plugin API 1 (up to 8.2). */
#define QEMU_FUNCTIONS_API_1(X)                         \
    X(void, qemu_plugin_register_vcpu_insn_exec_inline, \
      (struct qemu_plugin_insn * insn, enum qemu_plugin_op op, void *counter, uint64_t value))

/** Only QEMU with plugin API 2 or later (from 9.0). */
#define QEMU_FUNCTIONS_API_2(X)                                                           \
    X(void, qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu,                          \
      (struct qemu_plugin_insn * insn, enum qemu_plugin_op op, qemu_plugin_u64 counter,   \
       uint64_t value))                                                                   \
    X(struct qemu_plugin_scoreboard *, qemu_plugin_scoreboard_new, (size_t element_size)) \
    X(uint64_t, qemu_plugin_u64_sum, (qemu_plugin_u64 counter))

/** Only for boards with a Cortex-M. */
#define QEMU_FUNCTIONS_CORTEX_M(X)                                                \
    X(void, arm_v7m_cpu_do_interrupt, (void *cpu))                                \
    X(int, alloc_guestfd, (void))                                                 \
    X(void, associate_guestfd, (int handle, int file))                            \
    X(void, staticfile_guestfd, (int handle, const uint8_t *bytes, size_t size))  \
    X(bool, use_gdb_syscalls, (void))                                             \
    X(int, arm_cpu_gdb_read_register, (void *cpu, GByteArray *bytes, int number)) \
    X(int, arm_cpu_gdb_write_register, (void *cpu, uint8_t *bytes, int number))   \
    X(int, cpu_memory_rw_debug,                                                   \
      (void *cpu, uint64_t address, void *bytes, size_t size, bool write))        \
    X(GByteArray *, g_byte_array_new, (void))                                     \
    X(GByteArray *, g_byte_array_set_size, (GByteArray * bytes, unsigned size))   \
    X(void *, object_get_class, (Object * object))                                \
    X(void, qdev_prop_set_uint32, (Object * device, const char *name, uint32_t value))

/** Only for boards built on machine "none". */
#define QEMU_FUNCTIONS_NONE(X)                                                                \
    X(void, armv7m_load_kernel, (void *cpu, const char *file, uint64_t base, int size))       \
    X(void, async_run_on_cpu, (void *cpu, void (*run)(void *cpu, void *data), void *data))    \
    X(Clock *, clock_new, (Object * parent, const char *name))                                \
    X(void, clock_propagate, (Clock * clock))                                                 \
    X(bool, clock_set, (Clock * clock, uint64_t period))                                      \
    X(void, memory_region_init,                                                               \
      (MemoryRegion * region, Object * owner, const char *name, uint64_t size))               \
    X(void, memory_region_init_rom_device,                                                    \
      (MemoryRegion * region, Object * owner, const MemoryRegionOps *ops, void *opaque,       \
       const char *name, uint64_t size, Error **error))                                       \
    X(void, memory_region_flush_rom_device,                                                   \
      (MemoryRegion * region, uint64_t offset, uint64_t size))                                \
    X(void, memory_region_set_enabled, (MemoryRegion * region, bool enabled))                 \
    X(void, g_free, (void *memory))                                                           \
    X(const char *, object_get_typename, (const Object *object))                              \
    X(char *, object_property_get_str, (Object * object, const char *name, Error **error))    \
    X(void, qemu_chr_fe_accept_input, (CharFrontend * frontend))                              \
    X(bool, qemu_chr_fe_init, (CharFrontend * frontend, void *chardev, Error **error))        \
    X(void, qemu_chr_fe_set_handlers,                                                         \
      (CharFrontend * frontend, int (*can_receive)(void *),                                   \
       void (*receive)(void *, const uint8_t *, int), void (*event)(void *, int),             \
       int (*changed)(void *), void *opaque, void *context, bool set_open))                   \
    X(int, qemu_chr_fe_write_all, (CharFrontend * frontend, const uint8_t *bytes, int size))  \
    X(void, qdev_connect_clock_in, (Object * device, const char *name, Clock *clock))         \
    X(qemu_irq, qemu_allocate_irq,                                                            \
      (void (*handler)(void *opaque, int number, int level), void *opaque, int number))       \
    X(void, qdev_prop_set_chr, (Object * device, const char *name, void *chardev))            \
    X(void, qdev_prop_set_string, (Object * device, const char *name, const char *value))     \
    X(void *, qemu_get_cpu, (int index))                                                      \
    X(void *, serial_hd, (int index))                                                         \
    X(Object *, serial_mm_init,                                                               \
      (MemoryRegion * space, uint64_t base, int shift, qemu_irq irq, int baud, void *chardev, \
       enum device_endian endian))

/** Used only for messages, if available. */
#define QEMU_FUNCTIONS_OPTIONAL(X)                        \
    X(VersionInfo *, qmp_query_version, (Error * *error)) \
    X(void, qapi_free_VersionInfo, (VersionInfo * info))

#define QEMU_DECLARE(result, name, parameters) extern result name parameters __attribute__((weak));
QEMU_FUNCTIONS(QEMU_DECLARE)
QEMU_FUNCTIONS_API_1(QEMU_DECLARE)
QEMU_FUNCTIONS_API_2(QEMU_DECLARE)
QEMU_FUNCTIONS_CORTEX_M(QEMU_DECLARE)
QEMU_FUNCTIONS_NONE(QEMU_DECLARE)
QEMU_FUNCTIONS_OPTIONAL(QEMU_DECLARE)
#undef QEMU_DECLARE

/** Description of what is saved of any CPU: pointers to names, numbers and other descriptions. */
extern const void *const vmstate_cpu_common[] __attribute__((weak));

/** A timer on QEMU's virtual clock. */
struct virtual_timer {
    _Alignas(max_align_t) unsigned char memory[TIMER_ROOM];
};

static inline void virtual_timer_create(struct virtual_timer *timer, void (*callback)(void *),
                                        void *opaque)
{
    timer_init_full((QEMUTimer *)timer->memory, NULL, QEMU_CLOCK_VIRTUAL, 1, 0, callback, opaque);
}

/** Call the callback at this time, in ns. */
static inline void virtual_timer_set(struct virtual_timer *timer, int64_t due)
{
    timer_mod((QEMUTimer *)timer->memory, due);
}

static inline void virtual_timer_stop(struct virtual_timer *timer)
{
    timer_del((QEMUTimer *)timer->memory);
}

/**
 * Is this QEMU, with this level of the plugin API, one that the plugin knows? If not, it says so.
 *
 * Called first by qemu_plugin_install(), since QEMU reveals the level there.
 */
bool qemu_api_accept(const qemu_info_t *info);

/**
 * Name of a function that this QEMU lacks, or NULL if all exist.
 *
 * @param api       level of the plugin API
 * @param cortex_m  also check those needed for a Cortex-M
 * @param none      also check those needed for machine "none"
 */
const char *qemu_api_missing(int api, bool cortex_m, bool none);

/** "version 7.2.22", or "version unknown"; valid for the life of the process. */
const char *qemu_api_version(void);

#endif
