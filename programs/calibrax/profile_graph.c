/*
 * calibrax profile --graph: a function of arrays as it is compiled.  Its operations, its steps with
 * their work and predicted time, and how long each stage of compiling took.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/transform.h"
#include "programs/calibrax/profile.h"
#include "programs/common/output.h"

/* Stage, label, its seconds. */
#define STAGES(X)                                                                                                      \
    X("trace", "tracing", trace_s)                                                                                     \
    X("simplify", "simplifying", simplify_s)                                                                           \
    X("plan", "planning", plan_s)                                                                                      \
    X("kernels", "kernels", kernels_s)                                                                                 \
    X("code", "machine code", code_s)

/* ---- to see ---- */

static double predicted_seconds(const profile_graph *g)
{
    double sum = g->call_s;
    for (size_t i = 0; i < g->program.nsteps; i++) sum += g->predicted_s[i];
    return sum;
}

cbx_status profile_see_graph(profile_facts *f, const cbx_fn *plain, const cbx_fn *fast, const cbx_array_desc *in)
{
    const opt_run *run = f->run;
    const cbx_backend *b = cbx_ctx_backend(run->ctx);
    profile_graph *g = cbx_arena_calloc(run->arena, 1, sizeof *g);
    cbx_cost_rates *rates = cbx_arena_calloc(run->arena, 1, sizeof *rates);
    cbx_cost_program *p = &g->program;

    if (!b->compile || !b->cost) {
        profile_remark(f, "graph: the backend '%s' does not compile functions; choose jit", b->name);
        return CBX_OK;
    }
    cbx_status st = cbx_cost_compiled(run->ctx, fast, plain->nin, in, p, run->err);
    if (st) return st;
    /* The steps are kept in the arena, so that nothing is left to free. */
    cbx_cost_step *steps = cbx_arena_calloc(run->arena, p->nsteps + 1, sizeof *steps);
    const cbx_cost_program all = *p;
    for (size_t i = 0; i < p->nsteps; i++) steps[i] = p->steps[i];
    cbx_cost_program_clear(p);
    *p = all;
    p->steps = steps;
    st = cbx_cost_count(run->ctx, plain, plain->nin, in, &g->work, run->err);
    SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
    if (!st) st = cbx_dump(run->ctx, plain, in, CBX_DUMP_SIMPLIFIED, &text, run->err);
    if (!st) st = cbx_text_check(&text, run->err);
    if (!st) st = cbx_cost_rates_get(run->ctx, false, rates, run->err);
    if (st) return st;
    g->operations = cbx_arena_strdup(run->arena, cbx_text_str(&text));
    g->predicted_s = cbx_arena_calloc(run->arena, p->nsteps + 1, sizeof *g->predicted_s);
    for (size_t i = 0; i < p->nsteps; i++) g->predicted_s[i] = cbx_cost_step_seconds(&p->steps[i], rates);
    g->call_s = cbx_cost_program_seconds(&(cbx_cost_program){ 0 }, rates);

    profile_add(f, "predicted_time", "predicted time", "s", "graph",
                "of the call and all steps, by the roofline of this machine", predicted_seconds(g));
    profile_add(f, "bytes_fused", "bytes, fused", "B", "graph", "that the steps load and store",
                (double)p->total.bytes_read + (double)p->total.bytes_written);
    profile_add(f, "peak_live_bytes", "memory, planned", "B", "graph",
                "operands, stored values, results and scratch at a time", (double)p->peak_bytes);
    profile_add(f, "steps", "steps", "1", "graph", "kernels and single operations", (double)p->nsteps);
    profile_add(f, "kernels", "kernels", "1", "graph", "of the steps", (double)p->nkernels);
#define ADD_STAGE(name, label, member) +p->times.member
    profile_add(f, "compile_time", "compiling", "s", "graph", "all stages", 0 STAGES(ADD_STAGE));
#undef ADD_STAGE
    profile_add(f, "code_bytes", "machine code", "B", "graph", "", (double)p->times.code_bytes);
    f->graph = g;
    return CBX_OK;
}

/* ---- to show ---- */

static void print_work(const cbx_cost *w)
{
    printf("%14" PRIu64 " %12" PRIu64 " %12" PRIu64 " %14" PRIu64, w->flop, w->int_op, w->transcendental,
           w->bytes_read + w->bytes_written);
}

