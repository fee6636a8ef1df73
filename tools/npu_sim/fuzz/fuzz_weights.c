// SPDX-License-Identifier: MIT
/**
 * libFuzzer target: the weight decoders accept any bytes and write within their capacity; each
 * order of every config gives each weight its own symbol.
 *
 * The whole input is a stream of either format; its first bytes also choose an order.
 */
#include <stdlib.h>
#include <string.h>

#include "core/product.h"
#include "fuzz.h"
#include "libfuzzer.h"
#include "weights/fwd.h"
#include "weights/mlw.h"
#include "weights/weight_order.h"

enum { CAPACITY = 1 << 12, SYMBOLS = 1 << 14, CHOICES = 16 };

static void decode_mlw(const uint8_t *stream, size_t size)
{
    static struct npu_mlw_work work;
    int16_t *out = malloc(CAPACITY * sizeof *out);
    size_t count = 0;
    npu_mlw_decode(stream, size, &work, out, CAPACITY, &count);
    if (count > CAPACITY) {
        abort();
    }
    free(out);
}

/** As many weights as the stream can hold. */
static void decode_fwd(const uint8_t *stream, size_t size)
{
    size_t count = CAPACITY;
    while (count > 0 && npu_fwd_bytes(stream, size, count) > size) {
        count /= 2;
    }
    if (count == 0 || npu_fwd_bytes(stream, size, count) == 0) {
        return;
    }
    int16_t *out = malloc(count * sizeof *out);
    npu_fwd_decode(stream, out, count);
    free(out);
}

static bool choose_shape(const uint8_t *choice, struct npu_weights_shape *shape,
                         const struct npu_product **product)
{
    *product = npu_product_find(fuzz_config(choice[0]));
    uint32_t depth = (*product)->microblocks[choice[1] % NPU_MICROBLOCKS].depth;
    *shape = (struct npu_weights_shape){
        .channels = 1 + choice[2] % 80,
        .inputs = 1 + choice[3] % 140,
        .height = 1 + choice[4] % 18,
        .width = 1 + choice[5] % 18,
        .stride_y = 1 + choice[6] % 4,
        .stride_x = 1 + choice[6] / 4 % 4,
        .dilation_y = 1 + choice[6] / 16 % 2,
        .dilation_x = 1 + choice[6] / 32 % 2,
        .bits = choice[7] & 1 ? 16 : 8,
        .output_block = 4 + choice[8] % 128,
        .microblock = depth,
        .cores = (*product)->cores,
        .macs = (*product)->macs_per_cycle,
        .depthwise = (choice[7] & 2) != 0,
        .part_kernel = (choice[7] & 4) != 0,
        .sparse = (choice[7] & 8) != 0,
    };
    shape->inputs = shape->depthwise ? 1 : shape->inputs;
    return depth > 0;
}

/** Place all weights of all cores. No symbol is 0, so a remaining 0 is a missed place. */
static void place(const uint8_t *choice)
{
    struct npu_weights_shape shape;
    const struct npu_product *product;
    if (!choose_shape(choice, &shape, &product)) {
        return;
    }
    struct npu_order order;
    product->family->order(&shape, &order);
    size_t weights = (size_t)shape.channels * shape.height * shape.width * shape.inputs;
    int16_t *out = calloc(weights, sizeof *out);
    bool all = true;
    for (uint32_t core = 0; core < order.cores; core++) {
        uint64_t count = npu_order_symbols(&order, core);
        all = all && count <= SYMBOLS;
        if (count > SYMBOLS || !npu_order_has_channels(&order, core)) {
            continue;
        }
        int16_t *symbols = malloc(count * sizeof *symbols);
        memset(symbols, 1, count * sizeof *symbols);
        npu_order_place(&order, core, symbols, out);
        free(symbols);
    }
    for (size_t i = 0; i < weights && all; i++) {
        if (out[i] == 0) {
            abort();
        }
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *stream = malloc(size + 1);
    memcpy(stream, data, size);
    decode_mlw(stream, size);
    decode_fwd(stream, size);
    if (size >= CHOICES) {
        place(stream);
    }
    free(stream);
    return 0;
}
