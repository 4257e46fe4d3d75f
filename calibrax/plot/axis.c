/* Axes: ranges, ticks, labels. */
#include "calibrax/plot/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/plot/scene.h"

static bool fit_linear(cbx__axis *a, double min, double max)
{
    double span = max - min, size = fmax(fabs(min), fabs(max)), margin;

    if (!isfinite(span) || size > 1e300) return false;
    if (span <= size * 1e-12) span = size > 0 ? size * 0.2 : 1;
    span = fmax(span, 1e-290); /* powers of ten below are subnormal */
    margin = 0.05 * span;
    a->low = min == 0 ? 0 : min - margin;
    a->high = max == 0 && min < 0 ? 0 : max + margin;
    if (min == max) a->low = min - span / 2, a->high = max + span / 2;
    if (min >= 0 && a->low < 0) a->low = 0; /* what is never negative is not shown below 0 */
    return true;
}

bool cbx__axis_fit(cbx__axis *a, cbx_plot_scale scale, double min, double max)
{
    *a = (cbx__axis){ .scale = scale };
    if (scale == CBX_PLOT_DATES && max - min < 600) min -= 300, max += 300;
    if (scale == CBX_PLOT_LINEAR || scale == CBX_PLOT_DATES) return fit_linear(a, min, max);
    if (scale == CBX_PLOT_CATEGORIES) {
        a->low = -0.5;
        a->high = max + 0.5;
        return true;
    }
    a->low = log10(min);
    a->high = log10(max);
    double margin = fmax(0.05 * (a->high - a->low), (1.0 / 3 - (a->high - a->low)) / 2);
    a->low -= margin;
    a->high += margin;
    return true;
}

double cbx__axis_place(const cbx__axis *a, double v)
{
    double u = a->scale == CBX_PLOT_LOG ? log10(v) : v;

    return a->from + (a->to - a->from) * ((u - a->low) / (a->high - a->low));
}

/* --- units --- */

/* "10^-4": the fonts of PDF and PNG have no raised minus. */
static size_t put_power(char *buf, size_t size, int exponent) { return (size_t)snprintf(buf, size, "10^%d", exponent); }

/* Units whose prefixes people read, with what they are of the one without a prefix. */
static const struct {
    const char *name, *base;
    int exponent;
} units[] = { { "s", "s", 0 },   { "ms", "s", -3 },         { "us", "s", -6 },   { "\xC2\xB5s", "s", -6 },
              { "ns", "s", -9 }, { "flop/s", "flop/s", 0 }, { "B/s", "B/s", 0 }, { "Hz", "Hz", 0 } };
static const char *const prefixes[] = { "p", "n", "\xC2\xB5", "m", "", "k", "M", "G", "T", "P" }; /* 10^-12 ... */

/* Of a label that is a unit or ends with one in brackets; CBX_LEN(units): none. */
static size_t unit_of(const char *label, size_t *at)
{
    size_t len = label ? strlen(label) : 0, i = 0;
    const char *open = label ? strrchr(label, '[') : NULL, *name = open && label[len - 1] == ']' ? open + 1 : label;
    size_t n = name == label ? len : len - 1 - (size_t)(name - label);

    *at = name ? (size_t)(name - label) : 0;
    while (i < CBX_LEN(units) && !(n && strlen(units[i].name) == n && !strncmp(units[i].name, name, n))) i++;
    return i;
}

void cbx__axis_unit(cbx__axis *a, const char *label)
{
    size_t at;
    a->unit = a->scale == CBX_PLOT_LINEAR || a->scale == CBX_PLOT_LOG ? unit_of(label, &at) : CBX_LEN(units);
    a->has_unit = a->unit < CBX_LEN(units);
}

/* The exponent, a multiple of 3, under which a number of the axis' unit is read: seconds have no
 * kilo. */
static int read_exponent(const cbx__axis *a, int exponent)
{
    int of_base = exponent + units[a->unit].exponent, three = 3 * (int)floor(of_base / 3.0);

    three = three < -12 ? -12 : three > 15 ? 15 : three;
    if (!strcmp(units[a->unit].base, "s") && three > 0) three = 0;
    return three - units[a->unit].exponent;
}

static const char *prefix_of(const cbx__axis *a, int exponent)
{
    return prefixes[(exponent + units[a->unit].exponent) / 3 + 4];
}

const char *cbx__axis_title(const cbx__axis *a, const char *label, cbx_arena *arena)
{
    char factor[CBX_FORMAT_SIZE] = "";
    size_t at;

    if (!label) label = "";
    if (!a->has_unit) {
        if (a->exponent) {
            strcpy(factor, " \xC3\x97 ");
            put_power(factor + strlen(factor), sizeof factor - strlen(factor), a->exponent);
        }
        return cbx_arena_printf(arena, "%s%s", label, factor);
    }
    unit_of(label, &at);
    if (a->scale == CBX_PLOT_LOG) { /* its labels have units of their own */
        int len = at ? (int)at - 1 : (int)strlen(label);
        while (len > 0 && label[len - 1] == ' ') len--;
        return cbx_arena_printf(arena, "%.*s", len, label);
    }
    return cbx_arena_printf(arena, "%.*s%s%s%s", (int)at, label, prefix_of(a, a->exponent), units[a->unit].base,
                            at ? "]" : "");
}

/* --- ticks --- */

static void add_tick(cbx__axis *a, double v)
{
    if (a->n < CBX__TICKS) a->at[a->n++] = v;
}

