/* Values in the order they came, each with the numbers of its row and its competitor; what belongs
 * to a row is found by counting when all are there.
 *
 * Workload: 500,000 values of 10,000 runs, each a competitor; or as many of one, whose second value
 * for a cell ends it. */
#include "calibrax/analysis/rank_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/base/options.h"

#define BLOCK 4096 /* cells */

typedef struct cell {
    uint32_t row, competitor;
    double value;
} cell;

typedef struct row {
    uint32_t metric, ncells, nnumbers;
} row;

typedef struct metric {
    const char *unit; /* of the first run that defines it; NULL: none has */
    cbx_direction direction;
    const char *other; /* a run that says another; NULL: none does */
    bool used;         /* some point has it */
} metric;

typedef struct sampled {
    uint32_t cell;
    const double *x;
    size_t n;
} sampled;

struct cbx_rank_table {
    cbx_allocator al;
    cbx_rank_table_opts o;
    cbx_names keys, names, competitors;
    cbx_arena texts, samples, scratch;
    cbx_text key; /* being put together */
    row *rows;    /* by number of the key */
    metric *metrics;
    cell **blocks;
    sampled *sampled;                     /* by cell */
    CBX_LIST(const cbx_metric *) sources; /* by cell; empty unless o.runs_stay */
    uint32_t *order;                      /* cells by row, each row in the order they came; NULL: not closed */
    size_t *starts;                       /* of each row in the order */
    size_t nrows, rows_capacity, nmetrics, metrics_capacity, ncells, blocks_capacity, nsampled, sampled_capacity,
        nchecked;
    bool tagged;  /* a point has the group tag */
    bool dropped; /* there were samples that are not kept */
};

/* --- made and freed --- */

cbx_status cbx_rank_table_create(cbx_ctx *ctx, const cbx_rank_table_opts *opts, cbx_rank_table **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_rank_table_opts o = CBX_RANK_TABLE_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_rank_table_opts", err);

    if (st) return st;
    cbx_rank_table *t = cbx_mem_zalloc(al, sizeof *t);
    if (!t) return cbx_fail_nomem(err, "a table of competitors");
    t->al = *al;
    t->o = o;
    cbx_names_init(&t->keys, al);
    cbx_names_init(&t->names, al);
    cbx_names_init(&t->competitors, al);
    cbx_arena_init(&t->texts, al);
    cbx_arena_init(&t->samples, al);
    cbx_arena_init(&t->scratch, al);
    cbx_text_init(&t->key, al);
    *out = t;
    return CBX_OK;
}

static size_t nblocks(const cbx_rank_table *t) { return (t->ncells + BLOCK - 1) / BLOCK; }

void cbx_rank_table_free(cbx_rank_table *t)
{
    if (!t) return;
    cbx_allocator al = t->al;
    for (size_t i = 0; i < nblocks(t); i++) cbx_mem_free(&al, t->blocks[i], BLOCK * sizeof(cell));
    cbx_mem_free(&al, t->blocks, t->blocks_capacity * sizeof *t->blocks);
    cbx_mem_free(&al, t->rows, t->rows_capacity * sizeof *t->rows);
    cbx_mem_free(&al, t->metrics, t->metrics_capacity * sizeof *t->metrics);
    cbx_mem_free(&al, t->sampled, t->sampled_capacity * sizeof *t->sampled);
    cbx_list_clear(&al, &t->sources);
    cbx_mem_free(&al, t->order, t->ncells * sizeof *t->order);
    cbx_mem_free(&al, t->starts, (t->nrows + 1) * sizeof *t->starts);
    cbx_names_clear(&t->keys);
    cbx_names_clear(&t->names);
    cbx_names_clear(&t->competitors);
    cbx_arena_clear(&t->texts);
    cbx_arena_clear(&t->samples);
    cbx_arena_clear(&t->scratch);
    cbx_text_clear(&t->key);
    cbx_mem_free(&al, t, sizeof *t);
}

/* --- cells --- */

static cell *cell_at(const cbx_rank_table *t, size_t i) { return &t->blocks[i / BLOCK][i % BLOCK]; }

static bool add_cell(cbx_rank_table *t, cell c)
{
    if (t->ncells % BLOCK == 0) {
        size_t n = nblocks(t);
        if (!cbx_grow(&t->al, &t->blocks, &t->blocks_capacity, n + 1, sizeof *t->blocks)) return false;
        t->blocks[n] = cbx_mem_calloc(&t->al, BLOCK, sizeof(cell));
        if (!t->blocks[n]) return false;
    }
    t->ncells++;
    *cell_at(t, t->ncells - 1) = c;
    return true;
}

