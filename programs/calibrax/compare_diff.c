/*
 * calibrax compare --diff: the differences between two runs, point by point, metric by metric, and
 * in commit, environment and metadata.
 *
 * Values are compared by the engine that gates (calibrax/analysis/regression.h), at a threshold of
 * 0, so a change is called worse here exactly if check would find it; machines may differ, for that
 * is one of the differences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/regression.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/list.h"
#include "programs/calibrax/compare.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

/* A member of environment or metadata that one run lacks or that differs. */
typedef struct fact {
    const char *path;
    const cbx_json *old, *new; /* NULL: missing, or null */
} fact;

typedef struct diff {
    const opt_run *run;
    const cbx_run *old, *new;
    cbx_regression *r;
    cbx_json *old_head, *new_head;     /* id, time, commit, branch, machine */
    const char **old_keys, **new_keys; /* of points, sorted */
    CBX_LIST(fact) facts;
    size_t nchanged, nunchanged, nonly_old, nonly_new, nmetrics_only;
} diff;

/* --- points, named as findings name them --- */

static const char **keys_of(diff *d, const cbx_run *r)
{
    size_t n = cbx_run_npoints(r);
    const char **keys = cbx_arena_calloc(d->run->arena, n, sizeof *keys);

    for (size_t i = 0; i < n; i++) {
        CBX_SCOPED(cbx_arena, passing, &d->run->arena->al);
        keys[i] = cbx_arena_strdup(d->run->arena, point_key(&passing, cbx_run_point(r, i), NULL));
    }
    qsort(keys, n, sizeof *keys, cbx_compare_texts);
    return keys;
}

typedef struct part {
    const char *text;
    size_t len;
} part;

static int compare_part(const void *wanted, const void *key)
{
    const part *w = wanted;
    const char *text = *(const char *const *)key;
    int c = strncmp(w->text, text, w->len);

    return c ? c : -(text[w->len] != 0);
}

/* Whether one of the runs has the point whose key is the first len bytes of a text. */
static bool has_point(const diff *d, bool in_old, const char *key, size_t len)
{
    return bsearch(&(part){ key, len }, in_old ? d->old_keys : d->new_keys, cbx_run_npoints(in_old ? d->old : d->new),
                   sizeof(char *), compare_part) != NULL;
}

/* The i-th key of a run, if the other run lacks it; else NULL. */
static const char *only_point(const diff *d, bool in_old, size_t i)
{
    const char *key = in_old ? d->old_keys[i] : d->new_keys[i];

    return has_point(d, !in_old, key, strlen(key)) ? NULL : key;
}

/* --- values --- */

typedef enum kind { SAME, CHANGED, ONLY_OLD, ONLY_NEW, OF_A_POINT } kind;

static bool is_change(const diff *d, const cbx_finding *f)
{
    const compare_args *a = d->run->args;

    if (f->outcome == CBX_OUTCOME_DEFINITIONS_DIFFER || f->outcome == CBX_OUTCOME_DUPLICATE) return true;
    if (f->outcome == CBX_OUTCOME_UNCHANGED || f->baseline == f->current) return false;
    if (isnan(f->baseline) && isnan(f->current)) return false;
    return !(fabs(f->change) <= a->threshold);
}

/* OF_A_POINT: listed with the point that only one run has. */
static kind kind_of(const diff *d, const cbx_finding *f)
{
    size_t point; /* the point's part of the key */

    if (f->outcome != CBX_OUTCOME_NEW && f->outcome != CBX_OUTCOME_DROPPED) return is_change(d, f) ? CHANGED : SAME;
    point = strlen(f->key) - strlen(f->metric) - 1;
    if (f->outcome == CBX_OUTCOME_NEW) return has_point(d, true, f->key, point) ? ONLY_NEW : OF_A_POINT;
    return has_point(d, false, f->key, point) ? ONLY_OLD : OF_A_POINT;
}

/* --- commit, environment, metadata --- */

/* Objects are compared member by member, any other value as one. */
static void compare_json(diff *d, const char *path, const cbx_json *old, const cbx_json *new)
{
    const char *key;
    cbx_json *value;

    if (cbx_json_typeof(old) != CBX_JSON_OBJECT || cbx_json_typeof(new) != CBX_JSON_OBJECT) {
        if (!cbx_json_equal(old, new))
            (void)cbx_list_push(CBX_IN_ARENA(d->run->arena), &d->facts, (fact){ path, old, new });
        return;
    }
    for (size_t i = 0; cbx_json_member(old, i, &key, &value); i++)
        compare_json(d, cbx_arena_printf(d->run->arena, "%s.%s", path, key), value, cbx_json_get(new, key));
    for (size_t i = 0; cbx_json_member(new, i, &key, &value); i++)
        if (!cbx_json_has(old, key)) compare_json(d, cbx_arena_printf(d->run->arena, "%s.%s", path, key), NULL, value);
}

