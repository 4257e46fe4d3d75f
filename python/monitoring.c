/* calibrax_c.monitoring: windows, alerts, health, sinks, tendency.  Time is in seconds, by the
 * caller's clock or by now. */
#include <math.h>
#include <stdio.h>

#include "python/objects.h"

/* ---- Window ---- */

CX_MADE(window_make, CX_WINDOW, cbx_window, (uint64_t age_s; size_t capacity), CX_GET(c, capacity, age_s),
        cbx_window_create(o->ctx, capacity, age_s, &handle, &c->err))

CX_DO(window_add, cbx_window, (double value; bool failed; uint64_t now = cbx_clock_ns()), (value, failed, now),
      (cbx_window_add(self, value, failed, now), Py_NewRef(Py_None)))

CX_DO(window_read, cbx_window, (cbx_window_facts out; uint64_t now = cbx_clock_ns()), (now),
      (cbx_window_read(self, now, &out), cx_answer_object(c->st, CX_WINDOW_FACTS, &out)))

CX_RETURN(window_values,
          (uint64_t now = cbx_clock_ns(); cbx_window *w = cx_handle(c); cbx_window_facts facts; double *x),
          w != NULL && CX_GET(c, now) && (cbx_window_read(w, now, &facts), x = cx_alloc(c, facts.count, sizeof *x)),
          cx_numbers_object(x, cbx_window_values(w, now, x, facts.count)))

/* clang-format off */
#define WINDOW(X) \
    X(add, "value: float, failed: bool = False, now: seconds = None", "None", window_add, 0, "Add a value; one that is not finite counts as a failure.\n\n>>> w = monitoring.Window()\n>>> w.add(2.0)") \
    X(read, "now: seconds = None", "WindowFacts", window_read, 0, "Mean, p95 and share of failures of the values in the window.\n\n>>> w = monitoring.Window()\n>>> w.add(2.0, now=0.0)\n>>> w.read(now=1.0).mean\n2.0") \
    X(values, "now: seconds = None", "tuple[float, ...]", window_values, 0, "The finite values in the window, oldest first.\n\n>>> w = monitoring.Window()\n>>> w.add(2.0, now=0.0)\n>>> w.values(now=1.0)\n(2.0,)")
CX_OBJECT_TYPE(window, window, WINDOW, "monitoring", Window, "capacity: int = 100, age_s: seconds = 0.0", cbx_window_free,
    "The last values of a stream, and none older than age_s (0: any age).")
/* clang-format on */

/* ---- Alerts ---- */

CX_MADE(alerts_make, CX_ALERTS, cbx_alerts, (size_t keep), CX_GET(c, keep),
        cbx_alerts_create(o->ctx, keep, &handle, &c->err))

CX_RETURN(alerts_add_rule, (cbx_alert_rule rule = CBX_ALERT_RULE_INIT; cx_object *t = cx_object_self(c)),
          t != NULL &&
              CX_GET(c, rule.metric, rule.lower, rule.name, rule.hysteresis, rule.raise_after, rule.clear_after) &&
              CX_GET_AS(c, "info", rule.levels[0]) && CX_GET_AS(c, "warning", rule.levels[1]) &&
              CX_GET_AS(c, "error", rule.levels[2]) && CX_GET_AS(c, "critical", rule.levels[3]) &&
              CX_GET_AS(c, "quiet_s", rule.quiet_ns) && CX_GET_AS(c, "repeat_s", rule.repeat_ns),
          cx_none(c, cbx_alerts_add_rule(t->handle, &rule, &c->err)))

/* The n newest of those remembered, oldest first. */
static PyObject *newest(cx_state *st, const cbx_alerts *book, size_t n)
{
    while (n && !cbx_alerts_recent(book, n - 1)) n--;
    return CX_TUPLE(n, cx_answer_object(st, CX_ALERT, cbx_alerts_recent(book, n - 1 - i)));
}

