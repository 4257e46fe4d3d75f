/**
 * The primitives: all that a backend implements.  Every other array function is written in terms of them.
 *
 * A primitive never promotes and never broadcasts: its operands have one dtype (but for conditions, indices and random
 * keys) and, if it works element by element, one shape.  Shape and dtype of its result follow from its operands' shapes, dtypes and
 * attributes alone, never from data.  So a trace is a list of (primitive, operands, attributes).
 */
#ifndef CALIBRAX_ARRAY_PRIMITIVE_H
#define CALIBRAX_ARRAY_PRIMITIVE_H

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

/*
 * name, number (never used twice), word, operands (-1: one or more), dtypes of the operands, dtype of the result,
 * shape rule (primitive.c), function of the reference backend, cost (trace/cost.c), array function
 *   operands: ALL, NUM no bool, REAL no bool or complex, RB real or bool, FLT f32 f64, FC float or complex, FB float or
 *             bool, IB integer or bool, BOOL, CX complex, WORD uint64, NONE no operands
 *   result:   SAME as the first operand, BOOL, ATTR attrs->dtype, I64, PART the real dtype of a complex one, PAIR the
 *             complex dtype of a real one, SECOND as the second operand
 *   function: declared in ops.h and implemented in ops_elementwise.c by this entry; integers are converted to float64 in
 *             FLOAT, keep their dtype in KEEP, and are the result in ROUND; BINARY has a form with a scalar, too; the loop
 *             is of the C library (libm), of vectors (kernels/elementary_float.h), with _cx also of complex numbers of
 *             the C library, or its own (kernels/unary_isa.c); NO: none, or one written by hand
 */
