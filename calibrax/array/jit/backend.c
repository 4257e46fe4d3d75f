/* The backend: single operations as the reference backend has them, graphs as programs. */
#include "calibrax/array/jit/jit.h"
#include "calibrax/array/jit/program.h"

static cbx_status apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_backend *reference = cbx_backend_reference();
    (void)self;
    return reference->apply(reference, call, out, err);
}

/* As large kernels as an emitter takes; where LLVM is missing, kernels are interpreted. */
static cbx_status compile(const cbx_backend *self, cbx_ctx *ctx, const cbx__graph *graph, void **executable,
                          cbx_err *err)
{
    static const cbx__emitter *const emitters[] = { &cbx__emitter_llvm, &cbx__emitter_interpreter };
    static const size_t longest[] = { CBX__LONGEST, 24, 0 };
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see attempts */
    cbx_status st = CBX_EUNAVAILABLE;

    (void)self;
    for (size_t e = 0; st == CBX_EUNAVAILABLE && e < CBX_LEN(emitters); e++) {
        st = CBX_EUNSUPPORTED;
        for (size_t i = 0; st == CBX_EUNSUPPORTED && i < CBX_LEN(longest); i++) {
            cbx__program *p = NULL;
            st = cbx__program_create(ctx, graph, emitters[e], longest[i], &p, &why);
            if (!st) *executable = p;
        }
    }
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

static cbx_status run(const cbx_backend *self, cbx_ctx *ctx, const void *executable, cbx_array *const *in,
                      cbx_array **out, cbx_err *err)
{
    (void)self;
    return cbx__program_run(ctx, executable, in, out, err);
}

static void release(const cbx_backend *self, void *executable)
{
    (void)self;
    cbx__program_free(executable);
}

static cbx_status show(const cbx_backend *self, cbx_ctx *ctx, const void *executable, cbx_dump_kind kind, cbx_text *out,
                       cbx_err *err)
{
    (void)self;
    return cbx__program_show(ctx, executable, kind, out, err);
}

const cbx_backend cbx__jit_backend = {
    .struct_size = sizeof(cbx_backend),
    .abi = CBX_BACKEND_ABI,
    .name = "jit",
    .flags = CBX_BACKEND_JIT,
    .apply = apply,
    .compile = compile,
    .run = run,
    .release = release,
    .show = show,
};
