/* What a reader should be told before believing a table; rules as numbered by Hoefler & Belli, SC 2015. */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/comparison_parts.h"

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

static bool remark_on_machines(cbx_comparison *c, const cbx_run *const *runs, size_t nruns)
{
    const cbx_json *first = cbx_json_get(cbx_run_environment(runs[0]), "machine");
    size_t unknown = 0, other = 0;

    for (size_t i = 0; i < nruns; i++) {
        const cbx_json *m = cbx_json_get(cbx_run_environment(runs[i]), "machine");
        unknown += !m;
        other += m && first && !cbx_json_equal(m, first);
    }
    if (unknown && !add(c, 9, cbx_arena_printf(&c->arena, "%zu of %zu runs do not say their machine", unknown, nruns)))
        return false;
    return !other || add(c, 9,
                         cbx_arena_printf(&c->arena, "%zu of %zu runs were measured on another machine than the first",
                                          other, nruns));
}

cbx_status cbx__comparison_remark(cbx_comparison *c, const cbx_run *const *runs, size_t nruns, cbx_err *err)
{
    cbx_arena *a = &c->arena;
    tally t = count(c);
    bool fine;

    c->remarks = cbx_arena_calloc(a, MAX_REMARKS, sizeof(*c->remarks));
    fine = c->remarks != NULL;
    if (fine && t.compared)
        fine = add(c, 1,
                   cbx_arena_printf(a, "speed-ups are over '%s', whose absolute values stand beside them",
                                    c->labels[c->reference]));
    if (fine && t.missing)
        fine = add(c, 2,
                   cbx_arena_printf(a, "%zu cells are missing; say why, or the choice may favour somebody", t.missing));
    if (fine && c->nwinners && c->winners[c->nwinners - 1].nrows > 1)
        fine = add(c, 4,
                   cbx_arena_printf(a, "winners rest on a geometric mean of ratios over %zu rows; look at the rows",
                                    c->winners[c->nwinners - 1].nrows));
    if (fine && t.bare)
        fine = add(
            c, 5,
            cbx_arena_printf(a, "%zu of %zu speed-ups have no interval; keep the samples, or say that values are exact",
                             t.bare, t.compared));
    if (fine && t.few)
        fine = add(c, 6,
                   cbx_arena_printf(a,
                                    "%zu cells have fewer than %d samples; nothing can be said of their distribution",
                                    t.few, FEW_SAMPLES));
    if (fine && t.meeting)
        fine = add(c, 7,
                   cbx_arena_printf(a, "%zu of %zu speed-up intervals hold 1: no difference is shown there", t.meeting,
                                    t.compared));
    if (fine) fine = remark_on_machines(c, runs, nruns);
    return fine ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for remarks");
}
