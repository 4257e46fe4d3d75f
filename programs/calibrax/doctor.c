/*
 * calibrax doctor: the backends, devices and libraries that are available, and what is missing;
 * with --machine the fingerprint that runs of this machine carry, its facts, and what one core and
 * a GPU can do.
 *
 * It runs with a wrong environment, too, so that it can report what is wrong there; then its exit
 * status is 2.
 */
#include "calibrax/array/doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/base/file.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/probe.h"
#include "calibrax/plot/charts.h"
#include "calibrax/profiling/gpu_roofs.h"
#include "calibrax/profiling/hardware.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct doctor_args {
    bool json, machine, probe, refresh, sheets;
    const char *root, *plot;
    int gpu; /* -1: none */
} doctor_args;

#define AT(member) offsetof(doctor_args, member)

static const doctor_args doctor_defaults = { .gpu = -1 };

static const opt_spec doctor_options[] = {
    OPT_SWITCH("json", 0, json, "print one JSON document"),
    OPT_SWITCH("machine", 0, machine, "show the fingerprint of this machine, and the facts from which it is computed"),
    { "The machine, with --machine", 0, OPT_GROUP, 0, "machine", NULL,
      "Shows the fingerprint that is recorded in runs of this machine, and its CPU, caches, memory and accelerators. "
      "The facts include no host name, address, path or serial number. A GPU that cannot be measured is reported as "
      "skipped, with the reason." },
    OPT("root", 0, STRING, root, "DIR", NULL, "show a captured machine: a folder with its proc/ and sys/"),
    OPT_SWITCH(
        "probe", 0, probe,
        "measure one core: the rates of its pipes and the bandwidth of each cache, of memory and of each NUMA node"),
    OPT_SWITCH("refresh", 0, refresh, "measure again instead of using earlier results"),
    OPT("gpu", 0, INT, gpu, "N", "none",
        "measure this NVIDIA GPU: the rates of its units, the bandwidth of L2 and memory, and its clocks during the "
        "measurement"),
    OPT("plot", 0, STRING, plot, "FILE", NULL,
        "plot the roofline of that GPU; the name must end with .svg, .pdf or .png"),
    OPT_SWITCH("sheets", 0, sheets,
               "list the known data sheets of accelerators: rates, bandwidth, shapes of matrix units"),
};
static const opt_rule doctor_rules[] = {
    { "sheets", OPT_EXCLUDES, "probe root gpu" },
    { "refresh", OPT_NEEDS, "probe" },
    { "root", OPT_EXCLUDES, "probe gpu" },
    { "plot", OPT_NEEDS, "gpu" },
};

/* --- the accelerators' data sheet --- */

typedef struct data_sheet {
    bool found;
    cbx_hardware hardware;
    size_t count;
    cbx_err why; /* not found, though there are some */
} data_sheet;

static void show_figures(const cbx_hardware *h)
{
    if (!isnan(h->bytes_per_s)) printf(", %.6g GB/s", 1e-9 * h->bytes_per_s);
    for (int r = 0; r < CBX_RATE_COUNT; r++)
        if (!isnan(h->flop_per_s[r])) printf(", %s %.6g Tflop/s", cbx_rate_name((cbx_rate)r), 1e-12 * h->flop_per_s[r]);
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
    cbx_json *v = cbx_json_object(J_TEXT("name", h->name), J_NUMBER("bytes_per_s", h->bytes_per_s));
    cbx_json *rates = cbx_json_set_object(v, "flop_per_s");
    for (int r = 0; r < CBX_RATE_COUNT; r++) cbx_json_put(rates, J_KNOWN(cbx_rate_name((cbx_rate)r), h->flop_per_s[r]));
    cbx_json *shapes = cbx_json_set_array(v, "matrix_shapes");
    for (size_t i = 0; i < h->nmatrix_shapes; i++) {
        cbx_json_put(cbx_json_push_object(shapes), J_TEXT("type", h->matrix_shape[i].type),
                     J_INT("m", h->matrix_shape[i].m), J_INT("n", h->matrix_shape[i].n),
                     J_INT("k", h->matrix_shape[i].k));
    }
    if (h->simd_width) cbx_json_set_int(v, "simd_width", h->simd_width);
    if (h->compute_capability) cbx_json_set_double(v, "compute_capability", h->compute_capability / 10.0);
    cbx_json_set_string(v, "source", h->source);
    return v;
}

