/* From what the phases left behind to a run with one point. */
#include <math.h>
#include <string.h>

#include "calibrax/perf/launch/phases_internal.h"

typedef struct content {
    cbx_named_metric *metrics;
    size_t count;
} content;

static bool has(const content *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->metrics[i].name, name) == 0) return true;
    }
    return false;
}

/* A metric and its definition, unless the benchmark gave one of that name itself. */
static cbx_status add(content *c, cbx_run_builder *b, const cbx_metric_def *def, double value, cbx_err *err)
{
    if (isnan(value) || has(c, def->name)) return CBX_OK;
    c->metrics[c->count++] = (cbx_named_metric){ def->name, cbx_metric_of(value) };
    return cbx_run_builder_add_metric_def(b, def, err);
}

static cbx_status add_measured(cbx__measuring *m, content *c, cbx_run_builder *b, cbx_err *err)
{
    static const cbx_metric_def throughput = { .name = "throughput",
                                               .unit = "1/s",
                                               .direction = CBX_DIRECTION_HIGHER,
                                               .group = "timing",
                                               .description = "examples by the time of their batches" };
    cbx_status st = add(c, b, &throughput, m->throughput, err);

    for (size_t i = 0; i < m->nphases && !st; i++) {
        const cbx__phase *p = &m->phases[i];
        const cbx_metric_def def = { .name = p->seconds,
                                     .unit = "s",
                                     .direction = p->gates ? CBX_DIRECTION_LOWER : CBX_DIRECTION_INFO,
                                     .group = "phases" };
        if (p->seconds) st = add(c, b, &def, 1e-9 * (double)p->duration_ns, err);
    }
    return st;
}

static bool add_targets(cbx_json *metadata, const cbx_values *targets)
{
    cbx_json *o = cbx_json_new_object();
    size_t n;
    const cbx_named_metric *t = cbx_values_items(targets, &n);
    bool ok = o != NULL;

    for (size_t i = 0; ok && i < n; i++) ok = cbx_json_set_double(o, t[i].name, t[i].metric.value);
    if (ok) return cbx_json_set(metadata, "targets", o);
    cbx_json_unref(o);
    return false;
}

static bool add_phases(cbx_json *metadata, const cbx__measuring *m)
{
    cbx_json *list = cbx_json_new_array();
    bool ok = list != NULL;

    for (size_t i = 0; ok && i < m->nphases; i++) {
        cbx_json *o = cbx_json_new_object();
        ok = o && cbx_json_set_string(o, "name", m->phases[i].name) &&
             cbx_json_set_int(o, "start_ns", (int64_t)m->phases[i].start_ns) &&
             cbx_json_set_int(o, "duration_ns", (int64_t)m->phases[i].duration_ns);
        if (ok)
            ok = cbx_json_push(list, o);
        else
            cbx_json_unref(o);
    }
    if (ok) return cbx_json_set(metadata, "phases", list);
    cbx_json_unref(list);
    return false;
}

/* Of one call with whatever it makes ready: told, and no reason for an alarm. */
static const cbx_metric_def first_batch = {
    .name = "first_batch_time", .unit = "s", .direction = CBX_DIRECTION_INFO, .group = "timing"
};

static cbx_status fill(cbx__measuring *m, cbx_run_builder *b, cbx_json *metadata, cbx_err *err)
{
    size_t given;
    const cbx_named_metric *values = cbx_values_items(m->values, &given);
    content c = { cbx_arena_calloc(&m->arena, given + CBX__PHASES_MOST + 1, sizeof *c.metrics), given };
    cbx_result_content r = {
        .name = m->ops.name, .domain = m->ops.domain, .metadata = metadata, .config = m->o.config
    };
    cbx_result *result = NULL;
    cbx_status st;

    if (!c.metrics || !add_targets(metadata, m->targets) || !add_phases(metadata, m))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for the result of '%s'", m->ops.name);
    if (given) memcpy(c.metrics, values, given * sizeof *values);
    st = add_measured(m, &c, b, err);
    if (st) return st;
    r.metrics = c.metrics;
    r.nmetrics = c.count;
    if (m->timed) r.timing = &m->timing;
    if (m->watched) r.resources = &m->resources.summary;
    st = cbx_result_create(m->ctx, &r, &result, err);
    if (!st) st = cbx_run_builder_add_result(b, result, err);
    if (!st && m->timed && !has(&c, first_batch.name)) st = cbx_run_builder_add_metric_def(b, &first_batch, err);
    for (size_t i = 0; i < m->ops.nmetric_defs && !st; i++)
        st = cbx_run_builder_add_metric_def(b, &m->ops.metric_defs[i], err);
    cbx_result_free(result);
    return st;
}

cbx_status cbx__measuring_run(cbx__measuring *m, cbx_run **out, cbx_err *err)
{
    cbx_run_opts o = CBX_RUN_OPTS_INIT;
    cbx_json *metadata = cbx_json_new_object();
    cbx_run_builder *b = NULL;
    cbx_status st;

    o.no_vcs = o.no_machine = o.no_versions = true; /* whoever keeps it knows them */
    st = metadata ? cbx_run_builder_create(m->ctx, &o, &b, err)
                  : cbx_fail(err, CBX_ENOMEM, "out of memory for a result");
    if (!st) st = fill(m, b, metadata, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    cbx_json_unref(metadata);
    return st;
}
