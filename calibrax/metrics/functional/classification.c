/* Classification: predicted labels, scores and probabilities against true labels. */
#include "calibrax/array/kernels/loops.h"
#include "calibrax/metrics/functional/counts.h"
#include "calibrax/metrics/functional/rows.h"

/* ---- from the counts of classes, or from the confusion matrix: rows true labels, columns
 * predicted ones ---- */

static cbx_array *element(cbx_ctx *ctx, const cbx_array *m, ptrdiff_t row, ptrdiff_t column)
{
    return cbx_index(ctx, cbx_index(ctx, m, 0, row), 0, column);
}

/* (1 + beta^2) hits / (beta^2 actual + predicted): precision for beta 0, recall for infinity. */
static cbx_array *f_score(cbx_ctx *ctx, const cbx_array *hits, const cbx_array *predicted, const cbx_array *actual,
                          double beta)
{
    const double b2 = beta * beta;
    const cbx_array *of;

    if (isinf(beta)) return cbx__ratio_or(ctx, hits, actual, 0);
    of = cbx_add(ctx, cbx_multiply_scalar(ctx, actual, b2), predicted);
    return cbx__ratio_or(ctx, cbx_multiply_scalar(ctx, hits, 1 + b2), of, 0);
}

static cbx_array *f_average(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *m, double beta)
{
    return cbx__class_average(ctx, m, (cbx__average)c->parameters[0], f_score, beta);
}

CBX__OF_STATE(precision, m) { return f_average(ctx, c, m, 0); }
CBX__OF_STATE(recall, m) { return f_average(ctx, c, m, INFINITY); }
CBX__OF_STATE(f1, m) { return f_average(ctx, c, m, 1); }
CBX__OF_STATE(f_beta, m) { return f_average(ctx, c, m, c->parameters[1]); }

CBX__OF_STATE(specificity, m)
{
    return cbx__ratio_or(ctx, element(ctx, m, 0, 0), cbx_sum(ctx, cbx_index(ctx, m, 0, 0), NULL), 0);
}

CBX__OF_STATE(sensitivity, m)
{
    return cbx__ratio_or(ctx, element(ctx, m, 1, 1), cbx_sum(ctx, cbx_index(ctx, m, 0, 1), NULL), 0);
}

CBX__OF_STATE(balanced_accuracy, m)
{
    const cbx__tallies t = cbx__tally_marginals(ctx, m);
    const cbx_array *present = cbx_astype(ctx, cbx_greater_scalar(ctx, t.actual, 0), CBX_F64);

    return cbx_divide(ctx, cbx_sum(ctx, cbx__ratio_or(ctx, t.hits, t.actual, 0), NULL), cbx_sum(ctx, present, NULL));
}

/* (s hits - p.t) / sqrt((s^2 - p.p)(s^2 - t.t)); 0 where one side has one class. */
CBX__OF_STATE(matthews, m)
{
    const cbx__tallies t = cbx__tally_marginals(ctx, m);
    const cbx_array *s2 = cbx_square(ctx, t.total), *hits = cbx_multiply(ctx, cbx_sum(ctx, t.hits, NULL), t.total);
    const cbx_array *cov = cbx_subtract(ctx, hits, cbx_sum(ctx, cbx_multiply(ctx, t.predicted, t.actual), NULL));
    const cbx_array *p = cbx_subtract(ctx, s2, cbx_sum(ctx, cbx_square(ctx, t.predicted), NULL));
    const cbx_array *a = cbx_subtract(ctx, s2, cbx_sum(ctx, cbx_square(ctx, t.actual), NULL));

    return cbx__ratio_or(ctx, cov, cbx_multiply(ctx, cbx__root(ctx, p), cbx__root(ctx, a)), 0);
}

CBX__OF_STATE(kappa, m)
{
    const cbx__tallies t = cbx__tally_marginals(ctx, m);
    const cbx_array *agree = cbx_multiply(ctx, cbx_sum(ctx, t.hits, NULL), t.total);
    const cbx_array *chance = cbx_sum(ctx, cbx_multiply(ctx, t.predicted, t.actual), NULL);

    return cbx_divide(ctx, cbx_subtract(ctx, agree, chance), cbx_subtract(ctx, cbx_square(ctx, t.total), chance));
}

/* ---- from scores ---- */

