/* Series over time: the list of them, and one of them with its changes. */
#include <math.h>
#include <string.h>

#include "calibrax/core/point_index.h"
#include "calibrax/site/series_picture.h"

#define SERIES_A_PAGE 25
#define VALUES_A_PAGE 50
#define LIST_CHANGES  300  /* newest values in which the list looks for changes */
#define MAX_CHANGES   5000 /* of a series on its own */
#define MAX_MACHINES  8

/* --- the list --- */

/* A unit for each metric, asked for once: the store looks at all its files each time. */
typedef struct listing {
    cbx__view *v;
    const char *metrics[SERIES_A_PAGE], *units[SERIES_A_PAGE];
    size_t n;
} listing;

/* NULL: no run defines it. */
static const char *unit_of(listing *l, const char *metric)
{
    cbx_metric_def def;
    size_t i = 0;

    while (i < l->n && strcmp(l->metrics[i], metric) != 0) i++;
    if (i < l->n) return l->units[i];
    l->metrics[i] = cbx__view_text(l->v, "%s", metric);
    l->units[i] = cbx__view_got(l->v, cbx_store_metric_def(l->v->store, metric, l->v->arena, &def, NULL)) ? def.unit
                                                                                                          : NULL;
    l->n += l->n + 1 < SERIES_A_PAGE;
    return l->units[i];
}

static cbx_status put_series(void *user, const cbx_trend_series *s, cbx_err *err)
{
    listing *l = user;
    cbx__view *v = l->v;
    const cbx_trend_point *newest = &s->points[s->npoints - 1];
    cbx__drawn d = cbx__series_values(v, s, newest->machine);
    const char *unit = unit_of(l, s->metric);
    cbx_change *changes;
    size_t n = cbx__series_changes(v, &d, LIST_CHANGES, &changes);

    (void)err;
    cbx__view_row(v, NULL);
    cbx__view_cell_point(v, cbx__view_to_trend(v, s->metric, s->point, s->scenario, s->tags, s->ntags), s->point,
                         s->scenario, cbx__view_tags(v, s->tags, s->ntags));
    cbx__view_cell(v, s->metric);
    cbx__view_cell_value(v, newest->value, NAN, NAN, unit);
    cbx__view_cell_number(v, n ? changes[n - 1].change : NAN,
                          n ? cbx__view_text(v, "%s at %s", cbx__view_percent(v, changes[n - 1].change),
                                             d.at[changes[n - 1].index]->run_id)
                            : "");
    cbx__view_cell_open(v);
    if (d.n)
        cbx__series_spark(v, &d,
                          cbx__view_text(v, "%zu values, from %s to %s", d.n,
                                         cbx__view_value(v, d.y[0], NAN, NAN, unit),
                                         cbx__view_value(v, d.y[d.n - 1], NAN, NAN, unit)));
    cbx__view_cell_count(v, s->npoints);
    return CBX_OK;
}

cbx_status cbx__view_trends(cbx__view *v, cbx_err *err)
{
    static const cbx__column columns[] = {
        { "Point", "point", NULL },  { "Metric", "metric", NULL },
        { "Newest", "value", "n" },  { "Last change", "last_change", NULL },
        { "Over time", NULL, NULL }, { "Values", "values", "n" },
    };
    static const cbx__field fields[] = {
        { .param = "text", .label = "Text", .hint = "point, scenario, tag, metric" },
        { .param = "point", .label = "Point", .names = cbx_store_point_names },
        { .param = "metric", .label = "Metric", .names = cbx_store_metric_names },
        { .param = "scenario", .label = "Scenario" },
        { .param = "tag", .label = "Tag", .hint = "key=value", .many = true },
        { .param = "branch", .label = "Branch" },
    };
    cbx_store_query q = { .series_text = cbx__request_param(v->request, "text"), .series_limit = SERIES_A_PAGE };
    listing l = { .v = v };
    size_t n = 0;
    cbx__paging rows;
    cbx_status st = cbx__view_select(v, &q, err);

    if (!st) st = cbx_store_count_series(v->store, &q, &n, err);
    if (st) return st;
    rows = cbx__view_page(v, SERIES_A_PAGE, n);
    q.series_first = rows.from;
    cbx__view_begin(v, "trends", "Trends");
    cbx__view_form(v, "Filter", fields, CBX_LEN(fields));
    cbx__view_note(v,
                   n ? "%zu series; points that differ in scenario or in a tag are series of their own. Last change: "
                       "within the newest %d values of the machine that measured last."
                     : "No series matches.",
                   n, LIST_CHANGES);
    if (n || v->document) {
        cbx__view_table(v, "series", "series", columns, CBX_LEN(columns));
        st = cbx_store_trend_each(v->store, &q, NULL, put_series, &l, err);
        cbx__view_table_end(v);
    }
    cbx__view_pager(v, &rows, "series");
    return st;
}

