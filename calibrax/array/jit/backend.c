/* The backend: single operations as the reference backend has them, graphs as programs. */
#include "calibrax/array/device/device.h"
#include "calibrax/array/jit/jit.h"
#include "calibrax/array/jit/program_gpu.h"
#include "calibrax/array/trace/simplify.h"
#include "calibrax/base/clock.h"

static cbx_status apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_backend *reference = cbx_backend_reference();
    (void)self;
    return reference->apply(reference, call, out, err);
}

/* What compile returns. */
typedef struct executable {
    cbx_allocator al;
    cbx__graph *graph; /* simplified; counted */
    cbx__program *program;
    double simplify_s; /* that this took */
} executable;

/* As large kernels as an emitter takes; where LLVM is missing, kernels are interpreted. */
static cbx_status make_program(cbx_ctx *ctx, const cbx__graph *graph, cbx__program **out, cbx_err *err)
{
    static const cbx__emitter *const emitters[] = { &cbx__emitter_llvm, &cbx__emitter_interpreter };
    static const size_t longest[] = { CBX__LONGEST, 24, 0 };
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see attempts */
    cbx_status st = CBX_EUNAVAILABLE;

    for (size_t e = 0; st == CBX_EUNAVAILABLE && e < CBX_LEN(emitters); e++) {
        st = CBX_EUNSUPPORTED;
        for (size_t i = 0; st == CBX_EUNSUPPORTED && i < CBX_LEN(longest); i++)
            st = cbx__program_create(ctx, graph, emitters[e], longest[i], out, &why);
    }
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

static void release(const cbx_backend *self, void *compiled)
{
    executable *x = compiled;
    cbx_allocator al = x->al;

    (void)self;
    cbx__program_free(x->program);
    cbx__graph_unref(x->graph);
    cbx_mem_free(&al, x, sizeof *x);
}

static cbx_status compile(const cbx_backend *self, cbx_ctx *ctx, const cbx__graph *graph, void **compiled, cbx_err *err)
{
    executable *x = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *x);
    const uint64_t start = cbx_clock_ns();
    cbx_status st;

    if (!x) return cbx_fail_nomem(err, "a compiled function");
    x->al = *cbx_ctx_allocator(ctx);
    st = cbx__graph_simplify(ctx, graph, &x->graph, err);
    x->simplify_s = 1e-9 * (double)(cbx_clock_ns() - start);
    if (!st) st = make_program(ctx, x->graph, &x->program, err);
    if (st)
        release(self, x);
    else
        *compiled = x;
    return st;
}

/* The GPU that the context's configuration asks for, if it can run the program; NULL: none. */
static cbx_status wanted_gpu(cbx_ctx *ctx, cbx__program *p, cbx__gpu **out, cbx_err *err)
{
    cbx_device_config config;
    cbx_device_choice choice;
    const cbx__gpu_nests *nests = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = cbx_ctx_device_config(ctx, &config, err);

    if (st || config.preferred != CBX_DEVICE_CUDA) return st;
    st = cbx_ctx_device(ctx, &choice, err);
    if (st || choice.device->kind != CBX_DEVICE_CUDA) return st;
    st = cbx__gpu_cuda(choice.device->index, out, &why);
    if (st) return config.allow_fallback ? CBX_OK : cbx_fail(err, st, "%s", why.message);
    if (config.allow_fallback) return CBX_OK;
    st = cbx__program_nests(ctx, p, *out, &nests, err);
    if (!st && nests->why[0])
        st = cbx_fail(err, CBX_EUNAVAILABLE, "a GPU is required without fallback, and no code for it can be made: %s",
                      nests->why);
    return st;
}

static cbx_status run(const cbx_backend *self, cbx_ctx *ctx, const void *compiled, cbx_array *const *in,
                      cbx_array **out, cbx_err *err)
{
    const executable *x = compiled;
    cbx__gpu *gpu = NULL;
    const cbx_status st = wanted_gpu(ctx, x->program, &gpu, err);

    (void)self;
    return st ? st : cbx__program_run(ctx, x->program, gpu, in, out, err);
}

static cbx_status show(const cbx_backend *self, cbx_ctx *ctx, const void *compiled, cbx_dump_kind kind, cbx_text *out,
                       cbx_err *err)
{
    const executable *x = compiled;
    (void)self;
    return cbx__program_show(ctx, x->program, kind, out, err);
}

static cbx_status cost(const cbx_backend *self, cbx_ctx *ctx, const void *compiled, cbx_cost_program *out, cbx_err *err)
{
    const executable *x = compiled;
    const cbx_status st = cbx__program_cost(ctx, x->program, out, err);

    (void)self;
    if (!st) out->times.simplify_s = x->simplify_s;
    return st;
}

const cbx_backend cbx__jit_backend = {
    .struct_size = sizeof(cbx_backend),
    .abi = CBX_BACKEND_ABI,
    .name = "jit",
    .flags = CBX_BACKEND_JIT | CBX_BACKEND_GPU,
    .apply = apply,
    .compile = compile,
    .run = run,
    .release = release,
    .show = show,
    .cost = cost,
};
