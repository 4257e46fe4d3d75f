/*
 * Metrics of arrays on a GPU, called and compiled, against the same of arrays on the CPU: a few of
 * each domain on a played device, whose memory the host cannot read, and all on a real one.
 */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/jit/gpu.h"
#include "calibrax/array/transform.h"
#include "gpu_played.h"

enum { FEW = 3, MANY = 2000 };

static cbx_err err;
static const cbx_device_id cuda = { CBX_DEVICE_CUDA, 0 };

static void compare(const cbx_metric_function *m, size_t n, const double *want, cbx_array *have, const char *how)
{
    double *v = read_all(have);

    CHECK_INT(cbx_array_count(have), n, m->name);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(v[i] - want[i]) <= 1e-12 * fmax(1, fabs(want[i]))) && v[i] != want[i] &&
            !(isnan(v[i]) && isnan(want[i])))
            fail_msg("%s: on a GPU, %s, [%zu] is %.17g, not %.17g", m->name, how, i, v[i], want[i]);
    free(v);
    cbx_array_free(have);
}

static void check_metric(cbx_ctx *c, const cbx_metric_function *m, size_t items)
{
    cbx_rng rng = cbx_rng_make(13, items);
    cbx_metric_options o = { 0 };
    cbx_array *in[CBX_METRIC_MAX_OPERANDS] = { 0 }, *there = NULL;
    cbx_fn *f = NULL, *jitted = NULL;
    cbx_scope scope;
    drawn d;
    size_t n;

    draw_operands(c, &rng, m, items, &d);
    double *want = values_of(c, m, d.nin, d.in, NULL, &n);
    cbx_scope_open(c, &scope);
    for (size_t i = 0; i < d.nin; i++) in[i] = cbx_to_device(c, d.in[i], cuda);
    CHECK_OK(cbx_scope_close_keep(&scope, d.nin, in, &err), &err, "to the GPU");
    set_needs(m, &o);
    CHECK_OK(cbx_metric_fn(c, m, d.nin, &o, &f, &err), &err, m->name);
    CHECK_OK(cbx_jit(c, f, &jitted, &err), &err, m->name);
    CHECK_OK(cbx_fn_run(c, f, d.nin, in, 1, &there, &err), &err, m->name);
    compare(m, n, want, there, "called");
    CHECK_OK(cbx_fn_run(c, jitted, d.nin, in, 1, &there, &err), &err, m->name);
    compare(m, n, want, there, "compiled");
    for (size_t i = 0; i < d.nin; i++) cbx_array_free(in[i]);
    cbx_fn_free(jitted);
    cbx_fn_free(f);
    free(want);
    drawn_free(&d);
}

static void on_a_device(cbx__gpu *gpu, size_t of_each_domain)
{
    cbx_ctx *c = cbx_test_context();
    const cbx_metric_function *m;
    const char *domain = "";
    size_t taken = 0;

    cbx__gpu_cuda_play(gpu);
    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, "the backend");
    for (size_t i = 0; (m = cbx_metric_at(c, i)); i++) {
        if (strcmp(m->domain, domain) != 0) taken = 0;
        domain = m->domain;
        if (taken++ >= of_each_domain) continue;
        check_metric(c, m, 0);
        if (of_each_domain > FEW && has_items(m)) check_metric(c, m, MANY);
    }
    cbx_ctx_free(c);
    cbx__gpu_cuda_play(NULL);
    (void)cbx__gpu_trim(gpu);
}

TEST(few_of_each_domain_on_a_played_gpu)
{
    gpu_needs_llvm();
    on_a_device(gpu_played(), FEW);
    CHECK_GT(gpu_played_launches(), 100, "kernels that ran there");
    CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
}

TEST(all_on_a_gpu) { on_a_device(gpu_real(), SIZE_MAX); }

TESTS(.seconds = 600)