/* --- one series --- */

typedef struct one {
    cbx__view *v;
    cbx_store_query q;
    bool found;
} one;

/* Machines of a series, the newest first. */
static size_t machines_of(const cbx_trend_series *s, const char *found[MAX_MACHINES])
{
    size_t n = 0;

    for (size_t i = s->npoints; i-- > 0 && n < MAX_MACHINES;) {
        const char *m = s->points[i].machine;
        size_t k = 0;
        while (k < n && (m && found[k] ? strcmp(m, found[k]) != 0 : m != found[k])) k++;
        if (k == n) found[n++] = m;
    }
    return n;
}

static void put_changes(cbx__view *v, const cbx__drawn *d, const cbx_change *c, size_t n, const cbx_metric_def *def)
{
    static const cbx__column columns[] = { { "First run", "run", NULL }, { "Time (UTC)", "timestamp", NULL },
                                           { "Change", "change", "n" },  { "From", "before", "n" },
                                           { "To", "after", "n" },       { "Certainty", "certainty", NULL },
                                           { "It is", "verdict", "v" } };

    cbx__view_section(v, "Changes of level");
    if (!n) {
        cbx__view_note(v, "No change was found in %zu value%s.", d->n, d->n == 1 ? "" : "s");
        if (!v->document) return;
    }
    cbx__view_table(v, "changes", "changes of level", columns, CBX_LEN(columns));
    for (size_t i = n; i-- > 0;) {
        const cbx_trend_point *p = d->at[c[i].index];
        bool known = def->unit && def->direction != CBX_DIRECTION_INFO,
             worse = (c[i].after > c[i].before) == (def->direction == CBX_DIRECTION_LOWER);
        cbx__view_row(v, !known ? NULL : worse ? "worse" : "better");
        cbx__view_cell_link(v, cbx__view_to_run(v, p->run_id), p->run_id);
        cbx__view_cell_time(v, p->timestamp_us);
        cbx__view_cell_number(v, c[i].change, cbx__view_percent(v, c[i].change));
        cbx__view_cell_value(v, c[i].before, NAN, NAN, def->unit);
        cbx__view_cell_value(v, c[i].after, NAN, NAN, def->unit);
        cbx__view_cell(v, c[i].alarm ? "alarm" : "proposed: measure both sides again");
        cbx__view_cell(v, !known ? NULL : worse ? "worse" : "better");
    }
    cbx__view_table_end(v);
}

static void put_values(cbx__view *v, const cbx_trend_series *s, const char *unit)
{
    static const cbx__column columns[] = { { "Run", "run", NULL },       { "Time (UTC)", "timestamp", NULL },
                                           { "Value", "value", "n" },    { "Branch", "branch", NULL },
                                           { "Commit", "commit", NULL }, { "Machine", "machine", NULL } };
    const cbx__paging rows = cbx__view_page(v, VALUES_A_PAGE, s->npoints);

    cbx__view_section(v, "Values, the newest first");
    cbx__view_table(v, "values", "values", columns, CBX_LEN(columns));
    for (size_t i = rows.from; i < rows.to; i++) {
        const cbx_trend_point *p = &s->points[s->npoints - 1 - i];
        const cbx_point point = { s->point, s->scenario, s->tags, s->ntags, NULL, 0 };
        cbx__view_row(v, NULL);
        cbx__view_cell_link(v, cbx__view_to_point(v, p->run_id, &point), p->run_id);
        cbx__view_cell_time(v, p->timestamp_us);
        cbx__view_cell_value(v, p->value, p->lower, p->upper, unit);
        cbx__view_cell(v, p->branch);
        cbx__view_cell(v, p->commit && !v->document ? cbx__view_text(v, "%.10s", p->commit) : p->commit);
        cbx__view_cell(v, p->machine);
    }
    cbx__view_table_end(v);
    cbx__view_pager(v, &rows, "values");
}