/* --- all data sheets --- */

static int list_sheets(const opt_run *run, bool json)
{
    cbx_json *o = json ? cbx_json_new_document("calibrax-hardware") : NULL, *list = cbx_json_set_array(o, "devices");
    cbx_hardware h;

    for (size_t i = 0; cbx_hardware_at(i, &h); i++) {
        if (json) {
            cbx_json_push(list, figures_json(&h));
            continue;
        }
        print_painted(PAINT_STRONG, "%s", h.name);
        show_figures(&h);
    }
    return json ? print_json(run, o) : EXIT_PASS;
}

/* --- the probe --- */

enum { MAX_NODES = 64 };

typedef struct core_rates {
    cbx_probe probe;
    cbx_level_rate node[MAX_NODES]; /* where memory is not the same everywhere */
    int nnodes;
} core_rates;

static void show_level(const cbx_level_rate *l)
{
    printf("  %-8s read %6.1f GB/s, copy %6.1f, triad %6.1f, streaming %6.1f\n", l->name, 1e-9 * l->read_bytes_per_s,
           1e-9 * l->copy_bytes_per_s, 1e-9 * l->triad_bytes_per_s, 1e-9 * l->triad_stream_bytes_per_s);
}

static void show_rates(const core_rates *r)
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
        cbx_json_put(cbx_json_push_object(list), J_TEXT("name", l[i].name), J_INT("bytes", l[i].bytes),
                     J_NUMBER("read_bytes_per_s", l[i].read_bytes_per_s),
                     J_NUMBER("copy_bytes_per_s", l[i].copy_bytes_per_s),
                     J_NUMBER("triad_bytes_per_s", l[i].triad_bytes_per_s),
                     J_NUMBER("triad_stream_bytes_per_s", l[i].triad_stream_bytes_per_s));
    }
}

