/**
 * The built-in algebras: a row each, and the steps that tiles of products and rows of sparse ones are made of.
 *
 * The constants of cbx_algebra, the descriptors (semiring.h), the tiles of every instruction set and the choice among them follow the rows
 * here.  What the kernels are held to, the definition, is written apart: `term` and `update` of define.h.
 */
#ifndef CALIBRAX_ARRAY_KERNELS_ALGEBRA_H
#define CALIBRAX_ARRAY_KERNELS_ALGEBRA_H

/*
 * Constant; fields of cbx_semiring from name to is_exact; then the steps below, by name, that a tile does (as a rule, where
 * multiplication has pipes of its own, where a panel can make a NaN) and that a row of an ELL product does (as a rule, weighted).  log and
 * boolean have ways of their own: log takes the first as the step of its scaled product.
 */
#define CBX_ALGEBRA_MAP(X)                                                                                             \
    X(REAL, "real", "a * b", "acc + t", "", 0, 0, true, 0, "NaN", "+inf, or NaN beside -inf",                          \
      "-inf, or NaN beside +inf", false, FMA, FMA, FMA, FMA, FMA)                                                      \
    X(LOG, "log", "a + b", "acc + exp(t)", "log(acc)", -INFINITY, -INFINITY, true, -INFINITY, "NaN",                   \
      "+inf, unless a term is NaN", "the term is masked; -inf if all are", false, FMA, FMA, FMA, LOG, LOG)             \
    X(TROPICAL_MAX_PLUS, "tropical_max_plus", "a + b", "max(acc, t)", "", -INFINITY, -INFINITY, true, -INFINITY,       \
      "NaN", "+inf, unless a term is NaN", "the term is masked; -inf if all are", true, MAX, MAX_FMA, MAX_NAN,         \
      MAX_ADD, MAX_MUL)                                                                                                \
    X(TROPICAL_MIN_PLUS, "tropical_min_plus", "a + b", "min(acc, t)", "", INFINITY, INFINITY, true, INFINITY, "NaN",   \
      "the term is masked; +inf if all are", "-inf, unless a term is NaN", true, MIN, MIN_FMA, MIN_NAN, MIN_ADD,       \
      MIN_MUL)                                                                                                         \
    X(EUCLIDEAN, "euclidean", "(a - b)^2", "acc + t", "sqrt(acc)", 0, 0, false, NAN, "NaN",                            \
      "+inf, unless a term is NaN", "does not occur", false, SQUARE, SQUARE, SQUARE, SQUARE, SQUARE)                   \
    X(BOOLEAN, "boolean", "a and b", "acc or t", "", 0, 0, true, 0, "does not occur", "does not occur",                \
      "does not occur", true, FMA, FMA, FMA, FMA, FMA)

/*
 * Steps: name, the term t of a (broadcast) and b, what acc becomes.  VMAX(x, y) and VMIN give y where either is NaN, or NaN (minmax.h);
 * PICK(condition, x, y) chooses lanes.  A NaN t replaces acc, a NaN acc stays.
 */
#define CBX__TILE_STEP_MAP(X)                                                                                          \
    X(FMA, a *b, acc + t)                                                                                              \
    X(SQUARE, (a - b) * (a - b), acc + t)                                                                              \
    X(MAX, a + b, VMAX(t, acc))                                                                                        \
    X(MIN, a + b, VMIN(t, acc))                                                                                        \
    X(MAX_FMA, a *one + b, VMAX(t, acc)) /* the same sum on other pipes */                                             \
    X(MIN_FMA, a *one + b, VMIN(t, acc))                                                                               \
    X(MAX_NAN, a + b, PICK((t > acc) | (t != t), t, acc))                                                              \
    X(MIN_NAN, a + b, PICK((t < acc) | (t != t), t, acc))

/* The same with, second, whether the terms are watched for NaN; the careful step then comes next.  PRODUCT(a, b) is a product, never part of
 * a fused sum. */
#define CBX__ELL_STEP_MAP(X)                                                                                           \
    X(FMA, false, a *b, acc + t)                                                                                       \
    X(SQUARE, false, (a - b) * (a - b), acc + t)                                                                       \
    X(XOR, false, b, EITHER(acc, t)) /* the gather alone */                                                            \
    X(MAX_ADD, true, a + b, VMAX(t, acc))                                                                              \
    X(MAX_ADD_NAN, false, a + b, PICK((t > acc) | (t != t), t, acc))                                                   \
    X(MIN_ADD, true, a + b, VMIN(t, acc))                                                                              \
    X(MIN_ADD_NAN, false, a + b, PICK((t < acc) | (t != t), t, acc))                                                   \
    X(MAX_MUL, true, PRODUCT(a, b), VMAX(t, acc))                                                                      \
    X(MAX_MUL_NAN, false, PRODUCT(a, b), PICK((t > acc) | (t != t), t, acc))                                           \
    X(MIN_MUL, true, PRODUCT(a, b), VMIN(t, acc))                                                                      \
    X(MIN_MUL_NAN, false, PRODUCT(a, b), PICK((t < acc) | (t != t), t, acc))

#endif