/* Each alert to the listener, as it would come from the library. */
static bool tell_listener(cx_object *t, PyObject *alerts)
{
    CX_OWN PyObject *listener = Py_XNewRef(t->listener);

    if (!listener || listener == Py_None) return true;
    for (Py_ssize_t i = 0; i < PyTuple_Size(alerts); i++) {
        CX_OWN PyObject *r = PyObject_CallFunctionObjArgs(listener, PyTuple_GetItem(alerts, i), NULL);
        if (!r) return false;
    }
    return true;
}

static PyObject *new_alerts(cx_call *c, cx_object *t, size_t n)
{
    PyObject *alerts = newest(c->st, t->handle, n);

    if (alerts && !tell_listener(t, alerts)) Py_CLEAR(alerts);
    return alerts;
}

CX_RETURN(alerts_observe,
          (cx_object *t = cx_object_self(c); const char *metric = ""; double value = 0; uint64_t now = cbx_clock_ns()),
          t != NULL && CX_GET(c, metric, value, now),
          new_alerts(c, t, cbx_alerts_observe(t->handle, metric, value, now)))

CX_RETURN(alerts_tell,
          (cbx_alert alert = { .threshold = NAN, .value = NAN, .time_ns = cbx_clock_ns() };
           const char *metric = "", *message = ""; cx_object *t = cx_object_self(c);
           int severity = CBX_SEVERITY_WARNING),
          t != NULL && CX_GET(c, metric, message, severity, alert.value, alert.threshold) &&
              CX_GET_AS(c, "now", alert.time_ns),
          (alert.metric = metric, alert.severity = (cbx_severity)severity,
           snprintf(alert.message, sizeof alert.message, "%s", message),
           cx_fine(c, cbx_alerts_tell(t->handle, &alert, &c->err)) ? new_alerts(c, t, 1) : NULL))

CX_RETURN(alerts_listen, (cx_object *t = cx_object_self(c); PyObject * listener), t != NULL && CX_GET(c, listener),
          (cx_set(&t->listener, Py_XNewRef(listener)), Py_NewRef(Py_None)))

CX_DO(alerts_severity, cbx_alerts, (const char *metric = NULL), (metric),
      PyUnicode_FromString(cbx_severity_name(cbx_alerts_severity(self, metric))))

static PyObject *alerts_recent(cx_call *c)
{
    const cbx_alerts *book = cx_handle(c);
    size_t n, kept = 0;

    if (!book || !CX_GET(c, n)) return NULL;
    while (kept < n && cbx_alerts_recent(book, kept)) kept++;
    return CX_LIST(kept, cx_answer_object(c->st, CX_ALERT, cbx_alerts_recent(book, i)));
}

CX_RETURN(alerts_by_severity, (cbx_alerts *book = cx_handle(c); const cbx_alert **found; int severity; size_t n),
          book != NULL && CX_GET(c, severity) &&
              (n = cbx_alerts_by_severity(book, (cbx_severity)severity, NULL, 0),
               found = cx_alloc(c, n, sizeof *found)),
          (cbx_alerts_by_severity(book, (cbx_severity)severity, found, n),
           CX_LIST(n, cx_answer_object(c->st, CX_ALERT, found[i]))))

CX_DO(alerts_clear, cbx_alerts, (), (), (cbx_alerts_clear(self), Py_NewRef(Py_None)))

CX_DO(alerts_count, cbx_alerts, (), (), PyLong_FromSize_t(cbx_alerts_count(self)))

