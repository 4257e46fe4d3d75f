/* The backend: single operations as the reference backend has them, graphs as programs. */
#include "calibrax/array/device/device.h"
#include "calibrax/array/jit/jit.h"
#include "calibrax/array/jit/program_gpu.h"
#include "calibrax/array/state.h"
#include "calibrax/array/trace/simplify.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"

static cbx_status apply(CBX__UNUSED const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_backend *reference = cbx_backend_reference();
    for (size_t i = 0; i < call->nin; i++)
        if (call->in[i]->flags & CBX__ELSEWHERE) return cbx__gpu_apply(call, out, err);
    return reference->apply(reference, call, out, err);
}

/* What compile returns. */
typedef struct executable {
    cbx_allocator al;
    cbx__graph *graph; /* simplified; counted */
    cbx__program *program;
    double simplify_s; /* that this took */
    cbx__gpu *gpu;     /* that constants are on; NULL: none is on one */
    pthread_mutex_t lock;
    _Atomic(cbx__program *) there; /* for GPUs; NULL until it runs on one */
} executable;

/* Where LLVM is missing, kernels are interpreted. */
static cbx_status make_program(cbx_ctx *ctx, const cbx__graph *graph, cbx__program **out, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see attempts */
    cbx_status st = cbx__program_create(ctx, graph, &cbx__emitter_llvm, out, &why);

    if (st == CBX_EUNAVAILABLE) st = cbx__program_create(ctx, graph, &cbx__emitter_interpreter, out, &why);
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

static void release(CBX__UNUSED const cbx_backend *self, void *compiled)
{
    executable *x = compiled;
    cbx_allocator al = x->al;

    cbx__program_free(x->program);
    cbx__program_free(atomic_load_explicit(&x->there, memory_order_relaxed));
    pthread_mutex_destroy(&x->lock);
    cbx__graph_unref(x->graph);
    cbx_mem_free(&al, x, sizeof *x);
}

/* Operands and constants are on the CPU or on one GPU, which *gpu is then. */
static cbx_status join_device(const cbx__graph *graph, const cbx_array *a, cbx__gpu **gpu, cbx_err *err)
{
    char one[32], other[32];
    cbx__gpu *own;

    if (!(a->flags & CBX__ELSEWHERE)) return CBX_OK;
    own = cbx__gpu_of(a);
    if (own && (!*gpu || *gpu == own)) {
        *gpu = own;
        return CBX_OK;
    }
    if (!own)
        return cbx_fail(err, CBX_EUNSUPPORTED, "an operand of '%s' is in memory that no GPU of this library has",
                        graph->name);
    return cbx_fail(err, CBX_EINVAL, "operands of '%s' are on %s and on %s: bring them to one with 'to_device'",
                    graph->name, cbx_device_id_text((*gpu)->memory.device, one, sizeof one),
                    cbx_device_id_text(own->memory.device, other, sizeof other));
}

static cbx_status compile(const cbx_backend *self, cbx_ctx *ctx, const cbx__graph *graph, void **compiled, cbx_err *err)
{
    executable *x = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *x);
    const uint64_t start = cbx_clock_ns();
    cbx_status st;

    if (!x) return cbx_fail_nomem(err, "a compiled function");
    x->al = *cbx_ctx_allocator(ctx);
    pthread_mutex_init(&x->lock, NULL);
    st = cbx__graph_simplify(ctx, graph, &x->graph, err);
    x->simplify_s = 1e-9 * (double)(cbx_clock_ns() - start);
    if (!st) st = make_program(ctx, x->graph, &x->program, err);
    for (size_t v = 0; !st && v < x->graph->values.n; v++)
        if (x->graph->values.items[v].constant)
            st = join_device(x->graph, x->graph->values.items[v].constant, &x->gpu, err);
    return CBX_FINISH(st, *compiled = x, release(self, x));
}

