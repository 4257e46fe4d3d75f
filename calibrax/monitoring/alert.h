/**
 * Alerts: values against rules, with patience on the way up and on the way down.
 *
 * A rule has up to four levels, one a severity, on one side: a value above (upper) or below (lower)
 * a level is beyond it.  The severity rises when raise_after values in a row are beyond its level,
 * and falls when clear_after in a row are more than the hysteresis on the good side of it.  A value
 * that is not finite is beyond every level: a series that becomes NaN is noticed.  Alerts report
 * the state, not the value: a change that a rate limit held back is reported with the first value
 * after it, unless it has passed by then; a rise above the reported severity is never held back.
 *
 * A rule of a pattern (pattern.h) uses its strength in the last values instead of the value: its
 * levels and hysteresis are shares, and beyond a lower level is a drift downwards.  A value that is
 * not finite is beyond them, too, and does not enter the window.
 *
 * Time is the caller's, in ns.  One thread uses a cbx_alerts at a time; listeners are called from
 * within cbx_alerts_observe, on that thread, and must not call back.  Since 0.1.
 */
#ifndef CALIBRAX_MONITORING_ALERT_H
#define CALIBRAX_MONITORING_ALERT_H

#include <math.h>

#include "calibrax/base/json.h"
#include "calibrax/monitoring/pattern.h"

CBX_BEGIN_DECLS

typedef enum cbx_severity {
    CBX_SEVERITY_NONE,
    CBX_SEVERITY_INFO,
    CBX_SEVERITY_WARNING,
    CBX_SEVERITY_ERROR,
    CBX_SEVERITY_CRITICAL
} cbx_severity;

/** "none", "info", "warning", "error", "critical"; "?" outside the list. */
CBX_API const char *cbx_severity_name(cbx_severity s);
/** false for an unknown word or NULL. */
CBX_API bool cbx_severity_parse(const char *word, cbx_severity *out);

#define CBX_ALERT_LEVELS 4

typedef struct cbx_alert_rule {
    const char *name;                  /* shown; NULL: the metric's, followed by the pattern's */
    const char *metric;                /* of its values */
    bool lower;                        /* beyond is below */
    double levels[CBX_ALERT_LEVELS];   /* of info, warning, error, critical; NaN: none.  In order of severity */
    double hysteresis;                 /* in the metric's unit, >= 0 */
    uint32_t raise_after, clear_after; /* values in a row, >= 1; 1 */
    uint64_t quiet_ns;                 /* minimum time between two alerts of the rule; 0: none */
    uint64_t repeat_ns;                /* reported again after this time while it lasts; 0: never */
    cbx_pattern_kind pattern;          /* none: the values themselves */
    size_t window;                     /* values that a pattern is searched in; CBX_PATTERN_WINDOW */
} cbx_alert_rule;

#define CBX_ALERT_RULE_INIT                                                                                            \
    {                                                                                                                  \
        NULL, NULL, false, { NAN, NAN, NAN, NAN }, 0, 1, 1, 0, 0, CBX_PATTERN_NONE, CBX_PATTERN_WINDOW                 \
    }

typedef struct cbx_alert {
    const char *rule, *metric; /* live as long as the cbx_alerts */
    cbx_severity severity;     /* now; none: all clear */
    cbx_severity before;       /* as reported last */
    double value;              /* of a pattern, its strength */
    double threshold;          /* of the severity, or of the lowest one if all clear; NaN: none */
    cbx_pattern_kind pattern;
    uint64_t time_ns;
    uint64_t held_back; /* changes that were not reported since the last alert of the rule */
    char message[160];  /* one sentence */
} cbx_alert;

typedef void (*cbx_alert_listener)(void *user, const cbx_alert *alert);

typedef struct cbx_alerts cbx_alerts;

/** @param ctx  outlives it, for rules of patterns.  @param keep  alerts remembered, 1 to 10^6.
 *   @return CBX_OK; CBX_EINVAL (keep); CBX_ENOMEM */
CBX_API cbx_status cbx_alerts_create(cbx_ctx *ctx, size_t keep, cbx_alerts **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_alerts_free(cbx_alerts *a);
/**
 * Copies the rule.
 * @return CBX_OK; CBX_EINVAL (no metric, no level, levels out of order, hysteresis below 0; of a
 * pattern, a level that its strength of 0 is beyond, a window outside CBX_PATTERN_MIN ..
 * CBX_PATTERN_MAX); CBX_ENOMEM
 */
CBX_API cbx_status cbx_alerts_add_rule(cbx_alerts *a, const cbx_alert_rule *rule, cbx_err *err);
CBX_API cbx_status cbx_alerts_listen(cbx_alerts *a, cbx_alert_listener listener, void *user, cbx_err *err);
/**
 * A value of a metric; one without a rule is ignored.  Only rules of patterns allocate; for them a
 * lack of memory is as a value that is not finite.  @return number of alerts
 */
CBX_API size_t cbx_alerts_observe(cbx_alerts *a, const char *metric, double value, uint64_t now_ns);
/** Worst severity of all rules now; of one metric, if it is not NULL. */
CBX_API cbx_severity cbx_alerts_severity(const cbx_alerts *a, const char *metric);
/** Number of alerts since the creation. */
CBX_API size_t cbx_alerts_count(const cbx_alerts *a);
/** i-th newest of those remembered; NULL past the end.  Lives until the next observation. */
CBX_API const cbx_alert *cbx_alerts_recent(const cbx_alerts *a, size_t i);
/**
 * Remembered alerts of this severity (CBX_SEVERITY_NONE: all clear), newest first.
 * @param out   `capacity` of them; more are counted and not written; NULL if capacity is 0.  They
 *   live as cbx_alerts_recent's
 * @return how many there are.  Allocates nothing.
 */
CBX_API size_t cbx_alerts_by_severity(const cbx_alerts *a, cbx_severity severity, const cbx_alert **out,
                                      size_t capacity);
/** Forgets the alerts remembered.  Rules, their states and cbx_alerts_count stay.  Allocates
 * nothing. */
CBX_API void cbx_alerts_clear(cbx_alerts *a);
/**
 * Adds an alert of the caller's own, without a rule: it is remembered, counted and passed to the
 * listeners like any other, and changes no state.
 * @param alert  copied, its texts too; metric is needed, rule NULL: the metric
 * @return CBX_OK; CBX_EINVAL (no metric, no severity); CBX_ENOMEM
 */
CBX_API cbx_status cbx_alerts_tell(cbx_alerts *a, const cbx_alert *alert, cbx_err *err);
/**
 * {"schema":"calibrax-alert","version":1,"rule","metric","pattern","severity","before","value","threshold","time","held_back",
 * "message"}; time by the calendar, ISO 8601.  NULL: out of memory.
 * @param time_us  microseconds since 1970
 */
CBX_API cbx_json *cbx_alert_json(const cbx_alert *alert, int64_t time_us);

CBX_END_DECLS
#endif
