/**
 * Traces that somebody else wrote: a folder of JAX, XLA, PyTorch or Perfetto, found, checked, and told in a run's metadata.
 *
 * Looked at are the files of the folder itself and, where there is one, of the newest session below plugins/profile (as
 * jax.profiler.trace and TensorBoard lay them): *.xplane.pb, *.trace.json, *.trace.json.gz, *.pt.trace.json(.gz), *.perfetto-trace,
 * *.pftrace, perfetto_trace.json.gz.  Each is opened and its beginning looked at; nothing is parsed.
 * The reference holds trace_dir and run_id as the Python package calibrax has them (TraceReference), and beside them what was found,
 * so that a trace that was removed or written over is known.  Since 0.1.
 */
#ifndef CALIBRAX_PROFILING_TRACE_LINK_H
#define CALIBRAX_PROFILING_TRACE_LINK_H

#include "calibrax/base/arena.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/json.h"

CBX_BEGIN_DECLS

typedef struct cbx_trace_file {
    const char *path;   /* below the folder, "plugins/profile/2026_01_01/host.xplane.pb" */
    const char *format; /* "xplane", "trace-event-json", "perfetto"; static */
    size_t bytes;
    char hash[CBX_HASH_SIZE]; /* of its content */
} cbx_trace_file;

/** Cleared with cbx_trace_link_clear. */
typedef struct cbx_trace_link {
    cbx_arena arena;
    const char *folder;
    const char *session;         /* "plugins/profile/2026_01_01"; NULL: the folder itself alone */
    const cbx_trace_file *files; /* by path */
    size_t nfiles;               /* 1 or more */
} cbx_trace_link;

/**
 * @param out  written on success only
 * @return CBX_OK; CBX_ENOENT (no such folder; none of its files is a trace); CBX_EFORMAT (a file that is named as a trace and is empty or
 *         does not begin as one: named); CBX_EPERM, CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_trace_find(cbx_ctx *ctx, const char *folder, cbx_trace_link *out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_trace_link_clear(cbx_trace_link *link);

/**
 * {"trace_dir","run_id","session","files":[{"file","format","bytes","hash"}]}, for the metadata of a run.
 * @param run_id  NULL: left out.  @return NULL: out of memory
 */
CBX_API cbx_json *cbx_trace_link_json(const cbx_trace_link *link, const char *run_id);
/**
 * Whether what a reference names is still there, byte for byte.
 * @return CBX_OK; CBX_ENOENT (folder or file is gone: named); CBX_EFORMAT (a file holds something else now: named; or this is no
 *         reference); CBX_EPERM, CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_trace_link_check(cbx_ctx *ctx, const cbx_json *reference, cbx_err *err);

CBX_END_DECLS
#endif
