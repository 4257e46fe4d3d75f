/**
 * The primitives: all that a backend implements.  Every other array function is written in terms of
 * them.
 *
 * A primitive never promotes and never broadcasts: its operands have one dtype (but for conditions,
 * indices and random keys) and, if it works element by element, one shape.  Shape and dtype of its
 * result follow from its operands' shapes, dtypes and attributes alone, never from data.  So a
 * trace is a list of (primitive, operands, attributes).
 */
#ifndef CALIBRAX_ARRAY_PRIMITIVE_H
#define CALIBRAX_ARRAY_PRIMITIVE_H

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

/*
 * name, number (never used twice), word, array function, operands, their dtypes, results, class,
 * shape rule (primitive.c)
 *   function: declared in ops.h and implemented in ops_elementwise.c by this entry; integers are
 *             converted to float64 in FLOAT, keep their dtype in KEEP, and are the result in ROUND;
 *             those of two operands have a form with a scalar, too: integers become float64 in
 *             BINARY_FLOAT, two bools int8 in BINARY_WIDE; the loop is of the C library (libm), of
 *             vectors (kernels/elementary_float.h), with _cx also of complex numbers of the C
 *             library, or its own (kernels/unary_isa.c); NO: none, or one written by hand
 *   operands: a letter each: x data, all of one dtype; c a condition (bool); i indices (int64); k
 *             keys (uint64); f float64; x+ one or more; a* any number of arrays of any dtype
 *   dtypes:   of x: ALL, NUM no bool, REAL no bool or complex, RB real or bool, FLT f32 f64, FC
 *             float or complex, FB float or bool, IB integer or bool, BOOL, CX complex, WORD
 *             uint64, NONE no operands
 *   results:  a letter each: s the dtype of x; b bool; i int64; r the real dtype of a complex x; c
 *             the complex dtype of a real x; a attrs->dtype; w attrs->dtype, wide enough for sums
 *             of x; * as many as the functions of attrs give
 *   class:    SOURCE makes an array of nothing; MAP element by element; VIEW may share the elements
 *             of its operand; MOVE copies elements; REDUCE folds axes; ALONG works along one axis;
 *             CONTRACT folds products; OPAQUE the rest; CONTROL runs functions
 * What is done with each, its kernel, its cost and its rules of differentiation and batching, is in
 * rules.h.
 */
