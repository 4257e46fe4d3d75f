/** Documents for other tools, from rows: the decision bundle of one point, and the fields of an
 * op_matrix.
 *
 * Both are of one case.  Rows are matched by point without its seed; of rows with the same
 * baseline, variant and platform the newest good one counts.  Rows of different machines are not
 * mixed: the default is the machine of the newest row.  Documents are new values that the caller
 * unrefs. */
#ifndef CALIBRAX_SUITES_NITRIX_FEEDS_FEED_H
#define CALIBRAX_SUITES_NITRIX_FEEDS_FEED_H

#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"
#include "calibrax/storage/row.h"

CBX_BEGIN_DECLS

/** "nitrix.semiring.semiring_matmul" for the case "semiring_matmul", in the arena; NULL: out of
 * memory. */
const char *cbx_feed_qualname(cbx_arena *arena, const char *case_name);

typedef struct cbx_bundle_opts {
    uint32_t struct_size;
    const char *case_name; /* required */
    const char *point;     /* JSON; NULL: the representative one */
    const char *machine;   /* fingerprint or the beginning of one; NULL: that of the newest row */
} cbx_bundle_opts;
#define CBX_BUNDLE_OPTS_INIT CBX_OPTS(cbx_bundle_opts, 0, 0, 0)

/** {"schema":"nperf-bundle","version":1,"op","case","machine","point","ratio_reference","fidelity_threshold":1.0,"fidelity_threshold_unit",
 * "platforms":{P:{"baselines":{B:{"status","steady":{min,median,p95,lower,upper},"steady_unit","ratio_vs_reference","ratio_paired",
 * "fidelity":{status,rel_to_tol},"within_fidelity_threshold","peak_hbm_mb","host_rss_mb","memory_increase_mb","compile_s",
 * "compile_warm_s","detectable"}},"trend":{B:[{run_id,min,ratio_vs_reference}]}}},
 * "recommendation":null,"note"}.  Evidence, never a verdict: recommendation is null by policy.
 * Trend: good rows, oldest first.
 * @param rows  all rows there are, old ones too
 * @return CBX_OK; CBX_ENOENT (no row of the case, the point or the machine: the message lists what
 *   there is); CBX_EFORMAT (point); CBX_ENOMEM */
cbx_status cbx_bundle_make(cbx_ctx *ctx, const cbx_rows *rows, const cbx_bundle_opts *opts, cbx_json **out,
                           cbx_err *err);
/** A table a platform, and the sequence of ratios. */
void cbx_bundle_markdown(const cbx_json *bundle, cbx_text *out);

typedef struct cbx_feed_opts {
    uint32_t struct_size;
    const char *case_name; /* required */
    const char *primary;   /* baseline that represents the library; NULL: the reference of the rows' ratios */
    const char *reference; /* NULL: "naive-dense" */
    const char *machine;   /* as above */
    const char *source;    /* text for _meta.source; NULL: "nperf rows" */
} cbx_feed_opts;
#define CBX_FEED_OPTS_INIT CBX_OPTS(cbx_feed_opts, 0, 0, 0, 0, 0)

/** Fragment of an op_matrix at the representative point:
 * {qualname:{"_meta":{point,reference,primary,primary_rule,ratio_convention,machine,source,notes},
 * "perf_cpu_baseline","perf_cpu_ratio","perf_gpu_baseline","perf_gpu_ratio"}}. Ratio: primary's
 * minimum over the reference's, four decimals, below 1: the library is faster (the opposite sense
 * of a row's ratio). Primary: the one named, else the reference of the rows' ratios, else
 * "nitrix-jax"; primary_rule names the rule.  A side that is not good: null, and a note; a
 * platform without rows: no fields.  Rows of fast runs (coverage_mode "fast") do not count.
 * @return as cbx_bundle_make; CBX_EUNSUPPORTED: all rows are of fast runs */
cbx_status cbx_feed_make(cbx_ctx *ctx, const cbx_rows *rows, const cbx_feed_opts *opts, cbx_json **out, cbx_err *err);
/** A copy of an op_matrix with the perf_ fields of a fragment laid over ops[].qualname.
 * @param unknown  may be NULL: operations of the fragment that the matrix does not list
 * @return CBX_OK; CBX_EFORMAT (no list `ops`, named by what); CBX_ENOMEM */
cbx_status cbx_feed_apply(const cbx_json *fragment, const cbx_json *matrix, const char *what, cbx_json **out,
                          size_t *unknown, cbx_err *err);

CBX_END_DECLS
#endif
