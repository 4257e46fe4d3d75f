/** Images: arrays as PNG by colour map, for looking; and PNG files as arrays.
 *
 * One thread uses a context at a time. */
#ifndef CALIBRAX_ARRAY_IO_IMAGE_H
#define CALIBRAX_ARRAY_IO_IMAGE_H

#include <math.h>

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

/** Even steps of the value look even, also in gray and (cividis) to colour-blind eyes; CBX_GRAY
 * goes from black to white. */
typedef enum cbx_colormap { CBX_VIRIDIS, CBX_MAGMA, CBX_CIVIDIS, CBX_GRAY } cbx_colormap;

typedef struct cbx_image_opts {
    uint32_t struct_size; /* sizeof(cbx_image_opts) of the header compiled with */
    cbx_colormap map;
    bool log; /* colours follow the logarithm of the value; 0 and below get the lowest colour */
    /* The values of the lowest and the highest colour.  NaN: taken from the data, by the percentile
     * beside it of the finite values (with log: those above 0); 0 and 100 are the extremes. */
    double low, high;
    double low_percent, high_percent;
    uint8_t missing[3]; /* red, green, blue of NaN */
} cbx_image_opts;

#define CBX_IMAGE_OPTS_INIT                                                                                            \
    CBX_OPTS(cbx_image_opts, CBX_VIRIDIS, false, (double)NAN, (double)NAN, 0, 100, { 255, 255, 255 })

/** Colours of a matrix: value v becomes entry min(floor(256 t), 255) of the map, t = (v - low) /
 * (high - low) cut to 0..1 (with log: of their logarithms; computed in float64).  Where low equals
 * high every value has t = 0; infinities have the colours of the ends.
 * @param a     (rows, columns) of any real dtype, any strides; row 0 is the top
 * @param opts  NULL: all defaults (viridis from the least to the greatest finite value, NaN white)
 * @param out   uint8 (rows, columns, 3), red, green, blue
 * @return CBX_OK; CBX_ESHAPE (no matrix); CBX_EDTYPE (complex); CBX_EINVAL (abstract or failed
 *         array; low above high, percentiles outside 0..100 or out of order, no such map,
 *         struct_size); CBX_EDOM (log with a limit of 0 or below); CBX_ENOMEM */
CBX_API cbx_status cbx_image_colors(cbx_ctx *ctx, const cbx_array *a, const cbx_image_opts *opts, cbx_array **out,
                                    cbx_err *err);
/** cbx_image_colors, and its result as a PNG file.  @return as both */
CBX_API cbx_status cbx_image_write(cbx_ctx *ctx, const char *path, const cbx_array *a, const cbx_image_opts *opts,
                                   cbx_err *err);

/** Replaces a file by a PNG, as one step.
 * @param a  uint8 or uint16, (rows, columns) gray or (rows, columns, n): n 1 gray, 2 gray and
 *   alpha, 3 red, green, blue, 4 and alpha
 * @return CBX_OK; CBX_ESHAPE (another rank, n or no pixels); CBX_EDTYPE; CBX_EINVAL (abstract or
 *   failed array); CBX_ENOMEM; the usual of file.h */
CBX_API cbx_status cbx_png_write(cbx_ctx *ctx, const char *path, const cbx_array *a, cbx_err *err);
/** Reads a PNG of any kind: fewer than 8 bits become 8, palettes become red, green, blue,
 * transparent colours an alpha; values are not corrected for gamma.
 * @param max_bytes  refuse a file, or pixels, of more; 0: 1 GiB
 * @param out        as cbx_png_write takes it; (rows, columns) if there is one channel
 * @return CBX_OK; CBX_EFORMAT (no PNG, cut short, wrong checksum); CBX_EOVERFLOW; CBX_ENOMEM; the
 *   usual of file.h */
CBX_API cbx_status cbx_png_read(cbx_ctx *ctx, const char *path, uint64_t max_bytes, cbx_array **out, cbx_err *err);
/** The same of len bytes at data. */
CBX_API cbx_status cbx_png_decode(cbx_ctx *ctx, const void *data, size_t len, uint64_t max_bytes, cbx_array **out,
                                  cbx_err *err);

CBX_END_DECLS
#endif
