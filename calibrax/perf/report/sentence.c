/*
 * The closing sentence: the result of the rows, also where they show little.
 *
 * One line for each point in question (the representative ones; without any, the first of each
 * case): the fastest baseline with its interval and share of the roofline, then the others by
 * verdict, then what failed there.  What is missing on this machine is reported once, at the end.
 * Ratios are times over the reference's time.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"
#include "calibrax/perf/report/view.h"

typedef struct speaker {
    cbx_arena *arena;
    cbx_text *out;
    const cbx__report_style *style;
} speaker;

static void say(cbx_text *out, const char *words) { cbx__report_put_public(out, words, 0); }

static bool is_rival(const cbx__report_item *it)
{
    return it->class == CBX__REPORT_GOOD && it->quoted && !it->reference && !it->limit;
}

static void say_roofline(const speaker *s, const cbx_row *row, const char *verb)
{
    const bool roof = isfinite(row->roofline_share), limit = row->limit_vs && isfinite(row->limit_share);

    if (roof || limit) cbx_text_puts(s->out, verb);
    if (roof) {
        cbx__report_put_share(s->out, row->roofline_share, s->style);
        cbx_text_puts(s->out, limit ? " of the roofline, " : " of the roofline");
    }
    if (!limit) return;
    cbx__report_put_share(s->out, row->limit_share, s->style);
    cbx__put_mixed(s->out, say, " of ", row->limit_vs, NULL);
}

/* "tiled takes 1.20 ms [1.18, 1.22] and reaches 61 % of the roofline" */
static void say_time(const speaker *s, const cbx__report_item *it)
{
    cbx__put_mixed(s->out, say, "", cbx__report_name(s->arena, it), " takes ", NULL);
    cbx__report_put_interval(s->out, it->row, s->style);
    say_roofline(s, it->row, " and reaches ");
}

/* "tiled takes 1.20 ms, 0.124 of the time of stream [0.121, 0.127], and reaches 61 % of the
 * roofline" */
static void say_winner(const speaker *s, const cbx__report_item *it, const cbx__report_group *g)
{
    cbx__report_ratio ratio;

    if (!cbx__report_ratio_of(it->row, &ratio)) return;
    CBX_SCOPED(cbx_text, number, &s->arena->al);
    cbx__report_put_ratio(&number, &ratio, false);
    size_t split = strcspn(cbx_text_str(&number), " "); /* the names go before the bracket */
    cbx__put_mixed(s->out, say, "", cbx__report_name(s->arena, it), " takes ", NULL);
    cbx__report_put_seconds(s->out, cbx__report_median(it->row), s->style);
    cbx_text_puts(s->out, ", ");
    cbx_text_add(s->out, cbx_text_str(&number), split);
    cbx__put_mixed(s->out, say, " of the time of ", cbx__report_name(s->arena, g->reference),
                   cbx_text_str(&number) + split, NULL);
    say_roofline(s, it->row, ", and reaches ");
}

/* "; slower: numpy (1.50), naive (2.10)": the rivals of one verdict but `except`; NULL: those with
 * a ratio of minima only, which has no interval and no verdict. */
static void say_verdict(const speaker *s, const cbx__report_group *g, const char *verdict, const char *words,
                        const cbx__report_item *except)
{
    const char *separator = words;

    for (const cbx__report_item *it = g->items; it < g->items + g->count; it++) {
        cbx__report_ratio ratio;
        if (!is_rival(it) || it == except || !cbx__report_ratio_of(it->row, &ratio)) continue;
        if (ratio.minimum_only != !verdict || (verdict && strcmp(ratio.verdict, verdict) != 0)) continue;
        cbx__put_mixed(s->out, say, separator, cbx__report_name(s->arena, it), " (", NULL);
        cbx__report_put_ratio(s->out, &ratio, true);
        cbx_text_putc(s->out, ')');
        separator = ", ";
    }
}