#define HEADS      "%14s %12s %12s %14s"
#define HEAD_WORDS "operations", "of integers", "functions", "bytes"

void profile_print_graph(const profile_graph *g)
{
    const cbx_cost_program *program = &g->program;
    const cbx_compile_times *t = &program->times;
    char seconds[CBX_FORMAT_SIZE];

    print_painted(PAINT_FAINT, "\noperations, simplified\n");
    printf("%s", g->operations);
    print_painted(PAINT_FAINT, "\n%-22s %6s" HEADS "\n", "by primitive, traced", "calls", HEAD_WORDS);
    for (size_t p = 0; p < CBX_PRIM_LIMIT; p++) {
        const cbx_cost *w = &g->work.by_prim[p];
        if (w->calls == 0) continue;
        printf("%-22s %6" PRIu64, cbx_prim_name((cbx_prim)p), w->calls);
        print_work(w);
        putchar('\n');
    }
    printf("%-22s %6" PRIu64, "total", g->work.total.calls);
    print_work(&g->work.total);
    putchar('\n');

    print_painted(PAINT_FAINT, "\n" HEADS " %9s %11s  %s\n", HEAD_WORDS, "threads", "predicted", "step, compiled");
    for (size_t i = 0; i < program->nsteps; i++) {
        cbx_format_seconds(g->predicted_s[i], seconds);
        print_work(&program->steps[i].work);
        printf(" %9u %*s  ", program->steps[i].threads, 11 + (strstr(seconds, "\xC2\xB5") != NULL), seconds);
        print_plain(program->steps[i].text, 0);
        putchar('\n');
    }
    cbx_format_seconds(predicted_seconds(g), seconds);
    print_work(&program->total);
    printf(" %9s %*s  total\n", "", 11 + (strstr(seconds, "\xC2\xB5") != NULL), seconds);

    print_painted(PAINT_FAINT, "\n%-22s %14s\n", "compiling", "time");
#define PRINT_STAGE(name, label, member)                                                                               \
    cbx_format_seconds(t->member, seconds);                                                                            \
    printf("%-22s %*s\n", label, 14 + (strstr(seconds, "\xC2\xB5") != NULL), seconds);
    STAGES(PRINT_STAGE)
#undef PRINT_STAGE
    printf("%zu bytes of machine code by %s, %s\n", t->code_bytes, t->emitter,
           t->is_cached ? "from the cache" : "not from the cache");
}

static void put_work(cbx_json *o, const cbx_cost *w)
{
    cbx_json_put(o, J_INT("flop", w->flop), J_INT("int_op", w->int_op), J_INT("transcendental", w->transcendental),
                 J_INT("bytes_read", w->bytes_read), J_INT("bytes_written", w->bytes_written));
}

cbx_json *profile_graph_json(const profile_graph *g)
{
    const cbx_cost_program *p = &g->program;
    cbx_json *o = cbx_json_object(J_TEXT("operations", g->operations)), *x;
    cbx_json *list = cbx_json_set_array(o, "primitives");
    for (size_t k = 0; k < CBX_PRIM_LIMIT; k++) {
        if (g->work.by_prim[k].calls == 0) continue;
        x = cbx_json_push_object(list);
        cbx_json_put(x, J_TEXT("primitive", cbx_prim_name((cbx_prim)k)), J_INT("calls", g->work.by_prim[k].calls));
        put_work(x, &g->work.by_prim[k]);
    }
    list = cbx_json_set_array(o, "steps");
    for (size_t i = 0; i < p->nsteps; i++) {
        x = cbx_json_push_object(list);
        cbx_json_put(x, J_TEXT("step", p->steps[i].text), J_BOOL("kernel", p->steps[i].is_kernel),
                     J_INT("threads", p->steps[i].threads), J_INT("scratch_bytes", p->steps[i].scratch_bytes),
                     J_NUMBER("predicted_s", g->predicted_s[i]));
        put_work(x, &p->steps[i].work);
    }
    x = cbx_json_set_object(o, "compile");
#define PUT_STAGE(name, label, member) cbx_json_set_double(x, name "_s", p->times.member);
    STAGES(PUT_STAGE)
#undef PUT_STAGE
    cbx_json_put(x, J_BOOL("cached", p->times.is_cached), J_INT("code_bytes", p->times.code_bytes),
                 J_TEXT("emitter", p->times.emitter));
    return o;
}
