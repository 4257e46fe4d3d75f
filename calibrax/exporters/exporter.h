/**
 * Exporters: runs, written in a form that others read.
 *
 * A format is a cbx_exporter in the one list that cbx_exporters gives: latex, html, csv and
 * markdown (tables), svg, pdf and png (plots), asv (a folder for `asv publish`), and files of other
 * benchmark tools (google-benchmark, hyperfine, pytest-benchmark, pyperf, bmf,
 * github-action-benchmark, perfherder), metrics for systems that watch (openmetrics,
 * node-exporter, otlp), the pages of a store (site), runs on an MLflow server (mlflow) and
 * offline runs of Weights & Biases (wandb).  Files carry the id of their run in their name, are
 * written atomically, and never take the place of a file that holds something else unless
 * `replace` is set.
 */
#ifndef CALIBRAX_EXPORTERS_EXPORTER_H
#define CALIBRAX_EXPORTERS_EXPORTER_H

#include "calibrax/base/arena.h"
#include "calibrax/core/run.h"
#include "calibrax/storage/store.h"

CBX_BEGIN_DECLS

#define CBX_EXPORTER_ABI 4

typedef struct cbx_export_opts {
    uint32_t struct_size;       /* sizeof(cbx_export_opts) of the header compiled with */
    const char *folder;         /* where files go; made if missing; NULL: the current folder */
    bool replace;               /* write over files that hold something else */
    const char *const *metrics; /* names of nmetrics metrics */
    size_t nmetrics;            /* 0: all metrics, in the order in which they first appear */
    const char *group_by;       /* the tag whose values are compared; NULL: "framework" */
    bool dark;                  /* plots on dark paper */
    const char *const *plots;   /* kinds of plots (cbx_export_plot_name), in this order */
    size_t nplots;              /* 0: "auto" */
    const char *repo;           /* asv: the repository, as asv.conf.json names it; NULL: "." */
    bool allow_machines;        /* a baseline of another machine, or of one that is unknown */
    size_t limit;               /* site: pages; mlflow: nested runs of a run; at most; 0: 1000 */
    const char *to;             /* mlflow: address of the server; NULL: MLFLOW_TRACKING_URI */
    /** NULL: of mlflow MLFLOW_EXPERIMENT_NAME, of wandb WANDB_PROJECT, else "calibrax" */
    const char *experiment;
    double timeout_s; /* mlflow: of a request; 0: 30 */
} cbx_export_opts;

#define CBX_EXPORT_OPTS_INIT CBX_OPTS(cbx_export_opts, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

/** What was written. */
typedef struct cbx_export_report {
    cbx_arena arena;
    /** Paths, or addresses on a server, in the order written; what was there already included. */
    const char *const *files;
    size_t nfiles;
    /** A sentence each: what the format has no place for, and was left out. */
    const char *const *notes;
    size_t nnotes;
} cbx_export_report;

/** Frees what a report holds, its texts included; one that was cleared already is fine. */
CBX_API void cbx_export_report_clear(cbx_export_report *report);

/** Runs that are held one at a time: each may be asked for several times, in any order. */
typedef struct cbx_export_source {
    size_t count;
    /** *out: a reference of the caller's.  What it returns goes up unchanged */
    cbx_status (*load)(void *user, size_t i, cbx_run **out, cbx_err *err);
    void *user;
} cbx_export_source;

struct cbx_export_job; /* what an exporter writes with; internal */

/** A format; members are optional: NULL where the format has no such form. */
typedef struct cbx_exporter {
    uint32_t struct_size, abi; /* CBX_EXPORTER_ABI of the header compiled with */
    const char *name;          /* "latex" */
    const char *summary;       /* one line, for a list */
    /** A run, with an id.  NULL: export_together has them all, or export_store is the only form. */
    cbx_status (*export_run)(struct cbx_export_job *job, const cbx_run *run, cbx_err *err);
    /** A run against another; NULL: this format has no such form. */
    cbx_status (*export_analysis)(struct cbx_export_job *job, const cbx_run *run, const cbx_run *baseline,
                                  cbx_err *err);
    /** One run at least: what is written of one depends on the others.  NULL: it does not. */
    cbx_status (*export_together)(struct cbx_export_job *job, const cbx_export_source *runs, cbx_err *err);
    /** All of a store.  NULL: the format writes runs. */
    cbx_status (*export_store)(struct cbx_export_job *job, cbx_store *store, cbx_err *err);
} cbx_exporter;

