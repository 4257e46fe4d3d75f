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
#include "calibrax/base/together.h"

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
    cbx_arena texts, samples, scratch, sorted; /* sorted: order and starts */
    cbx_text key;                              /* being put together */
    CBX_LIST(row) rows;                        /* by number of the key */
    CBX_LIST(metric) metrics;
    CBX_LIST(cell *) blocks;
    CBX_LIST(sampled) sampled;            /* by cell */
    CBX_LIST(const cbx_metric *) sources; /* by cell; empty unless o.runs_stay */
    uint32_t *order;                      /* cells by row, each row in the order they came, when sorted */
    size_t *starts;                       /* of each row in the order */
    size_t ncells, nchecked;
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
    cbx_arena_init(&t->sorted, al);
    cbx_text_init(&t->key, al);
    *out = t;
    return CBX_OK;
}

void cbx_rank_table_free(cbx_rank_table *t)
{
    if (!t) return;
    cbx_allocator al = t->al;

    for (size_t i = 0; i < t->blocks.n; i++) cbx_mem_free(&al, t->blocks.items[i], BLOCK * sizeof(cell));
    cbx_list_clear(&al, &t->blocks);
    cbx_list_clear(&al, &t->rows);
    cbx_list_clear(&al, &t->metrics);
    cbx_list_clear(&al, &t->sampled);
    cbx_list_clear(&al, &t->sources);
    cbx_names_clear(&t->keys);
    cbx_names_clear(&t->names);
    cbx_names_clear(&t->competitors);
    cbx_arena_clear(&t->texts);
    cbx_arena_clear(&t->samples);
    cbx_arena_clear(&t->scratch);
    cbx_arena_clear(&t->sorted);
    cbx_text_clear(&t->key);
    cbx_mem_free(&al, t, sizeof *t);
}

/* --- cells --- */

static cell *cell_at(const cbx_rank_table *t, size_t i) { return &t->blocks.items[i / BLOCK][i % BLOCK]; }

static bool add_cell(cbx_rank_table *t, cell c)
{
    if (t->ncells == t->blocks.n * BLOCK) {
        if (!cbx_list_reserve(&t->al, &t->blocks, t->blocks.n + 1)) return false;
        cell *block = cbx_mem_calloc(&t->al, BLOCK, sizeof *block);
        if (!block) return false;
        t->blocks.items[t->blocks.n++] = block;
    }
    *cell_at(t, t->ncells++) = c;
    return true;
}

/* Samples of so many competitors that no run asks for them go. */
static bool add_samples(cbx_rank_table *t, const cbx_metric *m)
{
    if (!m->samples || !m->nsamples) return true;
    if (t->competitors.n > t->o.samples_max) {
        cbx_arena_clear(&t->samples);
        t->sampled.n = 0;
        t->dropped = true;
        return true;
    }
    double *copy = cbx_arena_calloc(&t->samples, m->nsamples, sizeof *copy);
    if (!copy) return false;
    memcpy(copy, m->samples, m->nsamples * sizeof *copy);
    return cbx_list_push(&t->al, &t->sampled, (sampled){ (uint32_t)t->ncells - 1, copy, m->nsamples });
}

static metric *metric_of(cbx_rank_table *t, const char *name, size_t *at)
{
    *at = cbx_names_add(&t->names, name);
    if (*at == CBX_NO_NAME) return NULL;
    if (*at == t->metrics.n && !cbx_list_push(&t->al, &t->metrics, (metric){ .direction = CBX_DIRECTION_INFO }))
        return NULL;
    return &t->metrics.items[*at];
}

