/* The analysis that goes to MLflow with a run: who is best in what, and the Pareto front. */
#ifndef CALIBRAX_EXPORTERS_MLFLOW_ANALYSIS_H
#define CALIBRAX_EXPORTERS_MLFLOW_ANALYSIS_H

#include "calibrax/base/hash_table.h"
#include "calibrax/exporters/job.h"

/* In the arena, but for the document. */
typedef struct cbx__mlflow_analysis {
    cbx_json *document; /* the artifact analysis/analysis.json */
    cbx_table ranks;    /* by the hashed address of a metric of the run */
    bool *compared, *on_front;
    const char *front; /* "latency, memory"; NULL: no two metrics have a direction */
} cbx__mlflow_analysis;

/* @param a  zeroed; the caller unrefs its document, also after a failure */
cbx_status cbx__mlflow_analyse(cbx_export_job *job, const cbx_run *run, cbx_arena *arena, cbx__mlflow_analysis *a,
                               cbx_err *err);
/* Of a metric of the run: 1 is best; 0: it has none. */
size_t cbx__mlflow_rank(const cbx__mlflow_analysis *a, const cbx_metric *m);

#endif
