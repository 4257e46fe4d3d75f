/* The table of algebras, the check of a product's arguments, and the choice of the
 * instruction set. */
#include "calibrax/array/kernels/semiring.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/base/clock.h"

static const cbx_semiring semirings[CBX_ALGEBRA_COUNT] = {
#define CBX_ALGEBRA(number, ...) [CBX_ALGEBRA_##number] = { .id = CBX_ALGEBRA_##number, __VA_ARGS__ },
#include "calibrax/array/kernels/algebra.h"
};

const cbx_semiring *cbx_semiring_get(cbx_algebra id)
{
    return (unsigned)id < CBX_ALGEBRA_COUNT ? &semirings[id] : NULL;
}

const cbx_semiring *cbx_semiring_find(const char *name)
{
    for (size_t i = 0; name && i < CBX_LEN(semirings); i++)
        if (strcmp(semirings[i].name, name) == 0) return &semirings[i];
    return NULL;
}

bool cbx_semiring_takes(const cbx_semiring *s, cbx_dtype dtype)
{
    if (s->functions) return dtype == s->functions->dtype;
    return cbx__traits_of[s->id].of_bool ? dtype == CBX_BOOL : dtype == CBX_F32 || dtype == CBX_F64;
}

static const cbx__semiring_kernel *const kernels[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = cbx__semiring_##name, )
    CBX_ISA_MAP(ENTRY)
#undef ENTRY
};

/* Remembered, since a product of a few elements takes less time than the asking. */
const cbx__semiring_kernel *cbx__semiring_best(cbx_dtype dtype)
{
    static const cbx__semiring_kernel *_Atomic known;
    const cbx__semiring_kernel *all = atomic_load_explicit(&known, memory_order_relaxed);

    if (!all) {
        all = kernels[cbx_isa_best()];
        atomic_store_explicit(&known, all, memory_order_relaxed);
    }
    return &all[cbx__kernel_of(dtype)];
}

cbx_status cbx_semiring_define(const char *name, const cbx_semiring_functions *f, cbx_semiring *out, cbx_err *err)
{
    if (!name || !f || !f->start || !f->step || !f->finish)
        return cbx_fail(err, CBX_EINVAL, "algebra '%s' lacks a function: it needs start, step and finish",
                        name ? name : "?");
    if ((unsigned)f->dtype >= CBX_DTYPE_COUNT)
        return cbx_fail(err, CBX_EDTYPE, "algebra '%s' has an unknown dtype: %d", name, (int)f->dtype);
    if (f->state_bytes < cbx_dtype_size(f->dtype) || f->state_bytes > 256)
        return cbx_fail(err, CBX_EINVAL, "a state of algebra '%s' has %zu bytes, not %zu to 256", name, f->state_bytes,
                        cbx_dtype_size(f->dtype));
    if (f->formulas && (f->formulas->struct_size != sizeof *f->formulas || !f->formulas->start ||
                        !f->formulas->combine || !f->formulas->update || !f->formulas->finish ||
                        f->formulas->states < 1 || f->formulas->states > CBX_SEMIRING_STATES))
        return cbx_fail(
            err, CBX_EINVAL,
            "formulas of algebra '%s' need struct_size %zu, 1 to %d states, start, combine, update and finish", name,
            sizeof *f->formulas, CBX_SEMIRING_STATES);
    *out = (cbx_semiring){ .id = CBX_ALGEBRA_USER,
                           .name = name,
                           .combine = "a function",
                           .update = "a function",
                           .finalize = "a function",
                           .nan_rule = "as defined by its functions",
                           .plus_inf_rule = "as defined by its functions",
                           .minus_inf_rule = "as defined by its functions",
                           .functions = f };
    return CBX_OK;
}

/* --- which addition --- */

/* Seconds that some register tiles take, the minimum of a few trials. */
static uint64_t rehearsal_ns(const cbx__semiring_kernel *kernel, bool add_by_fma)
{
    uint64_t min = UINT64_MAX;

    for (int trial = 0; trial < 8; trial++) {
        const uint64_t from = cbx_clock_ns();
        kernel->rehearse(add_by_fma, 40);
        const uint64_t t = cbx_clock_ns() - from;
        min = t < min ? t : min;
    }
    return min;
}