/* The GPU that the context's configuration asks for; NULL: none. */
static cbx_status wanted_gpu(cbx_ctx *ctx, const cbx_device_config *config, cbx__gpu **out, cbx_err *err)
{
    cbx_device_choice choice;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    if (config->preferred != CBX_DEVICE_CUDA) return CBX_OK;
    st = cbx_ctx_device(ctx, &choice, err);
    if (st || choice.device->kind != CBX_DEVICE_CUDA) return st;
    st = cbx__gpu_cuda(choice.device->index, out, &why);
    return st && !config->allow_fallback ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

/* The program for GPUs, made by whoever needs it first. */
static cbx_status program_there(cbx_ctx *ctx, executable *x, cbx__program **out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    *out = atomic_load_explicit(&x->there, memory_order_acquire);
    if (*out) return CBX_OK;
    pthread_mutex_lock(&x->lock);
    *out = atomic_load_explicit(&x->there, memory_order_relaxed);
    if (!*out) st = cbx__program_create(ctx, x->graph, NULL, out, err);
    if (!st) atomic_store_explicit(&x->there, *out, memory_order_release);
    pthread_mutex_unlock(&x->lock);
    return st;
}

static cbx_status run_there(cbx_ctx *ctx, executable *x, cbx__gpu *gpu, bool must, cbx_array *const *in,
                            cbx_array **out, cbx_err *err)
{
    const cbx__gpu_nests *nests = NULL;
    cbx__program *p = NULL;
    cbx_status st = program_there(ctx, x, &p, err);

    if (!st && must) st = cbx__program_nests(ctx, p, gpu, &nests, err);
    if (!st && must && nests->why[0])
        st = cbx_fail(err, CBX_EUNAVAILABLE, "a GPU is required without fallback, and no code for it can be made: %s",
                      nests->why);
    return st ? st : cbx__program_run(ctx, p, gpu, in, out, err);
}

static cbx_status run(CBX__UNUSED const cbx_backend *self, cbx_ctx *ctx, const void *compiled, cbx_array *const *in,
                      cbx_array **out, cbx_err *err)
{
    executable *x = (executable *)(uintptr_t)compiled; /* a lock guards what is made later */
    cbx__gpu *gpu = x->gpu;
    cbx_device_config config;
    cbx_status st = cbx_ctx_device_config(ctx, &config, err);

    for (size_t i = 0; !st && i < x->graph->in.n; i++) st = join_device(x->graph, in[i], &gpu, err);
    if (!st && !gpu) st = wanted_gpu(ctx, &config, &gpu, err);
    if (st) return st;
    return gpu ? run_there(ctx, x, gpu, !config.allow_fallback, in, out, err)
               : cbx__program_run(ctx, x->program, NULL, in, out, err);
}

static cbx_status to_device(CBX__UNUSED const cbx_backend *self, cbx_ctx *ctx, const cbx_array *x, cbx_device_id device,
                            cbx_array **out, cbx_err *err)
{
    cbx__gpu *gpu = NULL;
    cbx_array *here = NULL;
    char text[32];
    cbx_status st = device.kind == CBX_DEVICE_CUDA ? cbx__gpu_cuda(device.index, &gpu, err)
                                                   : cbx_fail(err, CBX_EINVAL, "there is no device '%s'",
                                                              cbx_device_id_text(device, text, sizeof text));

    if (!st) st = cbx__array_fetch(ctx, x, &here, err);
    if (!st) st = cbx__gpu_upload(ctx, gpu, here, out, err);
    cbx_array_free(here);
    return st;
}

static cbx_status adopt(CBX__UNUSED const cbx_backend *self, cbx_ctx *ctx, cbx_array *x, cbx_device_id device,
                        cbx_err *err)
{
    cbx__gpu *gpu = NULL;
    const cbx_status st = cbx__gpu_cuda(device.index, &gpu, err);

    return st ? st : cbx__gpu_adopt(ctx, gpu, x, err);
}

static cbx_status show(CBX__UNUSED const cbx_backend *self, cbx_ctx *ctx, const void *compiled, cbx_dump_kind kind,
                       cbx_text *out, cbx_err *err)
{
    const executable *x = compiled;
    return cbx__program_show(ctx, x->program, kind, out, err);
}

static cbx_status cost(CBX__UNUSED const cbx_backend *self, cbx_ctx *ctx, const void *compiled, cbx_cost_program *out,
                       cbx_err *err)
{
    const executable *x = compiled;
    const cbx_status st = cbx__program_cost(ctx, x->program, out, err);

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
    .to_device = to_device,
    .adopt = adopt,
};
