/*
 * Orders rows for showing: groups that may be compared, the reference of each, variants, series.
 */
#include "calibrax/perf/report/view.h"

#include <math.h>
#include <string.h>

#include "calibrax/perf/report/format.h"

static const char *word(const char *s) { return s ? s : ""; }

static bool same(const char *a, const char *b) { return strcmp(word(a), word(b)) == 0; }

static bool same_group(const cbx_row *a, const cbx_row *b)
{
    return same(a->point_json, b->point_json) && same(a->case_name, b->case_name) && same(a->platform, b->platform) &&
           same(a->machine, b->machine);
}

/* Position of s in a list that it is added to when it is new. */
static size_t intern(const char **list, size_t *n, const char *s)
{
    for (size_t i = 0; i < *n; i++)
        if (same(list[i], s)) return i;
    list[*n] = word(s);
    return (*n)++;
}

/* What the items are sorted by: group, then rank within it. */
typedef struct order_key {
    size_t case_index, group;
    int rank; /* 0 reference, 1 good, 2 limit, 3 measured but no good, 4 not measured */
    double median;
    cbx__report_item item;
} order_key;

static int compare_sizes(size_t a, size_t b) { return a < b ? -1 : a > b; }

static bool before(const order_key *a, const order_key *b)
{
    int c = compare_sizes(a->case_index, b->case_index);
    if (!c) c = compare_sizes(a->group, b->group);
    if (!c) c = a->rank - b->rank;
    if (!c && !a->rank) c = (int)b->item.row->strongest - (int)a->item.row->strongest;
    if (!c && a->rank < 4) c = a->median < b->median ? -1 : a->median > b->median;
    if (!c) c = compare_sizes(a->item.index, b->item.index);
    return c < 0;
}

/* Merge sort: qsort has no stable order and no context, and rows are few. */
static void sort_keys(order_key *k, order_key *scratch, size_t n)
{
    size_t half = n / 2, a = 0, b = half;
    if (n < 2) return;
    sort_keys(k, scratch, half);
    sort_keys(k + half, scratch, n - half);
    for (size_t i = 0; i < n; i++) scratch[i] = (a < half && (b == n || !before(&k[b], &k[a]))) ? k[a++] : k[b++];
    memcpy(k, scratch, n * sizeof *k);
}

/* Groups by what tells them apart, so that each row finds its own at once. */
typedef struct group_table {
    size_t *slots; /* 1 + number of the group; 0: free */
    size_t nslots; /* a power of two, at least twice the groups */
} group_table;

static uint64_t hash_word(uint64_t h, const char *s)
{
    for (s = word(s); *s; s++) h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return (h ^ 0xff) * UINT64_C(1099511628211);
}

/* The slot of a row's group, or the free one where it would stand.  FNV-1a, of Fowler, Noll and Vo. */
static size_t *slot_of(const cbx__report_view *v, const group_table *t, const cbx_row *r)
{
    uint64_t h = hash_word(UINT64_C(14695981039346656037), r->point_json);

    h = hash_word(hash_word(hash_word(h, r->case_name), r->platform), r->machine);
    for (h ^= h >> 32;; h++) {
        size_t *slot = &t->slots[h & (t->nslots - 1)];
        if (!*slot || same_group(v->groups[*slot - 1].head, r)) return slot;
    }
}

static bool table_open(group_table *t, cbx_arena *arena, size_t rows)
{
    for (t->nslots = 16; t->nslots < 2 * rows; t->nslots *= 2) continue;
    t->slots = cbx_arena_calloc(arena, t->nslots, sizeof *t->slots);
    return t->slots != NULL;
}

static const char *rival_of(const cbx_row *r) { return r->paired_vs ? r->paired_vs : r->ratio_vs; }

static int rank_of(const cbx__report_item *it)
{
    if (it->reference && it->class == CBX__REPORT_GOOD) return 0;
    if (it->class == CBX__REPORT_GOOD) return it->limit ? 2 : 1;
    return it->row->has_metrics ? 3 : 4;
}

/* Marks variants: which item stands for its baseline. */
static void mark_variants(cbx__report_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool stronger = false, earlier = false;
        for (size_t j = 0; j < n; j++) {
            if (j == i || !same(items[i].row->baseline, items[j].row->baseline)) continue;
            items[i].siblings = items[i].siblings || !same(items[i].row->variant, items[j].row->variant);
            if (items[j].row->strongest) stronger = true;
            if (j < i) earlier = true;
        }
        items[i].quoted = items[i].row->strongest || (!stronger && !earlier);
    }
}

