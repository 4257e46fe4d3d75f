/*
 * Inside the library: what is done with each primitive.
 *
 * name, function of the reference backend (reference/), cost (trace/cost.c), and the rules of
 * trace/rules_*.c: jvp, transpose, batch
 *   jvp        tangents of the results from those of the operands; zero: results do not move with
 *              their operands
 *   transpose  cotangents of the operands that a result is linear in; nonlinear: it is linear in
 *              none
 *   batch      the operation over an axis in front of its operands
 *   source     it has no operands, so there is nothing to derive or to batch
 */
#ifndef CALIBRAX_ARRAY_RULES_H
#define CALIBRAX_ARRAY_RULES_H

/* clang-format off */
/* By element: steps, of so many operations with complex operands, which have no derivative, and
 * functions. */
#define CBX__STEP(X, name, complex) X(name, each, EACH(1, complex), zero, nonlinear, each)
#define CBX__CURVE(X, name, jvp)    X(name, each, FUNCTION, jvp, nonlinear, each)
#define CBX__RULES_MAP(X) \
    X(FULL,             full,             WORK(moves),                  source,           source,           source) \
    X(IOTA,             iota,             WORK(moves),                  source,           source,           source) \
    CBX__STEP(X, SIGN, 1) CBX__STEP(X, FLOOR, 1) CBX__STEP(X, CEIL, 1) CBX__STEP(X, RINT, 1) CBX__STEP(X, TRUNC, 1) \
    CBX__STEP(X, NOT, 1) CBX__STEP(X, SIGNBIT, 1) CBX__STEP(X, FLOOR_DIV, 1) CBX__STEP(X, NEXTAFTER, 1) \
    CBX__STEP(X, LT, 1) CBX__STEP(X, LE, 1) CBX__STEP(X, GT, 1) CBX__STEP(X, GE, 1) CBX__STEP(X, AND, 1) \
    CBX__STEP(X, OR, 1) CBX__STEP(X, XOR, 1) CBX__STEP(X, SHL, 1) CBX__STEP(X, SHR, 1) CBX__STEP(X, ISNAN, 2) \
    CBX__STEP(X, ISINF, 2) CBX__STEP(X, ISFINITE, 2) CBX__STEP(X, EQ, 2) CBX__STEP(X, NE, 2) \
    CBX__CURVE(X, SQRT, sqrt) CBX__CURVE(X, CBRT, cbrt) CBX__CURVE(X, EXP, exp) CBX__CURVE(X, EXP2, exp2) \
    CBX__CURVE(X, EXPM1, expm1) CBX__CURVE(X, LOG, log) CBX__CURVE(X, LOG2, log2) CBX__CURVE(X, LOG10, log10) \
    CBX__CURVE(X, LOG1P, log1p) CBX__CURVE(X, SIN, sin) CBX__CURVE(X, COS, cos) CBX__CURVE(X, TAN, tan) \
    CBX__CURVE(X, ASIN, asin) CBX__CURVE(X, ACOS, acos) CBX__CURVE(X, ATAN, atan) CBX__CURVE(X, SINH, sinh) \
    CBX__CURVE(X, COSH, cosh) CBX__CURVE(X, TANH, tanh) CBX__CURVE(X, ASINH, asinh) CBX__CURVE(X, ACOSH, acosh) \
    CBX__CURVE(X, ATANH, atanh) CBX__CURVE(X, ERF, erf) CBX__CURVE(X, ERFC, erfc) CBX__CURVE(X, LGAMMA, lgamma) \
    CBX__CURVE(X, ATAN2, atan2) CBX__CURVE(X, HYPOT, hypot) CBX__CURVE(X, LOGADDEXP, logaddexp) \
    X(NEG,              each,             EACH(1, 2),                   linear,           neg,              each) \
    X(ABS,              each,             EACH(1, 3),                   abs,              nonlinear,        each) \
    X(CAST,             cast,             WORK(moves),                  cast,             cast,             each) \
    X(REAL,             each,             WORK(moves),                  linear,           real,             each) \
    X(IMAG,             each,             WORK(moves),                  linear,           imag,             each) \
    X(CONJ,             each,             EACH(1, 1),                   linear,           conj,             each) \
    X(ADD,              each,             EACH(1, 2),                   add,              add,              each) \
    X(SUB,              each,             EACH(1, 2),                   sub,              sub,              each) \
    X(MUL,              each,             EACH(1, 6),                   mul,              mul,              each) \
    X(DIV,              each,             EACH(1, 11),                  div,              div,              each) \
    X(REM,              each,             EACH(1, 1),                   rem,              nonlinear,        each) \
    X(POW,              pow,              FUNCTION,                     pow,              nonlinear,        each) \
    X(MAX,              each,             EACH(1, 1),                   max,              nonlinear,        each) \
    X(MIN,              each,             EACH(1, 1),                   min,              nonlinear,        each) \
    X(COPYSIGN,         each,             EACH(1, 1),                   copysign,         nonlinear,        each) \
    X(COMPLEX,          each,             WORK(moves),                  complex,          complex,          each) \
    X(SELECT,           each,             OF_SECOND(elements, 1, 1),    select,           select,           each) \
    X(CLAMP,            each,             EACH(1, 1),                   clamp,            nonlinear,        each) \
    X(FMA,              each,             EACH(2, 2),                   fma,              fma,              each) \
    X(RESHAPE,          reshape,          WORK(views),                  linear,           reshape,          reshape) \
    X(TRANSPOSE,        transpose,        WORK(views),                  linear,           permute,          permute) \
    X(BROADCAST,        broadcast,        WORK(views),                  linear,           broadcast,        broadcast) \
    X(SLICE,            slice,            WORK(views),                  linear,           slice,            slice) \
    X(PAD,              pad,              WORK(moves),                  pad,              pad,              reshape) \
    X(CONCAT,           concat,           WORK(moves),                  concat,           concat,           along) \
    X(COPY,             copy,             WORK(moves),                  linear,           copy,             each) \
    X(STOP_GRADIENT,    same,             WORK(views),                  zero,             nonlinear,        each) \
    X(TAKE,             take,             WORK(takes),                  take,             take,             take) \
    X(TAKE_ALONG,       take_along,       WORK(takes),                  take,             take_along,       along) \
    X(SCATTER,          scatter,          WORK(scatters),               scatter,          scatter,          scatter) \
    X(SEARCHSORTED,     searchsorted,     WORK(bisects),                zero,             nonlinear,        loop) \
    X(NONZERO,          nonzero,          WORK(scans_for_nonzero),      zero,             nonlinear,        loop) \
    X(SUM,              reduce,           FOLDS(reduces, 2),            linear,           sum,              reduce) \
    X(PROD,             reduce,           FOLDS(reduces, 6),            prod,             nonlinear,        reduce) \
    X(REDUCE_MAX,       reduce,           WORK(reduces),                optimum,          nonlinear,        reduce) \
    X(REDUCE_MIN,       reduce,           WORK(reduces),                optimum,          nonlinear,        reduce) \
    X(ANY,              reduce,           WORK(reduces),                zero,             nonlinear,        reduce) \
    X(ALL,              reduce,           WORK(reduces),                zero,             nonlinear,        reduce) \
    X(ARGMAX,           reduce,           WORK(reduces),                zero,             nonlinear,        reduce) \
    X(ARGMIN,           reduce,           WORK(reduces),                zero,             nonlinear,        reduce) \
    X(SQUARES,          squares,          WORK(squares),                squares,          nonlinear,        reduce) \
    X(CUMSUM,           cumulative,       FOLDS(runs_along, 2),         linear,           cumsum,           along) \
    X(CUMPROD,          cumulative,       FOLDS(runs_along, 6),         cumprod,          nonlinear,        along) \
    X(CUMMAX,           cumulative,       WORK(runs_along),             running,          nonlinear,        along) \
    X(CUMMIN,           cumulative,       WORK(runs_along),             running,          nonlinear,        along) \
    X(SORT,             sort,             WORK(sorts),                  sort,             nonlinear,        along) \
    X(ARGSORT,          sort,             WORK(sorts),                  zero,             nonlinear,        along) \
    X(RANKED,           sort,             WORK(selects),                ranked,           nonlinear,        along) \
    X(MATMUL,           matmul,           WORK(multiplies_matrices),    matmul,           matmul,           matmul) \
    X(SEMIRING_MATMUL,  semiring_matmul,  WORK(folds_terms),            semiring_matmul,  nonlinear,        matmul) \
    X(CHOLESKY,         cholesky,         WORK(factors_cholesky),       cholesky,         nonlinear,        each) \
    X(TRIANGULAR_SOLVE, triangular_solve, WORK(solves_triangle),        triangular_solve, triangular_solve, each) \
    X(SOLVE,            solve,            WORK(solves),                 solve,            solve,            each) \
    X(LU,               lu,               WORK(factors_lu),             lu,               nonlinear,        each) \
    X(QR,               qr,               WORK(factors_qr),             qr,               nonlinear,        each) \
    X(EIGH,             eigh,             WORK(finds_eigenvectors),     eigh,             nonlinear,        each) \
    X(EIGVALSH,         eigh,             WORK(finds_eigenvalues),      eigvalsh,         nonlinear,        each) \
    X(SVD,              svd,              WORK(finds_singular_vectors), svd,              nonlinear,        each) \
    X(SVDVALS,          svd,              WORK(finds_singular_values),  svdvals,          nonlinear,        each) \
    X(SEMIRING_CONV,    semiring_conv,    WORK(folds_taps),             semiring_conv,    nonlinear,        conv) \
    X(FFT,              fft,              WORK(transforms),             linear,           fft,              along) \
    X(RFFT,             rfft,             WORK(transforms_real),        linear,           rfft,             along) \
    X(IRFFT,            irfft,            WORK(transforms_back),        linear,           irfft,            along) \
    X(THREEFRY,         each,             THREEFRY,                     zero,             nonlinear,        each) \
    X(ERFINV,           random,           FUNCTION,                     erfinv,           nonlinear,        each) \
    X(RANDOM_GAMMA,     random,           GAMMA,                        random_gamma,     nonlinear,        each) \
    X(POLYGAMMA,        polygamma,        FUNCTION,                     polygamma,        nonlinear,        each) \
    X(RANDOM_GAMMA_GRAD, gamma_grad,      FUNCTION,                     random_gamma_grad, nonlinear,       each) \
    X(SEMIRING_MATMUL_VJP, semiring_matmul_grad, WORK(derives_terms),     semiring_matmul_vjp, semiring_matmul_vjp, each) \
    X(SEMIRING_MATMUL_JVP, semiring_matmul_grad, WORK(derives_terms),     semiring_matmul_jvp, semiring_matmul_jvp, each) \
    X(SEMIRING_CONV_VJP, semiring_conv_grad, WORK(derives_taps),          semiring_conv_vjp, semiring_conv_vjp, loop) \
    X(SEMIRING_CONV_JVP, semiring_conv_grad, WORK(derives_taps),          semiring_conv_jvp, semiring_conv_jvp, conv) \
    X(ELL_MATMUL,       ell_matmul,       WORK(folds_edges),            ell_matmul,       nonlinear,        ell) \
    X(ELL_MATMUL_VJP,   ell_matmul_grad,  WORK(derives_edges),          ell_matmul_vjp,   ell_matmul_vjp,   loop) \
    X(ELL_MATMUL_JVP,   ell_matmul_grad,  WORK(derives_edges),          ell_matmul_jvp,   ell_matmul_jvp,   ell) \
    X(ELL_SOFTMAX,      ell_softmax,      WORK(normalizes_edges),       ell_softmax,      nonlinear,        loop) \
    X(ELL_SOFTMAX_VJP,  ell_softmax_vjp,  EACH(4, 4),                   ell_softmax_vjp,  ell_softmax_vjp,  loop) \
    X(ELL_PACK,         ell_pack,         WORK(moves),                  linear,           ell_pack,         loop) \
    X(ELL_EDGE,         ell_edge,         WORK(calls_edges),            ell_edge,         nonlinear,        loop) \
    X(ELL_EDGE_VJP,     ell_edge_vjp,     WORK(calls_edges),            ell_edge_vjp,     ell_edge_vjp,     loop) \
    X(ELL_EDGE_JVP,     ell_edge_jvp,     WORK(calls_edges),            ell_edge_jvp,     ell_edge_jvp,     loop) \
    X(SCAN,             scan,             NOTHING,                      scan,             scan,             scan) \
    X(WHILE,            while,            NOTHING,                      while,            nonlinear,        while) \
    X(COND,             cond,             NOTHING,                      cond,             cond,             cond) \
    X(CUSTOM_JVP,       function,         NOTHING,                      custom_jvp,       nonlinear,        custom) \
    X(CUSTOM_VJP,       function,         NOTHING,                      custom_vjp,       nonlinear,        custom) \
    X(CUSTOM_VJP_MAP,   custom_vjp_map,   NOTHING,                      custom_vjp_map,   custom_vjp_map,   custom_vjp_map) \
    X(CHECKPOINT,       function,         NOTHING,                      checkpoint,       nonlinear,        checkpoint) \
    X(CHECKPOINT_MAP,   checkpoint_map,   NOTHING,                      checkpoint_map,   checkpoint_map,   checkpoint_map) \
    X(HOST_CALL,        host_call,        UNKNOWN,                      host_call,        nonlinear,        loop)
/* clang-format on */

#endif