static cbx_status draw(cbx__view *v, const cbx_trend_series *s, const cbx_metric_def *def, const char **machines,
                       size_t nmachines, const cbx__drawn *d, const cbx_change *changes, size_t n, cbx_err *err)
{
    static const int others[] = { 2, 3, 8, 5, 9, 10, 12, 14 };
    int colours[MAX_MACHINES + 1];
    size_t used = 0;
    cbx_plot_opts o = { .struct_size = sizeof o, .width = 960, .height = 380, .x = CBX_PLOT_DATES };
    cbx_plot *plot = NULL;
    cbx_status st;

    if (v->document || !d->n) return CBX_OK;
    o.y_label = def->unit && *def->unit ? cbx__view_text(v, "%s [%s]", s->metric, def->unit) : s->metric;
    st = cbx_plot_create(v->ctx, &o, &plot, err);
    for (size_t m = 0; !st && m < nmachines; m++) {
        cbx__drawn of = m ? cbx__series_values(v, s, machines[m]) : *d;
        if (of.n) colours[used++] = others[m];
        if (of.n)
            st = cbx__series_plot(v, plot, &of,
                                  nmachines > 1 ? machines[m] ? machines[m] : "no machine named"
                                  : n           ? "value"
                                                : NULL,
                                  err);
    }
    colours[used++] = 4;
    if (!st) st = cbx__series_plot_levels(v, plot, d, changes, n, err);
    return cbx__view_figure(v, st, plot, colours, used,
                            cbx__view_text(v, "%s of %s, %zu value%s%s", s->metric, s->point, d->n,
                                           d->n == 1 ? "" : "s",
                                           d->n > 400 ? ": means of short spans, with their extremes as a band" : ""));
}

static cbx_status show_one(void *user, const cbx_trend_series *s, cbx_err *err)
{
    one *o = user;
    cbx__view *v = o->v;
    const cbx_point p = { s->point, s->scenario, s->tags, s->ntags, NULL, 0 };
    const cbx_point wanted = {
        o->q.point ? o->q.point : "", o->q.scenario ? o->q.scenario : "", o->q.tags, o->q.ntags, NULL, 0
    };
    const char *machines[MAX_MACHINES];
    size_t nmachines, n;
    cbx_metric_def def = { 0 };
    cbx_change *changes;
    cbx__drawn d;
    cbx_status st;

    if (o->found || !cbx_point_same(&wanted, &p, NULL)) return CBX_OK;
    o->found = true;
    if (!cbx__view_got(v, cbx_store_metric_def(v->store, s->metric, v->arena, &def, NULL)))
        def = (cbx_metric_def){ .unit = NULL };
    nmachines = machines_of(s, machines);
    d = cbx__series_values(v, s, machines[0]);
    n = cbx__series_changes(v, &d, MAX_CHANGES, &changes);
    cbx__view_begin(v, "trends", cbx__view_text(v, "%s of %s", s->metric, s->point));
    cbx__view_facts(v);
    cbx__view_fact(v, "Scenario", s->scenario);
    cbx__view_fact(v, "Tags", cbx__view_tags(v, s->tags, s->ntags));
    cbx__view_fact(v, "Unit", def.unit);
    if (def.unit) cbx__view_fact(v, "Better", cbx_direction_name(def.direction));
    cbx__view_fact(v, "Meaning", def.description);
    cbx__view_fact(v, "Values", cbx__view_text(v, "%zu", s->npoints));
    cbx__view_fact(v, "Newest",
                   cbx__view_value(v, s->points[s->npoints - 1].value, s->points[s->npoints - 1].lower,
                                   s->points[s->npoints - 1].upper, def.unit));
    for (size_t m = 0; nmachines > 1 && m < nmachines; m++) {
        cbx__request to = cbx__request_with(v->request, "machine", machines[m] ? machines[m] : "-");
        to = cbx__request_with(&to, "page", NULL);
        cbx__view_fact_link(v, cbx__view_text(v, "Machine %zu", m + 1), cbx__view_href(v, &to),
                            machines[m] ? machines[m] : "not named");
    }
    cbx__view_facts_end(v);
    if (nmachines > 1)
        cbx__view_note(v,
                       "The values are of %zu machines; changes are looked for in those of machine 1, which measured "
                       "last.",
                       nmachines);
    if (d.left_out)
        cbx__view_note(v, "%zu value%s not a number and left out.", d.left_out, d.left_out == 1 ? " is" : "s are");
    if (d.n > MAX_CHANGES) cbx__view_note(v, "Changes are looked for in the newest %d values.", MAX_CHANGES);
    st = draw(v, s, &def, machines, nmachines, &d, changes, n, err);
    put_changes(v, &d, changes, n, &def);
    put_values(v, s, def.unit);
    return st;
}

cbx_status cbx__view_trend(cbx__view *v, cbx_err *err)
{
    one o = { .v = v, .q = { .machine = cbx__request_param(v->request, "machine") } };
    cbx_status st = cbx__view_select(v, &o.q, err);

    if (!o.q.metric) return cbx_fail(err, CBX_EINVAL, "the address lacks the series: metric=NAME&point=NAME");
    if (!st) st = cbx_store_trend_each(v->store, &o.q, NULL, show_one, &o, err);
    if (!st && !o.found) st = cbx_fail(err, CBX_ENOENT, "the store has no such series");
    return st;
}
