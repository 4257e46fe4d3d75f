/*
 * Choosing runs and points by options, and what is shown of them.
 */
#include "programs/calibrax/select.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/text.h"
#include "programs/common/output.h"

#define AHEAD_US 86400000000LL /* clocks set by hand, and times without a zone, differ by less */

/* --- the store --- */

const char *store_path(const opt_run *run, const char *data)
{
    const char *named = getenv("CALIBRAX_DATA"), *path = ".calibrax";
    char here[PATH_MAX];

    if (data) return data;
    if (named && *named) return named;
    if (!getcwd(here, sizeof here)) {
        opt_fail(run, "cannot find the working folder (%s): name the store with --data", strerror(errno));
        return NULL;
    }
    for (size_t depth = 0;; depth++) {
        const char *git = cbx_path_join(run->arena, here, ".git"); /* a folder, or a file in a work tree of its own */
        char *end = strrchr(here, '/');

        if (cbx_path_exists(git)) {
            if (depth) path = cbx_path_join(run->arena, here, ".calibrax");
            break;
        }
        if (!end || !end[1]) break;
        end[end == here] = '\0';
    }
    return path;
}

int select_open(const opt_run *run, const select_args *a, bool create, cbx_store **out)
{
    const cbx_store_opts opts = { .struct_size = sizeof opts, .create = create, .no_index_file = a->no_index };
    const char *path = store_path(run, a->data);

    if (!path) return EXIT_ERROR;
    cbx_status st = cbx_store_open(run->ctx, path, &opts, out, run->err);
    if (st == CBX_ENOENT && !a->data)
        return opt_fail(run, "%s: name one with --data or CALIBRAX_DATA, or make it with 'calibrax ingest'",
                        run->err->message);
    if (st) return opt_check(run, st);
    if (!a->data) fprintf(stderr, "%s: store '%s'\n", run->program->name, path);
    return EXIT_PASS;
}

cbx_status select_load(cbx_store *store, const char *which, bool bare, cbx_run **out, cbx_err *err)
{
    static const char prefix[] = "baseline:";
    const cbx_store_query newest = { .limit = 1 };
    CLEARED(cbx_store_list) list = { 0 };

    if (strncmp(which, prefix, sizeof(prefix) - 1) == 0)
        return cbx_store_baseline_get(store, which + sizeof(prefix) - 1, out, err);
    cbx_status st = bare ? cbx_store_load_bare(store, which, out, err) : cbx_store_load(store, which, out, err);
    if (st || strcmp(which, "latest") != 0 || strcmp(cbx_run_id(*out), which) != 0) return st;
    if (!cbx_store_query_runs(store, &newest, &list, NULL) && list.count && !strcmp(list.entries[0].id, which))
        return CBX_OK;
    cbx_run_free(*out);
    *out = NULL;
    return cbx_fail(err, CBX_EINVAL, "a run that is not the newest has the id 'latest': name the newest run by its id");
}

const char *select_name(const opt_run *run, const char *option)
{
    if (run->words->count > 1) {
        opt_fail(run, "'%s %s' takes one run, got %zu", run->program->name, run->command->name, run->words->count);
        return NULL;
    }
    return run->words->count ? run->words->items[0] : option ? option : "latest";
}

int select_run(const opt_run *run, cbx_store *store, const char *which, cbx_run **out)
{
    return select_defined_run(run, store, which, false, true, out);
}

/* --- definitions --- */

cbx_status select_defs(const opt_run *run, cbx_store *store, cbx_run **out, cbx_err *err)
{
    const char *path = cbx_path_join(run->arena, cbx_store_root(store), "config.json");

    *out = NULL;
    return cbx_path_exists(path) ? cbx_run_defs_read(run->ctx, path, out, err) : CBX_OK;
}

cbx_run *select_defs_or_warn(const opt_run *run, cbx_store *store)
{
    cbx_run *defs = NULL;

    if (select_defs(run, store, &defs, run->err)) opt_fail(run, "warning: %s", run->err->message);
    return defs;
}

