/* Names are numbered by their first appearance; then every value goes to its cell. */
#include "calibrax/validation/framework.h"

#include <math.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"

struct cbx_framework_metrics {
    cbx_arena arena;
    cbx_names frameworks, metrics;
    double *values;
    bool *measured;
};

static const char *framework_of(const cbx_framework_opts *o, const cbx_point *p)
{
    const char *tag = cbx_point_tag(p, o->group_tag ? o->group_tag : "framework");
    return tag ? tag : p->name;
}

static cbx_status number_names(cbx_framework_metrics *f, const cbx_run *run, const cbx_framework_opts *o, cbx_err *err)
{
    bool good = true;

    for (size_t m = 0; good && o->metrics && m < o->nmetrics; m++)
        good = cbx_names_add(&f->metrics, o->metrics[m]) != CBX_NO_NAME;
    if (good && o->metrics && f->metrics.n < o->nmetrics)
        return cbx_fail(err, CBX_EINVAL, "a metric is named twice among the rows");
    for (size_t i = 0; good && i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        good = cbx_names_add(&f->frameworks, framework_of(o, p)) != CBX_NO_NAME;
        for (size_t m = 0; good && !o->metrics && m < p->nmetrics; m++)
            good = cbx_names_add(&f->metrics, p->metrics[m].name) != CBX_NO_NAME;
    }
    return good ? CBX_OK : cbx_fail_nomem(err, "the names of frameworks and metrics");
}

static cbx_status fill(cbx_framework_metrics *f, const cbx_run *run, const cbx_framework_opts *o, cbx_err *err)
{
    size_t cells;

    if (__builtin_mul_overflow(f->frameworks.n, f->metrics.n, &cells) || cells > SIZE_MAX / sizeof(double) - 1)
        return cbx_fail(err, CBX_EOVERFLOW, "%zu metrics of %zu frameworks are too many", f->metrics.n,
                        f->frameworks.n);
    f->values = cbx_arena_calloc(&f->arena, cells, sizeof *f->values);
    f->measured = cbx_arena_calloc(&f->arena, cells, sizeof *f->measured);
    if (!f->values || !f->measured) return cbx_fail_nomem(err, "a table of frameworks");
    for (size_t i = 0; i < cells; i++) f->values[i] = NAN;
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        size_t column = cbx_names_find(&f->frameworks, framework_of(o, p));
        for (size_t m = 0; m < p->nmetrics; m++) {
            size_t row = cbx_names_find(&f->metrics, p->metrics[m].name), at = column * f->metrics.n + row;
            if (row == CBX_NO_NAME) continue;
            if (f->measured[at] && !o->last)
                return cbx_fail(
                    err, CBX_EEXIST,
                    "'%s' has more than one '%s', the second in point '%s': take fewer points, or the last value",
                    f->frameworks.list[column], f->metrics.list[row], p->name);
            f->measured[at] = true;
            f->values[at] = p->metrics[m].metric.value;
        }
    }
    return CBX_OK;
}

cbx_status cbx_framework_metrics_create(cbx_ctx *ctx, const cbx_run *run, const cbx_framework_opts *opts,
                                        cbx_framework_metrics **out, cbx_err *err)
{
    cbx_framework_opts o = CBX_FRAMEWORK_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_framework_opts", err);

    if (st) return st;
    cbx_framework_metrics *f = CBX_ARENA_OBJECT(cbx_framework_metrics, cbx_ctx_allocator(ctx));
    if (!f) return cbx_fail_nomem(err, "a table of frameworks");
    cbx_names_init(&f->frameworks, CBX_IN_ARENA(&f->arena));
    cbx_names_init(&f->metrics, CBX_IN_ARENA(&f->arena));
    st = number_names(f, run, &o, err);
    if (!st) st = fill(f, run, &o, err);
    return CBX_FINISH(st, *out = f, cbx_framework_metrics_free(f));
}

void cbx_framework_metrics_free(cbx_framework_metrics *f)
{
    if (f) cbx_arena_end(&f->arena);
}

size_t cbx_framework_metrics_nframeworks(const cbx_framework_metrics *f) { return f->frameworks.n; }
size_t cbx_framework_metrics_nmetrics(const cbx_framework_metrics *f) { return f->metrics.n; }

const char *cbx_framework_metrics_framework(const cbx_framework_metrics *f, size_t i)
{
    return i < f->frameworks.n ? f->frameworks.list[i] : NULL;
}

const char *cbx_framework_metrics_metric(const cbx_framework_metrics *f, size_t m)
{
    return m < f->metrics.n ? f->metrics.list[m] : NULL;
}

const double *cbx_framework_metrics_values(const cbx_framework_metrics *f) { return f->values; }

bool cbx_framework_metrics_measured(const cbx_framework_metrics *f, size_t m, size_t i)
{
    return m < f->metrics.n && i < f->frameworks.n && f->measured[i * f->metrics.n + m];
}