/* --- working out --- */

static int work_out(diff *d)
{
    static const char *const words[] = { "commit", "branch" };
    const compare_args *a = d->run->args;
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;

    o.threshold = o.primary_threshold = o.secondary_threshold = a->threshold;
    o.values_only = o.no_sentences = true;
    o.allow_dropped = o.allow_machines = o.allow_same = true;
    if (opt_check(d->run, cbx_regression_create(d->run->ctx, d->new, d->old, &o, &d->r, d->run->err)))
        return EXIT_ERROR;
    d->old_keys = keys_of(d, d->old);
    d->new_keys = keys_of(d, d->new);
    d->old_head = run_head(d->old);
    d->new_head = run_head(d->new);
    for (size_t i = 0; !a->values && i < CBX_LEN(words); i++)
        compare_json(d, words[i], cbx_json_get(d->old_head, words[i]), cbx_json_get(d->new_head, words[i]));
    if (!a->values) {
        compare_json(d, "environment", cbx_run_environment(d->old), cbx_run_environment(d->new));
        compare_json(d, "metadata", cbx_run_metadata(d->old), cbx_run_metadata(d->new));
    }
    for (size_t i = 0; i < cbx_regression_nfindings(d->r); i++) {
        kind k = kind_of(d, cbx_regression_finding(d->r, i));
        d->nchanged += k == CHANGED;
        d->nunchanged += k == SAME;
        d->nmetrics_only += k == ONLY_OLD || k == ONLY_NEW;
    }
    for (size_t i = 0; i < cbx_run_npoints(d->old); i++) d->nonly_old += only_point(d, true, i) != NULL;
    for (size_t i = 0; i < cbx_run_npoints(d->new); i++) d->nonly_new += only_point(d, false, i) != NULL;
    return EXIT_PASS;
}

/* --- JSON --- */

static void stream_points(const diff *d, bool in_old, json_stream *out)
{
    for (size_t i = 0; i < cbx_run_npoints(in_old ? d->old : d->new); i++) {
        const char *key = only_point(d, in_old, i);
        if (key) json_stream_add(out, cbx_json_new_string(key));
    }
}

static void stream_metrics(const diff *d, kind wanted, json_stream *out)
{
    for (size_t i = 0; i < cbx_regression_nfindings(d->r); i++) {
        const cbx_finding *f = cbx_regression_finding(d->r, i);
        if (kind_of(d, f) != wanted) continue;
        json_stream_add(out, wanted != CHANGED
                                 ? cbx_json_new_string(f->key)
                                 : cbx_json_object(J_TEXT("key", f->key), J_TEXT("unit", f->unit),
                                                   J_TEXT("outcome", cbx_outcome_name(f->outcome)),
                                                   J_NUMBER("old", f->baseline), J_NUMBER("new", f->current),
                                                   J_NUMBER("change", f->change)));
    }
}

static int print_diff_json(const diff *d)
{
    cbx_json *tail = cbx_json_new_object();
    json_stream out;

    cbx_json *head = cbx_json_document("calibrax-diff", J_JSON("old", cbx_json_ref(d->old_head)),
                                       J_JSON("new", cbx_json_ref(d->new_head)));
    json_stream_begin(&out, head, "points_dropped");
    stream_points(d, true, &out);
    json_stream_next(&out, NULL, "points_added");
    stream_points(d, false, &out);
    json_stream_next(&out, NULL, "metrics_dropped");
    stream_metrics(d, ONLY_OLD, &out);
    json_stream_next(&out, NULL, "metrics_added");
    stream_metrics(d, ONLY_NEW, &out);
    json_stream_next(&out, NULL, "changed");
    stream_metrics(d, CHANGED, &out);
    cbx_json_set_int(tail, "unchanged", (int64_t)d->nunchanged);
    cbx_json *facts = cbx_json_set_array(tail, "facts");
    for (size_t i = 0; i < d->facts.n; i++)
        cbx_json_push(facts,
                      cbx_json_object(J_TEXT("path", d->facts.items[i].path), J_COPY("old", d->facts.items[i].old),
                                      J_COPY("new", d->facts.items[i].new)));
    return json_stream_end(&out, d->run, tail);
}

/* --- text --- */

static void print_key(const diff *d, bool in_old, const char *key)
{
    paint how = in_old ? PAINT_BAD : PAINT_GOOD;

    printf("%s%c %s%s\n", paint_begin(how), in_old ? '-' : '+', plain_text(d->run->arena, key), paint_end(how));
}

