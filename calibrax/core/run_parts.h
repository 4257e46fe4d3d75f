/* What a run is made of; for the files run*.c alone. */
#ifndef CALIBRAX_CORE_RUN_PARTS_H
#define CALIBRAX_CORE_RUN_PARTS_H

#include <stdatomic.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/table.h"
#include "calibrax/core/record.h"
#include "calibrax/core/run.h"

typedef struct run_point {
    cbx_point view;
    cbx_json *raw; /* owned; the object it was read from, if that says more than is known here; else NULL */
} run_point;

typedef struct run_def {
    const char *key;
    cbx_metric_def def;
    cbx_json *raw; /* as above */
} run_def;

struct cbx_run {
    atomic_size_t refs;
    cbx_arena arena; /* all text and arrays of numbers */
    cbx_arena words; /* of points that were read: what many of them say, once */
    const char *id, *commit, *branch;
    int64_t timestamp_us;
    const char *timestamp_text; /* as it was read, if it names its offset; NULL: written from timestamp_us */
    cbx_json *environment, *metadata;
    cbx_json *extra; /* members of the top level that are unknown here, schema_version among them */
    run_def *defs;
    size_t ndefs, defs_cap;
    cbx_names def_names; /* by the number of a definition; empty while there are few */
    run_point *points;
    size_t npoints, points_cap;
    bool private_tree; /* while reading: the JSON has no other owner, so parts of it are kept and not copied */
};

/** An empty run with one reference: no id, empty objects. */
cbx_status cbx__run_new(const cbx_allocator *al, cbx_run **out, cbx_err *err);
/** Append; raw is copied (kept, in a run that reads a private tree), NULL is fine. */
cbx_status cbx__run_own_point(cbx_run *run, const cbx_point *point, const cbx_json *raw,
                              cbx_err *err); /* all text, tags and metrics stand in the run's arenas already */
/** Name and scenario, copied. */
cbx_status cbx__run_point_text(cbx_arena *arena, cbx_point *p, cbx_err *err);
/** No more points will come. */
cbx_status cbx__run_trim(cbx_run *run, cbx_err *err);
cbx_status cbx__run_put_point(cbx_run *run, const cbx_point *point, const cbx_json *raw, cbx_err *err);
/** The place of a definition, or ndefs. */
size_t cbx__run_def_at(const cbx_run *run, const char *key);
/** Adds or replaces. */
cbx_status cbx__run_put_def(cbx_run *run, const char *key, const cbx_metric_def *def, const cbx_json *raw,
                            cbx_err *err);
/** v for the run to own: a copy, or a reference in a run that reads a private tree; NULL gives NULL. */
cbx_status cbx__run_keep(const cbx_run *run, const cbx_json *v, cbx_json **out, cbx_err *err);
/** Of the run under construction; NULL once it is frozen. */
const cbx_json *cbx__run_builder_metadata(const cbx_run_builder *b);
const cbx_allocator *cbx__run_builder_allocator(const cbx_run_builder *b);
/** The parts of what cbx_run_to_json makes; NULL: out of memory. */
cbx_json *cbx__run_point_json(const cbx_point *p, const cbx_json *raw);
/** All but the points, in whose place there is an empty array. */
cbx_json *cbx__run_head_json(const cbx_run *run, const char *timestamp);
const char *cbx__run_time_text(const cbx_run *run, char buf[CBX_TIME_SIZE]);
/** "points.17" */
void cbx__run_point_path(size_t i, char path[CBX__PATH_SIZE]);
/**
 * Reads a point strictly; its text lives as long as v and the arena.
 * @param bad  as in cbx__read_metrics
 * @param raw  v if that says more than is known here, else NULL; may be NULL
 */
cbx_status cbx__run_view_point(const cbx_json *v, const char *path, const cbx__bad_sample *bad, cbx_arena *arena,
                               cbx_point *out, cbx_json **raw, cbx_err *err);
/** All that stands before the points, into a new run that may keep parts of v; and what stands behind them. */
cbx_status cbx__run_read_front(const cbx_json *v, cbx_run *run, cbx_err *err);
cbx_status cbx__run_read_rest(const cbx_json *v, cbx_run *run, cbx_err *err);
/** What a run file that comes to st is refused with: status and message. */
cbx_status cbx__run_refuse(const char *what, cbx_status st, const cbx_err *why, cbx_err *err);
/** Canonical text of the content: what is hashed and compared. */
cbx_status cbx__run_canonical(const cbx_run *run, cbx_text *out, cbx_err *err);

#endif
