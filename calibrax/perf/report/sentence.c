/*
 * The closing sentence: what the rows say, in words, true also when they say little.
 *
 * One line for each point spoken of (the representative ones; without any, the first of each case): the fastest
 * baseline with its interval and share of the roofline, then the others by verdict, then what failed there; what is
 * missing on this machine is told once for all.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/report/format.h"

typedef struct speaker {
    const cbx__report_view *view;
    cbx_arena *arena;
    cbx_text *out;
    const cbx__report_style *style;
} speaker;

static void say(const speaker *s, const char *words) { cbx__report_put_public(s->out, words, 0); }

static bool is_rival(const cbx__report_item *it)
{
    return it->class == CBX__REPORT_GOOD && it->quoted && !it->reference && !it->limit;
}

static const cbx__report_item *items_of(const speaker *s, const cbx__report_group *g)
{
    return s->view->items + g->first;
}

static void say_roofline(const speaker *s, const cbx_row *row, const char *verb)
{
    const bool roof = isfinite(row->roofline_share), limit = row->limit_vs && isfinite(row->limit_share);
    if (!roof && !limit) return;
    cbx_text_puts(s->out, verb);
    if (roof) {
        cbx__report_put_share(s->out, row->roofline_share, s->style);
        cbx_text_puts(s->out, limit ? " of the roofline, " : " of the roofline");
    }
    if (!limit) return;
    cbx__report_put_share(s->out, row->limit_share, s->style);
    cbx_text_puts(s->out, " of ");
    say(s, row->limit_vs);
}

/* "tiled takes 1.20 ms [1.18, 1.22] and reaches 61% of the roofline" */
static void say_time(const speaker *s, const cbx__report_item *it)
{
    say(s, cbx__report_name(s->arena, it));
    cbx_text_puts(s->out, " takes ");
    cbx__report_put_interval(s->out, it->row, s->style);
    say_roofline(s, it->row, " and reaches ");
}

/* "tiled is 8.1x faster than stream [7.9, 8.3] and reaches 61% of the roofline" */
static void say_winner(const speaker *s, const cbx__report_item *it, const cbx__report_group *g)
{
    cbx__report_speed speed;
    cbx_text words;
    size_t split;
    if (!cbx__report_speed_of(it->row, &speed)) return;
    cbx_text_init(&words, &s->arena->al);
    cbx__report_put_speed(&words, &speed, false,
                          s->style); /* "8.1x faster [7.9, 8.3]": the name goes before the bracket */
    split = strcspn(cbx_text_str(&words), "[");
    while (split && cbx_text_str(&words)[split - 1] == ' ') split--;
    say(s, cbx__report_name(s->arena, it));
    cbx_text_puts(s->out, " is ");
    cbx_text_add(s->out, cbx_text_str(&words), split);
    cbx_text_puts(s->out, " than ");
    say(s, cbx__report_name(s->arena, g->reference));
    cbx_text_puts(s->out, cbx_text_str(&words) + split);
    cbx_text_clear(&words);
    say_roofline(s, it->row, " and reaches ");
}

/* The rival with a verdict of faster that is fastest; NULL if there is none. */
static const cbx__report_item *winner_of(const speaker *s, const cbx__report_group *g)
{
    const cbx__report_item *best = NULL;
    for (size_t i = 0; g->reference && i < g->count; i++) {
        const cbx__report_item *it = &items_of(s, g)[i];
        const char *verdict = cbx__report_verdict(it->row);
        if (!is_rival(it) || !verdict || strcmp(verdict, "faster") != 0) continue;
        if (!best || it->row->paired.value < best->row->paired.value) best = it;
    }
    return best;
}

static size_t count_rivals(const speaker *s, const cbx__report_group *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++) n += is_rival(&items_of(s, g)[i]);
    return n;
}

