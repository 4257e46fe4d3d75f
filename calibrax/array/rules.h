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
#define CBX__RULES_MAP(X) \
    X(FULL,             full,             WORK(moves),                  source,           source,           source) \
    X(IOTA,             iota,             WORK(moves),                  source,           source,           source) \
    X(NEG,              each,             EACH(1, 2),                   linear,           neg,              each) \
    X(ABS,              each,             EACH(1, 3),                   abs,              nonlinear,        each) \
    X(SIGN,             each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(FLOOR,            each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(CEIL,             each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(RINT,             each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(TRUNC,            each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(SQRT,             each,             FUNCTION,                     sqrt,             nonlinear,        each) \
    X(CBRT,             each,             FUNCTION,                     cbrt,             nonlinear,        each) \
    X(EXP,              each,             FUNCTION,                     exp,              nonlinear,        each) \
    X(EXP2,             each,             FUNCTION,                     exp2,             nonlinear,        each) \
    X(EXPM1,            each,             FUNCTION,                     expm1,            nonlinear,        each) \
    X(LOG,              each,             FUNCTION,                     log,              nonlinear,        each) \
    X(LOG2,             each,             FUNCTION,                     log2,             nonlinear,        each) \
    X(LOG10,            each,             FUNCTION,                     log10,            nonlinear,        each) \
    X(LOG1P,            each,             FUNCTION,                     log1p,            nonlinear,        each) \
    X(SIN,              each,             FUNCTION,                     sin,              nonlinear,        each) \
    X(COS,              each,             FUNCTION,                     cos,              nonlinear,        each) \
    X(TAN,              each,             FUNCTION,                     tan,              nonlinear,        each) \
    X(ASIN,             each,             FUNCTION,                     asin,             nonlinear,        each) \
    X(ACOS,             each,             FUNCTION,                     acos,             nonlinear,        each) \
    X(ATAN,             each,             FUNCTION,                     atan,             nonlinear,        each) \
    X(SINH,             each,             FUNCTION,                     sinh,             nonlinear,        each) \
    X(COSH,             each,             FUNCTION,                     cosh,             nonlinear,        each) \
    X(TANH,             each,             FUNCTION,                     tanh,             nonlinear,        each) \
    X(ASINH,            each,             FUNCTION,                     asinh,            nonlinear,        each) \
    X(ACOSH,            each,             FUNCTION,                     acosh,            nonlinear,        each) \
    X(ATANH,            each,             FUNCTION,                     atanh,            nonlinear,        each) \
    X(ERF,              each,             FUNCTION,                     erf,              nonlinear,        each) \
    X(ERFC,             each,             FUNCTION,                     erfc,             nonlinear,        each) \
    X(LGAMMA,           each,             FUNCTION,                     lgamma,           nonlinear,        each) \
    X(NOT,              each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(ISNAN,            each,             EACH(1, 2),                   zero,             nonlinear,        each) \
    X(ISINF,            each,             EACH(1, 2),                   zero,             nonlinear,        each) \
    X(ISFINITE,         each,             EACH(1, 2),                   zero,             nonlinear,        each) \
    X(SIGNBIT,          each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(CAST,             cast,             WORK(moves),                  cast,             cast,             each) \
    X(REAL,             each,             WORK(moves),                  linear,           real,             each) \
    X(IMAG,             each,             WORK(moves),                  linear,           imag,             each) \
    X(CONJ,             each,             EACH(1, 1),                   linear,           conj,             each) \
    X(ADD,              each,             EACH(1, 2),                   add,              add,              each) \
    X(SUB,              each,             EACH(1, 2),                   sub,              sub,              each) \
    X(MUL,              each,             EACH(1, 6),                   mul,              mul,              each) \
    X(DIV,              each,             EACH(1, 11),                  div,              div,              each) \
    X(FLOOR_DIV,        each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(REM,              each,             EACH(1, 1),                   rem,              nonlinear,        each) \
    X(POW,              pow,              FUNCTION,                     pow,              nonlinear,        each) \
    X(ATAN2,            each,             FUNCTION,                     atan2,            nonlinear,        each) \
    X(HYPOT,            each,             FUNCTION,                     hypot,            nonlinear,        each) \
    X(MAX,              each,             EACH(1, 1),                   max,              nonlinear,        each) \
    X(MIN,              each,             EACH(1, 1),                   min,              nonlinear,        each) \
    X(NEXTAFTER,        each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(COPYSIGN,         each,             EACH(1, 1),                   copysign,         nonlinear,        each) \
    X(LOGADDEXP,        each,             FUNCTION,                     logaddexp,        nonlinear,        each) \
    X(EQ,               each,             EACH(1, 2),                   zero,             nonlinear,        each) \
    X(NE,               each,             EACH(1, 2),                   zero,             nonlinear,        each) \
    X(LT,               each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(LE,               each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(GT,               each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(GE,               each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(AND,              each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(OR,               each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(XOR,              each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(SHL,              each,             EACH(1, 1),                   zero,             nonlinear,        each) \
    X(SHR,              each,             EACH(1, 1),                   zero,             nonlinear,        each) \
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
