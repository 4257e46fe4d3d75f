/* Orders rows for showing: groups that may be compared, the reference of each, variants, series. */
#include "calibrax/perf/report/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/perf/sweep/public.h"

static const char *word(const char *s) { return s ? s : ""; }

/* What the items are sorted by: case, group, then rank within it. */
typedef struct order_key {
    size_t case_index, group;
    int rank; /* 0 reference, 1 good, 2 limit, 3 measured but not good, 4 not measured */
    double median;
    cbx__report_item item;
} order_key;

static int compare_sizes(size_t a, size_t b) { return a < b ? -1 : a > b; }

static int by_rank(const void *pa, const void *pb)
{
    const order_key *a = pa, *b = pb;
    int c = compare_sizes(a->case_index, b->case_index);

    if (!c) c = compare_sizes(a->group, b->group);
    if (!c) c = a->rank - b->rank;
    if (!c && !a->rank) c = (int)b->item.row->strongest - (int)a->item.row->strongest;
    if (!c && a->rank < 4) c = a->median < b->median ? -1 : a->median > b->median;
    return c ? c : compare_sizes(a->item.index, b->item.index);
}

static const char *rival_of(const cbx_row *r) { return r->paired_vs ? r->paired_vs : r->ratio_vs; }

/* Every parameter but the seed: "513x129x257 (log, f32)" for a product, else "n=4096, k=16". */
static const char *label_of(cbx_arena *arena, const cbx_row *row)
{
    cbx_json *point = NULL, *value;
    const char *key;
    cbx_text t;

    if (row->point_label && row->point_label[0]) return row->point_label;
    if (!row->point_json || cbx_json_parse(row->point_json, strlen(row->point_json), "point", &point, NULL) != CBX_OK)
        return "-";
    bool product = cbx_json_has(point, "m") && cbx_json_has(point, "k") && cbx_json_has(point, "n");
    cbx_text_init(&t, &arena->al);
    const char *separator = product ? " (" : "";
    if (product)
        cbx_text_printf(&t, "%lldx%lldx%lld", (long long)cbx_json_get_int(point, "m", 0),
                        (long long)cbx_json_get_int(point, "k", 0), (long long)cbx_json_get_int(point, "n", 0));
    for (size_t i = 0; cbx_json_member(point, i, &key, &value); i++) {
        if (!strcmp(key, "seed") || (product && key[0] && !key[1] && strchr("mkn", key[0]))) continue;
        cbx_text_puts(&t, separator);
        if (!product) cbx_text_printf(&t, "%s=", key);
        if (cbx_json_string_value(value))
            cbx_text_puts(&t, cbx_json_string_value(value));
        else
            cbx_json_write(value, CBX_JSON_COMPACT, &t);
        separator = ", ";
    }
    if (product && separator[0] == ',') cbx_text_putc(&t, ')');
    const char *label = cbx__text_keep(&t, arena);
    cbx_json_unref(point);
    return label && *label ? label : "-";
}

/* Fills the groups and the keys of all items.  The reference of a group is the one that its first
 * row with a ratio is compared with, else the one of the same case.  false: out of memory. */
static bool collect(const cbx_rows *rows, cbx__report_view *v, order_key *keys)
{
    cbx_names groups, cases, machines, platforms,
        baselines, *const all[] = { &groups, &cases, &machines, &platforms, &baselines };
    const char **fallback = cbx_arena_calloc(&v->arena, rows->count + 1, sizeof *fallback); /* of each case */

    for (size_t i = 0; i < CBX_LEN(all); i++) cbx_names_init(all[i], CBX_IN_ARENA(&v->arena));
    for (size_t i = 0; fallback && i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        const char *name = cbx_arena_printf(&v->arena, "%s\x1f%s\x1f%s\x1f%s", word(r->case_name), word(r->platform),
                                            word(r->machine), word(r->point_json));
        size_t g = name ? cbx_names_add(&groups, name) : CBX_NO_NAME, c = cbx_names_add(&cases, word(r->case_name));
        size_t series = cbx_names_add(&baselines, word(r->baseline));
        if (g == CBX_NO_NAME || c == CBX_NO_NAME || series == CBX_NO_NAME) return false;
        if (cbx_names_add(&machines, word(r->machine)) == CBX_NO_NAME ||
            cbx_names_add(&platforms, word(r->platform)) == CBX_NO_NAME)
            return false;
        if (g == v->ngroups)
            v->groups[v->ngroups++] = (cbx__report_group){ .head = r,
                                                           .label = label_of(&v->arena, r),
                                                           .case_index = c };
        if (!v->groups[g].reference_name) v->groups[g].reference_name = rival_of(r);
        if (!fallback[c]) fallback[c] = rival_of(r);
        const cbx__report_item item = {
            r, NULL, i, .class = cbx__report_status_class(r), .limit = cbx_row_is_limit(r), .series = (int)series
        };
        keys[i] = (order_key){ c, g, 0, cbx__report_median(r), item };
    }
    for (order_key *k = keys; fallback && k < keys + rows->count; k++) {
        cbx__report_group *g = &v->groups[k->group];
        cbx__report_item *it = &k->item;
        if (!g->reference_name) g->reference_name = fallback[g->case_index];
        it->reference = g->reference_name && cbx__report_same(g->reference_name, it->row->baseline);
        k->rank = it->class != CBX__REPORT_GOOD ? 4 - it->row->has_metrics : it->reference ? 0 : it->limit ? 2 : 1;
    }
    v->cases = cases.list;
    v->ncases = cases.n;
    v->machines = machines.list;
    v->nmachines = machines.n;
    v->nplatforms = platforms.n;
    return fallback != NULL;
}

