// SPDX-License-Identifier: MIT
/**
 * One NPU, and the arguments of ethosu_init_ex(): names and shapes of Arm's driver 1.99.
 *
 * A configuration holds register values. Their fields are described in Arm's technical reference
 * manuals; `word` is the whole register.
 */
#ifndef ETHOSU_DEVICE_H
#define ETHOSU_DEVICE_H

#include "ethosu_types.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Register window of one NPU; opaque outside the device layer. */
struct NPU_REG;

struct ethosu_device_ops;
struct ethosu_ext_part;
struct ethosu_npu;
struct ethosu_npu_settings;

/** Hooks of one NPU that replace ethosu_address_remap() and ethosu_config_select(). */
struct ethosu_device_user_ops {
    uint64_t (*address_remap)(uint64_t address, int index);     /**< or NULL */
    unsigned int (*config_select)(uint64_t address, int index); /**< or NULL */
};

struct ethosu_device_caps {
    uint32_t product;   /**< ETHOSU_PRODUCT_* */
    uint32_t log2_macs; /**< ETHOSU_MACS_* */
    uint32_t features;  /**< for the user; ignored by the driver */
};

/** A family of products. */
struct ethosu_device_desc {
    const char *name;
    const struct ethosu_device_ops *ops; /**< NULL in this driver */
    uint32_t product;                    /**< addition: ETHOSU_PRODUCT_* */
};

/** Points to the family's struct u55_config_t, u65_config_t or u85_config_t. */
struct ethosu_device_config {
    void *config;
};

/** One NPU: its registers and configuration. */
struct ethosu_device {
    volatile struct NPU_REG *reg;
    uint32_t secure;                         /**< not 0: secure state */
    uint32_t privileged;                     /**< not 0: privileged level */
    const struct ethosu_device_desc *desc;   /**< NULL: made by ethosu_init() */
    struct ethosu_device_user_ops *user_ops; /**< or NULL */
    struct ethosu_device_caps caps;          /**< known after init */
    struct ethosu_device_config *config;     /**< NULL: made by ethosu_init() */

    /* additions */
    const struct ethosu_ext_part *part; /**< product-specific part */
    uint32_t config_register;           /**< CONFIG register, read at init */
    uint32_t id;                        /**< ID register, read at init */
    uint32_t protection;                /**< PROT value for `secure` and `privileged` */
    const struct ethosu_npu *npu;       /**< the board's entry for it, or NULL */
    bool (*power)(const struct ethosu_npu *npu, bool on); /**< the board's switch, or NULL */
    const struct ethosu_npu_settings *settings;     /**< the board's, or the product's defaults */
    uint32_t qconfig;                               /**< unless the board or a hook overrides it */
    uint32_t regioncfg;                             /**< the same, two bits for each base pointer */
    uint64_t (*remap)(uint64_t address, int index); /**< the hook in use */
    unsigned int (*select)(uint64_t address, int index); /**< the hook in use */
    uint32_t canary_value;  /**< a setting that a reset changes; detects that power was off */
    uint16_t canary_offset; /**< its register; 0: not used */
};

/** The families. ethosu_init() detects the family by itself. */
extern const struct ethosu_device_desc ethosu_device_desc_u55;
extern const struct ethosu_device_desc ethosu_device_desc_u65;
extern const struct ethosu_device_desc ethosu_device_desc_u85;

/** Their defaults; a program may change them before ethosu_init_ex(). */
extern struct ethosu_device_config ethosu_device_config_u55;
extern struct ethosu_device_config ethosu_device_config_u65;
extern struct ethosu_device_config ethosu_device_config_u85;

#ifdef __cplusplus // the structs below have the shapes of Arm's, which ISO C++ does not know
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

/* ---- Ethos-U55 ---- */

struct u55_qconfig_t {
    union {
        struct {
            uint32_t cmd_region0 : 2;
            uint32_t reserved0 : 30;
        };
        uint32_t word;
    };
};

struct u55_regioncfg_t {
    union {
        struct {
            uint32_t region0 : 2;
            uint32_t region1 : 2;
            uint32_t region2 : 2;
            uint32_t region3 : 2;
            uint32_t region4 : 2;
            uint32_t region5 : 2;
            uint32_t region6 : 2;
            uint32_t region7 : 2;
            uint32_t reserved0 : 16;
        };
        uint32_t word;
    };
};