static cbx_json *rates_json(const core_rates *r)
{
    cbx_json *v = cbx_json_object(J_TEXT("instruction_set", r->probe.instruction_set));
    cbx_json *list = cbx_json_set_object(v, "pipe_ops_per_s");
    for (int i = 0; i < CBX_PIPE_COUNT; i++) {
        cbx_json *pair = cbx_json_set_object(list, cbx_pipe_name((cbx_pipe)i));
        cbx_json_put(pair, J_NUMBER("32", r->probe.pipe_ops_per_s[i][0]),
                     J_NUMBER("64", r->probe.pipe_ops_per_s[i][1]));
    }
    list = cbx_json_set_array(v, "narrow");
    for (int n = 0; n < CBX_NARROW_COUNT; n++) {
        const cbx_narrow_rate *rate = &r->probe.narrow[n];
        const bool supported = rate->by[0] != 0;
        cbx_json_put(cbx_json_push_object(list), J_TEXT("type", cbx_narrow_type((cbx_narrow)n)),
                     J_TEXT("unit", cbx_narrow_unit((cbx_narrow)n)), J_BOOL("supported", supported),
                     J_NUMBER("ops_per_s", supported ? rate->ops_per_s : NAN),
                     J_TEXT(supported ? "by" : "why", supported ? rate->by : rate->why));
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
    printf("  clocks                   multiprocessors %.0f to %.0f MHz, memory %.0f MHz, at most %.0f C and %.0f W of "
           "%.0f W\n",
           g->sm_mhz_min, g->sm_mhz_max, g->memory_mhz, g->temperature_c, g->power_w, g->power_limit_w);
    cbx_gpu_throttle_words(g->throttle, words);
    if (words[0]) print_painted(PAINT_BAD, "  throttled by             %s\n", words);
}

static cbx_status plot_gpu(const opt_run *run, const cbx_gpu_roofs *g, cbx_plot_format format, const char *path,
                           cbx_err *err)
{
    cbx_plot_roof peaks[CBX_CUDA_RATE_COUNT], bandwidths[CBX_GPU_LEVELS];
    size_t npeaks = 0, nbandwidths = 0;
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p = NULL;

    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++)
        if (g->rate[r].best > 0)
            peaks[npeaks++] = (cbx_plot_roof){ cbx_arena_printf(run->arena, "%s, %s",
                                                                cbx_cuda_rate_type((cbx_cuda_rate)r),
                                                                cbx_cuda_rate_unit((cbx_cuda_rate)r)),
                                               g->rate[r].best };
    for (int l = 0; l < CBX_GPU_LEVELS; l++) {
        const double rate = fmax(g->traffic[l][CBX_CUDA_READ].best, g->traffic[l][CBX_CUDA_COPY].best);
        if (rate > 0) bandwidths[nbandwidths++] = (cbx_plot_roof){ cbx_gpu_level_name(l), rate };
    }
    o.title = cbx_arena_printf(run->arena, "measured roofline of %s", g->name);
    o.x_label = "intensity [flop/byte]";
    o.y_label = "flop/s";
    o.x = o.y = CBX_PLOT_LOG;
    SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
    cbx_status st = cbx_plot_create(run->ctx, &o, &p, err);
    if (!st) st = cbx_plot_roofline(p, peaks, npeaks, bandwidths, nbandwidths, NULL, 0, err);
    if (!st) st = cbx_plot_draw(p, format, &text, err);
    if (!st) st = cbx_file_write_atomic(run->ctx, path, cbx_text_str(&text), text.len, err);
    cbx_plot_free(p);
    return st;
}

/* --- the mode --- */

static void print_machine(const cbx_machine *m, const data_sheet *sheet)
{
    printf("Machine: ");
    print_painted(PAINT_STRONG, "%s\n", m->id);
    printf("  CPU: %s\n", m->model_name);
    printf("  Sockets: %d, cores: %d, threads: %d, NUMA nodes: %d\n", m->sockets, m->cores, m->threads, m->numa_nodes);
    printf("  Memory: %.1f GiB\n", (double)m->memory_bytes / 0x1p30);
    for (int i = 0; i < m->ncaches; i++)
        printf("  L%d %s: %llu KiB, shared by %d\n", m->cache[i].level, m->cache[i].type,
               (unsigned long long)(m->cache[i].bytes >> 10), m->cache[i].shared_by);
    for (int i = 0; i < m->naccelerators; i++) printf("  Accelerator: %s\n", m->accelerator[i]);
    printf("  Features: %s\n", m->features);
    if (m->governor[0]) printf("  Governor: %s\n", m->governor);
    if (m->huge_pages[0]) printf("  Huge pages: %s\n", m->huge_pages);
    if (sheet->found) {
        printf("  Data sheet: %s, %zu of them", sheet->hardware.name, sheet->count);
        show_figures(&sheet->hardware);
    } else if (sheet->why.message[0]) {
        printf("  Data sheet: %s\n", sheet->why.message);
    }
}