static void print_only(const diff *d, bool in_old)
{
    for (size_t i = 0; i < cbx_run_npoints(in_old ? d->old : d->new); i++) {
        const char *key = only_point(d, in_old, i);
        if (key) print_key(d, in_old, key);
    }
}

static const char *words_of(const cbx_finding *f, paint *how)
{
    *how = PAINT_PLAIN;
    if (f->outcome == CBX_OUTCOME_DEFINITIONS_DIFFER) return "defined differently";
    if (isnan(f->change) || f->direction == CBX_DIRECTION_INFO || f->change == 0) return "";
    bool worse = (f->change > 0) == (f->direction == CBX_DIRECTION_LOWER);
    *how = worse ? PAINT_BAD : PAINT_GOOD;
    return worse ? "worse" : "better";
}

static void print_changes(const diff *d)
{
    static const char *const heads[] = { "Changed", "Unit", "Old", "New", "Change", "" };
    cbx_arena *arena = d->run->arena;
    columns *table = columns_begin(arena, heads, "llrrrl");
    char text[CBX_FORMAT_SIZE];

    if (!d->nchanged) return;
    for (size_t i = 0; i < cbx_regression_nfindings(d->r); i++) {
        const cbx_finding *f = cbx_regression_finding(d->r, i);
        paint how;
        const char *words = words_of(f, &how);
        if (kind_of(d, f) != CHANGED) continue;
        columns_put(table, PAINT_PLAIN, plain_text(arena, f->key));
        columns_put(table, PAINT_PLAIN, f->unit ? plain_text(arena, f->unit) : "");
        columns_number(table, PAINT_PLAIN, f->baseline);
        columns_number(table, PAINT_PLAIN, f->current);
        columns_put(table, how, cbx_arena_strdup(arena, format_percent(f->change, text)));
        columns_put(table, how, words);
    }
    columns_print(table, "");
}

static const char *json_words(const diff *d, const cbx_json *v)
{
    if (!v) return "nothing";
    SCOPED_TEXT(text, cbx_ctx_allocator(d->run->ctx));
    cbx_json_write(v, CBX_JSON_COMPACT, &text);
    return plain_text(d->run->arena, cbx_arena_strdup(d->run->arena, cbx_text_str(&text)));
}

static void print_diff(const diff *d)
{
    char old[CBX_TIME_SIZE], new[CBX_TIME_SIZE];

    printf("old: %s  %s\nnew: %s  %s\n", cbx_run_id(d->old), format_time(cbx_run_timestamp_us(d->old), old),
           cbx_run_id(d->new), format_time(cbx_run_timestamp_us(d->new), new));
    print_only(d, true);
    print_only(d, false);
    for (size_t i = 0; i < cbx_regression_nfindings(d->r); i++) {
        const cbx_finding *f = cbx_regression_finding(d->r, i);
        kind k = kind_of(d, f);
        if (k == ONLY_OLD || k == ONLY_NEW) print_key(d, k == ONLY_OLD, f->key);
    }
    print_changes(d);
    for (size_t i = 0; i < d->facts.n; i++)
        printf("%s%s:%s %s -> %s\n", paint_begin(PAINT_FAINT), plain_text(d->run->arena, d->facts.items[i].path),
               paint_end(PAINT_FAINT), json_words(d, d->facts.items[i].old), json_words(d, d->facts.items[i].new));
    printf("%zu value%s differ%s, %zu do%s not; points: %zu dropped, %zu added\n", d->nchanged,
           d->nchanged == 1 ? "" : "s", d->nchanged == 1 ? "s" : "", d->nunchanged, d->nunchanged == 1 ? "es" : "",
           d->nonly_old, d->nonly_new);
}

/* --- the mode --- */

int compare_diff(const opt_run *run)
{
    const compare_args *a = run->args;
    CLEARED(inputs_list) l = { NULL, 0 };
    diff d = { .run = run };
    int status = inputs_load(run, &a->select, &a->inputs, NULL, &l, NULL);

    if (!status && l.n != 2)
        status = opt_fail(run, "'--diff' needs two runs, the old one and the new one, got %zu", l.n);
    if (!status) {
        d.old = l.items[0];
        d.new = l.items[1];
        status = work_out(&d);
    }
    if (!status && a->select.json)
        status = print_diff_json(&d);
    else if (!status)
        print_diff(&d);
    if (!status && a->exit_code && (d.nchanged || d.nonly_old || d.nonly_new || d.nmetrics_only || d.facts.n))
        status = EXIT_CHECK;
    cbx_json_unref(d.old_head);
    cbx_json_unref(d.new_head);
    cbx_regression_free(d.r);
    return status;
}
