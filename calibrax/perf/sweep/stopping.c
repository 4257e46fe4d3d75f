/**
 * Looks at the rounds of a point; see stopping.h.
 */
#include "calibrax/perf/sweep/stopping.h"

#include <math.h>

#include "calibrax/analysis/verdict.h"
#include "calibrax/perf/sweep/pairing.h"
#include "calibrax/statistics/estimate.h"

#define LEVEL 0.95

bool cbx__stopping_by_goal(const cbx__session *s) { return s->goal.half_width > 0 || s->goal.decide; }

cbx_status cbx__stopping_plan(cbx__point *p, size_t last, cbx_err *err)
{
    size_t end = last < 1 ? 1 : last > CBX_LOOKS_PAIRS ? CBX_LOOKS_PAIRS : last;

    p->looked = 0;
    return cbx_looks_plan(end < CBX__FIRST_LOOK ? end : CBX__FIRST_LOOK, end, 1 - LEVEL, &p->looks, err);
}

bool cbx__stopping_done(const cbx__point *p) { return p->looks.count && p->looked == p->looks.count; }

double cbx__stopping_level(const cbx__point *p, const cbx__attempt *a)
{
    return p->looks.count ? cbx_looks_level(&p->looks, a->look) : LEVEL;
}

/* --- one look --- */

typedef struct look {
    cbx_ctx *ctx;
    const cbx__session *s;
    cbx__point *p;
    double level;
    double *mine, *theirs; /* a round each */
    cbx_status st;         /* of a question that could not be answered */
} look;

static bool narrow(const look *k, const cbx_interval *iv)
{
    const double half_width = k->s->goal.half_width;
    return half_width > 0 && iv->level > 0 && iv->upper - iv->lower <= 2 * half_width * iv->value;
}

static bool is_reference(const look *k, const cbx__attempt *a)
{
    return a->baseline == k->s->opts->case_ops->baselines[0];
}

/* True if the question was answered. */
static bool answered(look *k, cbx_status st)
{
    if (st && !k->st) k->st = st;
    return !st;
}

/* The variant of the reference that an attempt is compared with, as far as one knows now; NULL:
 * none. */
static const cbx__attempt *rival_now(look *k, const cbx__attempt *a)
{
    const cbx__attempt *best = NULL, *const end = k->p->plan.attempts + k->p->plan.count;
    double lowest = INFINITY;

    for (const cbx__attempt *r = k->p->plan.attempts; r < end; r++) {
        double m = INFINITY;
        if (r->failure || r->idle || !is_reference(k, r) || r->platform != a->platform) continue;
        const size_t n = cbx__pair_rounds(r, r, k->mine, k->theirs);
        if (n && !answered(k, cbx_stat_median(k->ctx, k->mine, n, &m, NULL))) m = INFINITY;
        if (!best || m < lowest) best = r;
        lowest = fmin(lowest, m);
    }
    return best;
}

/* Why the interval of a's paired ratio is enough; NULL: it is not. */
static const char *ratio_is_enough(look *k, const cbx__attempt *a, const cbx__attempt *rival)
{
    cbx_interval iv;
    size_t n = cbx__pair_rounds(a, rival, k->mine, k->theirs);

    if (!n || !answered(k, cbx_stat_paired_ratio(k->ctx, k->mine, k->theirs, n, k->level, &iv, NULL))) return NULL;
    if (narrow(k, &iv)) return "precision";
    if (k->s->goal.family > 1 && /* by Bonferroni's level, so that the corrected table is decided, too */
        !answered(k, cbx_stat_paired_ratio(k->ctx, k->mine, k->theirs, n,
                                           1 - (1 - k->level) / (double)k->s->goal.family, &iv, NULL)))
        return NULL;
    if (k->s->goal.decide && cbx_verdict_of_ratio(&iv, CBX_VERDICT_MARGIN) != CBX_VERDICT_UNDECIDED) return "verdict";
    return NULL;
}

static const char *median_is_enough(look *k, const cbx__attempt *a)
{
    cbx_interval iv;
    size_t n = cbx__pair_rounds(a, a, k->mine, k->theirs);

    if (!n || !answered(k, cbx_stat_median_interval(k->ctx, k->mine, n, k->level, &iv, NULL))) return NULL;
    return narrow(k, &iv) ? "precision" : NULL;
}

static void settle(look *k, cbx__attempt *a, const char *why)
{
    if (!why) return;
    a->ended = true;
    a->look = k->p->looked;
    a->stopped_because = why;
}

cbx_status cbx__stopping_look(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t size = 2 * (p->rounds + 1) * sizeof(double);
    cbx__attempt *const first = p->plan.attempts, *const end = first + p->plan.count;
    look k = { .ctx = ctx, .s = s, .p = p };

    if (cbx__stopping_done(p) || !p->looks.count || p->rounds != p->looks.pairs[p->looked]) return CBX_OK;
    k.mine = cbx_mem_alloc(al, size);
    if (!k.mine) return cbx_fail(err, CBX_ENOMEM, "out of memory for a look at %zu rounds", p->rounds);
    k.theirs = k.mine + p->rounds + 1;
    k.level = cbx_looks_level(&p->looks, p->looked);
    for (cbx__attempt *a = first; a < end; a++) {
        if (!cbx__attempt_alive(a) || is_reference(&k, a)) continue;
        const cbx__attempt *rival = a->baseline->limit ? NULL : rival_now(&k, a);
        settle(&k, a, rival ? ratio_is_enough(&k, a, rival) : median_is_enough(&k, a));
    }
    for (cbx__attempt *a = first; a < end; a++) {
        bool needed = false, compared = false; /* by an attempt on its platform: still, ever */
        if (!cbx__attempt_alive(a) || !is_reference(&k, a)) continue;
        for (const cbx__attempt *b = first; b < end; b++) {
            if (b->failure || b->idle || is_reference(&k, b) || b->platform != a->platform) continue;
            compared = true;
            needed = needed || !b->ended;
        }
        if (needed) continue;
        const char *why = median_is_enough(&k, a);
        /* where verdicts are all that is wanted, those of the others are it */
        settle(&k, a, why ? why : s->goal.decide && compared ? "verdict" : NULL);
    }
    p->looked++;
    cbx_mem_free(al, k.mine, size);
    return k.st ? cbx_fail(err, k.st, "a look at %zu rounds: %s", p->rounds, cbx_status_words(k.st)) : CBX_OK;
}

cbx_status cbx__stopping_end(cbx__point *p, const char *why, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (p->looks.count && p->rounds && (!p->looked || p->looks.pairs[p->looked - 1] != p->rounds)) {
        size_t pairs = p->rounds < CBX_LOOKS_PAIRS ? p->rounds : CBX_LOOKS_PAIRS;
        st = cbx_looks_end(&p->looks, p->looked, pairs, err);
        if (!st) p->looked++;
    }
    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++) {
        if (a->ended || a->failure || a->idle) continue;
        a->look = p->looked ? p->looked - 1 : 0;
        a->stopped_because = why;
    }
    return st;
}
