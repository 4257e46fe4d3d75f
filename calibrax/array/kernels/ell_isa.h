/* What each instruction set's build of the ELL kernels offers to the dispatcher. */
#ifndef CALIBRAX_ARRAY_KERNELS_ELL_ISA_H
#define CALIBRAX_ARRAY_KERNELS_ELL_ISA_H

#include "calibrax/array/kernels/ell.h"
#include "calibrax/array/kernels/semiring_kernel.h"

/** Rows of a graph, or of its transpose, as cbx_ell_product has them. */
typedef struct cbx__ell_rows {
    size_t count, width;
    const size_t *start;
    const int32_t *degree;
} cbx__ell_rows;

/** Calls go for all rows, some at a time, from `threads` threads.  Each has a part of its own
 * first, neighbouring rows of about as many edges as any other's: the same in each call, so that
 * memory which it touches first lies near it.  Then it helps the others. */
void cbx__ell_share(const cbx__ell_rows *r, int threads, void (*go)(const void *job, size_t from, size_t to),
                    const void *job);

#define CBX__ELL_NOWHERE UINT32_MAX

/** Derivatives of one product; every matrix dense and row-major, threads resolved. */
typedef struct cbx__ell_grad {
    cbx_algebra algebra;
    bool scaled; /* terms are values * B, whatever the algebra's combine is: real and the tropical ones */
    cbx_dtype dtype;
    int threads;
    size_t d;
    cbx__ell_rows rows, cols; /* by start; cols: of the transposed graph */
    const int32_t *index, *t_index;
    const uint32_t *place, *t_place; /* NULL: the number of the edge */
    const void *values, *b, *c;
    const void *h;       /* backward: cotangent of c */
    void *dv, *db;       /* and what comes of it: db in full, dv at the places of edges */
    uint32_t *first;     /* of a tropical product: the place that c comes from; CBX__ELL_NOWHERE: from none */
    const void *tv, *tb; /* forward: tangents */
    void *tc;            /* and what comes of them */
} cbx__ell_grad;

/** FIRST fills first; SOFTMAX: dv = c (h - sum over the row of c h), c being what a
 * softmax gave. */
typedef enum cbx__ell_phase {
    CBX__ELL_FIRST,
    CBX__ELL_BACK_VALUES,
    CBX__ELL_BACK_DENSE,
    CBX__ELL_FORWARD,
    CBX__ELL_BACK_SOFTMAX
} cbx__ell_phase;

/** By the best instruction set of this machine. */
void cbx__ell_grad_run(const cbx__ell_grad *q, cbx__ell_phase phase);

/** What a build has for one element type; booleans have no more than the product. */
typedef struct cbx__ell_kernel {
    /* threads: resolved, >= 1; arguments are checked; rows, d > 0 */
    void (*product)(const cbx_ell_product *p, bool gather, int threads);
    void (*softmax)(const cbx_ell_product *p, int threads);
    void (*grad)(const cbx__ell_grad *q, cbx__ell_phase phase);
} cbx__ell_kernel;

/** What can be wrong with the arguments of a call, whatever computes it; start[rows] is read if
 * there is a start. */
typedef enum cbx__ell_call { CBX__ELL_PRODUCT, CBX__ELL_GATHER, CBX__ELL_SOFTMAX } cbx__ell_call;
cbx_status cbx__ell_check(const cbx_ell_product *p, cbx__ell_call call, cbx_err *err);

/** A product by functions, in runs of columns whose states are on the stack; arguments checked,
 * rows, d > 0; any instruction set. */
void cbx__ell_user_run(const cbx_ell_product *p, int threads);

/** Edges of row i: the first one's number, and how many. */
static inline size_t cbx__ell_first(const cbx_ell_product *p, size_t i)
{
    return p->start ? p->start[i] : i * p->width;
}
static inline size_t cbx__ell_degree(const cbx_ell_product *p, size_t i)
{
    if (p->start) return p->start[i + 1] - p->start[i];
    return p->degree ? (size_t)p->degree[i] : p->width;
}
static inline cbx__ell_rows cbx__ell_rows_of(const cbx_ell_product *p)
{
    return (cbx__ell_rows){ .count = p->rows, .width = p->width, .start = p->start, .degree = p->degree };
}

/* Those of each instruction set that is built. */
#define CBX__ELL_DECLARE(id, name, cpus) extern const cbx__ell_kernel cbx__ell_##name[CBX__KERNELS];
CBX_ISA_MAP(CBX__ELL_DECLARE)
#undef CBX__ELL_DECLARE

#endif
