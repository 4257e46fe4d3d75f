/*
 * Units by their words.
 */
#include "calibrax/exporters/units.h"

#include <math.h>
#include <string.h>

static const cbx__unit units[] = {
    { "s", CBX__UNIT_TIME, 1, 1 },
    { "sec", CBX__UNIT_TIME, 1, 1 },
    { "second", CBX__UNIT_TIME, 1, 1 },
    { "seconds", CBX__UNIT_TIME, 1, 1 },
    { "ms", CBX__UNIT_TIME, 1, 1e3 },
    { "us", CBX__UNIT_TIME, 1, 1e6 },
    { "\302\265s", CBX__UNIT_TIME, 1, 1e6 },
    { "\316\274s", CBX__UNIT_TIME, 1, 1e6 },
    { "ns", CBX__UNIT_TIME, 1, 1e9 },
    { "min", CBX__UNIT_TIME, 60, 1 },
    { "B", CBX__UNIT_SIZE, 1, 1 },
    { "bytes", CBX__UNIT_SIZE, 1, 1 },
    { "kB", CBX__UNIT_SIZE, 1e3, 1 },
    { "KB", CBX__UNIT_SIZE, 1e3, 1 },
    { "MB", CBX__UNIT_SIZE, 1e6, 1 },
    { "GB", CBX__UNIT_SIZE, 1e9, 1 },
    { "KiB", CBX__UNIT_SIZE, 1024, 1 },
    { "MiB", CBX__UNIT_SIZE, 1048576, 1 },
    { "GiB", CBX__UNIT_SIZE, 1073741824, 1 },
};

const cbx__unit *cbx__unit_find(const char *word)
{
    static const cbx__unit other = { "", CBX__UNIT_OTHER, 1, 1 };

    for (size_t i = 0; i < CBX_LEN(units); i++)
        if (!strcmp(units[i].word, word)) return &units[i];
    return &other;
}

const cbx__unit *cbx__unit_of(const cbx_run *run, const char *metric)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(run, metric);

    return cbx__unit_find(def ? def->unit : "");
}

double cbx__unscaled(double v, double scale)
{
    double near = v / scale, up = near, down = near;

    for (int i = 0; i < 3; i++, up = nextafter(up, INFINITY), down = nextafter(down, -INFINITY)) {
        if (up * scale == v) return up;
        if (down * scale == v) return down;
    }
    return near;
}

bool cbx__all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return false;
    return true;
}
