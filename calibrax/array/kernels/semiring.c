/*
 * The table of algebras, the check of a product's arguments, and the choice of the instruction set.
 */
#include "calibrax/array/kernels/semiring.h"

#include <math.h>
#include <string.h>

#include "calibrax/array/kernels/semiring_isa.h"

static const cbx_semiring semirings[CBX_ALGEBRA_COUNT] = {
    [CBX_ALGEBRA_REAL] = { CBX_ALGEBRA_REAL, "real", "a * b", "acc + t", "", 0, 0, true, 0, "NaN",
                           "+inf, or NaN beside -inf", "-inf, or NaN beside +inf", false },
    [CBX_ALGEBRA_LOG] = { CBX_ALGEBRA_LOG, "log", "a + b", "acc + exp(t)", "log(acc)", -INFINITY, -INFINITY, true,
                          -INFINITY, "NaN", "+inf, unless a term is NaN", "the term is masked; -inf if all are",
                          false },
    [CBX_ALGEBRA_TROPICAL_MAX_PLUS] = { CBX_ALGEBRA_TROPICAL_MAX_PLUS, "tropical_max_plus", "a + b", "max(acc, t)", "",
                                        -INFINITY, -INFINITY, true, -INFINITY, "NaN", "+inf, unless a term is NaN",
                                        "the term is masked; -inf if all are", true },
    [CBX_ALGEBRA_TROPICAL_MIN_PLUS] = { CBX_ALGEBRA_TROPICAL_MIN_PLUS, "tropical_min_plus", "a + b", "min(acc, t)", "",
                                        INFINITY, INFINITY, true, INFINITY, "NaN",
                                        "the term is masked; +inf if all are", "-inf, unless a term is NaN", true },
    [CBX_ALGEBRA_EUCLIDEAN] = { CBX_ALGEBRA_EUCLIDEAN, "euclidean", "(a - b)^2", "acc + t", "sqrt(acc)", 0, 0, false,
                                NAN, "NaN", "+inf, unless a term is NaN", "does not occur", false },
    [CBX_ALGEBRA_BOOLEAN] = { CBX_ALGEBRA_BOOLEAN, "boolean", "a and b", "acc or t", "", 0, 0, true, 0,
                              "does not occur", "does not occur", "does not occur", true },
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
    return s->id == CBX_ALGEBRA_BOOLEAN ? dtype == CBX_BOOL : dtype == CBX_F32 || dtype == CBX_F64;
}

static bool always(void) { return true; }
#if defined(__x86_64__)
static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

static const struct {
    const char *name;
    bool (*available)(void);
    const cbx__semiring_kernel *kernel;
} isas[CBX_ISA_COUNT] = {
    [CBX_ISA_PLAIN] = { "plain", always, &cbx__semiring_plain },
#if defined(__x86_64__)
    [CBX_ISA_AVX2] = { "avx2", has_avx2, &cbx__semiring_avx2 },
    [CBX_ISA_AVX512] = { "avx512", has_avx512, &cbx__semiring_avx512 },
#else
    [CBX_ISA_AVX2] = { "avx2", NULL, NULL },
    [CBX_ISA_AVX512] = { "avx512", NULL, NULL },
#endif
};

const char *cbx_isa_name(cbx_isa isa) { return (unsigned)isa < CBX_ISA_COUNT ? isas[isa].name : "?"; }
bool cbx_isa_available(cbx_isa isa)
{
    return (unsigned)isa < CBX_ISA_COUNT && isas[isa].available && isas[isa].available();
}

cbx_isa cbx_isa_best(void)
{
    int isa = CBX_ISA_COUNT - 1;
    while (isa > CBX_ISA_PLAIN && !cbx_isa_available((cbx_isa)isa)) isa--;
    return (cbx_isa)isa;
}

static cbx_status choose_kernel(const cbx_matmul *p, const cbx__semiring_kernel **out, cbx_err *err)
{
    if (p->struct_size != sizeof *p)
        return cbx_fail(err, CBX_EINVAL, "cbx_matmul has %u bytes, not %zu: start from CBX_MATMUL_INIT", p->struct_size,
                        sizeof *p);
    if (!p->semiring) return cbx_fail(err, CBX_EINVAL, "a product needs a semiring: take one from cbx_semiring_find");
    if (!cbx_semiring_takes(p->semiring, p->dtype))
        return cbx_fail(err, CBX_EDTYPE, "algebra '%s' does not take %s", p->semiring->name, cbx_dtype_name(p->dtype));
    const cbx_isa isa = p->isa == CBX_ISA_COUNT ? cbx_isa_best() : p->isa;
    if (!cbx_isa_available(isa))
        return cbx_fail(err, CBX_EINVAL, "instruction set '%s' is not available on this machine", cbx_isa_name(isa));
    *out = isas[isa].kernel;
    return CBX_OK;
}

cbx_status cbx_semiring_workspace(const cbx_matmul *p, size_t *out, cbx_err *err)
{
    const cbx__semiring_kernel *kernel = NULL;
    const cbx_status st = choose_kernel(p, &kernel, err);
    if (!st) *out = kernel->workspace(p);
    return st;
}

/* C of a product over nothing, a row at a time. */
static void fill_empty(const cbx_matmul *p)
{
    const double empty = p->semiring->empty;
    for (size_t i = 0; i < p->m; i++) {
        if (p->dtype == CBX_F32) {
            float *row = (float *)p->c + i * p->ldc;
            for (size_t j = 0; j < p->n; j++) row[j] = (float)empty;
        } else if (p->dtype == CBX_F64) {
            double *row = (double *)p->c + i * p->ldc;
            for (size_t j = 0; j < p->n; j++) row[j] = empty;
        } else {
            memset((uint8_t *)p->c + i * p->ldc, empty != 0, p->n);
        }
    }
}

cbx_status cbx_semiring_matmul(const cbx_matmul *p, cbx_err *err)
{
    const cbx__semiring_kernel *kernel = NULL;
    const cbx_status st = choose_kernel(p, &kernel, err);
    if (st) return st;
    if (p->lda < p->k || p->ldb < p->n || p->ldc < p->n)
        return cbx_fail(err, CBX_EINVAL, "a row stride is too small: lda %zu, ldb %zu, ldc %zu for m=%zu k=%zu n=%zu",
                        p->lda, p->ldb, p->ldc, p->m, p->k, p->n);
    if (p->m == 0 || p->n == 0) return CBX_OK;
    if (p->k == 0) {
        fill_empty(p);
        return CBX_OK;
    }
    if (p->workspace_bytes < kernel->workspace(p) || (uintptr_t)p->workspace % 64 != 0)
        return cbx_fail(err, CBX_EINVAL,
                        "the workspace has %zu bytes of %zu, or is not 64-byte aligned: ask cbx_semiring_workspace",
                        p->workspace_bytes, kernel->workspace(p));
    kernel->run(p);
    return CBX_OK;
}
