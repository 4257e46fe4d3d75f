/*
 * Points on their way to a run file, as text on disk: a run of 100 MB is written in a few MB of memory.
 *
 * The text is what cbx_run_write writes, byte for byte.  Several runs may share one scratch file.  One thread at a time.
 */
#ifndef CALIBRAX_CORE_RUN_SPOOL_H
#define CALIBRAX_CORE_RUN_SPOOL_H

#include "calibrax/base/scratch.h"
#include "calibrax/core/run.h"

/** The points of one run; starts zeroed, but for the pending text, which the caller inits. */
typedef struct cbx__spooled {
    struct cbx__piece {
        uint64_t at, len; /* in the scratch file */
    } * pieces;
    size_t npieces, room;
    cbx_text pending; /* what comes behind the last piece */
    size_t npoints;
} cbx__spooled;

/* The samples of a metric that stand before its own: blocks of doubles in the scratch file.  No blocks: none. */
typedef struct cbx__waiting {
    const uint64_t *places;
    size_t nplaces, each; /* each: doubles in a block */
} cbx__waiting;

void cbx__spooled_init(cbx__spooled *p, const cbx_allocator *al);
void cbx__spooled_clear(cbx__spooled *p);
/**
 * Checks and adds a point, of which nothing is kept.
 * @param waiting  of each of its metrics; NULL: all samples are where the metrics say.  A metric with blocks has samples of its own, too
 * @return CBX_OK; as cbx_run_builder_add_point; CBX_ENOSPC; CBX_EIO
 */
cbx_status cbx__spooled_add(cbx__spooled *p, cbx__scratch *scratch, const cbx_point *point, const cbx__waiting *waiting,
                            cbx_err *err);
/** The same with a point of a run file, unknown members included.  @param path  "points.7".  @return also CBX_EFORMAT */
cbx_status cbx__spooled_add_json(cbx__spooled *p, cbx__scratch *scratch, const cbx_json *point, const char *path,
                                 cbx_err *err);
/** Whether a point of a run file has members that are unknown here, which are kept as they stand. */
bool cbx__run_point_says_more(const cbx_json *point);
/* Samples that a point's tree does not hold: an empty array stands there for them. */
typedef struct cbx__long_samples {
    const cbx_json *array;
    cbx__waiting waiting;
    const double *rest; /* behind those that wait; one at least */
    size_t nrest;
} cbx__long_samples;
/** The same with a point that does not say more, n of whose metrics have long samples. */
cbx_status cbx__spooled_add_long(cbx__spooled *p, cbx__scratch *scratch, const cbx_json *point, const char *path,
                                 const cbx__long_samples *list, size_t n, cbx_err *err);
/** What is pending goes to the disk, if it is worth that, and its memory back: another run is written next.  @return as above */
cbx_status cbx__spooled_rest(cbx__spooled *p, cbx__scratch *scratch, cbx_err *err);
/**
 * Writes a run that has these points instead of its own into a file that is there, not atomically.
 * @param shown  names the file in messages
 */
cbx_status cbx__spooled_write(const cbx_allocator *al, const cbx_run *head, const cbx__spooled *p,
                              const cbx__scratch *scratch, const char *path, const char *shown, cbx_err *err);
/** The same with a run and its own points. */
cbx_status cbx__run_write_to(const cbx_allocator *al, const cbx_run *run, const char *path, const char *shown,
                             cbx_err *err);

#endif
