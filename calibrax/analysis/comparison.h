/** Comparison: runs or competitors side by side, one row a measured thing, one column a competitor.
 *
 * Competitors and rows are those of analysis/rank_table.h; the same rule holds for the winner of a
 * metric and for the overall winner.  Metrics of direction info, or without a definition, are in
 * rows but have no best and no winner.  Since 0.1.
 */
#ifndef CALIBRAX_ANALYSIS_COMPARISON_H
#define CALIBRAX_ANALYSIS_COMPARISON_H

#include "calibrax/analysis/ranking.h"
#include "calibrax/core/run.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

typedef struct cbx_comparison_cell {
    double value; /* NaN: missing */
    size_t rank;  /* as cbx_rank; 0: missing, or a row without ranks */
    double delta; /* how much worse than the best, as cbx_rank; NaN likewise */
    /* over the reference, > 1 is better: of time reference/value, of a rate value/reference;
     * with the interval that samples or bounds of both give (level 0: none or no level known);
     * NaN: missing, not > 0, or no direction */
    cbx_interval speedup;
    const double *samples; /* nsamples, copied; NULL: none */
    size_t nsamples;
    bool measured; /* there is a value, which may be no number: NaN then does not mean missing */
} cbx_comparison_cell;

typedef struct cbx_comparison_row {
    const char *key; /* "point@scenario{other tags}:metric" */
    const char *metric;
    const char *unit; /* NULL: no definition */
    cbx_direction direction;
    const cbx_comparison_cell *cells; /* one a competitor */
    size_t nmissing;
} cbx_comparison_row;

/** Who is best over the rows of a metric, or over all rows. */
typedef struct cbx_winner {
    const char *metric; /* NULL: over all */
    const char *label;  /* NULL: no winner, no row that all competitors have, or a draw */
    double score;       /* of the winner: geometric mean of best/value over rows that all have, 1 is best everywhere */
    size_t nrows;       /* how many such rows there are */
} cbx_winner;

typedef struct cbx_comparison_opts {
    uint32_t struct_size;
    const char *group_tag;      /* NULL: a competitor is a run */
    const char *reference;      /* label of the base of speed-ups; NULL: the first competitor */
    const char *const *metrics; /* NULL: all */
    size_t nmetrics;
    double level; /* of speed-up intervals */
} cbx_comparison_opts;

#define CBX_COMPARISON_OPTS_INIT CBX_OPTS(cbx_comparison_opts, 0, 0, 0, 0, 0.95)

typedef struct cbx_comparison cbx_comparison;

/** @param labels  one a run, all different; NULL: the ids of the runs
 * @param out     the caller frees it; needs runs and ctx no more, only the allocator of ctx
 * @return CBX_OK; CBX_EINVAL (an option, fewer than two competitors, no such reference); CBX_ENOENT
 *         (a metric asked for that no point has); CBX_EEXIST (two values for one cell: named);
 *         CBX_EFORMAT (unit or direction of a metric differ between runs); CBX_ENOMEM */
CBX_API cbx_status cbx_comparison_create(cbx_ctx *ctx, const cbx_run *const *runs, const char *const *labels,
                                         size_t nruns, const cbx_comparison_opts *opts, cbx_comparison **out,
                                         cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_comparison_free(cbx_comparison *c);
CBX_API size_t cbx_comparison_nlabels(const cbx_comparison *c);
/** In order of first appearance; NULL past the end. */
CBX_API const char *cbx_comparison_label(const cbx_comparison *c, size_t i);
CBX_API size_t cbx_comparison_reference(const cbx_comparison *c);
CBX_API size_t cbx_comparison_nrows(const cbx_comparison *c);
CBX_API const cbx_comparison_row *cbx_comparison_row_at(const cbx_comparison *c, size_t i);
/** One a metric that has a direction, in order of first appearance; then the overall one as the
 * last. */
CBX_API size_t cbx_comparison_nwinners(const cbx_comparison *c);
CBX_API const cbx_winner *cbx_comparison_winner(const cbx_comparison *c, size_t i);
/** What a reader should consider before believing the table, a sentence each, after the rules of
 * Hoefler & Belli, SC 2015: the base of speed-ups, missing cells, averaged ratios, values without
 * interval, few samples, samples in groups, intervals that meet, unknown or unlike machines. */
CBX_API size_t cbx_comparison_nremarks(const cbx_comparison *c);
/** rule: number of the rule, 1..12; may be NULL.  NULL past the end. */
CBX_API const char *cbx_comparison_remark(const cbx_comparison *c, size_t i, int *rule);

CBX_END_DECLS
#endif