/* Smallest of 1, 2, 5, 10 times a power of ten that is not below v. */
static double nice_step(double v)
{
    static const double steps[] = { 1, 2, 5, 10 };
    double decade = pow(10, floor(log10(v)));
    size_t i = 0;

    while (i < 3 && steps[i] * decade < v * (1 - 1e-9)) i++;
    return steps[i] * decade;
}

static void linear_ticks(cbx__axis *a, double low, double high, double gap)
{
    double max = fmax(2, floor(fabs(a->to - a->from) / gap));
    double step = nice_step((high - low) / max), size = fmax(fabs(low), fabs(high));
    int exponent = (int)floor(log10(size));

    a->n = 0;
    if (a->has_unit)
        a->exponent = read_exponent(a, exponent);
    else if (exponent >= 5 || exponent <= -4)
        a->exponent = 3 * (int)floor(exponent / 3.0);
    a->decimals = (int)fmin(9, fmax(0, ceil(a->exponent - log10(step) - 1e-9)));
    for (double k = ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && a->n < CBX__TICKS; k++)
        add_tick(a, k * step);
}

static void log_ticks(cbx__axis *a, double gap)
{
    static const double fine[] = { 1, 2, 5 };
    double decade = fabs(a->to - a->from) / (a->high - a->low), stride = fmax(1, ceil(gap / decade));
    size_t steps = decade * log10(2) >= gap ? 3 : 1;

    for (double e = floor(a->low); e <= a->high; e++)
        for (size_t i = 0; i < steps && fmod(e, stride) == 0; i++) {
            double u = e + log10(fine[i]);
            if (u >= a->low && u <= a->high && e > -308 && e < 308) add_tick(a, fine[i] * pow(10, e));
        }
    if (a->n >= 2 || a->low < -300 || a->high > 300) return;
    linear_ticks(a, pow(10, a->low), pow(10, a->high), gap * 1.5);
    a->exponent = 0;
}

void cbx__axis_lay(cbx__axis *a, double from, double to, double gap)
{
    a->from = from;
    a->to = to;
    a->n = 0;
    a->exponent = a->decimals = 0;
    if (a->scale == CBX_PLOT_LOG)
        log_ticks(a, gap);
    else if (a->scale == CBX_PLOT_LINEAR)
        linear_ticks(a, a->low, a->high, gap);
    else if (a->scale == CBX_PLOT_DATES) {
        /* Multiples of minutes or hours that divide a day, else of 1, 2, 5, 10 ... days. */
        static const double minutes[] = { 1, 5, 10, 30, 60, 180, 360, 720, 1440 };
        double wanted = (a->high - a->low) / fmax(1, floor(fabs(a->to - a->from) / fmax(gap, 90))), step = 86400;
        size_t i = 0;
        while (i < CBX_LEN(minutes) && 60 * minutes[i] < wanted) i++;
        step *= i < CBX_LEN(minutes) ? minutes[i] / 1440 : nice_step(fmax(1, wanted / 86400));
        a->decimals = step < 86400; /* of a label: with the time of day */
        for (double k = ceil(a->low / step); k * step <= a->high; k++) add_tick(a, k * step);
    }
}

/* --- labels --- */

static const char *log_label(double v, char buf[CBX_FORMAT_SIZE])
{
    int exponent = (int)floor(log10(v) + 1e-9);
    double factor = v / pow(10, exponent);
    size_t len = 0;

    if (exponent > -4 && exponent < 5) return cbx__fixed(v, exponent < 0 ? 3 - exponent : 3, true, buf);
    if (fabs(factor - 1) > 1e-6) {
        cbx__fixed(factor, 2, true, buf);
        len = strlen(buf);
        len += (size_t)snprintf(buf + len, CBX_FORMAT_SIZE - len, "\xC2\xB7");
    }
    put_power(buf + len, CBX_FORMAT_SIZE - len, exponent);
    return buf;
}

const char *cbx__axis_label(const cbx__axis *a, double v, char buf[CBX_FORMAT_SIZE])
{
    if (a->scale == CBX_PLOT_LOG && a->has_unit) {
        int exponent = read_exponent(a, (int)floor(log10(v) + 1e-9));
        size_t len = strlen(cbx__fixed(v / pow(10, exponent), 3, true, buf));
        snprintf(buf + len, CBX_FORMAT_SIZE - len, " %s%s", prefix_of(a, exponent), units[a->unit].base);
        return buf;
    }
    if (a->scale == CBX_PLOT_LOG) return log_label(v, buf);
    if (a->scale == CBX_PLOT_DATES) { /* "2026-01-31" or "01-31 14:30" */
        char iso[CBX_TIME_SIZE];
        cbx_time_format_iso((int64_t)(fmin(fmax(v, -6e10), 2.5e11) * 1e6), iso); /* years 1 to 9999 */
        snprintf(buf, CBX_FORMAT_SIZE, a->decimals ? "%.5s %.5s" : "%.5s%.5s", iso + (a->decimals ? 5 : 0),
                 iso + (a->decimals ? 11 : 5));
        return buf;
    }
    return cbx__fixed(v / pow(10, a->exponent), a->decimals, false, buf);
}

const char *cbx__short_number(double v, char buf[CBX_FORMAT_SIZE])
{
    int exponent = v == 0 ? 0 : (int)floor(log10(fabs(v)) + 1e-12);

    if (exponent >= -3 && exponent < 6) return cbx__fixed(v, exponent < 2 ? 2 - exponent : 0, true, buf);
    if (exponent < -300) return cbx_format_double(v, buf); /* 10^exponent would be subnormal */
    int len = (int)strlen(cbx__fixed(v / pow(10, exponent), 2, true, buf));
    snprintf(buf + len, (size_t)(CBX_FORMAT_SIZE - len), "e%d", exponent);
    return buf;
}
