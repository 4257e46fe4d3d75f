/* A run: what it is, its points with their metrics, its environment. */

#include "calibrax/base/idioms.h"
#include "calibrax/site/page_view.h"
#include "calibrax/storage/store_internal.h"

#define VALUES_A_PAGE 200
#define MAX_DEPTH     4
#define MAX_FACTS     120

/* --- the values --- */

/* @param config  of the store, for metrics that the run does not define; NULL: none */
static void put_value(cbx__view *v, const cbx_run *run, const cbx_run *config, const cbx_point *p,
                      const cbx_named_metric *m)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(run, m->name);

    if (!def && config) def = cbx_run_find_metric_def(config, m->name);
    const char *unit = def ? def->unit : NULL;

    cbx__view_row(v, NULL);
    cbx__view_cell_point(v, cbx__view_to_point(v, cbx_run_id(run), p), p->name, p->scenario,
                         cbx__view_tags(v, p->tags, p->ntags));
    cbx__view_cell_link(v, cbx__view_to_trend(v, m->name, p->name, p->scenario, p->tags, p->ntags), m->name);
    cbx__view_cell_value(v, m->metric.value, m->metric.lower, m->metric.upper, unit);
    cbx__view_cell_number(v, m->metric.lower, ""); /* what the words hold, as members */
    cbx__view_cell_number(v, m->metric.upper, "");
    cbx__view_cell(v, unit);
    cbx__view_cell_number(v, (double)m->metric.nsamples,
                          m->metric.nsamples ? cbx__view_text(v, "%zu", m->metric.nsamples) : "");
}

static void put_values(cbx__view *v, const cbx_run *run, const cbx_run *config)
{
    static const cbx__column columns[] = {
        { "Point", "point", NULL },    { "Metric", "metric", NULL }, { "Value", "value", "n" },
        { NULL, "lower", NULL },       { NULL, "upper", NULL },      { NULL, "unit", NULL },
        { "Samples", "samples", "n" },
    };
    size_t total = 0, at = 0;

    for (size_t i = 0; i < cbx_run_npoints(run); i++) total += cbx_run_point(run, i)->nmetrics;
    const cbx__paging rows = cbx__view_page(v, VALUES_A_PAGE, total);
    cbx__view_section(v, "Points");
    cbx__view_table(v, "values", "values of the points", columns, CBX_LEN(columns));
    for (size_t i = 0; i < cbx_run_npoints(run) && at < rows.to; i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = rows.from > at ? rows.from - at : 0; k < p->nmetrics && at + k < rows.to; k++)
            put_value(v, run, config, p, &p->metrics[k]);
        at += p->nmetrics;
    }
    cbx__view_table_end(v);
    cbx__view_pager(v, &rows, "values");
}

/* --- environment and metadata --- */

/* Free-form facts may name hosts and users: what is published has the members that are known
 * not to. */
static bool may_be_shown(const cbx__view *v, const char *path, const char *key)
{
    static const char *const published[] = {
        "machine", "hardware", "versions", "dirty", "profile", "work", "roofline"
    };

    return !v->site->link || *path || CBX_WORD_AT(published, key) < CBX_LEN(published);
}

static void put_members(cbx__view *v, const char *path, const cbx_json *value, int depth, size_t *left)
{
    const char *key;
    cbx_json *member;

    if (!*left) return;
    if (cbx_json_typeof(value) == CBX_JSON_OBJECT && cbx_json_length(value) && depth < MAX_DEPTH) {
        for (size_t i = 0; cbx_json_member(value, i, &key, &member); i++)
            if (may_be_shown(v, path, key))
                put_members(v, *path ? cbx__view_text(v, "%s.%s", path, key) : key, member, depth + 1, left);
        return;
    }
    --*left;
    if (cbx_json_string_value(value)) {
        cbx__view_fact(v, path, cbx_json_string_value(value));
        return;
    }
    CBX_SCOPED(cbx_text, text, &v->out->al);
    cbx_json_write(value, CBX_JSON_COMPACT, &text);
    if (text.len > 400) {
        cbx_text_reset(&text);
        cbx_text_printf(&text, "(%zu items)", cbx_json_length(value));
    }
    cbx__view_fact(v, path, cbx_text_str(&text));
    if (text.status) v->out->status = CBX_ENOMEM;
}

static void put_free_form(cbx__view *v, const char *name, const char *key, const cbx_json *object)
{
    size_t left = MAX_FACTS;

    if (!cbx_json_length(object)) return;
    if (v->document) {
        if (!v->site->link) cbx_json_set(v->document, key, cbx_json_copy(object));
        return;
    }
    cbx_text_printf(v->out, "<details open><summary>%s</summary>", name);
    cbx__view_facts(v);
    put_members(v, "", object, 0, &left);
    cbx__view_facts_end(v);
    cbx_text_puts(v->out, "</details>\n");
}

/* --- what to compare it with --- */

static cbx_status put_comparisons(cbx__view *v, const cbx_run *run, cbx_err *err)
{
    const char *machine = cbx_json_get_string(cbx_run_environment(run), "machine", NULL);
    const cbx_store_query before = { .branch = cbx_run_branch(run),
                                     .machine = machine ? machine : "-",
                                     .until_us = cbx_run_timestamp_us(run),
                                     .limit = 1 };
    const char *const *names;
    CBX_CLEARED(cbx_store_list) list = { 0 };
    size_t n = 0;
    cbx_status st = cbx_store_query_runs(v->store, &before, &list, err);

    if (!st && list.count)
        cbx__view_fact_link(v, "Compare with the run before",
                            cbx__view_to_compare(v, list.entries[0].id, cbx_run_id(run)), list.entries[0].id);
    if (!st) st = cbx_store_baselines(v->store, v->arena, &names, &n, err);
    for (size_t i = 0; !st && i < n && i < 8; i++) {
        const char *baseline = cbx__view_text(v, "baseline:%s", names[i]);
        cbx__view_fact_link(v, i ? cbx__view_text(v, "Baseline %zu", i + 1) : "Compare with baseline",
                            cbx__view_to_compare(v, baseline, cbx_run_id(run)), names[i]);
    }
    return st;
}

cbx_status cbx__view_run(cbx__view *v, cbx_err *err)
{
    CBX_OWNED(cbx_run) *run = NULL, *config = NULL;
    cbx_status st = cbx__view_load(v, "id", &run, err);

    if (st) return st;
    if (cbx_path_exists(v->store->config))
        (void)cbx__view_got(v, cbx_run_defs_read(v->ctx, v->store->config, &config, NULL));
    cbx__view_begin(v, "", cbx__view_text(v, "Run %s", cbx_run_id(run)));
    cbx__view_facts(v);
    cbx__view_fact(v, "Time", cbx__view_time(v, cbx_run_timestamp_us(run)));
    cbx__view_fact(v, "Branch", cbx_run_branch(run));
    cbx__view_fact(v, "Commit", cbx_run_commit(run));
    cbx__view_fact(v, "Points", cbx__view_text(v, "%zu", cbx_run_npoints(run)));
    cbx__view_fact_trace(v, run);
    st = put_comparisons(v, run, err);
    cbx__view_facts_end(v);
    put_values(v, run, config);
    put_free_form(v, "Environment", "environment", cbx_run_environment(run));
    put_free_form(v, "Metadata", "metadata", cbx_run_metadata(run));
    return st;
}
