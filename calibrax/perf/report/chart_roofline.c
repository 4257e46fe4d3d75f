/* Rates of kernels under the roofs that were measured on their machine. */
#include <math.h>
#include <string.h>

#include "calibrax/perf/report/report_charts.h"

#define MAX_LEVELS 8

/* Roofs of one core as the probe of the row's machine found them: fused multiply-adds count
 * twice. */
typedef struct roofs {
    cbx_plot_roof peaks[2], levels[MAX_LEVELS];
    size_t npeaks, nlevels;
} roofs;

static void add_peak(roofs *r, const char *name, double limit)
{
    if (limit > 0 && isfinite(limit)) r->peaks[r->npeaks++] = (cbx_plot_roof){ name, limit };
}

static bool roofs_of(const cbx_row *row, bool is_f64, roofs *r)
{
    const cbx_json *probe = cbx_json_get(row->provenance, "probe");
    const cbx_json *pipes = cbx_json_get(probe, "pipe_ops_per_s_f32_f64"), *levels = cbx_json_get(probe, "levels");

    *r = (roofs){ .npeaks = 0 };
    add_peak(r, is_f64 ? "FMA, float64" : "FMA, float32",
             2 * cbx_json_double_value(cbx_json_at(cbx_json_get(pipes, "fma"), is_f64)));
    add_peak(r, "add", cbx_json_double_value(cbx_json_at(cbx_json_get(pipes, "add"), is_f64)));
    for (size_t i = 0; i < cbx_json_length(levels) && r->nlevels < MAX_LEVELS; i++) {
        const cbx_json *l = cbx_json_at(levels, i);
        double read = cbx_json_get_double(l, "read_bytes_per_s", NAN),
               copy = cbx_json_get_double(l, "copy_bytes_per_s", NAN);
        double best = fmax(read, copy);
        if (best > 0 && isfinite(best))
            r->levels[r->nlevels++] = (cbx_plot_roof){ cbx_json_get_string(l, "name", "level"), best };
    }
    return r->npeaks && r->nlevels;
}

bool cbx__chart_roofline(const cbx__charts *c, const cbx__report_group *g, cbx_text *out)
{
    bool is_f64 = strstr(g->label, "f64") != NULL;
    cbx_plot_kernel *kernels = cbx_arena_calloc(c->arena, g->count + 1, sizeof *kernels);
    cbx_plot_opts opts = CBX_PLOT_OPTS_INIT;
    cbx_plot *plot = NULL;
    size_t before = out->len, n = 0;
    cbx__chart_lines drawn = { .n = 0 };
    const char *caption;
    roofs r = { .npeaks = 0 };

    for (const cbx__report_item *it = g->items; kernels && it < g->items + g->count; it++) {
        const cbx_row *row = it->row;
        double t = cbx__report_median(row), rate = 1e9 * row->gflop_per_s;
        bool known = cbx__report_has_interval(&row->steady) && row->steady.lower > 0;
        if (it->class != CBX__REPORT_GOOD || !it->quoted) continue;
        if (!(row->gflop_per_s > 0 && row->gbyte_per_s > 0) || drawn.n == CBX__SERIES_COLOURS) continue;
        if (!r.npeaks && !roofs_of(row, is_f64, &r)) continue;
        drawn.series[drawn.n++] = it->series;
        kernels[n++] = (cbx_plot_kernel){ cbx__report_name(c->arena, it), row->gflop_per_s / row->gbyte_per_s, rate,
                                          known ? rate * t / row->steady.upper : NAN,
                                          known ? rate * t / row->steady.lower : NAN };
    }
    if (!n || !r.npeaks) return false;
    opts.x = opts.y = CBX_PLOT_LOG;
    opts.x_label = "declared work over declared traffic [flop/byte]";
    opts.y_label = "rate [flop/s]";
    opts.width = 640;
    opts.height = 380;
    caption = cbx_arena_printf(c->arena, "Roofline of one core at %s", cbx__report_where(c->arena, c->view, g));
    if (!caption || cbx_plot_create(c->ctx, &opts, &plot, NULL)) return false;
    cbx_status st = cbx_plot_roofline(plot, r.peaks, r.npeaks, r.levels, r.nlevels, kernels, n, NULL);
    if (!st) cbx__chart_draw(c, plot, &drawn, "roofline", NULL, caption, out);
    if (st == CBX_ENOMEM) out->status = st;
    cbx_plot_free(plot);
    return out->len > before;
}
