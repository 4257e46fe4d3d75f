/**
 * A trace that chrome://tracing and ui.perfetto.dev open: spans that nest, counters, instants, on
 * named tracks.
 *
 * File: the JSON object form of the Trace Event Format,
 * {"traceEvents":[...],"displayTimeUnit":"ns","otherData":{...}}; times are microseconds with three
 * decimals of CLOCK_MONOTONIC, so traces of several processes of one machine can be laid side by
 * side.
 *
 * Any number of threads may add events to one trace at a time; the allocator must then be
 * thread-safe.  The first event that cannot be kept is an error of cbx_timeline_write.
 * Source: "Trace Event Format", the Catapult project.
 */
#ifndef CALIBRAX_PROFILING_TRACING_H
#define CALIBRAX_PROFILING_TRACING_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_timeline cbx_timeline;

/** A note on an event. */
typedef struct cbx_timeline_arg {
    const char *key;
    const char *text; /* NULL: the number */
    double number;    /* must be finite, or the note is left out */
} cbx_timeline_arg;

/** Track and time.  All zero: the calling thread, now. */
typedef struct cbx_timeline_at {
    uint64_t time_ns; /* of cbx_clock_ns; 0: now */
    uint32_t track;   /* 0: number of the calling thread */
    uint32_t process; /* 0: this one */
} cbx_timeline_at;

#define CBX_TIMELINE_MAX_TRACKS 1024 /* with spans on them */

/** @param process  name of this process; NULL: none.  @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_timeline_create(cbx_ctx *ctx, const char *process, cbx_timeline **out, cbx_err *err);
/** NULL is fine, here and below: nothing is traced. */
CBX_API void cbx_timeline_free(cbx_timeline *t);

/** Opens a span.  @param category  NULL: ""  @param at  NULL: this thread, now */
CBX_API void cbx_timeline_begin(cbx_timeline *t, const char *name, const char *category, const cbx_timeline_at *at,
                                const cbx_timeline_arg *args, size_t nargs);
/** Closes the span that was opened last on the track.  Errors: no open span; a time before its
 * begin. */
CBX_API void cbx_timeline_end(cbx_timeline *t, const cbx_timeline_at *at);
/** A span as a whole. */
CBX_API void cbx_timeline_span(cbx_timeline *t, const char *name, const char *category, const cbx_timeline_at *at,
                               uint64_t duration_ns, const cbx_timeline_arg *args, size_t nargs);
/** A moment. */
CBX_API void cbx_timeline_instant(cbx_timeline *t, const char *name, const char *category, const cbx_timeline_at *at,
                                  const cbx_timeline_arg *args, size_t nargs);
/** Values of a counter's series, from now on; values that are not finite are left out. */
CBX_API void cbx_timeline_counter(cbx_timeline *t, const char *name, const cbx_timeline_at *at,
                                  const cbx_timeline_arg *values, size_t nvalues);
/** Names a track, or with `process` its process. */
CBX_API void cbx_timeline_name(cbx_timeline *t, const cbx_timeline_at *at, const char *name, bool process);
/** A member of otherData. */
CBX_API void cbx_timeline_note(cbx_timeline *t, const char *key, const char *value);

CBX_API size_t cbx_timeline_events(const cbx_timeline *t);
/**
 * Writes the file, atomically; spans that are still open end at the last time of the trace.  The
 * trace can go on.
 * @return CBX_OK; CBX_EINVAL (a span was closed that was not open, or before it began);
 *         CBX_EOVERFLOW (too many tracks); CBX_ENOMEM; as cbx_file_write_atomic
 */
CBX_API cbx_status cbx_timeline_write(cbx_ctx *ctx, cbx_timeline *t, const char *path, cbx_err *err);

CBX_END_DECLS
#endif
