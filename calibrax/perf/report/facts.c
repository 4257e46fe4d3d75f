/* The facts of a report: about the machine and the tools, from an allow-list of provenance members,
 * and about what was not measured, each outcome once. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "calibrax/base/text_keep.h"
#include "calibrax/perf/report/view.h"

/* Member of nested objects: "machine.cpu_model". */
static const cbx_json *lookup(const cbx_json *object, const char *path)
{
    char key[64];
    for (const char *p = path; object && *p;) {
        size_t n = strcspn(p, ".");
        if (n >= sizeof key) return NULL;
        memcpy(key, p, n);
        key[n] = 0;
        object = cbx_json_get(object, key);
        p += n + (p[n] == '.');
    }
    return object;
}

static void put_text(cbx_text *out, const cbx_json *v)
{
    const char *s = cbx_json_string_value(v);
    if (s)
        cbx__report_put_public(out, s, 120);
    else if (cbx_json_typeof(v) == CBX_JSON_INT || cbx_json_typeof(v) == CBX_JSON_BOOL)
        cbx_json_write(v, CBX_JSON_COMPACT, out);
}

static void put_gib(cbx_text *out, const cbx_json *v)
{
    double bytes = cbx_json_double_value(v);
    if (isfinite(bytes)) cbx_text_printf(out, "%.1f GiB", bytes / 1073741824.0);
}

/* "c0ffee1", with a + where the tree had changes. */
static void put_revision(cbx_text *out, const cbx_json *bench)
{
    const char *sha = cbx_json_get_string(bench, "sha", NULL);
    if (!sha) return;
    cbx__report_put_public(out, sha, 40);
    if (cbx_json_get_bool(bench, "dirty", false)) cbx_text_puts(out, "+");
}

/* {"numpy":"1.26.4","config":"..."} -> "numpy 1.26.4": the versions that a reader of a table wants;
 * the rest stays in the rows. */
static void put_versions(cbx_text *out, const cbx_json *object)
{
    static const char *const shown[] = { "python", "numpy",           "scipy",    "jax",       "jaxlib",
                                         "torch",  "torch_geometric", "openblas", "blas_core", "cuda" };
    const char *separator = "";
    for (size_t i = 0; i < CBX_LEN(shown); i++) {
        const cbx_json *value = cbx_json_get(object, shown[i]);
        if (!value) continue;
        cbx_text_printf(out, "%s%s ", separator, shown[i]);
        put_text(out, value);
        separator = ", ";
    }
}

/* ["NVIDIA A10G","NVIDIA A10G"] */
static void put_list(cbx_text *out, const cbx_json *list)
{
    for (size_t i = 0; i < cbx_json_length(list); i++) {
        if (i) cbx_text_puts(out, ", ");
        put_text(out, cbx_json_at(list, i));
    }
}

/* What the roofline is made of: the measured rate of the widest pipe and of memory. */
static void put_probe(cbx_text *out, const cbx_json *probe)
{
    const cbx_json *levels = cbx_json_get(probe, "levels"), *pipes = cbx_json_get(probe, "pipe_ops_per_s_f32_f64");
    const cbx_json *fma = cbx_json_get(pipes, "fma"), *memory = NULL;
    double rate = cbx_json_double_value(cbx_json_at(fma, 0)), bytes;
    if (cbx_json_length(levels)) memory = cbx_json_at(levels, cbx_json_length(levels) - 1);
    bytes = cbx_json_get_double(memory, "read_bytes_per_s", NAN);
    if (!isfinite(rate) || !isfinite(bytes)) return;
    cbx_text_printf(out, "one core, measured: %.1f G fma/s (f32), %.1f GB/s read from memory", rate / 1e9, bytes / 1e9);
}

/* "2026-11-21T11:46:13.140394+00:00" -> "2026-11-21 11:46 UTC"; what is written otherwise as it
 * is. */
static void put_time(cbx_text *out, const cbx_json *v)
{
    const char *s = cbx_json_string_value(v), *zone = s ? strstr(s, "+00:00") : NULL;

    if (zone && strlen(s) > 16 && s[10] == 'T' && s[13] == ':')
        cbx_text_printf(out, "%.10s %.5s UTC", s, s + 11);
    else
        put_text(out, v);
}

/* Fact -> where rows may keep it, most specific first.  Rows may have different values: each is
 * shown once. */
