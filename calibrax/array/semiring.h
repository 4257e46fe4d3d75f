/**
 * Products of arrays over an algebra: matrices, convolutions, and their derivatives.
 *
 *     C[..., i, j] = finalize( update over kk of combine(A[..., i, kk], B[..., kk, j]) )
 *
 * The algebras (real, log, max-plus, min-plus, euclidean, boolean, and those given by functions),
 * their rules for NaN, infinities and nothing to sum, and the accuracy of each are stated in
 * kernels/semiring.h, where the product of plain memory is, too.  These are functions as those of
 * ops.h: results belong to the scope, failures travel, one thread uses a context at a time; the
 * work itself is shared by as many threads as OpenMP gives the process, with the same bits for any
 * number.  Operands of another dtype than the algebra takes: integers become float64, two floats
 * meet in the wider one; boolean takes bool alone, and an algebra given by functions its own dtype
 * alone.
 */
#ifndef CALIBRAX_ARRAY_SEMIRING_H
#define CALIBRAX_ARRAY_SEMIRING_H

#include "calibrax/array/fn.h"
#include "calibrax/array/ops.h"

CBX_BEGIN_DECLS

/** Most arrays of a running fold. */
#define CBX_SEMIRING_STATES 8

/**
 * Beside the functions of an algebra: the same as array expressions, which derivatives of any
 * order are made of.  They work element by element on arrays of one shape, in the algebra's dtype,
 * and are called with the functions' user.  A derivative keeps in reverse mode what each of its
 * steps needs: numbers for every term and element of the product.
 */
typedef struct cbx_semiring_formulas {
    uint32_t struct_size;
    size_t states;        /* arrays that a running fold is: 1 to CBX_SEMIRING_STATES */
    const double *start;  /* what they are in a fold over nothing */
    cbx_array_fn combine; /* (a, b) to a term */
    cbx_array_fn update;  /* (states..., term) to states */
    cbx_array_fn finish;  /* (states...) to an element of C */
} cbx_semiring_formulas;

/**
 * An algebra given by functions on runs of n neighbouring columns.  They are called from several
 * threads at a time and see elements in the order kk = 0, 1, ..., k-1; a state lies on its own
 * size, at most 16 bytes are aligned.
 */
typedef struct cbx_semiring_functions {
    cbx_dtype dtype;    /* of A, B and C */
    size_t state_bytes; /* of one running fold: the size of an element, or more */
    void *user;
    /** n folds over nothing. */
    void (*start)(void *user, size_t n, void *state);
    /** state[j] = update(state[j], combine(*a, b[j])) */
    void (*step)(void *user, size_t n, const void *a, const void *b, void *state);
    /** c[j] = finalize(state[j]) */
    void (*finish)(void *user, size_t n, const void *state, void *c);
    /** state[j] = update(state[j], t[j]), of terms that others made: messages along edges
     * (calibrax/array/ell.h).  NULL: folds none. */
    void (*update)(void *user, size_t n, const void *t, void *state);
    const cbx_semiring_formulas *formulas; /* NULL: it has no derivative */
} cbx_semiring_functions;

/**
 * One algebra.  `identity` starts the fold and is the answer for k = 0 (after finalize);
 * `annihilator` is the value that masks a term, which euclidean has none of: its identity 0 does
 * not mask, it adds b^2.
 */
typedef struct cbx_semiring {
    unsigned id;          /* the library's own number of it */
    const char *name;     /* "tropical_max_plus" */
    const char *combine;  /* "a + b" */
    const char *update;   /* "max(acc, t)" */
    const char *finalize; /* "" if none */
    double identity, empty;
    bool has_annihilator;
    double annihilator;
    /* what C[i,j] is when a term t = combine(A[i,kk], B[kk,j]) is special; NaN terms come from NaN
     * operands and from inf - inf, 0*inf */
    const char *nan_rule, *plus_inf_rule, *minus_inf_rule;
    bool
        /* the right answer in the dtype is unique: every right implementation agrees bit for bit
         * (up to the sign of 0) */
        is_exact;
    const cbx_semiring_functions *functions; /* of cbx_semiring_define; NULL of the others */
} cbx_semiring;

/** Descriptor by exact name: real, log, tropical_max_plus, tropical_min_plus, euclidean, boolean;
 * NULL for any other. */
CBX_API const cbx_semiring *cbx_semiring_find(const char *name);
/** boolean takes bool only, the others float32 and float64; one given by functions the dtype that
 * it says. */
CBX_API bool cbx_semiring_takes(const cbx_semiring *s, cbx_dtype dtype);
/**
 * Fills *out with an algebra given by functions; name and f are kept by reference and must outlive
 * it, and what is traced with it.
 * @return CBX_OK; CBX_EINVAL (a function or formula missing, a state smaller than an element or
 *   beyond 256 bytes, formulas of no or too many states); CBX_EDTYPE (no dtype)
 */
CBX_API cbx_status cbx_semiring_define(const char *name, const cbx_semiring_functions *f, cbx_semiring *out,
                                       cbx_err *err);

/**
 * (..., m, k) by (..., k, n) is (..., m, n); leading axes broadcast; a vector is a row on the left,
 * a column on the right, and its axis is gone in the result.  Strides may be any.  k = 0 gives the
 * algebra's empty value.
 * Errors: CBX_ESHAPE (lengths that differ, a scalar), CBX_EDTYPE (what the algebra does not take),
 * CBX_EOVERFLOW, CBX_ENOMEM.  Derivatives of any order: as below; of an algebra given by functions
 * by its formulas, CBX_EUNSUPPORTED without them.  Since 0.1.
 */
CBX_API cbx_array *cbx_semiring_matmul(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_semiring *s);