static bool lacks(const cbx_run *r, const cbx_metric_def *def)
{
    bool measured = false;

    if (cbx_run_find_metric_def(r, def->name)) return false;
    for (size_t i = 0; !measured && i < cbx_run_npoints(r); i++)
        measured = cbx_point_metric(cbx_run_point(r, i), def->name) != NULL;
    return measured;
}

cbx_status select_define(const opt_run *run, const cbx_run *defs, cbx_run **r, cbx_err *err)
{
    size_t n = defs ? cbx_run_nmetric_defs(defs) : 0;
    SCOPED(cbx_run_builder) *b = NULL;
    cbx_run *changed = NULL;
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < n; i++) {
        const cbx_metric_def *def = cbx_run_metric_def(defs, i);
        if (!lacks(*r, def)) continue;
        if (!b) st = cbx_run_builder_from(run->ctx, *r, &b, err);
        if (!st) st = cbx_run_builder_add_metric_def(b, def, err);
    }
    if (!st && b) st = cbx_run_builder_freeze(b, &changed, err);
    if (!st && !changed) return CBX_OK;
    cbx_run_free(*r);
    *r = changed;
    return st;
}

int select_defined_run(const opt_run *run, cbx_store *store, const char *which, bool bare, bool json, cbx_run **out)
{
    if (opt_check(run, select_load(store, which, bare, out, run->err))) return EXIT_ERROR;
    if (!strcmp(which, "latest")) select_warn(run, store);
    if (json) return EXIT_PASS;
    SCOPED(cbx_run) *defs = select_defs_or_warn(run, store);
    return opt_check(run, select_define(run, defs, out, run->err));
}

void select_warn(const opt_run *run, cbx_store *store)
{
    CLEARED(cbx_store_report) report = { 0 };

    if (opt_check(run, cbx_store_problems(store, &report, run->err))) return;
    for (size_t i = 0; i < report.nproblems; i++) opt_fail(run, "warning: %s", report.problems[i].message);
}

int select_need_readable(const opt_run *run, cbx_store *store, const char *or_else)
{
    CLEARED(cbx_store_report) report = { 0 };

    if (opt_check(run, cbx_store_problems(store, &report, run->err))) return EXIT_ERROR;
    if (!report.nproblems) return EXIT_PASS;
    return opt_fail(run, "%s; it may be the latest run: repair it or remove it%s", report.problems[0].message, or_else);
}

int select_need_newest(const opt_run *run, cbx_store *store, const cbx_store_list *l, const char *or_else)
{
    const cbx_store_entry *first = l->entries;
    char time[CBX_TIME_SIZE];

    if (l->count > 1 && first[0].timestamp_us == first[1].timestamp_us)
        return opt_fail(run, "runs '%s' and '%s' have the same time: name one with --run", first[0].id, first[1].id);
    if (l->count && first->timestamp_us > cbx_time_now_us() + AHEAD_US)
        return opt_fail(run, "run '%s' has the time %s, which is in the future: correct it%s", first->id,
                        cbx_time_format_iso(first->timestamp_us, time), or_else);
    return select_need_readable(run, store, or_else);
}

int select_need_latest(const opt_run *run, cbx_store *store)
{
    const cbx_store_query newest = { .limit = 2 };
    CLEARED(cbx_store_list) list = { 0 };

    if (opt_check(run, cbx_store_query_runs(store, &newest, &list, run->err))) return EXIT_ERROR;
    return select_need_newest(run, store, &list, ", or name a run with --run");
}

int select_number(const opt_run *run, const char *option, const char *name, const char *word, const char **key,
                  double *x)
{
    const char *equals = strrchr(word, '=');

    if (!equals || equals == word || !opt_number(equals + 1, x))
        return opt_fail(run, "'--%s' must be %s=X with a number X, got '%s'", option, name, word);
    *key = cbx_arena_strndup(run->arena, word, (size_t)(equals - word));
    return EXIT_PASS;
}

int select_pair(const opt_run *run, const char *option, const char *name, const char *word, const char **key, double *x)
{
    if (select_number(run, option, name, word, key, x)) return EXIT_ERROR;
    if (*x >= 0) return EXIT_PASS;
    return opt_fail(run, "'--%s' must be %s=X with X at least 0, got '%s'", option, name, word);
}