static const struct {
    const char *name;
    const char *paths[3];
    void (*put)(cbx_text *out, const cbx_json *v);
} facts[] = {
    { "CPU", { "machine.cpu_model", "cpu_model" }, put_text },
    { "cores", { "machine.cores", "machine.cpu_count", "cpu_count" }, put_text },
    { "memory", { "machine.memory_bytes", "memory_bytes" }, put_gib },
    { "instruction set", { "probe.instruction_set", "machine.instruction_set", "instruction_set" }, put_text },
    { "accelerators", { "machine.accelerators" }, put_list },
    { "roofline", { "probe" }, put_probe },
    { "tool", { "tool.version", "calibrax_version", "version" }, put_text },
    { "revision", { "bench" }, put_revision },
    { "build", { "tool.build", "build", "compiler" }, put_text },
    { "versions", { "resolved_versions", "versions" }, put_versions },
    { "precision", { "precision_policy" }, put_text },
    { "isolation", { "measurement_isolation" }, put_text },
    { "CPU slots", { "scheduler.cpu_slots" }, put_text },
    { "devices used", { "scheduler.n_gpus" }, put_text },
    { "jobs at a time", { "scheduler.max_parallel" }, put_text },
    { "memory limit", { "memory.limit_by" }, put_text },
    { "threads", { "threads" }, put_text },
    { "coverage", { "coverage_mode" }, put_text },
    { "measured", { "timestamp" }, put_time },
};

#define MAX_VALUES 12 /* of one fact; a store of years has many revisions */

static const char *joined_fact(cbx_arena *arena, const cbx__report_view *v, size_t machine, size_t fact)
{
    const char *seen[MAX_VALUES], *all = NULL;
    const cbx_json *last = NULL;
    size_t n = 0;

    for (const cbx__report_item *it = v->items; it < v->items + v->nitems && n < MAX_VALUES; it++) {
        const cbx_row *r = it->row;
        const cbx_json *member = NULL;
        bool known = false;
        cbx_text t;
        if (strcmp(r->machine ? r->machine : "", v->machines[machine]) != 0) continue;
        for (size_t p = 0; r->provenance && p < CBX_LEN(facts[fact].paths) && facts[fact].paths[p] && !member; p++)
            member = lookup(r->provenance, facts[fact].paths[p]);
        if (!member || (last && cbx_json_equal(member, last))) continue; /* neighbours are mostly equal */
        last = member;
        cbx_text_init(&t, &arena->al);
        facts[fact].put(&t, member);
        const char *value = cbx__text_keep(&t, arena);
        for (size_t k = 0; value && k < n; k++) known = known || !strcmp(seen[k], value);
        if (!value || !*value || known) continue;
        seen[n++] = value;
        all = all ? cbx_arena_printf(arena, "%s; %s", all, value) : value;
        if (!strcmp(facts[fact].name, "measured")) break; /* one time is enough */
    }
    return all;
}

const cbx__report_fact *cbx__report_facts(cbx_arena *arena, const cbx__report_view *v, size_t machine, size_t *count)
{
    cbx__report_fact *list = cbx_arena_calloc(arena, CBX_LEN(facts), sizeof *list);
    *count = 0;
    for (size_t f = 0; list && f < CBX_LEN(facts); f++) {
        const char *value = joined_fact(arena, v, machine, f);
        if (value) list[(*count)++] = (cbx__report_fact){ facts[f].name, value };
    }
    return *count ? list : NULL;
}

/* --- what was not measured --- */

/* Missing before failed before skipped. */
static int outcome_rank(cbx__report_class c) { return c == CBX__REPORT_MISSING ? 0 : c == CBX__REPORT_FAILED ? 1 : 2; }

const cbx__report_outcome *cbx__report_outcomes(cbx_arena *arena, const cbx__report_item *items, size_t nitems,
                                                size_t *count)
{
    cbx__report_outcome *list = cbx_arena_calloc(arena, nitems + 1, sizeof *list);
    size_t n = 0;

    for (const cbx__report_item *it = items; list && it < items + nitems; it++) {
        const cbx_row *r = it->row;
        bool no_environment = r->framework && r->failure_reason && !strcmp(r->failure_reason, "provider_env_missing");
        cbx__report_outcome o = { it->class, no_environment ? r->framework : cbx__report_name(arena, it), NULL,
                                  r->failure_remedy ? r->failure_remedy : "", 1 };
        size_t k = 0, at;
        cbx_text t;
        if (it->class == CBX__REPORT_GOOD || cbx__report_is_left_out(r)) continue;
        cbx_text_init(&t, &arena->al);
        cbx__report_put_fate(&t, r);
        o.what = cbx__text_keep(&t, arena);
        if (!o.what) o.what = "failed";
        while (k < n && (list[k].class != o.class || strcmp(list[k].subject, o.subject) ||
                         strcmp(list[k].what, o.what) || strcmp(list[k].remedy, o.remedy)))
            k++;
        if (k < n) {
            list[k].rows++;
            continue;
        }
        for (at = n++; at > 0 && outcome_rank(list[at - 1].class) > outcome_rank(o.class); at--)
            list[at] = list[at - 1];
        list[at] = o;
    }
    *count = n;
    return list;
}

