/* Recorded functions as a backend compiles them, as text and as C.  What compiles runs where Ctrl-C
 * can interrupt it. */
#include "calibrax/array/aot.h"
#include "calibrax/array/trace/cost.h"
#include "python/transforms.h"

static PyObject *work_dict(const cbx_cost *c)
{
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "flop", (unsigned long long)c->flop, "int_op",
                         (unsigned long long)c->int_op, "transcendental", (unsigned long long)c->transcendental,
                         "bytes_read", (unsigned long long)c->bytes_read, "bytes_written",
                         (unsigned long long)c->bytes_written);
}

static PyObject *step_dict(const cbx_cost_step *s, const cbx_cost_rates *rates)
{
    return Py_BuildValue("{s:s,s:N,s:I,s:K,s:N,s:d}", "text", s->text, "is_kernel", PyBool_FromLong(s->is_kernel),
                         "threads", s->threads, "scratch_bytes", (unsigned long long)s->scratch_bytes, "work",
                         work_dict(&s->work), "predicted_s", cbx_cost_step_seconds(s, rates));
}

static PyObject *times_dict(const cbx_compile_times *t)
{
    return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:N,s:K,s:z}", "trace_s", t->trace_s, "simplify_s", t->simplify_s,
                         "plan_s", t->plan_s, "kernels_s", t->kernels_s, "code_s", t->code_s, "is_cached",
                         PyBool_FromLong(t->is_cached), "code_bytes", (unsigned long long)t->code_bytes, "emitter",
                         t->emitter);
}

static PyObject *program_dict(const cbx_cost_program *p, const cbx_cost_report *work, const cbx_cost_rates *rates)
{
    return Py_BuildValue("{s:N,s:N,s:K,s:d,s:K,s:N,s:N}", "total", work_dict(&p->total), "unfused",
                         work_dict(&work->total), "peak_bytes", (unsigned long long)p->peak_bytes, "predicted_s",
                         cbx_cost_program_seconds(p, rates), "kernels", (unsigned long long)p->nkernels, "steps",
                         CX_LIST(p->nsteps, step_dict(&p->steps[i], rates)), "times", times_dict(&p->times));
}

static cbx_status count(cbx_ctx *ctx, const cx_recorded *r, const cbx_array_desc *d, cbx_cost_report *work,
                        cbx_cost_program *program, cbx_cost_rates *rates, cbx_err *err)
{
    const cbx_fn *f = r->fn;
    cbx_status st = r->jitted ? cbx_cost_compiled(ctx, f, f->nin, d, program, err)
                              : cbx_cost_compile(ctx, f, f->nin, d, work, program, err);

    if (!st && r->jitted) st = cbx_cost_count(ctx, f, f->nin, d, work, err);
    return st ? st : cbx_cost_rates_get(ctx, false, rates, err);
}

PyObject *cx_do_cost_compile(cx_call *c)
{
    const cbx_array_desc *d = cx_recorded_descriptions(c);
    cbx_cost_report *work = cx_alloc(c, 1, sizeof *work);
    CX_ENDED_BY(cbx_cost_program_clear) cbx_cost_program program = { 0 };
    cbx_cost_rates rates;

    c->function = NULL; /* failures come with the library's sentence */
    return d && work && cx_begin_long(c) &&
                   cx_fine(c, count(c->ctx, (cx_recorded *)c->self, d, work, &program, &rates, &c->err))
               ? program_dict(&program, work, &rates)
               : NULL;
}

/* What it does for operands like these; stage: a number of cbx_dump_kind */
PyObject *cx_do_dump(cx_call *c)
{
    const cbx_array_desc *d = cx_recorded_descriptions(c);
    CX_TEXT(text);
    int stage;

    if (!d || !CX_GET(c, stage)) return NULL;
    c->function = NULL;
    return cx_begin_long(c) &&
                   cx_fine(c, cbx_dump(c->ctx, ((cx_recorded *)c->self)->fn, d, (cbx_dump_kind)stage, &text, &c->err))
               ? PyUnicode_FromStringAndSize(cbx_text_str(&text), (Py_ssize_t)text.len)
               : NULL;
}

PyObject *cx_do_aot_write(cx_call *c)
{
    const cbx_array_desc *d = cx_recorded_descriptions(c);
    const char *path;

    if (!d || !CX_GET(c, path)) return NULL;
    c->function = NULL;
    return cx_begin(c) ? cx_none(c, cbx_aot_write(c->ctx, ((cx_recorded *)c->self)->fn, d, path, &c->err)) : NULL;
}