static void say_good(const speaker *s, const cbx__report_group *g)
{
    const cbx__report_item *fastest = NULL, *winner = NULL; /* winner: the fastest rival with the verdict faster */
    size_t rivals = 0;

    for (const cbx__report_item *it = g->items; it < g->items + g->count; it++) {
        const char *verdict = cbx__report_verdict(it->row);
        if (it->class != CBX__REPORT_GOOD || !it->quoted || it->limit) continue;
        if (!fastest || cbx__report_median(it->row) < cbx__report_median(fastest->row)) fastest = it;
        if (!is_rival(it)) continue;
        rivals++;
        if (g->reference && verdict && !strcmp(verdict, "faster") &&
            (!winner || it->row->paired.value < winner->row->paired.value))
            winner = it;
    }
    if (!fastest)
        cbx_text_puts(s->out, "no baseline has a good row");
    else if (!g->reference || g->reference->class != CBX__REPORT_GOOD) {
        /* Why there is nothing to compare with; the reference's own failure is reported with the
         * others. */
        say_time(s, fastest);
        if (!g->reference_name && g->count == 1)
            cbx_text_puts(s->out, "; there is nothing to compare it with");
        else if (!g->reference_name)
            cbx_text_puts(s->out, " and is the fastest; no ratios, because no reference is named");
        else
            cbx__put_mixed(s->out, say,
                           rivals > 1 ? " and is the fastest; no ratios, because the reference "
                                      : "; no ratio, because the reference ",
                           g->reference_name, g->reference ? " has no good row" : " was not measured", NULL);
    } else if (!rivals) {
        say_time(s, g->reference);
        cbx_text_puts(s->out, "; there is nothing to compare it with");
    } else {
        if (winner)
            say_winner(s, winner, g);
        else {
            cbx__put_mixed(s->out, say, "nothing is shown to be faster than ", cbx__report_name(s->arena, g->reference),
                           NULL);
            say_roofline(s, g->reference->row, ", which reaches ");
        }
        say_verdict(s, g, "faster", "; also faster: ", winner);
        say_verdict(s, g, "equivalent", "; equivalent: ", NULL);
        say_verdict(s, g, "slower", "; slower: ", NULL);
        say_verdict(s, g, "undecided", "; undecided, more launches would decide: ", NULL);
        say_verdict(s, g, NULL, "; by their minima only: ", NULL);
    }
}

/* Outcomes of one class among some items, with `before` the first. */
static void say_outcomes(const speaker *s, const cbx__report_item *items, size_t nitems, cbx__report_class class,
                         const char *before)
{
    size_t n = 0;
    const cbx__report_outcome *o = cbx__report_outcomes(s->arena, items, nitems, &n);

    for (size_t i = 0; i < n; i++) {
        if (o[i].class != class) continue;
        cbx__put_mixed(s->out, say, before, o[i].subject, " ", o[i].what, o[i].remedy[0] ? ": " : NULL, o[i].remedy,
                       NULL);
        before = "; ";
    }
}

bool cbx__report_is_in_question(const cbx__report_view *v, size_t g)
{
    bool first = true, representative = false;

    for (size_t i = 0; i < v->ngroups; i++) {
        if (v->groups[i].case_index != v->groups[g].case_index) continue;
        if (i < g) first = false;
        representative = representative || v->groups[i].representative;
    }
    return representative ? v->groups[g].representative : first;
}

void cbx_report_sentence(const cbx_rows *rows, cbx_text *out)
{
    cbx__report_view view;
    speaker s = { &view.arena, out, &cbx__report_words };
    size_t lines = 0;

    if (!cbx__report_view_open(rows, &view, out)) return;
    for (size_t k = 0; k < view.ngroups; k++) {
        const cbx__report_group *g = &view.groups[k];
        if (!cbx__report_is_in_question(&view, k)) continue;
        if (lines++) cbx_text_putc(out, '\n');
        if (view.ncases > 1) cbx__put_mixed(out, say, "", view.cases[g->case_index], " ", NULL);
        cbx__put_mixed(out, say, "", cbx__report_where(s.arena, &view, g), ": ", NULL);
        say_good(&s, g);
        say_outcomes(&s, g->items, g->count, CBX__REPORT_FAILED, "; ");
        /* Skipped rows by name only, because that was chosen; those that were left out on purpose
         * by number. */
        const char *separator = "; skipped: ";
        size_t n = 0;
        const cbx__report_left_out *l = cbx__report_left_outs(s.arena, g->items, g->count, &n);
        for (const cbx__report_item *it = g->items; it < g->items + g->count; it++) {
            if (it->class != CBX__REPORT_SKIPPED || cbx__report_is_left_out(it->row)) continue;
            cbx__put_mixed(out, say, separator, cbx__report_name(s.arena, it), it->row->failure_reason ? " (" : NULL,
                           it->row->failure_reason, ")", NULL);
            separator = ", ";
        }
        for (size_t i = 0; i < n; i++) {
            cbx_text_puts(s.out, "; ");
            cbx__report_put_left_out(s.out, &l[i]);
        }
    }
    if (!lines) cbx_text_puts(out, "nothing was measured");
    say_outcomes(&s, view.items, view.nitems, CBX__REPORT_MISSING, lines > 1 ? "\n" : "; ");
    cbx_text_putc(out, '\n');
    cbx__report_view_close(&view, out);
}
