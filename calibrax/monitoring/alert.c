/*
 * A state machine for each rule: the present severity, the reported one, and counts of values in a
 * row beyond and clear of each level.  A pattern's strength is handled as a value.
 */
#include "calibrax/monitoring/alert.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/monitoring/window.h"

#define MAX_KEEP 1000000

static const char *const severity_names[] = { "none", "info", "warning", "error", "critical" };

const char *cbx_severity_name(cbx_severity s) { return CBX_WORD(severity_names, s); }

bool cbx_severity_parse(const char *word, cbx_severity *out)
{
    size_t at = CBX_WORD_AT(severity_names, word);

    if (at < CBX_LEN(severity_names)) *out = (cbx_severity)at;
    return at < CBX_LEN(severity_names);
}

typedef struct watched {
    cbx_alert_rule rule;
    cbx_severity now, reported;
    uint32_t beyond[CBX_ALERT_LEVELS], clear[CBX_ALERT_LEVELS]; /* values in a row, of each level */
    bool any;                                                   /* reported_ns is a time */
    uint64_t reported_ns, held_back;
    cbx_severity held;  /* last change that was held back */
    cbx_window *series; /* of a pattern; else NULL */
    double *values;     /* those of the window */
    cbx_pattern seen;
} watched;

typedef struct listener {
    cbx_alert_listener call;
    void *user;
} listener;

struct cbx_alerts {
    cbx_ctx *ctx;
    cbx_arena arena;
    CBX_LIST(watched) rules;
    CBX_LIST(listener) listeners;
    cbx_names names; /* of alerts without a rule */
    cbx_alert *ring;
    size_t keep, count, cleared; /* cleared: count at cbx_alerts_clear */
};

cbx_status cbx_alerts_create(cbx_ctx *ctx, size_t keep, cbx_alerts **out, cbx_err *err)
{
    cbx_alerts *a;

    if (keep < 1 || keep > MAX_KEEP)
        return cbx_fail(err, CBX_EINVAL, "'keep' must be 1 to %d, got %zu", MAX_KEEP, keep);
    a = CBX_ARENA_OBJECT(cbx_alerts, cbx_ctx_allocator(ctx));
    if (!a) return cbx_fail_nomem(err, "alerts");
    a->ctx = ctx;
    a->keep = keep;
    cbx_names_init(&a->names, &a->arena.al);
    a->ring = cbx_arena_calloc(&a->arena, a->keep, sizeof *a->ring);
    if (!a->ring) {
        cbx_alerts_free(a);
        return cbx_fail(err, CBX_ENOMEM, "no memory for %zu alerts", keep);
    }
    *out = a;
    return CBX_OK;
}

void cbx_alerts_free(cbx_alerts *a)
{
    if (!a) return;
    for (size_t i = 0; i < a->rules.n; i++) cbx_window_free(a->rules.items[i].series);
    cbx_names_clear(&a->names);
    cbx_arena_end(&a->arena);
}

/* True if x is on the bad side of y. */
static bool worse(const cbx_alert_rule *r, double x, double y) { return r->lower ? x < y : x > y; }

static cbx_status check_rule(const cbx_alert_rule *r, cbx_err *err)
{
    double before = NAN;

    if (!r->metric || !*r->metric) return cbx_fail(err, CBX_EINVAL, "an alert rule without a metric");
    if (!r->raise_after || !r->clear_after)
        return cbx_fail(err, CBX_EINVAL, "rule of '%s': '%s' must be at least 1, got 0", r->metric,
                        r->raise_after ? "clear_after" : "raise_after");
    if (!(r->hysteresis >= 0))
        return cbx_fail(err, CBX_EINVAL, "rule of '%s': the hysteresis must not be below 0", r->metric);
    for (size_t i = 0; i < CBX_ALERT_LEVELS; i++) {
        if (isnan(r->levels[i])) continue;
        if (!isnan(before) && worse(r, before, r->levels[i]))
            return cbx_fail(err, CBX_EINVAL, "rule of '%s': the level of %s is reached before a less severe one",
                            r->metric, severity_names[i + 1]);
        before = r->levels[i];
    }
    if (isnan(before)) return cbx_fail(err, CBX_EINVAL, "rule of '%s': no level to alert at", r->metric);
    for (size_t i = 0; r->pattern && i < CBX_ALERT_LEVELS; i++) {
        if (isnan(r->levels[i]) || !worse(r, 0, r->levels[i])) continue;
        /* a series without the pattern would never clear it */
        return cbx_fail(err, CBX_EINVAL, "rule of '%s': a level of %s must be 0 or %s", r->metric,
                        cbx_pattern_name(r->pattern), r->lower ? "below" : "above");
    }
    if (r->pattern && (r->window < CBX_PATTERN_MIN || r->window > CBX_PATTERN_MAX))
        return cbx_fail(err, CBX_EINVAL, "rule of '%s': the window of %s must be %d to %d values, got %zu", r->metric,
                        cbx_pattern_name(r->pattern), CBX_PATTERN_MIN, CBX_PATTERN_MAX, r->window);
    return CBX_OK;
}

