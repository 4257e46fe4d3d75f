/*
 * Run files in pieces: only one point at a time and a window of the file are held.  The same files
 * are refused, with the same messages, as by cbx_run_from_json.
 */
#ifndef CALIBRAX_CORE_RUN_FILE_H
#define CALIBRAX_CORE_RUN_FILE_H

#include "calibrax/base/hash.h"
#include "calibrax/core/run.h"

/**
 * Receives a point without samples, which lives until it returns; no points after the first bad
 * one.  If the file is refused in the end, its points are to be forgotten.  @return a result other
 * than CBX_OK ends the reading
 */
typedef cbx_status (*cbx__run_point_fn)(void *user, const cbx_point *point, cbx_err *err);

/**
 * A run file whose points go to fn.
 * @param what  names the file in messages
 * @param hash  as of cbx__json_stream_file
 * @param out   all but the points and the elements of arrays; the caller's
 * @return CBX_OK; what fn returned; as cbx_run_from_json and cbx__json_stream_file
 */
cbx_status cbx__run_stream_file(const cbx_allocator *al, const char *path, const char *what, cbx__run_point_fn fn,
                                void *user, char hash[CBX_HASH_SIZE], cbx_run **out, cbx_err *err);

/** As cbx_run_read, without samples: such a run is not to be written. */
cbx_status cbx__run_read_bare(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err);
/** Writes a run into a file that exists, not atomically.  @param shown  names the file in
 * messages */
cbx_status cbx__run_write_to(const cbx_allocator *al, const cbx_run *run, const char *path, const char *shown,
                             cbx_err *err);

#endif