static const cbx__report_item *first_good(const speaker *s, const cbx__report_group *g)
{
    const cbx__report_item *best = NULL;
    for (size_t i = 0; i < g->count; i++) {
        const cbx__report_item *it = &items_of(s, g)[i];
        if (it->class != CBX__REPORT_GOOD || !it->quoted || it->limit) continue;
        if (!best || cbx__report_median(it->row) < cbx__report_median(best->row)) best = it;
    }
    return best;
}

/* "; slower: numpy (1.5x), naive (2.1x)" for every rival of one verdict but the one already told. */
static void say_verdict(const speaker *s, const cbx__report_group *g, const char *verdict, const char *words,
                        const cbx__report_item *told)
{
    const char *separator = words;
    for (size_t i = 0; i < g->count; i++) {
        const cbx__report_item *it = &items_of(s, g)[i];
        cbx__report_speed speed;
        if (!is_rival(it) || it == told || !cbx__report_speed_of(it->row, &speed) || speed.minimum_only ||
            strcmp(speed.word, verdict) != 0)
            continue;
        cbx_text_puts(s->out, separator);
        say(s, cbx__report_name(s->arena, it));
        cbx_text_puts(s->out, " (");
        speed.word = "";
        cbx__report_put_speed(s->out, &speed, true, s->style);
        cbx_text_putc(s->out, ')');
        separator = ", ";
    }
}

/* Rows of an older writer know the ratio of minima only: told apart, because it has no interval and no verdict. */
static void say_minima(const speaker *s, const cbx__report_group *g)
{
    const char *separator = "; by their minima only: ";
    for (size_t i = 0; i < g->count; i++) {
        const cbx__report_item *it = &items_of(s, g)[i];
        cbx__report_speed speed;
        if (!is_rival(it) || !cbx__report_speed_of(it->row, &speed) || !speed.minimum_only) continue;
        cbx_text_puts(s->out, separator);
        say(s, cbx__report_name(s->arena, it));
        cbx_text_puts(s->out, " (");
        speed.minimum_only = false;
        cbx__report_put_speed(s->out, &speed, true, s->style);
        cbx_text_putc(s->out, ')');
        separator = ", ";
    }
}

/* Why there is nothing to compare with; the reference's own failure is told with the others. */
static void say_no_reference(const speaker *s, const cbx__report_group *g, const cbx__report_item *fastest)
{
    say_time(s, fastest);
    if (!g->reference_name && g->count == 1)
        cbx_text_puts(s->out, "; there is nothing to compare it with");
    else if (!g->reference_name)
        cbx_text_puts(s->out, " and is the fastest; no ratios, because no reference is named");
    else {
        cbx_text_puts(s->out, count_rivals(s, g) > 1 ? " and is the fastest; no ratios, because the reference "
                                                     : "; no ratio, because the reference ");
        say(s, g->reference_name);
        cbx_text_puts(s->out, g->reference ? " has no good row" : " was not measured");
    }
}

static void say_good(const speaker *s, const cbx__report_group *g)
{
    const cbx__report_item *fastest = first_good(s, g), *winner = winner_of(s, g);
    bool have_reference = g->reference && g->reference->class == CBX__REPORT_GOOD;
    if (!fastest)
        cbx_text_puts(s->out, "no baseline has a good row");
    else if (!have_reference)
        say_no_reference(s, g, fastest);
    else if (!count_rivals(s, g)) {
        say_time(s, g->reference);
        cbx_text_puts(s->out, "; there is nothing to compare it with");
    } else {
        if (winner)
            say_winner(s, winner, g);
        else {
            cbx_text_puts(s->out, "nothing is shown to be faster than ");
            say(s, cbx__report_name(s->arena, g->reference));
            say_roofline(s, g->reference->row, ", which reaches ");
        }
        say_verdict(s, g, "faster", "; also faster: ", winner);
        say_verdict(s, g, "equivalent", "; equivalent: ", NULL);
        say_verdict(s, g, "slower", "; slower: ", NULL);
        say_verdict(s, g, "undecided", "; undecided, more launches would tell: ", NULL);
        say_minima(s, g);
    }
}

