/**
 * The benchmark cases that come with Calibrax: one list, which the programs and the tests pass to the library.
 */
#ifndef SUITES_SUITES_H
#define SUITES_SUITES_H

#include "calibrax/perf/case.h"

extern const cbx_case_list cbx_builtin_cases;

extern const cbx_case_ops cbx_semiring_matmul_case; /* nitrix/semiring_matmul.c */
extern const cbx_case_ops cbx_array_ops_case;       /* array/array_ops.c */

#endif