static void close_groups(cbx__report_view *v)
{
    for (size_t g = 0; g < v->ngroups; g++) {
        cbx__report_group *group = &v->groups[g];
        cbx__report_item *items = v->items + group->first;
        mark_variants(items, group->count);
        for (size_t i = 0; i < group->count; i++) {
            group->representative = group->representative || items[i].row->representative;
            if (items[i].reference && (!group->reference || (items[i].quoted && !group->reference->quoted)))
                group->reference = &items[i];
        }
    }
}

static void put_value(cbx_text *t, const cbx_json *value)
{
    const char *text = cbx_json_string_value(value);
    if (text)
        cbx_text_puts(t, text);
    else
        cbx_json_write(value, CBX_JSON_COMPACT, t);
}

/* Every parameter but the seed: "513x129x257 (log, f32)" for a product, else "n=4096, k=16". */
static void put_label(cbx_text *t, const cbx_json *point)
{
    bool product = cbx_json_has(point, "m") && cbx_json_has(point, "k") && cbx_json_has(point, "n");
    const char *key, *separator = product ? " (" : "";
    cbx_json *value;
    if (product)
        cbx_text_printf(t, "%lldx%lldx%lld", (long long)cbx_json_get_int(point, "m", 0),
                        (long long)cbx_json_get_int(point, "k", 0), (long long)cbx_json_get_int(point, "n", 0));
    for (size_t i = 0; cbx_json_member(point, i, &key, &value); i++) {
        if (!strcmp(key, "seed") || (product && key[0] && !key[1] && strchr("mkn", key[0]))) continue;
        cbx_text_puts(t, separator);
        if (!product) cbx_text_printf(t, "%s=", key);
        put_value(t, value);
        separator = ", ";
    }
    if (product && separator[0] == ',') cbx_text_putc(t, ')');
}

static const char *label_of(cbx_arena *arena, const cbx_row *row)
{
    cbx_json *point = NULL;
    const char *label = NULL;
    cbx_text t;
    if (row->point_label && row->point_label[0]) return row->point_label;
    if (!row->point_json || cbx_json_parse(row->point_json, strlen(row->point_json), "point", &point, NULL) != CBX_OK)
        return "-";
    cbx_text_init(&t, &arena->al);
    put_label(&t, point);
    if (t.len) label = cbx_arena_strdup(arena, cbx_text_str(&t));
    cbx_text_clear(&t);
    cbx_json_unref(point);
    return label ? label : "-";
}

/* Fills groups and the keys of all items.  A group's reference is what the first of its rows that names one is compared with, else what one of
 * the same case is. */
static bool collect(const cbx_rows *rows, cbx__report_view *v, order_key *keys)
{
    size_t nbaselines = 0, nplatforms = 0;
    group_table table;
    const char **fallback; /* of each case: the reference that some row of it names */
    const char **baselines = cbx_arena_calloc(&v->arena, rows->count + 1, sizeof *baselines);
    const char **platforms = cbx_arena_calloc(&v->arena, rows->count + 1, sizeof *platforms);
    if (!baselines || !platforms || !table_open(&table, &v->arena, rows->count)) return false;
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        cbx__report_item item = {
            .row = r, .index = i, .class = cbx__report_status_class(r), .limit = cbx_row_is_limit(r)
        };
        size_t *slot = slot_of(v, &table, r), g;
        if (!*slot) {
            cbx__report_group *new_group = &v->groups[v->ngroups];
            *slot = ++v->ngroups;
            new_group->head = r;
            new_group->label = label_of(&v->arena, r);
            new_group->case_index = intern(v->cases, &v->ncases, r->case_name);
        }
        g = *slot - 1;
        if (!v->groups[g].reference_name) v->groups[g].reference_name = rival_of(r);
        intern(v->machines, &v->nmachines, r->machine);
        intern(platforms, &nplatforms, r->platform);
        item.series = (int)intern(baselines, &nbaselines, r->baseline);
        keys[i] = (order_key){ v->groups[g].case_index, g, 0, cbx__report_median(r), item };
    }
    v->nplatforms = nplatforms;
    fallback = cbx_arena_calloc(&v->arena, v->ncases + 1, sizeof *fallback);
    if (!fallback) return false;
    for (size_t i = 0; i < rows->count; i++)
        if (!fallback[keys[i].case_index]) fallback[keys[i].case_index] = rival_of(&rows->rows[i]);
    for (size_t g = 0; g < v->ngroups; g++)
        if (!v->groups[g].reference_name) v->groups[g].reference_name = fallback[v->groups[g].case_index];
    for (size_t i = 0; i < rows->count; i++) {
        const char *reference = v->groups[keys[i].group].reference_name;
        keys[i].item.reference = reference && same(reference, rows->rows[i].baseline);
        keys[i].rank = rank_of(&keys[i].item);
    }
    return true;
}