static int doctor_machine(const opt_run *run)
{
    const doctor_args *a = run->args;
    const char *dot = a->plot ? strrchr(a->plot, '.') : NULL;
    cbx_plot_format format = CBX_PLOT_SVG;
    cbx_machine m;
    data_sheet sheet = { .why = CBX_ERR_INIT };
    core_rates *rates = cbx_arena_calloc(run->arena, 1, sizeof *rates);
    machine_gpu *gpu = cbx_arena_calloc(run->arena, 1, sizeof *gpu);

    if (a->sheets) return list_sheets(run, a->json);
    while (dot && format <= CBX_PLOT_PNG && strcmp(dot + 1, cbx_plot_format_name(format)) != 0) format++;
    if (a->plot && (!dot || format > CBX_PLOT_PNG))
        return opt_fail(run, "'--plot' must end with .svg, .pdf or .png, got '%s'", a->plot);
    cbx_status st = cbx_machine_read(run->ctx, a->root, &m, run->err);
    if (!st) {
        st = cbx_hardware_detect(run->ctx, a->root, &sheet.hardware, &sheet.count, &sheet.why);
        sheet.found = st == CBX_OK;
        if (st == CBX_ENOENT) sheet.why.message[0] = '\0'; /* none is no fault */
        st = st == CBX_ENOMEM ? cbx_fail(run->err, st, "%s", sheet.why.message) : CBX_OK;
    }
    if (!st && a->probe) st = cbx_probe_get(run->ctx, m.id, a->refresh, &rates->probe, run->err);
    for (int node = 0; !st && a->probe && m.numa_nodes > 1 && node < m.numa_nodes && rates->nnodes < MAX_NODES; node++)
        rates->nnodes += !cbx_probe_measure_node(run->ctx, node, &rates->node[rates->nnodes], NULL);
    if (!st && a->gpu >= 0) {
        cbx_gpu_roofs_opts o = CBX_GPU_ROOFS_OPTS_INIT;
        o.cuda.device = gpu->index = a->gpu;
        st = cbx_gpu_roofs_measure(run->ctx, &o, &gpu->roofs, &gpu->why);
        gpu->measured = st == CBX_OK;
        if (st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED) st = CBX_OK;
        if (st) cbx_fail(run->err, st, "%s", gpu->why.message);
    }
    if (!st && a->plot && gpu->measured) st = plot_gpu(run, &gpu->roofs, format, a->plot, run->err);
    if (st) return opt_check(run, st);
    if (!a->json) {
        print_machine(&m, &sheet);
        if (a->probe) show_rates(rates);
        if (a->gpu >= 0) show_gpu(gpu);
        return EXIT_PASS;
    }
    cbx_json *o = cbx_json_document("calibrax-machine", J_TEXT("id", m.id), J_JSON("machine", cbx_machine_to_json(&m)));
    if (sheet.found) {
        cbx_json *v = figures_json(&sheet.hardware);
        cbx_json_set_int(v, "count", (int64_t)sheet.count);
        cbx_json_set(o, "data_sheet", v);
    } else {
        cbx_json_set_null(o, "data_sheet");
    }
    if (a->probe) cbx_json_set(o, "probe", rates_json(rates));
    if (a->gpu >= 0) {
        cbx_json *g = gpu->measured ? cbx_gpu_roofs_to_json(&gpu->roofs) : cbx_json_new_object();
        cbx_json_set_string(g, "status", gpu->measured ? "measured" : "skipped");
        if (!gpu->measured) cbx_json_put(g, J_INT("index", gpu->index), J_TEXT("reason", gpu->why.message));
        cbx_json_set(o, "gpu", g);
    }
    return print_json(run, o);
}

/* --- devices and topology --- */

static cbx_json *device_json(cbx_ctx *ctx, const cbx_devices *d, const cbx_device *device)
{
    cbx_device_memory m;
    const bool known = !cbx_devices_memory(ctx, d, device, &m, NULL), cuda = device->kind == CBX_DEVICE_CUDA;

    return cbx_json_object(J_TEXT("kind", cbx_device_kind_name(device->kind)), J_INT("index", device->index),
                           J_TEXT("name", device->name), J_INT("memory_total_bytes", device->memory_total_bytes),
                           known ? J_INT("memory_available_bytes", m.available_bytes)
                                 : J_NULL("memory_available_bytes"),
                           cuda ? J_INT("capability_major", device->capability_major) : J_NONE,
                           cuda ? J_INT("capability_minor", device->capability_minor) : J_NONE);
}

