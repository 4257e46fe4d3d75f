/*
 * Launches of one benchmark made into one point of a run.
 */
#ifndef CALIBRAX_PERF_SWEEP_MERGE_H
#define CALIBRAX_PERF_SWEEP_MERGE_H

#include "calibrax/perf/sweep/driver.h"

/* All launches of one benchmark, in order; those that failed have no run. */
typedef struct cbx__gathered {
    const char *name;
    cbx__launch *launches;
    size_t count, good;
    bool failed; /* more launches failed than the user allows */
} cbx__gathered;

/*
 * Adds the point and its definitions to b.
 * @param partial  names of metrics that some good launch lacks, in the session's arena
 * @return CBX_OK; CBX_ENOMEM; CBX_EINVAL (text that a run refuses)
 */
cbx_status cbx__merge(cbx__session *s, const cbx__gathered *g, cbx_run_builder *b, const char *const **partial,
                      size_t *npartial, cbx_err *err);
/* What metadata.benchmarks says of it; NULL: out of memory. */
cbx_json *cbx__gathered_json(const cbx__session *s, const cbx__gathered *g, const cbx_named_metric *targets,
                             size_t ntargets);

#endif
