/* The facts of a report: about the machine and the tools, from an allow-list of provenance members,
 * and about what was not measured, each outcome once. */
#include <math.h>
#include <string.h>

#include "calibrax/base/text_keep.h"
#include "calibrax/perf/report/format.h"

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