/* clang-format off */
#define CBX_PRIM_MAP(X) \
    X(FULL,               0, "full",                NO,                                    "",    NONE, "a",   SOURCE,   shape) \
    X(IOTA,               1, "iota",                NO,                                    "",    NONE, "a",   SOURCE,   iota) \
    X(NEG,               10, "negative",            KEEP(NEG, negative, own),              "x",   NUM,  "s",   MAP,      same) \
    X(ABS,               11, "abs",                 KEEP(ABS, abs, own),                   "x",   ALL,  "r",   MAP,      same) \
    X(SIGN,              12, "sign",                KEEP(SIGN, sign, own),                 "x",   REAL, "s",   MAP,      same) \
    X(FLOOR,             13, "floor",               ROUND(FLOOR, floor, libm),             "x",   FLT,  "s",   MAP,      same) \
    X(CEIL,              14, "ceil",                ROUND(CEIL, ceil, libm),               "x",   FLT,  "s",   MAP,      same) \
    X(RINT,              15, "round",               ROUND(RINT, rint, libm),               "x",   FLT,  "s",   MAP,      same) \
    X(TRUNC,             16, "trunc",               ROUND(TRUNC, trunc, libm),             "x",   FLT,  "s",   MAP,      same) \
    X(SQRT,              17, "sqrt",                FLOAT(SQRT, sqrt, libm_cx),            "x",   FC,   "s",   MAP,      same) \
    X(CBRT,              18, "cbrt",                FLOAT(CBRT, cbrt, vector),             "x",   FLT,  "s",   MAP,      same) \
    X(EXP,               19, "exp",                 FLOAT(EXP, exp, vector_cx),            "x",   FC,   "s",   MAP,      same) \
    X(EXP2,              20, "exp2",                FLOAT(EXP2, exp2, vector),             "x",   FLT,  "s",   MAP,      same) \
    X(EXPM1,             21, "expm1",               FLOAT(EXPM1, expm1, vector),           "x",   FLT,  "s",   MAP,      same) \
    X(LOG,               22, "log",                 FLOAT(LOG, log, vector_cx),            "x",   FC,   "s",   MAP,      same) \
    X(LOG2,              23, "log2",                FLOAT(LOG2, log2, vector),             "x",   FLT,  "s",   MAP,      same) \
    X(LOG10,             24, "log10",               FLOAT(LOG10, log10, vector),           "x",   FLT,  "s",   MAP,      same) \
    X(LOG1P,             25, "log1p",               FLOAT(LOG1P, log1p, vector),           "x",   FLT,  "s",   MAP,      same) \
    X(SIN,               26, "sin",                 FLOAT(SIN, sin, vector_cx),            "x",   FC,   "s",   MAP,      same) \
    X(COS,               27, "cos",                 FLOAT(COS, cos, vector_cx),            "x",   FC,   "s",   MAP,      same) \
    X(TAN,               28, "tan",                 FLOAT(TAN, tan, edge),                 "x",   FC,   "s",   MAP,      same) \
    X(ASIN,              29, "asin",                FLOAT(ASIN, asin, vector_cx),          "x",   FC,   "s",   MAP,      same) \
    X(ACOS,              30, "acos",                FLOAT(ACOS, acos, vector_cx),          "x",   FC,   "s",   MAP,      same) \
    X(ATAN,              31, "atan",                FLOAT(ATAN, atan, vector_cx),          "x",   FC,   "s",   MAP,      same) \
    X(SINH,              32, "sinh",                FLOAT(SINH, sinh, vector_cx),          "x",   FC,   "s",   MAP,      same) \
    X(COSH,              33, "cosh",                FLOAT(COSH, cosh, vector_cx),          "x",   FC,   "s",   MAP,      same) \
    X(TANH,              34, "tanh",                FLOAT(TANH, tanh, edge),               "x",   FC,   "s",   MAP,      same) \
    X(ASINH,             35, "asinh",               FLOAT(ASINH, asinh, vector_cx),        "x",   FC,   "s",   MAP,      same) \
    X(ACOSH,             36, "acosh",               FLOAT(ACOSH, acosh, vector_cx),        "x",   FC,   "s",   MAP,      same) \
    X(ATANH,             37, "atanh",               FLOAT(ATANH, atanh, vector_cx),        "x",   FC,   "s",   MAP,      same) \
    X(ERF,               38, "erf",                 FLOAT(ERF, erf, libm),                 "x",   FLT,  "s",   MAP,      same) \
    X(ERFC,              39, "erfc",                FLOAT(ERFC, erfc, vector),             "x",   FLT,  "s",   MAP,      same) \
    X(LGAMMA,            40, "lgamma",              FLOAT(LGAMMA, lgamma, own),            "x",   FLT,  "s",   MAP,      same) \
    X(NOT,               41, "bitwise_invert",      KEEP(NOT, bitwise_invert, own),        "x",   IB,   "s",   MAP,      same) \
    X(ISNAN,             42, "isnan",               KEEP(ISNAN, isnan, own),               "x",   ALL,  "b",   MAP,      same) \
    X(ISINF,             43, "isinf",               KEEP(ISINF, isinf, own),               "x",   ALL,  "b",   MAP,      same) \
    X(ISFINITE,          44, "isfinite",            KEEP(ISFINITE, isfinite, own),         "x",   ALL,  "b",   MAP,      same) \
    X(SIGNBIT,           45, "signbit",             FLOAT(SIGNBIT, signbit, own),          "x",   FLT,  "b",   MAP,      same) \
    X(CAST,              46, "astype",              NO,                                    "x",   ALL,  "a",   MAP,      cast) \
    X(REAL,              47, "real",                NO,                                    "x",   CX,   "r",   MAP,      same) \
    X(IMAG,              48, "imag",                NO,                                    "x",   CX,   "r",   MAP,      same) \
    X(CONJ,              49, "conj",                NO,                                    "x",   CX,   "s",   MAP,      same) \
    X(ADD,               60, "add",                 BINARY(ADD, add),                      "xx",  ALL,  "s",   MAP,      same) \
    X(SUB,               61, "subtract",            BINARY(SUB, subtract),                 "xx",  NUM,  "s",   MAP,      same) \
    X(MUL,               62, "multiply",            BINARY(MUL, multiply),                 "xx",  ALL,  "s",   MAP,      same) \
    X(DIV,               63, "divide",              BINARY_FLOAT(DIV, divide),             "xx",  FC,   "s",   MAP,      same) \
    X(FLOOR_DIV,         64, "floor_divide",        BINARY_WIDE(FLOOR_DIV, floor_divide),  "xx",  REAL, "s",   MAP,      same) \
    X(REM,               65, "remainder",           BINARY_WIDE(REM, remainder),           "xx",  REAL, "s",   MAP,      same) \
    X(POW,               66, "pow",                 BINARY_WIDE(POW, pow),                 "xx",  NUM,  "s",   MAP,      same) \
    X(ATAN2,             67, "atan2",               BINARY_FLOAT(ATAN2, atan2),            "xx",  FLT,  "s",   MAP,      same) \
    X(HYPOT,             68, "hypot",               BINARY_FLOAT(HYPOT, hypot),            "xx",  FLT,  "s",   MAP,      same) \
    X(MAX,               69, "maximum",             BINARY(MAX, maximum),                  "xx",  RB,   "s",   MAP,      same) \
    X(MIN,               70, "minimum",             BINARY(MIN, minimum),                  "xx",  RB,   "s",   MAP,      same) \
    X(NEXTAFTER,         71, "nextafter",           BINARY_FLOAT(NEXTAFTER, nextafter),    "xx",  FLT,  "s",   MAP,      same) \
    X(COPYSIGN,          72, "copysign",            BINARY_FLOAT(COPYSIGN, copysign),      "xx",  FLT,  "s",   MAP,      same) \
    X(LOGADDEXP,         73, "logaddexp",           BINARY_FLOAT(LOGADDEXP, logaddexp),    "xx",  FLT,  "s",   MAP,      same) \
    X(EQ,                74, "equal",               COMPARE(EQ, equal),                    "xx",  ALL,  "b",   MAP,      same) \
    X(NE,                75, "not_equal",           COMPARE(NE, not_equal),                "xx",  ALL,  "b",   MAP,      same) \
    X(LT,                76, "less",                COMPARE(LT, less),                     "xx",  RB,   "b",   MAP,      same) \
    X(LE,                77, "less_equal",          COMPARE(LE, less_equal),               "xx",  RB,   "b",   MAP,      same) \
    X(GT,                78, "greater",             COMPARE(GT, greater),                  "xx",  RB,   "b",   MAP,      same) \
    X(GE,                79, "greater_equal",       COMPARE(GE, greater_equal),            "xx",  RB,   "b",   MAP,      same) \
    X(AND,               80, "bitwise_and",         BINARY(AND, bitwise_and),              "xx",  IB,   "s",   MAP,      same) \
    X(OR,                81, "bitwise_or",          BINARY(OR, bitwise_or),                "xx",  IB,   "s",   MAP,      same) \
    X(XOR,               82, "bitwise_xor",         BINARY(XOR, bitwise_xor),              "xx",  IB,   "s",   MAP,      same) \
    X(SHL,               83, "bitwise_left_shift",  BINARY_WIDE(SHL, bitwise_left_shift),  "xx",  INT,  "s",   MAP,      same) \
    X(SHR,               84, "bitwise_right_shift", BINARY_WIDE(SHR, bitwise_right_shift), "xx",  INT,  "s",   MAP,      same) \
    X(COMPLEX,           85, "complex",             NO,                                    "xx",  FLT,  "c",   MAP,      same) \
    X(SELECT,           100, "where",               NO,                                    "cxx", ALL,  "s",   MAP,      same) \
    X(CLAMP,            101, "clip",                NO,                                    "xxx", RB,   "s",   MAP,      same) \
    X(FMA,              102, "fma",                 NO,                                    "xxx", FLT,  "s",   MAP,      same) \
    X(RESHAPE,          110, "reshape",             NO,                                    "x",   ALL,  "s",   VIEW,     reshape) \
    X(TRANSPOSE,        111, "permute_dims",        NO,                                    "x",   ALL,  "s",   VIEW,     transpose) \
    X(BROADCAST,        112, "broadcast_to",        NO,                                    "x",   ALL,  "s",   VIEW,     broadcast) \
    X(SLICE,            113, "slice",               NO,                                    "x",   ALL,  "s",   VIEW,     slice) \
    X(PAD,              114, "pad",                 NO,                                    "x",   ALL,  "s",   MOVE,     pad) \
    X(CONCAT,           115, "concat",              NO,                                    "x+",  ALL,  "s",   MOVE,     concat) \
    X(COPY,             116, "copy",                NO,                                    "x",   ALL,  "s",   MOVE,     same) \
    X(STOP_GRADIENT,    117, "stop_gradient",       NO,                                    "x",   ALL,  "s",   VIEW,     same) \
    X(TAKE,             120, "take",                NO,                                    "xi",  ALL,  "s",   MOVE,     take) \
    X(TAKE_ALONG,       121, "take_along_axis",     NO,                                    "xi",  ALL,  "s",   MOVE,     take_along) \
    X(SCATTER,          122, "scatter",             NO,                                    "xix", ALL,  "s",   MOVE,     scatter) \
    X(SEARCHSORTED,     123, "searchsorted",        NO,                                    "xx",  RB,   "i",   OPAQUE,   searchsorted) \
    X(NONZERO,          124, "nonzero",             NO,                                    "x",   ALL,  "i",   OPAQUE,   nonzero) \
    X(SUM,              130, "sum",                 NO,                                    "x",   ALL,  "w",   REDUCE,   reduce) \
    X(PROD,             131, "prod",                NO,                                    "x",   ALL,  "w",   REDUCE,   reduce) \
    X(REDUCE_MAX,       132, "max",                 NO,                                    "x",   RB,   "s",   REDUCE,   reduce_some) \
    X(REDUCE_MIN,       133, "min",                 NO,                                    "x",   RB,   "s",   REDUCE,   reduce_some) \
    X(ANY,              134, "any",                 NO,                                    "x",   ALL,  "b",   REDUCE,   reduce) \
    X(ALL,              135, "all",                 NO,                                    "x",   ALL,  "b",   REDUCE,   reduce) \
    X(ARGMAX,           136, "argmax",              NO,                                    "x",   RB,   "i",   REDUCE,   reduce_some) \
    X(ARGMIN,           137, "argmin",              NO,                                    "x",   RB,   "i",   REDUCE,   reduce_some) \
    X(SQUARES,          138, "squares",             NO,                                    "xf",  FLT,  "a",   REDUCE,   squares) \
    X(CUMSUM,           140, "cumulative_sum",      NO,                                    "x",   ALL,  "w",   ALONG,    along) \
    X(CUMPROD,          141, "cumulative_prod",     NO,                                    "x",   ALL,  "w",   ALONG,    along) \
    X(CUMMAX,           142, "cumulative_max",      NO,                                    "x",   RB,   "s",   ALONG,    along) \
    X(CUMMIN,           143, "cumulative_min",      NO,                                    "x",   RB,   "s",   ALONG,    along) \
    X(SORT,             150, "sort",                NO,                                    "x",   RB,   "s",   ALONG,    along) \
    X(ARGSORT,          151, "argsort",             NO,                                    "x",   RB,   "i",   ALONG,    along) \
    X(RANKED,           152, "ranked",              NO,                                    "x",   RB,   "s",   ALONG,    ranked) \
    X(MATMUL,           160, "matmul",              NO,                                    "xx",  ALL,  "s",   CONTRACT, matmul) \
    X(SEMIRING_MATMUL,  161, "semiring_matmul",     NO,                                    "xx",  ALL,  "s",   CONTRACT, semiring_matmul) \
    X(CHOLESKY,         162, "cholesky",            NO,                                    "x",   FC,   "s",   OPAQUE,   square) \
    X(TRIANGULAR_SOLVE, 163, "triangular_solve",    NO,                                    "xx",  FC,   "s",   OPAQUE,   solve) \
    X(SOLVE,            164, "solve",               NO,                                    "xx",  FC,   "s",   OPAQUE,   solve) \
    X(LU,               165, "lu",                  NO,                                    "x",   FC,   "si",  OPAQUE,   lu) \
    X(QR,               166, "qr",                  NO,                                    "x",   FC,   "ss",  OPAQUE,   qr) \
    X(EIGH,             167, "eigh",                NO,                                    "x",   FC,   "rs",  OPAQUE,   eigh) \
    X(EIGVALSH,         168, "eigvalsh",            NO,                                    "x",   FC,   "r",   OPAQUE,   eigvalsh) \
    X(SVD,              169, "svd",                 NO,                                    "x",   FC,   "srs", OPAQUE,   svd) \
    X(SVDVALS,          170, "svdvals",             NO,                                    "x",   FC,   "r",   OPAQUE,   svdvals) \
    X(SEMIRING_CONV,    171, "semiring_conv",       NO,                                    "xx",  ALL,  "s",   CONTRACT, semiring_conv) \
    X(FFT,              172, "fft",                 NO,                                    "x",   CX,   "s",   ALONG,    fft) \
    X(RFFT,             173, "rfft",                NO,                                    "x",   FLT,  "c",   ALONG,    rfft) \
    X(IRFFT,            174, "irfft",               NO,                                    "x",   CX,   "r",   ALONG,    irfft) \
    X(THREEFRY,         180, "threefry2x32",        NO,                                    "xx",  WORD, "s",   MAP,      same) \
    X(ERFINV,           181, "erfinv",              FLOAT(ERFINV, erfinv, own),            "x",   FLT,  "s",   MAP,      same) \
    X(RANDOM_GAMMA,     182, "random_gamma",        NO,                                    "kx",  FLT,  "s",   MAP,      same) \
    X(POLYGAMMA,        183, "polygamma",           NO,                                    "x",   FLT,  "s",   MAP,      same) \
    X(RANDOM_GAMMA_GRAD, 184, "random_gamma_grad",  NO,                                    "xx",  FLT,  "s",   MAP,      same) \
    X(SEMIRING_MATMUL_VJP, 200, "semiring_matmul_vjp", NO,                                 "xxxx", FLT, "ss",  CONTRACT, semiring_matmul_vjp) \
    X(SEMIRING_MATMUL_JVP, 201, "semiring_matmul_jvp", NO,                                 "xxxxx", FLT, "s",  CONTRACT, semiring_matmul_jvp) \
    X(SEMIRING_CONV_VJP, 202, "semiring_conv_vjp",   NO,                                   "xxxx", FLT, "ss",  CONTRACT, semiring_conv_vjp) \
    X(SEMIRING_CONV_JVP, 203, "semiring_conv_jvp",   NO,                                   "xxxxx", FLT, "s",  CONTRACT, semiring_conv_jvp) \
    X(ELL_MATMUL,       204, "ell_matmul",          NO,                                    "xx",  ALL,  "s",   CONTRACT, ell_matmul) \
    X(ELL_MATMUL_VJP,   205, "ell_matmul_vjp",      NO,                                    "xxxx", FLT, "ss",  CONTRACT, ell_matmul_vjp) \
    X(ELL_MATMUL_JVP,   206, "ell_matmul_jvp",      NO,                                    "xxxxx", FLT, "s",  CONTRACT, ell_matmul_jvp) \
    X(ELL_SOFTMAX,      207, "ell_softmax",         NO,                                    "x",   FLT,  "s",   OPAQUE,   ell_values) \
    X(ELL_SOFTMAX_VJP,  208, "ell_softmax_vjp",     NO,                                    "xx",  FLT,  "s",   OPAQUE,   ell_values) \
    X(ELL_PACK,         209, "ell_pack",            NO,                                    "x",   ALL,  "s",   MOVE,     ell_pack) \
    X(ELL_EDGE,         210, "ell_edge",            NO,                                    "x+",  FLT,  "s",   CONTRACT, ell_edge) \
    X(ELL_EDGE_VJP,     211, "ell_edge_vjp",        NO,                                    "x+",  FLT,  "sss", CONTRACT, ell_edge_vjp) \
    X(ELL_EDGE_JVP,     212, "ell_edge_jvp",        NO,                                    "x+",  FLT,  "s",   CONTRACT, ell_edge_jvp) \
    X(SCAN,             190, "scan",                NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(WHILE,            191, "while_loop",          NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(COND,             192, "cond",                NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(CUSTOM_JVP,       193, "custom_jvp",          NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(CUSTOM_VJP,       194, "custom_vjp",          NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(CUSTOM_VJP_MAP,   195, "custom_vjp_map",      NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(CHECKPOINT,       196, "checkpoint",          NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(CHECKPOINT_MAP,   197, "checkpoint_map",      NO,                                    "a*",  NONE, "*",   CONTROL,  control) \
    X(HOST_CALL,        198, "host_call",           NO,                                    "a*",  NONE, "*",   CONTROL,  control)
/* clang-format on */

typedef enum cbx_prim {
#define CBX_PRIM_ENUM(name, number, ...) CBX_PRIM_##name = number,
    CBX_PRIM_MAP(CBX_PRIM_ENUM)
#undef CBX_PRIM_ENUM
        CBX_PRIM_LIMIT = 224 /* above every number: length of a table by number */
} cbx_prim;

/**
 * What a primitive needs beside its operands.  Members that it does not name are 0, so that equal
 * calls are equal bytes.
 *   FULL shape dtype value | IOTA shape dtype axis | CAST dtype | RESHAPE, BROADCAST shape |
 *   TRANSPOSE axes (the order)
 *   SLICE start step shape | PAD start (elements before) shape value | CONCAT axis | TAKE,
 *   TAKE_ALONG axis
 *   SCATTER axis mode | SEARCHSORTED mode (1: right) | NONZERO shape[0] (columns), value.i (fill)
 *   RANKED axis, shape[0 .. ndim-1] (rising ranks: the elements that SORT would put there)
 *   THREEFRY (key, counter), RANDOM_GAMMA (key, shape): 64-bit words, the first 32-bit word in the
 *   upper half (random.h)
 *   reductions axes keep, SUM PROD dtype, REDUCE_MAX REDUCE_MIN mode (1: NaN only if there is
 *   nothing else)
 *   SQUARES (x, centre: as the result with keep) axes keep dtype (float64) mode (1: NaN left out):
 *   sum of |x - centre|^2
 *   CUM... axis, CUMSUM CUMPROD dtype | SORT, ARGSORT axis mode (1: descending)
 *   CHOLESKY mode (1: upper) | TRIANGULAR_SOLVE mode (cbx_triangle) | QR, SVD mode (1: complete,
 *   full matrices)
 *   POLYGAMMA mode (order of the derivative of digamma)
 *   RANDOM_GAMMA_GRAD (shape, number): how a gamma number moves with its shape; mode (2 n:
 *   derivative n of that in the shape, n <= CBX__GAMMA_GRAD_ORDERS; 2 n + 1: the derivative of that
 *   one in the number)
 *   CHECKPOINT mode (1: computes again what was computed before, so it is not to be merged with it)
 *   FFT axis mode (1: backward) value.f (factor) | RFFT axis value.f | IRFFT axis shape[0] (length)
 *   value.f
 *
 *   SEMIRING_MATMUL mode (cbx_algebra; -1: object holds one given by functions) keep (1: without
 *   finalize)
 *   SEMIRING_CONV mode (cbx_algebra) ndim (axes to slide along), of each: step (stride), axes
 *   (dilation), start (elements of
 *   padding before), shape (positions); x (batch, lengths..., channels), w (lengths..., channels,
 *   channels out)
 *   ELL_MATMUL (values, b) mode, object (the graph; with mode -1 an algebra given by functions,
 *   too) axis (1: the transposed
 *   matrix, 2: terms are values * b) | ELL_SOFTMAX, ELL_PACK object (the graph)
 *   ELL_EDGE (x_row, x_col, attr, as far as given) axis (a bit, 1 << i, for each given) object
 *   (graph, functions, algebra)
 *   ELL_EDGE_VJP (those, h): 3 results, of no elements where the operand is not given; ELL_EDGE_JVP
 *   (those, their tangents)
 *   ELL_SOFTMAX_VJP (y, h)
 *   Derivatives of products, of operands a, b and product c: ..._VJP (a, b, c, g): cotangents of a
 *   and b; ..._JVP (a, b, c, ta, tb)
 *
 * Linear algebra works on the last two axes of operands with equal leading axes.  Primitives with
 * several results:
 *   LU (n, n): L below the diagonal (whose ones are not stored) and U; (n): the row swapped with
 *   row i
 *   QR: Q (m, k), R (k, n) | EIGH: values (n), vectors in columns (n, n) | SVD: U (m, k), values,
 *   V^H (k, n)
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
    /* CONTROL: its functions; SEMIRING_..., ELL_...: algebra, graph */
    const struct cbx_object *object;
} cbx_attrs;

/** True if both are the same operation: members are compared by value, those of arrays that no rank
 * reaches are 0 in both. */
CBX_API bool cbx_attrs_equal(const cbx_attrs *a, const cbx_attrs *b);
/** The same for equal attributes; of those with an object in one process alone. */
CBX_API uint64_t cbx_attrs_hash(const cbx_attrs *a);

typedef enum cbx_prim_class {
    CBX_CLASS_SOURCE,
    CBX_CLASS_MAP,
    CBX_CLASS_VIEW,
    CBX_CLASS_MOVE,
    CBX_CLASS_REDUCE,
    CBX_CLASS_ALONG,
    CBX_CLASS_CONTRACT,
    CBX_CLASS_OPAQUE,
    CBX_CLASS_CONTROL
} cbx_prim_class;

/** In what dtype two operands meet in the array function of a primitive. */
typedef enum cbx_promotion {
    CBX_PROMOTE_PLAIN,  /* their own */
    CBX_PROMOTE_FLOAT,  /* integers and bools as float64 */
    CBX_PROMOTE_WIDE,   /* two bools as int8 */
    CBX_PROMOTE_COMPARE /* their own; uint64 and signed integers without loss */
} cbx_promotion;

/** One row of the table. */
typedef struct cbx_prim_info {
    const char *name;     /* as in messages and dumps */
    const char *operands; /* a letter each, as above */
    unsigned dtypes;      /* of x: a bit for each, 1u << CBX_F64 */
    const char *results;  /* a letter each, as above */
    cbx_prim_class kind;
    cbx_promotion promotion;
} cbx_prim_info;

/** One operation by descriptions alone. */
typedef struct cbx_op {
    cbx_prim prim;
    size_t nin;
    const cbx_array_desc *const *in;
    const cbx_attrs *attrs; /* never NULL */
    size_t nout;
    const cbx_array_desc *results;
} cbx_op;

/** NULL for an unknown number. */
CBX_API const cbx_prim_info *cbx_prim_get_info(cbx_prim p);
/** Word of a primitive; NULL for an unknown number. */
CBX_API const char *cbx_prim_name(cbx_prim p);
/** Results of a call. */
CBX_API size_t cbx_prim_results(cbx_prim p, const cbx_attrs *attrs);
/**
 * Shapes and dtypes of the results, or why they do not exist: every check that operands must pass.
 * @param in     descriptions of nin operands, none NULL
 * @param attrs  NULL: all zero
 * @param out    cbx_prim_results of them, written on success only
 * @return CBX_OK; CBX_EINVAL (operand count, axis, attribute); CBX_EDTYPE; CBX_ESHAPE;
 *   CBX_EOVERFLOW
 */
CBX_API cbx_status cbx_prim_infer(cbx_prim p, size_t nin, const cbx_array_desc *const *in, const cbx_attrs *attrs,
                                  cbx_array_desc *out, cbx_err *err);

/** Stages of a compiled function, to be read. */
typedef enum cbx_dump_kind {
    CBX_DUMP_GRAPH, /* operations as they were traced */
    /* steps: kernels with what they load, store and fold, and single operations */
    CBX_DUMP_FUSED,
    CBX_DUMP_KERNELS,  /* the same with the instructions of kernels */
    CBX_DUMP_C,        /* kernels as C */
    CBX_DUMP_LLVM,     /* kernels as LLVM IR */
    CBX_DUMP_ASSEMBLY, /* kernels as machine code of this machine */
    /* operations as they are compiled, whose numbers the steps have */
    CBX_DUMP_SIMPLIFIED,
    /* kernels as PTX for GPUs; those that run on the CPU are comments */
    CBX_DUMP_PTX
} cbx_dump_kind;

CBX_END_DECLS
#endif
