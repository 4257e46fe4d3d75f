/**
 * Run: one execution of a set of benchmarks, with what is needed to compare it later.
 *
 * Built with a builder, then frozen: a run has getters only, is shared by reference count between
 * threads and contexts, and a cbx_run_with_... makes a changed copy.  It carries its allocator by
 * value, so the allocator's own state must outlive it.
 *
 * File: one JSON object, indent 2, ASCII, as the Python package `calibrax` 0.1.14 writes it, byte
 * for byte; unknown members are kept on re-writing.  Runs built here end with an additive
 * "schema_version", which that package ignores.  Non-finite numbers are the bare tokens NaN,
 * Infinity, -Infinity.
 */
#ifndef CALIBRAX_CORE_RUN_H
#define CALIBRAX_CORE_RUN_H

#include <stdint.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/json.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/metric.h"

CBX_BEGIN_DECLS

#define CBX_RUN_SCHEMA_VERSION 1

typedef struct cbx_run cbx_run;
typedef struct cbx_run_builder cbx_run_builder;

/**
 * Whether a text can be the id of a run, and the name of its file: UTF-8 of 1 to 200 bytes, in any
 * script and with blanks, but without '/' and control characters and without a '.' in front.
 */
CBX_API bool cbx_run_id_is_valid(const char *id);

/* --- building --- */

/** What a new run finds out by itself. */
typedef struct cbx_run_opts {
    uint32_t struct_size;  /* sizeof(cbx_run_opts) of the header compiled with */
    const char *work_tree; /* where commit and branch are read; NULL: the current folder */
    bool no_vcs;           /* leave commit, branch and environment.dirty out */
    /* leave environment.machine (fingerprint) and environment.hardware out */
    bool no_machine;
    bool no_versions; /* leave environment.versions out */
} cbx_run_opts;

#define CBX_RUN_OPTS_INIT CBX_OPTS(cbx_run_opts, 0, 0, 0, 0)

/**
 * A new run: 12 random hex digits as id, the time now, commit, branch, machine and versions.  What
 * cannot be found out (no repository, no libgit2, no /proc) is left out.
 * @param opts  NULL: all defaults
 * @return CBX_OK; CBX_EINVAL (struct_size of another version); CBX_EIO (no random numbers);
 *   CBX_ENOMEM
 */