/* --- the query --- */

static int read_time(const opt_run *run, const char *option, const char *text, int64_t *out)
{
    const char *whole = text;

    if (!text) return EXIT_PASS;
    if (!strpbrk(text, "T :")) whole = cbx_arena_printf(run->arena, "%sT00:00:00Z", text);
    if (cbx_time_parse_iso(whole, out, run->err))
        return opt_fail(run, "'--%s' must be a date or time such as 2026-02-20T11:34:24Z, got '%s'", option, text);
    return EXIT_PASS;
}

int select_query(const opt_run *run, const select_args *a, cbx_store_query *out)
{
    cbx_tag *tags = cbx_arena_calloc(run->arena, a->tags.count, sizeof(*tags));

    *out = (cbx_store_query){ .branch = a->branch,
                              .commit = a->commit,
                              .machine = a->machine,
                              .point = a->point,
                              .scenario = a->scenario,
                              .metric = a->metric,
                              .tags = tags,
                              .ntags = a->tags.count,
                              .limit = a->limit };
    for (size_t i = 0; i < a->tags.count; i++) {
        const char *word = a->tags.items[i], *equals = strchr(word, '=');
        if (!equals || equals == word) return opt_fail(run, "'--tag' must be KEY=VALUE, got '%s'", word);
        tags[i] = (cbx_tag){ cbx_arena_strndup(run->arena, word, (size_t)(equals - word)), equals + 1 };
    }
    if (read_time(run, "since", a->since, &out->since_us)) return EXIT_ERROR;
    return read_time(run, "until", a->until, &out->until_us);
}

int select_check_machines(const opt_run *run, const cbx_trend_series *s, const char *what, bool allowed,
                          cbx_same_machine *noted)
{
    size_t known = 0, other = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        const char *first = s->points[0].machine, *machine = s->points[i].machine;
        known += cbx_machine_compare(machine, machine) == CBX_MACHINE_SAME;
        other += cbx_machine_compare(first, machine) == CBX_MACHINE_OTHER;
    }
    /* UNKNOWN: none of several names its machine */
    const cbx_same_machine m = other                                    ? CBX_MACHINE_OTHER
                               : known == s->npoints || s->npoints == 1 ? CBX_MACHINE_SAME
                               : known                                  ? CBX_MACHINE_OTHER
                                                                        : CBX_MACHINE_UNKNOWN;
    if (m == CBX_MACHINE_OTHER && !allowed)
        return opt_fail(run,
                        "'%s' has values of different machines: choose one with --machine, or accept them with "
                        "--allow-other-machine",
                        what);
    if (m == CBX_MACHINE_SAME || *noted == m) return EXIT_PASS;
    *noted = m;
    opt_fail(run,
             m == CBX_MACHINE_OTHER ? "note: '%s' has values of different machines"
                                    : "note: no run of '%s' names its machine",
             what);
    return EXIT_PASS;
}

int select_check_units(const opt_run *run, cbx_store *store, const cbx_trend_series *s, const char *what,
                       bool direction_too)
{
    const cbx_metric_def *first = NULL;
    SCOPED(cbx_run) *kept = NULL;
    bool mixed = false;
    int status = opt_check(run, cbx_store_metric_is_mixed(store, s->metric, &mixed, run->err));

    for (size_t i = 0; mixed && !status && i < s->npoints; i++) {
        const cbx_metric_def *def = NULL;
        SCOPED(cbx_run) *one = NULL;
        status = opt_check(run, cbx_store_load_bare(store, s->points[i].run_id, &one, run->err));
        if (!status) def = cbx_run_find_metric_def(one, s->metric);
        if (def && first && strcmp(def->unit, first->unit) != 0)
            status = opt_fail(
                run,
                "'%s' is in '%s' in run '%s' and in '%s' in run '%s': choose runs of one unit with --since or --until",
                what, first->unit, cbx_run_id(kept), def->unit, cbx_run_id(one));
        else if (direction_too && def && first && def->direction != first->direction)
            status = opt_fail(run,
                              "'%s' has direction '%s' in run '%s' and '%s' in run '%s': choose runs of one direction "
                              "with --since or --until",
                              what, cbx_direction_name(first->direction), cbx_run_id(kept),
                              cbx_direction_name(def->direction), cbx_run_id(one));
        if (def && !first) {
            first = def;
            kept = cbx_run_ref(one);
        }
    }
    return status;
}

