// SPDX-License-Identifier: MIT
/**
 * TFLite_Detection_PostProcess, the last operator of an SSD: decodes boxes from
 * their anchors. Of boxes that overlap too much, it keeps only the one with the
 * best score ("fast" non-maximum suppression: one list for all classes).
 * Its inputs are float32 or uint8, its outputs float32.
 */
#include "runtime/kernels/shared/element.h"
#include "runtime/kernels/shape/flexbuffer.h"
#include "runtime/kernels/shared/quantization.h"
#include "runtime/kernels/shared/real.h"

#include <math.h>
#include <string.h>

enum { INPUT_BOXES, INPUT_SCORES, INPUT_ANCHORS };
enum { OUTPUT_BOXES, OUTPUT_CLASSES, OUTPUT_SCORES, OUTPUT_COUNT };

struct box {
    float y_min, x_min, y_max, x_max;
};

/** A box computed by the network, or an anchor. */
struct centre {
    float y, x, h, w;
};

/** Numbers of an input. */
struct values {
    const void *data;
    float scale;
    int32_t zero_point;
    bool quantised; /**< uint8, else float32 */
};

struct detection {
    struct kernel_call call;
    struct values boxes;
    struct values scores;
    struct values anchors;
    struct box *found_boxes;
    float *found_classes;
    float *found_scores;
    float *found_count;
    int32_t box_count;
    int32_t box_length; /**< numbers of a box; only the first 4 are used */
    int32_t classes;
    int32_t score_length;   /**< scores of a box: classes, optionally after a background */
    int32_t max_detections; /**< detections */
    int32_t max_classes;    /**< classes of a detection */
    float min_score;
    float max_overlap;
    struct centre scale;
};

/** Scratch of each box. */
struct candidate {
    struct box box;
    float score;   /**< of its best class */
    int32_t order; /**< candidates by score: numbers of boxes; -1: dropped */
};

static uint32_t detection_scratch(const struct kernel_call *call)
{
    const struct detection *p = (const struct detection *)call;
    return kernel_bytes((uint32_t)p->box_count, sizeof(struct candidate));
}

ELEMENT_INLINE float value_of(const struct values *values, int32_t index, bool quantised)
{
    if (!quantised) {
        return ((const float *)values->data)[index];
    }
    int32_t steps = ((const uint8_t *)values->data)[index] - values->zero_point;
    return (float)steps * values->scale;
}

static float value_at(const struct values *values, int32_t index)
{
    return value_of(values, index, values->quantised);
}

static struct centre centre_at(const struct values *values, int32_t first)
{
    return (struct centre){value_at(values, first), value_at(values, first + 1),
                           value_at(values, first + 2), value_at(values, first + 3)};
}

static struct box decode(const struct detection *p, int32_t index)
{
    struct centre box = centre_at(&p->boxes, index * p->box_length);
    struct centre anchor = centre_at(&p->anchors, index * 4);
    double height = real_exp((double)box.h / (double)p->scale.h);
    double width = real_exp((double)box.w / (double)p->scale.w);
    float y = (float)((double)box.y / (double)p->scale.y * (double)anchor.h + (double)anchor.y);
    float x = (float)((double)box.x / (double)p->scale.x * (double)anchor.w + (double)anchor.x);
    float half_height = (float)(height / 2 * (double)anchor.h);
    float half_width = (float)(width / 2 * (double)anchor.w);
    return (struct box){y - half_height, x - half_width, y + half_height, x + half_width};
}

/** Where the scores of a box begin, without the background's. */
static int32_t scores_of(const struct detection *p, int32_t box)
{
    return (box + 1) * p->score_length - p->classes;
}

static float score_of(const struct detection *p, int32_t box, int32_t class)
{
    return value_at(&p->scores, scores_of(p, box) + class);
}

ELEMENT_INLINE int32_t next_of(const struct detection *p, int32_t start, int32_t previous,
                               bool quantised)
{
    int32_t best = -1;
    float limit = previous < 0 ? 0.0F : value_of(&p->scores, start + previous, quantised);
    float highest = 0.0F;
    KERNEL_BLOCKS(&p->call, first, end, p->classes)
    {
        for (int32_t i = first; i < end; i++) {
            float score = value_of(&p->scores, start + i, quantised);
            bool later = previous < 0 || score < limit || (score == limit && i > previous);
            if (later && (best < 0 || score > highest)) {
                best = i;
                highest = score;
            }
        }
    }
    return best;
}

/** The next class of a box after `previous` in the order of scores; -1 starts. */
static int32_t next_class(const struct detection *p, int32_t box, int32_t previous)
{
    int32_t start = scores_of(p, box);
    return p->scores.quantised ? next_of(p, start, previous, true)
                               : next_of(p, start, previous, false);
}

/**
 * Box number of a candidate, or -1 if dropped. The number is bounded here because the list is in
 * the arena, which a misbehaving NPU might overwrite.
 */
static int32_t box_of(const struct detection *p, const struct candidate *list, int32_t at)
{
    const volatile int32_t *order = &list[at].order;
    int32_t box = *order;
    return box < p->box_count ? box : -1;
}