/* Weights of positive and of other items in the order of their scores, and their sums up to each
 * place. */
typedef struct ranked {
    cbx__ordered o;
    cbx_array *positive, *negative;         /* one for each item */
    cbx_array *positive_sum, *negative_sum; /* one more: of the items before a place */
    cbx_array *npositive, *nnegative;
} ranked;

static ranked rank(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *y = c->in[1], *w = c->weights ? cbx_multiply(ctx, c->weights, y) : y;
    const cbx_array *other = cbx_subtract(ctx, cbx__number(ctx, 1), y);
    ranked r = { .o = cbx__order_scores(ctx, c->in[0]) };

    if (c->weights) other = cbx_multiply(ctx, c->weights, other);
    r.positive = cbx_take(ctx, w, r.o.order, 0);
    r.negative = cbx_take(ctx, other, r.o.order, 0);
    r.positive_sum = cbx_cumulative_sum_initial(ctx, r.positive, 0);
    r.negative_sum = cbx_cumulative_sum_initial(ctx, r.negative, 0);
    r.npositive = cbx_index(ctx, r.positive_sum, 0, -1);
    r.nnegative = cbx_index(ctx, r.negative_sum, 0, -1);
    return r;
}

/* The share of pairs of a positive and a negative item in which the positive one has the higher
 * score; ties count half. */
CBX__OF_CALL(roc_auc)
{
    const ranked r = rank(ctx, c);
    const cbx_array *below = cbx_take(ctx, r.negative_sum, r.o.first, 0),
                    *up_to = cbx_take(ctx, r.negative_sum, r.o.end, 0);
    const cbx_array *won = cbx_multiply(ctx, r.positive, cbx_multiply_scalar(ctx, cbx_add(ctx, below, up_to), 0.5));

    return cbx_divide(ctx, cbx_sum(ctx, won, NULL), cbx_multiply(ctx, r.npositive, r.nnegative));
}

/* Precision at the threshold of each positive item, averaged. */
CBX__OF_CALL(average_precision)
{
    const ranked r = rank(ctx, c);
    const cbx_array *tp = cbx_subtract(ctx, r.npositive, cbx_take(ctx, r.positive_sum, r.o.first, 0));
    const cbx_array *fp = cbx_subtract(ctx, r.nnegative, cbx_take(ctx, r.negative_sum, r.o.first, 0));
    const cbx_array *precision_at = cbx__ratio_or(ctx, tp, cbx_add(ctx, tp, fp), 0);

    return cbx__ratio_or(ctx, cbx_sum(ctx, cbx_multiply(ctx, r.positive, precision_at), NULL), r.npositive, 0);
}

/* ---- from probabilities ---- */

/* The elements of x, (..., classes), at labels of shape (...). */
static cbx_array *at_labels(cbx_ctx *ctx, const cbx_array *x, const cbx_array *labels)
{
    return cbx_squeeze(ctx, cbx_take_along_axis(ctx, x, cbx_expand_dims(ctx, labels, -1), -1), -1);
}

static bool labels_match(const cbx_metric_call *c)
{
    const int n = cbx_array_ndim(c->in[1]);

    if (cbx_array_ndim(c->in[0]) != n && cbx_array_ndim(c->in[0]) != n + 1) return false;
    for (int k = 0; k < n; k++)
        if (cbx_array_dim(c->in[0], k) != cbx_array_dim(c->in[1], k)) return false;
    return true;
}

CBX__OF_CALL(log_loss)
{
    const double eps = c->parameters[0];
    const cbx_array *p = c->in[0], *t = c->in[1], *one = cbx__number(ctx, 1), *yes;

    if (!labels_match(c))
        return cbx__metric_refuse(
            ctx, c, CBX_ESHAPE,
            "'predictions' must have the shape of 'targets', or one axis of classes more: %s and %s", CBX__TEXT_OF(p),
            CBX__TEXT_OF(t));
    if (cbx_array_ndim(p) == cbx_array_ndim(t)) {
        yes = cbx_greater_scalar(ctx, t, 0);
        p = cbx_where(ctx, yes, p, cbx_subtract(ctx, one, p));
    } else {
        p = cbx__ratio_or(ctx, at_labels(ctx, p, t), cbx_sum(ctx, p, CBX_AXIS(-1)), 0);
    }
    return cbx_negative(ctx, cbx_log(ctx, cbx_clip_scalar(ctx, p, cbx_float(eps), cbx_float(1))));
}

