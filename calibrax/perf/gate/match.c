/* Rows of two tables matched by key.  O(k log k) for k rows. */
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/gate/gate_internal.h"

cbx_status cbx__gate_no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "no memory for a gate"); }

static int by_key(const void *a, const void *b)
{
    const cbx__gate_key *x = a, *y = b;
    int c = strcmp(x->key, y->key);

    if (!c) c = (int)cbx_row_is_attempt(x->row) - (int)cbx_row_is_attempt(y->row);
    if (!c) c = strcmp(x->row->run_id, y->row->run_id);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static bool was_measured(const cbx_row *row)
{
    return cbx_row_is_attempt(row) && strcmp(row->status, "env_failed") != 0;
}

static const char *name_of(cbx__gate *g, const cbx_row *r)
{
    return cbx_arena_printf(&g->arena, "%.60s %.60s %.60s", r->case_name,
                            r->point_label ? r->point_label : r->point_json, r->baseline);
}

static cbx_status make_table(cbx__gate *g, const cbx_rows *rows, bool with_machine, cbx__gate_table *t, cbx_err *err)
{
    size_t kept = 0;

    *t = (cbx__gate_table){ .all = cbx_arena_calloc(&g->arena, rows->count, sizeof *t->all) };
    if (!t->all) return cbx__gate_no_memory(err);
    for (size_t i = 0; i < rows->count; i++) {
        cbx_row named = rows->rows[i];
        if (cbx_row_is_limit(&rows->rows[i])) continue; /* the machine's, not ours */
        if (!with_machine) named.machine = NULL;
        t->all[t->n] = (cbx__gate_key){ cbx_row_key(&g->arena, &named), &rows->rows[i], NULL, i };
        if (!t->all[t->n++].key) return cbx__gate_no_memory(err);
    }
    qsort(t->all, t->n, sizeof *t->all, by_key);
    for (size_t i = 0; i < t->n; i++) { /* the last of equal ones is the newest attempt */
        const cbx__gate_key *k = &t->all[i];
        if (i + 1 == t->n || strcmp(k->key, k[1].key) != 0) {
            if (was_measured(k->row)) t->all[kept++] = *k;
        } else if (!strcmp(k->row->run_id, k[1].row->run_id)) {
            return cbx_fail(err, CBX_EINVAL, "'%s' is listed twice for run %s: keep one of the two rows",
                            name_of(g, k->row), k->row->run_id);
        }
    }
    t->n = kept;
    return CBX_OK;
}

static size_t match(cbx__gate_table *base, cbx__gate_table *now)
{
    size_t both = 0, j = 0;

    for (size_t i = 0; i < base->n; i++) {
        while (j < now->n && strcmp(now->all[j].key, base->all[i].key) < 0) j++;
        if (j == now->n || strcmp(now->all[j].key, base->all[i].key) != 0) continue;
        base->all[i].match = now->all[j].row;
        now->all[j].match = base->all[i].row;
        both++;
    }
    return both;
}

const char *cbx__gate_machine(const cbx_row *row) { return row->machine ? row->machine : ""; }

static bool has_machine(const cbx__gate_table *t, const char *machine)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(cbx__gate_machine(t->all[i].row), machine)) return true;
    return false;
}

/* Baseline keys of machines that have nothing in the current table were not forgotten: nobody measured there. */
static void leave_other_machines_out(cbx__gate *g)
{
    const char *last = NULL;
    bool known = false;
    size_t kept = 0;

    for (size_t i = 0; i < g->base.n; i++) {
        const char *machine = cbx__gate_machine(g->base.all[i].row);
        if (!last || strcmp(last, machine) != 0) known = has_machine(&g->now, machine);
        last = machine;
        if (known)
            g->base.all[kept++] = g->base.all[i];
        else
            g->facts.other_machines++;
    }
    g->base.n = kept;
}

cbx_status cbx__gate_match(cbx__gate *g, const cbx_rows *base, const cbx_rows *now, cbx_err *err)
{
    bool with = !g->opts->allow_machines;
    cbx_status st = make_table(g, base, with, &g->base, err);

    if (!st) st = make_table(g, now, with, &g->now, err);
    if (st) return st;
    g->facts.nbaseline = g->base.n;
    g->facts.ncurrent = g->now.n;
    g->facts.nboth = match(&g->base, &g->now);
    for (size_t i = 0; i < g->now.n && !g->opts->allow_older; i++) {
        const cbx_row *r = g->now.all[i].row, *before = g->now.all[i].match;
        if (before && strcmp(r->run_id, before->run_id) < 0)
            return cbx_fail(
                err, CBX_EINVAL,
                "'%s' under test is older than the baseline's (%s, baseline %s); measure it again, or allow "
                "older rows",
                name_of(g, r), r->run_id, before->run_id);
    }
    if (with && g->facts.nboth) leave_other_machines_out(g);
    if (!with || g->facts.nboth || !g->base.n || !g->now.n) return CBX_OK;
    st = make_table(g, base, false, &g->base,
                    err); /* the engine refuses what only machines keep apart, and names them */
    if (!st) st = make_table(g, now, false, &g->now, err);
    if (!st) g->machines_apart = match(&g->base, &g->now) > 0;
    return st;
}
