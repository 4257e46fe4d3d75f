/*
 * calibrax watch --data: a value a run of each metric, oldest first, then those of runs as they come.
 */
#include <string.h>

#include "programs/calibrax/select.h"
#include "programs/calibrax/watch.h"

/* What was taken of a store for one metric: the one series, and the runs whose value was, as a table that is at most half full. */
typedef struct place {
    size_t metric;
    const char *series; /* NULL: none yet */
    const char **ids;
    size_t nids, room;     /* a power of 2 */
    cbx_same_machine said; /* of its machines */
} place;

/* Where the id is, or would be: FNV-1a, and on from there. */
static const char **find_id(const char **ids, size_t room, const char *id)
{
    uint64_t hash = 14695981039346656037u;

    for (const char *c = id; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    while (ids[hash & (room - 1)] && strcmp(ids[hash & (room - 1)], id)) hash++;
    return &ids[hash & (room - 1)];
}

static bool make_room(cbx_arena *arena, place *at)
{
    size_t room = at->room ? 2 * at->room : 64;
    const char **ids;

    if (at->room > 2 * at->nids) return true;
    ids = cbx_arena_calloc(arena, room, sizeof *ids);
    for (size_t i = 0; ids && i < at->room; i++)
        if (at->ids[i]) *find_id(ids, room, at->ids[i]) = at->ids[i];
    if (ids) at->ids = ids;
    if (ids) at->room = room;
    return ids != NULL;
}

static const char *name_of(cbx_arena *arena, const cbx_trend_series *s)
{
    const cbx_point p = { s->point, s->scenario, s->tags, s->ntags, NULL, 0 };
    return point_key(arena, &p, NULL);
}

static int need_series(watcher *w, const cbx_trend *trend, place *at)
{
    const char *name = name_of(w->run->arena, &trend->series[0]);

    if (!name) return opt_fail(w->run->program, "out of memory");
    if (!at->series) at->series = name;
    if (trend->count == 1 && !strcmp(at->series, name)) return EXIT_PASS;
    return opt_fail(w->run->program,
                    "watch: several series have a metric '%s': choose one with --point, --scenario or --tag",
                    w->metrics[at->metric].name);
}

/* A run counts when it is first seen there, however old it says it is: one that was measured elsewhere may come late. */
static int take_point(watcher *w, place *at, const cbx_trend_point *p)
{
    const char **slot;

    if (!make_room(w->run->arena, at)) return opt_fail(w->run->program, "out of memory");
    slot = find_id(at->ids, at->room, p->run_id);
    if (*slot) return EXIT_PASS;
    *slot = cbx_arena_strdup(w->run->arena, p->run_id);
    if (!*slot) return opt_fail(w->run->program, "out of memory");
    at->nids++;
    watch_take(w, at->metric, p->value);
    return EXIT_PASS;
}

/* What is asked of runs, and of points with the metric; NULL: of runs alone. */
static int ask(watcher *w, const char *metric, cbx_store_query *out)
{
    const watch_args *a = w->a;
    const select_args runs = { .branch = a->branch, .machine = a->machine };
    const select_args points = { .metric = metric,
                                 .point = a->point,
                                 .scenario = a->scenario,
                                 .branch = a->branch,
                                 .machine = a->machine,
                                 .tags = a->tags };

    return select_query(w->run, metric ? &points : &runs, out);
}

/* A metric that the newest run has lost would pass by what older ones say of it; so would one whose newest run cannot be read. */
static int check_newest(watcher *w, cbx_store *store, const char *metric, const char *last)
{
    cbx_store_query query;
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = ask(w, NULL, &query);

    query.limit = 1;
    if (status) return status;
    if (cbx_store_query_runs(store, &query, &list, &err)) return opt_fail(w->run->program, "%s", err.message);
    status = select_need_newest(w->run, store, &list, "");
    if (!status && !w->a->allow_dropped && list.count && strcmp(list.entries[0].id, last))
        status = opt_fail(
            w->run->program,
            "watch --once: the newest run, '%s', has no '%s', which run '%s' had: choose runs with --branch "
            "or --machine, or say --allow-dropped",
            list.entries[0].id, metric, last);
    cbx_store_list_clear(&list);
    return status;
}

static int take_new(watcher *w, cbx_store *store, place *at)
{
    cbx_store_query query;
    cbx_err err = CBX_ERR_INIT;
    cbx_trend trend;
    int status = ask(w, w->metrics[at->metric].name, &query);

    if (status) return status;
    if (cbx_store_trend(store, &query, &trend, &err)) return opt_fail(w->run->program, "%s", err.message);
    if (trend.count) {
        const cbx_trend_series *s = &trend.series[0];
        const char *metric = w->metrics[at->metric].name;
        status = need_series(w, &trend, at);

        if (!status) status = select_check_machines(w->run, s, metric, w->a->allow_machines, &at->said);
        if (!status) status = select_check_units(w->run, store, s, metric, false);
        if (!status && w->a->once && s->npoints)
            status = check_newest(w, store, metric, s->points[s->npoints - 1].run_id);
        for (size_t i = 0; !status && i < s->npoints && !*w->stop; i++) status = take_point(w, at, &s->points[i]);
    }
    cbx_trend_clear(&trend);
    return status;
}

int watch_store(watcher *w)
{
    place places[WATCH_MOST_METRICS] = { 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_store *store = NULL;
    int status = EXIT_PASS;

    if (cbx_store_open(w->run->ctx, w->a->data, NULL, &store, &err))
        return opt_fail(w->run->program, "%s", err.message);
    for (;;) {
        for (size_t i = 0; !status && i < w->nmetrics; i++) {
            places[i].metric = i;
            status = take_new(w, store, &places[i]);
        }
        if (status || watch_over(w)) break;
        watch_rest(w);
    }
    cbx_store_close(store);
    return status;
}
