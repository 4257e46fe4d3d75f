/* What a run is made of; for the files run*.c and result.c alone. */
#ifndef CALIBRAX_CORE_RUN_INTERNAL_H
#define CALIBRAX_CORE_RUN_INTERNAL_H

#include <stdatomic.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/core/record.h"
#include "calibrax/core/run.h"

typedef struct run_point {
    cbx_point view;
    cbx_json *raw; /* owned; the object it was read from, if that has unknown members; else NULL */
} run_point;

typedef struct run_def {
    const char *key;
    cbx_metric_def def;
    cbx_json *raw; /* as above */
} run_def;

struct cbx_run {
    atomic_size_t refs;
    cbx_arena arena; /* all text and arrays of numbers */
    cbx_arena words; /* of points that were read: words that many of them share, once */
    const char *id, *commit, *branch;
    int64_t timestamp_us;
    const char *timestamp_text; /* as it was read, if it has an offset; NULL: written from timestamp_us */
    cbx_json *environment, *metadata;
    cbx_json *extra; /* unknown members of the top level, schema_version among them */
    CBX_LIST(run_def) defs;
    cbx_names def_names; /* by the number of a definition; empty while they are few */
    CBX_LIST(run_point) points;
    bool private_tree; /* while reading: the JSON has no other owner, so parts of it are kept and not copied */
};

struct cbx_run_builder {
    cbx_allocator al;
    cbx_run *run; /* NULL once it is frozen */
};

/** An empty run with one reference: no id, empty objects. */
cbx_status cbx__run_new(const cbx_allocator *al, cbx_run **out, cbx_err *err);
/** Appends a point whose text, tags and metrics are in the run's arenas already.  @param raw
 * copied (kept, of a private tree); may be NULL */
cbx_status cbx__run_own_point(cbx_run *run, const cbx_point *point, const cbx_json *raw, cbx_err *err);
/** Name and scenario, copied. */
cbx_status cbx__run_point_text(cbx_arena *arena, cbx_point *p, cbx_err *err);
/** Adds or replaces a definition. */
cbx_status cbx__run_put_def(cbx_run *run, const char *key, const cbx_metric_def *def, const cbx_json *raw,
                            cbx_err *err);
/** v for the run to own: a copy, or a reference in a run that reads a private tree; NULL gives
 * NULL. */
cbx_status cbx__run_keep(const cbx_run *run, const cbx_json *v, cbx_json **out, cbx_err *err);
/** The parts of what cbx_run_to_json makes; NULL: out of memory.  The head has an empty array of
 * points. */
cbx_json *cbx__run_point_json(const cbx_point *p, const cbx_json *raw);
cbx_json *cbx__run_head_json(const cbx_run *run, const char *timestamp);
const char *cbx__run_time_text(const cbx_run *run, char buf[CBX_TIME_SIZE]);
/** "points.17" */
void cbx__run_point_path(size_t i, char path[CBX__PATH_SIZE]);
/**
 * Reads a point strictly; its text lives as long as v and the arena.
 * @param bad  as in cbx__read_metrics
 * @param raw  v if that has unknown members, else NULL; may be NULL
 */
cbx_status cbx__run_view_point(const cbx_json *v, const char *path, const cbx__bad_sample *bad, cbx_arena *arena,
                               cbx_point *out, cbx_json **raw, cbx_err *err);
/** All that is read before the points, into a new run that may keep parts of v; and what is read
 * after them. */
cbx_status cbx__run_read_front(const cbx_json *v, cbx_run *run, cbx_err *err);
cbx_status cbx__run_read_rest(const cbx_json *v, cbx_run *run, cbx_err *err);
/** The refusal of a run file: status and message. */
cbx_status cbx__run_refuse(const char *what, cbx_status st, const cbx_err *why, cbx_err *err);
/** Canonical text of the content: what is hashed and compared. */
cbx_status cbx__run_canonical(const cbx_run *run, cbx_text *out, cbx_err *err);

#endif