/* Where add and max share pipes and multiplication has others, a sum as a * 1 + b is free. Measured
 * once a process (about a millisecond), by whoever comes first; the bits are the same
 * either way. */
static bool adds_by_fma(const cbx_semiring *s, cbx_isa isa, cbx_dtype dtype)
{
    enum { UNKNOWN, PLAIN, BY_FMA };
    static atomic_int known[CBX_ISA_COUNT][2];
    const cbx__semiring_kernel *kernel = &kernels[isa][cbx__kernel_of(dtype)];
    atomic_int *mine = &known[isa][dtype == CBX_F64];
    int way = atomic_load_explicit(mine, memory_order_relaxed);

    if (!cbx__traits_of[s->id].sums_by_fma || !kernel->has_fma) return false;
    if (way == UNKNOWN) {
        way = rehearsal_ns(kernel, true) < rehearsal_ns(kernel, false) * 95 / 100 ? BY_FMA : PLAIN;
        atomic_store_explicit(mine, way, memory_order_relaxed);
    }
    return way == BY_FMA;
}

bool cbx__semiring_adds_by_fma(const cbx_semiring *s, cbx_dtype dtype) { return adds_by_fma(s, cbx_isa_best(), dtype); }

/* Products of fewer steps are done before a second thread has come. */
#define FEW_STEPS   1e6
#define FEW_BITS    3e7
#define MAX_THREADS 1024

int cbx__semiring_threads(double steps, int asked)
{
    const int threads = asked > 0 ? asked : cbx__omp_threads();
    return steps < FEW_STEPS ? 1 : threads < MAX_THREADS ? threads : MAX_THREADS;
}

/* --- checks --- */

static cbx_status check_algebra(const cbx_matmul *p, cbx_err *err)
{
    if (p->struct_size != sizeof *p)
        return cbx_fail(err, CBX_EINVAL, "cbx_matmul has %u bytes, not %zu: start from CBX_MATMUL_INIT", p->struct_size,
                        sizeof *p);
    if (!p->semiring) return cbx_fail(err, CBX_EINVAL, "a product needs a semiring: get one from cbx_semiring_find");
    if (!cbx_semiring_takes(p->semiring, p->dtype))
        return cbx_fail(err, CBX_EDTYPE, "algebra '%s' does not take %s", p->semiring->name, cbx_dtype_name(p->dtype));
    if (p->raw && (p->semiring->functions || !cbx__traits_of[p->semiring->id].has_raw))
        return cbx_fail(err, CBX_EINVAL, "algebra '%s' has no raw form: only euclidean has one", p->semiring->name);
    if (p->d && p->semiring->functions)
        return cbx_fail(err, CBX_EINVAL, "algebra '%s', defined by functions, cannot be merged with D",
                        p->semiring->name);
    return CBX_OK;
}

/* Bytes of memory that a matrix reaches over, from `low` on; overflow if no memory can hold it. */
typedef struct reach {
    const char *name;
    intptr_t low, high;
} reach;

static bool reach_of(const char *name, const void *x, size_t rows, size_t columns, ptrdiff_t across, ptrdiff_t along,
                     size_t size, reach *out)
{
    ptrdiff_t down = 0, right = 0;

    *out = (reach){ name, (intptr_t)x, (intptr_t)x };
    if (!x || rows == 0 || columns == 0) return true;
    if (rows > PTRDIFF_MAX || columns > PTRDIFF_MAX || __builtin_mul_overflow((ptrdiff_t)rows - 1, across, &down) ||
        __builtin_mul_overflow(down, (ptrdiff_t)size, &down) ||
        __builtin_mul_overflow((ptrdiff_t)columns - 1, along, &right) ||
        __builtin_mul_overflow(right, (ptrdiff_t)size, &right))
        return false;
    return !__builtin_add_overflow(out->low, down < 0 ? down : 0, &out->low) &&
           !__builtin_add_overflow(out->low, right < 0 ? right : 0, &out->low) &&
           !__builtin_add_overflow(out->high, (down > 0 ? down : 0), &out->high) &&
           !__builtin_add_overflow(out->high, (right > 0 ? right : 0) + (ptrdiff_t)size, &out->high);
}

