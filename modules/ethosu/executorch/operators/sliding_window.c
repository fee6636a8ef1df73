// SPDX-License-Identifier: MIT
/** Images and windows of ExecuTorch programs; see sliding_window.h. */
#include "executorch/operators/sliding_window.h"

int window_image_shape(struct program_builder *program, const struct program_tensor *tensor,
                       int32_t shape[4])
{
    static const uint8_t orders[2][4] = {{0, 2, 3, 1}, {0, 1, 2, 3}};
    const uint8_t *nhwc = orders[program->explicit_nhwc];
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    int32_t stride = 1;
    if (tensor->rank != 4 || tensor->type != ETHOSU_TYPE_INT8 || tensor->size == 0) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "images are not int8 with 4 dimensions");
    }
    program_strides(tensor, strides);
    for (int i = 3; i >= 0; i--) {
        shape[i] = tensor->shape[nhwc[i]];
        if (shape[i] > 1 && strides[nhwc[i]] != stride) {
            return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                                  "images are not channels_last");
        }
        stride *= shape[i];
    }
    return ETHOSU_MODEL_OK;
}

int window_read_pair(struct program_builder *program, const struct fb_vector *arguments,
                     uint32_t index, int64_t least, int64_t pair[2])
{
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    bool right = program_get_ints(&program->program, argument, 2, pair);
    if (!right && program_get_ints(&program->program, argument, 1, pair)) {
        pair[1] = pair[0];
        right = true;
    }
    right = right && pair[0] >= least && pair[0] <= WINDOW_MAX && pair[1] >= least &&
            pair[1] <= WINDOW_MAX;
    return right ? ETHOSU_MODEL_OK
                 : program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                                  "window, stride, padding or dilation is not two numbers up to "
                                  "1048576");
}

bool window_init(struct window *window, int32_t image, int32_t positions, int32_t size,
                 int64_t stride, int64_t dilation, int64_t pad)
{
    *window = (struct window){
        .input = image,
        .output = positions,
        .size = size,
        .stride = (int32_t)stride,
        .dilation = (int32_t)dilation,
        .pad = (int32_t)pad,
    };
    int64_t covered = (int64_t)(size - 1) * dilation + 1;
    int64_t last = (int64_t)(positions - 1) * stride - pad;
    return size <= WINDOW_MAX && covered <= INT32_MAX / 2 && last + covered <= INT32_MAX / 2;
}

bool window_fits_output(const struct window *window)
{
    int64_t covered = (int64_t)(window->size - 1) * window->dilation + 1;
    int64_t room = (int64_t)window->input + 2 * (int64_t)window->pad - covered;
    return room >= 0 && room / window->stride + 1 == window->output;
}