/* clang-format off */
#define ALERTS(X) \
    X(add_rule, "metric: str, *, info: float | None = None, warning: float | None = None, error: float | None = None, critical: float | None = None, lower: float = False, name: str | None = None, hysteresis: float = 0.0, raise_after: int = 1, clear_after: int = 1, quiet_s: seconds = 0.0, repeat_s: seconds = 0.0", "None", alerts_add_rule, 0, "Add a rule: a threshold for each severity, exceeded by a value above it (lower: below it).\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)") \
    X(observe, "metric: str, value: float, now: seconds = None", "tuple[Alert, ...]", alerts_observe, 0, "Record a value of a metric; the alerts that it raised.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> len(a.observe('load', 2.0, now=0.0))\n1") \
    X(tell, "metric: str, message: str, severity: 'none' | 'info' | 'warning' | 'error' | 'critical' = 'warning', value: float | None = None, threshold: float | None = None, now: seconds = None", "tuple[Alert, ...]", alerts_tell, 0, "Raise an alert without a rule.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> a.tell('load', 'too high')[0].severity\n'warning'") \
    X(listen, "listener: Callable[[Alert], object] | None", "None", alerts_listen, 0, "listener(alert) is called for each alert from now on; None: no listener.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> a.listen(None)") \
    X(severity, "metric: str | None = None", "str", alerts_severity, 0, "The highest severity of all rules now, or of the rules of a metric.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> a.severity()\n'none'") \
    X(recent, "n: int = 10", "list[Alert]", alerts_recent, 0, "The newest alerts that are kept, newest first.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> a.recent()\n[]") \
    X(by_severity, "severity: 'none' | 'info' | 'warning' | 'error' | 'critical'", "list[Alert]", alerts_by_severity, 0, "Alerts of that severity that are kept, newest first.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> a.by_severity('warning')\n[]") \
    X(clear, "/", "None", alerts_clear, 0, "Drop the alerts that are kept; rules and states stay.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> a.clear()") \
    X(count, "/", "int", alerts_count, 0, "Number of alerts since the object was made.\n\n>>> a = monitoring.Alerts()\n>>> a.add_rule('load', warning=1.0)\n>>> a.count()\n0")
CX_OBJECT_TYPE(alerts, alerts, ALERTS, "monitoring", Alerts, "keep: int = 1000", cbx_alerts_free,
    "A book of alerts: values against rules, with patience on the way up and down.")
/* clang-format on */

/* ---- Health ---- */

CX_MADE(health_make, CX_HEALTH, cbx_health, (cbx_health_opts opts = CBX_HEALTH_OPTS_INIT),
        CX_GET(c, opts.window, opts.min_executions, opts.degraded_rate, opts.critical_rate, opts.degraded_slow,
               opts.critical_slow, opts.hysteresis) &&
            CX_GET_AS(c, "age_s", opts.age_ns),
        cbx_health_create(o->ctx, &opts, &handle, &c->err))

CX_DO(health_set_baseline, cbx_health, (const char *pipeline; double seconds), (pipeline, seconds),
      cx_none(c, cbx_health_set_baseline(self, pipeline, seconds, &c->err)))

CX_DO(health_record, cbx_health, (const char *pipeline; double seconds; bool success; uint64_t now = cbx_clock_ns()),
      (pipeline, seconds, success, now), cx_none(c, cbx_health_record(self, pipeline, seconds, success, now, &c->err)))

CX_DO(health_reports, cbx_health, (cbx_health_report r; uint64_t now = cbx_clock_ns()), (now),
      CX_TUPLE(cbx_health_count(self),
               (cbx_health_read(self, i, now, &r), cx_answer_object(c->st, CX_HEALTH_REPORT, &r))))

CX_DO(health_overall, cbx_health, (uint64_t now = cbx_clock_ns()), (now),
      PyUnicode_FromString(cbx_health_state_name(cbx_health_overall(self, now))))

/* clang-format off */
#define HEALTH(X) \
    X(set_baseline, "pipeline: str, seconds: float", "None", health_set_baseline, 0, "Set the expected duration of a pipeline.\n\n>>> h = monitoring.Health()\n>>> h.record('etl', 1.0, now=0.0)\n>>> h.set_baseline('etl', 1.0)") \
    X(record, "pipeline: str, seconds: float, success: bool = True, now: seconds = None", "None", health_record, 0, "Record an execution.\n\n>>> h = monitoring.Health()\n>>> h.record('etl', 1.0, now=0.0)") \
    X(reports, "now: seconds = None", "tuple[HealthReport, ...]", health_reports, 0, "A HealthReport a pipeline.\n\n>>> h = monitoring.Health()\n>>> h.record('etl', 1.0, now=0.0)\n>>> h.reports(now=1.0)[0].pipeline\n'etl'") \
    X(overall, "now: seconds = None", "str", health_overall, 0, "The worst known state of all pipelines.\n\n>>> h = monitoring.Health()\n>>> h.record('etl', 1.0, now=0.0)\n>>> h.overall(now=1.0)\n'unknown'")
