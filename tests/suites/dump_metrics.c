/*
 * Writes small problems of the case metrics for check_metrics.py, with what the library and the
 * planted faults make of them: dump_metrics FOLDER.  NPY files METRIC.input.I and
 * METRIC.result.BASELINE, and problems.json, which lists the points.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/file.h"
#include "calibrax/base/text.h"
#include "suites/suites.h"

enum { SQUARE = 40, IMAGE = 180, ITEMS = 200, CLASSES = 6 };

/* The metric of a point at a small size. */
static void small_point(const cbx_params *large, char *json, size_t size)
{
    const char *name = cbx_params_word(large, "metric");
    const long long n = (long long)cbx_params_int(large, "n"), d = (long long)cbx_params_int(large, "d");
    const bool image = strstr(name, "ssim") || !strcmp(name, "psnr");

    snprintf(json, size, "{\"metric\":\"%s\",\"n\":%d,\"d\":%lld}", name,
             image      ? IMAGE
             : n <= 400 ? SQUARE
                        : ITEMS,
             d > CLASSES ? CLASSES : d);
}

static cbx_status run(cbx_ctx *ctx, const cbx_baseline_ops *b, const cbx_params *p, cbx_array *const *in,
                      const char *path, cbx_err *err)
{
    cbx_array_desc d;
    cbx_array *out = NULL;
    void *plan = NULL;
    cbx_status st;

    cbx_metrics_case.outputs(p, &d);
    st = cbx_array_create(ctx, &d, &out, err);
    if (!st) st = b->prepare(ctx, p, &plan, err);
    if (!st) {
        memset(cbx_array_data_mut(out), 0xff, cbx_array_bytes(out));
        b->bind(plan, in, &out);
        b->run(plan);
        b->collect(plan);
        b->finish(plan);
        st = cbx_npy_write(ctx, path, out, err);
    }
    cbx_array_free(out);
    return st;
}

static cbx_status dump(cbx_ctx *ctx, const char *folder, const cbx_params *p, cbx_err *err)
{
    const char *name = cbx_params_word(p, "metric");
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { NULL };
    char path[512];
    cbx_status st = cbx_metrics_case.make_inputs(ctx, p, in, err);

    for (size_t i = 0; i < cbx_metrics_case.ninputs && !st; i++) {
        snprintf(path, sizeof path, "%s/%s.input.%zu.npy", folder, name, i);
        st = cbx_npy_write(ctx, path, in[i], err);
    }
    for (size_t b = 0; b < cbx_metrics_case.nbaselines && !st; b++) {
        const cbx_baseline_ops *ops = cbx_metrics_case.baselines[b];
        const char *reason = NULL;
        if (!ops->prepare || (ops->supports && !ops->supports(p, &reason))) continue;
        snprintf(path, sizeof path, "%s/%s.result.%s.npy", folder, name, ops->name);
        st = run(ctx, ops, p, in, path, err);
    }
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) cbx_array_free(in[i]);
    return st;
}

/* The point, and the baselines of other packages that it has. */
static void list(cbx_text *text, const cbx_params *p, bool first)
{
    const char *reason = NULL;

    cbx_text_printf(text, "%s{\"point\":%s,\"baselines\":[\"\"", first ? "[" : ",\n", cbx_params_json(p));
    for (size_t b = 0; b < cbx_metrics_case.nbaselines; b++) {
        const cbx_baseline_ops *ops = cbx_metrics_case.baselines[b];
        if (!ops->prepare && ops->supports(p, &reason)) cbx_text_printf(text, ",\"%s\"", ops->name);
    }
    cbx_text_printf(text, "]}");
}

int main(int argc, char **argv)
{
    const cbx_case_ops *c = &cbx_metrics_case;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_ctx_create(NULL, &ctx, &err);
    char path[512], json[256];
    cbx_text text;

    if (argc != 2 || st) return 2;
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < c->npoints && !st; i++) {
        cbx_params *large = NULL, *p = NULL;
        st = cbx_case_point(ctx, c, c->points[i], "point", &large, &err);
        if (!st) small_point(large, json, sizeof json);
        if (!st) st = cbx_case_point(ctx, c, json, "point", &p, &err);
        if (!st) st = dump(ctx, argv[1], p, &err);
        if (!st) list(&text, p, i == 0);
        cbx_params_free(p);
        cbx_params_free(large);
    }
    cbx_text_printf(&text, "]\n");
    snprintf(path, sizeof path, "%s/problems.json", argv[1]);
    if (!st) st = cbx_file_write_atomic(ctx, path, text.data, text.len, &err);
    if (st) fprintf(stderr, "dump_metrics: %s\n", err.message);
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
    return st ? 1 : 0;
}
