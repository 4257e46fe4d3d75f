/**
 * The table of a run: what it finished, laid over the rows that --resume kept, with verdicts
 * corrected over the whole.  Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_RUN_TABLE_H
#define CALIBRAX_PERF_SWEEP_RUN_TABLE_H

#include "calibrax/perf/sweep/session.h"

/** What a run has of one point on one platform; parts of the same point stand together. */
typedef struct cbx__table_part {
    const char *point_json;
    const cbx_rows *rows; /* NULL: the point is not finished */
} cbx__table_part;

/**
 * Rows of the parts in order, each part followed by the kept rows of its point, then all other kept
 * rows.  A row of this run takes the place of kept rows with its key; one that was skipped or
 * interrupted never takes the place of a good one, whatever its variant.
 * @param out  rows that borrow everything from parts and kept; the array lives in the arena
 */
cbx_status cbx__table_lay(const cbx__session *s, const cbx__table_part *parts, size_t nparts, const cbx_rows *kept,
                          cbx_arena *arena, cbx_row **out, size_t *count, cbx_err *err);
/**
 * Corrects the paired ratios of one case by Holm: p_holm, holm_rows and verdict_holm of every good
 * row that has a p-value.  verdict_holm stays NULL where no outcome of so few launches could stand
 * among so many rows.
 */
cbx_status cbx__table_correct(const char *case_name, cbx_row *rows, size_t count, cbx_arena *arena, cbx_err *err);
/** Adds typed rows to a set, as what they are written as. */
cbx_status cbx__table_read(const cbx_row *rows, size_t count, cbx_rows *out, cbx_err *err);
/** cbx__table_correct over a finished set: its rows of the case are replaced by corrected ones;
 * unchanged on failure. */
cbx_status cbx__table_settle(const char *case_name, cbx_rows *rows, cbx_err *err);

/** Reads the rows that a file has already; no file: no rows, and one without a single row is
 * refused.  @return CBX_EFORMAT; as cbx_rows_read */
cbx_status cbx__table_older(cbx_ctx *ctx, const char *path, cbx_rows *older, cbx_err *err);
/** Writes rows, and behind them the older ones whose keys they lack: a shorter run does not remove
 * what a longer one measured. */
cbx_status cbx__table_write(cbx_ctx *ctx, const char *path, const cbx_row *rows, size_t count, const cbx_rows *older,
                            cbx_err *err);

/**
 * Lets good rows of the same key (machine, platform, point, baseline, variant) replace planned
 * attempts.  A baseline one of whose variants is missing is measured again with all of them; the
 * reference is launched again if a ratio needs it.
 * @param kept  rows read; must outlive the point
 */
cbx_status cbx__resume_point(const cbx__session *s, cbx__point *p, const cbx_rows *kept, cbx_err *err);

#endif