/** Does box a come after box b? Equal scores keep the order of the boxes. */
static bool comes_after(const struct candidate *list, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) {
        return false;
    }
    return list[a].score < list[b].score || (list[a].score == list[b].score && a > b);
}

/** Heap sort of list[].order: move entry `at` down to its position. */
static void sift(const struct detection *p, struct candidate *list, int32_t at, int32_t count)
{
    int32_t moved = box_of(p, list, at);
    for (int32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count &&
            comes_after(list, box_of(p, list, child + 1), box_of(p, list, child))) {
            child++;
        }
        int32_t box = box_of(p, list, child);
        if (!comes_after(list, box, moved)) {
            break;
        }
        list[at].order = box;
        at = child;
    }
    list[at].order = moved;
}

static void sort(const struct detection *p, struct candidate *list, int32_t count)
{
    for (int32_t i = count / 2; i-- > 0 && !kernel_stops(&p->call, 8);) {
        sift(p, list, i, count);
    }
    for (int32_t end = count - 1; end > 0 && !kernel_stops(&p->call, 8); end--) {
        int32_t last = list[end].order;
        list[end].order = list[0].order;
        list[0].order = last;
        sift(p, list, 0, end);
    }
}

/** Intersection over union of two boxes. */
static float overlap(const struct box *a, const struct box *b)
{
    float area_a = (a->y_max - a->y_min) * (a->x_max - a->x_min);
    float area_b = (b->y_max - b->y_min) * (b->x_max - b->x_min);
    if (area_a <= 0.0F || area_b <= 0.0F) {
        return 0.0F;
    }
    float height = fminf(a->y_max, b->y_max) - fmaxf(a->y_min, b->y_min);
    float width = fminf(a->x_max, b->x_max) - fmaxf(a->x_min, b->x_min);
    float common = fmaxf(height, 0.0F) * fmaxf(width, 0.0F);
    return common / (area_a + area_b - common);
}

/** Number of boxes with a sufficient score; -1 if the limits of a box are in the wrong order. */
static int32_t find_candidates(const struct detection *p, struct candidate *list)
{
    int32_t count = 0;
    for (int32_t i = 0; i < p->box_count && !kernel_stops(&p->call, 8); i++) {
        list[i].box = decode(p, i);
        int32_t class = fixed_max(next_class(p, i, -1), 0); // -1 if it must stop
        list[i].score = score_of(p, i, class);
        if (list[i].box.y_min > list[i].box.y_max || list[i].box.x_min > list[i].box.x_max) {
            return -1;
        }
        if (list[i].score >= p->min_score) {
            list[count++].order = i;
        }
    }
    return count;
}

static void put(const struct detection *p, int32_t slot, int32_t box, const struct box *corners)
{
    int32_t class = -1;
    for (int32_t i = 0; i < p->max_classes && i < p->classes; i++) {
        class = next_class(p, box, class);
        if (class < 0) {
            break; // NaN has no order
        }
        p->found_boxes[slot * p->max_classes + i] = *corners;
        p->found_classes[slot * p->max_classes + i] = (float)class;
        p->found_scores[slot * p->max_classes + i] = score_of(p, box, class);
    }
}

/** Drop the candidates from entry `first` on that overlap a box too much. */
static void drop_overlapping(const struct detection *p, struct candidate *list, int32_t first,
                             int32_t count, const struct box *box)
{
    for (int32_t k = first; k < count && !kernel_stops(&p->call, 1); k++) {
        int32_t other = box_of(p, list, k);
        if (other >= 0 && overlap(box, &list[other].box) > p->max_overlap) {
            list[k].order = -1;
        }
    }
}

static int run_detection(const struct kernel_call *call)
{
    const struct detection *p = (const struct detection *)call;
    struct candidate *list = p->call.scratch;
    int32_t count = find_candidates(p, list);
    int32_t kept = 0;
    if (count < 0) {
        return ETHOSU_MODEL_BAD_VALUE;
    }
    sort(p, list, count);
    size_t slots = (size_t)(p->max_detections * p->max_classes);
    kernel_fill(call, p->found_boxes, 0, slots * sizeof *p->found_boxes);
    kernel_fill(call, p->found_classes, 0, slots * sizeof *p->found_classes);
    kernel_fill(call, p->found_scores, 0, slots * sizeof *p->found_scores);
    for (int32_t i = 0; i < count && kept < p->max_detections && !kernel_stops(call, 1); i++) {
        int32_t number = box_of(p, list, i);
        if (number < 0) {
            continue;
        }
        const struct box *box = &list[number].box;
        put(p, kept++, number, box);
        drop_overlapping(p, list, i + 1, count, box);
    }
    p->found_count[0] = (float)kept;
    return ETHOSU_MODEL_OK;
}

/* ---- preparing ---- */

/** Number of options read. */
enum { OPTIONS = 10 };

/** A number from the options, or `fallback` if absent. */
static double option(struct builder *builder, const struct tflite_operator_call *call,
                     const char *key, double fallback)
{
    const struct fb_vector *options = &call->custom_options;
    const uint8_t *data = builder->file.fb.data + options->position;
    return flexbuffer_number(data, options->count, key, fallback);
}