/* --- what was left out by choice --- */

static const char *how_of(const cbx_row *row) { return row->failure_message ? row->failure_message : "left out"; }

const cbx__report_left_out *cbx__report_left_outs(cbx_arena *arena, const cbx__report_item *items, size_t n,
                                                  size_t *count)
{
    cbx__report_left_out *list = cbx_arena_calloc(arena, n + 1, sizeof *list);
    *count = 0;
    for (const cbx__report_item *it = items; list && it < items + n; it++) {
        const cbx_row *row = it->row;
        bool counted = false; /* a row of the same baseline */
        size_t k = 0;
        if (!cbx__report_is_left_out(row)) continue;
        for (const cbx__report_item *b = items; b < it && !counted; b++)
            counted = cbx__report_is_left_out(b->row) && !strcmp(row->baseline, b->row->baseline) &&
                      !strcmp(how_of(row), how_of(b->row));
        while (k < *count && strcmp(list[k].how, how_of(row)) != 0) k++;
        if (k == *count)
            list[(*count)++] = (cbx__report_left_out){ how_of(row), row->failure_remedy ? row->failure_remedy : "", 0 };
        list[k].baselines += !counted;
    }
    return list;
}

void cbx__report_put_left_out(cbx_text *out, const cbx__report_left_out *l)
{
    cbx_text_printf(out, "%zu baseline%s ", l->baselines, l->baselines == 1 ? "" : "s");
    cbx__report_put_public(out, l->how, 160);
}

bool cbx__report_uncorrected(const cbx__report_view *v, size_t *launches, size_t *rows)
{
    *launches = SIZE_MAX;
    *rows = 0;
    for (const cbx__report_item *it = v->items; it < v->items + v->nitems; it++) {
        const cbx_row *row = it->row;
        if (!row->holm_rows || row->verdict_holm || row->pairs >= *launches) continue;
        *launches = (size_t)row->pairs;
        *rows = (size_t)row->holm_rows;
    }
    return *rows > 0;
}

/* --- notes on launches ---
 *
 * What happened to the launches of a row: from its modes and steady state, and the schedule, layout
 * and health in its provenance; and which launches of the whole table were repeated. */
typedef struct clause {
    cbx_text text;
    const char *separator;
} clause;

static cbx_text *begin(clause *c)
{
    cbx_text_puts(&c->text, c->separator);
    c->separator = "; ";
    return &c->text;
}

static void say_launches(clause *c, uint64_t n, const char *what)
{
    if (n) cbx_text_printf(begin(c), "%" PRIu64 " launch%s %s", n, n == 1 ? "" : "es", what);
}

