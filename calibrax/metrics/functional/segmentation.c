/* Segmentation: predicted and true labels of pixels. */
#include "calibrax/metrics/functional/counts.h"

/* Two empty sets are equal: 1. */
static cbx_array *iou_of(cbx_ctx *ctx, const cbx_array *hits, const cbx_array *predicted, const cbx_array *actual,
                         CBX__UNUSED double parameter)
{
    return cbx__ratio_or(ctx, hits, cbx_subtract(ctx, cbx_add(ctx, predicted, actual), hits), 1);
}

static cbx_array *dice_of(cbx_ctx *ctx, const cbx_array *hits, const cbx_array *predicted, const cbx_array *actual,
                          CBX__UNUSED double parameter)
{
    return cbx__ratio_or(ctx, cbx_multiply_scalar(ctx, hits, 2), cbx_add(ctx, predicted, actual), 1);
}

CBX__OF_STATE(iou, m) { return cbx__class_average(ctx, m, (cbx__average)c->parameters[0], iou_of, 0); }

CBX__OF_STATE(dice, m) { return cbx__class_average(ctx, m, (cbx__average)c->parameters[0], dice_of, 0); }

#define SEGMENTATION                                                                                                   \
    CBX__ROW("segmentation", HIGHER, 0, 1), .operands = CBX__PAIR("predictions", "targets", LABELS),                   \
                                            .axioms = CBX_AXIOM_SYMMETRIC, .invariances = CBX_INVARIANT_ORDER
#define OVERLAP                                                                                                        \
    SEGMENTATION, .flags = CBX_METRIC_WEIGHTED | CBX_METRIC_SCORES | CBX_METRIC_EAGER | CBX_METRIC_OF_CLASS_1,         \
                  .parameters = { CBX__AVERAGE, CBX__NUM_CLASSES }, .parts = cbx__marginals_by_average
#define AVERAGES                                                                                                       \
    "binary needs labels 0 and 1, refuses words, and is 1 of two empty masks. Classes that occur neither among "       \
    "predictions nor targets do not count; weighted counts classes by their target pixels, and is not symmetric."

/* clang-format off */
CBX__METRIC_TABLE(segmentation,
    { .name = "iou", .summary = "Intersection over union", .formula = "|predicted and true| / |predicted or true|", OVERLAP, .finish = iou, .notes = AVERAGES,
      .source = "Jaccard (1912); scikit-learn jaccard_score", .example = "[[0, 1], [1, 1]], [[0, 1], [0, 1]]" },
    { .name = "dice_coefficient", .summary = "Dice coefficient", .formula = "2 |predicted and true| / (|predicted| + |true|)", OVERLAP, .finish = dice, .notes = AVERAGES,
      .source = "Dice (1945); scikit-learn f1_score", .example = "[[0, 1], [1, 1]], [[0, 1], [0, 1]]" },
    { .name = "pixel_accuracy", .summary = "Pixel accuracy", .formula = "mean(predictions == targets)", SEGMENTATION, .items = cbx__equality, .flags = CBX_METRIC_SCORES,
      .notes = "A large background decides it: see iou.",
      .source = "scikit-learn accuracy_score", .example = "[[0, 1], [1, 1]], [[0, 1], [0, 1]]" },
)
/* clang-format on */
