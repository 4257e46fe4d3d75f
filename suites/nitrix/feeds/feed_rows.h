/* Internal to the feeds: rows of one case, point and machine, and the newest good one of each
 * baseline. */
#ifndef CALIBRAX_SUITES_NITRIX_FEEDS_FEED_ROWS_H
#define CALIBRAX_SUITES_NITRIX_FEEDS_FEED_ROWS_H

#include "calibrax/storage/row.h"

/** An arena that records a failure, so that a document is checked once, at its end. */
typedef struct cbx__feed_memory {
    cbx_allocator base;
    cbx_arena arena;
    bool failed;
} cbx__feed_memory;
/** m must not move while its arena is used. */
void cbx__feed_begin(cbx__feed_memory *m, cbx_ctx *ctx);
/** Clears the arena; the document to *out, or after a failure unreferenced. */
cbx_status cbx__feed_end(cbx__feed_memory *m, cbx_status st, cbx_json *document, const char *what, cbx_json **out,
                         cbx_err *err);

typedef struct cbx__feed_want {
    const char *case_name;
    const char *point;   /* canonical, without seed; NULL: that of the representative rows */
    const char *machine; /* beginning of a fingerprint; NULL: that of the newest row */
    bool without_fast;   /* rows of fast runs do not count */
} cbx__feed_want;

typedef struct cbx__feed_rows {
    const cbx_row **rows; /* by run id, then order */
    size_t n;
    const char *point, *machine;
    const cbx_row *
        *newest; /* one a (platform, baseline, variant): the newest good one, else the newest; order of appearance */
    size_t nnewest;
} cbx__feed_rows;

/** Parameters without the seed, keys sorted, compact; NULL: out of memory, or not JSON. */
const char *cbx__feed_point(cbx_arena *arena, const char *json);
/** The point of the rows that were selected; the reference is the caller's. */
cbx_json *cbx__feed_point_json(const cbx__feed_rows *f);
/** "openblas (tuned)" */
const char *cbx__feed_name(cbx_arena *arena, const cbx_row *row);
/** All memory is in the arena.  @return CBX_OK; CBX_ENOENT; CBX_EUNSUPPORTED (fast runs only);
 * CBX_ENOMEM */
cbx_status cbx__feed_select(cbx_arena *arena, const cbx_rows *rows, const cbx__feed_want *want, cbx__feed_rows *out,
                            cbx_err *err);

#endif