/* No two elements of C in one place: one stride steps over all that the other spans. */
static bool is_distinct(const cbx_matmul *p)
{
    const size_t down = (size_t)(p->ldc < 0 ? -p->ldc : p->ldc),
                 right = (size_t)(p->c_step < 0 ? -p->c_step : p->c_step);

    if (p->m == 0 || p->n == 0 || (p->m == 1 && p->n == 1)) return true;
    if (p->m <= 1) return right > 0;
    if (p->n <= 1) return down > 0;
    return (right > 0 && down / right >= p->n) || (down > 0 && right / down >= p->m);
}

static cbx_status check_alignment(const cbx_matmul *p, cbx_err *err)
{
    const struct {
        const char *name;
        const void *x;
    } operands[] = { { "A", p->a }, { "B", p->b }, { "C", p->c }, { "D", p->d } };
    const size_t size = cbx_dtype_size(p->dtype);

    for (size_t i = 0; i < CBX_LEN(operands); i++)
        if ((uintptr_t)operands[i].x % size)
            return cbx_fail(
                err, CBX_EINVAL,
                "%s starts %zu bytes past a multiple of %zu, the size of its elements: copy it to a multiple",
                operands[i].name, (size_t)((uintptr_t)operands[i].x % size), size);
    return CBX_OK;
}

static cbx_status check_memory(const cbx_matmul *p, cbx_err *err)
{
    const size_t size = cbx_dtype_size(p->dtype);
    const cbx_status st = check_alignment(p, err);
    reach c, other[5];

    if (st) return st;
    if (!is_distinct(p))
        return cbx_fail(err, CBX_EINVAL, "elements of C coincide: strides ldc %td, c_step %td for m=%zu n=%zu", p->ldc,
                        p->c_step, p->m, p->n);
    if (!reach_of("C", p->c, p->m, p->n, p->ldc, p->c_step, size, &c) ||
        !reach_of("A", p->a, p->m, p->k, p->lda, p->a_step, size, &other[0]) ||
        !reach_of("B", p->b, p->k, p->n, p->ldb, p->b_step, size, &other[1]) ||
        !reach_of("D", p->d, p->m, p->n, p->ldd, p->d_step, size, &other[2]) ||
        !reach_of("the mask", p->mask, p->m, p->n, p->ldm, p->m_step, 1, &other[3]) ||
        !reach_of("the workspace", p->workspace, 1, p->workspace_bytes, 0, 1, 1, &other[4]))
        return cbx_fail(err, CBX_EOVERFLOW, "an operand of m=%zu k=%zu n=%zu is larger than the address space", p->m,
                        p->k, p->n);
    for (size_t i = 0; i < CBX_LEN(other); i++)
        if (c.low < other[i].high && other[i].low < c.high)
            return cbx_fail(err, CBX_EINVAL, "C overlaps %s: use separate memory", other[i].name);
    return CBX_OK;
}

static cbx_status check_sizes(const cbx_matmul *p, cbx_err *err)
{
    size_t a, b;

    if (__builtin_mul_overflow(p->m, p->k, &a) || __builtin_mul_overflow(p->k, p->n, &b) || a > SIZE_MAX / 256 ||
        b > SIZE_MAX / 256)
        return cbx_fail(err, CBX_EOVERFLOW, "an operand of m=%zu k=%zu n=%zu is larger than the address space", p->m,
                        p->k, p->n);
    return CBX_OK;
}

cbx_status cbx__semiring_check(const cbx_matmul *p, cbx_err *err)
{
    cbx_status st = check_algebra(p, err);

    if (!st) st = check_sizes(p, err);
    return st ? st : check_memory(p, err);
}