CX_OBJECT_TYPE(health, health, HEALTH, "monitoring", Health, "window: int = 100, age_s: seconds = 0.0, min_executions: int = 3, degraded_rate: float = 0.2, critical_rate: float = 0.5, degraded_slow: float = 1.2, critical_slow: float = 2.0, hysteresis: float = 0.0", cbx_health_free,
    "Health of pipelines: failures and durations over a window of each.")
/* clang-format on */

/* ---- Sink ---- */

CX_MADE(sink_make, CX_SINK, cbx_sink, (const char *target; double timeout_s; int kind),
        CX_GET(c, kind, target, timeout_s),
        cbx_sink_create(o->ctx, (cbx_sink_kind)kind, target, timeout_s, &handle, &c->err))

/* A field of an Alert. */
static PyObject *field(PyObject *alert, Py_ssize_t i) { return PyTuple_GetItem(alert, i); }

static bool read_alert(cx_call *c, PyObject *o, cbx_alert *out)
{
    const char *severity, *before, *message;

    if (Py_TYPE(o) != c->st->answers[CX_ALERT])
        return cx_refused(PyExc_TypeError, "send: 'alert' must be an Alert, got %R", o);
    *out = (cbx_alert){ .rule = cx_text_of(field(o, 0), "rule"), .metric = cx_text_of(field(o, 1), "metric") };
    severity = cx_text_of(field(o, 2), "severity");
    before = cx_text_of(field(o, 3), "before");
    message = cx_text_of(field(o, 8), "message");
    if (PyErr_Occurred() || !cbx_severity_parse(severity, &out->severity) || !cbx_severity_parse(before, &out->before))
        return false;
    out->value = PyFloat_AsDouble(field(o, 4));
    out->threshold = field(o, 5) == Py_None ? NAN : PyFloat_AsDouble(field(o, 5));
    out->time_ns = PyLong_AsUnsignedLongLong(field(o, 6));
    out->held_back = PyLong_AsUnsignedLongLong(field(o, 7));
    snprintf(out->message, sizeof out->message, "%s", message);
    return !PyErr_Occurred();
}

CX_RETURN(sink_send, (cx_object *t = cx_object_self(c); int64_t time_us = cbx_time_now_us(); cbx_alert alert),
          t != NULL && read_alert(c, cx_arg(c, "alert"), &alert) &&
              (!cx_arg(c, "time") || cx_time_from(cx_arg(c, "time"), &time_us)),
          cx_none(c, CX_BUSY(t, cbx_sink_send(t->handle, &alert, time_us, &c->err))))

/* clang-format off */
#define SINK(X) \
    X(send, "alert: Alert, time: Time | None = None", "None", sink_send, 0, "An Alert as a JSON line; time is a datetime or ISO text, None: now.\n\n>>> a = monitoring.Alerts()\n>>> alert = a.tell('load', 'high')[0]\n>>> monitoring.Sink('file', os.path.join(folder, 'alerts')).send(alert)")
CX_OBJECT_TYPE(sink, sink, SINK, "monitoring", Sink, "kind: 'file' | 'command' | 'webhook', target: str, timeout_s: float = 10.0", cbx_sink_free,
    "Where alerts go: 'file' (JSON lines), 'command' (by sh, on its input) or 'webhook'.")
/* clang-format on */

/* ---- functions ---- */

CX_COMPUTE(do_tendency, cbx_tendency, TENDENCY, (double threshold; double level; cx_samples x),
           CX_GET(c, x, threshold, level), cbx_tendency_find(c->ctx, x.x, x.n, threshold, level, &out, &c->err))

/* clang-format off */
#define MONITORING(X) \
    X(tendency, "x: Samples, /, threshold: float = 0.01, level: float = 0.95", "Tendency", do_tendency, 0, "Whether a series rises, falls or stays, as far as its noise permits.\n\n>>> monitoring.tendency([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).kind\n'rising'")
/* clang-format on */
CX_FUNCTIONS(cx_monitoring_methods, MONITORING, SLOW)
