/**
 * Drift: do the cases still mean and compute what they did.
 *
 * A manifest holds of each case its signature (parameters, inputs, outputs) and, at each of its
 * points of at most 2^25 steps, a digest of the outputs of every honest native baseline: dtype,
 * shape, counts of finite values, NaN and infinities, and three sums that neither order nor sign
 * changes: L1, L2 squared and the largest magnitude.  Counts and words are compared exactly, sums
 * to 1e-3.
 */
#ifndef CALIBRAX_PERF_GATE_DRIFT_H
#define CALIBRAX_PERF_GATE_DRIFT_H

#include "calibrax/base/json.h"
#include "calibrax/perf/case/case.h"

CBX_BEGIN_DECLS

/**
 * {"schema":"nperf-drift","version":1,"cases":{CASE:{"signature","points":{POINT:{BASELINE:[{dtype,shape,finite,nan,infinite,l1,l2_squared,
 * largest}]}}}}}.  A baseline that this machine cannot run is left out.
 * @param names  cases; count 0: all
 * @return CBX_OK; CBX_ENOENT (an unknown case); as the cases' own functions; CBX_ENOMEM
 */
CBX_API cbx_status cbx_drift_manifest(cbx_ctx *ctx, const cbx_case_list *list, const char *const *names, size_t count,
                                      cbx_json **out, cbx_err *err);
/**
 * Now against a kept manifest: everything that differs, what the manifest has and now lacks of the
 * cases that now has, and a case that the manifest does not know.  New points and baselines of a
 * known case are no drift.
 * @param all  now holds every case there is: one that only the manifest has is gone, and that is
 *   drift
 * @param out
 *             {"schema":"nperf-drift-findings","version":1,"drifted":N,"findings":[{"case","point","baseline","output","what","is","was",
 *             "sentence"}]}; what does not apply is null, and what is "presence" where one side
 *             alone has it; the caller unrefs
 * @return CBX_OK, whatever was found; CBX_EFORMAT, CBX_EVERSION (kept, named by what); CBX_ENOMEM
 */
CBX_API cbx_status cbx_drift_compare(const cbx_json *kept, const char *what, const cbx_json *now, bool all,
                                     cbx_json **out, cbx_err *err);

CBX_END_DECLS
#endif