/* Samples of so many competitors that no run asks for them go. */
static bool add_samples(cbx_rank_table *t, const cbx_metric *m)
{
    if (!m->samples || !m->nsamples) return true;
    if (t->competitors.n > t->o.samples_max) {
        cbx_arena_clear(&t->samples);
        t->nsampled = 0;
        t->dropped = true;
        return true;
    }
    if (!cbx_grow(&t->al, &t->sampled, &t->sampled_capacity, t->nsampled + 1, sizeof *t->sampled)) return false;
    double *copy = cbx_arena_calloc(&t->samples, m->nsamples, sizeof *copy);
    if (!copy) return false;
    memcpy(copy, m->samples, m->nsamples * sizeof *copy);
    t->sampled[t->nsampled++] = (sampled){ (uint32_t)t->ncells - 1, copy, m->nsamples };
    return true;
}

static metric *metric_of(cbx_rank_table *t, const char *name, size_t *at)
{
    *at = cbx_names_add(&t->names, name);
    if (*at == CBX_NO_NAME || !cbx_grow(&t->al, &t->metrics, &t->metrics_capacity, *at + 1, sizeof *t->metrics))
        return NULL;
    if (*at == t->nmetrics) t->metrics[t->nmetrics++] = (metric){ .direction = CBX_DIRECTION_INFO };
    return &t->metrics[*at];
}

static bool add_value(cbx_rank_table *t, size_t competitor, size_t prefix, const cbx_named_metric *m)
{
    size_t name;
    metric *of = metric_of(t, m->name, &name);

    t->key.len = prefix;
    cbx_text_putc(&t->key, ':');
    cbx_text_puts(&t->key, m->name);
    size_t key = of && !t->key.status ? cbx_names_add(&t->keys, cbx_text_str(&t->key)) : CBX_NO_NAME;
    if (key == CBX_NO_NAME || !cbx_grow(&t->al, &t->rows, &t->rows_capacity, key + 1, sizeof *t->rows)) return false;
    if (key == t->nrows) t->rows[t->nrows++] = (row){ .metric = (uint32_t)name };
    of->used = true;
    t->rows[key].ncells++;
    t->rows[key].nnumbers += !isnan(m->metric.value);
    return add_cell(t, (cell){ (uint32_t)key, (uint32_t)competitor, m->metric.value }) && add_samples(t, &m->metric) &&
           (!t->o.runs_stay || cbx_list_push(&t->al, &t->sources, &m->metric));
}

/* "point@scenario{other tags}" */
static bool put_row(cbx_rank_table *t, const cbx_point *p, const char *competitor)
{
    cbx_tag *tags = cbx_arena_calloc(&t->scratch, p->ntags, sizeof *tags);
    size_t n = 0;

    if (!tags) return false;
    for (size_t i = 0; i < p->ntags; i++)
        if (!t->o.group_tag || strcmp(p->tags[i].key, t->o.group_tag) != 0) tags[n++] = p->tags[i];
    if (n > 1) qsort(tags, n, sizeof *tags, cbx_tag_compare);
    cbx_text_reset(&t->key);
    cbx_text_puts(&t->key, n < p->ntags && !strcmp(p->name, competitor) ? "*" : p->name);
    cbx_text_putc(&t->key, '@');
    cbx_text_puts(&t->key, p->scenario);
    for (size_t i = 0; i < n; i++) {
        cbx_text_putc(&t->key, i ? ',' : '{');
        cbx_text_puts(&t->key, tags[i].key);
        cbx_text_putc(&t->key, '=');
        cbx_text_puts(&t->key, tags[i].value);
    }
    cbx_text_puts(&t->key, n ? "}" : "{}");
    return t->key.status == CBX_OK;
}

static bool is_wanted(const cbx_rank_table_opts *o, const char *name)
{
    for (size_t i = 0; o->metrics && i < o->nmetrics; i++)
        if (!strcmp(o->metrics[i], name)) return true;
    return !o->metrics;
}

