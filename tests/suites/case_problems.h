/*
 * Points of cases that tests take: small, of every graph, order, algebra, padding and dtype that a
 * case has.
 */
#ifndef TESTS_SUITES_CASE_PROBLEMS_H
#define TESTS_SUITES_CASE_PROBLEMS_H

#include "suites/suites.h"

static const struct {
    const cbx_case_ops *c;
    const char *json, *why;
} problems[] = {
#define EA(n, k, d, algebra, graph, order, dtype)                                                                      \
    {                                                                                                                  \
        &cbx_ell_edge_aggregate_case,                                                                                  \
            "{\"n\":" #n ",\"k\":" #k ",\"d_in\":" #d ",\"d_out\":" #d ",\"algebra\":\"" algebra                       \
            "\",\"graph\":\"" graph "\",\"order\":\"" order "\",\"dtype\":\"" dtype "\",\"seed\":5}",                  \
            graph " " order                                                                                            \
    }
#define EA_BOTH(n, k, d, graph, order, dtype)                                                                          \
    EA(n, k, d, "real", graph, order, dtype), EA(n, k, d, "tropical_max_plus", graph, order, dtype)
    EA_BOTH(64, 4, 8, "uniform", "natural", "f32"),
    EA_BOTH(100, 9, 8, "mesh2d", "natural", "f32"),
    EA_BOTH(100, 9, 8, "mesh2d", "shuffled", "f32"),
    EA_BOTH(100, 9, 8, "mesh2d", "rcm", "f64"),
    EA_BOTH(97, 9, 5, "mesh2d", "natural", "f64"), /* a prime: one row */
    EA_BOTH(301, 16, 9, "power_law", "rcm", "f32"),
    EA_BOTH(301, 16, 9, "skewed", "natural", "f32"),
    EA_BOTH(301, 16, 9, "empty_rows", "natural", "f64"),
    EA_BOTH(2, 1, 33, "uniform", "natural", "f32"),
#define EM(m, k, n, algebra, graph, dtype)                                                                             \
    {                                                                                                                  \
        &cbx_ell_matmul_case,                                                                                          \
            "{\"m\":" #m ",\"k\":" #k ",\"n\":" #n ",\"algebra\":\"" algebra "\",\"graph\":\"" graph                   \
            "\",\"order\":\"natural\",\"dtype\":\"" dtype "\",\"seed\":5}",                                            \
            algebra " " graph                                                                                          \
    }
#define EM_FLOATS(m, k, n, graph, dtype)                                                                               \
    EM(m, k, n, "real", graph, dtype), EM(m, k, n, "log", graph, dtype),                                               \
        EM(m, k, n, "tropical_max_plus", graph, dtype), EM(m, k, n, "tropical_min_plus", graph, dtype),                \
        EM(m, k, n, "euclidean", graph, dtype)
    EM_FLOATS(64, 4, 8, "uniform", "f32"),
    EM_FLOATS(100, 9, 8, "mesh2d", "f64"),
    EM_FLOATS(301, 16, 9, "power_law", "f32"),
    EM_FLOATS(301, 16, 9, "empty_rows", "f64"),
    EM(301, 16, 9, "boolean", "uniform", "bool"),
    EM(301, 16, 9, "boolean", "empty_rows", "bool"),
#define SM(n, k, graph, dtype)                                                                                         \
    {                                                                                                                  \
        &cbx_ell_row_softmax_case,                                                                                     \
            "{\"n\":" #n ",\"k\":" #k ",\"graph\":\"" graph "\",\"order\":\"natural\",\"dtype\":\"" dtype              \
            "\",\"seed\":5}",                                                                                          \
            graph " " dtype                                                                                            \
    }
    SM(64, 4, "uniform", "f32"),
    SM(64, 4, "uniform", "f64"),
    SM(301, 16, "power_law", "f32"),
    SM(301, 16, "skewed", "f64"),
    SM(301, 16, "empty_rows", "f32"),
    SM(100, 9, "mesh2d", "f64"),
#define SC(b, h, w, i, o, kernel, stride, dilation, padding, algebra, dtype)                                           \
    {                                                                                                                  \
        &cbx_semiring_conv_case,                                                                                       \
            "{\"batch\":" #b ",\"height\":" #h ",\"width\":" #w ",\"c_in\":" #i ",\"c_out\":" #o                       \
            ",\"kernel\":" #kernel ",\"stride\":" #stride ",\"dilation\":" #dilation ",\"padding\":\"" padding         \
            "\",\"algebra\":\"" algebra "\",\"dtype\":\"" dtype "\",\"seed\":5}",                                      \
            padding " " algebra                                                                                        \
    }
#define SC_FLOATS(b, h, w, i, o, kernel, stride, dilation, padding, dtype)                                             \
    SC(b, h, w, i, o, kernel, stride, dilation, padding, "real", dtype),                                               \
        SC(b, h, w, i, o, kernel, stride, dilation, padding, "log", dtype),                                            \
        SC(b, h, w, i, o, kernel, stride, dilation, padding, "tropical_max_plus", dtype),                              \
        SC(b, h, w, i, o, kernel, stride, dilation, padding, "tropical_min_plus", dtype),                              \
        SC(b, h, w, i, o, kernel, stride, dilation, padding, "euclidean", dtype)
    SC_FLOATS(2, 9, 9, 3, 8, 3, 1, 1, "same", "f32"),
    SC_FLOATS(2, 11, 8, 3, 5, 4, 3, 2, "same", "f64"),
    SC_FLOATS(3, 9, 12, 2, 5, 3, 2, 2, "valid", "f32"),
    SC(2, 9, 9, 3, 8, 3, 1, 1, "same", "boolean", "bool"),
    SC(4, 5, 5, 3, 8, 1, 1, 1, "same", "real", "f32"), /* a window of one */
#define DM(m, k, n, dtype)                                                                                             \
    {                                                                                                                  \
        &cbx_dense_matmul_case, "{\"m\":" #m ",\"k\":" #k ",\"n\":" #n ",\"dtype\":\"" dtype "\",\"seed\":5}",         \
            #m "x" #k "x" #n                                                                                           \
    }
    DM(8, 8, 8, "f32"),
    DM(33, 65, 17, "f32"),
    DM(33, 65, 17, "f64"),
    DM(64, 128, 64, "f32"),
#define AO(op, n)                                                                                                      \
    {                                                                                                                  \
        &cbx_array_ops_case, "{\"op\":\"" op "\",\"n\":" #n ",\"dtype\":\"f64\",\"seed\":5}", op                       \
    }
    AO("median", 33),
    AO("nanmean", 33),
    AO("expression", 33),
    AO("chain100", 33),
    AO("model", 33),
    AO("model_grad_p", 33),
    AO("model_grad_x", 33),
    AO("scan", 33),
    AO("scan_grad", 33),
    AO("fori", 33),
    AO("kww", 33),
    AO("kww_grad", 33),
    AO("kww_jac", 33),
    AO("rbf", 33),
    AO("rbf_grad", 33),
    { &cbx_array_qmap_case, "{\"n\":33,\"seed\":5}", "seven results" },
};

#endif