static void say_outcome(const speaker *s, const cbx__report_outcome *o)
{
    say(s, o->subject);
    cbx_text_putc(s->out, ' ');
    say(s, o->what);
    if (!o->remedy[0]) return;
    cbx_text_puts(s->out, ": ");
    say(s, o->remedy);
}

/* Outcomes of one class among some items, each behind the separator; the number told. */
static size_t say_outcomes(const speaker *s, size_t first, size_t items, cbx__report_class class, const char *separator)
{
    size_t n = 0, told = 0;
    const cbx__report_outcome *o = cbx__report_outcomes(s->arena, s->view, first, items, &n);
    for (size_t i = 0; i < n; i++) {
        if (o[i].class != class) continue;
        cbx_text_puts(s->out, told || separator[0] ? separator[0] ? separator : "; " : "");
        say_outcome(s, &o[i]);
        told++;
    }
    return told;
}

/* Skipped rows are told by name only: somebody chose that. */
static void say_skipped(const speaker *s, const cbx__report_group *g)
{
    const char *separator = "; skipped: ";
    for (size_t i = 0; i < g->count; i++) {
        const cbx__report_item *it = &items_of(s, g)[i];
        if (it->class != CBX__REPORT_SKIPPED || cbx__report_is_left_out(it->row)) continue;
        cbx_text_puts(s->out, separator);
        say(s, cbx__report_name(s->arena, it));
        if (it->row->failure_reason) {
            cbx_text_puts(s->out, " (");
            say(s, it->row->failure_reason);
            cbx_text_putc(s->out, ')');
        }
        separator = ", ";
    }
}

/* Those that were left out on purpose are told by number. */
static void say_left_out(const speaker *s, const cbx__report_group *g)
{
    size_t n = 0;
    const cbx__report_left_out *l = cbx__report_left_outs(s->arena, s->view, g->first, g->count, &n);
    for (size_t i = 0; i < n; i++) {
        cbx_text_puts(s->out, "; ");
        cbx__report_put_left_out(s->out, &l[i]);
    }
}

static void say_group(const speaker *s, const cbx__report_group *g)
{
    if (s->view->ncases > 1) {
        say(s, s->view->cases[g->case_index]);
        cbx_text_putc(s->out, ' ');
    }
    say(s, cbx__report_where(s->arena, s->view, g));
    cbx_text_puts(s->out, ": ");
    say_good(s, g);
    say_outcomes(s, g->first, g->count, CBX__REPORT_FAILED, "; ");
    say_skipped(s, g);
    say_left_out(s, g);
}

/* Spoken of: representative points; in a case without any, its first point. */
static bool is_spoken_of(const cbx__report_view *v, size_t g)
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
    speaker s = { &view, &view.arena, out, &cbx__report_words };
    size_t spoken = 0;
    if (!cbx__report_view_open(rows, &view, out)) return;
    for (size_t g = 0; g < view.ngroups; g++) {
        if (!is_spoken_of(&view, g)) continue;
        if (spoken++) cbx_text_putc(out, '\n');
        say_group(&s, &view.groups[g]);
    }
    if (!view.ngroups) cbx_text_puts(out, "nothing was measured");
    if (spoken > 1) {
        size_t n = 0;
        const cbx__report_outcome *o = cbx__report_outcomes(&view.arena, &view, 0, view.nitems, &n);
        if (n && o[0].class == CBX__REPORT_MISSING) cbx_text_putc(out, '\n');
        say_outcomes(&s, 0, view.nitems, CBX__REPORT_MISSING, "");
    } else
        say_outcomes(&s, 0, view.nitems, CBX__REPORT_MISSING, "; ");
    cbx_text_putc(out, '\n');
    cbx__report_view_close(&view, out);
}
