/*
 * A GPU's measured roofs; see machine_gpu.h.
 */
#include "programs/calibrax/machine_gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/plot/charts.h"
#include "programs/common/output.h"

cbx_status machine_gpu_measure(const opt_run *run, int index, machine_gpu *out, cbx_err *err)
{
    cbx_gpu_roofs_opts o = CBX_GPU_ROOFS_OPTS_INIT;
    cbx_status st;

    o.cuda.device = index;
    *out = (machine_gpu){ .index = index, .why = CBX_ERR_INIT };
    st = cbx_gpu_roofs_measure(run->ctx, &o, &out->roofs, &out->why);
    out->measured = st == CBX_OK;
    if (!st || st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED) return CBX_OK;
    return cbx_fail(err, st, "%s", out->why.message);
}

/* --- as lines --- */

static void show_figure(const char *what, const cbx_gpu_figure *f, double scale, const char *unit)
{
    printf("  %-24s ", what);
    if (f->best > 0)
        printf("%8.2f %s (median %.2f, %.2f to %.2f at %.1f %%; %s)%s\n", scale * f->best, unit,
               scale * f->median.value, scale * f->median.lower, scale * f->median.upper, 100 * f->median.level, f->by,
               f->is_least ? " or more" : "");
    else
        print_painted(PAINT_FAINT, "not measured: %s\n", f->why);
}

/* Once for all rates that are lower bounds. */
static void show_least(const cbx_gpu_roofs *g)
{
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        if (!g->rate[r].is_least) continue;
        print_painted(PAINT_FAINT, "  or more: %s\n", g->rate[r].why);
        return;
    }
}

static void show_meanwhile(const cbx_gpu_roofs *g)
{
    char words[CBX_GPU_THROTTLE_SIZE];

    if (!g->looks) {
        print_painted(PAINT_FAINT, "  clocks and power are not known: %s\n", g->unwatched);
        return;
    }
    printf("  meanwhile                multiprocessors %.0f to %.0f MHz, memory %.0f MHz, at most %.0f C and %.0f W of "
           "%.0f W\n",
           g->sm_mhz_least, g->sm_mhz_most, g->memory_mhz, g->temperature_c, g->power_w, g->power_limit_w);
    cbx_gpu_throttle_words(g->throttle, words);
    if (words[0]) print_painted(PAINT_BAD, "  held back by             %s\n", words);
}

void machine_gpu_show(const machine_gpu *m)
{
    const cbx_gpu_roofs *g = &m->roofs;
    char what[64];

    print_painted(PAINT_STRONG, "GPU %d: ", m->index);
    if (!m->measured) {
        printf("skipped: %s\n", m->why.message);
        return;
    }
    printf("%s, capability %d.%d, %d multiprocessors, %.1f GiB\n", g->name, g->capability_major, g->capability_minor,
           g->multiprocessors, (double)g->memory_bytes / 0x1p30);
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        snprintf(what, sizeof what, "%s, %s", cbx_cuda_rate_type((cbx_cuda_rate)r),
                 cbx_cuda_rate_unit((cbx_cuda_rate)r));
        show_figure(what, &g->rate[r], 1e-12, "Tflop/s");
    }
    for (int l = 0; l < CBX_GPU_LEVELS; l++)
        for (int k = 0; k < CBX_CUDA_TRAFFICS; k++) {
            snprintf(what, sizeof what, "%s, %s", cbx_gpu_level_name(l), cbx_cuda_traffic_name((cbx_cuda_traffic)k));
            show_figure(what, &g->traffic[l][k], 1e-9, "GB/s");
        }
    show_least(g);
    show_meanwhile(g);
}

/* --- as JSON --- */

cbx_json *machine_gpu_json(const machine_gpu *m)
{
    cbx_json *o = m->measured ? cbx_gpu_roofs_to_json(&m->roofs) : cbx_json_new_object();

    cbx_json_set_string(o, "status", m->measured ? "measured" : "skipped");
    if (m->measured) return o;
    cbx_json_set_int(o, "index", m->index);
    cbx_json_set_string(o, "reason", m->why.message);
    return o;
}

/* --- as a plot --- */

static bool find_format(const char *path, cbx_plot_format *out)
{
    const char *dot = strrchr(path, '.');

    for (int f = 0; dot && strcmp(cbx_plot_format_name((cbx_plot_format)f), "?") != 0; f++) {
        *out = (cbx_plot_format)f;
        if (!strcmp(dot + 1, cbx_plot_format_name(*out))) return true;
    }
    return false;
}

bool machine_gpu_can_plot(const char *path)
{
    cbx_plot_format format;
    return find_format(path, &format);
}

typedef struct roofs {
    cbx_plot_roof peak[CBX_CUDA_RATE_COUNT], bandwidth[CBX_GPU_LEVELS];
    char names[CBX_CUDA_RATE_COUNT][48];
    size_t npeaks, nbandwidths;
} roofs;

static void collect(const cbx_gpu_roofs *g, roofs *out)
{
    *out = (roofs){ .npeaks = 0 };
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        char *name = out->names[out->npeaks];
        if (!(g->rate[r].best > 0)) continue;
        snprintf(name, sizeof out->names[0], "%s, %s", cbx_cuda_rate_type((cbx_cuda_rate)r),
                 cbx_cuda_rate_unit((cbx_cuda_rate)r));
        out->peak[out->npeaks++] = (cbx_plot_roof){ name, g->rate[r].best };
    }
    for (int l = 0; l < CBX_GPU_LEVELS; l++) {
        const double rate = fmax(g->traffic[l][CBX_CUDA_READ].best, g->traffic[l][CBX_CUDA_COPY].best);
        if (rate > 0) out->bandwidth[out->nbandwidths++] = (cbx_plot_roof){ cbx_gpu_level_name(l), rate };
    }
}

static cbx_status draw(const opt_run *run, const cbx_gpu_roofs *g, cbx_plot_format format, cbx_text *out, cbx_err *err)
{
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL;
    roofs r;
    cbx_status st;

    collect(g, &r);
    o.title = cbx_arena_printf(run->arena, "roofs of %s, measured", g->name);
    if (!o.title) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plot");
    o.x_label = "intensity [flop/byte]";
    o.y_label = "flop/s";
    o.x = o.y = CBX_PLOT_LOG;
    st = cbx_plot_create(run->ctx, &o, &p, err);
    if (!st) st = cbx_plot_roofline(p, r.peak, r.npeaks, r.bandwidth, r.nbandwidths, NULL, 0, err);
    if (!st) st = cbx_plot_draw(p, format, out, err);
    cbx_plot_free(p);
    return st;
}

cbx_status machine_gpu_plot(const opt_run *run, const machine_gpu *g, const char *path, cbx_err *err)
{
    cbx_plot_format format = CBX_PLOT_SVG;
    cbx_text text;
    cbx_status st;

    if (!g->measured || !find_format(path, &format)) return CBX_OK;
    cbx_text_init(&text, cbx_ctx_allocator(run->ctx));
    st = draw(run, &g->roofs, format, &text, err);
    if (!st) st = cbx_file_write_atomic(run->ctx, path, cbx_text_str(&text), text.len, err);
    cbx_text_clear(&text);
    return st;
}