cbx_status cbx_alerts_add_rule(cbx_alerts *a, const cbx_alert_rule *rule, cbx_err *err)
{
    cbx_status st = check_rule(rule, err);
    watched w = { .rule = *rule };

    if (st) return st;
    w.rule.metric = cbx_arena_strdup(&a->arena, rule->metric);
    if (rule->name || !rule->pattern)
        w.rule.name = cbx_arena_strdup(&a->arena, rule->name ? rule->name : rule->metric);
    else
        w.rule.name = cbx_arena_printf(&a->arena, "%s %s", rule->metric, cbx_pattern_name(rule->pattern));
    if (rule->pattern) w.values = cbx_arena_calloc(&a->arena, rule->window, sizeof *w.values);
    if (!w.rule.metric || !w.rule.name || (rule->pattern && !w.values) ||
        !cbx_list_reserve(CBX_IN_ARENA(&a->arena), &a->rules, a->rules.n + 1))
        return cbx_fail_nomem(err, "an alert rule");
    if (rule->pattern) st = cbx_window_create(a->ctx, rule->window, 0, &w.series, err);
    if (!st) a->rules.items[a->rules.n++] = w;
    return st;
}

cbx_status cbx_alerts_listen(cbx_alerts *a, cbx_alert_listener call, void *user, cbx_err *err)
{
    return cbx_list_push(CBX_IN_ARENA(&a->arena), &a->listeners, (listener){ call, user })
               ? CBX_OK
               : cbx_fail_nomem(err, "a listener");
}

/* --- states --- */

static void count_up(uint32_t *n, bool yes) { *n = !yes ? 0 : *n == UINT32_MAX ? *n : *n + 1; }

/* A drift about a median of 0 is infinite, and valid. */
static bool is_lost(const watched *w, double value) { return w->rule.pattern ? isnan(value) : !isfinite(value); }

static double threshold_of(const watched *w, cbx_severity severity)
{
    if (severity != CBX_SEVERITY_NONE) return w->rule.levels[severity - 1];
    for (size_t i = 0; i < CBX_ALERT_LEVELS; i++) {
        if (!isnan(w->rule.levels[i])) return w->rule.levels[i];
    }
    return NAN;
}

static void hand_out(cbx_alerts *a, const cbx_alert *alert)
{
    for (size_t i = 0; i < a->listeners.n; i++) a->listeners.items[i].call(a->listeners.items[i].user, alert);
}

static void report(cbx_alerts *a, watched *w, double value, uint64_t now_ns)
{
    cbx_alert *alert = &a->ring[a->count++ % a->keep];

    *alert = (cbx_alert){ .rule = w->rule.name,
                          .metric = w->rule.metric,
                          .severity = w->now,
                          .before = w->reported,
                          .value = value,
                          .threshold = threshold_of(w, w->now),
                          .pattern = w->rule.pattern,
                          .time_ns = now_ns,
                          .held_back = w->held_back };
    const char *name = w->rule.metric, *pattern = cbx_pattern_name(w->rule.pattern);
    double percent = 100 * value, limit = alert->threshold;
    const cbx_pattern *p = &w->seen;
    bool beyond = worse(&w->rule, value, limit);
#define SAY(...) snprintf(alert->message, sizeof alert->message, __VA_ARGS__)
    if (w->now == CBX_SEVERITY_NONE)
        SAY("%.80s is back: %.6g", alert->rule, value);
    else if (is_lost(w, value))
        SAY("%.80s has no finite value", alert->rule);
    else if (!w->rule.pattern && beyond)
        SAY("%.80s is %.6g, %s %.6g", alert->rule, value, w->rule.lower ? "below" : "above", limit);
    else if (!w->rule.pattern)
        SAY("%.80s is %.6g, not yet clear of %.6g", alert->rule, value, limit);
    else if (!beyond)
        SAY("%s of %.40s is %.3g %%, not yet clear of %.3g %%", pattern, name, percent, 100 * limit);
    else if (w->rule.pattern == CBX_PATTERN_MODES)
        SAY("%.40s goes between %.6g and %.6g: the rarer has %.3g %% of the last %zu values", name, p->low, p->high,
            percent, p->n);
    else
        SAY("%.40s drifts by %+.3g %% [%+.3g %%, %+.3g %%] over the last %zu values", name, percent, 100 * p->low,
            100 * p->high, p->n);
#undef SAY
    w->reported = w->held = w->now;
    w->reported_ns = now_ns;
    w->any = true;
    w->held_back = 0;
    hand_out(a, alert);
}