struct u55_axi_limit_t {
    union {
        struct {
            uint32_t max_beats : 2;
            uint32_t reserved0 : 2;
            uint32_t memtype : 4;
            uint32_t reserved1 : 8;
            uint32_t max_outstanding_read_m1 : 5;
            uint32_t reserved2 : 3;
            uint32_t max_outstanding_write_m1 : 4;
            uint32_t reserved3 : 4;
        };
        uint32_t word;
    };
};

struct u55_config_t {
    struct u55_qconfig_t qconfig;
    struct u55_regioncfg_t regioncfg;
    struct u55_axi_limit_t axi_limit0;
    struct u55_axi_limit_t axi_limit1;
    struct u55_axi_limit_t axi_limit2;
    struct u55_axi_limit_t axi_limit3;
};

/* ---- Ethos-U65 ---- */

struct u65_qconfig_t {
    union {
        struct {
            uint32_t cmd_region0 : 2;
            uint32_t reserved0 : 30;
        };
        uint32_t word;
    };
};

struct u65_regioncfg_t {
    union {
        struct {
            uint32_t region0 : 2;
            uint32_t region1 : 2;
            uint32_t region2 : 2;
            uint32_t region3 : 2;
            uint32_t region4 : 2;
            uint32_t region5 : 2;
            uint32_t region6 : 2;
            uint32_t region7 : 2;
            uint32_t reserved0 : 16;
        };
        uint32_t word;
    };
};

struct u65_axi_limit_t {
    union {
        struct {
            uint32_t max_beats : 2;
            uint32_t reserved0 : 2;
            uint32_t memtype : 4;
            uint32_t reserved1 : 8;
            uint32_t max_outstanding_read_m1 : 6;
            uint32_t reserved2 : 2;
            uint32_t max_outstanding_write_m1 : 5;
            uint32_t reserved3 : 3;
        };
        uint32_t word;
    };
};

struct u65_config_t {
    struct u65_qconfig_t qconfig;
    struct u65_regioncfg_t regioncfg;
    struct u65_axi_limit_t axi_limit0;
    struct u65_axi_limit_t axi_limit1;
    struct u65_axi_limit_t axi_limit2;
    struct u65_axi_limit_t axi_limit3;
};

/* ---- Ethos-U85 ---- */

struct u85_mem_attr_t {
    union {
        struct {
            uint32_t mem_domain : 2;
            uint32_t axi_port : 1;
            uint32_t reserved0 : 1;
            uint32_t memtype : 4;
            uint32_t reserved1 : 24;
        };
        uint32_t word;
    };
};

struct u85_qconfig_t {
    union {
        struct {
            uint32_t cmd_region0 : 2;
            uint32_t reserved0 : 30;
        };
        uint32_t word;
    };
};

struct u85_regioncfg_t {
    union {
        struct {
            uint32_t region0 : 2;
            uint32_t region1 : 2;
            uint32_t region2 : 2;
            uint32_t region3 : 2;
            uint32_t region4 : 2;
            uint32_t region5 : 2;
            uint32_t region6 : 2;
            uint32_t region7 : 2;
            uint32_t reserved0 : 16;
        };
        uint32_t word;
    };
};

struct u85_axi_t {
    union {
        struct {
            uint32_t max_outstanding_read_m1 : 6;
            uint32_t reserved0 : 2;
            uint32_t max_outstanding_write_m1 : 5;
            uint32_t reserved1 : 3;
            uint32_t max_beats : 2;
            uint32_t reserved2 : 14;
        };
        uint32_t word;
    };
};

struct u85_power_ctrl_t {
    union {
        struct {
            uint32_t mac_step_cycles : 6;
            uint32_t reserved0 : 26;
        };
        uint32_t word;
    };
};

struct u85_config_t {
    struct u85_mem_attr_t mem_attr[4];
    struct u85_qconfig_t qconfig;
    struct u85_regioncfg_t regioncfg;
    struct u85_axi_t axi_sram;
    struct u85_axi_t axi_ext;
    struct u85_power_ctrl_t power_ctrl;
};

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif
