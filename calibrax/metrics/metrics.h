/**
 * Metric functions: numbers that compare predictions with targets, distributions with
 * distributions, sets of points with sets of points.
 *
 *     cbx_array *in[] = { predictions, targets };
 *     double rmse;
 *     st = cbx_metric_value(ctx, "rmse", 2, in, NULL, &rmse, err);
 *
 * A metric function is a row of a table: its name, operands, parameters, range, direction, axioms
 * and code.  The code is written over the array functions, so that it runs on every backend, is
 * traced, differentiated and batched (cbx_metric_fn).  The same row drives the command line, the
 * Python functions and the stateful metrics (stateful.h).
 *
 * Numbers: real operands are computed in float64, whatever their dtype; labels in int64.  Results
 * are float64, or int64 where they are places of items.  NaN: an operand of real numbers may hold
 * NaN, which travels to the result; operands with a domain (scores, labels, probabilities ...) are
 * checked where they have data, and a value outside is CBX_EDOM with argument, place and value.
 * One thread uses a context at a time.  Since 0.1.
 */
#ifndef CALIBRAX_METRICS_METRICS_H
#define CALIBRAX_METRICS_METRICS_H

#include "calibrax/array/ops.h"
#include "calibrax/core/metric.h"

CBX_BEGIN_DECLS

/* ---- operands ---- */

/** name, number, word, minimum and maximum rank, what it is.  A number is never used twice. */
#define CBX_OPERAND_MAP(X)                                                                                             \
    X(REAL, 0, "real", 0, 99, "real numbers of any shape")                                                             \
    X(LABELS, 1, "labels", 0, 99, "class numbers: integers from 0 on, or booleans")                                    \
    X(BINARY, 2, "binary", 0, 99, "0 or 1, of any real dtype or boolean")                                              \
    X(PROBABILITY, 3, "probability", 0, 99, "numbers between 0 and 1")                                                 \
    X(DISTRIBUTION, 4, "distribution", 1, 99, "numbers that are not negative and whose sum over all is 1")             \
    X(JOINT, 5, "joint distribution", 2, 2, "a table of two axes, not negative, whose sum is 1")                       \
    X(CLASS_PROBABILITIES, 6, "class probabilities", 2, 2, "(n, classes), each row a distribution")                    \
    X(LOGITS, 7, "logits", 1, 99, "(..., classes) real numbers, one score for each class")                             \
    X(SCORES, 8, "scores", 1, 1, "real numbers of which the order counts; NaN is refused")                             \
    X(RELEVANCE, 9, "relevance", 1, 1, "grades that are not negative")                                                 \
    X(VECTORS, 10, "vectors", 1, 2, "a vector (d), or rows (n, d)")                                                    \
    X(SAMPLE, 11, "sample", 1, 1, "values in any order; NaN is refused")                                               \
    X(POINTS, 12, "points", 2, 2, "(n, d) real numbers, a point a row")                                                \
    X(ENSEMBLE, 13, "ensemble", 2, 2, "(n, members) real numbers")                                                     \
    X(VECTOR_ENSEMBLE, 14, "ensemble of vectors", 3, 3, "(n, members, d) real numbers")                                \
    X(SIGNAL, 15, "signal", 1, 1, "samples of a signal at equal distances in time")                                    \
    X(IMAGE, 16, "image", 2, 3, "(height, width) or (height, width, channels)")                                        \
    X(SPD, 17, "positive definite matrix", 2, 2, "a symmetric matrix whose eigenvalues are positive")                  \
    X(FRAME, 18, "frame", 2, 2, "(n, p) with orthonormal columns")                                                     \
    X(ADJACENCY, 19, "adjacency matrix", 2, 2, "a square matrix of weights that are not negative, 0: no edge")         \
    X(TOKENS, 20, "tokens", 1, 1, "a text as token numbers that are not negative")                                     \
    X(TEXTS, 21, "texts", 2, 2, "a text a row, as token numbers, filled with -1")                                      \
    X(POSITIVE, 22, "positive numbers", 0, 99, "numbers above 0")                                                      \
    X(MATRICES, 23, "matrices", 2, 3, "(d, d) or (n, d, d) real numbers")                                              \
    X(NONNEGATIVE, 24, "nonnegative", 1, 2, "numbers that are not negative: a vector (d), or rows (n, d)")             \
    X(BALL, 25, "points of a ball", 1, 2, "a vector (d), or rows (n, d), of a norm below 1 / sqrt(curvature)")         \
    X(HYPERBOLOID, 26, "points of a hyperboloid", 1, 2, "a vector (d), or rows (n, d): time first, then space")        \
    X(CLASS_ENSEMBLE, 27, "ensemble of class probabilities", 3, 3,                                                     \
      "(n, members, classes), distributions over classes")                                                             \
    X(CLASS_VECTORS, 28, "class vectors", 2, 2, "(classes, d) real numbers, a vector for each class")                  \
    X(INDICES, 29, "indices", 1, 2, "places of items along the first axis, and -1: none")                              \
    X(BATCH, 30, "batch", 1, 99, "(n, ...) real numbers, an item of any shape for each n")                             \
    X(TOKEN_VECTORS, 31, "token vectors", 2, 3, "(tokens, d) or (n, tokens, d), a vector for each token, 0: none")     \
    X(SEMIDEFINITE, 32, "semidefinite matrices", 2, 3,                                                                 \
      "(d, d) or (n, d, d), each matrix symmetric without negative eigenvalues")                                       \
    X(DEFINITE, 33, "definite matrices", 2, 3, "(d, d) or (n, d, d), each matrix symmetric with positive eigenvalues") \
    X(LOG_PROBABILITY, 34, "log probability", 0, 99, "logarithms of probabilities: numbers that are at most 0")        \
    X(EMBEDDINGS, 35, "embeddings", 2, 2, "(n, d) real numbers, an embedding a row; NaN is refused")                   \
    X(FEATURES, 36, "features", 2, 2, "(n, d) real numbers, the features of an item a row")                            \
    X(SYMMETRIC, 37, "symmetric matrices", 2, 3,                                                                       \
      "(d, d) or (n, d, d), each matrix symmetric, without a negative minor of one or two rows")

/** What an operand means: what is checked of it, and what generated test data and documentation are
 * made of. */
typedef enum cbx_operand_kind {
#define CBX_OPERAND_ENUM(name, number, word, low, high, text) CBX_OPERAND_##name = number,
    CBX_OPERAND_MAP(CBX_OPERAND_ENUM)
#undef CBX_OPERAND_ENUM
        CBX_OPERAND_KINDS
} cbx_operand_kind;

/** name, number, word, what it is.  A number is never used twice. */
#define CBX_OPERAND_ITEMS_MAP(X)                                                                                       \
    X(BY_KIND, 0, "by kind", "none of an optional one and of class vectors, else those of its first axis")             \
    X(NONE, 1, "none", "it is the same for all items")                                                                 \
    X(FIRST, 2, "first", "those of the first operand, along its first axis")                                           \
    X(SECOND, 3, "second", "those of the second operand, along its first axis")                                        \
    X(PAIRS, 4, "pairs", "those of the first operand along both of its first axes; indices are their places")

/**
 * Which items an operand has a row for: what a mask, a bootstrap interval and the classes of
 * cbx_metric_classwise leave out, repeat and separate.  The second operand has items of its own
 * where the two are sets (CBX_SHAPES_ROWS ...), else those of the first one.
 */
typedef enum cbx_operand_items {
#define CBX_OPERAND_ITEMS_ENUM(name, number, word, text) CBX_ITEMS_##name = number,
    CBX_OPERAND_ITEMS_MAP(CBX_OPERAND_ITEMS_ENUM)
#undef CBX_OPERAND_ITEMS_ENUM
        CBX_OPERAND_ITEMS
} cbx_operand_items;

typedef struct cbx_metric_operand {
    const char *name; /* as the argument of Python's function; NULL: no more operands */
    cbx_operand_kind kind;
    bool optional; /* may be NULL; optional ones come last */
    cbx_operand_items items;
} cbx_metric_operand;

/** How shapes of the operands go together. */
typedef enum cbx_metric_shapes {
    CBX_SHAPES_SAME,   /* all of one shape */
    CBX_SHAPES_LENGTH, /* of one length along the first axis */
    CBX_SHAPES_ROWS,   /* one shape but for the first axis: sets of points in one space */
    CBX_SHAPES_FREE    /* the code checks them */
} cbx_metric_shapes;

/* ---- parameters ---- */

typedef enum cbx_parameter_type {
    CBX_PARAMETER_REAL,
    CBX_PARAMETER_INTEGER,
    CBX_PARAMETER_BOOL,
    CBX_PARAMETER_CHOICE /* the number of a word */
} cbx_parameter_type;

/**
 * A number that a metric is computed with.  Of one called num_classes, num_groups, num_clusters or
 * catalog_size 0 means: one more than the largest label, which a traced call does not know and
 * refuses; a label that is not below it is CBX_EDOM.
 */
typedef struct cbx_metric_parameter {
    const char *name; /* NULL: no more parameters */
    const char *help; /* what it is, without its default */
    double value;     /* default */
    double low, high; /* minimum and maximum, both legal */
    cbx_parameter_type type;
    const char *words; /* of a choice, separated by '|' */
} cbx_metric_parameter;

/* ---- properties ---- */

/** name, number, word: axioms that hold for all operands (tests/metrics generates them); or'ed. */
#define CBX_METRIC_AXIOM_MAP(X)                                                                                        \
    X(SYMMETRIC, 1, "symmetric") /* d(x, y) = d(y, x) */                                                               \
    X(IDENTITY, 2, "identity")   /* d(x, x) = 0 */                                                                     \
    X(POSITIVE, 4, "positive")   /* d(x, y) > 0 where x and y differ */                                                \
    X(TRIANGLE, 8, "triangle")   /* d(x, z) <= d(x, y) + d(y, z) */                                                    \
    X(PROPER, 16, "proper")      /* the expected score is best for the true distribution */

/** The same of several together. */
#define CBX_METRIC_AXIOM_SETS(X)                                                                                       \
    X(METRIC, 15, "metric")        /* in the sense of topology */                                                      \
    X(PSEUDO, 11, "pseudometric")  /* two that differ may have the distance 0 */                                       \
    X(DIVERGENCE, 6, "divergence") /* 0 of equal ones alone */

typedef enum cbx_metric_axioms {
#define CBX_METRIC_AXIOMS_ENUM(name, number, word) CBX_AXIOMS_##name = number,
    CBX_METRIC_AXIOM_SETS(CBX_METRIC_AXIOMS_ENUM)
#undef CBX_METRIC_AXIOMS_ENUM
#define CBX_METRIC_AXIOM_ENUM(name, number, word) CBX_AXIOM_##name = number,
        CBX_METRIC_AXIOM_MAP(CBX_METRIC_AXIOM_ENUM)
#undef CBX_METRIC_AXIOM_ENUM
} cbx_metric_axioms;

/** The same of changes of all operands alike that leave the result as it is; or'ed. */
#define CBX_METRIC_INVARIANCE_MAP(X)                                                                                   \
    X(SCALE, 1, "scale")                /* each operand times a positive number of its own */                          \
    X(COMMON_SCALE, 2, "common-scale")  /* both operands times one positive number */                                  \
    X(SHIFT, 4, "shift")                /* one vector or number added to both */                                       \
    X(ROTATION, 8, "rotation")          /* one rotation of the rows or vectors of both */                              \
    X(ORDER, 16, "order")               /* one permutation of the items of both */                                     \
    X(SAMPLE_ORDER, 32, "sample-order") /* a permutation of the items of each */                                       \
    X(MONOTONE, 64, "monotone")         /* an increasing function of the first operand */                              \
    X(RELABEL, 128, "relabel")          /* another numbering of labels or vertices, of each */                         \
    X(CONGRUENCE, 256, "congruence")    /* A -> G A G^T of both matrices, G invertible */                              \
    X(ORTHOGONAL, 512, "orthogonal")    /* A -> Q A Q^T, or Q A, of both, Q orthogonal */                              \
    X(LORENTZ, 1024, "lorentz")         /* one Lorentz transformation of both vectors */

typedef enum cbx_metric_invariances {
#define CBX_METRIC_INVARIANCE_ENUM(name, number, word) CBX_INVARIANT_##name = number,
    CBX_METRIC_INVARIANCE_MAP(CBX_METRIC_INVARIANCE_ENUM)
#undef CBX_METRIC_INVARIANCE_ENUM
} cbx_metric_invariances;