/* clang-format off */
#define CBX_PRIM_MAP(X) \
    X(FULL,              0, "full",         0, NONE, ATTR,   shape, full,  WORK(moves), NO) \
    X(IOTA,              1, "iota",         0, NONE, ATTR,   shape, iota,  WORK(moves), NO) \
    X(NEG,              10, "negative",     1, NUM,  SAME,   same,  each,  EACH(1, 2), KEEP(NEG, negative, own)) \
    X(ABS,              11, "abs",          1, ALL,  PART,   same,  each,  EACH(1, 3), KEEP(ABS, abs, own)) \
    X(SIGN,             12, "sign",         1, REAL, SAME,   same,  each,  EACH(1, 1), KEEP(SIGN, sign, own)) \
    X(FLOOR,            13, "floor",        1, FLT,  SAME,   same,  each,  EACH(1, 1), ROUND(FLOOR, floor, libm)) \
    X(CEIL,             14, "ceil",         1, FLT,  SAME,   same,  each,  EACH(1, 1), ROUND(CEIL, ceil, libm)) \
    X(RINT,             15, "round",        1, FLT,  SAME,   same,  each,  EACH(1, 1), ROUND(RINT, rint, libm)) \
    X(TRUNC,            16, "trunc",        1, FLT,  SAME,   same,  each,  EACH(1, 1), ROUND(TRUNC, trunc, libm)) \
    X(SQRT,             17, "sqrt",         1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(SQRT, sqrt, libm_cx)) \
    X(CBRT,             18, "cbrt",         1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(CBRT, cbrt, vector)) \
    X(EXP,              19, "exp",          1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(EXP, exp, vector_cx)) \
    X(EXP2,             20, "exp2",         1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(EXP2, exp2, vector)) \
    X(EXPM1,            21, "expm1",        1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(EXPM1, expm1, vector)) \
    X(LOG,              22, "log",          1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(LOG, log, vector_cx)) \
    X(LOG2,             23, "log2",         1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(LOG2, log2, vector)) \
    X(LOG10,            24, "log10",        1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(LOG10, log10, vector)) \
    X(LOG1P,            25, "log1p",        1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(LOG1P, log1p, vector)) \
    X(SIN,              26, "sin",          1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(SIN, sin, vector_cx)) \
    X(COS,              27, "cos",          1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(COS, cos, vector_cx)) \
    X(TAN,              28, "tan",          1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(TAN, tan, edge)) \
    X(ASIN,             29, "asin",         1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(ASIN, asin, vector_cx)) \
    X(ACOS,             30, "acos",         1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(ACOS, acos, vector_cx)) \
    X(ATAN,             31, "atan",         1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(ATAN, atan, vector_cx)) \
    X(SINH,             32, "sinh",         1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(SINH, sinh, vector_cx)) \
    X(COSH,             33, "cosh",         1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(COSH, cosh, vector_cx)) \
    X(TANH,             34, "tanh",         1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(TANH, tanh, edge)) \
    X(ASINH,            35, "asinh",        1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(ASINH, asinh, vector_cx)) \
    X(ACOSH,            36, "acosh",        1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(ACOSH, acosh, vector_cx)) \
    X(ATANH,            37, "atanh",        1, FC,   SAME,   same,  each,  FUNCTION, FLOAT(ATANH, atanh, vector_cx)) \
    X(ERF,              38, "erf",          1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(ERF, erf, libm)) \
    X(ERFC,             39, "erfc",         1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(ERFC, erfc, libm)) \
    X(LGAMMA,           40, "lgamma",       1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(LGAMMA, lgamma, own)) \
    X(NOT,              41, "bitwise_invert", 1, IB,   SAME,   same,  each,  EACH(1, 1), KEEP(NOT, bitwise_invert, own)) \
    X(ISNAN,            42, "isnan",        1, ALL,  BOOL,   same,  each,  EACH(1, 2), KEEP(ISNAN, isnan, own)) \
    X(ISINF,            43, "isinf",        1, ALL,  BOOL,   same,  each,  EACH(1, 2), KEEP(ISINF, isinf, own)) \
    X(ISFINITE,         44, "isfinite",     1, ALL,  BOOL,   same,  each,  EACH(1, 2), KEEP(ISFINITE, isfinite, own)) \
    X(SIGNBIT,          45, "signbit",      1, FLT,  BOOL,   same,  each,  EACH(1, 1), FLOAT(SIGNBIT, signbit, own)) \
    X(CAST,             46, "astype",       1, ALL,  ATTR,   cast,  each,  WORK(moves), NO) \
    X(REAL,             47, "real",         1, CX,   PART,   same,  each,  WORK(moves), NO) \
    X(IMAG,             48, "imag",         1, CX,   PART,   same,  each,  WORK(moves), NO) \
    X(CONJ,             49, "conj",         1, CX,   SAME,   same,  each,  EACH(1, 1), NO) \
    X(ADD,              60, "add",          2, ALL,  SAME,   same,  each,  EACH(1, 2), BINARY(ADD, add)) \
    X(SUB,              61, "subtract",     2, NUM,  SAME,   same,  each,  EACH(1, 2), BINARY(SUB, subtract)) \
    X(MUL,              62, "multiply",     2, ALL,  SAME,   same,  each,  EACH(1, 6), BINARY(MUL, multiply)) \
    X(DIV,              63, "divide",       2, FC,   SAME,   same,  each,  EACH(1, 11), BINARY(DIV, divide)) \
    X(FLOOR_DIV,        64, "floor_divide", 2, REAL, SAME,   same,  each,  EACH(1, 1), BINARY(FLOOR_DIV, floor_divide)) \
    X(REM,              65, "remainder",    2, REAL, SAME,   same,  each,  EACH(1, 1), BINARY(REM, remainder)) \
    X(POW,              66, "pow",          2, NUM,  SAME,   same,  pow,   FUNCTION, BINARY(POW, pow)) \
    X(ATAN2,            67, "atan2",        2, FLT,  SAME,   same,  each,  FUNCTION, BINARY(ATAN2, atan2)) \
    X(HYPOT,            68, "hypot",        2, FLT,  SAME,   same,  each,  FUNCTION, BINARY(HYPOT, hypot)) \
    X(MAX,              69, "maximum",      2, RB,   SAME,   same,  each,  EACH(1, 1), BINARY(MAX, maximum)) \
    X(MIN,              70, "minimum",      2, RB,   SAME,   same,  each,  EACH(1, 1), BINARY(MIN, minimum)) \
    X(NEXTAFTER,        71, "nextafter",    2, FLT,  SAME,   same,  each,  EACH(1, 1), BINARY(NEXTAFTER, nextafter)) \
    X(COPYSIGN,         72, "copysign",     2, FLT,  SAME,   same,  each,  EACH(1, 1), BINARY(COPYSIGN, copysign)) \
    X(LOGADDEXP,        73, "logaddexp",    2, FLT,  SAME,   same,  each,  FUNCTION, BINARY(LOGADDEXP, logaddexp)) \
    X(EQ,               74, "equal",        2, ALL,  BOOL,   same,  each,  EACH(1, 2), BINARY(EQ, equal)) \
    X(NE,               75, "not_equal",    2, ALL,  BOOL,   same,  each,  EACH(1, 2), BINARY(NE, not_equal)) \
    X(LT,               76, "less",         2, RB,   BOOL,   same,  each,  EACH(1, 1), BINARY(LT, less)) \
    X(LE,               77, "less_equal",   2, RB,   BOOL,   same,  each,  EACH(1, 1), BINARY(LE, less_equal)) \
    X(GT,               78, "greater",      2, RB,   BOOL,   same,  each,  EACH(1, 1), BINARY(GT, greater)) \
    X(GE,               79, "greater_equal", 2, RB,   BOOL,   same,  each,  EACH(1, 1), BINARY(GE, greater_equal)) \
    X(AND,              80, "bitwise_and",  2, IB,   SAME,   same,  each,  EACH(1, 1), BINARY(AND, bitwise_and)) \
    X(OR,               81, "bitwise_or",   2, IB,   SAME,   same,  each,  EACH(1, 1), BINARY(OR, bitwise_or)) \
    X(XOR,              82, "bitwise_xor",  2, IB,   SAME,   same,  each,  EACH(1, 1), BINARY(XOR, bitwise_xor)) \
    X(SHL,              83, "bitwise_left_shift", 2, INT,  SAME,   same,  each,  EACH(1, 1), BINARY(SHL, bitwise_left_shift)) \
    X(SHR,              84, "bitwise_right_shift", 2, INT,  SAME,   same,  each,  EACH(1, 1), BINARY(SHR, bitwise_right_shift)) \
    X(COMPLEX,          85, "complex",      2, FLT,  PAIR,   same,  each,  WORK(moves), NO) \
    X(SELECT,          100, "where",        3, ALL,  SECOND, same,  each,  OF_SECOND(elements, 1, 1), NO) \
    X(CLAMP,           101, "clip",         3, RB,   SAME,   same,  each,  EACH(1, 1), NO) \
    X(FMA,             102, "fma",          3, FLT,  SAME,   same,  each,  EACH(2, 2), NO) \
    X(RESHAPE,         110, "reshape",      1, ALL,  SAME,   reshape, reshape, WORK(views), NO) \
    X(TRANSPOSE,       111, "permute_dims", 1, ALL,  SAME,   transpose, transpose, WORK(views), NO) \
    X(BROADCAST,       112, "broadcast_to", 1, ALL,  SAME,   broadcast, broadcast, WORK(views), NO) \
    X(SLICE,           113, "slice",        1, ALL,  SAME,   slice, slice, WORK(views), NO) \
    X(PAD,             114, "pad",          1, ALL,  SAME,   pad,   pad,   WORK(moves), NO) \
    X(CONCAT,          115, "concat",       -1, ALL,  SAME,   concat, concat, WORK(moves), NO) \
    X(COPY,            116, "copy",         1, ALL,  SAME,   same,  copy,  WORK(moves), NO) \
    X(TAKE,            120, "take",         2, ALL,  SAME,   take,  take,  WORK(takes), NO) \
    X(TAKE_ALONG,      121, "take_along_axis", 2, ALL,  SAME,   take_along, take_along, WORK(takes), NO) \
    X(SCATTER,         122, "scatter",      3, ALL,  SAME,   scatter, scatter, WORK(scatters), NO) \
    X(SEARCHSORTED,    123, "searchsorted", 2, RB,   I64,    searchsorted, searchsorted, WORK(bisects), NO) \
    X(NONZERO,         124, "nonzero",      1, ALL,  I64,    nonzero, nonzero, WORK(scans_for_nonzero), NO) \
    X(SUM,             130, "sum",          1, ALL,  ATTR,   reduce, reduce, FOLDS(reduces, 2), NO) \
    X(PROD,            131, "prod",         1, ALL,  ATTR,   reduce, reduce, FOLDS(reduces, 6), NO) \
    X(REDUCE_MAX,      132, "max",          1, RB,   SAME,   reduce_some, reduce, WORK(reduces), NO) \
    X(REDUCE_MIN,      133, "min",          1, RB,   SAME,   reduce_some, reduce, WORK(reduces), NO) \
    X(ANY,             134, "any",          1, ALL,  BOOL,   reduce, reduce, WORK(reduces), NO) \
    X(ALL,             135, "all",          1, ALL,  BOOL,   reduce, reduce, WORK(reduces), NO) \
    X(ARGMAX,          136, "argmax",       1, RB,   I64,    reduce_some, reduce, WORK(reduces), NO) \
    X(ARGMIN,          137, "argmin",       1, RB,   I64,    reduce_some, reduce, WORK(reduces), NO) \
    X(CUMSUM,          140, "cumulative_sum", 1, ALL,  ATTR,   along, cumulative, FOLDS(runs_along, 2), NO) \
    X(CUMPROD,         141, "cumulative_prod", 1, ALL,  ATTR,   along, cumulative, FOLDS(runs_along, 6), NO) \
    X(CUMMAX,          142, "cumulative_max", 1, RB,   SAME,   along, cumulative, WORK(runs_along), NO) \
    X(CUMMIN,          143, "cumulative_min", 1, RB,   SAME,   along, cumulative, WORK(runs_along), NO) \
    X(SORT,            150, "sort",         1, RB,   SAME,   along, sort,  WORK(sorts), NO) \
    X(ARGSORT,         151, "argsort",      1, RB,   I64,    along, sort,  WORK(sorts), NO) \
    X(RANKED,          152, "ranked",       1, RB,   SAME,   ranked, sort,  WORK(selects), NO) \
    X(MATMUL,          160, "matmul",       2, ALL,  SAME,   matmul, matmul, WORK(multiplies_matrices), NO) \
    X(SEMIRING_MATMUL, 161, "semiring_matmul", 2, FB,   SAME,   semiring_matmul, semiring_matmul, WORK(folds_terms), NO) \
    X(CHOLESKY,        162, "cholesky",     1, FC,   SAME,   square, cholesky, WORK(factors_cholesky), NO) \
    X(TRIANGULAR_SOLVE, 163, "triangular_solve", 2, FC,   SAME,   solve, triangular_solve, WORK(solves_triangle), NO) \
    X(SOLVE,           164, "solve",        2, FC,   SAME,   solve, solve, WORK(solves), NO) \
    X(LU,              165, "lu",           1, FC,   SAME,   wider, lu,    WORK(factors_lu), NO) \
    X(QR,              166, "qr",           1, FC,   SAME,   qr,    qr,    WORK(factors_qr), NO) \
    X(EIGH,            167, "eigh",         1, FC,   SAME,   wider, eigh,  WORK(finds_eigenvectors), NO) \
    X(EIGVALSH,        168, "eigvalsh",     1, FC,   PART,   eigvalsh, eigh,  WORK(finds_eigenvalues), NO) \
    X(SVD,             169, "svd",          1, FC,   SAME,   svd,   svd,   WORK(finds_singular_vectors), NO) \
    X(SVDVALS,         170, "svdvals",      1, FC,   PART,   svdvals, svd,   WORK(finds_singular_values), NO) \
    X(SEMIRING_CONV,   171, "semiring_conv", 2, FB,   SAME,   semiring_conv, semiring_conv, WORK(folds_terms), NO) \
    X(FFT,             172, "fft",          1, CX,   SAME,   fft,   fft,   WORK(transforms), NO) \
    X(RFFT,            173, "rfft",         1, FLT,  PAIR,   rfft,  rfft,  WORK(transforms), NO) \
    X(IRFFT,           174, "irfft",        1, CX,   PART,   irfft, irfft, WORK(transforms), NO) \
    X(THREEFRY,        180, "threefry2x32", 2, WORD, SAME,   same,  each,  THREEFRY, NO) \
    X(ERFINV,          181, "erfinv",       1, FLT,  SAME,   same,  each,  FUNCTION, FLOAT(ERFINV, erfinv, own)) \
    X(RANDOM_GAMMA,    182, "random_gamma", 2, FLT,  SECOND, same,  each,  GAMMA, NO)
