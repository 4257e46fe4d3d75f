/*
 * calibrax machine: the fingerprint that runs of this machine carry, and what it is made of.
 */
#include "calibrax/core/machine.h"

#include <math.h>
#include <string.h>

#include "calibrax/core/probe.h"
#include "calibrax/profiling/hardware.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/machine_gpu.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct machine_args {
    bool json, probe, refresh, sheets;
    const char *root, *plot;
    int gpu; /* -1: none */
} machine_args;

static const machine_args machine_defaults = { .gpu = -1 };

static const opt_spec machine_options[] = {
    { "root", 0, OPT_STRING, offsetof(machine_args, root), "DIR", NULL,
      "a captured machine: a folder with its proc/ and sys/" },
    { "probe", 0, OPT_FLAG, offsetof(machine_args, probe), NULL, NULL,
      "what one core can do: rates of its pipes, bandwidth of each cache, of memory and of each NUMA node" },
    { "refresh", 0, OPT_FLAG, offsetof(machine_args, refresh), NULL, NULL,
      "with --probe: measure anew instead of reading what was measured before" },
    { "gpu", 0, OPT_INT, offsetof(machine_args, gpu), "N", "none",
      "what this GPU of NVIDIA can do, measured on it: rates of its units, bandwidth of L2 and memory, clocks "
      "meanwhile" },
    { "plot", 0, OPT_STRING, offsetof(machine_args, plot), "FILE", NULL,
      "with --gpu: its roofs as a plot; the name ends with .svg, .pdf or .png" },
    { "sheets", 0, OPT_FLAG, offsetof(machine_args, sheets), NULL, NULL,
      "the makers' data sheets that are known, instead: rates, bandwidth, shapes of matrix units" },
    { "json", 0, OPT_FLAG, offsetof(machine_args, json), NULL, NULL, "print one JSON document" },
};

static void show(const cbx_machine *m)
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
}

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

/* "bfloat16 16x16x16 32x8x16" of a type after the other */
static void show_shapes(const cbx_hardware *h)
{
    const char *type = "";

    if (h->simd_width) printf("; vectors of %u float32", h->simd_width);
    for (size_t i = 0; i < h->nmatrix_shapes; i++) {
        const cbx_matrix_shape *m = &h->matrix_shape[i];
        if (strcmp(type, m->type) != 0) printf("%s %s", i ? "," : "; matrix shapes:", m->type);
        printf(" %ux%ux%u", m->m, m->n, m->k);
        type = m->type;
    }
}

static void show_figures(const cbx_hardware *h)
{
    if (!isnan(h->bytes_per_s)) printf(", %.0f GB/s", 1e-9 * h->bytes_per_s);
    for (int r = 0; r < CBX_RATE_COUNT; r++) {
        if (!isnan(h->flop_per_s[r])) printf(", %s %.4g Tflop/s", cbx_rate_name((cbx_rate)r), 1e-12 * h->flop_per_s[r]);
    }
    show_shapes(h);
    printf(" (%s)\n", h->source);
}

static void show_sheet(const sheet *s)
{
    if (!s->found) {
        if (s->why.message[0]) printf("  Data sheet: %s\n", s->why.message);
        return;
    }
    printf("  Data sheet: %s, %zu of them", s->hardware.name, s->count);
    show_figures(&s->hardware);
}

static cbx_json *shapes_json(const cbx_hardware *h)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < h->nmatrix_shapes; i++) {
        cbx_json *v = cbx_json_new_object();
        cbx_json_set_string(v, "type", h->matrix_shape[i].type);
        cbx_json_set_int(v, "m", h->matrix_shape[i].m);
        cbx_json_set_int(v, "n", h->matrix_shape[i].n);
        cbx_json_set_int(v, "k", h->matrix_shape[i].k);
        cbx_json_push(list, v);
    }
    return list;
}

static cbx_json *figures_json(const cbx_hardware *h)
{
    cbx_json *v = cbx_json_new_object(), *rates = cbx_json_new_object();

    cbx_json_set_string(v, "name", h->name);
    cbx_json_set_double(v, "bytes_per_s", h->bytes_per_s);
    for (int r = 0; r < CBX_RATE_COUNT; r++) {
        if (!isnan(h->flop_per_s[r])) cbx_json_set_double(rates, cbx_rate_name((cbx_rate)r), h->flop_per_s[r]);
    }
    cbx_json_set(v, "flop_per_s", rates);
    cbx_json_set(v, "matrix_shapes", shapes_json(h));
    if (h->simd_width) cbx_json_set_int(v, "simd_width", h->simd_width);
    if (h->compute_capability) cbx_json_set_double(v, "compute_capability", h->compute_capability / 10.0);
    cbx_json_set_string(v, "source", h->source);
    return v;
}