/** Or'ed. */
typedef enum cbx_metric_flags {
    CBX_METRIC_DIFFERENTIABLE = 1, /* in its real operands, almost everywhere */
    /* reads values in C: traced functions call it with data when they run (its result is then
     * described by result); derivatives are refused, but 0 where it is invariant to MONOTONE */
    CBX_METRIC_DATA_SHAPED = 2,
    CBX_METRIC_WEIGHTED = 4, /* of those with whole or parts: uses call->weights */
    /* the first operand may be scores (..., classes): the place of the largest is the label */
    CBX_METRIC_SCORES = 8,
    /* with data it has code that beats compiled code: calls are not compiled */
    CBX_METRIC_EAGER = 16,
    /* step by step it stores much that compiled code fuses: the first call is compiled; with a
     * function that is plain and has no data (user NULL) the second one */
    CBX_METRIC_COMPILED = 32,
    /* its function may be left out: then operands of the kinds batch, features and token vectors
     * are features; else it maps them to features, without a derivative unless gradient is 1 */
    CBX_METRIC_FEATURES = 64,
    /* a batch of a state may have some of the operands alone, others are NULL */
    CBX_METRIC_APART = 128,
    /* operands of the kind probability are those of the classes of labels: with one axis more than
     * the labels of each class along it, else of class 1, so that labels are 0 and 1 */
    CBX_METRIC_OF_CLASSES = 256,
    /* counts class 1 of labels 0 and 1: always, or where its parameter average is binary */
    CBX_METRIC_OF_CLASS_1 = 512
} cbx_metric_flags;

/** name, number, word: what a metric is made of.  A number is never used twice. */
#define CBX_METRIC_TIER_MAP(X)                                                                                         \
    X(FUNCTION, 0, "pure_function")   /* arithmetic of its operands */                                                 \
    X(FEATURES, 1, "frozen_backbone") /* of features that a fixed model makes */                                       \
    X(LEARNED, 2, "learned")          /* of features, with weights of its own */                                       \
    X(LEARNING, 3, "metric_learning") /* a loss that makes embeddings */

typedef enum cbx_metric_tier {
#define CBX_METRIC_TIER_ENUM(name, number, word) CBX_METRIC_TIER_##name = number,
    CBX_METRIC_TIER_MAP(CBX_METRIC_TIER_ENUM)
#undef CBX_METRIC_TIER_ENUM
        CBX_METRIC_TIERS
} cbx_metric_tier;
/** Word of a tier, as the registry of the Python package has it; "?" for another number.  Static
 * text. */
CBX_API const char *cbx_metric_tier_name(cbx_metric_tier tier);

/* ---- the row ---- */

#define CBX_METRIC_MAX_OPERANDS   5
#define CBX_METRIC_MAX_PARAMETERS 8

typedef struct cbx_metric_function cbx_metric_function;

/** What the code of a metric gets. */
typedef struct cbx_metric_call {
    const cbx_metric_function *metric;
    /* in the row's order, float64 or int64 by kind; NULL: an optional one left out */
    cbx_array *const *in;
    const double *parameters; /* all of them, in the row's order */
    /* float64, of WEIGHTED metrics and those with items; NULL: all alike */
    const cbx_array *weights;
    const cbx_fn *function; /* of metrics that take one */
} cbx_metric_call;

/**
 * One metric function.  A row is the caller's, with its strings and what user points to.  It is
 * not copied: it stays where it is, unchanged, until the contexts are freed that it was registered
 * in or called in, also where another row has replaced it, and until states, collections and
 * functions of it are freed, which are those of cbx_metric_fn and all that were traced or compiled
 * through a call of it.  Static rows, and those of plug-ins, always live long enough.
 * Its code has one of three forms, each an array expression (scope.h), and the form decides what
 * the stateful metric keeps (stateful.h):
 *   items   a number for each item; their mean, then finish if there is one.  Takes mask, weights,
 *           reduction and axes
 *   parts   an array that determines the result, of batches joined by merge (NULL: their sum);
 *           finish makes the result of it
 *   whole   the result from all data at once
 */
