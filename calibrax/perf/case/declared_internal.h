/*
 * A case file in memory.  Everything lives in its arena.
 */
#ifndef CALIBRAX_PERF_CASE_DECLARED_INTERNAL_H
#define CALIBRAX_PERF_CASE_DECLARED_INTERNAL_H

#include "calibrax/base/arena.h"
#include "calibrax/base/list.h"
#include "calibrax/perf/case/declared.h"
#include "calibrax/perf/case/expression.h"

#define CBX__DECLARED_MAX_GROUPS 8
#define CBX__DECLARED_MAX_CHECKS 16

typedef enum cbx__fill_kind {
    CBX__FILL_NORMAL,
    CBX__FILL_UNIFORM,
    CBX__FILL_INTEGERS,
    CBX__FILL_COUNT,
    CBX__FILL_CONSTANT
} cbx__fill_kind;

typedef struct cbx__declared_array {
    const char *name;
    cbx_dtype dtype;
    int ndim;
    const char *shape[CBX_MAX_RANK]; /* formulas */
    cbx__fill_kind fill;             /* of an input */
    double low, high;                /* uniform, integers: bounds; normal: mean and deviation; constant, count: first */
    double rtol, atol;               /* of an output; NaN: the reference's */
} cbx__declared_array;

/* Arrays whose axes are permuted together; axis -1: not in it. */
typedef struct cbx__declared_group {
    int input_axis[CBX_CASE_MAX_ARRAYS], output_axis[CBX_CASE_MAX_ARRAYS];
} cbx__declared_group;

/* One check of a command's outputs: a command, or a file against another. */
typedef struct cbx__declared_check {
    const char *command, *file, *same_as, *numbers;
    double rtol, atol;
} cbx__declared_check;

struct cbx_declared {
    cbx_allocator al;
    cbx_arena arena;
    cbx_declared_kind kind;
    cbx_case_ops ops;
    const char *what, *folder;
    cbx_param_def *params;
    cbx_baseline_ops *baselines;
    const char **commands; /* of each baseline */
    cbx__declared_array inputs[CBX_CASE_MAX_ARRAYS], outputs[CBX_CASE_MAX_ARRAYS];
    cbx__declared_group groups[CBX__DECLARED_MAX_GROUPS];
    size_t ngroups;
    const char *macs, *flop, *bytes; /* formulas */
    const char *setup, *prepare;
    double representative;
    cbx__declared_check checks[CBX__DECLARED_MAX_CHECKS];
    size_t nchecks;
    CBX_LIST(const char *) files; /* that must exist */
};

/* The parameter whose name these `len` bytes are; else NULL. */
const cbx_param_def *cbx__declared_param(const cbx_declared *d, const char *name, size_t len);
/* The functions of the case (declared_case.c). */
void cbx__declared_fill_ops(cbx_declared *d);

#endif
