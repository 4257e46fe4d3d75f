/*
 * What a finding and the whole table are called: names, one sentence each, and the exit code.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/analysis/regression_parts.h"

#define WORDS(name, words, exit_code) words,
static const char *const outcome_names[] = { CBX_OUTCOME_MAP(WORDS) };
#undef WORDS
#define CODE(name, words, exit_code) exit_code,
static const int outcome_codes[] = { CBX_OUTCOME_MAP(CODE) };
#undef CODE

const char *cbx_outcome_name(cbx_outcome outcome)
{
    return (unsigned)outcome < CBX_LEN(outcome_names) ? outcome_names[outcome] : "?";
}

const char *cbx_basis_name(cbx_basis basis)
{
    static const char *const names[] = { "none", "values", "bounds", "samples" };
    return (unsigned)basis < CBX_LEN(names) ? names[basis] : "?";
}

/* For outcomes that no number explains. */
static const char *const plain_sentences[CBX_OUTCOME_COUNT] = {
    [CBX_OUTCOME_NEW] = "is not in the baseline",
    [CBX_OUTCOME_DROPPED] = "is in the baseline and missing now; measure it, or allow dropped keys",
    [CBX_OUTCOME_NAN_NOW] = "is not a finite number now",
    [CBX_OUTCOME_NAN_BASELINE] = "is not a finite number in the baseline; set another baseline",
    [CBX_OUTCOME_ZERO_BASELINE] = "is 0 in the baseline; set a minimum change to compare by difference",
    [CBX_OUTCOME_NO_DEFINITION] = "has no definition; say its unit and direction",
    [CBX_OUTCOME_NO_DEFINITION_NOW] = "is defined in the baseline and no more in the run; say its unit and direction "
                                      "there, or in the store's config.json",
    [CBX_OUTCOME_NO_DEFINITION_BASELINE] =
        "is defined in the run and not in the baseline; set a new baseline, or define it in the store's config.json",
    [CBX_OUTCOME_DUPLICATE] = "stands more than once in a run; tell the points apart by a tag",
    [CBX_OUTCOME_INFO] = "is for information and never gates",
    [CBX_OUTCOME_DEFINITIONS_DIFFER] = "has another unit or direction than in the baseline; set a new baseline",
    [CBX_OUTCOME_NEGATIVE_NOW] = "is a time below 0: a clock jumped; measure anew",
    [CBX_OUTCOME_NEGATIVE_BASELINE] = "is a time below 0 in the baseline: a clock jumped; set another baseline",
    [CBX_OUTCOME_BOUNDS_NOW] =
        "has bounds that do not hold its value, or one without the other; mend them, or compare by "
        "values alone",
    [CBX_OUTCOME_BOUNDS_BASELINE] =
        "has bounds in the baseline that do not hold its value, or one without the other; set "
        "another baseline, or compare by values alone",
};

const char *cbx_gate_reason_name(cbx_gate_reason reason)
{
#define REASON(name, words) words,
    static const char *const names[] = { CBX_GATE_REASON_MAP(REASON) };
#undef REASON
    return (unsigned)reason < CBX_LEN(names) ? names[reason] : "?";
}

static const char *how_sure(const cbx_finding *f, char buf[96])
{
    buf[0] = 0;
    if (f->basis == CBX_BASIS_SAMPLES)
        snprintf(buf, 96, ", %.4g %% interval %+.4g..%+.4g %%, p %.2g after Holm", 100 * f->interval.level,
                 100 * f->interval.lower, 100 * f->interval.upper, f->p_holm);
    else if (f->basis == CBX_BASIS_BOUNDS)
        snprintf(buf, 96, ", bounds %+.4g..%+.4g %%", 100 * f->interval.lower, 100 * f->interval.upper);
    else if (f->basis == CBX_BASIS_VALUES)
        snprintf(buf, 96, ", by value");
    return buf;
}

/* Samples decide by their medians, which the values need not be. */
static double told_change(const cbx_finding *f)
{
    return f->basis == CBX_BASIS_SAMPLES || isnan(f->change) ? f->interval.value : f->change;
}

bool cbx__regression_say(cbx_arena *arena, cbx_finding *f)
{
    const char *plain = plain_sentences[f->outcome];
    char sure[96], margin[48] = "";

    if (f->margin > f->threshold && f->basis == CBX_BASIS_SAMPLES)
        snprintf(margin, sizeof(margin), ", margin %.4g %%", 100 * f->margin);
    if (f->basis == CBX_BASIS_SAMPLES && !(f->interval.level > 0))
        f->sentence = cbx_arena_printf(arena,
                                       "%s undecided: %.6g, was %.6g; too few samples for an interval, measure more",
                                       f->key, f->current, f->baseline);
    else if (f->contradicted && f->outcome == CBX_OUTCOME_UNDECIDED)
        f->sentence = cbx_arena_printf(
            arena,
            "%s undecided: %.6g, was %.6g; its samples, too few for an interval, do not say what its "
            "values say; measure more",
            f->key, f->current, f->baseline);
    else if (plain)
        f->sentence = cbx_arena_printf(arena, "%s %s", f->key, plain);
    else if (isnan(f->threshold))
        f->sentence = cbx_arena_printf(arena, "%s %s: %.6g, was %.6g", f->key, cbx_outcome_name(f->outcome), f->current,
                                       f->baseline);
    else
        f->sentence = cbx_arena_printf(arena, "%s %s by %+.4g %%: %.6g%s%s, was %.6g (threshold %.4g %%%s%s)", f->key,
                                       cbx_outcome_name(f->outcome), 100 * told_change(f), f->current,
                                       f->unit && f->unit[0] ? " " : "", f->unit ? f->unit : "", f->baseline,
                                       100 * f->threshold, margin, how_sure(f, sure));
    return f->sentence;
}

