/* The check of an ELL product's arguments, the choice of the instruction set, and the sharing of
 * rows by threads. */
#include "calibrax/array/kernels/ell.h"

#include <stdatomic.h>

#include "calibrax/array/kernels/ell_isa.h"
#include "calibrax/array/kernels/traits.h"

static const cbx__ell_kernel *const kernels[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = cbx__ell_##name, )
    CBX_ISA_MAP(ENTRY)
#undef ENTRY
};

/* Products of fewer terms are done before a second thread has come. */
#define FEW_TERMS   1e5
#define MAX_THREADS 256

/* --- checks --- */

static cbx_status check_floats(const cbx_ell_product *p, const char *what, cbx_err *err)
{
    if (p->dtype == CBX_F32 || p->dtype == CBX_F64) return CBX_OK;
    return cbx_fail(err, CBX_EDTYPE, "%s takes float32 and float64, not %s", what, cbx_dtype_name(p->dtype));
}

static cbx_status check_algebra(const cbx_ell_product *p, cbx_err *err)
{
    const cbx_semiring *s = p->semiring;

    if (!s) return cbx_fail(err, CBX_EINVAL, "an ELL product needs a semiring: get one from cbx_semiring_find");
    if (!cbx_semiring_takes(s, p->dtype))
        return cbx_fail(err, CBX_EDTYPE, "algebra '%s' does not take %s", s->name, cbx_dtype_name(p->dtype));
    if (p->scaled && s->functions) {
        if (!s->functions->update)
            return cbx_fail(err, CBX_EINVAL,
                            "algebra '%s' cannot fold weighted messages: define 'update' in its functions", s->name);
        return check_floats(p, "weighted messages", err);
    }
    if (p->scaled && cbx__traits_of[s->id].messages == CBX__MESSAGES_NONE)
        return cbx_fail(err, CBX_EINVAL, "algebra '%s' does not fold weighted messages: real and the tropical ones do",
                        s->name);
    return CBX_OK;
}

#define MAX_COLUMNS ((size_t)INT32_MAX)

typedef struct span {
    const char *name;
    const void *data;
    size_t count, size;
} span;

static cbx_status check_apart(const cbx_ell_product *p, size_t out, const span *in, size_t n, cbx_err *err)
{
    const size_t size = cbx_dtype_size(p->dtype);
    size_t bytes;

    if (__builtin_mul_overflow(out, size, &bytes))
        return cbx_fail(err, CBX_EOVERFLOW, "C of %zu rows is larger than the address space", p->rows);
    if ((uintptr_t)p->c % size)
        return cbx_fail(err, CBX_EINVAL, "C does not start at a multiple of %zu bytes, the size of its elements", size);
    for (size_t i = 0; i < n; i++) {
        const char *c = p->c, *x = in[i].data;
        size_t reach;
        if ((uintptr_t)x % in[i].size)
            return cbx_fail(err, CBX_EINVAL,
                            "memory of %s starts %zu bytes past a multiple of %zu, the size of an element: copy it",
                            in[i].name, (size_t)((uintptr_t)x % in[i].size), in[i].size);
        if (__builtin_mul_overflow(in[i].count, in[i].size, &reach))
            return cbx_fail(err, CBX_EOVERFLOW, "%s of %zu elements is larger than the address space", in[i].name,
                            in[i].count);
        if (x && bytes && reach && (uintptr_t)c < (uintptr_t)x + reach && (uintptr_t)x < (uintptr_t)c + bytes)
            return cbx_fail(err, CBX_EINVAL, "C overlaps %s: use separate memory", in[i].name);
    }
    return CBX_OK;
}

/* Where C ends, what is read, and whether they are apart; d, ldb and ldc are of the product, or of
 * a softmax. */
static cbx_status check_memory(const cbx_ell_product *p, size_t ldc, size_t columns, cbx_err *err)
{
    const size_t size = cbx_dtype_size(p->dtype);
    size_t out, dense = 0, values;

    if (p->cols > MAX_COLUMNS)
        return cbx_fail(err, CBX_EOVERFLOW, "B has %zu rows, and the maximum for 32-bit indices is %zu: split its rows",
                        p->cols, MAX_COLUMNS);
    if (__builtin_mul_overflow(p->rows, p->width, &values) || __builtin_mul_overflow(p->rows, ldc, &out) ||
        (p->b && __builtin_mul_overflow(p->cols, p->ldb, &dense)))
        return cbx_fail(err, CBX_EOVERFLOW, "an operand of rows=%zu width=%zu d=%zu is larger than the address space",
                        p->rows, p->width, p->d);
    size_t edges = p->start ? p->start[p->rows] : values;
    if (out) out -= ldc - columns;
    const span in[] = { { "B", p->b, dense, size },
                        { "the values", p->values, values, size },
                        { "the indices", p->index, edges, sizeof *p->index },
                        { "the degrees", p->degree, p->rows, sizeof *p->degree } };
    return check_apart(p, out, in, CBX_LEN(in), err);
}

static cbx_status check_common(const cbx_ell_product *p, cbx_err *err)
{
    const cbx_isa isa = p->isa == CBX_ISA_COUNT ? cbx_isa_best() : p->isa;

    if (p->struct_size != sizeof *p)
        return cbx_fail(err, CBX_EINVAL, "cbx_ell_product has %u bytes, not %zu: start from CBX_ELL_PRODUCT_INIT",
                        p->struct_size, sizeof *p);
    if (!cbx_isa_available(isa))
        return cbx_fail(err, CBX_EINVAL, "instruction set '%s' is not available on this machine", cbx_isa_name(isa));
    return CBX_OK;
}

