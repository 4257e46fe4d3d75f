/*
 * Plug-ins with one fault each, for tests/cli/test_plugin.py: compiled with FAULT defined as what
 * is wrong.
 */
#include "calibrax/perf/case/plugin.h"

#define FAULT_NONE  0
#define FAULT_ABI   1 /* the table's */
#define FAULT_TABLE 2 /* no symbol */
#define FAULT_CASE  3 /* a case of another ABI */
#define FAULT_NAME  4 /* a name that is built in */
#define FAULT_EMPTY 5

#if FAULT != FAULT_NAME
static const cbx_case_ops broken = {
    .struct_size = sizeof(cbx_case_ops),
    .abi = FAULT == FAULT_CASE ? CBX_CASE_ABI + 1 : CBX_CASE_ABI,
    .name = "broken",
};
#else
extern const cbx_case_ops cbx_dense_matmul_case; /* suites/nitrix/dense_matmul.c, linked in */
#endif

#if FAULT != FAULT_TABLE
static const cbx_case_ops *const cases[] = {
#if FAULT == FAULT_NAME
    &cbx_dense_matmul_case,
#else
    &broken,
#endif
};

extern CBX_PLUGIN_EXPORT const cbx_plugin_ops cbx_plugin_table;
const cbx_plugin_ops cbx_plugin_table = {
    .struct_size = sizeof(cbx_plugin_ops),
    .abi = FAULT == FAULT_ABI ? CBX_PLUGIN_ABI + 4 : CBX_PLUGIN_ABI,
    .name = "a plug-in with a fault",
    .cases = cases,
    .ncases = FAULT == FAULT_EMPTY ? 0 : 1,
};
#else
CBX_PLUGIN_EXPORT extern const cbx_case_ops *const something_else;
const cbx_case_ops *const something_else = &broken;
#endif