static bool add_point(cbx_rank_table *t, const char *run, const cbx_point *p)
{
    const char *tag = t->o.group_tag ? cbx_point_tag(p, t->o.group_tag) : NULL, *name = tag ? tag : run;
    size_t competitor = CBX_NO_NAME;

    if (!put_row(t, p, name)) return false;
    t->tagged |= tag != NULL;
    size_t prefix = t->key.len;
    for (size_t k = 0; k < p->nmetrics; k++) {
        if (!is_wanted(&t->o, p->metrics[k].name)) continue;
        if (competitor == CBX_NO_NAME) competitor = cbx_names_add(&t->competitors, name);
        if (competitor == CBX_NO_NAME || !add_value(t, competitor, prefix, &p->metrics[k])) return false;
    }
    return true;
}

/* --- definitions --- */

/* One that differs counts when a point has the metric, which may come later. */
static bool learn_def(cbx_rank_table *t, const cbx_run *run, const cbx_metric_def *d)
{
    size_t at;
    metric *m = metric_of(t, d->name, &at);

    if (!m) return false;
    if (!m->unit) {
        m->unit = cbx_arena_strdup(&t->texts, d->unit);
        m->direction = d->direction;
        return m->unit;
    }
    if (m->other || (m->direction == d->direction && !strcmp(m->unit, d->unit))) return true;
    m->other = cbx_arena_strdup(&t->texts, cbx_run_id(run));
    return m->other;
}

static cbx_status check_defs(const cbx_rank_table *t, cbx_err *err)
{
    for (size_t i = 0; i < t->nmetrics; i++)
        if (t->metrics[i].used && t->metrics[i].other)
            return cbx_fail(err, CBX_EFORMAT,
                            "the unit or direction of '%s' in run '%s' differs from that in earlier runs",
                            t->names.list[i], t->metrics[i].other);
    return CBX_OK;
}

/* --- cells by row --- */

/* A competitor with two values in a row: the first one is reported. */
static cbx_status find_twice(const cbx_rank_table *t, const uint32_t *order, const size_t *starts, uint32_t *seen,
                             cbx_err *err)
{
    size_t first = t->ncells;

    for (size_t r = 0; r < t->nrows; r++)
        for (size_t i = starts[r]; i < starts[r + 1]; i++) {
            uint32_t *last = &seen[cell_at(t, order[i])->competitor];
            if (*last == r + 1 && order[i] < first) first = order[i];
            *last = (uint32_t)r + 1;
        }
    if (first == t->ncells) return CBX_OK;
    const cell *c = cell_at(t, first);
    return cbx_fail(err, CBX_EEXIST, "'%s' has two values for '%s'; distinguish them by a tag",
                    t->competitors.list[c->competitor], t->keys.list[c->row]);
}

/* Costs as much as the values that came since the last time, or little more. */
static cbx_status check_cells(cbx_rank_table *t, bool keep, cbx_err *err)
{
    uint32_t *order = cbx_mem_calloc(&t->al, t->ncells, sizeof *order);
    size_t *starts = cbx_mem_calloc(&t->al, t->nrows + 1, sizeof *starts);
    uint32_t *seen = cbx_mem_calloc(&t->al, t->competitors.n, sizeof *seen);
    bool good = starts && (order || !t->ncells) && (seen || !t->competitors.n);
    cbx_status st = good ? CBX_OK : cbx_fail_nomem(err, "a table of competitors");

    if (good) {
        /* Both lists are the caller's, for ncells and nrows + 1. */
        size_t before = 0;

        for (size_t r = 0; r < t->nrows; r++) {
            starts[r] = before;
            before += t->rows[r].ncells;
        }
        for (size_t i = 0; i < t->ncells; i++) order[starts[cell_at(t, i)->row]++] = (uint32_t)i;
        for (size_t r = t->nrows; r-- > 0;) starts[r + 1] = starts[r];
        starts[0] = 0;
        st = find_twice(t, order, starts, seen, err);
        t->nchecked = t->ncells;
    }
    cbx_mem_free(&t->al, seen, t->competitors.n * sizeof *seen);
    if (!st && keep) {
        t->order = order;
        t->starts = starts;
        return CBX_OK;
    }
    cbx_mem_free(&t->al, order, t->ncells * sizeof *order);
    cbx_mem_free(&t->al, starts, (t->nrows + 1) * sizeof *starts);
    return st;
}

/* --- runs --- */