/* Moves the sorted keys into items, brings the groups into the same order, and marks variants:
 * which item is shown for its baseline. */
static bool order_groups(cbx__report_view *v, const order_key *keys, size_t n)
{
    cbx__report_group *sorted = cbx_arena_calloc(&v->arena, v->ngroups + 1, sizeof *sorted);
    size_t ngroups = 0;

    if (!sorted) return false;
    for (size_t i = 0; i < n; i++) {
        v->items[i] = keys[i].item;
        if (!i || keys[i].group != keys[i - 1].group) {
            sorted[ngroups] = v->groups[keys[i].group];
            sorted[ngroups++].items = &v->items[i];
        }
        v->items[i].group = &sorted[ngroups - 1];
        sorted[ngroups - 1].count++;
    }
    v->nitems = n;
    v->groups = sorted;
    for (cbx__report_group *g = sorted; g < sorted + ngroups; g++) {
        for (cbx__report_item *a = g->items; a < g->items + g->count; a++) {
            bool stronger = false, earlier = false;
            for (const cbx__report_item *b = g->items; b < g->items + g->count; b++) {
                if (b == a || !cbx__report_same(a->row->baseline, b->row->baseline)) continue;
                a->siblings = a->siblings || !cbx__report_same(a->row->variant, b->row->variant);
                stronger = stronger || b->row->strongest;
                earlier = earlier || b < a;
            }
            a->quoted = a->row->strongest || (!stronger && !earlier);
            g->representative = g->representative || a->row->representative;
            if (a->reference && (!g->reference || (a->quoted && !g->reference->quoted))) g->reference = a;
        }
    }
    return true;
}

static void *remembering_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    cbx__report_memory *m = user;
    void *p = m->base.resize(m->base.user, ptr, old_size, new_size);
    if (!p && new_size) m->failed = true;
    return p;
}

cbx_allocator cbx__report_allocator(cbx__report_memory *m) { return (cbx_allocator){ remembering_resize, m }; }

bool cbx__report_view_open(const cbx_rows *rows, cbx__report_view *v, cbx_text *out)
{
    const cbx_allocator remembering = cbx__report_allocator(&v->memory);
    size_t n = rows->count;

    *v = (cbx__report_view){ .memory = { .base = out->al } };
    cbx_arena_init(&v->arena, &remembering);
    v->items = cbx_arena_calloc(&v->arena, n + 1, sizeof *v->items);
    v->groups = cbx_arena_calloc(&v->arena, n + 1, sizeof *v->groups);
    order_key *keys = cbx_arena_calloc(&v->arena, n + 1, sizeof *keys);
    if (v->items && v->groups && keys && collect(rows, v, keys)) {
        qsort(keys, n, sizeof *keys, by_rank);
        if (order_groups(v, keys, n)) return true;
    }
    cbx__report_view_close(v, out);
    return false;
}

void cbx__report_view_close(cbx__report_view *v, cbx_text *out)
{
    cbx_arena_clear(&v->arena);
    if (v->memory.failed) out->status = CBX_ENOMEM;
}

const char *cbx__report_name(cbx_arena *arena, const cbx__report_item *item)
{
    const char *variant = item->row->variant, *name = word(item->row->baseline), *both = NULL;
    if (item->siblings || (variant && *variant && strcmp(variant, "default") != 0))
        both = cbx_arena_printf(arena, "%s (%s)", name, variant && *variant ? variant : "default");
    return both ? both : name;
}

