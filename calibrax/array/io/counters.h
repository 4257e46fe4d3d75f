/** Counters of the boundary: how many arrays came in and went out, their bytes, and the time that
 * took.
 *
 *     cbx_io_counters *counters;
 *     cbx_io_stats s;
 *     cbx_io_counters_create(ctx, &counters, err);
 *     cbx_ctx_count_io(ctx, counters, err);
 *     ...
 *     cbx_io_counters_get(counters, CBX_IO_HDF5, CBX_IO_IN, &s);      // s.count arrays in
 *     s.time_ns, s.mean_ms each
 *
 * Nothing is counted, and no clock is read, by a context that has not been asked.  The functions of
 * calibrax/array/io are the only way of arrays in and out of the library, and all of them count by
 * one function.
 *
 * Threads: one counter may serve many contexts in as many threads.  Each number is exact; while
 * others count, the numbers of one cbx_io_stats may be a call apart. */
#ifndef CALIBRAX_ARRAY_IO_COUNTERS_H
#define CALIBRAX_ARRAY_IO_COUNTERS_H

#include <stdint.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_io_counters cbx_io_counters;

typedef enum cbx_io_format {
    CBX_IO_NPY,
    CBX_IO_NPZ,
    CBX_IO_DLPACK,
    CBX_IO_HDF5,  /* arrays and slabs of datasets, and attributes that are arrays */
    CBX_IO_IMAGE, /* pixels; finding their colours is not part of it */
    CBX_IO_FORMAT_COUNT
} cbx_io_format;

typedef enum cbx_io_direction { CBX_IO_IN, CBX_IO_OUT } cbx_io_direction;

typedef struct cbx_io_stats {
    uint64_t count;    /* arrays */
    uint64_t bytes;    /* of their elements, borrowed ones included */
    uint64_t time_ns;  /* of the calls, from entry to return, failed ones included */
    uint64_t failures; /* calls that failed */
    double mean_ms;    /* time_ns over count; 0 if nothing was counted */
} cbx_io_stats;

/** All zero.  The caller frees it; may outlive ctx.  @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_io_counters_create(cbx_ctx *ctx, cbx_io_counters **out, cbx_err *err);
/** Drops the caller's reference; contexts that count by it keep theirs.  NULL is fine. */
CBX_API void cbx_io_counters_free(cbx_io_counters *c);
/** From now on ctx counts by c, in place of what it had; NULL: it counts no more.  @return CBX_OK;
 * CBX_ENOMEM */
CBX_API cbx_status cbx_ctx_count_io(cbx_ctx *ctx, cbx_io_counters *c, cbx_err *err);
/** What was counted so far; all zero for an unknown format or direction. */
CBX_API void cbx_io_counters_get(const cbx_io_counters *c, cbx_io_format format, cbx_io_direction direction,
                                 cbx_io_stats *out);
/** Sets everything to zero. */
CBX_API void cbx_io_counters_reset(cbx_io_counters *c);
/** "npy", "npz", "dlpack", "hdf5", "image"; "?" for a number outside the list. */
CBX_API const char *cbx_io_format_name(cbx_io_format format);

CBX_END_DECLS
#endif
