/*
 * Spikes: one value, or two, that stand out from all around them and are gone again.  They are no levels, but they draw the mean of a short
 * segment away from the others' and so pass for one; the kind is common in series of performance tests, where something else ran meanwhile.
 */
#include <math.h>

#include "calibrax/analysis/changepoint_parts.h"

#define BESIDE 3 /* values on each side that say what is usual there */

static double median_of_3(double a, double b, double c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }

/* What is usual in y[a] .. y[b-1], one to three values. */
static double usual(const double *y, size_t a, size_t b)
{
    if (b - a == 1) return y[a];
    return b - a == 2 ? 0.5 * (y[a] + y[a + 1]) : median_of_3(y[a], y[a + 1], y[a + 2]);
}

/* Whether all of the len values from i on are more than the limit above (sign 1) or below (-1) their neighbours and what is usual. */
static bool stands_out(const double *y, size_t n, size_t i, size_t len, double sign, double limit, double *level)
{
    size_t a = i >= BESIDE ? i - BESIDE : 0, b = i + len + BESIDE < n ? i + len + BESIDE : n;
    double before = usual(y, a, i), after = usual(y, i + len, b), most;

    most = fmax(fmax(sign * before, sign * after), fmax(sign * y[i - 1], sign * y[i + len]));
    for (size_t k = i; k < i + len; k++)
        if (!(sign * y[k] > most + limit)) return false;
    *level = 0.5 * (before + after);
    return true;
}

size_t cbx__spikes_flatten(double *y, size_t n, size_t longest, double limit)
{
    double level = 0;
    size_t count = 0;

    for (size_t i = 1; i + 1 < n; i++) {
        for (size_t len = 1; len <= longest && i + len < n; len++) {
            if (!stands_out(y, n, i, len, 1, limit, &level) && !stands_out(y, n, i, len, -1, limit, &level)) continue;
            for (size_t k = i; k < i + len; k++) y[k] = level;
            count += len;
            break;
        }
    }
    return count;
}