cbx_status cbx_rank_table_add(cbx_rank_table *t, const cbx_run *run, const char *label, cbx_err *err)
{
    bool good = true;

    for (size_t i = 0; good && i < cbx_run_npoints(run); i++)
        good = add_point(t, label ? label : cbx_run_id(run), cbx_run_point(run, i));
    for (size_t i = 0; good && i < cbx_run_nmetric_defs(run); i++) good = learn_def(t, run, cbx_run_metric_def(run, i));
    cbx_arena_clear(&t->scratch);
    if (!good) return cbx_fail_nomem(err, "a table of competitors");
    if (t->ncells > UINT32_MAX)
        return cbx_fail(err, CBX_EOVERFLOW, "with run '%s' there are more than 2^32 values: rank fewer runs",
                        cbx_run_id(run));
    cbx_status st = check_defs(t, err);
    return st || t->ncells < 2 * t->nchecked ? st : check_cells(t, false, err);
}

cbx_status cbx_rank_table_close(cbx_rank_table *t, cbx_err *err)
{
    size_t n = t->competitors.n;

    for (size_t k = 0; t->o.metrics && k < t->o.nmetrics; k++) { /* one that no run has is misspelt */
        size_t at = cbx_names_find(&t->names, t->o.metrics[k]);
        if (at == CBX_NO_NAME || !t->metrics[at].used)
            return cbx_fail(err, CBX_ENOENT, "no point has the metric '%s': correct the name", t->o.metrics[k]);
    }
    if (n < 2 && t->o.group_tag && !t->tagged)
        return cbx_fail(err, CBX_EINVAL, "two competitors are needed, and no point has the tag '%s'", t->o.group_tag);
    if (n < 2) return cbx_fail(err, CBX_EINVAL, "two competitors are needed, there %s %zu", n == 1 ? "is" : "are", n);
    return check_cells(t, true, err);
}

/* --- answers --- */

size_t cbx_rank_table_ncompetitors(const cbx_rank_table *t) { return t->competitors.n; }
bool cbx_rank_table_dropped_samples(const cbx_rank_table *t) { return t->dropped; }
size_t cbx_rank_table_nrows(const cbx_rank_table *t) { return t->nrows; }

const char *cbx_rank_table_competitor(const cbx_rank_table *t, size_t i)
{
    return i < t->competitors.n ? t->competitors.list[i] : NULL;
}

cbx_rank_row cbx_rank_table_row(const cbx_rank_table *t, size_t i)
{
    const row *r = &t->rows[i];
    const metric *m = &t->metrics[r->metric];

    return (cbx_rank_row){ t->keys.list[i], t->names.list[r->metric], m->unit, m->direction, r->ncells, r->nnumbers };
}

CBX_BY(by_competitor, cbx_rank_cell, competitor)

CBX_BY(by_cell, sampled, cell)

static cbx_rank_cell read_cell(const cbx_rank_table *t, uint32_t i)
{
    const sampled wanted = { .cell = i };
    const sampled *s = t->nsampled ? bsearch(&wanted, t->sampled, t->nsampled, sizeof wanted, by_cell) : NULL;
    const cell *c = cell_at(t, i);

    return (cbx_rank_cell){
        c->competitor, c->value, 0, NAN, s ? s->x : NULL, s ? s->n : 0, t->sources.n ? t->sources.items[i] : NULL
    };
}

cbx_status cbx_rank_table_cells(cbx_rank_table *t, size_t i, cbx_rank_cell *out, cbx_err *err)
{
    size_t n = t->rows[i].ncells;
    cbx_direction direction = t->metrics[t->rows[i].metric].direction;
    double *values = cbx_arena_calloc(&t->scratch, n, sizeof *values);
    cbx_rank_entry *e = cbx_arena_calloc(&t->scratch, n, sizeof *e);
    cbx_rank_cell *cells = cbx_arena_calloc(&t->scratch, n, sizeof *cells);
    cbx_status st = values && e && cells ? CBX_OK : cbx_fail_nomem(err, "a table of competitors");

    for (size_t k = 0; !st && k < n; k++) cells[k] = read_cell(t, t->order[t->starts[i] + k]);
    if (!st && n) qsort(cells, n, sizeof *cells, by_competitor);
    for (size_t k = 0; !st && k < n; k++) values[k] = cells[k].value;
    if (!st && direction != CBX_DIRECTION_INFO) st = cbx_rank(values, n, direction, e, err);
    for (size_t k = 0; !st && k < n; k++) {
        out[k] = cells[direction == CBX_DIRECTION_INFO ? k : e[k].index];
        if (direction == CBX_DIRECTION_INFO) continue;
        out[k].rank = e[k].rank;
        out[k].delta = e[k].rank ? e[k].delta : NAN;
    }
    cbx_arena_clear(&t->scratch);
    return st;
}