/* log(sum exp(x - max x)) - (x[label] - max x) of `rows` rows of k numbers; work: 2 rows k. */
static void softmax_losses(const double *x, const int64_t *labels, size_t rows, size_t k, double *work, double *out)
{
    const cbx__loops *loops = cbx__loops_get();
    const size_t n = rows * k;
    double *shifted = work, *powers = work + n;

    for (size_t r = 0; r < rows; r++) {
        const double *row = x + r * k;
        double largest = row[0];
        for (size_t i = 1; i < k; i++) largest = row[i] > largest ? row[i] : largest;
        for (size_t i = 0; i < k; i++) shifted[r * k + i] = row[i] - largest;
    }
    loops->unary(CBX_PRIM_EXP, CBX_F64)(n, (char *[]){ (char *)powers, (char *)shifted },
                                        (const ptrdiff_t[]){ sizeof *powers, sizeof *shifted });
    for (size_t r = 0; r < rows; r++) out[r] = cbx__row_sum(powers + r * k, k);
    loops->unary(CBX_PRIM_LOG, CBX_F64)(rows, (char *[]){ (char *)out, (char *)out },
                                        (const ptrdiff_t[]){ sizeof *out, sizeof *out });
    for (size_t r = 0; r < rows; r++) out[r] -= shifted[r * k + (size_t)labels[r]];
}

/* Some rows at a time, with the bits of the steps below: nothing of the size of the operand is
 * stored. */
static void softmax_rows(cbx_ctx *ctx, const cbx_metric_call *c, const double *x, const void *labels, size_t n,
                         size_t k, void *out)
{
    enum { BLOCK = 2048 }; /* numbers */
    const size_t block = k < BLOCK ? BLOCK / k : 1;
    double *work = cbx__scratch(ctx, c->metric, 2 * block * k, sizeof *work, "rows of %zu numbers", k);

    for (size_t at = 0; work && at < n; at += block)
        softmax_losses(x + at * k, (const int64_t *)labels + at, n - at < block ? n - at : block, k, work,
                       (double *)out + at);
}

CBX__OF_CALL(softmax_cross_entropy)
{
    const size_t classes = cbx_array_dim(c->in[0], cbx_array_ndim(c->in[0]) - 1);
    const cbx_array *x = c->in[0], *largest, *shifted, *log_sum;

    if (cbx__rows_are_here(ctx, c) && labels_match(c) && cbx_array_ndim(x) > cbx_array_ndim(c->in[1]) && classes > 0)
        return cbx__of_rows(ctx, c, CBX_F64, softmax_rows);
    largest = cbx_max(ctx, cbx_stop_gradient(ctx, x), CBX_AXIS_KEEP(-1));
    shifted = cbx_subtract(ctx, x, largest);
    log_sum = cbx_log(ctx, cbx_sum(ctx, cbx_exp(ctx, shifted), CBX_AXIS(-1)));
    return cbx_subtract(ctx, log_sum, at_labels(ctx, shifted, c->in[1]));
}

#define LABELS                        CBX__PAIR("predictions", "targets", LABELS)
#define SCORES                        CBX__TWO("scores", SCORES, "targets", BINARY)
#define CLASSIFICATION(...)           CBX__ROW("classification", __VA_ARGS__)
#define COUNTS(low_, parts_, finish_) CLASSIFICATION(HIGHER, low_, 1), FROM_COUNTS(parts_, finish_, 0)
#define OF_CLASS_1(parts_, finish_)   CLASSIFICATION(HIGHER, 0, 1), FROM_COUNTS(parts_, finish_, CBX_METRIC_OF_CLASS_1)
#define FROM_COUNTS(parts_, finish_, flags_)                                                                           \
    .operands = LABELS, .flags = CBX_METRIC_WEIGHTED | CBX_METRIC_SCORES | CBX_METRIC_EAGER | (flags_),                \
    .parts = parts_, .finish = finish_
#define BY_CLASS(finish_)                                                                                              \
    OF_CLASS_1(cbx__marginals_by_average, finish_), .parameters = { CBX__AVERAGE, CBX__NUM_CLASSES }