static bool add_value(cbx_rank_table *t, size_t competitor, size_t prefix, const cbx_named_metric *m)
{
    size_t name;
    metric *of = metric_of(t, m->name, &name);

    t->key.len = prefix;
    cbx_text_putc(&t->key, ':');
    cbx_text_puts(&t->key, m->name);
    size_t key = of && !t->key.status ? cbx_names_add(&t->keys, cbx_text_str(&t->key)) : CBX_NO_NAME;
    if (key == CBX_NO_NAME) return false;
    if (key == t->rows.n && !cbx_list_push(&t->al, &t->rows, (row){ .metric = (uint32_t)name })) return false;
    of->used = true;
    t->rows.items[key].ncells++;
    t->rows.items[key].nnumbers += !isnan(m->metric.value);
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

/* --- cells by row --- */

/* Finds the cells of each row.  A competitor with two values in a row: the first one is reported.
 * Costs as much as the values that came since the last time, or little more. */
static cbx_status sort_cells(cbx_rank_table *t, cbx_err *err)
{
    size_t before = 0, twice = t->ncells;
    uint32_t *seen;

    cbx_arena_clear(&t->sorted);
    if (!cbx_arena_arrays(&t->sorted, CBX_ARRAY(t->order, t->ncells), CBX_ARRAY(t->starts, t->rows.n + 1),
                          CBX_ARRAY(seen, t->competitors.n)))
        return cbx_fail_nomem(err, "a table of competitors");
    for (size_t r = 0; r < t->rows.n; r++) {
        t->starts[r] = before;
        before += t->rows.items[r].ncells;
    }
    for (size_t i = 0; i < t->ncells; i++) t->order[t->starts[cell_at(t, i)->row]++] = (uint32_t)i;
    for (size_t r = t->rows.n; r-- > 0;) t->starts[r + 1] = t->starts[r];
    t->starts[0] = 0;
    t->nchecked = t->ncells;
    for (size_t r = 0; r < t->rows.n; r++)
        for (size_t i = t->starts[r]; i < t->starts[r + 1]; i++) {
            uint32_t *last = &seen[cell_at(t, t->order[i])->competitor];
            if (*last == r + 1 && t->order[i] < twice) twice = t->order[i];
            *last = (uint32_t)r + 1;
        }
    if (twice == t->ncells) return CBX_OK;
    const cell *c = cell_at(t, twice);
    return cbx_fail(err, CBX_EEXIST, "'%s' has two values for '%s'; distinguish them by a tag",
                    t->competitors.list[c->competitor], t->keys.list[c->row]);
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
    for (size_t i = 0; i < t->metrics.n; i++)
        if (t->metrics.items[i].used && t->metrics.items[i].other)
            return cbx_fail(err, CBX_EFORMAT,
                            "the unit or direction of '%s' in run '%s' differs from that in earlier runs",
                            t->names.list[i], t->metrics.items[i].other);
    return t->ncells < 2 * t->nchecked ? CBX_OK : sort_cells(t, err);
}

cbx_status cbx_rank_table_close(cbx_rank_table *t, cbx_err *err)
{
    size_t n = t->competitors.n;

    for (size_t k = 0; t->o.metrics && k < t->o.nmetrics; k++) { /* one that no run has is misspelt */
        size_t at = cbx_names_find(&t->names, t->o.metrics[k]);
        if (at == CBX_NO_NAME || !t->metrics.items[at].used)
            return cbx_fail(err, CBX_ENOENT, "no point has the metric '%s': correct the name", t->o.metrics[k]);
    }
    if (n < 2 && t->o.group_tag && !t->tagged)
        return cbx_fail(err, CBX_EINVAL, "two competitors are needed, and no point has the tag '%s'", t->o.group_tag);
    if (n < 2) return cbx_fail(err, CBX_EINVAL, "two competitors are needed, there %s %zu", n == 1 ? "is" : "are", n);
    return sort_cells(t, err);
}

/* --- answers --- */

size_t cbx_rank_table_ncompetitors(const cbx_rank_table *t) { return t->competitors.n; }
bool cbx_rank_table_dropped_samples(const cbx_rank_table *t) { return t->dropped; }
size_t cbx_rank_table_nrows(const cbx_rank_table *t) { return t->rows.n; }

const char *cbx_rank_table_competitor(const cbx_rank_table *t, size_t i)
{
    return i < t->competitors.n ? t->competitors.list[i] : NULL;
}

cbx_rank_row cbx_rank_table_row(const cbx_rank_table *t, size_t i)
{
    const row *r = &t->rows.items[i];
    const metric *m = &t->metrics.items[r->metric];

    return (cbx_rank_row){ t->keys.list[i], t->names.list[r->metric], m->unit, m->direction, r->ncells, r->nnumbers };
}

CBX_BY(by_competitor, cbx_rank_cell, competitor)

CBX_BY(by_cell, sampled, cell)

static cbx_rank_cell read_cell(const cbx_rank_table *t, uint32_t i)
{
    const sampled wanted = { .cell = i };
    const sampled *s = t->sampled.n ? bsearch(&wanted, t->sampled.items, t->sampled.n, sizeof wanted, by_cell) : NULL;
    const cell *c = cell_at(t, i);

    return (cbx_rank_cell){
        c->competitor, c->value, 0, NAN, s ? s->x : NULL, s ? s->n : 0, t->sources.n ? t->sources.items[i] : NULL
    };
}

cbx_status cbx_rank_table_cells(cbx_rank_table *t, size_t i, cbx_rank_cell *out, cbx_err *err)
{
    size_t n = t->rows.items[i].ncells;
    cbx_direction direction = t->metrics.items[t->rows.items[i].metric].direction;
    cbx_rank_cell *cells;
    cbx_rank_entry *e;
    double *values;
    bool good = cbx_arena_arrays(&t->scratch, CBX_ARRAY(values, n), CBX_ARRAY(e, n), CBX_ARRAY(cells, n));
    cbx_status st = good ? CBX_OK : cbx_fail_nomem(err, "a table of competitors");

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
