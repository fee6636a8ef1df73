// SPDX-License-Identifier: MIT
/** Copies the NPU's outputs into tensors with a different layout. */
#include "ethosu_layout.h"

#include "arm_ethos_io_memcpy.h"
#include "ethosu_ext.h"
#include "driver/base/ethosu_fault.h"

#define OUTER_DIMENSIONS 5

/** Rows of the command stream's output, and bytes per row on either side. */
struct chunks {
    size_t count;
    size_t source;
    size_t tensor;
};

/** a * b, or 0 on overflow; b is not 0. */
static size_t multiply(size_t a, size_t b)
{
    return a > SIZE_MAX / b ? 0 : a * b;
}

static int check_arguments(const struct ethosu_ext_layout *layout, struct ethosu_ext_fault *fault)
{
    int missing = layout->tensor == NULL        ? 0
                  : layout->source == NULL      ? 1
                  : layout->tensor_bytes == 0   ? 2
                  : layout->source_bytes == 0   ? 3
                  : layout->element == 0        ? 4
                  : layout->tensor_element == 0 ? 5
                                                : -1;
    return missing < 0 ? 0 : ethosu_ext_fail(fault, ETHOSU_EXT_E_LAYOUT_ARGUMENT, missing);
}

static uint32_t dimension(const struct ethosu_ext_layout *layout, unsigned axis)
{
    return layout->shape[axis] == 0 ? 1 : layout->shape[axis];
}

static int split(const struct ethosu_ext_layout *layout, struct chunks *chunks,
                 struct ethosu_ext_fault *fault)
{
    chunks->count = 1;
    for (unsigned axis = 0; axis < OUTER_DIMENSIONS && chunks->count != 0; axis++) {
        chunks->count = multiply(chunks->count, dimension(layout, axis));
    }
    chunks->source = multiply(dimension(layout, OUTER_DIMENSIONS), layout->element);
    if (chunks->count == 0 || layout->tensor_bytes % chunks->count != 0) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_LAYOUT_SPLIT, -1, layout->tensor_bytes,
                                 chunks->count);
    }
    chunks->tensor = layout->tensor_bytes / chunks->count;

    // The last row is read only as far as the tensor needs it.
    size_t used = chunks->tensor < chunks->source ? chunks->tensor : chunks->source;
    size_t needed = multiply(chunks->source, chunks->count);
    if (needed == 0 || needed - chunks->source + used > layout->source_bytes) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_LAYOUT_BOUNDS, -1, layout->source_bytes,
                                 needed);
    }
    return 0;
}

/** Source and target may overlap only if they are identical. */
static int check_overlap(const struct ethosu_ext_layout *layout, const struct chunks *chunks,
                         struct ethosu_ext_fault *fault)
{
    uintptr_t tensor = (uintptr_t)layout->tensor;
    uintptr_t source = (uintptr_t)layout->source;
    bool apart = tensor >= source ? tensor - source >= layout->source_bytes
                                  : source - tensor >= layout->tensor_bytes;
    if (!apart && (tensor != source || chunks->tensor != chunks->source)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_LAYOUT_OVERLAP, -1, source, tensor);
    }
    return 0;
}

static void copy_rows(const struct ethosu_ext_layout *layout, const struct chunks *chunks)
{
    uint8_t *to = layout->tensor;
    const uint8_t *from = layout->source;
    if (chunks->source == chunks->tensor || chunks->count == 1) {
        if (to != from) {
            arm_ethos_io_memcpy(to, from, layout->tensor_bytes);
        }
        return;
    }
    for (size_t i = 0; i < chunks->count; i++, to += chunks->tensor, from += chunks->source) {
        arm_ethos_io_memcpy(to, from, chunks->tensor);
    }
}

static int8_t sign_extend(unsigned nibble)
{
    return (int8_t)((int)(nibble ^ 8) - 8);
}

static void unpack(const struct ethosu_ext_layout *layout)
{
    int8_t *to = layout->tensor;
    const uint8_t *from = layout->source;
    for (size_t i = 0; i < layout->tensor_bytes / 2; i++) {
        *to++ = sign_extend(from[i] & 0xFu);
        *to++ = sign_extend(from[i] >> 4);
    }
}

int ethosu_ext_adjust_layout(const struct ethosu_ext_layout *layout, struct ethosu_ext_fault *fault)
{
    struct chunks chunks = {0};
    RETURN_IF_ERROR(check_arguments(layout, fault));
    RETURN_IF_ERROR(split(layout, &chunks, fault));
    RETURN_IF_ERROR(check_overlap(layout, &chunks, fault));
    bool expand = chunks.tensor > chunks.source;
    if (expand && (chunks.tensor != 2 * chunks.source || layout->element != 1 ||
                   layout->tensor_element != 1)) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_LAYOUT_EXPAND, -1, chunks.source,
                                 chunks.tensor);
    }
    if (!layout->check_only) {
        expand ? unpack(layout) : copy_rows(layout, &chunks);
    }
    return 0;
}
