/*
 * Products on a device beside their definition on the CPU, for a device that is played and for a
 * real one.
 */
#ifndef TESTS_ARRAY_CUDA_PROBLEM_H
#define TESTS_ARRAY_CUDA_PROBLEM_H

#include "calibrax/array/cuda/cuda.h"
#include "calibrax/array/kernels/ell.h"
#include "calibrax/base/rng.h"

/* How operands lie. */
typedef enum layout { DENSE, A_COLUMNS, B_COLUMNS, ALL_COLUMNS, GAPS, BACKWARDS, REPEATED, LAYOUTS } layout;

/* Values an operand holds. */
typedef enum content { NORMAL, WIDE, MASKED, INFINITE, NOT_NUMBERS, SPARSE, CONTENTS } content;

typedef struct problem {
    cbx_cuda_matmul q; /* on the host */
    layout layout;
    content content;
    bool d, mask;
    char *block[6]; /* A, B, C, D, mask, C by definition */
    size_t bytes[6];
} problem;

/* Operands by the shape, algebra and dtype in q->q, and by layout, content, d and mask. */
void problem_make(problem *q, uint64_t seed);
void problem_free(problem *q);
/* C by definition, and on the device; false with *err if the device fails. */
void problem_define(problem *q);
cbx_status problem_run(problem *q, cbx_cuda *g, void *stream, cbx_err *err);
/* The largest difference over its bound; INFINITY if a special or an exact answer is wrong, or a
 * byte that is not C's has changed. */
double problem_worst(const problem *q);
const char *problem_text(const problem *q);

/* Sparse products likewise: dense features of d columns, rows of 0 to width places. */
typedef struct sparse_problem {
    cbx_ell_product p; /* on the host */
    bool by_start;     /* rows by start and place, as of a transposed graph, else by degree */
    content content;
    char *block[8]; /* index, degree, start, place, values, b, c, c by definition */
    size_t bytes[8];
} sparse_problem;

typedef cbx_status sparse_run(cbx_cuda *g, const cbx_ell_product *p, void *stream, cbx_err *err);
typedef cbx_status sparse_define(const cbx_ell_product *p, cbx_err *err);

void sparse_make(sparse_problem *q, uint64_t seed);
void sparse_free(sparse_problem *q);
cbx_status sparse_on_device(sparse_problem *q, cbx_cuda *g, sparse_run *run, cbx_err *err);
void sparse_by_definition(sparse_problem *q, sparse_define *define);
double sparse_worst(const sparse_problem *q, bool exact);

#endif