static cbx_status plan_of(const cbx_matmul *p, cbx__semiring_plan *plan, cbx_err *err)
{
    const cbx_isa isa = p->isa == CBX_ISA_COUNT ? cbx_isa_best() : p->isa;
    cbx_status st = check_algebra(p, err);

    if (st) return st;
    if (!cbx_isa_available(isa))
        return cbx_fail(err, CBX_EINVAL, "instruction set '%s' is not available on this machine", cbx_isa_name(isa));
    st = check_sizes(p, err);
    if (st) return st;
    const double steps = (double)p->m * (double)p->k * (double)p->n;
    *plan = (cbx__semiring_plan){ .p = p,
                                  .isa = isa,
                                  .kernel = &kernels[isa][cbx__kernel_of(p->dtype)],
                                  .threads = cbx__semiring_threads(
                                      p->dtype == CBX_BOOL ? steps * (FEW_STEPS / FEW_BITS) : steps, p->threads) };
    return CBX_OK;
}

/* Column-major C: the product of the transposes, since every built-in combine commutes. */
static cbx_matmul transposed(const cbx_matmul *p)
{
    cbx_matmul t = *p;

    t.m = p->n, t.n = p->m;
    t.a = p->b, t.lda = p->b_step, t.a_step = p->ldb;
    t.b = p->a, t.ldb = p->a_step, t.b_step = p->lda;
    t.ldc = p->c_step, t.c_step = p->ldc;
    t.ldd = p->d_step, t.d_step = p->ldd;
    t.ldm = p->m_step, t.m_step = p->ldm;
    return t;
}

/* Capacity of products of few elements, known without the sizes of blocks: panels of A and B, no
 * higher and wider than 64, and the shifts of log; and operands with gaps as they are packed. */
#define FEW_WORKSPACE (24u << 10)
#define MAX_DEEP      512 /* terms of a block of any instruction set */
static size_t small_workspace(const cbx_matmul *p)
{
    const size_t size = p->dtype == CBX_F32 ? sizeof(float) : sizeof(double);

    const bool plain = p->a_step == 1 && p->b_step == 1 && p->c_step == 1;

    if (cbx__semiring_is_within(p, FEW_EXTENT)) return FEW_WORKSPACE;
    return (p->m + p->n + 128) * (min_size(p->k, MAX_DEEP) + 4) * size + 256 +
           (plain ? 0 : (p->m + p->n) * p->k * size);
}

/* Enough for the product and for that of the transposes, whichever the strides of C ask for. */
static size_t workspace_of(const cbx__semiring_plan *plan)
{
    const cbx_matmul turned = transposed(plan->p);
    cbx__semiring_plan other = *plan;

    if (plan->p->semiring->functions) return cbx__semiring_user_workspace(plan);
    if (plan->p->dtype != CBX_BOOL && cbx__semiring_is_small(plan->p)) return small_workspace(plan->p);
    other.p = &turned;
    size_t one = plan->kernel->workspace(plan), two = plan->kernel->workspace(&other);
    return one > two ? one : two;
}

cbx_status cbx_matmul_workspace(const cbx_matmul *p, size_t *out, cbx_err *err)
{
    cbx__semiring_plan plan;
    const cbx_status st = plan_of(p, &plan, err);

    if (st) return st;
    *out = p->m == 0 || p->n == 0 || p->k == 0 ? 64 : workspace_of(&plan);
    return CBX_OK;
}

/* None of these bytes is among those. */
static bool are_apart(const void *x, size_t x_bytes, const void *y, size_t y_bytes)
{
    const uintptr_t d = (uintptr_t)y - (uintptr_t)x;
    return (d >= x_bytes) & (0 - d >= y_bytes);
}

/* Whether a product of few elements is in order, for plain ones, in less time than the check of any
 * product takes; false: unknown. Conditions go together by bits: as many branches would take
 * longer than the product. */