static bool read_options(struct builder *builder, const struct tflite_operator_call *call,
                         struct detection *p)
{
    double detections = option(builder, call, "max_detections", 0);
    double classes_each = option(builder, call, "max_classes_per_detection", 0);
    double classes = option(builder, call, "num_classes", 0);
    p->min_score = (float)option(builder, call, "nms_score_threshold", 0);
    p->max_overlap = (float)option(builder, call, "nms_iou_threshold", 0);
    p->scale.y = (float)option(builder, call, "y_scale", 0);
    p->scale.x = (float)option(builder, call, "x_scale", 0);
    p->scale.h = (float)option(builder, call, "h_scale", 0);
    p->scale.w = (float)option(builder, call, "w_scale", 0);
    bool sane = detections >= 1 && detections < 32768 && classes_each >= 1 &&
                classes_each < 32768 && classes >= 1 && classes < 32768 && p->max_overlap > 0.0F &&
                p->max_overlap <= 1.0F;
    p->max_detections = sane ? (int32_t)detections : 0;
    p->max_classes = sane ? (int32_t)classes_each : 0;
    p->classes = sane ? (int32_t)classes : 0;
    return sane;
}

static bool shapes_fit(const struct kernel_tensor *in, const struct kernel_tensor *out,
                       const struct detection *p)
{
    const struct kernel_tensor *boxes = &in[INPUT_BOXES];
    const struct kernel_tensor *scores = &in[INPUT_SCORES];
    int64_t slots = (int64_t)p->max_detections * p->max_classes;
    return boxes->rank == 3 && boxes->shape[0] == 1 && boxes->shape[2] >= 4 && scores->rank == 3 &&
           scores->shape[0] == 1 && scores->shape[1] == boxes->shape[1] &&
           scores->shape[2] >= p->classes && in[INPUT_ANCHORS].count == 4 * boxes->shape[1] &&
           boxes->shape[1] < 1 << 20 && out[OUTPUT_BOXES].count == 4 * slots &&
           out[OUTPUT_CLASSES].count == slots && out[OUTPUT_SCORES].count == slots &&
           out[OUTPUT_COUNT].count == 1;
}

static int check_types(struct builder *builder, const struct kernel_tensor *in,
                       const struct kernel_tensor *out)
{
    for (int i = 0; i < 4; i++) {
        if (out[i].type != ETHOSU_TYPE_FLOAT32) {
            return kernel_bad_type(builder);
        }
    }
    for (int i = 0; i < 3; i++) {
        if (in[i].type == ETHOSU_TYPE_UINT8) {
            TRY(need_quantized(builder, &in[i]));
        } else if (in[i].type != ETHOSU_TYPE_FLOAT32) {
            return kernel_bad_type(builder);
        }
    }
    return in[INPUT_ANCHORS].type == in[INPUT_BOXES].type ? ETHOSU_MODEL_OK
                                                          : kernel_bad_type(builder);
}

static int check(struct builder *builder, const struct tflite_operator_call *call,
                 const struct kernel_tensor *in, const struct kernel_tensor *out,
                 struct detection *p)
{
    TRY(check_types(builder, in, out));
    if (option(builder, call, "use_regular_nms", 0) != 0) {
        return kernel_unsupported(builder, "per-class suppression is not supported");
    }
    return read_options(builder, call, p) && shapes_fit(in, out, p)
               ? ETHOSU_MODEL_OK
               : kernel_bad(builder, "options and shapes do not match");
}

static struct values values_of(const struct kernel_tensor *tensor)
{
    return (struct values){tensor->data, tensor->scale, tensor->zero_point,
                           tensor->type == ETHOSU_TYPE_UINT8};
}

static int prepare_detection(struct builder *builder, const struct tflite_operator_call *call,
                             const struct kernel *kernel)
{
    struct kernel_tensor in[3];
    struct kernel_tensor out[4];
    struct detection p = {0};
    TRY(kernel_tensors(builder, call, in, 3, out, 4));
    TRY(build_work(builder, OPTIONS * call->custom_options.count)); // for the searches
    TRY(check(builder, call, in, out, &p));
    p.boxes = values_of(&in[INPUT_BOXES]);
    p.scores = values_of(&in[INPUT_SCORES]);
    p.anchors = values_of(&in[INPUT_ANCHORS]);
    p.found_boxes = out[OUTPUT_BOXES].data;
    p.found_classes = out[OUTPUT_CLASSES].data;
    p.found_scores = out[OUTPUT_SCORES].data;
    p.found_count = out[OUTPUT_COUNT].data;
    p.box_count = in[INPUT_BOXES].shape[1];
    p.box_length = in[INPUT_BOXES].shape[2];
    p.score_length = in[INPUT_SCORES].shape[2];
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

/** All custom operators have this code; they differ by name. */
#define TFLITE_DETECTION_POSTPROCESS TFLITE_CUSTOM

DEFINE_KERNEL(DETECTION_POSTPROCESS, .custom = "TFLite_Detection_PostProcess",
              .prepare = prepare_detection, .scratch = detection_scratch, .run = run_detection);
