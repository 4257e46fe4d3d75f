/*
 * What the files of `calibrax watch` share: values and rules (watch.c), and the health of pipelines
 * (watch_health.c).
 */
#ifndef CALIBRAX_PROGRAMS_WATCH_H
#define CALIBRAX_PROGRAMS_WATCH_H

#include "calibrax/monitoring/health.h"
#include "calibrax/monitoring/sink.h"
#include "programs/calibrax/select.h"
#include "programs/common/stop.h"

#define WATCH_MAX_SECONDS 1e9

typedef struct watch_args {
    select_args select;
    int statistic, fail_on; /* index of a word of the option; statistic -1: not given */
    double levels[CBX_ALERT_LEVELS], hysteresis, quiet, repeat, interval, length, timeout;
    size_t pid, raise_after, clear_after, window;
    opt_list files, commands, webhooks, rules;
    opt_list baselines;
    double age, degraded_rate, critical_rate, degraded_slow, critical_slow; /* of health */
    size_t minimum;
    int gpu;
    bool lower, health, allow_machines, allow_dropped, summary, once;
} watch_args;

enum { WATCH_MAX_METRICS = 17, WATCH_MAX_RULES = 3 * WATCH_MAX_METRICS };

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
    double *recent;        /* as many values as the window keeps */
    cbx_window *history;   /* of --summary; NULL: not asked for */
    cbx_health *health;    /* NULL: a metric is watched */
    cbx_health_report now; /* of the pipeline that ran last */
    cbx_sink *sinks[64];
    watched_metric metrics[WATCH_MAX_METRICS]; /* each once */
    size_t nmetrics;
    cbx_alert_rule rules[WATCH_MAX_RULES];
    size_t nrules;
    cbx_alert latest[WATCH_MAX_RULES]; /* of --once: the last alert of each rule */
    uint64_t step;                     /* of --once: the time, which is a count of values there */
    bool of_window;                    /* the statistic of the first metric is observed, not its values */
    double length;                     /* [s] to watch; below 0: until the end */
    size_t nsinks, values, lost, sent, bad_lines;
    cbx_severity fail_on, worst;
    uint64_t start_ns;
} watcher;

/* Prints an alert and sends it to every receiver. */
void watch_send(watcher *w, const cbx_alert *alert);
/* A rule with the options that all rules share and no level. */
cbx_alert_rule watch_rule(const watcher *w, const char *metric);
/* Makes the alerts, `keep` of which are remembered.  0, or 2 after a message. */
int watch_alerts(watcher *w, size_t keep, cbx_alert_listener listener);

/* --- executions of pipelines: before the first one, of each line, and what is known at the end; 0,
 * or 2 after a message --- */

int watch_health_begin(watcher *w);
void watch_health_take(watcher *w, const char *line, size_t len);
int watch_health_end(watcher *w);

#endif