struct cbx_metric_function {
    const char *name, *domain;
    const char *summary; /* a title: "Mean squared error" */
    const char *formula; /* in plain text, operands by their names */
    const char *notes;   /* edge rules, pitfalls: sentences; NULL: nothing beyond the formula */
    const char *source;  /* where the definition is from */
    /* arguments of a call in Python, "[1, 2], [1, 4]"; the result is computed for the
     * documentation */
    const char *example;
    cbx_metric_operand operands[CBX_METRIC_MAX_OPERANDS + 1];
    cbx_metric_parameter parameters[CBX_METRIC_MAX_PARAMETERS + 1];
    cbx_metric_shapes shapes;
    const char *function; /* what the function that it takes maps; NULL: it takes none */
    cbx_direction direction;
    double low, high;     /* range of the result; infinite: open */
    unsigned axioms;      /* cbx_metric_axioms */
    unsigned invariances; /* cbx_metric_invariances */
    unsigned flags;       /* cbx_metric_flags */
    cbx_array *(*items)(cbx_ctx *ctx, const cbx_metric_call *call);
    cbx_array *(*parts)(cbx_ctx *ctx, const cbx_metric_call *call);
    cbx_array *(*merge)(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *a, const cbx_array *b);
    cbx_array *(*whole)(cbx_ctx *ctx, const cbx_metric_call *call);
    cbx_array *(*finish)(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state);
    void *user; /* for the code of registered metrics */
    cbx_metric_tier tier;
    /* of parts that are approximate: a bound of the error (state.h); NULL: they are exact */
    cbx_array *(*error)(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state);
    /* of DATA_SHAPED ones: shape and dtype of the result from shapes and parameters alone; NULL: a
     * number of float64 */
    void (*result)(const cbx_metric_call *call, cbx_array_desc *out);
};

/* ---- registry ---- */

/** Number of metric functions: the built-in ones, by domain, then those that the context
 * registered. */
CBX_API size_t cbx_metric_count(cbx_ctx *ctx);
/** One by number, NULL beyond the last. */
CBX_API const cbx_metric_function *cbx_metric_at(cbx_ctx *ctx, size_t i);
/**
 * One by name.
 * @return CBX_OK; CBX_ENOENT, with the nearest name
 */
CBX_API cbx_status cbx_metric_find(cbx_ctx *ctx, const char *name, const cbx_metric_function **out, cbx_err *err);
/**
 * Adds a metric function to the context, which then has everything that a built-in one has.
 * @param m  the caller's, who keeps it as cbx_metric_function says, also after its replacement
 * @return CBX_OK; CBX_EINVAL (no name, code or operand; a name that is not an identifier; an
 *         optional operand before another one; a default outside its bounds); CBX_EEXIST (unless
 *         replace; built-in ones stay); CBX_ENOMEM
 */
CBX_API cbx_status cbx_metric_register(cbx_ctx *ctx, const cbx_metric_function *m, bool replace, cbx_err *err);

/** What cbx_metric_register requires of a row.  @return CBX_OK; CBX_EINVAL, with the reason */
CBX_API cbx_status cbx_metric_row_check(const cbx_metric_function *m, cbx_err *err);

/** Word of a kind: "labels"; "?" for a number outside the list.  Static text. */
CBX_API const char *cbx_operand_kind_name(cbx_operand_kind kind);
/** What operands of the kind are, as documentation has it. */
CBX_API const char *cbx_operand_kind_text(cbx_operand_kind kind);
/** dtype in which a metric computes with operands of the kind: CBX_I64 of labels, words and places,
 * else CBX_F64. */
CBX_API cbx_dtype cbx_operand_kind_dtype(cbx_operand_kind kind);
/** Word of the items of an operand: "pairs"; "?" for a number outside the list.  Static text. */
CBX_API const char *cbx_operand_items_name(cbx_operand_items items);
/** The legal values of a parameter as text: "above 0", "at least 1", "between 0 and 1"; returns
 * buf. */
CBX_API const char *cbx_metric_bounds_text(const cbx_metric_parameter *p, char *buf, size_t size);
/** The items of operand i of a row: as it says, else by kind; not CBX_ITEMS_BY_KIND. */
CBX_API cbx_operand_items cbx_metric_operand_items(const cbx_metric_function *m, size_t i);
/** Operands and parameters of a row. */
CBX_API size_t cbx_metric_operands(const cbx_metric_function *m);
CBX_API size_t cbx_metric_parameters(const cbx_metric_function *m);

/* ---- calls ---- */

