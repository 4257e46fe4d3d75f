/**
 * Traces of other tools: a folder of JAX, XLA, PyTorch or Perfetto, found, checked, and referenced
 * in a run's metadata.
 *
 * Files are searched in the folder itself and in the newest session below plugins/profile, if there
 * is one (the layout of jax.profiler.trace and TensorBoard): *.xplane.pb, *.trace.json,
 * *.trace.json.gz, *.pt.trace.json(.gz), *.perfetto-trace, *.pftrace, perfetto_trace.json.gz.  Only
 * the beginning of each is checked.
 * The reference holds trace_dir and run_id as in the Python package calibrax (TraceReference), and
 * the files found, so that a trace that was removed or overwritten is noticed.  Since 0.1.
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
    const char *session;         /* "plugins/profile/2026_01_01"; NULL: the folder itself only */
    const cbx_trace_file *files; /* by path */
    size_t nfiles;               /* 1 or more */
} cbx_trace_link;

/**
 * @param out  written on success only
 * @return CBX_OK; CBX_ENOENT (no such folder; none of its files is a trace); CBX_EFORMAT (a file
 *         named as a trace that is empty or does not begin as one); CBX_EPERM, CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_trace_find(cbx_ctx *ctx, const char *folder, cbx_trace_link *out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_trace_link_clear(cbx_trace_link *link);

/**
 * {"trace_dir","run_id","session","files":[{"file","format","bytes","hash"}]}, for the metadata of
 * a run.
 * @param run_id  NULL: left out.  @return NULL: out of memory
 */
CBX_API cbx_json *cbx_trace_link_json(const cbx_trace_link *link, const char *run_id);
/**
 * Whether the files of a reference still exist, byte for byte.
 * @return CBX_OK; CBX_ENOENT (folder or file is gone: named); CBX_EFORMAT (a file has other content
 *         now: named; or this is not a reference); CBX_EPERM, CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_trace_link_check(cbx_ctx *ctx, const cbx_json *reference, cbx_err *err);

CBX_END_DECLS
#endif
