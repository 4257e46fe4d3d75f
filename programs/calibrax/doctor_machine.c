/*
 * calibrax doctor --machine: the fingerprint that runs of this machine carry, its facts, and what one core and a GPU can do.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/probe.h"
#include "calibrax/plot/charts.h"
#include "calibrax/profiling/gpu_roofs.h"
#include "calibrax/profiling/hardware.h"
#include "programs/calibrax/doctor.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

/* --- the accelerators' data sheet --- */

typedef struct sheet {
    bool found;
    cbx_hardware hardware;
    size_t count;
    cbx_err why; /* not found, though there are some */
} sheet;

static cbx_status find_sheet(cbx_ctx *ctx, const char *root, sheet *s, cbx_err *err)
{
    cbx_status st;

    *s = (sheet){ .why = CBX_ERR_INIT };
    st = cbx_hardware_detect(ctx, root, &s->hardware, &s->count, &s->why);
    s->found = st == CBX_OK;
    if (st == CBX_ENOENT) s->why.message[0] = '\0'; /* none is no fault */
    return st == CBX_ENOMEM ? cbx_fail(err, st, "%s", s->why.message) : CBX_OK;
}

static void show_figures(const cbx_hardware *h)
{
    if (!isnan(h->bytes_per_s)) printf(", %.6g GB/s", 1e-9 * h->bytes_per_s);
    for (int r = 0; r < CBX_RATE_COUNT; r++) {
        if (!isnan(h->flop_per_s[r])) printf(", %s %.6g Tflop/s", cbx_rate_name((cbx_rate)r), 1e-12 * h->flop_per_s[r]);
    }
    /* "bfloat16 16x16x16 32x8x16" of a type after the other */
    const char *type = "";

    if (h->simd_width) printf("; vectors of %u float32", h->simd_width);
    for (size_t i = 0; i < h->nmatrix_shapes; i++) {
        const cbx_matrix_shape *m = &h->matrix_shape[i];
        if (strcmp(type, m->type) != 0) printf("%s %s", i ? "," : "; matrix shapes:", m->type);
        printf(" %ux%ux%u", m->m, m->n, m->k);
        type = m->type;
    }
    printf(" (%s)\n", h->source);
}

static cbx_json *figures_json(const cbx_hardware *h)
{
    cbx_json *v = cbx_json_new_object(), *rates, *shapes;

    json_put(v, J_TEXT("name", h->name), J_NUMBER("bytes_per_s", h->bytes_per_s));
    rates = cbx_json_set_object(v, "flop_per_s");
    for (int r = 0; r < CBX_RATE_COUNT; r++) {
        if (!isnan(h->flop_per_s[r])) cbx_json_set_double(rates, cbx_rate_name((cbx_rate)r), h->flop_per_s[r]);
    }
    shapes = cbx_json_set_array(v, "matrix_shapes");
    for (size_t i = 0; i < h->nmatrix_shapes; i++) {
        cbx_json *shape = cbx_json_push_object(shapes);
        json_put(shape, J_TEXT("type", h->matrix_shape[i].type), J_INT("m", h->matrix_shape[i].m),
                 J_INT("n", h->matrix_shape[i].n), J_INT("k", h->matrix_shape[i].k));
    }
    if (h->simd_width) cbx_json_set_int(v, "simd_width", h->simd_width);
    if (h->compute_capability) cbx_json_set_double(v, "compute_capability", h->compute_capability / 10.0);
    cbx_json_set_string(v, "source", h->source);
    return v;
}

/* --- all data sheets --- */

static int list_sheets(const opt_run *run, bool json)
{
    cbx_json *o = json ? new_document("calibrax-hardware") : NULL, *list = cbx_json_set_array(o, "devices");
    cbx_hardware h;

    for (size_t i = 0; cbx_hardware_at(i, &h); i++) {
        if (json) {
            cbx_json_push(list, figures_json(&h));
            continue;
        }
        print_painted(PAINT_STRONG, "%s", h.name);
        show_figures(&h);
    }
    return json ? print_json(run->program, o) : EXIT_PASS;
}