const char *cbx__report_launches(cbx_arena *arena, const cbx_row *row)
{
    const cbx_json *schedule = cbx_json_get(row->provenance, "schedule");
    clause c = { .separator = "" };

    cbx_text_init(&c.text, &arena->al);
    if (row->nmodes > 1) cbx_text_printf(begin(&c), "%zu modes: ", row->nmodes);
    for (size_t i = 0; row->nmodes > 1 && i < row->nmodes; i++) {
        if (i) cbx_text_puts(&c.text, ", ");
        cbx__report_put_seconds(&c.text, row->modes[i].center_s, &cbx__report_utf8);
        cbx_text_puts(&c.text, " (");
        cbx__report_put_share(&c.text, row->modes[i].share, &cbx__report_utf8);
        cbx_text_puts(&c.text, ")");
    }
    say_launches(&c, row->steady_state.warm_up, "warmed up");
    say_launches(&c, row->steady_state.slowdown, "slowed down");
    if (row->steady_state.dropped)
        cbx_text_printf(begin(&c), "%" PRIu64 " of %" PRIu64 " epochs before the steady state are left out",
                        row->steady_state.dropped, row->steady_state.epochs);
    say_launches(&c, row->steady_state.none, "never became steady");
    /* A layout that explains a third of the variance is what distinguishes the launches. */
    const char *key;
    cbx_json *value;
    for (size_t i = 0; cbx_json_member(cbx_json_get(row->provenance, "layout_share"), i, &key, &value); i++) {
        double share = cbx_json_double_value(value);
        if (!(share >= 1.0 / 3)) continue;
        cbx__report_put_share(begin(&c), share, &cbx__report_utf8);
        cbx_text_puts(&c.text, " of the variance of launches follows the offset of the ");
        cbx__report_put_public(&c.text, key, 20);
    }
    static const struct {
        const char *key, *words;
    } counts[] = {
        { "contended_launches", "waited for CPUs that others used" },
        { "unhealthy_launches", "throttled, or interrupted by the host" },
    };
    for (size_t i = 0; i < CBX_LEN(counts); i++) {
        int64_t n = cbx_json_get_int(cbx_json_get(row->provenance, "health"), counts[i].key, 0);
        say_launches(&c, n > 0 ? (uint64_t)n : 0, counts[i].words);
    }
    /* Launches that ended before their goal was reached. */
    const char *why = cbx_json_get_string(schedule, "stopped_because", "");
    double goal = cbx_json_get_double(cbx_json_get(schedule, "pilot"), "precision", NAN);
    bool stopped = !strcmp(why, "budget") || !strcmp(why, "plan");
    if (stopped) cbx_text_printf(begin(&c), "%s ended its launches", why[0] == 'b' ? "the budget" : "its plan");
    if (stopped && isfinite(goal) && goal > 0) cbx_text_printf(&c.text, " before an interval of %.3g %%", 100 * goal);
    const char *words = cbx__text_keep(&c.text, arena);
    return words ? words : "";
}

static const char *words_of(cbx_arena *arena, const cbx__report_item *it)
{
    return it->row->has_metrics ? cbx__report_launches(arena, it->row) : "";
}

const char *cbx__report_alike(cbx_arena *arena, const cbx__report_item *it, const char **words)
{
    const char *names = cbx__report_name(arena, it);
    const cbx__report_group *g = it->group;

    *words = words_of(arena, it);
    if (!(*words)[0]) return NULL;
    for (const cbx__report_item *k = g->items; k < it; k++)
        if (!strcmp(words_of(arena, k), *words)) return NULL;
    for (const cbx__report_item *k = it + 1; names && k < g->items + g->count; k++)
        if (!strcmp(words_of(arena, k), *words))
            names = cbx_arena_printf(arena, "%s, %s", names, cbx__report_name(arena, k));
    return names ? names : "";
}

/* --- launches that were repeated --- */

#define REASONS 16

typedef struct tally {
    const char *reason;
    int64_t n;
} tally;

bool cbx__report_put_repeats(cbx_text *out, cbx_arena *arena, const cbx__report_view *v)
{
    const cbx__report_item *worst = NULL;
    tally list[REASONS];
    int64_t all = 0, largest = 0;
    size_t n = 0;

    for (const cbx__report_item *it = v->items; it < v->items + v->nitems; it++) {
        const cbx_json *schedule = cbx_json_get(it->row->provenance, "schedule");
        const cbx_json *reasons = cbx_json_get(schedule, "retry_reasons");
        int64_t again = cbx_json_get_int(schedule, "retries", 0);
        const char *key;
        cbx_json *value;
        if (again <= 0) continue;
        all += again;
        for (size_t i = 0; cbx_json_member(reasons, i, &key, &value); i++) {
            size_t k = 0;
            while (k < n && strcmp(list[k].reason, key)) k++;
            if (k == REASONS) continue;
            if (k == n) list[n++] = (tally){ key, 0 };
            list[k].n += cbx_json_get_int(reasons, key, 0);
        }
        if (again <= largest) continue;
        largest = again;
        worst = it;
    }
    if (!worst) return false;
    cbx_text_printf(out, "%lld launch%s repeated", (long long)all, all == 1 ? " was" : "es were");
    for (size_t i = 0; i < n; i++) {
        cbx_text_puts(out, i ? ", " : " (");
        cbx__report_put_public(out, list[i].reason, 40);
        cbx_text_printf(out, " %lld%s", (long long)list[i].n, i + 1 == n ? ")" : "");
    }
    if (all > largest) {
        cbx_text_puts(out, ", most of them of ");
        cbx__report_put_public(out, cbx__report_name(arena, worst), 80);
        cbx_text_printf(out, " (%lld)", (long long)largest);
    }
    return true;
}
