/**
 * The benchmark cases that come with Calibrax: one list, which the programs and the tests pass to
 * the library.
 */
#ifndef SUITES_SUITES_H
#define SUITES_SUITES_H

#include "calibrax/perf/case/case.h"

extern const cbx_case_list cbx_builtin_cases;

extern const cbx_case_ops cbx_semiring_matmul_case, cbx_semiring_conv_case, cbx_dense_matmul_case; /* nitrix/ */
extern const cbx_case_ops cbx_ell_edge_aggregate_case, cbx_ell_matmul_case, cbx_ell_row_softmax_case;
extern const cbx_case_ops cbx_array_ops_case, cbx_array_qmap_case; /* array/ */
extern const cbx_case_ops cbx_metrics_case;                        /* metrics/ */

/** What `nperf selftest` measures the tool with; known to the worker, and not listed. */
extern const cbx_case_list cbx_selftest_cases;

extern const cbx_case_ops cbx_selftest_kernels_case, cbx_selftest_exploits_case; /* selftest/ */
/** The part of the sandbox (CBX_SANDBOX_PARTS) without which a cheat of that case finds an open
 * door; "": the parent sees it by itself. */
const char *cbx_selftest_exploit_needs(const char *name);

#endif
