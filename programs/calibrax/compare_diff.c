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

/* One of the two runs. */
typedef struct side {
    const cbx_run *run;
    cbx_json *head;              /* id, time, commit, branch, machine */
    const char **keys;           /* of points, sorted */
    CBX_LIST(const char *) only; /* those that the other run lacks */
} side;

enum { OLD, NEW };

typedef struct diff {
    const opt_run *run;
    side sides[2];
    cbx_regression *r;
    CBX_LIST(fact) facts;
    size_t nchanged, nunchanged, nmetrics_only;
} diff;

/* --- points, named as findings name them --- */

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

/* Whether a run has the point whose key is the first len bytes of a text. */
static bool has_point(const side *s, const char *key, size_t len)
{
    return bsearch(&(part){ key, len }, s->keys, cbx_run_npoints(s->run), sizeof *s->keys, compare_part) != NULL;
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
    if (f->outcome == CBX_OUTCOME_NEW) return has_point(&d->sides[OLD], f->key, point) ? ONLY_NEW : OF_A_POINT;
    return has_point(&d->sides[NEW], f->key, point) ? ONLY_OLD : OF_A_POINT;
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
    const cbx_allocator al = cbx_arena_allocator(d->run->arena);
    side *old = &d->sides[OLD], *new = &d->sides[NEW];
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;

    o.threshold = o.primary_threshold = o.secondary_threshold = a->threshold;
    o.values_only = o.no_sentences = true;
    o.allow_dropped = o.allow_machines = o.allow_same = true;
    if (opt_check(d->run, cbx_regression_create(d->run->ctx, new->run, old->run, &o, &d->r, d->run->err)))
        return EXIT_ERROR;
    for (side *s = d->sides; s < d->sides + 2; s++) {
        const size_t n = cbx_run_npoints(s->run);
        s->head = run_head(s->run);
        s->keys = cbx_arena_calloc(d->run->arena, n, sizeof *s->keys);
        for (size_t i = 0; i < n; i++) {
            CBX_SCOPED(cbx_arena, passing, &d->run->arena->al);
            s->keys[i] = cbx_arena_strdup(d->run->arena, point_key(&passing, cbx_run_point(s->run, i), NULL));
        }
        qsort(s->keys, n, sizeof *s->keys, cbx_compare_texts);
    }
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < cbx_run_npoints(d->sides[k].run); i++) {
            const char *key = d->sides[k].keys[i];
            if (!has_point(&d->sides[!k], key, strlen(key))) (void)cbx_list_push(&al, &d->sides[k].only, key);
        }
    for (size_t i = 0; !a->values && i < CBX_LEN(words); i++)
        compare_json(d, words[i], cbx_json_get(old->head, words[i]), cbx_json_get(new->head, words[i]));
    if (!a->values) {
        compare_json(d, "environment", cbx_run_environment(old->run), cbx_run_environment(new->run));
        compare_json(d, "metadata", cbx_run_metadata(old->run), cbx_run_metadata(new->run));
    }
    for (size_t i = 0; i < cbx_regression_nfindings(d->r); i++) {
        kind k = kind_of(d, cbx_regression_finding(d->r, i));
        d->nchanged += k == CHANGED;
        d->nunchanged += k == SAME;
        d->nmetrics_only += k == ONLY_OLD || k == ONLY_NEW;
    }
    return EXIT_PASS;
}

/* --- JSON --- */

static void stream_points(const side *s, json_stream *out)
{
    for (size_t i = 0; i < s->only.n; i++) json_stream_add(out, cbx_json_new_string(s->only.items[i]));
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

    cbx_json *head = cbx_json_document("calibrax-diff", J_JSON("old", cbx_json_ref(d->sides[OLD].head)),
                                       J_JSON("new", cbx_json_ref(d->sides[NEW].head)));
    json_stream_begin(&out, head, "points_dropped");
    stream_points(&d->sides[OLD], &out);
    json_stream_next(&out, NULL, "points_added");
    stream_points(&d->sides[NEW], &out);
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
    char time[CBX_TIME_SIZE];

    for (int k = 0; k < 2; k++)
        printf("%s: %s  %s\n", k == OLD ? "old" : "new", cbx_run_id(d->sides[k].run),
               format_time(cbx_run_timestamp_us(d->sides[k].run), time));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < d->sides[k].only.n; i++) print_key(d, k == OLD, d->sides[k].only.items[i]);
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
           d->sides[OLD].only.n, d->sides[NEW].only.n);
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
    for (int k = 0; !status && k < 2; k++) d.sides[k].run = l.items[k];
    if (!status) status = work_out(&d);
    if (!status && a->select.json)
        status = print_diff_json(&d);
    else if (!status)
        print_diff(&d);
    if (!status && a->exit_code &&
        (d.nchanged || d.sides[OLD].only.n || d.sides[NEW].only.n || d.nmetrics_only || d.facts.n))
        status = EXIT_CHECK;
    for (int k = 0; k < 2; k++) cbx_json_unref(d.sides[k].head);
    cbx_regression_free(d.r);
    return status;
}
