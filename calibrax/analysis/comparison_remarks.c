/* What a reader should consider before believing a table; rules as numbered by Hoefler & Belli, SC
 * 2015. */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/comparison_parts.h"
#include "calibrax/statistics/series.h"

#define MAX_REMARKS 16
/** Fewer give no 95 % interval of a median. */
#define FEW_SAMPLES 6

static bool add(cbx_comparison *c, int rule, const char *sentence)
{
    if (!sentence) return false;
    c->remarks[c->nremarks++] = (cbx__remark){ rule, sentence };
    return true;
}

typedef struct tally {
    size_t missing, bare, few, meeting, compared;
} tally;

static tally count(const cbx_comparison *c)
{
    tally t = { 0 };

    for (size_t i = 0; i < c->nrows; i++) {
        t.missing += c->rows[i].nmissing;
        for (size_t k = 0; k < c->nlabels; k++) {
            const cbx_comparison_cell *cell = &c->rows[i].cells[k];
            bool has_interval = cell->speedup.lower < cell->speedup.upper;
            if (isnan(cell->value)) continue;
            t.few += cell->nsamples > 0 && cell->nsamples < FEW_SAMPLES;
            if (k == c->reference || isnan(cell->speedup.value)) continue;
            t.compared++;
            t.bare += !has_interval;
            t.meeting += has_interval && cell->speedup.lower <= 1 && cell->speedup.upper >= 1;
        }
    }
    return t;
}

/* Modes that are no single wild value. */
static cbx_status count_groups(cbx_ctx *ctx, const cbx_comparison_cell *cell, size_t *groups, cbx_err *err)
{
    cbx_mode mode[8];
    size_t modes = 0;
    cbx_status st = cbx_stat_modes(ctx, cell->samples, cell->nsamples, CBX_MODES_RESOLUTION, mode, CBX_LEN(mode),
                                   &modes, err);

    *groups = 0;
    for (size_t i = 0; !st && i < modes && i < CBX_LEN(mode); i++) *groups += mode[i].count > 1;
    return st == CBX_EDOM ? CBX_OK : st; /* no number among them: said elsewhere */
}

/* Cells whose samples fall into groups: one number stands for the largest of them at best. */
static cbx_status count_grouped(cbx_ctx *ctx, const cbx_comparison *c, size_t *grouped, cbx_err *err)
{
    cbx_status st = CBX_OK;

    *grouped = 0;
    for (size_t i = 0; i < c->nrows; i++)
        for (size_t k = 0; !st && k < c->nlabels; k++) {
            const cbx_comparison_cell *cell = &c->rows[i].cells[k];
            size_t groups;
            if (isnan(cell->value) || cell->nsamples < FEW_SAMPLES) continue;
            st = count_groups(ctx, cell, &groups, err);
            *grouped += groups > 1;
        }
    return st;
}

static bool remark_on_machines(cbx_comparison *c, const cbx_run *const *runs, size_t nruns)
{
    size_t unknown = 0, other = 0;

    for (size_t i = 0; i < nruns; i++) {
        unknown += cbx_run_same_machine(runs[i], runs[i]) == CBX_MACHINE_UNKNOWN;
        other += cbx_run_same_machine(runs[0], runs[i]) == CBX_MACHINE_OTHER;
    }
    if (unknown && !add(c, 9, cbx_arena_printf(&c->arena, "%zu of %zu runs do not say their machine", unknown, nruns)))
        return false;
    return !other || add(c, 9,
                         cbx_arena_printf(&c->arena, "%zu of %zu runs were measured on another machine than the first",
                                          other, nruns));
}

cbx_status cbx__comparison_remark(cbx_ctx *ctx, cbx_comparison *c, const cbx_run *const *runs, size_t nruns,
                                  cbx_err *err)
{
    cbx_arena *a = &c->arena;
    tally t = count(c);
    size_t grouped;
    cbx_status st = count_grouped(ctx, c, &grouped, err);

    if (st) return st;
    c->remarks = cbx_arena_calloc(a, MAX_REMARKS, sizeof(*c->remarks));
    bool fine = c->remarks != NULL;
    if (fine && t.compared)
        fine = add(c, 1,
                   cbx_arena_printf(a, "speed-ups are over '%s', whose absolute values are in the table",
                                    c->labels[c->reference]));
    if (fine && t.missing)
        fine = add(c, 2,
                   cbx_arena_printf(a, "%zu cells are missing; give the reason, or the choice may favour a competitor",
                                    t.missing));
    if (fine && c->nwinners && c->winners[c->nwinners - 1].nrows > 1)
        fine = add(c, 4,
                   cbx_arena_printf(a, "winners rest on a geometric mean of ratios over %zu rows; look at the rows",
                                    c->winners[c->nwinners - 1].nrows));
    if (fine && t.bare)
        fine = add(
            c, 5,
            cbx_arena_printf(a, "%zu of %zu speed-ups have no interval; keep the samples, or declare the values exact",
                             t.bare, t.compared));
    if (fine && t.few)
        fine = add(c, 6,
                   cbx_arena_printf(a, "%zu cells have fewer than %d samples; their distribution is unknown", t.few,
                                    FEW_SAMPLES));
    if (fine && grouped)
        fine = add(c, 6,
                   cbx_arena_printf(a,
                                    "%zu cells hold samples in groups that stand apart; a median is of one group, look "
                                    "at the samples",
                                    grouped));
    if (fine && t.meeting)
        fine = add(c, 7,
                   cbx_arena_printf(a, "%zu of %zu speed-up intervals hold 1: no difference is shown there", t.meeting,
                                    t.compared));
    if (fine) fine = remark_on_machines(c, runs, nruns);
    return fine ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for remarks");
}
