/*
 * calibrax watch: what is alerted of.  One rule a metric for its values, and one for each pattern of them, with all levels that options give.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "programs/calibrax/watch.h"

/* Levels of a rule of a pattern that says none. */
static const double pattern_levels[] = { [CBX_PATTERN_DRIFT] = 0.05, [CBX_PATTERN_MODES] = 0.1 };

/* A rule as --rule says it. */
typedef struct said {
    const char *metric;
    cbx_severity severity;
    cbx_pattern_kind pattern;
    double level;
} said;

/* "5" of values; "drift" or "drift:0.05" of a pattern. */
static bool read_level(const watcher *w, const char *word, said *out)
{
    size_t len = strcspn(word, ":");
    const char *kind = cbx_arena_strndup(w->run->arena, word, len), *number = word;

    if (cbx_pattern_parse(kind, &out->pattern)) {
        out->level = pattern_levels[out->pattern];
        if (!word[len]) return true;
        number = word + len + 1;
    }
    return opt_number(number, &out->level) && (!out->pattern || out->level >= 0);
}

/* "rss_mb:warning=2000" into its parts. */
static int read_rule(const watcher *w, const char *word, said *out)
{
    const char *equals = strrchr(word, '='), *colon;
    char *key = equals ? cbx_arena_strndup(w->run->arena, word, (size_t)(equals - word)) : NULL;

    *out = (said){ .pattern = CBX_PATTERN_NONE };
    colon = key ? strrchr(key, ':') : NULL;
    out->metric = colon && colon > key ? cbx_arena_strndup(w->run->arena, key, (size_t)(colon - key)) : NULL;
    if (out->metric && read_level(w, equals + 1, out) && cbx_severity_parse(colon + 1, &out->severity) &&
        out->severity != CBX_SEVERITY_NONE)
        return EXIT_PASS;
    return opt_fail(w->run->program,
                    "--rule: expected METRIC:SEVERITY=X with info, warning, error or critical, and a number, drift[:X] "
                    "or modes[:X], found '%s'",
                    word);
}

static int find_metric(watcher *w, const char *name, size_t *at)
{
    for (*at = 0; *at < w->nmetrics; (*at)++)
        if (!strcmp(w->metrics[*at].name, name)) return EXIT_PASS;
    if (*at == WATCH_MOST_METRICS) return opt_fail(w->run->program, "--rule: more than %d metrics", WATCH_MOST_METRICS);
    w->metrics[w->nmetrics++] = (watched_metric){ name, 0 };
    return EXIT_PASS;
}

/* The rule of a metric and a pattern, made if there is none; room for all of the most metrics. */
static cbx_alert_rule *find_rule(watcher *w, const char *metric, cbx_pattern_kind pattern)
{
    const watch_args *a = w->a;
    cbx_alert_rule *r = w->rules;

    for (; r < w->rules + w->nrules; r++)
        if (r->pattern == pattern && !strcmp(r->metric, metric)) return r;
    w->nrules++;
    *r = (cbx_alert_rule){
        .metric = metric,
        .lower = a->lower,
        .levels = { NAN, NAN, NAN, NAN },
        .hysteresis = pattern ? 0 : a->hysteresis,
        .raise_after = (uint32_t)a->raise_after,
        .clear_after = (uint32_t)a->clear_after,
        .quiet_ns = (uint64_t)(1e9 * a->quiet),
        .repeat_ns = a->once ? 1 : (uint64_t)(1e9 * a->repeat),
        .pattern = pattern,
        .window = pattern && a->window ? a->window : CBX_PATTERN_WINDOW,
    };
    return r;
}

static int add_said(watcher *w, const said *s)
{
    cbx_alert_rule *r;
    double *level;
    size_t at;

    if (find_metric(w, s->metric, &at)) return EXIT_ERROR;
    r = find_rule(w, w->metrics[at].name, s->pattern);
    level = &r->levels[s->severity - CBX_SEVERITY_INFO];
    if (!isnan(*level))
        return opt_fail(w->run->program, "--rule: two levels of '%s' for the %s of '%s'",
                        cbx_severity_name(s->severity), cbx_pattern_name(s->pattern), s->metric);
    if (s->pattern == CBX_PATTERN_MODES) r->lower = false; /* a share of them has no other side */
    *level = s->pattern == CBX_PATTERN_DRIFT && r->lower ? -s->level : s->level;
    return EXIT_PASS;
}

/* A pattern clears at half of its least level: noise about a level tells nothing twice. */
static void set_band(cbx_alert_rule *r)
{
    for (size_t i = CBX_ALERT_LEVELS; r->pattern && i-- > 0;)
        if (!isnan(r->levels[i])) r->hysteresis = 0.5 * fabs(r->levels[i]);
}

static int check_main(watcher *w)
{
    bool values = false, patterns = false;

    for (size_t i = 0; i < w->nrules; i++) {
        if (w->rules[i].metric != w->metrics[0].name) continue;
        values = values || !w->rules[i].pattern;
        patterns = patterns || w->rules[i].pattern;
    }
    if (!values && !patterns)
        return opt_fail(w->run->program, "watch: rule of '%s': no level to alert at", w->metrics[0].name);
    if (w->a->statistic >= 0 && !values)
        return opt_fail(w->run->program, "watch --statistic: '%s' has no level of its values", w->metrics[0].name);
    if (patterns && values && (w->a->statistic >= 0 || w->a->window))
        return opt_fail(w->run->program,
                        "watch: --window and --statistic of '%s' with both levels and patterns of it: watch one of "
                        "them",
                        w->metrics[0].name);
    w->of_window = values && (w->a->window > 1 || w->a->statistic >= 0);
    return EXIT_PASS;
}

int watch_set_rules(watcher *w)
{
    const watch_args *a = w->a;
    const double levels[] = { a->info, a->warning, a->error, a->critical };
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (a->metric) w->metrics[w->nmetrics++] = (watched_metric){ a->metric, 0 };
    for (size_t i = 0; i < CBX_LEN(levels); i++) {
        if (isnan(levels[i])) continue;
        find_rule(w, a->metric, CBX_PATTERN_NONE)->levels[i] = levels[i];
    }
    for (size_t i = 0; !status && i < a->rules.count; i++) {
        said s;
        status = read_rule(w, a->rules.items[i], &s);
        if (!status) status = add_said(w, &s);
    }
    if (!status) status = check_main(w);
    for (size_t i = 0; !status && i < w->nrules; i++) {
        set_band(&w->rules[i]);
        if (cbx_alerts_add_rule(w->alerts, &w->rules[i], &err))
            status = opt_fail(w->run->program, "watch: %s", err.message);
    }
    return status;
}
