/** A table of competitors, made of runs that come one after the other: of each, only values stay,
 * so that ten thousand of them fit.
 *
 * A competitor is the value of the group tag of a point; without such a tag on the point (or
 * without a group tag) the label of its run.  A row is (point, scenario, the other tags, metric); a
 * point that bears the group tag and whose name is its label is not distinguished by its name.  16
 * bytes a value, beside the names.  One thread uses a table at a time.  Since 0.1. */
#ifndef CALIBRAX_ANALYSIS_RANK_TABLE_H
#define CALIBRAX_ANALYSIS_RANK_TABLE_H

#include "calibrax/analysis/ranking.h"
#include "calibrax/core/run.h"

CBX_BEGIN_DECLS

typedef struct cbx_rank_table cbx_rank_table;

typedef struct cbx_rank_table_opts {
    uint32_t struct_size;
    const char *group_tag;      /* NULL: a competitor is a run */
    const char *const *metrics; /* NULL: all */
    size_t nmetrics;
    size_t samples_max; /* samples are kept as long as there are no more competitors than that; 0: none are */
    bool runs_stay;     /* until the last call of cbx_rank_table_cells, whose cells then have a metric */
} cbx_rank_table_opts;

#define CBX_RANK_TABLE_OPTS_INIT CBX_OPTS(cbx_rank_table_opts, 0, 0, 0, 0, 0)

typedef struct cbx_rank_row {
    const char *key; /* "point@scenario{other tags}:metric" */
    const char *metric;
    const char *unit; /* NULL: no definition */
    cbx_direction direction;
    size_t ncells;   /* competitors that have a value here */
    size_t nnumbers; /* those of them whose value is not NaN */
} cbx_rank_row;

/** What one competitor has in a row. */
typedef struct cbx_rank_cell {
    size_t competitor;
    double value;
    size_t rank;           /* as cbx_rank, among those that have a value; 0: NaN, or a row of direction info */
    double delta;          /* as cbx_rank; NaN likewise */
    const double *samples; /* NULL: none, or not kept; as long as the table */
    size_t nsamples;
    const cbx_metric *metric; /* of the run; NULL unless runs_stay */
} cbx_rank_cell;

/** @param opts  what it names is borrowed until the table is freed.  @return CBX_OK; CBX_EINVAL
 *   (struct_size); CBX_ENOMEM */
CBX_API cbx_status cbx_rank_table_create(cbx_ctx *ctx, const cbx_rank_table_opts *opts, cbx_rank_table **out,
                                         cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_rank_table_free(cbx_rank_table *t);
/** Takes the values of a run, which is needed no more.  After a failure the table is fit for
 * freeing only.
 * @param label  of its competitor; NULL: the id of the run
 * @return CBX_OK; CBX_EEXIST (two values for one cell: named; seen when half of what there is is
 *         new, else by cbx_rank_table_close); CBX_EFORMAT (unit or direction of a metric differ
 *         between runs); CBX_EOVERFLOW (2^32 values); CBX_ENOMEM */
CBX_API cbx_status cbx_rank_table_add(cbx_rank_table *t, const cbx_run *run, const char *label, cbx_err *err);
/** The table is complete; called once, before what follows.
 * @return as cbx_rank_table_add; CBX_ENOENT (a metric asked for that no point has); CBX_EINVAL
 *   (fewer than two competitors) */
CBX_API cbx_status cbx_rank_table_close(cbx_rank_table *t, cbx_err *err);

CBX_API size_t cbx_rank_table_ncompetitors(const cbx_rank_table *t);
/** There were samples, and too many competitors to keep them. */
CBX_API bool cbx_rank_table_dropped_samples(const cbx_rank_table *t);
/** In order of first appearance, as rows are; NULL past the end. */
CBX_API const char *cbx_rank_table_competitor(const cbx_rank_table *t, size_t i);
CBX_API size_t cbx_rank_table_nrows(const cbx_rank_table *t);
/** @param i  < nrows */
CBX_API cbx_rank_row cbx_rank_table_row(const cbx_rank_table *t, size_t i);
/** The cells of a row: best first, of equals the competitor that came first, NaN last; in a row of
 * direction info by competitor.
 * @param out  as many as ncells of the row
 * @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_rank_table_cells(cbx_rank_table *t, size_t i, cbx_rank_cell *out, cbx_err *err);

CBX_END_DECLS
#endif
