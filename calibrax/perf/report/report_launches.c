/* What happened to the launches of a row: from its modes and steady state, and the schedule, layout
 * and health in its provenance; and which launches of the whole table were repeated. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "calibrax/base/text_keep.h"
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

static void say_launches(clause *c, uint64_t n, const char *what)
{
    if (n) cbx_text_printf(begin(c), "%" PRIu64 " launch%s %s", n, n == 1 ? "" : "es", what);
}

const char *cbx__report_launches(cbx_arena *arena, const cbx_row *row)
{
    const cbx_json *schedule = cbx_json_get(row->provenance, "schedule");
    clause c = { .separator = "" };

    cbx_text_init(&c.text, &arena->al);
    if (row->nmodes > 1) cbx_text_printf(begin(&c), "%zu modes: ", row->nmodes);
    for (size_t i = 0; row->nmodes > 1 && i < row->nmodes; i++) {
        if (i) cbx_text_puts(&c.text, ", ");
        cbx__report_put_seconds(&c.text, row->modes[i].center_s, &cbx__report_utf8);
        cbx_text_puts(&c.text, " (");
        cbx__report_put_share(&c.text, row->modes[i].share, &cbx__report_utf8);
        cbx_text_puts(&c.text, ")");
    }
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
    /* Launches that ended before their goal was reached. */
    const char *why = cbx_json_get_string(schedule, "stopped_because", "");
    double goal = cbx_json_get_double(cbx_json_get(schedule, "pilot"), "precision", NAN);
    bool stopped = !strcmp(why, "budget") || !strcmp(why, "plan");
    if (stopped) cbx_text_printf(begin(&c), "%s ended its launches", why[0] == 'b' ? "the budget" : "its plan");
    if (stopped && isfinite(goal) && goal > 0) cbx_text_printf(&c.text, " before an interval of %.3g %%", 100 * goal);
    const char *words = cbx__text_keep(&c.text, arena);
    return words ? words : "";
}

static const char *words_of(cbx_arena *arena, const cbx__report_item *it)
{
    return it->row->has_metrics ? cbx__report_launches(arena, it->row) : "";
}

const char *cbx__report_alike(cbx_arena *arena, const cbx__report_item *it, const char **words)
{
    const char *names = cbx__report_name(arena, it);
    const cbx__report_group *g = it->group;

    *words = words_of(arena, it);
    if (!(*words)[0]) return NULL;
    for (const cbx__report_item *k = g->items; k < it; k++)
        if (!strcmp(words_of(arena, k), *words)) return NULL;
    for (const cbx__report_item *k = it + 1; names && k < g->items + g->count; k++)
        if (!strcmp(words_of(arena, k), *words))
            names = cbx_arena_printf(arena, "%s, %s", names, cbx__report_name(arena, k));
    return names ? names : "";
}

/* --- launches that were repeated --- */

#define REASONS 16

typedef struct tally {
    const char *reason;
    int64_t n;
} tally;

bool cbx__report_put_repeats(cbx_text *out, cbx_arena *arena, const cbx__report_view *v)
{
    const cbx__report_item *worst = NULL;
    tally list[REASONS];
    int64_t all = 0, largest = 0;
    size_t n = 0;

    for (const cbx__report_item *it = v->items; it < v->items + v->nitems; it++) {
        const cbx_json *schedule = cbx_json_get(it->row->provenance, "schedule");
        const cbx_json *reasons = cbx_json_get(schedule, "retry_reasons");
        int64_t again = cbx_json_get_int(schedule, "retries", 0);
        const char *key;
        cbx_json *value;
        if (again <= 0) continue;
        all += again;
        for (size_t i = 0; cbx_json_member(reasons, i, &key, &value); i++) {
            size_t k = 0;
            while (k < n && strcmp(list[k].reason, key)) k++;
            if (k == REASONS) continue;
            if (k == n) list[n++] = (tally){ key, 0 };
            list[k].n += cbx_json_get_int(reasons, key, 0);
        }
        if (again <= largest) continue;
        largest = again;
        worst = it;
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
