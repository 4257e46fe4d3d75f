/*
 * The list of built-in cases: a new case is one file and one line here.
 */
#include "suites/suites.h"

static const cbx_case_ops *const cases[] = {
    &cbx_semiring_matmul_case,    &cbx_semiring_conv_case, &cbx_dense_matmul_case,
    &cbx_ell_edge_aggregate_case, &cbx_ell_matmul_case,    &cbx_ell_row_softmax_case,
    &cbx_array_ops_case,          &cbx_array_qmap_case,    &cbx_metrics_case,
};

const cbx_case_list cbx_builtin_cases = { cases, CBX_LEN(cases) };

static const cbx_case_ops *const selftest_cases[] = { &cbx_selftest_kernels_case, &cbx_selftest_exploits_case };

const cbx_case_list cbx_selftest_cases = { selftest_cases, CBX_LEN(selftest_cases) };