static bool is_plainly_right(const cbx_matmul *p)
{
    const cbx_semiring *s = p->semiring;
    const size_t size = p->dtype == CBX_F32 ? sizeof(float) : sizeof(double);
    const size_t m = p->m, k = p->k, n = p->n, slack = 4096; /* powers of two, as extents are */
    const size_t lda = (size_t)p->lda, ldb = (size_t)p->ldb, ldc = (size_t)p->ldc;

    if ((p->struct_size != sizeof *p) | !s | (p->isa != CBX_ISA_COUNT) |
        ((p->dtype != CBX_F32) & (p->dtype != CBX_F64)))
        return false;
    if (s->functions || cbx__traits_of[s->id].of_bool) return false;
    if (!cbx__semiring_is_small(p) | (((lda - k) | (ldb - n) | (ldc - n)) >= slack) |
        ((p->a_step ^ 1) | (p->b_step ^ 1) | (p->c_step ^ 1)) | p->raw)
        return false;
    if (((uintptr_t)p->d | (uintptr_t)p->mask | (((uintptr_t)p->a | (uintptr_t)p->b | (uintptr_t)p->c) & (size - 1)) |
         ((uintptr_t)p->workspace & 63)) != 0 ||
        p->workspace_bytes < small_workspace(p))
        return false;
    const size_t c_bytes = ((m - 1) * ldc + n) * size;
    return are_apart(p->c, c_bytes, p->a, ((m - 1) * lda + k) * size) &&
           are_apart(p->c, c_bytes, p->b, ((k - 1) * ldb + n) * size) &&
           are_apart(p->c, c_bytes, p->workspace, p->workspace_bytes);
}

/* Apart, or its space on the stack would be reserved for products of few elements, too. */
static __attribute__((noinline)) cbx_status run_checked(const cbx_matmul *p, cbx_err *err)
{
    cbx__semiring_plan plan;
    cbx_status st = plan_of(p, &plan, err);

    if (!st) st = check_memory(p, err);
    if (st || p->m == 0 || p->n == 0) return st;
    if (p->k == 0) {
        cbx__semiring_by_definition(p);
        return CBX_OK;
    }
    const size_t bytes = workspace_of(&plan);
    if (p->workspace_bytes < bytes || (uintptr_t)p->workspace % 64 != 0)
        return cbx_fail(err, CBX_EINVAL,
                        "the workspace has %zu bytes of %zu, or is not 64-byte aligned: see cbx_matmul_workspace",
                        p->workspace_bytes, bytes);
    if (p->semiring->functions) {
        cbx__semiring_user_run(&plan);
        return CBX_OK;
    }
    plan.add_by_fma = adds_by_fma(p->semiring, plan.isa, p->dtype);
    const cbx_matmul other = transposed(p);
    if (p->c_step != 1 && p->ldc == 1) plan.p = &other;
    plan.kernel->run(&plan);
    return CBX_OK;
}

cbx_status cbx_matmul_run(const cbx_matmul *p, cbx_err *err)
{
    /* of the two float types, which lie together */
    if (is_plainly_right(p) && cbx__semiring_best(CBX_F32)[p->dtype == CBX_F64].small(p)) return CBX_OK;
    return run_checked(p, err);
}

static cbx_status run_limit(const cbx_matmul *p, bool fed, cbx_err *err)
{
    cbx__semiring_plan plan;
    const cbx_status st = plan_of(p, &plan, err);

    if (st) return st;
    if (p->semiring->functions)
        return cbx_fail(err, CBX_EINVAL, "the limit of algebra '%s', defined by functions, is unknown",
                        p->semiring->name);
    if (p->dtype == CBX_BOOL)
        return cbx_fail(err, CBX_EDTYPE, "booleans have no limit in registers: their products use tables in memory");
    plan.add_by_fma = adds_by_fma(p->semiring, plan.isa, p->dtype);
    plan.kernel->limit(&plan, fed);
    return CBX_OK;
}

cbx_status cbx_matmul_limit_run(const cbx_matmul *p, cbx_err *err) { return run_limit(p, false, err); }
cbx_status cbx_matmul_fed_limit_run(const cbx_matmul *p, cbx_err *err) { return run_limit(p, true, err); }

cbx_status cbx_matmul_define(const cbx_matmul *p, cbx_err *err)
{
    cbx__semiring_plan plan;
    cbx_status st = plan_of(p, &plan, err);

    if (!st) st = check_memory(p, err);
    if (!st && p->m > 0 && p->n > 0) cbx__semiring_by_definition(p);
    return st;
}
