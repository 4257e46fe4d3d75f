/*
 * Metric functions against other packages, over the cases that
 * scripts/fixtures/make_metric_cases.py wrote: a line a case, in JSON. CALIBRAX_METRIC_CASES names
 * another folder of cases: so the live comparison runs this same program (make compare-metrics).
 * Each case is computed as a call, and by the traced and compiled function of the same metric,
 * whose bits must be the same.
 */
#include "cases.h"
#include "draw.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/transform.h"

static cbx_err err;

static double element(const cbx_array *a, size_t i) { return ((const double *)cbx_array_data(a))[i]; }

static void compare(const metric_case *c, const cbx_array *got, const cbx_array *expected)
{
    char is[160], must[160];

    if (cbx_array_count(got) != cbx_array_count(expected))
        fail_msg("%s: the result is %s, not %s", c->label, cbx_array_desc_text(cbx_array_get_desc(got), is, sizeof is),
                 cbx_array_desc_text(cbx_array_get_desc(expected), must, sizeof must));
    double *v = read_all(got); /* a gradient may be a view */
    for (size_t i = 0; i < cbx_array_count(got); i++) {
        const double x = v[i], y = element(expected, i);
        const double bound = c->tolerance * fmax(1, fabs(y));
        if (x == y || (isnan(x) && isnan(y))) continue;
        if (!(fabs(x - y) <= bound)) fail_msg("%s: [%zu] is %.17g, not %.17g", c->label, i, x, y);
    }
    free(v);
}

static void by_call(cbx_ctx *ctx, const metric_case *c)
{
    cbx_array *r;
    cbx_scope scope;

    cbx_scope_open(ctx, &scope);
    r = cbx_copy(ctx, cbx_astype(ctx, cbx_metric_apply(ctx, c->metric, c->nin, c->in, &c->options), CBX_F64));
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &r, &err), &err, c->label);
    compare(c, r, c->result);
    cbx_array_free(r);
}

static void gradients(cbx_ctx *ctx, const metric_case *c)
{
    for (size_t i = 0; i < c->nin; i++) {
        cbx_fn *f = NULL, *grad = NULL;
        cbx_array *g = NULL;
        if (!c->gradients[i]) continue;
        CHECK_OK(cbx_metric_fn(ctx, c->metric, c->nin, &c->options, &f, &err), &err, c->label);
        CHECK_OK(cbx_grad(ctx, f, 1, &i, &grad, &err), &err, c->label);
        CHECK_OK(cbx_fn_run(ctx, grad, c->nin, c->in, 1, &g, &err), &err, c->label);
        compare(c, g, c->gradients[i]);
        cbx_array_free(g);
        cbx_fn_free(grad);
        cbx_fn_free(f);
    }
}

static void compiled(cbx_ctx *ctx, const metric_case *c)
{
    cbx_metric_options o = c->options;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    cbx_fn *f = NULL, *jitted = NULL;
    cbx_array *plain = NULL, *fast = NULL;

    if (c->options.mask && !c->metric->items && !(c->metric->flags & CBX_METRIC_WEIGHTED)) return;
    memcpy(parameters, c->parameters, sizeof parameters);
    o.parameters = parameters;
    give_classes(ctx, c->metric, c->nin, c->in, parameters);
    CHECK_OK(cbx_metric_fn(ctx, c->metric, c->nin, &o, &f, &err), &err, c->label);
    CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, c->label);
    CHECK_OK(cbx_fn_run(ctx, f, c->nin, c->in, 1, &plain, &err), &err, c->label);
    CHECK_OK(cbx_fn_run(ctx, jitted, c->nin, c->in, 1, &fast, &err), &err, c->label);
    for (size_t i = 0; i < cbx_array_count(plain); i++) {
        const double x = element(fast, i), y = element(plain, i);
        if (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y)) && !rounds_otherwise(c->metric, x, y))
            fail_msg("%s: compiled [%zu] is %.17g, not %.17g", c->label, i, x, y);
    }
    cbx_array_free(plain);
    cbx_array_free(fast);
    cbx_fn_free(jitted);
    cbx_fn_free(f);
}

static size_t each_line(cbx_ctx *ctx, const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t size = 0, n = 0;

    CHECK(f, path);
    while (getline(&line, &size, f) > 0) {
        metric_case c;
        read_case(ctx, line, ++n, path, &c);
        set_needs(c.metric, &c.options); /* the function of those that take one */
        by_call(ctx, &c);
        compiled(ctx, &c);
        gradients(ctx, &c);
        free_case(&c);
    }
    free(line);
    fclose(f);
    return n;
}

TEST(every_case)
{
    const char *folder = getenv("CALIBRAX_METRIC_CASES");
    char place[4096], path[8192];
    cbx_ctx *ctx = cbx_test_context();
    struct dirent *entry;
    size_t cases = 0;
    DIR *dir;

    if (!folder) {
        snprintf(place, sizeof place, "%s/tests/fixtures/metrics", getenv("CALIBRAX_SOURCE_ROOT"));
        folder = place;
    }
    CHECK((dir = opendir(folder)), folder);
    while ((entry = readdir(dir))) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".jsonl") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        cases += each_line(ctx, path);
    }
    closedir(dir);
    cbx_ctx_free(ctx);
    CHECK_GT(cases, 50, "cases were read");
    print_message("%zu cases\n", cases);
}

TESTS(.seconds = 900)