bool select_point(const cbx_store_query *q, const cbx_point *p)
{
    if (q->point && strcmp(q->point, p->name) != 0) return false;
    if (q->scenario && strcmp(q->scenario, p->scenario) != 0) return false;
    if (q->metric && !cbx_point_metric(p, q->metric)) return false;
    for (size_t i = 0; i < q->ntags; i++) {
        const char *value = cbx_point_tag(p, q->tags[i].key);
        if (!value || strcmp(value, q->tags[i].value) != 0) return false;
    }
    return true;
}

/* --- a store to keep results in --- */

int keep_prepare(const opt_run *run, const char *root)
{
    const cbx_store_opts create = { .struct_size = sizeof create, .create = true };
    SCOPED(cbx_store) *store = NULL;

    return opt_check(run, cbx_store_open(run->ctx, root, &create, &store, run->err));
}

cbx_status keep_run(const opt_run *run, const char *root, const cbx_run *r, cbx_err *err)
{
    const cbx_store_opts create = { .struct_size = sizeof create, .create = true };
    SCOPED(cbx_store) *store = NULL;
    cbx_status st = cbx_store_open(run->ctx, root, NULL, &store, err);

    if (st == CBX_ENOENT) {
        st = cbx_store_open(run->ctx, root, &create, &store, err);
        if (!st)
            opt_fail(run,
                     "warning: the store '%s' was removed while the command ran, and was created again: if its disk "
                     "returns, ingest '%s/runs/%s.json' there",
                     root, root, cbx_run_id(r));
    }
    return st ? st : cbx_store_save(store, r, false, err);
}

/* --- JSON --- */

cbx_json *tags_json(const cbx_tag *tags, size_t n)
{
    cbx_json *o = cbx_json_new_object();

    for (size_t i = 0; o && i < n; i++) cbx_json_set_string(o, tags[i].key, tags[i].value);
    return o;
}

cbx_json *metric_json(const cbx_metric *m)
{
    cbx_json *o = cbx_json_object(J_NUMBER("value", m->value), J_KNOWN("lower", m->lower), J_KNOWN("upper", m->upper));

    if (m->samples) cbx_json_set_doubles(o, "samples", m->samples, m->nsamples);
    return o;
}

cbx_json *metrics_json(const cbx_point *p)
{
    cbx_json *o = cbx_json_new_object();

    for (size_t i = 0; o && i < p->nmetrics; i++)
        cbx_json_set(o, p->metrics[i].name, metric_json(&p->metrics[i].metric));
    return o;
}

const char *run_machine(const cbx_run *run) { return cbx_json_get_string(cbx_run_environment(run), "machine", NULL); }

cbx_json *run_head(const cbx_run *run)
{
    char time[CBX_TIME_SIZE];

    return cbx_json_object(J_TEXT("id", cbx_run_id(run)),
                           J_TEXT("timestamp", cbx_time_format_iso(cbx_run_timestamp_us(run), time)),
                           J_TEXT("commit", cbx_run_commit(run)), J_TEXT("branch", cbx_run_branch(run)),
                           J_TEXT("machine", run_machine(run)));
}

void list_format(cbx_json *list, bool json, int width, const char *name, const char *summary)
{
    if (json) {
        cbx_json_put(cbx_json_push_object(list), J_TEXT("name", name), J_TEXT("summary", summary));
    } else {
        print_painted(PAINT_STRONG, "%-*s", width, name);
        printf(" %s\n", summary);
    }
}

/* --- text --- */

const char *format_time(int64_t us, char *buf)
{
    cbx_time_format_iso(us, buf);
    char *t = strchr(buf, 'T');
    if (t) *t = ' ';
    return buf;
}