const char *cbx__report_apart(cbx_arena *arena, const cbx__report_view *v, const cbx__report_group *g,
                              const char *label)
{
    const char *text = label;
    if (v->nplatforms > 1) text = cbx_arena_printf(arena, "%s, %s", text, word(g->head->platform));
    if (text && v->nmachines > 1) text = cbx_arena_printf(arena, "%s, machine %.12s", text, word(g->head->machine));
    return text ? text : label;
}

const char *cbx__report_where(cbx_arena *arena, const cbx__report_view *v, const cbx__report_group *g)
{
    return cbx__report_apart(arena, v, g, g->label);
}

void cbx__report_shape_of(const cbx_row *row, cbx_arena *arena, cbx__report_shape *out)
{
    cbx_json *point = NULL, *value;
    const char *key, *variety = "";
    *out = (cbx__report_shape){ .size = NAN, .variety = "" };
    if (!row->point_json || cbx_json_parse(row->point_json, strlen(row->point_json), "point", &point, NULL) != CBX_OK)
        return;
    for (size_t i = 0; cbx_json_member(point, i, &key, &value); i++) {
        const char *text = cbx_json_string_value(value);
        if (!strcmp(key, "seed")) continue;
        if (cbx_json_typeof(value) == CBX_JSON_INT && out->ndims < CBX__REPORT_MAX_DIMS) {
            double d = cbx_json_double_value(value);
            out->size = out->ndims ? out->size * d : d;
            out->name[out->ndims] = cbx_arena_strdup(arena, key);
            out->dim[out->ndims++] = d;
        } else if (text) {
            const char *longer = cbx_arena_printf(arena, "%s%s%s", variety, *variety ? ", " : "", text);
            if (longer) variety = longer;
        }
    }
    out->variety = variety;
    cbx_json_unref(point);
}

/* Numbers and words of reports.  Nothing here computes a metric: it scales and rounds. */
const cbx__report_style cbx__report_ascii = { "x", "-", "%" };
const cbx__report_style cbx__report_words = { "x", "-", " %" };
const cbx__report_style cbx__report_utf8 = { "\303\227", "\342\200\223", "\302\240%" };

/* Row status -> its class and the words that follow a name. */
static const struct fate {
    const char *status;
    cbx__report_class class;
    const char *words;
} fates[] = {
    { "ok", CBX__REPORT_GOOD, "was measured" },
    { "skipped", CBX__REPORT_SKIPPED, "was skipped" },
    { "env_failed", CBX__REPORT_MISSING, "could not start" },
    { "compile_error", CBX__REPORT_FAILED, "failed to compile" },
    { "run_error", CBX__REPORT_FAILED, "raised an error" },
    { "oom", CBX__REPORT_FAILED, "ran out of memory" },
    { "timeout", CBX__REPORT_FAILED, "ran out of time" },
    { "crashed", CBX__REPORT_FAILED, "crashed" },
    { "no_answer", CBX__REPORT_FAILED, "exited without an answer" },
    { "protocol_error", CBX__REPORT_FAILED, "answered rubbish" },
    { "fidelity_failed", CBX__REPORT_FAILED, "failed its fidelity check" },
    { "fidelity_inconclusive", CBX__REPORT_FAILED, "could not be checked" },
    { "refused", CBX__REPORT_FAILED, "was refused" },
    { "interrupted", CBX__REPORT_FAILED, "was interrupted" },
};

static const struct fate *fate_of(const cbx_row *row)
{
    for (const struct fate *f = fates; row->status && f < fates + CBX_LEN(fates); f++)
        if (!strcmp(row->status, f->status)) return f;
    return NULL;
}

cbx__report_class cbx__report_status_class(const cbx_row *row)
{
    const struct fate *f = fate_of(row);
    return f ? f->class : CBX__REPORT_FAILED;
}

const char *cbx__report_verdict(const cbx_row *row) { return row->verdict_holm ? row->verdict_holm : row->verdict; }

bool cbx__report_is_left_out(const cbx_row *row)
{
    return row->failure_reason && !strcmp(row->failure_reason, "skipped_by_config");
}

void cbx__report_put_fate(cbx_text *out, const cbx_row *row)
{
    const char *reason = row->failure_reason, *status = row->status ? row->status : "no status";
    const struct fate *f = fate_of(row);
    const bool absent = reason && !strcmp(reason, "provider_env_missing");

    cbx_text_puts(out, absent ? "is not installed" : f ? f->words : "failed");
    if (absent ||
        (f && (!reason || !strcmp(status, reason) ||
               (f->class != CBX__REPORT_SKIPPED && f->class != CBX__REPORT_MISSING && strcmp(status, "refused") != 0))))
        return;
    cbx_text_puts(out, " (");
    cbx__report_put_public(out, f ? reason : status, 60);
    cbx_text_putc(out, ')');
}

