/* Names, sentences and exit codes of findings and of the whole comparison. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/analysis/regression_internal.h"
#include "calibrax/base/idioms.h"

#define WORDS(name, words, exit_code) words,
static const char *const outcome_names[] = { CBX_OUTCOME_MAP(WORDS) };
#undef WORDS
#define CODE(name, words, exit_code) exit_code,
static const int outcome_codes[] = { CBX_OUTCOME_MAP(CODE) };
#undef CODE

const char *cbx_outcome_name(cbx_outcome outcome) { return CBX_WORD(outcome_names, outcome); }

const char *cbx_basis_name(cbx_basis basis)
{
    static const char *const names[] = { "none", "values", "bounds", "samples" };
    return CBX_WORD(names, basis);
}

/* For outcomes that no number explains. */
static const char *const plain_sentences[CBX_OUTCOME_COUNT] = {
    [CBX_OUTCOME_NEW] = "is not in the baseline",
    [CBX_OUTCOME_DROPPED] = "is in the baseline but missing in the run; measure it, or allow dropped keys",
    [CBX_OUTCOME_NAN_NOW] = "is not a finite number in the run",
    [CBX_OUTCOME_NAN_BASELINE] = "is not a finite number in the baseline; set another baseline",
    [CBX_OUTCOME_ZERO_BASELINE] = "is 0 in the baseline; set a minimum change to compare by difference",
    [CBX_OUTCOME_NO_DEFINITION] = "has no definition; define its unit and direction",
    [CBX_OUTCOME_NO_DEFINITION_NOW] = "is defined in the baseline but not in the run; define its unit and direction "
                                      "there, or in the store's config.json",
    [CBX_OUTCOME_NO_DEFINITION_BASELINE] =
        "is defined in the run but not in the baseline; set a new baseline, or define it in the store's config.json",
    [CBX_OUTCOME_DUPLICATE] = "is more than once in a run; distinguish the points by a tag",
    [CBX_OUTCOME_INFO] = "is for information and never fails a check",
    [CBX_OUTCOME_DEFINITIONS_DIFFER] = "has a different unit or direction in the baseline; set a new baseline",
    [CBX_OUTCOME_TIME_NOW] = "is a time that is not above 0; measure again",
    [CBX_OUTCOME_TIME_BASELINE] = "is a time that is not above 0 in the baseline; set another baseline",
    [CBX_OUTCOME_VALUE_NOW] = "has a value outside the range of its samples; correct the run, or measure again",
    [CBX_OUTCOME_VALUE_BASELINE] = "has a value outside the range of its samples in the baseline; set another baseline",
    [CBX_OUTCOME_BOUNDS_NOW] =
        "has bounds that do not contain its value, or only one bound; correct them, or compare values only",
    [CBX_OUTCOME_BOUNDS_BASELINE] = "has bounds in the baseline that do not contain its value, or only one bound; set "
                                    "another baseline, or compare values only",
};

const char *cbx_gate_reason_name(cbx_gate_reason reason)
{
#define REASON(name, words) words,
    static const char *const names[] = { CBX_GATE_REASON_MAP(REASON) };
#undef REASON
    return CBX_WORD(names, reason);
}

bool cbx__regression_report(cbx_arena *arena, cbx_finding *f)
{
    const char *plain = plain_sentences[f->outcome], *unit = f->unit ? f->unit : "", *gap = *unit ? " " : "";
    bool undecided = f->outcome == CBX_OUTCOME_UNDECIDED, by_samples = f->basis == CBX_BASIS_SAMPLES;
    double change = by_samples || isnan(f->change) ? f->interval.value : f->change; /* samples decide, not the value */
    char evidence[128] = "", margin[48] = "", more[96] = "";

    if (f->margin > f->threshold && by_samples) snprintf(margin, sizeof margin, ", margin %.4g %%", 100 * f->margin);
    if (by_samples && f->interval.level > 0)
        snprintf(evidence, sizeof evidence, ", %.4g %% interval %+.4g..%+.4g %%, p %.2g after Holm",
                 100 * f->interval.level, 100 * f->interval.lower, 100 * f->interval.upper, f->p_holm);
    else if (by_samples)
        snprintf(evidence, sizeof evidence, ", too few samples for an interval");
    else if (f->basis == CBX_BASIS_BOUNDS)
        snprintf(evidence, sizeof evidence, ", bounds %+.4g..%+.4g %%", 100 * f->interval.lower,
                 100 * f->interval.upper);
    else
        snprintf(evidence, sizeof evidence, ", by value");
    if (undecided && f->samples)
        snprintf(more, sizeof more, "; about %zu samples on each side would decide", f->samples);
    else if (undecided && by_samples)
        snprintf(more, sizeof more, "; measure more");
    if (plain)
        f->sentence = cbx_arena_printf(arena, "%s %s", f->key, plain);
    else if (undecided && f->contradicted)
        f->sentence = cbx_arena_printf(
            arena,
            "%s undecided: %.6g, was %.6g; the median of its samples is worse than the values show; measure again",
            f->key, f->current, f->baseline);
    else if (isnan(f->threshold))
        f->sentence = cbx_arena_printf(arena, "%s %s: %.6g, was %.6g%s", f->key, cbx_outcome_name(f->outcome),
                                       f->current, f->baseline, more);
    else
        f->sentence = cbx_arena_printf(arena, "%s %s by %+.4g %%: %.6g%s%s, was %.6g (threshold %.4g %%%s%s)%s", f->key,
                                       cbx_outcome_name(f->outcome), 100 * change, f->current, gap, unit, f->baseline,
                                       100 * f->threshold, margin, evidence, more);
    return f->sentence;
}

