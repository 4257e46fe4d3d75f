/*
 * What the parts of `calibrax watch` share: where values come from, and what is made of them.
 */
#ifndef CALIBRAX_PROGRAMS_WATCH_H
#define CALIBRAX_PROGRAMS_WATCH_H

#include "calibrax/monitoring/alert.h"
#include "calibrax/monitoring/health.h"
#include "calibrax/monitoring/sink.h"
#include "calibrax/monitoring/window.h"
#include "programs/common/options.h"
#include "programs/common/stop.h"

typedef struct watch_args {
    const char *metric, *data, *point, *scenario, *branch, *machine;
    int statistic, fail_on; /* index of a word of the option; statistic -1: not given */
    opt_list tags;
    double info, warning, error, critical, hysteresis, quiet, repeat, interval, length, timeout;
    size_t pid, raise_after, clear_after, window;
    opt_list files, commands, webhooks, rules;
    opt_list baselines;
    double age, degraded_rate, critical_rate, degraded_slow, critical_slow;
    size_t least;
    int gpu;
    bool lower, json, health, allow_machines, allow_dropped, summary, once;
} watch_args;

enum { WATCH_FAILURES = 4 }; /* a statistic */
enum { WATCH_MOST_METRICS = 17, WATCH_MOST_RULES = 3 * WATCH_MOST_METRICS };

/* A metric that rules are about; the first is --metric's. */
typedef struct watched_metric {
    const char *name;
    size_t values;
} watched_metric;

typedef struct watcher {
    const opt_run *run;
    const watch_args *a;
    const cbx_stop_flag *stop;
    cbx_alerts *alerts;
    cbx_window *window;
    cbx_window *history;   /* of --summary; NULL: not asked for */
    cbx_health *health;    /* NULL: a metric is watched */
    cbx_health_report now; /* of the pipeline that ran last */
    cbx_sink *sinks[64];
    watched_metric metrics[WATCH_MOST_METRICS]; /* each once */
    size_t nmetrics;
    cbx_alert_rule rules[WATCH_MOST_RULES];
    size_t nrules;
    cbx_alert standing[WATCH_MOST_RULES]; /* of --once: what each rule told last */
    uint64_t step;                        /* of --once: the time, which is a count of values there */
    bool of_window;                       /* values of the first metric are looked at by a statistic */
    double length;                        /* [s] to watch; below 0: until the end */
    size_t nsinks, values, lost, told, bad_lines;
    cbx_severity fail_on, worst;
    uint64_t start_ns;
} watcher;

/* A value of the i-th metric. */
void watch_take(watcher *w, size_t i, double value);
/* An alert, to standard output and every receiver. */
void watch_tell(watcher *w, const cbx_alert *alert);
/* The time is up, or somebody wants it to end. */
bool watch_over(const watcher *w);
/* Waits for an interval, or until it is over. */
void watch_rest(const watcher *w);

/* Rules of --metric's levels and of every --rule, into the book of alerts. */
int watch_set_rules(watcher *w);

/* --- sources; each returns 0, or 2 with a sentence said --- */

/* Hands each line of standard input, without its end, to `take`, until the input or the time ends. */
int watch_lines(watcher *w, void (*take)(watcher *w, const char *line, size_t len));
/* Lines that are a number, or an object with the metric. */
int watch_values(watcher *w);
int watch_process(watcher *w);
int watch_store(watcher *w);

/* --- health of pipelines --- */

int watch_health_begin(watcher *w);
int watch_health(watcher *w);
/* What is known of each pipeline at the end. */
int watch_health_end(watcher *w);

#endif