/* Takes the sorted keys over into items and brings the groups into the same order. */
static bool lay_out(cbx__report_view *v, const order_key *keys, size_t n)
{
    cbx__report_group *sorted = cbx_arena_calloc(&v->arena, v->ngroups + 1, sizeof *sorted);
    size_t ngroups = 0;
    if (!sorted) return false;
    for (size_t i = 0; i < n; i++) {
        v->items[i] = keys[i].item;
        if (!i || keys[i].group != keys[i - 1].group) {
            sorted[ngroups] = v->groups[keys[i].group];
            sorted[ngroups++].first = i;
        }
        sorted[ngroups - 1].count++;
    }
    v->nitems = n;
    v->groups = sorted;
    close_groups(v);
    return true;
}

static void *remembering_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    cbx__report_view *v = user;
    void *p = v->base.resize(v->base.user, ptr, old_size, new_size);
    if (!p && new_size) v->failed = true;
    return p;
}

bool cbx__report_view_open(const cbx_rows *rows, cbx__report_view *v, cbx_text *out)
{
    cbx_allocator remembering = { remembering_resize, v };
    size_t n = rows->count;
    order_key *keys, *scratch;
    *v = (cbx__report_view){ .base = out->al };
    cbx_arena_init(&v->arena, &remembering);
    v->items = cbx_arena_calloc(&v->arena, n + 1, sizeof *v->items);
    v->groups = cbx_arena_calloc(&v->arena, n + 1, sizeof *v->groups);
    v->cases = cbx_arena_calloc(&v->arena, n + 1, sizeof *v->cases);
    v->machines = cbx_arena_calloc(&v->arena, n + 1, sizeof *v->machines);
    keys = cbx_arena_calloc(&v->arena, n + 1, sizeof *keys);
    scratch = cbx_arena_calloc(&v->arena, n + 1, sizeof *scratch);
    if (!v->items || !v->groups || !v->cases || !v->machines || !keys || !scratch || !collect(rows, v, keys))
        goto no_memory;
    sort_keys(keys, scratch, n);
    if (!lay_out(v, keys, n)) goto no_memory;
    return true;
no_memory:
    cbx__report_view_close(v, out);
    return false;
}

void cbx__report_view_close(cbx__report_view *v, cbx_text *out)
{
    cbx_arena_clear(&v->arena);
    if (v->failed) out->status = CBX_ENOMEM;
}

const char *cbx__report_name(cbx_arena *arena, const cbx__report_item *item)
{
    const char *variant = item->row->variant, *name = word(item->row->baseline);
    const char *both = NULL;
    if (item->siblings || (variant && *variant && strcmp(variant, "default") != 0))
        both = cbx_arena_printf(arena, "%s (%s)", name, variant && *variant ? variant : "default");
    return both ? both : name;
}

const char *cbx__report_where(cbx_arena *arena, const cbx__report_view *v, const cbx__report_group *g)
{
    const char *text = g->label;
    if (v->nplatforms > 1) text = cbx_arena_printf(arena, "%s, %s", text, word(g->head->platform));
    if (text && v->nmachines > 1) text = cbx_arena_printf(arena, "%s, machine %.12s", text, word(g->head->machine));
    return text ? text : g->label;
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
            out->dim[out->ndims++] = d;
        } else if (text) {
            const char *longer = cbx_arena_printf(arena, "%s%s%s", variety, *variety ? ", " : "", text);
            if (longer) variety = longer;
        }
    }
    out->variety = variety;
    cbx_json_unref(point);
}

bool cbx__report_shapes_alike(const cbx__report_shape *a, const cbx__report_shape *b)
{
    if (a->ndims != b->ndims || !a->ndims || strcmp(a->variety, b->variety) != 0) return false;
    for (size_t i = 1; i < a->ndims; i++)
        if (a->dim[i] * b->dim[0] != b->dim[i] * a->dim[0]) return false;
    return true;
}