/* clang-format on */

typedef enum cbx_prim {
#define CBX_PRIM_ENUM(name, number, ...) CBX_PRIM_##name = number,
    CBX_PRIM_MAP(CBX_PRIM_ENUM)
#undef CBX_PRIM_ENUM
        CBX_PRIM_LIMIT = 208 /* above every number: length of a table by number */
} cbx_prim;

/**
 * What a primitive needs beside its operands.  Members that it does not name are 0, so that equal calls are equal bytes.
 *   FULL shape dtype value | IOTA shape dtype axis | CAST dtype | RESHAPE, BROADCAST shape | TRANSPOSE axes (the order)
 *   SLICE start step shape | PAD start (elements before) shape value | CONCAT axis | TAKE, TAKE_ALONG axis
 *   SCATTER axis mode | SEARCHSORTED mode (1: right) | NONZERO shape[0] (columns), value.i (fill)
 *   RANKED axis, shape[0 .. ndim-1] (rising ranks: the elements that SORT would put there)
 *   THREEFRY (key, counter), RANDOM_GAMMA (key, shape): 64-bit words, the first 32-bit word in the upper half (random.h)
 *   MUL mode (1: whoever made the first operand gives it away: if no other process holds it, it may become the result)
 *   reductions axes keep, SUM PROD dtype, REDUCE_MAX REDUCE_MIN mode (1: NaN only if there is nothing else)
 *   CUM... axis, CUMSUM CUMPROD dtype | SORT, ARGSORT axis mode (1: descending)
 *   CHOLESKY mode (1: upper) | TRIANGULAR_SOLVE mode (cbx_triangle) | QR, SVD mode (1: complete, full matrices)
 *   FFT axis mode (1: backward) value.f (factor) | RFFT axis value.f | IRFFT axis shape[0] (length) value.f
 *
 *   SEMIRING_MATMUL mode (cbx_algebra) keep (1: without finalize)
 *   SEMIRING_CONV mode (cbx_algebra) ndim (axes to slide along), of each: step (stride), axes (dilation), start (elements of
 *   padding before), shape (positions); x (batch, lengths..., channels), w (lengths..., channels, channels out)
 *
 * Linear algebra works on the last two axes of operands with equal leading axes.  One result packs several parts:
 *   LU (n, n+1): L below the diagonal (whose ones are not stored) and U, then the row swapped with row i, as a number
 *   EIGH (n, n+1): vectors in columns, then the values
 *   QR one axis: Q (m, k) row-major, then R (k, n); SVD one axis: U, then min(m, n) values, then V^H
 */
