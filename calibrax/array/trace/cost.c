/*
 * The rule of each primitive, in one table by its number.
 *
 * Sources: Blackford & Dongarra, LAPACK Working Note 41 (1999), appendix C (factors and solvers);
 * Golub & Van Loan, Matrix Computations, 4th ed. (2013), figures 8.6.1 and section 8.3 (SVD,
 * symmetric eigenproblem); Cooley & Tukey, Math. Comp. 19 (1965) 297-301 (5 n log2 n for radix 2).
 */
#include "calibrax/array/trace/cost.h"

#include <math.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/rules.h"

/* --- sums that stay at the top --- */

static uint64_t plus(uint64_t a, uint64_t b, unsigned *flags)
{
    uint64_t r;
    if (!__builtin_add_overflow(a, b, &r)) return r;
    *flags |= CBX_COST_OVERFLOW;
    return UINT64_MAX;
}

static uint64_t times(uint64_t a, uint64_t b, unsigned *flags)
{
    uint64_t r;
    if (!__builtin_mul_overflow(a, b, &r)) return r;
    *flags |= CBX_COST_OVERFLOW;
    return UINT64_MAX;
}

void cbx_cost_add(cbx_cost *sum, const cbx_cost *c, uint64_t n)
{
    unsigned f = 0;

    if (n == 0) return;
    sum->flop = plus(sum->flop, times(c->flop, n, &f), &f);
    sum->int_op = plus(sum->int_op, times(c->int_op, n, &f), &f);
    sum->transcendental = plus(sum->transcendental, times(c->transcendental, n, &f), &f);
    sum->bytes_read = plus(sum->bytes_read, times(c->bytes_read, n, &f), &f);
    sum->bytes_written = plus(sum->bytes_written, times(c->bytes_written, n, &f), &f);
    sum->calls = plus(sum->calls, times(c->calls, n, &f), &f);
    sum->flags |= c->flags | f;
}

static uint64_t count_of(const cbx_array_desc *d)
{
    uint64_t n = 1;
    for (int i = 0; i < d->ndim; i++) n *= d->shape[i];
    return n;
}

static uint64_t bytes_of(const cbx_array_desc *d) { return count_of(d) * cbx_dtype_size(d->dtype); }

/* --- what rules work with --- */

typedef struct rule rule;

typedef struct work {
    const cbx_op *op;
    const rule *rule;
    cbx_cost *out;
    size_t nresult;  /* elements */
    size_t noperand; /* of the first operand; 0 without one */
    cbx_dtype dtype; /* that the work is done in */
} work;

struct rule {
    void (*count)(const work *w);
    int real, complex, transcendental; /* of each result */
    int works_on;                      /* operand whose dtype the work is done in */
};

static bool is_complex(const work *w) { return cbx_dtype_kind(w->dtype) == CBX_KIND_COMPLEX; }

static size_t dim(const work *w, size_t operand, int from_the_end)
{
    const cbx_array_desc *d = w->op->in[operand];
    return d->ndim >= from_the_end ? d->shape[d->ndim - from_the_end] : 0;
}

/* n operations of the dtype's kind. */
static void put(const work *w, uint64_t n)
{
    uint64_t *to = cbx_dtype_kind(w->dtype) >= CBX_KIND_FLOAT ? &w->out->flop : &w->out->int_op;
    *to = plus(*to, n, &w->out->flags);
}

static void put_nominal(const work *w, double n)
{
    w->out->flags |= CBX_COST_NOMINAL;
    if (n >= 0x1p64) {
        w->out->flags |= CBX_COST_OVERFLOW;
        n = 0x1.fffffffffffffp63;
    }
    put(w, n > 0 ? (uint64_t)(n + 0.5) : 0);
}

/* --- the rules --- */

static void moves(const work *w) { (void)w; }

static void views(const work *w)
{
    w->out->bytes_read = 0;
    w->out->bytes_written = 0;
}

static void elements(const work *w)
{
    const rule *r = w->rule;
    bool function = r->transcendental && cbx_dtype_kind(w->dtype) >= CBX_KIND_FLOAT;

    if (function) w->out->transcendental = times(w->nresult, (uint64_t)r->transcendental, &w->out->flags);
    put(w, times(w->nresult, (uint64_t)(is_complex(w) ? r->complex : function ? 0 : r->real), &w->out->flags));
}

/* Elements that meet in a result but for the first of each. */
static void reduces(const work *w)
{
    uint64_t n = w->noperand > w->nresult ? w->noperand - w->nresult : 0;
    put(w, times(n, (uint64_t)(is_complex(w) ? w->rule->complex : 1), &w->out->flags));
}

/* A difference, a square and a sum of each element. */
static void squares(const work *w)
{
    put(w, times(w->noperand, 2, &w->out->flags));
    reduces(w);
}

static size_t lane(const work *w)
{
    size_t n = w->op->in[0]->shape[w->op->attrs->axis];
    return n ? n : 1;
}

static void runs_along(const work *w)
{
    uint64_t n = w->noperand - w->noperand / lane(w);
    put(w, times(n, (uint64_t)(is_complex(w) ? w->rule->complex : 1), &w->out->flags));
}

