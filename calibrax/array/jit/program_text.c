/* Programs to read: their steps, kernels, and what emitters make of them. */
#include "calibrax/array/jit/ctext.h"
#include "calibrax/array/jit/gpu_code.h"
#include "calibrax/array/jit/llvm.h"
#include "calibrax/array/jit/program.h"

void cbx__nest_name(const cbx__nest *n, cbx_text *out)
{
    cbx_text_puts(out, "kernel over (");
    for (int i = 0; i < n->ndim; i++)
        cbx_text_printf(out, "%s%zu%s", i ? ", " : "", n->shape[i], n->gone >> i & 1 ? " folded" : "");
    cbx_text_puts(out, ")");
}

void cbx__node_name(const cbx__node *node, cbx_text *out)
{
    cbx_text_printf(out, "%%%u = %s", node->out, cbx_prim_name(node->prim));
    for (uint32_t i = 0; i < node->nin; i++) cbx_text_printf(out, " %%%u", node->in[i]);
}

static void nest_text(const cbx__nest *n, bool kernels, cbx_text *out)
{
    cbx__nest_name(n, out);
    cbx_text_printf(out, ", %zu instructions\n", n->kernel.instr.n);
    for (size_t s = 0; s < n->kernel.streams.n; s++)
        if (n->sites[s].base != CBX__NO_VALUE)
            cbx_text_printf(out, "  %s %%%u\n", s < n->kernel.nout ? "stores" : "loads", n->sites[s].base);
    for (size_t f = 0; f < n->nfolds; f++)
        cbx_text_printf(out, "  folds %%%u by %s\n", n->folds[f].result.base, cbx_prim_name(n->folds[f].prim));
    if (kernels) cbx__kernel_text(&n->kernel, out);
}

static void steps_text(const cbx__program *p, bool kernels, cbx_text *out)
{
    for (size_t s = 0; s < p->nsteps; s++) {
        const cbx__step *step = &p->steps[s];
        if (step->node == CBX__NO_INDEX) {
            nest_text(&p->nests[step->nest], kernels, out);
            continue;
        }
        cbx__node_name(&p->graph->nodes.items[step->node], out);
        cbx_text_puts(out, "\n");
    }
}

static cbx_status ptx_text(cbx_ctx *ctx, const cbx__program *p, cbx_text *out, cbx_err *err)
{
    const cbx__nest **taken = cbx_mem_calloc(&p->al, p->nnests + 1, sizeof *taken);
    bool any = false;
    cbx_status st;

    if (!taken) return cbx_fail_nomem(err, "the kernels of a compiled function");
    for (size_t i = 0; i < p->nnests; i++) {
        cbx_err why = CBX_ERR_INIT;
        if (cbx__gpu_takes(&p->nests[i], &why))
            cbx_text_printf(out, "// kernel %zu runs on the CPU: %s\n", i, why.message);
        else
            taken[i] = &p->nests[i], any = true;
    }
    st = any ? cbx__gpu_code(ctx, false, p->nnests, taken, out, err) : cbx_text_check(out, err);
    cbx_mem_free(&p->al, taken, (p->nnests + 1) * sizeof *taken);
    return st;
}

static cbx_status c_text(size_t n, const cbx__kernel *const *kernels, cbx_text *out, cbx_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const cbx__kinstr *x = cbx__ctext_refused(kernels[i]);
        if (x)
            return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' of %s has no form in C", cbx__kernel_word(x),
                            cbx_dtype_name((cbx_dtype)x->dtype));
    }
    cbx__ctext_put(out, "kernel", false, n, kernels);
    return cbx_text_check(out, err);
}

cbx_status cbx__program_show(cbx_ctx *ctx, const cbx__program *p, cbx_dump_kind kind, cbx_text *out, cbx_err *err)
{
    if (kind == CBX_DUMP_SIMPLIFIED) {
        cbx__graph_text(p->graph, 0, out);
        return CBX_OK;
    }
    if (kind == CBX_DUMP_FUSED || kind == CBX_DUMP_KERNELS) {
        steps_text(p, kind == CBX_DUMP_KERNELS, out);
        return CBX_OK;
    }
    if (kind == CBX_DUMP_PTX) return ptx_text(ctx, p, out, err);
    if (kind != CBX_DUMP_C && kind != CBX_DUMP_LLVM && kind != CBX_DUMP_ASSEMBLY)
        return cbx_fail(err, CBX_EUNSUPPORTED, "a compiled function has no stage %d", (int)kind);
    if (kind == CBX_DUMP_C) return c_text(p->nnests, p->kernels, out, err);
    return cbx__llvm_text(ctx, kind == CBX_DUMP_LLVM ? LLVM_MODULE_TEXT : LLVM_ASSEMBLY_FILE, p->nnests, p->kernels,
                          out, err);
}
