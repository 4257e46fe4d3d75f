/**
 * Cases from a file, without C: of functions in Python files, or of commands.
 * docs/reference/case-files.md describes the format.
 *
 * A file is JSON, `"schema": "nperf-case", "version": 1`.  Of kind "python" it becomes a
 * cbx_case_ops like any other: inputs are made by the parent, the reference runs in a process of
 * its own, baselines in workers/python.  Of kind "commands" it runs by the rounds of
 * sweep/declared_run.h, a point at a time, each in a folder of its own; `calibrax run` makes
 * benchmarks of it (source.h).
 */
#ifndef CALIBRAX_PERF_CASE_DECLARED_H
#define CALIBRAX_PERF_CASE_DECLARED_H

#include "calibrax/perf/case/case.h"

CBX_BEGIN_DECLS

typedef struct cbx_declared cbx_declared;

typedef enum cbx_declared_kind { CBX_DECLARED_PYTHON, CBX_DECLARED_COMMANDS } cbx_declared_kind;

/**
 * Reads a case file.  Files that it names are looked for in its own folder, and must be there.
 * @param out  freed with cbx_declared_free; written on success only
 * @return CBX_OK; CBX_ENOENT, CBX_EIO (the file, or one that it names); CBX_EFORMAT: no JSON, not
 *         this schema, a member that is missing or unknown or of another kind; CBX_EVERSION: a
 *         later version; CBX_EINVAL: members that do not go together; CBX_ENOMEM.  The message
 *         names the file and the member.
 */
CBX_API cbx_status cbx_declared_read(cbx_ctx *ctx, const char *path, cbx_declared **out, cbx_err *err);
/**
 * The same of a text; files that it names are not looked at.
 * @param what    names the text in messages
 * @param folder  that its files are in
 */
CBX_API cbx_status cbx_declared_parse(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *folder,
                                      cbx_declared **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_declared_free(cbx_declared *d);

CBX_API cbx_declared_kind cbx_declared_get_kind(const cbx_declared *d);
/** The case, whole for kind "python"; for kind "commands" name, summary, parameters, points, label
 * and baselines only.  Lives as long as d. */
CBX_API const cbx_case_ops *cbx_declared_case(const cbx_declared *d);

CBX_END_DECLS
#endif
