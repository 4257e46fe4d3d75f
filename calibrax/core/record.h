/*
 * What the records of core share: text copied and checked, metrics and tags to and from JSON.  For
 * the files of core alone.
 *
 * Reading is as strict as the Python package: a number is never taken from text or a boolean, an
 * integer serves as a float, messages carry the path (points.0.metrics.latency.value).  Writing
 * keeps its order of keys; unknown members follow the known ones.
 */
#ifndef CALIBRAX_CORE_RECORD_H
#define CALIBRAX_CORE_RECORD_H

#include "calibrax/base/arena.h"
#include "calibrax/base/json.h"
#include "calibrax/core/metric.h"

bool cbx__is_utf8(const char *s);
/** Whether a free-form value can be kept and read back.  CBX_EINVAL: text that is not UTF-8, nested
 * deeper than 48; path is in the message */
cbx_status cbx__record_check_json(const cbx_json *value, const char *path, cbx_err *err);

/** Copy in the arena.  CBX_EINVAL: s is NULL, or not UTF-8; what names it. */
cbx_status cbx__record_text(cbx_arena *arena, const char *s, const char *what, const char **out, cbx_err *err);
/** Deep copies in the arena.  CBX_EINVAL: a name is missing, not UTF-8, or listed twice. */
cbx_status cbx__record_tags(cbx_arena *arena, const cbx_tag *tags, size_t n, const cbx_tag **out, cbx_err *err);
cbx_status cbx__record_metrics(cbx_arena *arena, const cbx_named_metric *metrics, size_t n,
                               const cbx_named_metric **out, cbx_err *err);
cbx_status cbx__record_def(cbx_arena *arena, const cbx_metric_def *def, cbx_metric_def *out, cbx_err *err);

/* --- reading; path is that of the object, "" at the top --- */

#define CBX__PATH_SIZE 256

/** "path.key", or "key" at the top. */
const char *cbx__path(char buf[CBX__PATH_SIZE], const char *path, const char *key);
/** A member that may be missing or null: *out stays as it was. */
cbx_status cbx__read_maybe_string(const cbx_json *object, const char *key, const char *path, const char **out,
                                  cbx_err *err);
cbx_status cbx__read_maybe_double(const cbx_json *object, const char *key, const char *path, double *out, cbx_err *err);
/** A member that may be missing (out NULL), but is an object when there. */
cbx_status cbx__read_maybe_object(const cbx_json *object, const char *key, const char *path, cbx_json **out,
                                  cbx_err *err);
/** An array of numbers in the arena; *samples NULL when missing or null. */
cbx_status cbx__read_samples(cbx_arena *arena, const cbx_json *object, const char *key, const char *path,
                             const double **samples, size_t *n, cbx_err *err);
/** The first sample that is not a number, of those that a sieve took out of the metrics. */
typedef struct cbx__bad_sample {
    const char *metric; /* NULL: all are numbers */
    size_t i;
} cbx__bad_sample;
/** Objects "tags" and "metrics" of a record, all of it in the arena.  @param bad  NULL: no samples
 * were taken out */
cbx_status cbx__read_tags(cbx_arena *arena, const cbx_json *record, const char *path, const cbx_tag **tags, size_t *n,
                          cbx_err *err);
cbx_status cbx__read_metrics(cbx_arena *arena, const cbx_json *record, const char *path, const cbx__bad_sample *bad,
                             const cbx_named_metric **metrics, size_t *n, cbx_err *err);
/** True if a record with "metrics" has members that known does not list, its metrics have any that
 * are unknown, or a bound is NaN. */
bool cbx__has_unknown(const cbx_json *record, const char *const *known);
cbx_status cbx__read_def(const cbx_json *object, const char *path, cbx_metric_def *out, cbx_err *err);

/* --- writing, with failures that are sticky (json.h).  raw is the object once read, NULL if there
 * was none --- */

/** Adds members of raw that object lacks and known does not list (NULL-terminated). */
void cbx__keep_unknown(cbx_json *object, const cbx_json *raw, const char *const *known);
void cbx__set_tags(cbx_json *record, const cbx_tag *tags, size_t n);
/** @param raw  the object that the metric was once read from; NULL: none */
cbx_json *cbx__metric_json(const cbx_metric *m, const cbx_json *raw);
void cbx__set_metrics(cbx_json *record, const cbx_named_metric *metrics, size_t n, const cbx_json *raw);
void cbx__set_def(cbx_json *defs, const char *key, const cbx_metric_def *def, const cbx_json *raw);

#endif
