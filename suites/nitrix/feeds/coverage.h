/** Coverage: what is measured of each operation, how strong its rivals are, and where it lags.
 *
 *   platforms   unmeasured, cpu_only, gpu_only, multiplatform: where the case's reference or a
 *               variant of it has a good row
 *   reference   none < internal_only (rivals of the library's own framework) < floor_only (rivals
 *               that materialise everything: a name with "naive" or "dense", or numpy) < strong_ref
 *               (another framework's own implementation, or a vendor's library)
 *   precision   unmeasured, f32_only, one_dtype, multi_dtype: by the points' "dtype" (none: f32)
 *   scale       no_tier, one_size, declared (two or more sizes), scaled (the largest at least 64
 *               times the smallest)
 *   deficits    gpu_lagging: a strong rival is faster than the library on the GPU; cpu_lagging: one
 *               is 1.5 times as fast or more on the CPU; missing_platform, no_strong_reference */
#ifndef CALIBRAX_SUITES_NITRIX_FEEDS_COVERAGE_H
#define CALIBRAX_SUITES_NITRIX_FEEDS_COVERAGE_H

#include "calibrax/storage/row.h"

CBX_BEGIN_DECLS

/** {"schema":"nperf-coverage","version":1,"ops":[{"op","case","platforms","reference","precision","scale","points","good_rows",
 * "worst_ratio":{"cpu","gpu"},"deficits":[...]}],"orphans":[cases that no operation
 * has],"unmeasured":[operations without a case]}
 * @param rows     one row a key (cbx_rows_latest)
 * @param cases    names that are listed even without rows; may be NULL
 * @param catalogue  an op_matrix, whose operations without rows are listed as unmeasured; NULL:
 *   none
 * @return CBX_OK; CBX_EFORMAT (catalogue without `ops`); CBX_ENOMEM */
cbx_status cbx_coverage_make(cbx_ctx *ctx, const cbx_rows *rows, const char *const *cases, size_t ncases,
                             const cbx_json *catalogue, cbx_json **out, cbx_err *err);

CBX_END_DECLS
#endif
