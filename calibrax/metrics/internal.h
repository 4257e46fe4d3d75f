/*
 * Inside the metrics: the tables of the domains, checks of operands, and steps that formulas are
 * written in.
 */
#ifndef CALIBRAX_METRICS_INTERNAL_H
#define CALIBRAX_METRICS_INTERNAL_H

#include <math.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/linalg.h"
#include "calibrax/array/transform.h"
#include "calibrax/metrics/metrics.h"

/* ---- the code of rows ---- */

/* Heads of functions that have the context ctx and the call c, which they need not read: of the
 * operands; of a state, to finish it; of two states, to merge them. */
#define CBX__OF_CALL(name)                                                                                             \
    static cbx_array *name(__attribute__((unused)) cbx_ctx *ctx, __attribute__((unused)) const cbx_metric_call *c)
#define CBX__OF_STATE(name, state)                                                                                     \
    static cbx_array *name(cbx_ctx *ctx, __attribute__((unused)) const cbx_metric_call *c, const cbx_array *state)
#define CBX__OF_STATES(name, x, y)                                                                                     \
    static cbx_array *name(cbx_ctx *ctx, __attribute__((unused)) const cbx_metric_call *c, const cbx_array *x,         \
                           const cbx_array *y)

/* ---- tables ---- */

typedef struct cbx__metric_table {
    const cbx_metric_function *rows;
    size_t count;
} cbx__metric_table;

/* Each domain's file ends with its table. */
#define CBX__METRIC_TABLE(domain, ...)                                                                                 \
    static const cbx_metric_function rows[] = { __VA_ARGS__ };                                                         \
    const cbx__metric_table cbx__metrics_##domain = { rows, sizeof rows / sizeof *rows };

/*
 * The domains in the order of the documentation: one file each in functional/, and those of
 * learning/ and plugins/.
 */
#define CBX__METRIC_DOMAINS(X)                                                                                         \
    X(general)                                                                                                         \
    X(audio)                                                                                                           \
    X(calibration)                                                                                                     \
    X(classification)                                                                                                  \
    X(clustering_agreement)                                                                                            \
    X(clustering_compactness)                                                                                          \
    X(distance)                                                                                                        \
    X(divergence)                                                                                                      \
    X(fairness)                                                                                                        \
    X(features_generated)                                                                                              \
    X(features_perceptual)                                                                                             \
    X(features_tokens)                                                                                                 \
    X(forecasting)                                                                                                     \
    X(generative)                                                                                                      \
    X(geometric)                                                                                                       \
    X(graph)                                                                                                           \
    X(image)                                                                                                           \
    X(information)                                                                                                     \
    X(learning_pairs)                                                                                                  \
    X(learning_triplets)                                                                                               \
    X(learning_classes)                                                                                                \
    X(learning_miners)                                                                                                 \
    X(manifold)                                                                                                        \
    X(ranking)                                                                                                         \
    X(scientific)                                                                                                      \
    X(segmentation)                                                                                                    \
    X(statistical)                                                                                                     \
    X(streaming)                                                                                                       \
    X(text)                                                                                                            \
    X(uncertainty)

#define CBX__METRIC_DECLARE(domain) extern const cbx__metric_table cbx__metrics_##domain;
CBX__METRIC_DOMAINS(CBX__METRIC_DECLARE)
#undef CBX__METRIC_DECLARE

/* What most rows begin with. */
#define CBX__ROW(domain_, better, low_, high_)                                                                         \
    .domain = domain_, .direction = CBX_DIRECTION_##better, .low = low_, .high = high_

/* A parameter of a row: name, help, default and, of numbers, the least and the largest
 * legal one. */
#define CBX__PARAMETER(type, words, ...)                                                                               \
    {                                                                                                                  \
        __VA_ARGS__, CBX_PARAMETER_##type, words                                                                       \
    }
#define CBX__INTEGER(...)                           CBX__PARAMETER(INTEGER, NULL, __VA_ARGS__)
#define CBX__REAL(...)                              CBX__PARAMETER(REAL, NULL, __VA_ARGS__)
#define CBX__POSITIVE(...)                          CBX__REAL(__VA_ARGS__, 0x1p-1074, INFINITY)
#define CBX__FLAG(name, help, value)                CBX__PARAMETER(BOOL, NULL, name, help, value, 0, 1)
#define CBX__CHOICE(name, help, value, last, words) CBX__PARAMETER(CHOICE, words, name, help, value, 0, last)

