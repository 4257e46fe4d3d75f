/* Products of sparse matrices in ELL form on a GPU, and softmax of their rows. */
#include "calibrax/array/cuda/driver.h"
#include "calibrax/array/cuda/geometry.h"
#include "calibrax/array/kernels/ell_isa.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/kernels/traits.h"

/* The kernels of an algebra: f32, f64; the wide form follows each. */
typedef struct step {
    cbx__cuda_kernel f32, f64;
} step;
#define STEP(word)                                                                                                     \
    {                                                                                                                  \
        CBX__CUDA_cbx_ell_##word##_f32_one, CBX__CUDA_cbx_ell_##word##_f64_one                                         \
    }

static step step_of(const cbx_ell_product *p)
{
    static const step plain[CBX_ALGEBRA_COUNT] = {
        [CBX_ALGEBRA_REAL] = STEP(fma),
        [CBX_ALGEBRA_LOG] = STEP(log),
        [CBX_ALGEBRA_TROPICAL_MAX_PLUS] = STEP(max),
        [CBX_ALGEBRA_TROPICAL_MIN_PLUS] = STEP(min),
        [CBX_ALGEBRA_EUCLIDEAN] = STEP(square),
        [CBX_ALGEBRA_BOOLEAN] = { CBX__CUDA_cbx_ell_or_bool_one, CBX__CUDA_cbx_ell_or_bool_one },
    };
    static const step max_scaled = STEP(max_scaled), min_scaled = STEP(min_scaled);

    if (p->scaled && p->semiring->id == CBX_ALGEBRA_TROPICAL_MAX_PLUS) return max_scaled;
    if (p->scaled && p->semiring->id == CBX_ALGEBRA_TROPICAL_MIN_PLUS) return min_scaled;
    return plain[p->semiring->id];
}

static cbx__cuda_ell arguments(const cbx_ell_product *p)
{
    return (cbx__cuda_ell){ .index = p->index,
                            .degree = p->degree,
                            .start = (const uint64_t *)(const void *)p->start,
                            .place = p->place,
                            .values = p->values,
                            .b = p->b,
                            .c = p->c,
                            .rows = (int64_t)p->rows,
                            .width = (int64_t)p->width,
                            .d = (int64_t)p->d,
                            .ldb = (int64_t)p->ldb,
                            .ldc = (int64_t)p->ldc };
}

static cbx_status launch(cbx_cuda *g, cbx__cuda_kernel k, int64_t blocks, const cbx__cuda_ell *args, void *stream,
                         cbx_err *err)
{
    cbx_status st = cbx__cuda_enter(g, err);

    if (st) return st;
    st = cbx__cuda_launch(g, k, blocks, CBX__CUDA_BLOCK, args, stream, err);
    cbx__cuda_leave(g);
    return st;
}

static cbx_status fold(cbx_cuda *g, const cbx_ell_product *p, step s, void *stream, cbx_err *err)
{
    const size_t wide = p->dtype == CBX_BOOL ? 1 : 16 / cbx_dtype_size(p->dtype);
    const bool widely = wide > 1 && (p->d % wide == 0 && p->ldb % wide == 0 && p->ldc % wide == 0 &&
                                     (uintptr_t)p->b % 16 == 0 && (uintptr_t)p->c % 16 == 0);
    const cbx__cuda_kernel one = p->dtype == CBX_F64 ? s.f64 : s.f32;
    const cbx__cuda_rows r = cbx__cuda_row_groups(p->rows, p->d, widely ? wide : 1);
    cbx__cuda_ell args = arguments(p);

    if (!p->rows || !p->d) return CBX_OK;
    args.parts = r.parts;
    args.lanes_log = r.lanes_log;
    return launch(g, (cbx__cuda_kernel)((int)one + widely), r.blocks, &args, stream, err);
}

/* start lies on the device, where the check may not look. */
static cbx_status check(const cbx_ell_product *p, cbx__ell_call call, cbx_err *err)
{
    cbx_ell_product q = *p;

    q.start = NULL;
    if (p->start && p->width == 0) q.index = NULL;
    q.isa = CBX_ISA_COUNT;
    if (call == CBX__ELL_PRODUCT && p->semiring && p->semiring->functions)
        return cbx_fail(err, CBX_EUNSUPPORTED, "algebra '%s' is defined by functions, which run on the CPU only",
                        p->semiring->name);
    if (call == CBX__ELL_PRODUCT && p->semiring && !cbx__traits_of[p->semiring->id].on_gpu)
        return cbx_fail(err, CBX_EUNSUPPORTED, "algebra '%s' has no kernels for GPUs: it runs on the CPU only",
                        p->semiring->name);
    return cbx__ell_check(&q, call, err);
}

cbx_status cbx_cuda_ell_product_run(cbx_cuda *g, const cbx_ell_product *p, void *stream, cbx_err *err)
{
    const cbx_status st = check(p, CBX__ELL_PRODUCT, err);
    return st ? st : fold(g, p, step_of(p), stream, err);
}

cbx_status cbx_cuda_ell_gather_run(cbx_cuda *g, const cbx_ell_product *p, void *stream, cbx_err *err)
{
    static const step gather = STEP(gather);
    const cbx_status st = check(p, CBX__ELL_GATHER, err);
    cbx_ell_product q = *p;

    q.values = NULL; /* not looked at */
    q.place = NULL;
    return st ? st : fold(g, &q, gather, stream, err);
}

cbx_status cbx_cuda_ell_softmax_run(cbx_cuda *g, const cbx_ell_product *p, void *stream, cbx_err *err)
{
    const cbx_status st = check(p, CBX__ELL_SOFTMAX, err);
    const cbx__cuda_kernel k = p->dtype == CBX_F64 ? CBX__CUDA_cbx_ell_softmax_f64 : CBX__CUDA_cbx_ell_softmax_f32;
    const cbx__cuda_ell args = arguments(p);

    if (st || !p->rows || !p->width) return st;
    return launch(g, k, cbx__cuda_parts((int64_t)p->rows, CBX__CUDA_BLOCK / 32), &args, stream, err);
}