/* --- the probe --- */

enum { MAX_NODES = 64 };

typedef struct rates {
    cbx_probe probe;
    cbx_level_rate node[MAX_NODES]; /* where memory is not the same everywhere */
    int nnodes;
} rates;

static void show_level(const cbx_level_rate *l)
{
    printf("  %-8s read %6.1f GB/s, copy %6.1f, triad %6.1f, streaming %6.1f\n", l->name, 1e-9 * l->read_bytes_per_s,
           1e-9 * l->copy_bytes_per_s, 1e-9 * l->triad_bytes_per_s, 1e-9 * l->triad_stream_bytes_per_s);
}

static void show_rates(const rates *r)
{
    print_painted(PAINT_STRONG, "One core, %s:\n", r->probe.instruction_set);
    for (int i = 0; i < CBX_PIPE_COUNT; i++)
        printf("  %-8s %7.1f G/s in 32 bits, %7.1f in 64\n", cbx_pipe_name((cbx_pipe)i),
               1e-9 * r->probe.pipe_ops_per_s[i][0], 1e-9 * r->probe.pipe_ops_per_s[i][1]);
    for (int i = 0; i < CBX_NARROW_COUNT; i++) {
        const cbx_narrow_rate *n = &r->probe.narrow[i];
        printf("  %-8s ", cbx_narrow_type((cbx_narrow)i));
        if (n->by[0])
            printf("%7.1f G/s in %s (%s)\n", 1e-9 * n->ops_per_s, cbx_narrow_unit((cbx_narrow)i), n->by);
        else
            print_painted(PAINT_FAINT, "not supported in %s: %s\n", cbx_narrow_unit((cbx_narrow)i), n->why);
    }
    for (int i = 0; i < r->probe.nlevels; i++) show_level(&r->probe.level[i]);
    for (int i = 0; i < r->nnodes; i++) show_level(&r->node[i]);
}

static void push_levels(cbx_json *list, const cbx_level_rate *l, int n)
{
    for (int i = 0; i < n; i++) {
        cbx_json *v = cbx_json_push_object(list);
        json_put(v, J_TEXT("name", l[i].name), J_INT("bytes", l[i].bytes),
                 J_NUMBER("read_bytes_per_s", l[i].read_bytes_per_s),
                 J_NUMBER("copy_bytes_per_s", l[i].copy_bytes_per_s),
                 J_NUMBER("triad_bytes_per_s", l[i].triad_bytes_per_s),
                 J_NUMBER("triad_stream_bytes_per_s", l[i].triad_stream_bytes_per_s));
    }
}

static cbx_json *rates_json(const rates *r)
{
    cbx_json *v = cbx_json_new_object(), *list;

    cbx_json_set_string(v, "instruction_set", r->probe.instruction_set);
    list = cbx_json_set_object(v, "pipe_ops_per_s");
    for (int i = 0; i < CBX_PIPE_COUNT; i++) {
        cbx_json *pair = cbx_json_set_object(list, cbx_pipe_name((cbx_pipe)i));
        json_put(pair, J_NUMBER("32", r->probe.pipe_ops_per_s[i][0]), J_NUMBER("64", r->probe.pipe_ops_per_s[i][1]));
    }
    list = cbx_json_set_array(v, "narrow");
    for (int n = 0; n < CBX_NARROW_COUNT; n++) {
        const cbx_narrow_rate *rate = &r->probe.narrow[n];
        const bool supported = rate->by[0] != 0;
        cbx_json *o = cbx_json_push_object(list);
        json_put(o, J_TEXT("type", cbx_narrow_type((cbx_narrow)n)), J_TEXT("unit", cbx_narrow_unit((cbx_narrow)n)),
                 J_BOOL("supported", supported), J_NUMBER("ops_per_s", supported ? rate->ops_per_s : NAN));
        cbx_json_set_string(o, supported ? "by" : "why", supported ? rate->by : rate->why);
    }
    list = cbx_json_set_array(v, "levels");
    push_levels(list, r->probe.level, r->probe.nlevels);
    push_levels(list, r->node, r->nnodes);
    return v;
}