int cbx_regression_exit_code(const cbx_regression *r, cbx_outcome outcome)
{
    if (outcome == CBX_OUTCOME_DROPPED && r->allow_dropped) return 0;
    if (outcome == CBX_OUTCOME_UNDECIDED && r->undecided_passes) return 0;
    return (unsigned)outcome < CBX_LEN(outcome_codes) ? outcome_codes[outcome] : 2;
}

/* "2 regressed, 1 dropped": the outcomes that cause the exit code; all of them for a pass. */
static void list(const cbx_regression *r, cbx_gate *g)
{
    size_t used = 0, size = sizeof g->sentence;
    const char *gap = g->exit_code == 3 ? "more samples are needed: " : "";

    for (int o = 0; o < CBX_OUTCOME_COUNT; o++) {
        if (!g->counts[o] || cbx_regression_exit_code(r, (cbx_outcome)o) != g->exit_code) continue;
        used += (size_t)snprintf(g->sentence + used, size - used, "%s%zu %s", gap, g->counts[o],
                                 cbx_outcome_name((cbx_outcome)o));
        gap = ", ";
        if (used >= size) return;
    }
    if (g->waived) used += (size_t)snprintf(g->sentence + used, size - used, "%s%zu waived", gap, g->waived);
    if (g->exit_code == 3 && g->samples && used < size)
        snprintf(g->sentence + used, size - used, "; about %zu samples on each side would decide", g->samples);
}

void cbx_regression_gate(const cbx_regression *r, const bool *waived, cbx_gate *out)
{
    static const int first[] = { 0, 3, 2, 1 }; /* later ones win */
    static const char *const sentences[] = {
        [CBX_GATE_REASON_EMPTY_RUN] = "nothing to compare: the run has no metrics",
        [CBX_GATE_REASON_EMPTY_BASELINE] = "nothing to compare: the baseline has no metrics",
        [CBX_GATE_REASON_NO_OVERLAP] = "nothing to compare: no gating metric is in both runs",
        [CBX_GATE_REASON_ALL_WAIVED] = "nothing was compared: every metric of both runs is waived",
    };
    size_t shared = 0; /* gating keys of both runs */
    size_t judged = 0; /* of them, those whose numbers were compared */
    cbx_gate g = { 0 };

    for (size_t i = 0; i < r->nfindings; i++) {
        const cbx_finding *f = &r->findings[i];
        bool both = f->outcome != CBX_OUTCOME_NEW && f->outcome != CBX_OUTCOME_DROPPED;
        shared += both && f->outcome != CBX_OUTCOME_INFO;
        judged += f->outcome == CBX_OUTCOME_UNCHANGED || f->outcome == CBX_OUTCOME_IMPROVED ||
                  f->outcome == CBX_OUTCOME_REGRESSED || f->outcome == CBX_OUTCOME_EQUIVALENT ||
                  f->outcome == CBX_OUTCOME_UNDECIDED;
        if (waived && waived[i])
            g.waived++;
        else
            g.counts[f->outcome]++;
        if (!(waived && waived[i]) && f->samples > g.samples) g.samples = f->samples;
    }
    for (size_t k = 0; k < CBX_LEN(first); k++)
        for (int o = 0; o < CBX_OUTCOME_COUNT; o++)
            if (g.counts[o] && cbx_regression_exit_code(r, (cbx_outcome)o) == first[k]) g.exit_code = first[k];
    if (g.exit_code != 1) /* whether there is nothing to gate on */
        g.reason = r->refused                ? r->refused
                   : !r->nkeys_run           ? CBX_GATE_REASON_EMPTY_RUN
                   : !r->nkeys_baseline      ? CBX_GATE_REASON_EMPTY_BASELINE
                   : !shared                 ? CBX_GATE_REASON_NO_OVERLAP
                   : !judged && !g.exit_code ? CBX_GATE_REASON_ALL_WAIVED
                                             : CBX_GATE_REASON_NONE;
    if (g.reason) {
        const char *sentence = r->refused ? r->label : sentences[g.reason];
        size_t n = strlen(sentence);
        g.exit_code = 2;
        if (n >= sizeof g.sentence) /* a sentence that is cut ends with a whole character */
            for (n = sizeof g.sentence - 1; n && ((unsigned char)sentence[n] & 0xC0) == 0x80;) n--;
        snprintf(g.sentence, sizeof g.sentence, "%.*s", (int)n, sentence);
    } else {
        list(r, &g);
    }
    *out = g;
}