const char *format_percent(double share, char buf[CBX_FORMAT_SIZE])
{
    double percent = 100 * share;

    if (isnan(share)) return strcpy(buf, "-");
    snprintf(buf, CBX_FORMAT_SIZE, fabs(percent) < 1000 ? "%+.1f %%" : "%+.3g %%", percent);
    return buf;
}

const char *plain_text(cbx_arena *arena, const char *s)
{
    const char *c = s;
    bool control = false;

    for (size_t n; !control && (n = cbx_text_char(c, &control)) != 0;) c += n;
    if (!control) return s;
    SCOPED_TEXT(text, &arena->al);
    cbx_text_put_plain(&text, s);
    return cbx_arena_strdup(arena, cbx_text_str(&text));
}

const char *format_tags(cbx_arena *arena, const cbx_tag *tags, size_t n, const char *skip)
{
    const char *text = "";

    for (size_t i = 0; i < n; i++) {
        if (skip && !strcmp(tags[i].key, skip)) continue;
        text = cbx_arena_printf(arena, "%s%s%s=%s", text, *text ? ", " : "", tags[i].key, tags[i].value);
    }
    return plain_text(arena, text);
}

const char *point_key(cbx_arena *arena, const cbx_point *p, const char *skip)
{
    cbx_tag *tags = cbx_arena_calloc(arena, p->ntags, sizeof *tags);
    const char *text = "";
    size_t n = 0;

    for (size_t i = 0; i < p->ntags; i++)
        if (!skip || strcmp(p->tags[i].key, skip) != 0) tags[n++] = p->tags[i];
    qsort(tags, n, sizeof *tags, cbx_tag_compare);
    for (size_t i = 0; i < n; i++)
        text = cbx_arena_printf(arena, "%s%s%s=%s", text, i ? "," : "", tags[i].key, tags[i].value);
    return cbx_arena_printf(arena, "%s@%s{%s}", p->name, p->scenario, text);
}

const char *series_key(cbx_arena *arena, const cbx_trend_series *s)
{
    const cbx_point p = { s->point, s->scenario, s->tags, s->ntags, NULL, 0 };

    return cbx_arena_printf(arena, "%s:%s", point_key(arena, &p, NULL), s->metric);
}

void print_run_head(const opt_run *run, const cbx_run *r)
{
    char time[CBX_TIME_SIZE];
    const char *machine = run_machine(r);

    printf("Run: ");
    print_painted(PAINT_STRONG, "%s\n", cbx_run_id(r));
    printf("  Timestamp: %s\n", format_time(cbx_run_timestamp_us(r), time));
    if (cbx_run_commit(r)) printf("  Commit: %s\n", plain_text(run->arena, cbx_run_commit(r)));
    if (cbx_run_branch(r)) printf("  Branch: %s\n", plain_text(run->arena, cbx_run_branch(r)));
    if (machine) printf("  Machine: %s\n", plain_text(run->arena, machine));
    printf("  Points: %zu\n", cbx_run_npoints(r));
}

/* --- tendency --- */

cbx_json *tendency_json(const cbx_tendency *t, const char *word)
{
    return cbx_json_object(J_TEXT("word", word), J_TEXT("kind", cbx_tendency_name(t->kind, CBX_DIRECTION_INFO)),
                           J_NUMBER("slope", t->slope.value), J_NUMBER("lower", t->slope.lower),
                           J_NUMBER("upper", t->slope.upper), J_NUMBER("level", t->slope.level), J_INT("values", t->n));
}

void print_tendency(const cbx_tendency *t, const char *word)
{
    char value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE];
    paint how = !strcmp(word, "improving") ? PAINT_GOOD : !strcmp(word, "degrading") ? PAINT_BAD : PAINT_STRONG;

    printf("Tendency: ");
    print_painted(how, "%s", word);
    if (!isnan(t->slope.value))
        printf(", %s [%s, %s] per value", format_percent(t->slope.value, value), format_percent(t->slope.lower, lower),
               format_percent(t->slope.upper, upper));
    printf("\n");
}