#define CBX__SMOOTH .flags = CBX_METRIC_DIFFERENTIABLE

/* Operands for a row's .operands. */
#define CBX__TWO(a, kind_a, b, kind_b)                                                                                 \
    {                                                                                                                  \
        { a, CBX_OPERAND_##kind_a }, { b, CBX_OPERAND_##kind_b }                                                       \
    }
#define CBX__PAIR(a, b, kind) CBX__TWO(a, kind, b, kind)

/* ---- operands ---- */

/**
 * Axes at the end of an operand of the kind, which has ndim, that belong to one item: 1 for rows of
 * vectors.
 */
int cbx__operand_item_axes(cbx_operand_kind kind, int ndim);
/** Whether operand i has items by its kind, and is one of them, without an axis of items. */
bool cbx__operand_is_single(const cbx_metric_function *m, size_t i, const cbx_array *x);
/**
 * Whether operand i, which may be NULL, has a row for each of n[0] items of the first operand, or
 * n[1] of the second one.
 */
bool cbx__operand_fits(const cbx_metric_function *m, size_t i, const cbx_array *x, const size_t n[2]);
/**
 * Operand i, which may be NULL, of the items at places among those of the first operand, at[0], and
 * of the second one, at[1]: as it is where it is the same for all.  Places of items that it holds
 * become those among at[0]: -1 for an item that is missing.
 */
cbx_array *cbx__operand_at(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, cbx_array *x,
                           const cbx_array *const at[2]);
/**
 * Whether items can be drawn, left out and joined along the first axis: not where an operand is one
 * thing, such as a distribution.
 */
bool cbx__metric_has_items(const cbx_metric_function *m);
/**
 * Checks of all operands without their values: count, dtype, rank, shapes that go together.  False:
 * recorded.
 */
bool cbx__metric_check_shapes(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in);
/**
 * The values of operand i, which has data, against the domain of its kind, and the largest of
 * labels.  kept: places of the items in the array that the caller gave, for messages; NULL: they
 * are all there.  False: recorded.
 */
bool cbx__metric_check_values(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x,
                              const cbx_array *kept, double *largest);
/** The same of a mask, binary, of weights, relevances, and of scores in place of labels. */
bool cbx__metric_check_argument(cbx_ctx *ctx, const cbx_metric_function *m, const char *name, cbx_operand_kind kind,
                                const cbx_array *x);
/**
 * Records that a label of operand i, the first that is not below a limit, must be below what is
 * named.
 */
void cbx__metric_refuse_label(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x, double limit,
                              const char *what, const cbx_array *kept);
/** An operand in the dtype that code gets: float64, or int64 of labels and tokens. */
cbx_array *cbx__metric_operand(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, cbx_array *x);
/**
 * Whether elements of x, an operand of the kind whose values are unknown, are legal, as sums and
 * matrices are: a boolean or several; NULL: all are.  given: the dtype of the caller's array.
 */
cbx_array *cbx__operand_legal(cbx_ctx *ctx, cbx_operand_kind kind, const cbx_array *x, cbx_dtype given);
/** What replaces items of x, an operand of the kind, that count with weight 0: legal numbers. */
cbx_array *cbx__operand_neutral(cbx_ctx *ctx, cbx_operand_kind kind, const cbx_array *x);
/**
 * "[3, 1]": the place of element n of the first ndim axes of x; kept: places of the items in the
 * caller's array, NULL: they are all there.  Returns buf.
 */
const char *cbx__place(const cbx_array *x, int ndim, size_t n, const cbx_array *kept, char *buf, size_t size);

typedef enum cbx__definiteness { CBX__ANY_MATRIX, CBX__SYMMETRIC, CBX__SEMIDEFINITE, CBX__DEFINITE } cbx__definiteness;
/**
 * Whether operand i, a matrix or a stack of them with data, is square, symmetric to 1e-8 of its
 * largest element and has eigenvalues that are positive, or not below -1e-8 of the largest element
 * of its diagonal; CBX__SYMMETRIC, in fewer steps than a factor: no negative minors of one or two
 * rows.  A matrix with a NaN passes.  False: recorded.
 */
bool cbx__check_definite(cbx_ctx *ctx, const cbx_metric_function *metric, size_t i, const cbx_array *x,
                         const cbx_array *kept, cbx__definiteness definiteness);

/** Cholesky's factor of a matrix with data, or of a stack; NULL, with the reason: one has none. */
cbx_array *cbx__factor(cbx_ctx *ctx, const cbx_array *x, cbx_err *err);
/** What that requires of the values of x, which are unknown: booleans; NULL where x is not
 * square. */
cbx_array *cbx__matrix_legal(cbx_ctx *ctx, const cbx_array *x, cbx__definiteness definiteness);

/** Whether 0 means of the parameter: one more than the largest label. */
bool cbx__counts_labels(const char *parameter);
/** The place of such a parameter; the number of parameters where the metric has no such one. */
size_t cbx__counting_parameter(const cbx_metric_function *m);

/** What a noun that n things have ends with, in messages: "1 item", "2 items". */
static inline const char *cbx__plural(size_t n) { return n == 1 ? "" : "s"; }

/** Records CBX_EDOM and so on with the metric's name in front; returns the failed array. */
#define cbx__metric_refuse(ctx, call, status, fmt, ...)                                                                \
    cbx__refuse(ctx, status, "%s: " fmt, (call)->metric->name, __VA_ARGS__)
/** The same, as the answer of a check. */
#define cbx__metric_refused(...) (cbx__metric_refuse(__VA_ARGS__), false)

/* For the arguments of a message, as text that lives until the block ends: dtype and shape of an
 * array; a number. */
#define CBX__TEXT_OF(x)     cbx_array_desc_text(cbx_array_get_desc(x), (char[128]){ 0 }, 128)
#define CBX__TEXT_NUMBER(v) cbx_format_double(v, (char[CBX_FORMAT_SIZE]){ 0 })

/* ---- values in C, where they are known ---- */

/**
 * Elements of an array, row-major in the host's memory, until the scope ends: where they are, if
 * they lie so.  NULL: recorded.
 */
const void *cbx__host_view(cbx_ctx *ctx, const cbx_array *x);
/** A copy of them, for the caller to write into. */
void *cbx__host_copy(cbx_ctx *ctx, const cbx_array *x);
/** Zeroed memory until the scope ends.  NULL: recorded, as no memory for what the format says. */
void *cbx__scratch(cbx_ctx *ctx, const cbx_metric_function *m, size_t count, size_t size, const char *what, ...)
    CBX_PRINTF(5, 6);
/** A new array of the scope for the caller to fill. */
cbx_array *cbx__fresh(cbx_ctx *ctx, const cbx_array_desc *d);
/** n numbers as an array. */
cbx_array *cbx__vector(cbx_ctx *ctx, size_t n, const double *v);

/* ---- steps of formulas; w is call->weights ---- */

/** The number of the parameter, which must be one of the row. */
double cbx__metric_parameter(const cbx_metric_call *c, const char *name);
/** True where the call computes with data, so that values may be read in C. */
bool cbx__metric_has_data(cbx_ctx *ctx, const cbx_metric_call *call);
/** False, recorded, where operand i, a matrix or a stack of them, is not square. */
bool cbx__metric_square(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x);
/** False, recorded, where matrix i is not square or, if its values are known, not symmetric. */
bool cbx__metric_symmetric(cbx_ctx *ctx, const cbx_metric_call *call, size_t i);
/** One element of x, in row-major order, as a double; NaN for a failed or abstract array. */
double cbx__metric_element(const cbx_array *x, size_t i);
/** Whether two arrays have different shapes, or, where they have data, different elements. */
bool cbx__differ(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
/** sum(w x) over all. */
cbx_array *cbx__weighted_sum(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x);
/** sum(w x) / sum(w) over all. */
cbx_array *cbx__weighted_mean(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x);
/** sum(w), or the number of elements of x, as a scalar of float64. */
cbx_array *cbx__total_weight(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x);
/** Whether sum(w (x - mean)^2) = squares, n = sum(w), may come of equal numbers, whose mean was
 * rounded: a boolean. */
cbx_array *cbx__is_constant(cbx_ctx *ctx, const cbx_array *n, const cbx_array *mean, const cbx_array *squares);
/** a / b, and value where b is 0: without a NaN in the gradient. */
cbx_array *cbx__ratio_or(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, double value);
/** x, or NaN where an element of an operand is: of a result that comparisons of the operands
 * decide. */
cbx_array *cbx__nan_or(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x);
/** x, and in a trace, which refuses nothing, NaN where legal is false, which broadcasts to x. */
cbx_array *cbx__nan_unless(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *legal, const cbx_array *x);
/** A scalar of float64. */
cbx_array *cbx__number(cbx_ctx *ctx, double v);
/** sqrt(x), whose derivative at 0 is 0. */
cbx_array *cbx__root(cbx_ctx *ctx, const cbx_array *x);
/** x log(y), 0 where x is 0, also of y = 0 (scipy.special.xlogy). */
cbx_array *cbx__xlogy(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y);
/** -sum p log p over the axes. */
cbx_array *cbx__entropy(cbx_ctx *ctx, const cbx_array *p, const cbx_axes *axes);
/** p log(p / q): 0 where p is 0, infinite where q alone is. */
cbx_array *cbx__kl_terms(cbx_ctx *ctx, const cbx_array *p, const cbx_array *q);
/** Items: the first operand less the second one; its square; 1 where they are equal, else 0. */
cbx_array *cbx__difference(cbx_ctx *ctx, const cbx_metric_call *call);
cbx_array *cbx__squared_error(cbx_ctx *ctx, const cbx_metric_call *call);
cbx_array *cbx__equality(cbx_ctx *ctx, const cbx_metric_call *call);
/** What finishes a state that is the result. */
cbx_array *cbx__state_itself(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state);
/** Results of n rows, a block of them at a time: of rows first..last-1 stacked along axis 0. */
typedef cbx_array *cbx__rows_fn(cbx_ctx *ctx, const cbx_metric_call *call, size_t first, size_t last);
/**
 * f of all n rows, for which it needs cost elements a row: blocks of 2^17 elements with data, at
 * once in a trace, where they are fused and not stored.
 */
cbx_array *cbx__by_rows(cbx_ctx *ctx, const cbx_metric_call *call, size_t n, size_t cost, cbx__rows_fn *f);
/** wasserstein_1d, of two samples. */
cbx_array *cbx__metric_wasserstein(cbx_ctx *ctx, const cbx_metric_call *call);
/**
 * Two batches whose moments are joined: weight of both, share of the second, and weight of the
 * product of gaps between means.
 */
typedef struct cbx__joint {
    const cbx_array *n, *share, *between;
} cbx__joint;
/**
 * Of the weights of both; where both are 0 the share is 0.  Source: Chan, Golub & LeVeque, Am.
 * Stat. 37 (1983) 242-247.
 */
cbx__joint cbx__join_weights(cbx_ctx *ctx, const cbx_array *na, const cbx_array *nb);
/** The mean of both, of the mean of the first and the gap from it to that of the second. */
cbx_array *cbx__join_means(cbx_ctx *ctx, const cbx__joint *j, const cbx_array *mean, const cbx_array *gap);
/**
 * Sums of products of deviations from the means, of both: a and b, and the product of the gaps
 * between the means.
 */
cbx_array *cbx__join_products(cbx_ctx *ctx, const cbx__joint *j, const cbx_array *a, const cbx_array *b,
                              const cbx_array *gaps);
/** Of a mean and the sum of squares about it: both of both into out; returns the gap between
 * the means. */
const cbx_array *cbx__join_spread(cbx_ctx *ctx, const cbx__joint *j, cbx_array *const a[2], cbx_array *const b[2],
                                  const cbx_array *out[2]);
/** n scalars in a vector. */
cbx_array *cbx__pack(cbx_ctx *ctx, size_t n, const cbx_array *const *in);
/** Elements of a vector as scalars, an array of n of them. */
#define CBX__PARTS(name, n, ctx, x)                                                                                    \
    cbx_array *name[n];                                                                                                \
    cbx_unstack(ctx, x, 0, n, name)
/** The elements of two vectors, a and b, whose first ones are weights, joined in j; and out, which
 * starts with both. */
#define CBX__JOINT(count, ctx, x, y)                                                                                   \
    CBX__PARTS(a, count, ctx, x);                                                                                      \
    CBX__PARTS(b, count, ctx, y);                                                                                      \
    const cbx__joint j = cbx__join_weights(ctx, a[0], b[0]);                                                           \
    const cbx_array *out[count] = { j.n }

#endif
