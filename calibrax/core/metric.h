/**
 * Metrics and points: a value with its interval and samples, how to read it, and what it was
 * measured on.
 *
 * These structs are open views: they own nothing.  Given to a builder they are copied, text and
 * samples too; taken from a frozen record they live as long as it does.  Nothing here allocates or
 * fails; all is safe from any thread.
 */
#ifndef CALIBRAX_CORE_METRIC_H
#define CALIBRAX_CORE_METRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

/** Which way is better; "info" has none. */
typedef enum cbx_direction { CBX_DIRECTION_HIGHER, CBX_DIRECTION_LOWER, CBX_DIRECTION_INFO } cbx_direction;
typedef enum cbx_priority { CBX_PRIORITY_SECONDARY, CBX_PRIORITY_PRIMARY } cbx_priority;

/** "higher", "lower", "info"; "?" for a number outside the list.  Static text. */
CBX_API const char *cbx_direction_name(cbx_direction d);
/** "secondary", "primary"; "?" for a number outside the list.  Static text. */
CBX_API const char *cbx_priority_name(cbx_priority p);
/** false for an unknown word or NULL; *out is then untouched. */
CBX_API bool cbx_direction_parse(const char *word, cbx_direction *out);
CBX_API bool cbx_priority_parse(const char *word, cbx_priority *out);

/** How to read a metric.  What is left out of an initializer has the default of the file format
 * (NULL reads as ""). */
typedef struct cbx_metric_def {
    const char *name; /* needed: a builder refuses NULL (CBX_EINVAL) */
    const char *unit; /* needed; "" for a pure number */
    cbx_direction direction;
    const char *group;
    cbx_priority priority;
    const char *description;
} cbx_metric_def;

/** True unless the direction is lower; NULL (an unknown metric) and "info" count as
 * higher-is-better. */
CBX_API bool cbx_metric_def_higher_is_better(const cbx_metric_def *def);

/** One value in the unit of its definition. */
typedef struct cbx_metric {
    double value;
    double lower, upper;   /* interval; NaN: absent */
    const double *samples; /* NULL: absent */
    size_t nsamples;
} cbx_metric;

/** A value alone: no interval (NaN), no samples (NULL).  Any double, NaN and infinities too. */
CBX_API cbx_metric cbx_metric_of(double value);

/** Why a metric cannot be what its definition says. */
typedef enum cbx_metric_fault {
    CBX_METRIC_SOUND,
    CBX_METRIC_NOT_FINITE, /* value or a sample */
    /* value or a sample is not above 0, in a unit of time of which less is better */
    CBX_METRIC_NOT_A_TIME,
    CBX_METRIC_BAD_BOUNDS, /* one without the other, or not around the value */
    /* the value is below the smallest sample or above the largest, by more than rounding */
    CBX_METRIC_OUTSIDE_SAMPLES
} cbx_metric_fault;

/** The first fault of the list above.  @param def  NULL: no unit is known */
CBX_API cbx_metric_fault cbx_metric_check(const cbx_metric *m, const cbx_metric_def *def);

typedef struct cbx_tag {
    const char *key, *value; /* UTF-8, not NULL */
} cbx_tag;

typedef struct cbx_named_metric {
    const char *name;
    cbx_metric metric;
} cbx_named_metric;

/** One measurement under one configuration. */
typedef struct cbx_point {
    const char *name, *scenario;
    const cbx_tag *tags; /* in order; a key is listed once */
    size_t ntags;
    const cbx_named_metric *metrics; /* in order; a name is listed once */
    size_t nmetrics;
} cbx_point;

/** For qsort and bsearch over cbx_tag: by key, then by value, as strcmp. */
CBX_API int cbx_tag_compare(const void *a, const void *b);
/** Value of a tag; NULL if the point has none of that key.  p and key must not be NULL; the result
 * lives as long as p's tags. */
CBX_API const char *cbx_point_tag(const cbx_point *p, const char *key);
/** A metric by name, in p itself; NULL if the point has none. */
CBX_API const cbx_metric *cbx_point_metric(const cbx_point *p, const char *name);

CBX_END_DECLS
#endif