#define AVERAGES                                                                                                       \
    "binary needs labels 0 and 1, and refuses words. Classes that occur neither among predictions nor targets do not " \
    "count. A division by 0 is 0."
#define ANY_LABELS .invariances = CBX_INVARIANT_ORDER, .axioms = CBX_AXIOM_SYMMETRIC

/* clang-format off */
CBX__METRIC_TABLE(classification,
    { .name = "accuracy", .summary = "Accuracy", .formula = "mean(predictions == targets)", CLASSIFICATION(HIGHER, 0, 1), .operands = LABELS,
      .flags = CBX_METRIC_SCORES, ANY_LABELS, .items = cbx__equality,
      .notes = "Where one class is frequent, always predicting it is accurate: balanced_accuracy is not deceived.",
      .source = "scikit-learn accuracy_score", .example = "[0, 2, 1, 3], [0, 1, 2, 3]" },
    { .name = "precision", .summary = "Precision", .formula = "TP / (TP + FP)", BY_CLASS(precision),
      .invariances = CBX_INVARIANT_ORDER, .notes = AVERAGES, .source = "scikit-learn precision_score", .example = "[0, 1, 1, 0], [0, 1, 0, 1]" },
    { .name = "recall", .summary = "Recall", .formula = "TP / (TP + FN)", BY_CLASS(recall),
      .invariances = CBX_INVARIANT_ORDER, .notes = AVERAGES, .source = "scikit-learn recall_score", .example = "[0, 1, 1, 0], [0, 1, 0, 1]" },
    { .name = "f1_score", .summary = "F1 score", .formula = "2 TP / (2 TP + FP + FN)", BY_CLASS(f1),
      .invariances = CBX_INVARIANT_ORDER, .notes = AVERAGES, .source = "scikit-learn f1_score", .example = "[0, 1, 1, 0, 1], [0, 1, 0, 1, 1]" },
    { .name = "fbeta_score", .summary = "F-beta score", .formula = "(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)",
      OF_CLASS_1(cbx__marginals_by_average, f_beta), .parameters = { CBX__AVERAGE, CBX__REAL("beta", "weight of recall against precision", 1, 0, INFINITY), CBX__NUM_CLASSES },
      .invariances = CBX_INVARIANT_ORDER, .notes = AVERAGES, .source = "scikit-learn fbeta_score", .example = "[0, 1, 1, 0, 1], [0, 1, 0, 1, 1], beta=2" },
    { .name = "roc_auc", .summary = "Area under the ROC curve", .formula = "P(score of a positive > score of a negative) + P(equal) / 2", CLASSIFICATION(HIGHER, 0, 1),
      .operands = SCORES, .shapes = CBX_SHAPES_LENGTH, .flags = CBX_METRIC_WEIGHTED, .invariances = CBX_INVARIANT_ORDER | CBX_INVARIANT_MONOTONE, .whole = roc_auc,
      .notes = "NaN where one of the classes is missing. Scores that tie count half, so the order of items does not matter.",
      .source = "Hanley & McNeil (1982); scikit-learn roc_auc_score", .example = "[0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]" },
    { .name = "average_precision", .summary = "Average precision", .formula = "sum over thresholds of (recall - recall before) precision", CLASSIFICATION(HIGHER, 0, 1),
      .operands = SCORES, .shapes = CBX_SHAPES_LENGTH, .flags = CBX_METRIC_WEIGHTED, .invariances = CBX_INVARIANT_ORDER | CBX_INVARIANT_MONOTONE, .whole = average_precision,
      .notes = "0 without positive items. Scores that tie are one threshold.",
      .source = "scikit-learn average_precision_score", .example = "[0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]" },
    { .name = "log_loss", .summary = "Log loss", .formula = "-mean(log(probability of the true class))", CLASSIFICATION(LOWER, 0, INFINITY),
      .operands = CBX__TWO("predictions", PROBABILITY, "targets", LABELS), .shapes = CBX_SHAPES_FREE,
      .parameters = { CBX__REAL("eps", "smallest probability that is taken", 0x1p-52, 0, 0.5) }, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_OF_CLASSES,
      .axioms = CBX_AXIOM_PROPER, .invariances = CBX_INVARIANT_ORDER, .items = log_loss,
      .notes = "predictions: probabilities of class 1, in the shape of targets, or (..., classes), of which each row is divided by its sum. A probability below eps counts as eps: proper among forecasts without smaller ones.",
      .source = "Good (1952); scikit-learn log_loss", .example = "[0.1, 0.9, 0.8, 0.35], [0, 1, 1, 0]" },
    { .name = "matthews_corrcoef", .summary = "Matthews correlation coefficient", .formula = "(s c - sum(p_k t_k)) / sqrt((s^2 - sum(p_k^2)) (s^2 - sum(t_k^2)))",
      COUNTS(-1, cbx__marginals, matthews), .parameters = { CBX__NUM_CLASSES }, ANY_LABELS,
      .notes = "s items, c of them right, p_k predicted and t_k true items of class k; any number of classes. 0 where predictions or targets are of one class.",
      .source = "Gorodkin (2004); scikit-learn matthews_corrcoef", .example = "[1, 0, 1, 1], [1, 1, 1, 0]" },
    { .name = "cohen_kappa", .summary = "Cohen's kappa", .formula = "(p_o - p_e) / (1 - p_e)", COUNTS(-1, cbx__marginals, kappa), .parameters = { CBX__NUM_CLASSES }, ANY_LABELS,
      .notes = "p_o share of equal labels, p_e the share that chance gives with these shares of labels. NaN where all labels are of one class.",
      .source = "Cohen (1960); scikit-learn cohen_kappa_score", .example = "[0, 1, 2, 2], [0, 1, 1, 2]" },
    { .name = "balanced_accuracy", .summary = "Balanced accuracy", .formula = "mean over the classes of targets of their recall", COUNTS(0, cbx__marginals, balanced_accuracy),
      .parameters = { CBX__NUM_CLASSES }, .invariances = CBX_INVARIANT_ORDER,
      .notes = "Every class weighs the same, so that a class of a few items makes it noisy. Classes that only predictions have do not count. A guess scores 1 / classes, not 0.",
      .source = "scikit-learn balanced_accuracy_score", .example = "[0, 1, 0, 0], [0, 1, 1, 0]" },
    { .name = "specificity", .summary = "Specificity", .formula = "TN / (TN + FP)", OF_CLASS_1(cbx__binary_confusion, specificity), .parameters = { CBX__NUM_CLASSES },
      .invariances = CBX_INVARIANT_ORDER, .notes = "Of labels 0 and 1; words are refused. 0 without negative targets.",
      .source = "scikit-learn recall_score with pos_label=0", .example = "[0, 1, 1, 0], [0, 1, 0, 0]" },
    { .name = "sensitivity", .summary = "Sensitivity", .formula = "TP / (TP + FN)", OF_CLASS_1(cbx__binary_confusion, sensitivity), .parameters = { CBX__NUM_CLASSES },
      .invariances = CBX_INVARIANT_ORDER, .notes = "Recall of class 1, of labels 0 and 1; words are refused. 0 without positive targets.",
      .source = "scikit-learn recall_score", .example = "[0, 1, 1, 0], [0, 1, 0, 1]" },
    { .name = "softmax_cross_entropy", .summary = "Softmax cross-entropy", .formula = "mean(log(sum_k exp(logits_k)) - logits[label])", CLASSIFICATION(LOWER, 0, INFINITY),
      .operands = CBX__TWO("logits", LOGITS, "labels", LABELS), .shapes = CBX_SHAPES_FREE, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .axioms = CBX_AXIOM_PROPER, .invariances = CBX_INVARIANT_ORDER, .items = softmax_cross_entropy,
      .notes = "labels have the shape of logits without their last axis.", .source = "torch.nn.functional.cross_entropy", .example = "[[2.0, 1.0, 0.1], [0.0, 3.0, 0.0]], [0, 1]" },
    { .name = "confusion_matrix", .summary = "Confusion matrix", .formula = "m[t, p] = number of items with target t and prediction p", CLASSIFICATION(INFO, 0, INFINITY), FROM_COUNTS(cbx__confusion, cbx__state_itself, 0),
      .parameters = { CBX__NUM_CLASSES }, .invariances = CBX_INVARIANT_ORDER,
      .notes = "Rows are targets, columns predictions; others have it transposed. Without num_classes its size is that of the largest label in the call: give num_classes to compare or add batches.",
      .source = "scikit-learn confusion_matrix", .example = "[0, 2, 1, 1], [0, 1, 2, 1]" },
)
/* clang-format on */
