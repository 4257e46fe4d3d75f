/**
 * Guard: the answer of a comparison (analysis/regression.h) with waivers, in the forms that a build
 * server reads.
 *
 * A waiver takes a finding that asks for an exit code out of the answer; an expired one does not,
 * and is named; so is one that no such finding needs.  Nothing to compare cannot be waived.
 */
#ifndef CALIBRAX_CI_GUARD_H
#define CALIBRAX_CI_GUARD_H

#include "calibrax/analysis/regression.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"
#include "calibrax/ci/waivers.h"

CBX_BEGIN_DECLS

#define CBX_GUARD_SCHEMA         "calibrax-gate"
#define CBX_GUARD_SCHEMA_VERSION 1

typedef enum cbx_guard_format {
    CBX_GUARD_TEXT,     /* for people: the answer, then what asks for it, what improved, and the waivers */
    CBX_GUARD_JSON,     /* everything; what is not a number is null */
    CBX_GUARD_MARKDOWN, /* a table, at most CBX_GUARD_MARKDOWN_BYTES long */
    CBX_GUARD_JUNIT,    /* a test case a finding: regressed is a failure, what cannot be compared an error */
    CBX_GUARD_GITHUB,   /* workflow commands ::error, ::warning, ::notice, one a line */
    CBX_GUARD_BADGE     /* an SVG of 20 pixels in height with the outcome, for a README */
} cbx_guard_format;

/** Below what a comment on a change may hold (65,536 characters). */
#define CBX_GUARD_MARKDOWN_BYTES 60000

typedef struct cbx_guard cbx_guard;

/**
 * @param r        borrowed: lives longer than the guard
 * @param waivers  borrowed; NULL: none
 * @param now_us   microseconds since 1970, UTC: the moment at which waivers are asked
 * @return CBX_OK; CBX_ENOMEM
 */
CBX_API cbx_status cbx_guard_create(cbx_ctx *ctx, const cbx_regression *r, const cbx_waivers *waivers, int64_t now_us,
                                    cbx_guard **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_guard_free(cbx_guard *g);
/** Lives as long as the guard. */
CBX_API const cbx_gate *cbx_guard_gate(const cbx_guard *g);
/** The waiver that takes finding i out of the answer; NULL: none. */
CBX_API const cbx_waiver *cbx_guard_waiver(const cbx_guard *g, size_t i);
/**
 * The values of a finding's metric in earlier runs, oldest first, and in this run, last.
 * @param values  capacity for CBX_GUARD_HISTORY_MAX
 * @return their number, 0: unknown
 */
typedef size_t (*cbx_guard_history_fn)(void *user, const cbx_finding *f, double *values);
#define CBX_GUARD_HISTORY_MAX 20
/** Markdown then has a column in which small bars show the history.  user lives as long as
 * the guard. */
CBX_API void cbx_guard_set_history(cbx_guard *g, cbx_guard_history_fn fn, void *user);
/**
 * The run that was compared, whose metadata.sources (a list of {"point","file","line"}, and
 * "scenario" where it matters) has the places of benchmarks' code: workflow commands then name file
 * and line.  Borrowed; NULL: unknown.
 */
CBX_API void cbx_guard_set_run(cbx_guard *g, const cbx_run *run);
/** Appends, with a line end.  @return CBX_OK; CBX_EINVAL (no such format); CBX_ENOMEM */
CBX_API cbx_status cbx_guard_write(const cbx_guard *g, cbx_guard_format format, cbx_text *out, cbx_err *err);
/**
 * The same of an answer that may be too long to be held: JSON is handed out behind each finding,
 * other formats at their end.
 * @param pour  takes what was written so far, and resets it; after a fault, too, there may be a
 *   part
 */
CBX_API cbx_status cbx_guard_pour(const cbx_guard *g, cbx_guard_format format, cbx_json_pour_fn pour, void *user,
                                  cbx_text *out, cbx_err *err);

CBX_END_DECLS
#endif