/** What the numbers of items become. */
typedef enum cbx_metric_reduction {
    CBX_REDUCTION_MEAN,     /* sum(w x) / sum(w) */
    CBX_REDUCTION_SUM,      /* sum(w x) */
    CBX_REDUCTION_NONE,     /* w x, each; masked ones 0 */
    CBX_REDUCTION_BATCH_SUM /* the mean over the first axis of sums over the others */
} cbx_metric_reduction;

/** All zero: the defaults. */
typedef struct cbx_metric_options {
    /* as many as the row has, in its order; NaN: the default; NULL: all defaults */
    const double *parameters;
    /* items that count: bool or 0 and 1, broadcasts to the items (the first axis of other
     * metrics) */
    const cbx_array *mask;
    const cbx_array *weights;       /* not negative, broadcasts likewise */
    cbx_metric_reduction reduction; /* metrics with items alone may have another than the mean */
    const cbx_axes *axes;           /* metrics with items: what is reduced; NULL: all */
    const cbx_fn *function;         /* of metrics that take one; outlives the call */
} cbx_metric_options;

/**
 * A metric as an array expression: the result belongs to the current scope.  It can be traced; a
 * trace refuses no values: where a call with data is CBX_EDOM for one, for a matrix, for a point
 * off its surface or for no items, real results are NaN, those of the items alone where the metric
 * has items, and results that are places are -1.  (Values of DATA_SHAPED metrics are checked when
 * the traced function runs, and a factor of a matrix that has none is CBX_EDOM there, too.)  Of no
 * items, where mask or weights are all 0, there is no metric: CBX_EDOM of a mean over all items
 * and of other forms.  Sums are 0, and with axes the mean over no items is NaN.  A state takes
 * such a batch, and is CBX_EINVAL where no other one was added.
 * The second call with the same shapes and options (the first one, of COMPILED metrics) is
 * compiled, where the backend compiles; the bits are the same.  A function that has data of its
 * own, or is owned, is called each time.
 * @param nin  the row's operands; fewer: the optional ones at the end are left out
 * Errors: CBX_EINVAL (count, a parameter outside its bounds, an option that the metric does not
 * take), CBX_ESHAPE, CBX_EDTYPE, CBX_EDOM (a value outside the domain of its operand, named with
 * its place; no items), CBX_ENOMEM.
 */
CBX_API cbx_array *cbx_metric_apply(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                                    const cbx_metric_options *options);
/**
 * A metric by name, as one number.
 * @param out  written on success only
 * @return as cbx_metric_apply; CBX_ENOENT (no such metric); CBX_ESHAPE (the result is not a scalar)
 */
CBX_API cbx_status cbx_metric_value(cbx_ctx *ctx, const char *name, size_t nin, cbx_array *const *in,
                                    const cbx_metric_options *options, double *out, cbx_err *err);
/**
 * A metric as a function of its operands, for the transforms.
 * @param options  copied with its axes and parameters; mask and weights are kept; NULL: the
 *   defaults
 * @param out      takes nin operands and gives one result; the caller's to free, before the row
 *   ends
 * @return CBX_OK; CBX_EINVAL (as cbx_metric_apply); CBX_ENOMEM
 */
CBX_API cbx_status cbx_metric_fn(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin,
                                 const cbx_metric_options *options, cbx_fn **out, cbx_err *err);

/**
 * Tries on random operands what a row declares: that results lie in its range, its axioms, its
 * invariances, and whether it is proper, of forecasts that are probabilities of classes.  Operands
 * are drawn by their kinds (12 items), optional ones are left out.  Those that the row says belong
 * to no item (CBX_ITEMS_NONE) stay as they are: axioms are of the first two.
 * @param options  parameters and function of all calls; NULL: the defaults
 * @param draws    of operands for each property: 20 find most faults
 * @param seed     the same one draws the same operands
 * @return CBX_OK: all of it holds; CBX_EDOM: a property does not hold, with the numbers that show
 *   it; CBX_EINVAL: draws is 0, or an invariance is not defined for the kind of an operand;
 *   CBX_EUNSUPPORTED: all else holds, and proper cannot be tried on operands of these kinds; as
 *   cbx_metric_row_check, cbx_metric_apply
 */
CBX_API cbx_status cbx_metric_check_properties(cbx_ctx *ctx, const cbx_metric_function *m,
                                               const cbx_metric_options *options, size_t draws, uint64_t seed,
                                               cbx_err *err);

CBX_END_DECLS
#endif
