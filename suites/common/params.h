/* Rows of parameter tables that many cases share, and the values of a point as C types. */
#ifndef SUITES_COMMON_PARAMS_H
#define SUITES_COMMON_PARAMS_H

#include "calibrax/array/dtype.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/perf/case/params.h"

#define CBX__SUITE_PARAM(kind_, name_, help_, ...)                                                                     \
    {                                                                                                                  \
        .name = name_, .kind = CBX_PARAM_##kind_, .help = help_, __VA_ARGS__                                           \
    }
/* An integer without a default; with the default `value_` (text). */
#define CBX__SUITE_COUNT(name_, min_, max_, help_) CBX__SUITE_PARAM(INT, name_, help_, .min = min_, .max = max_)
#define CBX__SUITE_COUNT_OR(name_, min_, max_, value_, help_)                                                          \
    CBX__SUITE_PARAM(INT, name_, help_, .min = min_, .max = max_, .fallback = value_)
/* A word of a list; `value_` NULL: required; with a default that is derived from the parameters
 * before it. */
#define CBX__SUITE_WORD(name_, words_, value_, help_)                                                                  \
    CBX__SUITE_PARAM(WORD, name_, help_, .words = words_, .fallback = value_)
#define CBX__SUITE_WORD_FROM(name_, words_, derive_, help_)                                                            \
    CBX__SUITE_PARAM(WORD, name_, help_, .words = words_, .derive = derive_)
#define CBX__SUITE_SEED CBX__SUITE_COUNT_OR("seed", 0, INT64_MAX, "0", "of the random inputs")

/* NULL-terminated lists for "dtype" and "algebra". */
extern const char *const cbx__suite_floats[];          /* f32 f64 */
extern const char *const cbx__suite_numbers[];         /* f64 f32 i64 */
extern const char *const cbx__suite_floats_and_bool[]; /* f32 f64 bool */
extern const char *const cbx__suite_algebras[];        /* all six */

/* dtype of one of the words above. */
cbx_dtype cbx__suite_dtype_of(const char *word);
/* Of the parameters "dtype", "algebra" and "seed". */
cbx_dtype cbx__suite_dtype(const cbx_params *params);
const cbx_semiring *cbx__suite_algebra(const cbx_params *params);
uint64_t cbx__suite_seed(const cbx_params *params);
/* A parameter that is a count. */
size_t cbx__suite_count(const cbx_params *params, const char *name);

/* Default of "dtype" after "algebra": bool for boolean, else f32.  For CBX__SUITE_WORD_FROM. */
const char *cbx__suite_fitting_dtype(const cbx_params *before);
/* The rule between "algebra" and "dtype", for check_point. */
cbx_status cbx__suite_check_algebra(const cbx_params *point, cbx_err *err);

#endif
