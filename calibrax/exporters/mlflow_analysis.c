/*
 * Ranks and the Pareto front of a run.
 */
#include "calibrax/exporters/mlflow_analysis.h"

#include <math.h>
#include <stdint.h>

#include "calibrax/analysis/pareto.h"
#include "calibrax/analysis/rank_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/together.h"

CBX_FREED_BY(cbx_rank_table, cbx_rank_table_free)

static uint64_t hash_of(const cbx_metric *m)
{
    const uint64_t address = (uintptr_t)m;

    return cbx_hash_words(CBX_HASH_START, 1, &address);
}

size_t cbx__mlflow_rank(const cbx__mlflow_analysis *a, const cbx_metric *m)
{
    const size_t *rank = cbx_table_find(&a->ranks, hash_of(m), NULL, NULL, NULL);

    return rank ? *rank : 0;
}

/* Who is best in what, where points differ in the tag that is compared.  A run that has no such
 * comparison has no ranking. */
static cbx_status rank_points(cbx_export_job *job, const cbx_run *run, cbx_arena *arena, cbx__mlflow_analysis *a,
                              cbx_err *err)
{
    const cbx_rank_table_opts o = { .struct_size = sizeof o,
                                    .group_tag = job->opts.group_by,
                                    .metrics = job->opts.nmetrics ? job->opts.metrics : NULL,
                                    .nmetrics = job->opts.nmetrics,
                                    .runs_stay = true };
    CBX_OWNED(cbx_rank_table) *t = NULL;
    cbx_status st = cbx_rank_table_create(job->ctx, &o, &t, err), shown;

    if (st) return st;
    shown = cbx_rank_table_add(t, run, NULL, NULL);
    if (!shown) shown = cbx_rank_table_close(t, NULL);
    if (shown) return shown == CBX_ENOMEM ? cbx_fail_nomem(err, "an export") : CBX_OK;
    cbx_json *rows = cbx_json_set_array(a->document, "ranking");
    for (size_t i = 0; !st && i < cbx_rank_table_nrows(t); i++) {
        const cbx_rank_row row = cbx_rank_table_row(t, i);
        cbx_rank_cell *cells = cbx_arena_calloc(arena, row.ncells + 1, sizeof *cells);
        cbx_json *object = cbx_json_push_object(rows);
        if (!cells) return cbx_fail_nomem(err, "an export");
        st = cbx_rank_table_cells(t, i, cells, err);
        cbx_json_put(object, J_TEXT("key", row.key), J_TEXT("metric", row.metric));
        cbx_json *list = cbx_json_set_array(object, "entries");
        for (size_t k = 0; !st && k < row.ncells; k++) {
            if (cells[k].rank && !cbx_table_add(&a->ranks, hash_of(cells[k].metric), cells[k].rank))
                st = cbx_fail_nomem(err, "an export");
            cbx_json_put(
                cbx_json_push_object(list), J_TEXT("competitor", cbx_rank_table_competitor(t, cells[k].competitor)),
                J_NUMBER("value", cells[k].value), J_INT("rank", cells[k].rank), J_NUMBER("delta", cells[k].delta));
        }
    }
    return st;
}

/* The points that no other beats in both of the first two metrics with a direction. */
static cbx_status find_front(cbx_export_job *job, const cbx_run *run, cbx_arena *arena, cbx__mlflow_analysis *a,
                             cbx_err *err)
{
    const cbx_metric_def *defs[2] = { NULL };
    size_t n = cbx_run_npoints(run), found = 0;
    double *x = cbx_arena_calloc(arena, 2 * n + 1, sizeof *x);
    cbx_status st;

    if (!x) return cbx_fail_nomem(err, "an export");
    for (size_t i = 0; found < 2 && i < cbx_run_nmetric_defs(run); i++) {
        const cbx_metric_def *d = cbx_run_metric_def(run, i);
        if (d->direction != CBX_DIRECTION_INFO && cbx__export_wants(job, d->name)) defs[found++] = d;
    }
    if (found < 2 || !n) return CBX_OK;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 2; k++) {
            const cbx_metric *m = cbx_point_metric(cbx_run_point(run, i), defs[k]->name);
            x[2 * i + k] = m ? m->value : NAN;
            a->compared[i] = k && !isnan(x[2 * i]) && !isnan(x[2 * i + 1]);
        }
    st = cbx_pareto_front(job->ctx, x, n, 2, (const cbx_direction[]){ defs[0]->direction, defs[1]->direction },
                          a->on_front, NULL, NULL, err);
    a->front = cbx_arena_printf(arena, "%s, %s", defs[0]->name, defs[1]->name);
    if (!st && !a->front) st = cbx_fail_nomem(err, "an export");
    cbx_json *o = cbx_json_object(J_TEXTS("metrics", ((const char *const[]){ defs[0]->name, defs[1]->name }), 2)),
             *list = cbx_json_set_array(o, "front");
    cbx_json_set(a->document, "pareto", o);
    for (size_t i = 0; i < n; i++)
        if (a->on_front[i]) cbx_json_push_int(list, (int64_t)i);
    return st;
}

cbx_status cbx__mlflow_analyse(cbx_export_job *job, const cbx_run *run, cbx_arena *arena, cbx__mlflow_analysis *a,
                               cbx_err *err)
{
    size_t n = cbx_run_npoints(run);

    a->document = cbx_json_new_object();
    cbx_table_init(&a->ranks, CBX_IN_ARENA(arena));
    if (!cbx_arena_arrays(arena, CBX_ARRAY(a->compared, n + 1), CBX_ARRAY(a->on_front, n + 1)))
        return cbx_fail_nomem(err, "an export");
    cbx_status st = rank_points(job, run, arena, a, err);
    return st ? st : find_front(job, run, arena, a, err);
}
