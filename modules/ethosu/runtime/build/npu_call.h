// SPDX-License-Identifier: MIT
/** Makes calls of the driver, for each format of model files. */
#ifndef NPU_CALL_H
#define NPU_CALL_H

#include "runtime/build/builder.h"

/** Space for a call while measuring. */
struct npu_call_counted {
    struct npu_call call; // the largest program, so there is room for the bases
    struct npu_base bases[NPU_BASES_MAX];
};

/** Reserve a call; the caller sets its bases. While measuring, *call is temporary, in `counted`. */
int npu_call_new(struct builder *builder, uint32_t bases, struct npu_call_counted *counted,
                 struct npu_call **call);

/** Set a base pointer of a call. */
static inline void npu_call_set(struct npu_call *call, uint32_t index, const void *data,
                                uint32_t size)
{
    // Constants are never written through this pointer, because the NPU only reads them.
    npu_bases(call)[index] = (struct npu_base){(void *)(uintptr_t)data, size};
}

/** Does the driver supply memory for fast scratch? If so, a call only specifies its size. */
static inline bool npu_has_fast_memory(const struct builder *builder)
{
    return builder->driver != NULL && ethosu_ext_has_fast_memory(builder->driver);
}

/** Have the driver check a complete call, and add its step. */
int npu_call_add(struct builder *builder, struct npu_call *call);

/** Reject with the driver's message. */
int npu_refuse_fault(struct builder *builder, int status, const struct ethosu_ext_fault *fault);

/** Parse a payload, and reject it if the model was compiled for a different NPU. */
int npu_parse_payload(struct builder *builder, const void *data, uint32_t size,
                      struct ethosu_ext_payload *payload);

#endif