static void sorts(const work *w) { put_nominal(w, (double)w->noperand * ceil(log2((double)lane(w)))); }
/*
 * Selection by partitions: twice the elements on average, whatever the rank (Floyd & Rivest 1975
 * need 1.5).
 */
static void selects(const work *w) { put_nominal(w, 2.0 * (double)w->noperand); }
static void bisects(const work *w) { put_nominal(w, (double)w->nresult * ceil(log2((double)w->noperand + 1))); }

static void scans_for_nonzero(const work *w) { put(w, w->noperand); }

/* Reads what it takes, and where. */
static void takes(const work *w)
{
    w->out->bytes_read = plus(w->out->bytes_written, bytes_of(w->op->in[1]), &w->out->flags);
}

static void scatters(const work *w)
{
    int mode = w->op->attrs->mode;
    uint64_t each = mode == CBX_SCATTER_SET ? 0 : !is_complex(w) ? 1 : mode == CBX_SCATTER_MUL ? 6 : 2;
    put(w, times(count_of(w->op->in[2]), each, &w->out->flags));
}

static void multiplies_matrices(const work *w)
{
    uint64_t k = dim(w, 0, 1);
    put(w, times(times(w->nresult, k, &w->out->flags), is_complex(w) ? 8 : 2, &w->out->flags));
}

/*
 * Of each of n terms a combine and an update; what an algebra given by functions does counts as two
 * operations.
 */
static void folds_all(const work *w, uint64_t n)
{
    const int mode = w->op->attrs->mode;
    const bool is_known = mode >= 0 && mode < CBX_ALGEBRA_COUNT;

    if (!is_known) w->out->flags |= CBX_COST_NOMINAL;
    put(w, times(n, is_known ? (uint64_t)cbx__traits_of[mode].flop : 2, &w->out->flags));
}
static void folds(const work *w, uint64_t k) { folds_all(w, times(w->nresult, k, &w->out->flags)); }

static void folds_terms(const work *w) { folds(w, w->op->in[1]->shape[1]); }

static uint64_t taps(const work *w)
{
    const cbx_array_desc *filter = w->op->in[1];
    uint64_t k = 1;

    for (int i = 0; i < filter->ndim - 1; i++) k = times(k, filter->shape[i], &w->out->flags);
    return k;
}
static void folds_taps(const work *w) { folds(w, taps(w)); }

/*
 * Derivatives go through the terms of the product, the third operand, twice: for each of two
 * operands.
 */
static void derives(const work *w, uint64_t k)
{
    folds_all(w, times(times(count_of(w->op->in[2]), k, &w->out->flags), 2, &w->out->flags));
}
static void derives_terms(const work *w) { derives(w, dim(w, 1, 2)); }
static void derives_taps(const work *w) { derives(w, taps(w)); }

static uint64_t edges_of(const work *w) { return cbx__ell_of(w->op->attrs)->edges; }
static void folds_edges(const work *w) { folds_all(w, times(edges_of(w), w->op->in[1]->shape[1], &w->out->flags)); }
static void derives_edges(const work *w)
{
    folds_all(w, times(times(edges_of(w), w->op->in[1]->shape[1], &w->out->flags), 2, &w->out->flags));
}
/* Of each edge a maximum, a difference, an exponential function, a sum and a quotient. */
static void normalizes_edges(const work *w)
{
    w->out->transcendental = edges_of(w);
    put(w, times(edges_of(w), 4, &w->out->flags));
}
/* What the function of an edge does is not known. */
static void calls_edges(const work *w)
{
    w->out->flags |= CBX_COST_LOWER_BOUND;
    put(w, times(edges_of(w), cbx__ell_edge_of(w->op->attrs)->d_out, &w->out->flags));
}

/* Matrices of a stack, of rows by columns elements each. */
static double stack_of(const work *w, double rows, double columns)
{
    return rows * columns > 0 ? (double)w->noperand / (rows * columns) : 0;
}

static void put_factor(const work *w, double n) { put_nominal(w, is_complex(w) ? 4 * n : n); }

static void factors_cholesky(const work *w)
{
    double n = (double)dim(w, 0, 1);
    put_factor(w, stack_of(w, n, n) * (n * n * n / 3 + n * n / 2 + n / 6));
}

static double lu(double n) { return 2 * n * n * n / 3 - n * n / 2 + 5 * n / 6; }

static void factors_lu(const work *w)
{
    double n = (double)dim(w, 0, 1);
    put_factor(w, stack_of(w, n, n) * lu(n));
}

/* Right-hand sides of a matrix: as many as elements of the result to n of them. */
static double solves_with(const work *w, double n) { return n > 0 ? (double)w->nresult / n : 0; }

static void solves_triangle(const work *w)
{
    double n = (double)dim(w, 0, 1);
    put_factor(w, solves_with(w, n) * n * n);
}

static void solves(const work *w)
{
    double n = (double)dim(w, 0, 1);
    put_factor(w, stack_of(w, n, n) * lu(n) + solves_with(w, n) * (2 * n * n - n));
}