static bool is_judged(cbx_outcome o)
{
    return o == CBX_OUTCOME_UNCHANGED || o == CBX_OUTCOME_IMPROVED || o == CBX_OUTCOME_REGRESSED ||
           o == CBX_OUTCOME_EQUIVALENT || o == CBX_OUTCOME_UNDECIDED;
}

typedef struct tally {
    size_t met;    /* gating keys of both runs */
    size_t judged; /* of them, those whose numbers were compared */
} tally;

static void count(const cbx_regression *r, const bool *waived, cbx_gate *g, tally *t)
{
    for (size_t i = 0; i < r->nfindings; i++) {
        const cbx_finding *f = &r->findings[i];
        bool both = f->outcome != CBX_OUTCOME_NEW && f->outcome != CBX_OUTCOME_DROPPED;
        t->met += both && f->outcome != CBX_OUTCOME_INFO;
        t->judged += is_judged(f->outcome);
        if (waived && waived[i])
            g->waived++;
        else
            g->counts[f->outcome]++;
    }
}

int cbx_regression_exit_code(const cbx_regression *r, cbx_outcome outcome)
{
    if (outcome == CBX_OUTCOME_DROPPED && r->allow_dropped) return 0;
    if (outcome == CBX_OUTCOME_UNDECIDED && r->undecided_passes) return 0;
    return (unsigned)outcome < CBX_LEN(outcome_codes) ? outcome_codes[outcome] : 2;
}

/* "2 regressed, 1 dropped": what asks for the exit code; all of it for a pass. */
static void list(const cbx_regression *r, cbx_gate *g, const char *head)
{
    size_t used = (size_t)snprintf(g->sentence, sizeof(g->sentence), "%s", head);
    const char *gap = "";

    for (int o = 0; o < CBX_OUTCOME_COUNT; o++) {
        if (!g->counts[o] || cbx_regression_exit_code(r, (cbx_outcome)o) != g->exit_code) continue;
        used += (size_t)snprintf(g->sentence + used, sizeof(g->sentence) - used, "%s%zu %s", gap, g->counts[o],
                                 cbx_outcome_name((cbx_outcome)o));
        gap = ", ";
        if (used >= sizeof(g->sentence)) return;
    }
    if (g->waived) snprintf(g->sentence + used, sizeof(g->sentence) - used, "%s%zu waived", gap, g->waived);
}

/* Why there is nothing to gate on. */
static cbx_gate_reason nothing(const cbx_regression *r, const cbx_gate *g, const tally *t)
{
    if (r->refused) return r->refused;
    if (!r->nkeys_run) return CBX_GATE_REASON_EMPTY_RUN;
    if (!r->nkeys_baseline) return CBX_GATE_REASON_EMPTY_BASELINE;
    if (!t->met) return CBX_GATE_REASON_NO_OVERLAP;
    return !t->judged && !g->exit_code ? CBX_GATE_REASON_ALL_WAIVED : CBX_GATE_REASON_NONE;
}

static const char *sentence_of(const cbx_regression *r, cbx_gate_reason reason)
{
    static const char *const sentences[] = {
        [CBX_GATE_REASON_EMPTY_RUN] = "nothing to compare: the run has no metrics",
        [CBX_GATE_REASON_EMPTY_BASELINE] = "nothing to compare: the baseline has no metrics",
        [CBX_GATE_REASON_NO_OVERLAP] = "nothing to compare: no gating metric stands in both runs",
        [CBX_GATE_REASON_ALL_WAIVED] = "nothing was compared: all that stands in both runs cannot be, and is waived",
    };
    return r->refused ? r->label : sentences[reason];
}

/* A sentence that was cut ends with a whole character. */
static void mend_end(char *s, size_t size)
{
    size_t n = strlen(s);

    if (n + 1 < size) return;
    while (n && ((unsigned char)s[n - 1] & 0xC0) == 0x80) n--;
    if (n && (unsigned char)s[n - 1] >= 0xC0) n--;
    s[n] = 0;
}

void cbx_regression_gate(const cbx_regression *r, const bool *waived, cbx_gate *out)
{
    static const char *const heads[] = { "", "", "", "more samples are needed: " }; /* the code is told beside it */
    static const int first[] = { 0, 3, 2, 1 };                                      /* later ones win */
    cbx_gate g = { 0 };
    tally t = { 0, 0 };

    count(r, waived, &g, &t);
    for (size_t k = 0; k < CBX_LEN(first); k++)
        for (int o = 0; o < CBX_OUTCOME_COUNT; o++)
            if (g.counts[o] && cbx_regression_exit_code(r, (cbx_outcome)o) == first[k]) g.exit_code = first[k];
    if (g.exit_code != 1) g.reason = nothing(r, &g, &t);
    if (g.reason) {
        g.exit_code = 2;
        snprintf(g.sentence, sizeof(g.sentence), "%s", sentence_of(r, g.reason));
        mend_end(g.sentence, sizeof(g.sentence));
    } else {
        list(r, &g, heads[g.exit_code]);
    }
    *out = g;
}
