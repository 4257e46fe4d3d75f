/* Modes by gaps.  Launches of one program fall into a few tight groups (a penalty that is on or off
 * for the whole process); a density estimate smears a group of two among thirty, a gap does not.
 * The scale comes from Qn, which half of the values in other groups leave small. */
#include <math.h>
#include <stdbool.h>

#include "calibrax/statistics/sample.h"
#include "calibrax/statistics/series.h"
#include "calibrax/statistics/spread.h"

#define GAP        3.0
#define GAP_OF_FEW 6.0
enum { FEW = 3 };

static double gap_at(const double *place, size_t i) { return place[i] - place[i - 1]; }

/* Whether values before `at` and from it on are apart: a few of them need a wider gap. */
static bool splits(const double *place, size_t n, size_t start, size_t at, double scale)
{
    bool few = at - start < FEW || n - at < FEW;
    return gap_at(place, at) > (few ? GAP_OF_FEW : GAP) * scale;
}

static cbx_mode mode_of(const double *sorted, size_t start, size_t end, size_t n)
{
    cbx_mode m = { cbx_stat_quantile_sorted(sorted + start, end - start, 0.5), sorted[start], sorted[end - 1],
                   end - start, 0 };
    m.share = (double)m.count / (double)n;
    return m;
}

cbx_status cbx_stat_modes(cbx_ctx *ctx, const double *x, size_t n, double resolution, cbx_mode *modes, size_t capacity,
                          size_t *count, cbx_err *err)
{
    double *sorted = NULL, *place = NULL, scale = 0;
    size_t found = 0, start = 0;
    cbx_status st = CBX_OK;

    if (!(resolution >= 0 && isfinite(resolution)))
        st = cbx_fail(err, CBX_EINVAL, "'resolution' must be at least 0, got %g", resolution);
    if (!st) st = cbx__sorted_copy(ctx, x, n, 1, &sorted, err);
    if (!st) st = cbx__doubles(ctx, n, &place, err);
    if (st) goto done;
    for (size_t i = 0; i < n; i++) place[i] = sorted[0] > 0 ? log(sorted[i]) : sorted[i];
    st = cbx_stat_qn(ctx, place, n, &scale, err);
    if (st) goto done;
    scale = fmax(scale, resolution);
    for (size_t i = 1; i <= n; i++) {
        if (i < n && !splits(place, n, start, i, scale)) continue;
        if (found < capacity) modes[found] = mode_of(sorted, start, i, n);
        found++;
        start = i;
    }
    *count = found;
done:
    cbx__doubles_free(ctx, sorted, n);
    cbx__doubles_free(ctx, place, n);
    return st;
}