/* Householder's factors, then Q made of its first k reflections. */
static void factors_qr(const work *w)
{
    double m = (double)dim(w, 0, 2), n = (double)dim(w, 0, 1), k = fmin(m, n), q = w->op->attrs->mode ? m : k;
    double r = m >= n ? 2 * m * n * n - 2 * n * n * n / 3 : 2 * n * m * m - 2 * m * m * m / 3;
    double make = 4 * m * q * k - 2 * (m + q) * k * k + 4 * k * k * k / 3;
    put_factor(w, stack_of(w, m, n) * (r + make));
}

static void finds_eigenvectors(const work *w)
{
    double n = (double)dim(w, 0, 1);
    put_factor(w, stack_of(w, n, n) * 9 * n * n * n);
}

static void finds_eigenvalues(const work *w)
{
    double n = (double)dim(w, 0, 1);
    put_factor(w, stack_of(w, n, n) * 4 * n * n * n / 3);
}

static void finds_singular_vectors(const work *w)
{
    double a = (double)dim(w, 0, 2), b = (double)dim(w, 0, 1), m = fmax(a, b), n = fmin(a, b);
    double each = w->op->attrs->mode ? 4 * m * m * n + 22 * n * n * n : 6 * m * n * n + 20 * n * n * n;
    put_factor(w, stack_of(w, a, b) * each);
}

static void finds_singular_values(const work *w)
{
    double a = (double)dim(w, 0, 2), b = (double)dim(w, 0, 1), m = fmax(a, b), n = fmin(a, b);
    put_factor(w, stack_of(w, a, b) * (2 * m * n * n + 2 * n * n * n));
}

static void transforms_of(const work *w, double each, double all, double n)
{
    put_nominal(w, each * all * (n > 1 ? log2(n) : 0));
}
/* The real operand or result of rfft and irfft has the length; half the work of a complex one. */
static void transforms(const work *w) { transforms_of(w, 5.0, (double)w->noperand, (double)lane(w)); }
static void transforms_real(const work *w) { transforms_of(w, 2.5, (double)w->noperand, (double)lane(w)); }
static void transforms_back(const work *w)
{
    transforms_of(w, 2.5, (double)w->nresult, (double)w->op->attrs->shape[0]);
}

/* Marsaglia & Tsang (2000): rounds are drawn until one is accepted, about 1.05 of them. */
static void draws_gamma(const work *w)
{
    elements(w);
    w->out->flags |= CBX_COST_NOMINAL | CBX_COST_LOWER_BOUND;
}

/* Entries of the table of primitives: work of each result on real and on complex numbers. */
#define EACH(real, cpl)                                                                                                \
    {                                                                                                                  \
        elements, (real), (cpl), 0, 0                                                                                  \
    }
#define OF_SECOND(f, real, cpl)                                                                                        \
    {                                                                                                                  \
        f, (real), (cpl), 0, 1                                                                                         \
    }
#define FUNCTION                                                                                                       \
    {                                                                                                                  \
        elements, 1, 0, 1, 0                                                                                           \
    }
#define WORK(f)                                                                                                        \
    {                                                                                                                  \
        f, 1, 2, 0, 0                                                                                                  \
    }
#define FOLDS(f, cpl)                                                                                                  \
    {                                                                                                                  \
        f, 1, (cpl), 0, 0                                                                                              \
    }
#define GAMMA                                                                                                          \
    {                                                                                                                  \
        draws_gamma, 0, 0, 3, 1                                                                                        \
    }
#define NOTHING                                                                                                        \
    {                                                                                                                  \
        moves, 0, 0, 0, 0                                                                                              \
    }
#define UNKNOWN NOTHING /* it depends on values */
/*
 * 20 rounds of an addition, a rotation (3) and an exclusive or; keys in: 2 at first, 3 after every
 * fourth round, 2 for the third key
 */
#define THREEFRY EACH(20 * 5 + 2 + 5 * 3 + 2, 20 * 5 + 2 + 5 * 3 + 2)

static const rule rules[CBX_PRIM_LIMIT] = {
#define ROW(name, run, cost, ...) [CBX_PRIM_##name] = cost,
    CBX__RULES_MAP(ROW)
#undef ROW
};

cbx_cost cbx_cost_of_op(const cbx_op *op)
{
    const rule *r = (unsigned)op->prim < CBX_PRIM_LIMIT ? &rules[op->prim] : &rules[CBX_PRIM_FULL];
    cbx_cost c = { .calls = 1 };
    work w = { .op = op, .rule = r, .out = &c, .nresult = count_of(op->results), .dtype = op->results->dtype };

    if (op->nin) {
        w.noperand = count_of(op->in[0]);
        w.dtype = op->in[(size_t)r->works_on < op->nin ? r->works_on : 0]->dtype;
    }
    for (size_t i = 0; i < op->nin; i++) c.bytes_read = plus(c.bytes_read, bytes_of(op->in[i]), &c.flags);
    for (size_t i = 0; i < op->nout; i++) c.bytes_written = plus(c.bytes_written, bytes_of(&op->results[i]), &c.flags);
    if (r->count) r->count(&w);
    return c;
}