double cbx__report_median(const cbx_row *row)
{
    if (!row->has_metrics) return NAN;
    return isfinite(row->steady.value) ? row->steady.value : row->median_s;
}

bool cbx__report_has_interval(const cbx_row_interval *i)
{
    return isfinite(i->value) && isfinite(i->lower) && isfinite(i->upper);
}

/* --- times --- */

void cbx__report_put_seconds(cbx_text *out, double seconds, const cbx__report_style *s)
{
    char buf[CBX_FORMAT_SIZE];

    cbx_text_puts(out, isfinite(seconds) && seconds >= 0 ? cbx_format_seconds(seconds, buf) : s->none);
}

void cbx__report_put_interval(cbx_text *out, const cbx_row *row, const cbx__report_style *s)
{
    double median = cbx__report_median(row);
    char buf[CBX_FORMAT_INTERVAL_SIZE];

    cbx_text_puts(out, isfinite(median) && median >= 0
                           ? cbx_format_seconds_interval(median, row->steady.lower, row->steady.upper, buf)
                           : s->none);
}

/* --- ratios --- */

bool cbx__report_ratio_of(const cbx_row *row, cbx__report_ratio *out)
{
    const char *verdict = cbx__report_verdict(row);
    double r = row->ratio_value;

    if (!cbx_row_is_good(row)) return false;
    if (isfinite(row->paired.value) && row->paired.value > 0) {
        *out = (cbx__report_ratio){ row->paired, verdict ? verdict : "undecided", false };
        return true;
    }
    if (!row->ratio_vs || !isfinite(r) || r <= 0) return false;
    *out = (cbx__report_ratio){ { r, NAN, NAN, 0 }, r < 1 ? "faster" : r > 1 ? "slower" : "", true };
    return true;
}

bool cbx__report_minimum_disagrees(const cbx_row *row)
{
    const cbx_row_interval *p = &row->paired;
    if (!cbx_row_is_good(row) || !isfinite(row->ratio_value) || !cbx__report_has_interval(p)) return false;
    return row->ratio_value < p->lower / 1.1 || row->ratio_value > p->upper * 1.1;
}

void cbx__report_put_ratio(cbx_text *out, const cbx__report_ratio *ratio, bool brief)
{
    char buf[CBX_FORMAT_INTERVAL_SIZE];

    cbx_text_puts(out, cbx_format_ratio(ratio->x.value, brief ? NAN : ratio->x.lower, ratio->x.upper, buf));
}

/* --- plain numbers --- */

void cbx__report_put_number(cbx_text *out, double v, const cbx__report_style *s)
{
    double a = fabs(v);
    if (!isfinite(v))
        cbx_text_puts(out, s->none);
    else if (a >= 99.5)
        cbx_text_printf(out, a < 1e6 ? "%.0f" : "%.2g", v);
    else if (a >= 9.95 || a == 0)
        cbx_text_printf(out, a == 0 ? "%.0f" : "%.1f", v);
    else
        cbx_text_printf(out, "%.2g", v);
}

void cbx__report_put_share(cbx_text *out, double share, const cbx__report_style *s)
{
    if (!isfinite(share))
        cbx_text_puts(out, s->none);
    else
        cbx_text_printf(out, "%.*f%s", share < 0.0995 ? 1 : 0, share * 100, s->percent);
}

/* --- words --- */

void cbx__report_put_public(cbx_text *out, const char *s, size_t max)
{
    size_t start = out->len;
    if (!s) return;
    for (size_t i = 0; s[i];) {
        size_t path = cbx__path_length(s, i), n;
        bool control;
        if (max && out->len - start >= max) {
            cbx_text_puts(out, "...");
            return;
        }
        n = cbx_text_char(s + i, &control);
        if (path)
            cbx_text_puts(out, "(path)");
        else
            cbx_text_add(out, control ? " " : s + i, control ? 1 : n);
        i += path ? path : n;
    }
}

static void put_part(cbx_text *out, const char *separator, const char *s)
{
    if (!s || !*s) return;
    cbx_text_puts(out, separator);
    cbx__report_put_public(out, s, 160);
}

void cbx__report_put_reason(cbx_text *out, const char *reason, const char *message, const char *remedy)
{
    size_t start = out->len;
    put_part(out, "", reason);
    put_part(out, out->len > start ? ": " : "", message);
    if (remedy && message && strstr(message, remedy)) return; /* said already */
    put_part(out, out->len > start ? "; " : "", remedy);
}