CBX_API cbx_status cbx_run_builder_create(cbx_ctx *ctx, const cbx_run_opts *opts, cbx_run_builder **out, cbx_err *err);
/** Starts from a copy of a frozen run, id and time included. */
CBX_API cbx_status cbx_run_builder_from(cbx_ctx *ctx, const cbx_run *run, cbx_run_builder **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_run_builder_free(cbx_run_builder *b);

/* Setters copy their arguments; after a failure the run under construction is as it was.
 * CBX_EINVAL: text that is missing or not UTF-8, and as listed below. */

/** CBX_EINVAL: not valid (cbx_run_id_is_valid). */
CBX_API cbx_status cbx_run_builder_set_id(cbx_run_builder *b, const char *id, cbx_err *err);
/** @param us  microseconds since 1970, UTC */
CBX_API cbx_status cbx_run_builder_set_timestamp(cbx_run_builder *b, int64_t us, cbx_err *err);
/** NULL: unknown */
CBX_API cbx_status cbx_run_builder_set_commit(cbx_run_builder *b, const char *commit, const char *branch, cbx_err *err);
/** Adds or replaces a free-form member; takes over the caller's reference to value (also on
 * failure).
 * NULL, which is also what a lack of memory gives, fails with CBX_ENOMEM. */
CBX_API cbx_status cbx_run_builder_set_environment(cbx_run_builder *b, const char *key, cbx_json *value, cbx_err *err);
CBX_API cbx_status cbx_run_builder_set_metadata(cbx_run_builder *b, const char *key, cbx_json *value, cbx_err *err);
/** Adds a definition, or replaces the one of that name in its place. */
CBX_API cbx_status cbx_run_builder_add_metric_def(cbx_run_builder *b, const cbx_metric_def *def, cbx_err *err);
/** Appends a point.  CBX_EINVAL: a tag or a metric is listed twice. */
CBX_API cbx_status cbx_run_builder_add_point(cbx_run_builder *b, const cbx_point *point, cbx_err *err);
/** Takes the run out of the builder, which then is fit for cbx_run_builder_free only.  CBX_EINVAL:
 * taken already. */
CBX_API cbx_status cbx_run_builder_freeze(cbx_run_builder *b, cbx_run **out, cbx_err *err);

/* --- frozen: any number of threads may read and count references at a time --- */

/** One more reference; returns run. */
CBX_API cbx_run *cbx_run_ref(cbx_run *run);
/** Gives back one reference.  NULL is fine. */
CBX_API void cbx_run_free(cbx_run *run);

CBX_API const char *cbx_run_id(const cbx_run *run);
/** Microseconds since 1970, UTC. */
CBX_API int64_t cbx_run_timestamp_us(const cbx_run *run);
/** NULL: unknown */
CBX_API const char *cbx_run_commit(const cbx_run *run);
CBX_API const char *cbx_run_branch(const cbx_run *run);
/** Objects; borrowed, to be read only (no reference may be taken: the count of a JSON value is not
 * atomic; cbx_json_copy is fine). */
CBX_API const cbx_json *cbx_run_environment(const cbx_run *run);
CBX_API const cbx_json *cbx_run_metadata(const cbx_run *run);
/**
 * cbx_machine_compare of environment.machine.  Other programs may keep anything there, an object
 * say: what is no text is compared as JSON.
 */
CBX_API cbx_same_machine cbx_run_same_machine(const cbx_run *a, const cbx_run *b);
CBX_API size_t cbx_run_npoints(const cbx_run *run);
/** NULL past the end */
CBX_API const cbx_point *cbx_run_point(const cbx_run *run, size_t i);
CBX_API size_t cbx_run_nmetric_defs(const cbx_run *run);
CBX_API const cbx_metric_def *cbx_run_metric_def(const cbx_run *run, size_t i);
/** By its key, which is the metric's name; NULL: unknown */
CBX_API const cbx_metric_def *cbx_run_find_metric_def(const cbx_run *run, const char *name);
/** Hash of the content, computed at each call: equal runs have equal hashes.  @return CBX_OK or
 * CBX_ENOMEM */
CBX_API cbx_status cbx_run_hash(const cbx_run *run, char out[CBX_HASH_SIZE], cbx_err *err);
/**
 * Equality of content: every member, unknown ones included; the order of keys and the time zone in
 * which an instant is written do not matter, the order of points does, 1 and 1.0 in free-form
 * values differ.
 * @return CBX_OK or CBX_ENOMEM
 */
CBX_API cbx_status cbx_run_equal(const cbx_run *a, const cbx_run *b, bool *equal, cbx_err *err);

/* --- changed copies: the id stays unless it is what changes --- */

/** Takes over the caller's reference to value (also on failure). */
CBX_API cbx_status cbx_run_with_metadata(cbx_ctx *ctx, const cbx_run *run, const char *key, cbx_json *value,
                                         cbx_run **out, cbx_err *err);

/** The version in its file; 0: none, as the Python package writes. */
CBX_API int64_t cbx_run_schema_version(const cbx_run *run);
/** A copy with CBX_RUN_SCHEMA_VERSION. */
CBX_API cbx_status cbx_run_with_present_schema(cbx_ctx *ctx, const cbx_run *run, cbx_run **out, cbx_err *err);

/* --- JSON and files --- */

/** A new tree; NULL: out of memory. */
CBX_API cbx_json *cbx_run_to_json(const cbx_run *run);
/** The same in parts, for a run whose tree would be too large: all but the points, of which the
 * list is empty; point i. */
CBX_API cbx_json *cbx_run_head_to_json(const cbx_run *run);
CBX_API cbx_json *cbx_run_point_to_json(const cbx_run *run, size_t i);
/**
 * Reads strictly: a number is never taken from text or a boolean, an integer serves as a float; id,
 * timestamp and points must be there, name and scenario of a point, value of a metric, name, unit
 * and direction of a definition.
 * @param what  names the source in messages: "'what': 'points.0.metrics.latency.value': expected a
 *   number, found a string"
 * @return CBX_OK; CBX_EFORMAT (also an id that is no safe file name); CBX_ENOMEM
 */
CBX_API cbx_status cbx_run_from_json(cbx_ctx *ctx, const cbx_json *json, const char *what, cbx_run **out, cbx_err *err);
/** @return as cbx_file_read, cbx_json_parse and cbx_run_from_json */
CBX_API cbx_status cbx_run_read(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err);
/** The definitions alone of a file {"metric_defs": {...}}, as a run without id and points.  @return
 * as cbx_run_read */
CBX_API cbx_status cbx_run_defs_read(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err);
/** Atomically, and in pieces: it takes no memory to speak of.  @return as cbx_replacement_begin,
 * cbx_replacement_commit */
CBX_API cbx_status cbx_run_write(cbx_ctx *ctx, const cbx_run *run, const char *path, cbx_err *err);

CBX_END_DECLS
#endif
