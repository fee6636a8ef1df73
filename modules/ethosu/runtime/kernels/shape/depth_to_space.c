// SPDX-License-Identifier: MIT
/** DEPTH_TO_SPACE and SPACE_TO_DEPTH: convert channels to blocks of pixels and back. */
#include "runtime/kernels/shape/copy.h"
#include "driver/base/ethosu_count.h"

/** Field of the options. */
enum { OPTION_BLOCK_SIZE = 0 };

/** Are these the shapes of one image, with blocks of pixels and with blocks of channels? */
static bool shapes_fit(const struct kernel_tensor *space, const struct kernel_tensor *depth,
                       int32_t block)
{
    return space->rank == 4 && depth->rank == 4 && space->shape[0] == depth->shape[0] &&
           (int64_t)depth->shape[1] * block == space->shape[1] &&
           (int64_t)depth->shape[2] * block == space->shape[2] &&
           (int64_t)space->shape[3] * block * block == depth->shape[3];
}

static int prepare_blocks(struct builder *builder, const struct tflite_operator_call *call,
                          const struct kernel *kernel)
{
    struct kernel_tensor tensors[2]; // output, input: as numbered in the walk
    uint32_t space = kernel->code == TFLITE_DEPTH_TO_SPACE ? 0 : 1; // the one with blocks of pixels
    int32_t block = kernel_option(builder, call, OPTION_BLOCK_SIZE, 0);
    TRY(find_pair(builder, call, &tensors[1], &tensors[0]));
    if (block <= 0 || block > INT16_MAX ||
        !shapes_fit(&tensors[space], &tensors[1 - space], block)) {
        return kernel_bad(builder, "shapes do not match the block size");
    }
    const int32_t *shape = tensors[1 - space].shape;
    int32_t channels = tensors[space].shape[3];
    int32_t line = shape[2] * block * channels; // of the tensor with blocks of pixels
    const struct {
        int32_t extent, space, depth;
    } dimensions[] = {
        {block * channels, 1, 1}, // one line of a block
        {shape[2], block * channels, block * block * channels},
        {block, line, block * channels},
        {shape[0] * shape[1], block * line, block * line},
    };
    struct copy p = {.walk.rank = COUNT(dimensions)};
    for (uint32_t i = 0; i < p.walk.rank; i++) {
        p.walk.dimension[i].extent = dimensions[i].extent;
        p.walk.dimension[i].stride[space] = dimensions[i].space;
        p.walk.dimension[i].stride[1 - space] = dimensions[i].depth;
    }
    return add_copy(builder, kernel, &p, &tensors[0], 0, &tensors[1], 0);
}

DEFINE_KERNEL(DEPTH_TO_SPACE, .prepare = prepare_blocks, .run = run_copy);
DEFINE_KERNEL(SPACE_TO_DEPTH, .prepare = prepare_blocks, .run = run_copy);
