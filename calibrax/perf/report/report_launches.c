/* What happened to the launches of a row: from its modes and steady state, and the schedule, layout
 * and health in its provenance; and which launches of the whole table were repeated. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "calibrax/perf/report/format.h"

typedef struct clause {
    cbx_text text;
    const char *separator;
} clause;

static cbx_text *begin(clause *c)
{
    cbx_text_puts(&c->text, c->separator);
    c->separator = "; ";
    return &c->text;
}

/* "2 modes: 3.1 ms (88 %), 26.4 ms (12 %)" */
static void say_modes(clause *c, const cbx_row *row)
{
    cbx_text *t;

    if (row->nmodes < 2) return;
    t = begin(c);
    cbx_text_printf(t, "%zu modes: ", row->nmodes);
    for (size_t i = 0; i < row->nmodes; i++) {
        if (i) cbx_text_puts(t, ", ");
        cbx__report_put_seconds(t, row->modes[i].center_s, &cbx__report_utf8);
        cbx_text_puts(t, " (");
        cbx__report_put_share(t, row->modes[i].share, &cbx__report_utf8);
        cbx_text_puts(t, ")");
    }
}

static void say_launches(clause *c, uint64_t n, const char *what)
{
    if (n) cbx_text_printf(begin(c), "%" PRIu64 " launch%s %s", n, n == 1 ? "" : "es", what);
}

/* Launches that ended before their goal was reached. */
static void say_stop(clause *c, const cbx_json *schedule)
{
    const cbx_json *pilot = cbx_json_get(schedule, "pilot");
    double goal = cbx_json_get_double(pilot, "precision", NAN);
    const char *why = cbx_json_get_string(schedule, "stopped_because", "");
    cbx_text *t;

    if (strcmp(why, "budget") != 0 && strcmp(why, "plan") != 0) return;
    t = begin(c);
    cbx_text_puts(t, !strcmp(why, "budget") ? "the budget ended its launches" : "its plan ended its launches");
    if (isfinite(goal) && goal > 0) cbx_text_printf(t, " before an interval of %.3g %%", 100 * goal);
}

const char *cbx__report_launches(cbx_arena *arena, const cbx_row *row)
{
    const cbx_json *schedule = cbx_json_get(row->provenance, "schedule");
    clause c = { .separator = "" };
    const char *words;

    cbx_text_init(&c.text, &arena->al);
    say_modes(&c, row);
    say_launches(&c, row->steady_state.warm_up, "warmed up");
    say_launches(&c, row->steady_state.slowdown, "slowed down");
    if (row->steady_state.dropped)
        cbx_text_printf(begin(&c), "%" PRIu64 " of %" PRIu64 " epochs before the steady state are left out",
                        row->steady_state.dropped, row->steady_state.epochs);
    say_launches(&c, row->steady_state.none, "never became steady");
    /* A layout that explains a third of the variance is what distinguishes the launches. */
    const char *key;
    cbx_json *value;
    for (size_t i = 0; cbx_json_member(cbx_json_get(row->provenance, "layout_share"), i, &key, &value); i++) {
        double share = cbx_json_double_value(value);
        if (!(share >= 1.0 / 3)) continue;
        cbx__report_put_share(begin(&c), share, &cbx__report_utf8);
        cbx_text_puts(&c.text, " of the variance of launches follows the offset of the ");
        cbx__report_put_public(&c.text, key, 20);
    }
    static const struct {
        const char *key, *words;
    } counts[] = {
        { "contended_launches", "waited for CPUs that others used" },
        { "unhealthy_launches", "throttled, or interrupted by the host" },
    };
    for (size_t i = 0; i < CBX_LEN(counts); i++) {
        int64_t n = cbx_json_get_int(cbx_json_get(row->provenance, "health"), counts[i].key, 0);
        say_launches(&c, n > 0 ? (uint64_t)n : 0, counts[i].words);
    }
    say_stop(&c, schedule);
    words = cbx_arena_strdup(arena, cbx_text_str(&c.text));
    cbx_text_clear(&c.text);
    return words ? words : "";
}

static const char *words_of(cbx_arena *arena, const cbx__report_item *it)
{
    return it->row->has_metrics ? cbx__report_launches(arena, it->row) : "";
}

const char *cbx__report_alike(cbx_arena *arena, const cbx__report_view *v, const cbx__report_group *g, size_t i,
                              const char **words)
{
    const char *names = cbx__report_name(arena, &v->items[i]);

    *words = words_of(arena, &v->items[i]);
    if (!(*words)[0]) return NULL;
    for (size_t k = g->first; k < i; k++)
        if (!strcmp(words_of(arena, &v->items[k]), *words)) return NULL;
    for (size_t k = i + 1; names && k < g->first + g->count; k++)
        if (!strcmp(words_of(arena, &v->items[k]), *words))
            names = cbx_arena_printf(arena, "%s, %s", names, cbx__report_name(arena, &v->items[k]));
    return names ? names : "";
}

/* --- launches that were repeated --- */

#define REASONS 16

typedef struct tally {
    const char *reason;
    int64_t n;
} tally;

static void count_reasons(const cbx_json *reasons, tally *list, size_t *n)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; reasons && cbx_json_member(reasons, i, &key, &value); i++) {
        size_t k = 0;
        while (k < *n && strcmp(list[k].reason, key)) k++;
        if (k == REASONS) continue;
        if (k == *n) list[(*n)++] = (tally){ key, 0 };
        list[k].n += cbx_json_get_int(reasons, key, 0);
    }
}

bool cbx__report_put_repeats(cbx_text *out, cbx_arena *arena, const cbx__report_view *v)
{
    const cbx__report_item *worst = NULL;
    tally list[REASONS];
    int64_t all = 0, largest = 0;
    size_t n = 0;

    for (size_t i = 0; i < v->nitems; i++) {
        const cbx_json *schedule = cbx_json_get(v->items[i].row->provenance, "schedule");
        int64_t again = cbx_json_get_int(schedule, "retries", 0);
        if (again <= 0) continue;
        all += again;
        count_reasons(cbx_json_get(schedule, "retry_reasons"), list, &n);
        if (again <= largest) continue;
        largest = again;
        worst = &v->items[i];
    }
    if (!worst) return false;
    cbx_text_printf(out, "%lld launch%s repeated", (long long)all, all == 1 ? " was" : "es were");
    for (size_t i = 0; i < n; i++) {
        cbx_text_puts(out, i ? ", " : " (");
        cbx__report_put_public(out, list[i].reason, 40);
        cbx_text_printf(out, " %lld%s", (long long)list[i].n, i + 1 == n ? ")" : "");
    }
    if (all > largest) {
        cbx_text_puts(out, ", most of them of ");
        cbx__report_put_public(out, cbx__report_name(arena, worst), 80);
        cbx_text_printf(out, " (%lld)", (long long)largest);
    }
    return true;
}