typedef struct cbx_attrs {
    cbx_dtype dtype;
    int axis;
    int naxes;
    int axes[CBX_MAX_RANK];
    int keep;
    int mode;
    int ndim;
    size_t shape[CBX_MAX_RANK];
    ptrdiff_t start[CBX_MAX_RANK]; /* SLICE: the first element taken; PAD: elements before */
    ptrdiff_t step[CBX_MAX_RANK];  /* SLICE: != 0, negative: descending */
    cbx_scalar value;
} cbx_attrs;

/** Word of a primitive as in messages and dumps; NULL for an unknown number. */
CBX_API const char *cbx_prim_name(cbx_prim p);
/** Number of operands; -1: one or more. */
CBX_API int cbx_prim_arity(cbx_prim p);
/**
 * Shape and dtype of a result, or why it does not exist: every check that operands must pass.  Reads no data.
 * @param in     nin operands, abstract ones are fine; none NULL or failed
 * @param attrs  NULL: all zero
 * @return CBX_OK; CBX_EINVAL (operand count, axis, attribute); CBX_EDTYPE; CBX_ESHAPE; CBX_EOVERFLOW
 */
CBX_API cbx_status cbx_prim_infer(cbx_prim p, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs,
                                  cbx_array_desc *out, cbx_err *err);

CBX_END_DECLS
#endif