/* --- a GPU --- */

typedef struct machine_gpu {
    int index;
    bool measured;
    cbx_gpu_roofs roofs; /* if measured */
    cbx_err why;         /* if not */
} machine_gpu;

static cbx_status measure_gpu(const opt_run *run, int index, machine_gpu *out, cbx_err *err)
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

static void show_figure(const char *what, const cbx_gpu_figure *f, double scale, const char *unit)
{
    printf("  %-24s ", what);
    if (f->best > 0)
        printf("%8.2f %s (median %.2f, %.2f to %.2f at %.1f %%; %s)%s\n", scale * f->best, unit,
               scale * f->median.value, scale * f->median.lower, scale * f->median.upper, 100 * f->median.level, f->by,
               f->is_lower_bound ? " or more" : "");
    else
        print_painted(PAINT_FAINT, "not measured: %s\n", f->why);
}

static void show_gpu(const machine_gpu *m)
{
    const cbx_gpu_roofs *g = &m->roofs;
    char what[64], words[CBX_GPU_THROTTLE_SIZE];

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
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        if (!g->rate[r].is_lower_bound) continue;
        print_painted(PAINT_FAINT, "  or more: %s\n", g->rate[r].why); /* the same for all of them */
        break;
    }
    if (!g->looks) {
        print_painted(PAINT_FAINT, "  clocks and power are unknown: %s\n", g->unwatched);
        return;
    }
    printf("  meanwhile                multiprocessors %.0f to %.0f MHz, memory %.0f MHz, at most %.0f C and %.0f W of "
           "%.0f W\n",
           g->sm_mhz_min, g->sm_mhz_max, g->memory_mhz, g->temperature_c, g->power_w, g->power_limit_w);
    cbx_gpu_throttle_words(g->throttle, words);
    if (words[0]) print_painted(PAINT_BAD, "  held back by             %s\n", words);
}

/* --- as a plot --- */

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

static cbx_status plot_gpu(const opt_run *run, const cbx_gpu_roofs *g, cbx_plot_format format, const char *path,
                           cbx_err *err)
{
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL;
    cbx_text text;
    roofs r;
    cbx_status st;

    collect(g, &r);
    o.title = cbx_arena_printf(run->arena, "roofs of %s, measured", g->name);
    if (!o.title) return cbx_fail_nomem(err, "a plot");
    o.x_label = "intensity [flop/byte]";
    o.y_label = "flop/s";
    o.x = o.y = CBX_PLOT_LOG;
    cbx_text_init(&text, cbx_ctx_allocator(run->ctx));
    st = cbx_plot_create(run->ctx, &o, &p, err);
    if (!st) st = cbx_plot_roofline(p, r.peak, r.npeaks, r.bandwidth, r.nbandwidths, NULL, 0, err);
    if (!st) st = cbx_plot_draw(p, format, &text, err);
    if (!st) st = cbx_file_write_atomic(run->ctx, path, cbx_text_str(&text), text.len, err);
    cbx_plot_free(p);
    cbx_text_clear(&text);
    return st;
}

/* --- the mode --- */

typedef struct findings {
    cbx_machine machine;
    sheet sheet;
    rates rates;
    machine_gpu gpu;
} findings;

/* The format that the name of a plot ends with. */
static int find_format(const opt_run *run, const char *path, cbx_plot_format *out)
{
    const char *dot = path ? strrchr(path, '.') : NULL;

    if (!path) return EXIT_PASS;
    for (int f = 0; dot && strcmp(cbx_plot_format_name((cbx_plot_format)f), "?") != 0; f++) {
        *out = (cbx_plot_format)f;
        if (!strcmp(dot + 1, cbx_plot_format_name(*out))) return EXIT_PASS;
    }
    return opt_fail(run->program, "'--plot' must end with .svg, .pdf or .png, got '%s'", path);
}