cbx_status cbx_alerts_tell(cbx_alerts *a, const cbx_alert *alert, cbx_err *err)
{
    size_t metric, rule;
    cbx_alert *kept;

    if (!alert->metric || !*alert->metric) return cbx_fail(err, CBX_EINVAL, "an alert without a metric");
    if (alert->severity < CBX_SEVERITY_INFO || alert->severity > CBX_SEVERITY_CRITICAL)
        return cbx_fail(err, CBX_EINVAL, "the alert of '%s' has no severity", alert->metric);
    metric = cbx_names_add(&a->names, alert->metric);
    rule = cbx_names_add(&a->names, alert->rule ? alert->rule : alert->metric);
    if (metric == CBX_NO_NAME || rule == CBX_NO_NAME) return cbx_fail_nomem(err, "an alert");
    kept = &a->ring[a->count++ % a->keep];
    *kept = *alert;
    kept->metric = a->names.list[metric];
    kept->rule = a->names.list[rule];
    hand_out(a, kept);
    return CBX_OK;
}

/* Whether the state is to be reported now. */
static bool is_pending(watched *w, uint64_t now_ns)
{
    uint64_t since = w->any && now_ns > w->reported_ns ? now_ns - w->reported_ns : 0;

    if (w->now == w->reported) {
        w->held = w->now;
        return w->now != CBX_SEVERITY_NONE && w->rule.repeat_ns && since >= w->rule.repeat_ns;
    }
    if (!w->any || w->now > w->reported || since >= w->rule.quiet_ns) return true;
    if (w->now != w->held) w->held_back++;
    w->held = w->now;
    return false;
}

/* Strength of the pattern with one more value; NaN: not finite, or out of memory. */
static double strength_with(cbx_alerts *a, watched *w, double value, uint64_t now_ns)
{
    size_t n;

    if (!isfinite(value)) return NAN;
    cbx_window_add(w->series, value, false, now_ns);
    n = cbx_window_values(w->series, now_ns, w->values, w->rule.window);
    return cbx_pattern_find(a->ctx, w->rule.pattern, w->values, n, &w->seen, NULL) ? NAN : w->seen.strength;
}

size_t cbx_alerts_observe(cbx_alerts *a, const char *metric, double value, uint64_t now_ns)
{
    size_t before = a->count;

    for (size_t k = 0; k < a->rules.n; k++) {
        watched *w = &a->rules.items[k];
        double seen = value;
        if (strcmp(w->rule.metric, metric)) continue;
        if (w->rule.pattern) seen = strength_with(a, w, value, now_ns);
        /* The state after one more value. */
        const cbx_alert_rule *r = &w->rule;
        size_t highest = 0, stays = 0;
        for (size_t i = 0; i < CBX_ALERT_LEVELS; i++) {
            double level = r->levels[i], good = r->lower ? level + r->hysteresis : level - r->hysteresis;
            if (isnan(level)) continue;
            count_up(&w->beyond[i], is_lost(w, seen) || worse(r, seen, level));
            count_up(&w->clear[i], !is_lost(w, seen) && !worse(r, seen, good));
            if (w->beyond[i] >= r->raise_after) highest = i + 1;
            if (i < (size_t)w->now && w->clear[i] < r->clear_after) stays = i + 1;
        }
        w->now = (cbx_severity)(highest > stays ? highest : stays);
        if (is_pending(w, now_ns)) report(a, w, seen, now_ns);
    }
    return a->count - before;
}

cbx_severity cbx_alerts_severity(const cbx_alerts *a, const char *metric)
{
    cbx_severity worst = CBX_SEVERITY_NONE;

    for (size_t i = 0; i < a->rules.n; i++) {
        const watched *w = &a->rules.items[i];
        if (metric && strcmp(w->rule.metric, metric)) continue;
        if (w->now > worst) worst = w->now;
    }
    return worst;
}

size_t cbx_alerts_count(const cbx_alerts *a) { return a->count; }

const cbx_alert *cbx_alerts_recent(const cbx_alerts *a, size_t i)
{
    if (i >= a->count - a->cleared || i >= a->keep) return NULL;
    return &a->ring[(a->count - 1 - i) % a->keep];
}

size_t cbx_alerts_by_severity(const cbx_alerts *a, cbx_severity severity, const cbx_alert **out, size_t capacity)
{
    const cbx_alert *alert;
    size_t n = 0;

    for (size_t i = 0; (alert = cbx_alerts_recent(a, i)); i++) {
        if (alert->severity != severity) continue;
        if (n < capacity) out[n] = alert;
        n++;
    }
    return n;
}

void cbx_alerts_clear(cbx_alerts *a) { a->cleared = a->count; }

cbx_json *cbx_alert_json(const cbx_alert *alert, int64_t time_us)
{
    char time[CBX_TIME_SIZE];

    return cbx_json_finish(cbx_json_document(
        "calibrax-alert", J_TEXT("rule", alert->rule), J_TEXT("metric", alert->metric),
        J_TEXT("pattern", cbx_pattern_name(alert->pattern)), J_TEXT("severity", cbx_severity_name(alert->severity)),
        J_TEXT("before", cbx_severity_name(alert->before)), J_NUMBER("value", alert->value),
        J_NUMBER("threshold", alert->threshold), J_TEXT("time", cbx_time_format_iso(time_us, time)),
        J_INT("held_back", alert->held_back), J_TEXT("message", alert->message)));
}