static void put_sheet(cbx_json *o, const sheet *s)
{
    cbx_json *v;

    if (!s->found) {
        cbx_json_set_string(o, "data_sheet", NULL);
        return;
    }
    v = figures_json(&s->hardware);
    cbx_json_set_int(v, "count", (int64_t)s->count);
    cbx_json_set(o, "data_sheet", v);
}

/* --- all data sheets --- */

static int list_sheets(const opt_run *run, bool json)
{
    cbx_json *o = json ? new_document("calibrax-hardware") : NULL, *list = json ? cbx_json_new_array() : NULL;
    cbx_hardware h;

    for (size_t i = 0; cbx_hardware_at(i, &h); i++) {
        if (json) {
            cbx_json_push(list, figures_json(&h));
            continue;
        }
        print_painted(PAINT_STRONG, "%s", h.name);
        show_figures(&h);
    }
    if (!json) return EXIT_PASS;
    cbx_json_set(o, "devices", list);
    return print_json(run->program, o);
}

/* --- the probe --- */

enum { MAX_NODES = 64 };

typedef struct rates {
    cbx_probe probe;
    cbx_level_rate node[MAX_NODES]; /* where memory is not the same everywhere */
    int nnodes;
} rates;

static cbx_status measure(const opt_run *run, const cbx_machine *m, bool refresh, rates *r, cbx_err *err)
{
    cbx_status st = cbx_probe_get(run->ctx, m->id, refresh, &r->probe, err);

    for (int node = 0; !st && m->numa_nodes > 1 && node < m->numa_nodes && r->nnodes < MAX_NODES; node++) {
        if (cbx_probe_measure_node(run->ctx, node, &r->node[r->nnodes], NULL) == CBX_OK) r->nnodes++;
    }
    return st;
}

static void show_level(const cbx_level_rate *l)
{
    printf("  %-8s read %6.1f GB/s, copy %6.1f, triad %6.1f, streaming %6.1f\n", l->name, 1e-9 * l->read_bytes_per_s,
           1e-9 * l->copy_bytes_per_s, 1e-9 * l->triad_bytes_per_s, 1e-9 * l->triad_stream_bytes_per_s);
}

static void show_narrow(cbx_narrow n, const cbx_narrow_rate *r)
{
    printf("  %-8s ", cbx_narrow_type(n));
    if (r->by[0])
        printf("%7.1f G/s in %s (%s)\n", 1e-9 * r->ops_per_s, cbx_narrow_unit(n), r->by);
    else
        print_painted(PAINT_FAINT, "not supported in %s: %s\n", cbx_narrow_unit(n), r->why);
}

static void show_rates(const rates *r)
{
    print_painted(PAINT_STRONG, "One core, %s:\n", r->probe.instruction_set);
    for (int i = 0; i < CBX_PIPE_COUNT; i++)
        printf("  %-8s %7.1f G/s in 32 bits, %7.1f in 64\n", cbx_pipe_name((cbx_pipe)i),
               1e-9 * r->probe.pipe_ops_per_s[i][0], 1e-9 * r->probe.pipe_ops_per_s[i][1]);
    for (int i = 0; i < CBX_NARROW_COUNT; i++) show_narrow((cbx_narrow)i, &r->probe.narrow[i]);
    for (int i = 0; i < r->probe.nlevels; i++) show_level(&r->probe.level[i]);
    for (int i = 0; i < r->nnodes; i++) show_level(&r->node[i]);
}

static void push_levels(cbx_json *list, const cbx_level_rate *l, int n)
{
    for (int i = 0; i < n; i++) {
        cbx_json *v = cbx_json_new_object();
        cbx_json_set_string(v, "name", l[i].name);
        cbx_json_set_int(v, "bytes", (int64_t)l[i].bytes);
        cbx_json_set_double(v, "read_bytes_per_s", l[i].read_bytes_per_s);
        cbx_json_set_double(v, "copy_bytes_per_s", l[i].copy_bytes_per_s);
        cbx_json_set_double(v, "triad_bytes_per_s", l[i].triad_bytes_per_s);
        cbx_json_set_double(v, "triad_stream_bytes_per_s", l[i].triad_stream_bytes_per_s);
        cbx_json_push(list, v);
    }
}

static cbx_json *narrow_json(const cbx_probe *p)
{
    cbx_json *list = cbx_json_new_array();

    for (int n = 0; n < CBX_NARROW_COUNT; n++) {
        const cbx_narrow_rate *r = &p->narrow[n];
        cbx_json *v = cbx_json_new_object();
        cbx_json_set_string(v, "type", cbx_narrow_type((cbx_narrow)n));
        cbx_json_set_string(v, "unit", cbx_narrow_unit((cbx_narrow)n));
        cbx_json_set_bool(v, "supported", r->by[0] != 0);
        cbx_json_set_double(v, "ops_per_s", r->by[0] ? r->ops_per_s : NAN);
        cbx_json_set_string(v, r->by[0] ? "by" : "why", r->by[0] ? r->by : r->why);
        cbx_json_push(list, v);
    }
    return list;
}