int doctor_machine(const opt_run *run)
{
    const doctor_args *a = run->args;
    findings *f = cbx_arena_calloc(run->arena, 1, sizeof *f);
    cbx_plot_format format = CBX_PLOT_SVG;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    cbx_json *o;

    if (a->sheets) return list_sheets(run, a->json);
    if (!f) return opt_fail(run->program, "out of memory");
    if (find_format(run, a->plot, &format)) return EXIT_ERROR;
    st = cbx_machine_read(run->ctx, a->root, &f->machine, &err);
    if (!st) st = find_sheet(run->ctx, a->root, &f->sheet, &err);
    if (!st && a->probe) {
        st = cbx_probe_get(run->ctx, f->machine.id, a->refresh, &f->rates.probe, &err);

        for (int node = 0;
             !st && f->machine.numa_nodes > 1 && node < f->machine.numa_nodes && f->rates.nnodes < MAX_NODES; node++) {
            if (cbx_probe_measure_node(run->ctx, node, &f->rates.node[f->rates.nnodes], NULL) == CBX_OK)
                f->rates.nnodes++;
        }
    }
    if (!st && a->gpu >= 0) st = measure_gpu(run, a->gpu, &f->gpu, &err);
    if (!st && a->plot && f->gpu.measured) st = plot_gpu(run, &f->gpu.roofs, format, a->plot, &err);
    if (st) return opt_fail(run->program, "%s", err.message);
    if (!a->json) {
        printf("Machine: ");
        print_painted(PAINT_STRONG, "%s\n", f->machine.id);
        printf("  CPU: %s\n", f->machine.model_name);
        printf("  Sockets: %d, cores: %d, threads: %d, NUMA nodes: %d\n", f->machine.sockets, f->machine.cores,
               f->machine.threads, f->machine.numa_nodes);
        printf("  Memory: %.1f GiB\n", (double)f->machine.memory_bytes / 0x1p30);
        for (int i = 0; i < f->machine.ncaches; i++)
            printf("  L%d %s: %llu KiB, shared by %d\n", f->machine.cache[i].level, f->machine.cache[i].type,
                   (unsigned long long)(f->machine.cache[i].bytes >> 10), f->machine.cache[i].shared_by);
        for (int i = 0; i < f->machine.naccelerators; i++) printf("  Accelerator: %s\n", f->machine.accelerator[i]);
        printf("  Features: %s\n", f->machine.features);
        if (f->machine.governor[0]) printf("  Governor: %s\n", f->machine.governor);
        if (f->machine.huge_pages[0]) printf("  Huge pages: %s\n", f->machine.huge_pages);
        if (f->sheet.found) {
            printf("  Data sheet: %s, %zu of them", f->sheet.hardware.name, f->sheet.count);
            show_figures(&f->sheet.hardware);
        } else if (f->sheet.why.message[0]) {
            printf("  Data sheet: %s\n", f->sheet.why.message);
        }
        if (a->probe) show_rates(&f->rates);
        if (a->gpu >= 0) show_gpu(&f->gpu);
        return EXIT_PASS;
    }
    o = new_document("calibrax-machine");
    cbx_json_set_string(o, "id", f->machine.id);
    cbx_json_set(o, "machine", cbx_machine_to_json(&f->machine));
    if (f->sheet.found) {
        cbx_json *v = figures_json(&f->sheet.hardware);
        cbx_json_set_int(v, "count", (int64_t)f->sheet.count);
        cbx_json_set(o, "data_sheet", v);
    } else {
        cbx_json_set_null(o, "data_sheet");
    }
    if (a->probe) cbx_json_set(o, "probe", rates_json(&f->rates));
    if (a->gpu >= 0) {
        cbx_json *g = f->gpu.measured ? cbx_gpu_roofs_to_json(&f->gpu.roofs) : cbx_json_new_object();
        cbx_json_set_string(g, "status", f->gpu.measured ? "measured" : "skipped");
        if (!f->gpu.measured) cbx_json_set_int(g, "index", f->gpu.index);
        if (!f->gpu.measured) cbx_json_set_string(g, "reason", f->gpu.why.message);
        cbx_json_set(o, "gpu", g);
    }
    return print_json(run->program, o);
}