static cbx_status check_dense(const cbx_ell_product *p, cbx_err *err)
{
    if (p->ldb < p->d || p->ldc < p->d)
        return cbx_fail(err, CBX_EINVAL, "rows of %zu elements do not fit strides ldb %zu, ldc %zu", p->d, p->ldb,
                        p->ldc);
    return check_memory(p, p->ldc, p->d, err);
}

cbx_status cbx__ell_check(const cbx_ell_product *p, cbx__ell_call call, cbx_err *err)
{
    cbx_status st = check_common(p, err);

    if (!st)
        st = call == CBX__ELL_PRODUCT  ? check_algebra(p, err)
             : call == CBX__ELL_GATHER ? check_floats(p, "the gather", err)
                                       : check_floats(p, "a softmax", err);
    if (st) return st;
    return call == CBX__ELL_SOFTMAX ? check_memory(p, p->width, p->width, err) : check_dense(p, err);
}

static const cbx__ell_kernel *kernel_of(const cbx_ell_product *p)
{
    return &kernels[p->isa == CBX_ISA_COUNT ? cbx_isa_best() : p->isa][cbx__kernel_of(p->dtype)];
}

static int threads_of(const cbx_ell_product *p, size_t d)
{
    const size_t edges = p->start ? p->start[p->rows] : p->rows * p->width;
    const int max = p->threads > 0 ? p->threads : cbx__omp_threads();

    return (double)edges * (double)d < FEW_TERMS ? 1 : max;
}

/* --- rows shared by threads --- */

/* Neighbouring rows that one thread has first; next is the first of them that no thread took. */
typedef struct part {
    _Alignas(64) atomic_size_t next;
    size_t end, some; /* rows taken at a time */
} part;

/* Edges before row i, and a little for the row itself. */
static size_t weight_before(const cbx__ell_rows *r, size_t i) { return (r->start ? r->start[i] : i * r->width) + i; }

/* First row with at least `share` of `of` equal parts of all weight before it. */
static size_t row_at(const cbx__ell_rows *r, size_t share, size_t of)
{
    const size_t all = weight_before(r, r->count), target = all / of * share + all % of * share / of;
    size_t low = 0, high = r->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (weight_before(r, middle) < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same by degrees: they are added up once. */
static void ends_by_degree(const cbx__ell_rows *r, size_t n, part *parts)
{
    size_t all = r->count, seen = 0, i = 0;

    for (size_t k = 0; k < r->count; k++) all += (size_t)r->degree[k];
    for (size_t t = 0; t < n; t++) {
        const size_t target = all / n * (t + 1) + all % n * (t + 1) / n;
        for (; i < r->count && seen < target; i++) seen += (size_t)r->degree[i] + 1;
        parts[t].end = t + 1 == n ? r->count : i;
    }
}

static void divide(const cbx__ell_rows *r, size_t n, part *parts)
{
    enum { TURNS = 64, MAX = 64 };

    if (r->degree && !r->start)
        ends_by_degree(r, n, parts);
    else
        for (size_t t = 0; t < n; t++) parts[t].end = row_at(r, t + 1, n);
    parts[n - 1].end = r->count;
    for (size_t t = 0; t < n; t++) {
        const size_t first = t ? parts[t - 1].end : 0, some = (parts[t].end - first) / TURNS;
        atomic_init(&parts[t].next, first);
        parts[t].some = some < 1 ? 1 : some < MAX ? some : MAX;
    }
}

static void take_rows(part *parts, size_t n, size_t me, void (*go)(const void *job, size_t from, size_t to),
                      const void *job)
{
    for (size_t t = 0; t < n; t++) {
        part *p = &parts[(me + t) % n];
        for (size_t i; (i = atomic_fetch_add(&p->next, p->some)) < p->end;)
            go(job, i, p->end - i < p->some ? p->end : i + p->some);
    }
}

void cbx__ell_share(const cbx__ell_rows *r, int threads, void (*go)(const void *job, size_t from, size_t to),
                    const void *job)
{
    part parts[MAX_THREADS];
    const size_t n = threads < MAX_THREADS ? (size_t)threads : MAX_THREADS;

    if (n == 1) {
        go(job, 0, r->count);
        return;
    }
    divide(r, n, parts);
    CBX__OMP(omp parallel num_threads((int)n))
    take_rows(parts, n, cbx__omp_thread(), go, job);
}

/* --- the calls --- */

void cbx__ell_grad_run(const cbx__ell_grad *q, cbx__ell_phase phase)
{
    kernels[cbx_isa_best()][cbx__kernel_of(q->dtype)].grad(q, phase);
}

cbx_status cbx_ell_product_run(const cbx_ell_product *p, cbx_err *err)
{
    const cbx_status st = cbx__ell_check(p, CBX__ELL_PRODUCT, err);
    if (st || !p->rows || !p->d) return st;
    if (p->semiring->functions)
        cbx__ell_user_run(p, threads_of(p, p->d));
    else
        kernel_of(p)->product(p, false, threads_of(p, p->d));
    return st;
}

cbx_status cbx_ell_gather_run(const cbx_ell_product *p, cbx_err *err)
{
    const cbx_status st = cbx__ell_check(p, CBX__ELL_GATHER, err);
    if (!st && p->rows && p->d) kernel_of(p)->product(p, true, threads_of(p, p->d));
    return st;
}

cbx_status cbx_ell_softmax_run(const cbx_ell_product *p, cbx_err *err)
{
    const cbx_status st = cbx__ell_check(p, CBX__ELL_SOFTMAX, err);
    if (!st && p->rows && p->width) kernel_of(p)->softmax(p, threads_of(p, 8));
    return st;
}