static cbx_json *rates_json(const rates *r)
{
    cbx_json *v = cbx_json_new_object(), *pipes = cbx_json_new_object(), *levels = cbx_json_new_array();

    cbx_json_set_string(v, "instruction_set", r->probe.instruction_set);
    for (int i = 0; i < CBX_PIPE_COUNT; i++) {
        cbx_json *pair = cbx_json_new_object();
        cbx_json_set_double(pair, "32", r->probe.pipe_ops_per_s[i][0]);
        cbx_json_set_double(pair, "64", r->probe.pipe_ops_per_s[i][1]);
        cbx_json_set(pipes, cbx_pipe_name((cbx_pipe)i), pair);
    }
    cbx_json_set(v, "pipe_ops_per_s", pipes);
    cbx_json_set(v, "narrow", narrow_json(&r->probe));
    push_levels(levels, r->probe.level, r->probe.nlevels);
    push_levels(levels, r->node, r->nnodes);
    cbx_json_set(v, "levels", levels);
    return v;
}

/* What cannot be asked for together; NULL: nothing. */
static const char *conflict_of(const machine_args *a)
{
    const struct {
        bool is;
        const char *text;
    } conflicts[] = {
        { a->sheets && (a->probe || a->root || a->gpu >= 0), "--sheets goes with --json alone" },
        { a->refresh && !a->probe, "--refresh: needs --probe" },
        { a->probe && a->root, "--probe and --root exclude each other: a captured machine cannot be measured" },
        { a->gpu >= 0 && a->root, "--gpu and --root exclude each other: a captured machine cannot be measured" },
        { a->plot && a->gpu < 0, "--plot: needs --gpu" },
        { a->plot && !machine_gpu_can_plot(a->plot), "--plot: the name must end with .svg, .pdf or .png" },
    };

    for (size_t i = 0; i < CBX_LEN(conflicts); i++)
        if (conflicts[i].is) return conflicts[i].text;
    return NULL;
}

typedef struct findings {
    cbx_machine machine;
    sheet sheet;
    rates rates;
    machine_gpu gpu;
} findings;

static cbx_status find_all(const opt_run *run, const machine_args *a, findings *f, cbx_err *err)
{
    cbx_status st = cbx_machine_read(run->ctx, a->root, &f->machine, err);

    if (!st) st = find_sheet(run->ctx, a->root, &f->sheet, err);
    if (!st && a->probe) st = measure(run, &f->machine, a->refresh, &f->rates, err);
    if (!st && a->gpu >= 0) st = machine_gpu_measure(run, a->gpu, &f->gpu, err);
    if (!st && a->plot) st = machine_gpu_plot(run, &f->gpu, a->plot, err);
    return st;
}

static int print_findings(const opt_run *run, const machine_args *a, const findings *f)
{
    cbx_json *o = new_document("calibrax-machine");

    cbx_json_set_string(o, "id", f->machine.id);
    cbx_json_set(o, "machine", cbx_machine_to_json(&f->machine));
    put_sheet(o, &f->sheet);
    if (a->probe) cbx_json_set(o, "probe", rates_json(&f->rates));
    if (a->gpu >= 0) cbx_json_set(o, "gpu", machine_gpu_json(&f->gpu));
    return print_json(run->program, o);
}

static int run_machine_command(const opt_run *run)
{
    const machine_args *a = run->args;
    const char *conflict = conflict_of(a);
    findings *f = cbx_arena_calloc(run->arena, 1, sizeof *f);
    cbx_err err = CBX_ERR_INIT;

    if (!f) return opt_fail(run->program, "out of memory");
    if (conflict) return opt_fail(run->program, "%s", conflict);
    if (a->sheets) return list_sheets(run, a->json);
    if (find_all(run, a, f, &err)) return opt_fail(run->program, "%s", err.message);
    if (a->json) return print_findings(run, a, f);
    show(&f->machine);
    show_sheet(&f->sheet);
    if (a->probe) show_rates(&f->rates);
    if (a->gpu >= 0) machine_gpu_show(&f->gpu);
    return EXIT_PASS;
}

const opt_command machine_command = {
    "machine",
    "[--probe | --sheets] [--gpu N [--plot FILE]] [--json]",
    "this machine's fingerprint, and what it is made of",
    "Tells the fingerprint by which runs of machines are kept apart, and the facts that it is made of. No host name, "
    "address, path or serial number is among them. The data sheet is that of its accelerators, if they are of one "
    "kind; "
    "the probe is measured. A GPU that cannot be measured here is told as skipped, with the reason.",
    machine_options,
    CBX_LEN(machine_options),
    sizeof(machine_args),
    &machine_defaults,
    0,
    run_machine_command,
};