/**
 * All formats in the order shown.
 * @param count  written: how many there are
 * @return the array and what it points at, static.  Safe from any thread.
 */
CBX_API const cbx_exporter *const *cbx_exporters(size_t *count);
/** A format by its name, "csv"; static.  NULL: no format has that name.  Safe from any thread. */
CBX_API const cbx_exporter *cbx_exporter_find(const char *name);

/**
 * Kinds of plots that svg, pdf and png draw.  auto, bar, line: a value a point with its interval;
 * box, violin: samples; convergence: samples in their order; heat: a metric as a table of colours,
 * the compared tag by all else; pareto: the first two metrics that have a direction (those asked
 * for), with the front; roofline: points with the metrics flop_per_s and intensity [flop/byte]
 * under the roofs of metadata.roofs ({"flop_per_s": {NAME: X}, "bytes_per_s": {NAME: X}}), else of
 * this machine, measured, if the run is of it.  NULL past the end.
 */
CBX_API const char *cbx_export_plot_name(size_t i);
/** One line, for a list. */
CBX_API const char *cbx_export_plot_summary(size_t i);
CBX_API size_t cbx_export_nplots(void);

/**
 * Writes runs in a format: to files below opts->folder, or to the server opts->to.
 * @param format  of cbx_exporters
 * @param runs  nruns of them, nruns >= 1, each with an id; read only, and the caller's
 * @param opts  NULL: the defaults; its texts must live until the call returns
 * @param out  written on success only; the caller clears it
 * @param err  may be NULL
 * @return CBX_OK; CBX_EINVAL (no run; struct_size; no such plot); CBX_ENOENT (a metric that no
 *         point has; nothing of the kind of plot); CBX_EEXIST (a file is there and holds something
 *         else: nothing of it changed, files before it are written); CBX_EUNAVAILABLE (pdf and png
 *         without cairo; mlflow without libcurl); CBX_EDOM; CBX_ENOMEM; CBX_EIO (a file);
 *         of a server CBX_EPERM (access refused), CBX_EIO, CBX_ETIMEOUT, CBX_EPROTO; of wandb
 *         CBX_ECHILD
 * One thread uses a ctx at a time.
 */
CBX_API cbx_status cbx_export_runs(cbx_ctx *ctx, const cbx_exporter *format, const cbx_run *const *runs, size_t nruns,
                                   const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err);
/** The same with runs that are held one at a time, in memory that does not grow with their number,
 * but for the paths of the report. */
CBX_API cbx_status cbx_export_each(cbx_ctx *ctx, const cbx_exporter *format, const cbx_export_source *runs,
                                   const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err);
/**
 * Writes all of a store.
 * @return as cbx_export_runs; CBX_EUNSUPPORTED: the format writes runs
 */
CBX_API cbx_status cbx_export_store(cbx_ctx *ctx, const cbx_exporter *format, cbx_store *store,
                                    const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err);
/**
 * Writes how a run differs from a baseline: the metrics of points that both have (same name,
 * scenario and tags), and which points only one has.  Runs of machines that differ, or that do not
 * tell theirs, are refused unless allowed (cbx_run_same_machine).
 * @return as cbx_export_runs; CBX_EPERM: machines; CBX_EUNSUPPORTED: the format has no such thing;
 *   CBX_ENOENT: no point is in both
 */
CBX_API cbx_status cbx_export_analysis(cbx_ctx *ctx, const cbx_exporter *format, const cbx_run *run,
                                       const cbx_run *baseline, const cbx_export_opts *opts, cbx_export_report *out,
                                       cbx_err *err);

CBX_END_DECLS
#endif
