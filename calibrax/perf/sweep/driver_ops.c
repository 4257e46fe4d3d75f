/* Benchmarks of this program, in this process. */
#include <string.h>

#include "calibrax/perf/sweep/driver.h"

static cbx_status list(cbx__session *s, const char *const **names, size_t *count, cbx_err *err)
{
    size_t n = s->source->nitems;
    const char **out = cbx_arena_calloc(s->arena, n, sizeof *out);

    if (!out) return cbx_fail(err, CBX_ENOMEM, "out of memory for the names of benchmarks");
    for (size_t i = 0; i < n; i++) {
        cbx_benchmark_ops ops;
        cbx_status st = cbx_benchmark_ops_read(s->source->items[i].ops, &ops, err);
        if (st) return st;
        out[i] = ops.name;
    }
    *names = out;
    *count = n;
    return CBX_OK;
}

static const cbx_benchmark_item *find(const cbx__session *s, const char *name)
{
    const cbx_benchmark_item *item = s->source->items;
    while (strcmp(item->ops->name, name) != 0) item++;
    return item;
}

static cbx_status launch(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    const cbx_benchmark_item *item = find(s, name);
    cbx_benchmark_measure_opts o = s->o->measure;
    const char *phase = "start";
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    o.stop = s->o->stop;
    o.trace = s->trace;
    o.phase = &phase;
    st = cbx_benchmark_measure(s->ctx, item->ops, item->self, &o, &out->run, &why);
    if (st == CBX_EINTERRUPTED || st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (st) cbx__launch_fail(s, out, phase, st, "%s", why.message[0] ? why.message : cbx_status_words(st));
    return CBX_OK;
}

const cbx__driver cbx__driver_ops = { list, launch };
