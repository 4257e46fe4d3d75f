/*
 * draw_plots FOLDER: one plot of each kind, as SVG, PDF and PNG, for test_plot.py to measure and
 * for eyes to see.
 *
 * Exit status 77 if there is no cairo here: then only the SVGs were written.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/plot/charts.h"

static const char *const frameworks[] = { "numpy", "jax <jit> & \"co\"", "native", "a rather long framework name",
                                          "torch" };

static cbx_status bars(cbx_plot *p, cbx_err *err)
{
    const double cold[] = { 4, 2, 1, NAN, 3 }, warm[] = { 3.5, 1, 0.5, 2, 0 };
    const double lower[] = { 3.6, 1.8, 0.9, NAN, 2.5 }, upper[] = { 4.5, 2.1, 1.2, NAN, 3.3 };
    const cbx_plot_series a = { "cold", NULL, cold, lower, upper, 5, 0, NULL, NULL },
                          b = { "warm", NULL, warm, NULL, NULL, 5, 0, NULL, NULL };
    cbx_status st = cbx_plot_categories(p, frameworks, 5, err);

    if (!st) st = cbx_plot_bars(p, &a, err);
    return st ? st : cbx_plot_bars(p, &b, err);
}

static cbx_status lines(cbx_plot *p, cbx_err *err)
{
    double x[12], y[12], lower[12], upper[12];
    cbx_status st = CBX_OK;

    for (int k = 0; !st && k < 11; k++) {
        char label[32];
        for (int i = 0; i < 12; i++) {
            x[i] = i;
            y[i] = 1e-6 * (10 + k * 3 + 2 * sin(i * 0.7 + k));
            lower[i] = y[i] - 0.6e-6;
            upper[i] = y[i] + 0.9e-6;
        }
        if (k == 0) y[5] = NAN;
        snprintf(label, sizeof label, "series %d", k);
        const cbx_plot_series s = { label,
                                    x,
                                    y,
                                    k < 2 ? lower : NULL,
                                    k < 2 ? upper : NULL,
                                    12,
                                    CBX_PLOT_JOIN | CBX_PLOT_MARK | (k ? CBX_PLOT_WHISK : CBX_PLOT_BAND),
                                    NULL,
                                    NULL };
        st = cbx_plot_line(p, &s, err);
    }
    return st;
}

static cbx_status boxes(cbx_plot *p, cbx_err *err)
{
    const double wild[] = { 9.5, 0.2 };
    const cbx_plot_box box[] = { { 1, 2, 3, 4, 6, wild, 2 }, { 2, 3, 3.5, 5, 8, NULL, 0 } };
    cbx_status st = cbx_plot_categories(p, frameworks, 2, err);

    for (size_t i = 0; !st && i < 2; i++) st = cbx_plot_boxes(p, i, &box[i], err);
    return st;
}

static cbx_status violins(cbx_plot *p, cbx_err *err)
{
    double a[200], b[200];
    const double flat[] = { 2, 2, 2 };
    cbx_status st = cbx_plot_categories(p, frameworks, 3, err);

    for (int i = 0; i < 200; i++) {
        a[i] = 3 + sin(i) + 0.3 * cos(i * 7.3);
        b[i] = (i % 2 ? 2 : 5) + 0.4 * sin(i * 1.7);
    }
    if (!st) st = cbx_plot_violin(p, 0, a, 200, err);
    if (!st) st = cbx_plot_violin(p, 1, b, 200, err);
    return st ? st : cbx_plot_violin(p, 2, flat, 3, err);
}

static cbx_status roofline(cbx_plot *p, cbx_err *err)
{
    const cbx_plot_roof peaks[] = { { "FMA, float32", 1e12 }, { "no FMA", 5e11 } };
    const cbx_plot_roof bandwidths[] = { { "L1", 1e12 }, { "L2", 4e11 }, { "DRAM", 4e10 } };
    const cbx_plot_kernel kernels[] = { { "triad", 0.083, 3.1e9, 2.9e9, 3.3e9 },
                                        { "stencil", 0.5, 1.8e10, NAN, NAN },
                                        { "matmul", 42, 7e11, 6.5e11, 7.2e11 } };

    return cbx_plot_roofline(p, peaks, 2, bandwidths, 3, kernels, 3, err);
}

static cbx_status pareto(cbx_plot *p, cbx_err *err)
{
    const double x[] = { 1, 2, 4, 3, 5, 2.5 }, y[] = { 8, 4, 1, 5, 3, 7 };
    const bool on[] = { true, true, true, false, false, false };
    const char *const names[] = { "tiny", "small", "exact", "c", "d", "e" };

    return cbx_plot_pareto(p, x, y, on, names, 6, false, err);
}

static cbx_status heat(cbx_plot *p, cbx_err *err)
{
    const double v[] = { 1, 2, 3, 4, 5, NAN, 0.000012, 8, 12.3456 };
    const char *const rows[] = { "float16", "float32", "float64" }, *const columns[] = { "numpy", "jax", "native" };

    const double lower[] = { 0.9, 1.9, NAN, 3.5, 4.5, 5, 0.00001, 7.5, 12 },
                 upper[] = { 1.1, 2.1, 4, 4.5, 5.5, 7, 0.000014, 8.5, 13 };

    return cbx_plot_heat(p, v, lower, upper, rows, 3, columns, 3, err);
}

static cbx_status scaling(cbx_plot *p, cbx_err *err)
{
    const double x[] = { 1, 2, 4, 8, 16, 32 }, y[] = { 100, 51, 27, 15, 9.5, 8.2 }, z[] = { 160, 80, 40, 20, 10, 5 };
    const cbx_plot_series a = { "measured", x, y, NULL, NULL, 6, 0, NULL, NULL },
                          b = { "other", x, z, NULL, NULL, 6, 0, NULL, NULL };
    cbx_status st = cbx_plot_line(p, &a, err);

    return st ? st : cbx_plot_line(p, &b, err);
}

static const struct {
    const char *name, *title, *x_label, *y_label;
    cbx_plot_scale x, y;
    cbx_plot_theme theme;
    cbx_status (*add)(cbx_plot *, cbx_err *);
} plots[] = {
    { "bars", "Time of a call <median> & interval", NULL, "time [ms]", CBX_PLOT_CATEGORIES, CBX_PLOT_LINEAR,
      CBX_PLOT_LIGHT, bars },
    { "lines", "Eleven series", "size", "time [s]", CBX_PLOT_LINEAR, CBX_PLOT_LINEAR, CBX_PLOT_LIGHT, lines },
    { "lines_dark", "Eleven series", "size", "time [s]", CBX_PLOT_LINEAR, CBX_PLOT_LINEAR, CBX_PLOT_DARK, lines },
    { "boxes", "Boxes", NULL, "time [ms]", CBX_PLOT_CATEGORIES, CBX_PLOT_LINEAR, CBX_PLOT_LIGHT, boxes },
    { "violins", "Violins", NULL, "time [ms]", CBX_PLOT_CATEGORIES, CBX_PLOT_LINEAR, CBX_PLOT_LIGHT, violins },
    { "roofline", "Roofline", "intensity [flop/byte]", "speed [flop/s]", CBX_PLOT_LOG, CBX_PLOT_LOG, CBX_PLOT_LIGHT,
      roofline },
    { "pareto", "Pareto front", "time [ms]", "error", CBX_PLOT_LINEAR, CBX_PLOT_LINEAR, CBX_PLOT_LIGHT, pareto },
    { "heat", "Heat map", "framework", "type", CBX_PLOT_CATEGORIES, CBX_PLOT_CATEGORIES, CBX_PLOT_LIGHT, heat },
    { "scaling", "Strong scaling", "cores", "time [s]", CBX_PLOT_LOG, CBX_PLOT_LOG, CBX_PLOT_LIGHT, scaling },
};

static cbx_status save(cbx_ctx *ctx, cbx_plot *p, const char *folder, const char *name, cbx_plot_format f, cbx_err *err)
{
    char path[512];
    cbx_text text;
    cbx_status st;

    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, cbx_plot_format_name(f));
    st = cbx_plot_draw(p, f, &text, err);
    if (!st) st = cbx_file_write_atomic(ctx, path, text.data, text.len, err);
    cbx_text_clear(&text);
    return st;
}

static cbx_status draw_all(cbx_ctx *ctx, const char *folder, size_t i, bool *no_cairo, cbx_err *err)
{
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL;
    cbx_status st;

    o.title = plots[i].title;
    o.x_label = plots[i].x_label;
    o.y_label = plots[i].y_label;
    o.x = plots[i].x;
    o.y = plots[i].y;
    o.theme = plots[i].theme;
    st = cbx_plot_create(ctx, &o, &p, err);
    if (!st) st = plots[i].add(p, err);
    for (int f = CBX_PLOT_SVG; !st && f <= CBX_PLOT_PNG; f++) {
        st = save(ctx, p, folder, plots[i].name, (cbx_plot_format)f, err);
        if (st == CBX_EUNAVAILABLE) *no_cairo = true, st = CBX_OK;
    }
    cbx_plot_free(p);
    return st;
}

int main(int argc, char **argv)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = NULL;
    bool no_cairo = false;
    cbx_status st = cbx_ctx_create(NULL, &ctx, &err);

    for (size_t i = 0; !st && argc == 2 && i < CBX_LEN(plots); i++) st = draw_all(ctx, argv[1], i, &no_cairo, &err);
    cbx_ctx_free(ctx);
    if (st) fprintf(stderr, "draw_plots: %s\n", err.message);
    return st || argc != 2 ? 2 : no_cairo ? 77 : 0;
}
