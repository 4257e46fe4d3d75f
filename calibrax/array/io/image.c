/* Values become colours: limits from the data or the caller, then a table. */
#include "calibrax/array/io/image.h"

#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/colormaps.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/scratch.h"
#include "calibrax/base/options.h"

#define COLORS 256

static const uint32_t *const tables[] = {
    [CBX_VIRIDIS] = viridis_colors,
    [CBX_MAGMA] = magma_colors,
    [CBX_CIVIDIS] = cividis_colors,
    [CBX_GRAY] = NULL, /* entry i is i */
};

static cbx_status check_opts(const cbx_image_opts *o, cbx_err *err)
{
    if ((size_t)o->map >= CBX_LEN(tables)) return cbx_fail(err, CBX_EINVAL, "unknown colour map: %d", (int)o->map);
    if (o->low > o->high)
        return cbx_fail(err, CBX_EINVAL, "the lower limit of the colours, %g, is above the upper limit, %g", o->low,
                        o->high);
    if (!(o->low_percent >= 0 && o->low_percent <= o->high_percent && o->high_percent <= 100))
        return cbx_fail(err, CBX_EINVAL, "the percentiles %g and %g of an image must ascend within 0..100",
                        o->low_percent, o->high_percent);
    if (o->log && (o->low <= 0 || o->high <= 0))
        return cbx_fail(err, CBX_EDOM, "logarithmic colours need limits above 0, not %g and %g", o->low, o->high);
    return CBX_OK;
}

static cbx_status check_matrix(const cbx_array *a, cbx_err *err)
{
    cbx_status st = cbx__boundary_check_data(a, "draw", err);

    if (st) return st;
    if (cbx_array_ndim(a) != 2)
        return cbx_fail(err, CBX_ESHAPE, "an image needs a matrix, not %s", CBX__DESC_TEXT(&a->desc));
    if (cbx_array_dtype(a) == CBX_C64 || cbx_array_dtype(a) == CBX_C128)
        return cbx_fail(err, CBX_EDTYPE, "an image needs real numbers, not %s: use its absolute value",
                        CBX__DESC_TEXT(&a->desc));
    return CBX_OK;
}

/* --- limits --- */

static bool counts(double v, bool log) { return isfinite(v) && (!log || v > 0); }

static void extremes(const double *v, size_t n, bool log, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!counts(v[i], log)) continue;
        if (v[i] < *low) *low = v[i];
        if (v[i] > *high) *high = v[i];
    }
    if (*low > *high) *low = *high = log ? 1 : 0; /* nothing counts */
}

/* Percentiles of the values that count, which there are n of. */
static cbx_status percentiles(cbx_ctx *ctx, const double *v, size_t n, size_t used, const cbx_image_opts *o,
                              double *low, double *high, cbx_err *err)
{
    cbx_array_desc d = { CBX_F64, 1, { used } };
    CBX_OWNED(cbx_array) *kept = NULL;
    const cbx_array *p[2];
    cbx_scope scope;
    cbx_status st = cbx_array_create(ctx, &d, &kept, err);

    if (st) return st;
    double *to = cbx_array_data_mut(kept);
    for (size_t i = 0; i < n; i++)
        if (counts(v[i], o->log)) *to++ = v[i];
    cbx_scope_open(ctx, &scope);
    p[0] = cbx_percentile(ctx, kept, o->low_percent, NULL);
    p[1] = cbx_percentile(ctx, kept, o->high_percent, NULL);
    if (!cbx_array_is_failed(p[0]) && !cbx_array_is_failed(p[1])) {
        *low = *(const double *)cbx_array_data(p[0]);
        *high = *(const double *)cbx_array_data(p[1]);
    }
    return cbx_scope_close(&scope, err);
}

/* What is not given is found; a given limit beyond the found one drags it along. */
static cbx_status find_limits(cbx_ctx *ctx, const double *v, size_t n, const cbx_image_opts *o, double *low,
                              double *high, cbx_err *err)
{
    double found[2];
    size_t used = 0;
    cbx_status st = CBX_OK;

    extremes(v, n, o->log, &found[0], &found[1]);
    for (size_t i = 0; i < n; i++) used += counts(v[i], o->log);
    if (used > 0 && (o->low_percent > 0 || o->high_percent < 100) && (isnan(o->low) || isnan(o->high)))
        st = percentiles(ctx, v, n, used, o, &found[0], &found[1], err);
    if (st) return st;
    *low = isnan(o->low) ? found[0] : o->low;
    *high = isnan(o->high) ? found[1] : o->high;
    if (*low > *high && isnan(o->low)) *low = *high;
    if (*low > *high) *high = *low;
    return CBX_OK;
}

/* --- colours --- */

static size_t entry_of(double v, double low, double high, bool log)
{
    if (v <= low || low == high) return 0;
    if (v >= high) return COLORS - 1;
    double t = log ? (log10(v) - log10(low)) / (log10(high) - log10(low)) : (v / 2 - low / 2) / (high / 2 - low / 2);
    t *= COLORS; /* halves: the width of the limits may be beyond the largest double */
    return t >= COLORS - 1 ? COLORS - 1 : t > 0 ? (size_t)t : 0;
}

static void paint(const double *v, size_t n, const cbx_image_opts *o, double low, double high, uint8_t *rgb)
{
    const uint32_t *table = tables[o->map];

    for (size_t i = 0; i < n; i++, rgb += 3) {
        if (isnan(v[i])) {
            memcpy(rgb, o->missing, 3);
            continue;
        }
        size_t e = entry_of(v[i], low, high, o->log);
        uint32_t color = table ? table[e] : (uint32_t)(e * 0x010101);
        rgb[0] = (uint8_t)(color >> 16);
        rgb[1] = (uint8_t)(color >> 8);
        rgb[2] = (uint8_t)color;
    }
}

/* As float64, dense. */
static cbx_status to_doubles(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    cbx_scope scope;

    cbx_scope_open(ctx, &scope);
    cbx_array *v = cbx_copy(ctx, cbx_astype(ctx, a, CBX_F64));
    cbx_status st = cbx_scope_close_keep(&scope, 1, &v, err);
    if (!st) *out = v;
    return st;
}

cbx_status cbx_image_colors(cbx_ctx *ctx, const cbx_array *a, const cbx_image_opts *opts, cbx_array **out, cbx_err *err)
{
    cbx_image_opts o = CBX_IMAGE_OPTS_INIT;
    CBX_OWNED(cbx_array) *v = NULL;
    double low = 0, high = 0;

    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_image_opts", err);
    if (!st) st = check_opts(&o, err);
    if (!st) st = check_matrix(a, err);
    if (!st) st = to_doubles(ctx, a, &v, err);
    if (st) return st;
    cbx_array_desc d = { CBX_U8, 3, { cbx_array_dim(a, 0), cbx_array_dim(a, 1), 3 } };
    st = find_limits(ctx, cbx_array_data(v), cbx_array_count(v), &o, &low, &high, err);
    if (!st) st = cbx_array_create(ctx, &d, out, err);
    if (!st) paint(cbx_array_data(v), cbx_array_count(v), &o, low, high, cbx_array_data_mut(*out));
    return st;
}

cbx_status cbx_image_write(cbx_ctx *ctx, const char *path, const cbx_array *a, const cbx_image_opts *opts, cbx_err *err)
{
    CBX_OWNED(cbx_array) *rgb = NULL;
    const cbx_status st = cbx_image_colors(ctx, a, opts, &rgb, err);

    return st ? st : cbx_png_write(ctx, path, rgb, err);
}
