/*
 * Compiled graphs against the same graphs carried out operation by operation: every bit of every
 * result, any NaN as good as another.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "calibrax/array/jit/program_gpu.h"
#include "calibrax/array/trace/simplify.h"
#include "calibrax/array/trace/trace.h"
#include "gpu_played.h"
#include "graphs_random.h"

/* NULL: equal. */
static const char *difference(const cbx_array *x, const cbx_array *y)
{
    static char text[200];
    const size_t size = cbx_dtype_size(cbx_array_get_desc(x)->dtype), bytes = cbx_array_bytes(x);
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    const char *found = NULL;

    cbx_array_read(x, a, bytes, NULL);
    cbx_array_read(y, b, bytes, NULL);
    for (size_t i = 0; !found && i < cbx_array_count(x); i++) {
        double u = 0, v = 0;
        float f = 0, g = 0;
        if (!memcmp(a + i * size, b + i * size, size)) continue;
        if (cbx_array_get_desc(x)->dtype == CBX_F64) {
            memcpy(&u, a + i * size, size);
            memcpy(&v, b + i * size, size);
        } else if (cbx_array_get_desc(x)->dtype == CBX_F32) {
            memcpy(&f, a + i * size, size);
            memcpy(&g, b + i * size, size);
            u = (double)f;
            v = (double)g;
        }
        if (u != u && v != v) continue;
        snprintf(text, sizeof text, "element %zu of %s: %.17g, compiled %.17g", i,
                 cbx_dtype_name(cbx_array_get_desc(x)->dtype), u, v);
        found = text;
    }
    free(a);
    free(b);
    return found;
}

static void show_program(cbx_ctx *c, const cbx__graph *g, const cbx__program *p)
{
    cbx_text out;

    cbx_text_init(&out, cbx_ctx_allocator(c));
    cbx__graph_text(g, 0, &out);
    cbx__program_show(c, p, CBX_DUMP_KERNELS, &out, NULL);
    fprintf(stderr, "%s\n", cbx_text_str(&out));
    cbx_text_clear(&out);
}

/* Of a graph whose kernels a machine without LLVM has no PTX of (scripts/gpu_bundle.sh). */
static const char *const not_recorded = "its kernels are not in the cache";

/* NULL: as it should be. */
static const char *try(cbx_ctx *c, const cbx__emitter *emitter, cbx__gpu *gpu, const graph_trial *t, bool show)
{
    static char text[300];
    cbx_array *in[GRAPH_INPUTS], *want[GRAPH_OUTPUTS] = { NULL }, *have[GRAPH_OUTPUTS] = { NULL };
    cbx_array_desc descs[GRAPH_INPUTS];
    cbx_err err = CBX_ERR_INIT;
    cbx__traced traced = { 0 };
    cbx__program *p = NULL;
    cbx__graph *simple = NULL;
    const cbx__gpu_nests *nests = NULL;
    const char *wrong = NULL;
    cbx_status st;

    graph_inputs(c, t, in);
    for (size_t i = 0; i < GRAPH_INPUTS; i++) descs[i] = *cbx_array_get_desc(in[i]);
    st = cbx__trace_fn(c, CBX_FN(graph_function, (void *)(uintptr_t)t, GRAPH_INPUTS, GRAPH_OUTPUTS), descs, &traced,
                       &err);
    CHECK_OK(st, &err, "trace");
    st = cbx__graph_eval(c, traced.graph, in, want, &err);
    if (!st && t->seed % 3) { /* as they are, too */
        st = cbx__graph_simplify(c, traced.graph, &simple, &err);
    } else {
        simple = cbx__graph_ref(traced.graph);
    }
    if (!st) st = cbx__program_create(c, simple, gpu ? NULL : emitter, &p, &err);
    if (!st && show) show_program(c, simple, p);
    if (!st && gpu) st = cbx__program_nests(c, p, gpu, &nests, &err);
    if (!st && nests && nests->why[0]) wrong = not_recorded;
    if (!st && !wrong) st = cbx__program_run(c, p, gpu_records(gpu) ? NULL : gpu, in, have, &err);
    if (st) {
        snprintf(text, sizeof text, "status %d: %.250s", st, err.message);
        wrong = text;
    }
    for (size_t i = 0; !wrong && i < GRAPH_OUTPUTS; i++) {
        const char *what = difference(want[i], have[i]);
        if (!what) continue;
        snprintf(text, sizeof text, "result %zu, %s", i, what);
        wrong = text;
    }
    cbx__program_free(p);
    cbx__graph_unref(simple);
    for (size_t i = 0; i < GRAPH_INPUTS; i++) cbx_array_free(in[i]);
    for (size_t i = 0; i < GRAPH_OUTPUTS; i++) {
        cbx_array_free(want[i]);
        cbx_array_free(have[i]);
    }
    cbx__traced_clear(&traced);
    return wrong;
}

/* Shows the fewest steps that still fail; a shorter graph without code in the cache is ignored. */
static void show_failure(cbx_ctx *c, const cbx__emitter *emitter, cbx__gpu *gpu, const graph_trial *t,
                         const char *wrong)
{
    graph_trial least = *t;

    fprintf(stderr, "seed %" PRIu64 ", %u steps: %s\n", t->seed, t->steps, wrong);
    for (unsigned steps = 1; steps < t->steps; steps++) {
        const graph_trial less = { t->seed, steps };
        const char *found = try(c, emitter, gpu, &less, false);
        if (!found || found == not_recorded) continue;
        fprintf(stderr, "seed %" PRIu64 ", %u steps: %s\n", t->seed, steps, found);
        least = less;
        break;
    }
    try(c, emitter, gpu, &least, true);
}

/* CALIBRAX_TEST_GRAPHS: how many. */
static void compare(const cbx__emitter *emitter, cbx__gpu *gpu)
{
    enum { SHOWN = 3 };
    const char *asked = getenv("CALIBRAX_TEST_GRAPHS"), *from = getenv("CALIBRAX_TEST_GRAPHS_FROM");
    const uint64_t count = asked ? strtoull(asked, NULL, 10) : 400, first = from ? strtoull(from, NULL, 10) : 1;
    const bool show = getenv("CALIBRAX_TEST_GRAPHS_SHOW") != NULL;
    unsigned failed = 0;
    cbx_ctx *c = cbx_test_context();

    for (uint64_t seed = first; seed < first + count && failed < SHOWN; seed++) {
        const graph_trial t = { seed, 2 + (unsigned)(seed % 23) };
        const char *wrong = try(c, emitter, gpu, &t, show);
        if (!wrong) continue;
        show_failure(c, emitter, gpu, &t, wrong);
        failed++;
    }
    CHECK_INT(failed, 0, "compiled graphs that differ");
    cbx_ctx_free(c);
}

TEST(interpreted_graphs_give_the_same_bits) { compare(&cbx__emitter_interpreter, NULL); }

TEST(compiled_graphs_give_the_same_bits)
{
    gpu_needs_llvm();
    compare(&cbx__emitter_llvm, NULL);
}

TEST(a_played_gpu_gives_the_same_bits)
{
    const size_t before = gpu_played_launches();

    gpu_needs_llvm();
    compare(&cbx__emitter_interpreter, gpu_played());
    CHECK_GT(gpu_played_launches() - before, 500, "launches");
    CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
}

TEST(a_gpu_gives_the_same_bits) { compare(&cbx__emitter_interpreter, gpu_real()); }

TESTS(.seconds = 600)