/** What happens to a product before it is handed out, in this order.  Start from
 * CBX_SEMIRING_OPTIONS_INIT. */
typedef struct cbx_semiring_options {
    uint32_t struct_size;
    bool raw; /* euclidean: squares of distances */
    /* NULL: none; joined by the algebra's update: merge + c, max(merge, c), sqrt(merge^2 + c^2) */
    const cbx_array *merge;
    /* NULL: none; bool, broadcasts; where it is false (complement: true) C holds the empty value */
    const cbx_array *mask;
    bool mask_complement;
} cbx_semiring_options;

#define CBX_SEMIRING_OPTIONS_INIT                                                                                      \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_semiring_options)                                                                    \
    }

/**
 * The product with an epilogue.
 * Errors besides those of cbx_semiring_matmul: CBX_EINVAL (struct_size; raw of another algebra than
 * euclidean; merge with an algebra given by functions), CBX_EDTYPE (a mask that is not bool),
 * CBX_ESHAPE (merge or mask does not broadcast).
 */
CBX_API cbx_array *cbx_semiring_matmul_with(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_semiring *s,
                                            const cbx_semiring_options *options);

/* ---- convolution ---- */

typedef enum cbx_conv_padding {
    CBX_CONV_VALID, /* none */
    /* ceil(length / stride) positions; of an odd number of elements the smaller half goes before */
    CBX_CONV_SAME,
    CBX_CONV_EXPLICIT /* low and high */
} cbx_conv_padding;

#define CBX_CONV_MAX_AXES 6

/** Start from CBX_CONV_INIT: stride and dilation 0 mean 1. */
typedef struct cbx_conv_options {
    uint32_t struct_size;
    cbx_conv_padding padding;
    size_t stride[CBX_CONV_MAX_AXES], dilation[CBX_CONV_MAX_AXES];
    /* elements of padding before and after: EXPLICIT */
    size_t low[CBX_CONV_MAX_AXES], high[CBX_CONV_MAX_AXES];
} cbx_conv_options;

#define CBX_CONV_INIT                                                                                                  \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_conv_options)                                                                        \
    }

/**
 * y[..., p, o] = finalize( update over taps t and channels c of combine(x[..., p*stride +
 * t*dilation - low, c], w[t, c, o]) ): channels last, nothing is flipped (cross-correlation).
 * Outside of x the value is the algebra's identity: it is read as it is, never multiplied by 0,
 * so that -inf stays what it is; of euclidean, whose identity does not mask, that is a pixel of
 * value 0.  Over an algebra given by functions no value exists: such terms are left out of
 * the fold.
 *
 * @param x        (..., lengths, channels); any number of leading axes
 * @param w        (taps, channels, channels out); its rank less 2 is the number of axes that are
 *   slid along, 1 to 6
 * @param options  NULL: VALID, stride 1, dilation 1
 * Errors: CBX_ESHAPE (ranks, channels that differ, a window larger than the padded length),
 * CBX_EINVAL (struct_size, padding), CBX_EDTYPE, CBX_EOVERFLOW, CBX_ENOMEM.  Derivatives as of the
 * product.  Since 0.1.
 */
CBX_API cbx_array *cbx_semiring_conv(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_semiring *s,
                                     const cbx_conv_options *options);

/* ---- derivatives: what the transforms of transform.h use; operands may be abstract ---- */

/**
 * Backward: from the cotangent g of c = cbx_semiring_matmul(a, b) those of a and b, into d[0] and
 * d[1].
 *   real       g b^T, a^T g
 *   log        weights p = exp(a + b - c), by two scaled products under the certificate of the
 *              product itself; what is not certain is streamed.  c = -inf gives 0.
 *   tropical   the first optimum (the smallest kk) takes all of g, ties or not; c without a term
 *              (the annihilator) gives 0
 *   euclidean  g (a - b) / c by differences; 0 where c is at most four times the smallest normal
 *              number
 * NaN and +inf in c give NaN where they reach.
 *
 * Derivatives of these, of any order: by the same formulas in ordinary operations (log: a column of
 * c at a time); the choice of a tropical one does not move.
 *
 * @param a, b, c, g  two axes or more, one dtype (c and g of c's shape); broadcast leading axes are
 *   summed over
 * Errors: CBX_EDTYPE (boolean has no derivative; dtypes), CBX_ESHAPE, CBX_EINVAL (an algebra given
 * by functions), CBX_EOVERFLOW (k beyond 2^31 - 1), CBX_ENOMEM.  Both results are failed then.
 */
CBX_API void cbx_semiring_matmul_vjp(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                                     const cbx_array *g, const cbx_semiring *s, cbx_array *d[2]);
/** Forward: from the tangents of a and b that of c; rules and errors as above. */
CBX_API cbx_array *cbx_semiring_matmul_jvp(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                                           const cbx_array *ta, const cbx_array *tb, const cbx_semiring *s);
/** Backward of y = cbx_semiring_conv(x, w): cotangents of x and w into d[0] and d[1].  What lies
 * outside of x has none.  Real ones with eight channels or more and a filter without NaN and
 * infinities are made in place, with memory for x and w again; the others hold the windows of a
 * block of positions (4 MiB, or 512 of them).  Errors of both functions. */
CBX_API void cbx_semiring_conv_vjp(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_array *y,
                                   const cbx_array *g, const cbx_semiring *s, const cbx_conv_options *options,
                                   cbx_array *d[2]);
/** Forward: from the tangents of x and w that of y; padding does not move.  Real: two convolutions;
 * memory and errors of the others as those of the backward one. */
CBX_API cbx_array *cbx_semiring_conv_jvp(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_array *y,
                                         const cbx_array *tx, const cbx_array *tw, const cbx_semiring *s,
                                         const cbx_conv_options *options);

CBX_END_DECLS
#endif