static cbx_json *topology_json(const cbx_topology *t)
{
    cbx_json *o = cbx_json_object(J_TEXT("source", t->source), J_BOOL("this_machine", t->this_machine),
                                  J_TEXT("cpu", t->cpu), J_INT("packages", t->packages), J_INT("cores", t->cores),
                                  J_INT("threads", t->threads), J_INT("usable_threads", t->usable_threads),
                                  J_INT("memory_bytes", t->memory_bytes));
    cbx_json *list = cbx_json_set_array(o, "caches");
    for (size_t i = 0; i < t->ncaches; i++)
        cbx_json_put(cbx_json_push_object(list), J_INT("level", t->caches[i].level), J_TEXT("type", t->caches[i].type),
                     J_INT("bytes", t->caches[i].bytes), J_INT("shared_by", t->caches[i].shared_by),
                     J_INT("count", t->caches[i].count));
    list = cbx_json_set_array(o, "nodes");
    for (size_t i = 0; i < t->nnodes; i++)
        cbx_json_put(cbx_json_push_object(list), J_INT("index", t->nodes[i].index),
                     J_INT("threads", t->nodes[i].threads), J_INT("memory_bytes", t->nodes[i].memory_bytes));
    return o;
}

static int print_report_json(const opt_run *run, const cbx_doctor_report *r, const cbx_settings *s,
                             const cbx_devices *d)
{
    const cbx_backend *b = NULL;
    cbx_json *o = doctor_json(r, "calibrax-doctor"), *list;

    cbx_json_put(cbx_json_set_object(o, "settings"), J_TEXT("backend", s->backend), J_BOOL("use_gpu", s->use_gpu),
                 J_BOOL("gpu_fallback", s->gpu_fallback), J_NUMBER("gpu_memory_fraction", s->gpu_memory_fraction));
    cbx_json_set_string(o, "backend", cbx_backend_choose(s, &b, NULL) ? NULL : b->name);
    list = cbx_json_set_array(o, "devices");
    for (size_t i = 0; i < cbx_devices_count(d); i++)
        cbx_json_push(list, device_json(run->ctx, d, cbx_devices_at(d, i)));
    cbx_json_set(o, "topology", topology_json(cbx_devices_topology(d)));
    return print_json(run, o);
}

static int run_doctor(const opt_run *run)
{
    const doctor_args *a = run->args;
    cbx_doctor_report r;
    cbx_devices *d = NULL;
    cbx_settings s;
    cbx_machine m;

    if (a->machine) return doctor_machine(run);
    cbx_doctor_init(&r, run->arena);
    cbx_doctor_see_settings(&r, &s);
    cbx_doctor_see_backends(&r, &s);
    cbx_doctor_see_machine(run->ctx, &r, &m);
    if (opt_check(run, cbx_devices_probe(run->ctx, NULL, &d, run->err))) return EXIT_ERROR;
    cbx_doctor_see_devices(run->ctx, &r, d, &s);
    cbx_doctor_see_topology(&r, d);
    cbx_doctor_see_libraries(run->ctx, &r);
    int status = opt_check(run, cbx_doctor_check(&r, run->err));
    if (!status && a->json)
        status = print_report_json(run, &r, &s, d);
    else if (!status)
        print_doctor(run, &r);
    cbx_devices_free(d);
    return status ? status : doctor_verdict(run, &r);
}

const opt_command doctor_command = {
    .name = "doctor",
    .synopsis = "[--machine [--probe | --gpu N | --sheets]] [--json]",
    .summary = "show backends, devices and libraries, what is missing, and this machine",
    .description = "Shows the settings and the source of each, the backends and which one is used, the devices with "
                   "their memory, the packages, cores and caches, and the libraries that are loaded on first use, with "
                   "the command that installs each missing one. Exit status 2: a variable has an invalid value, or "
                   "what the settings require is not available.",
    OPT_OPTIONS_RULES(doctor),
    .defaults = &doctor_defaults,
    .flags = OPT_ANY_ENVIRONMENT,
};
