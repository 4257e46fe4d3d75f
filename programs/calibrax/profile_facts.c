/*
 * The rows of a profile, and their three forms.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "calibrax/statistics/series.h"
#include "programs/calibrax/profile.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

/* --- filling --- */

static void add_value(profile_facts *f, const profile_kind *k, double value)
{
    if (isnan(value) || f->count == PROFILE_MAX_FACTS) return;
    f->fact[f->count++] = (profile_fact){ *k, value, NAN, NAN, NULL, 0 };
}

void profile_add(profile_facts *f, const char *name, const char *label, const char *unit, const char *group,
                 const char *description, double value)
{
    add_value(f, &(const profile_kind){ name, label, unit, CBX_DIRECTION_INFO, group, description }, value);
}

#define ADD(f, value, ...) add_value(f, &(const profile_kind){ __VA_ARGS__ }, value)

/* Median and interval of samples, which the arena gets a copy of; NaN among them are left out. */
static void add_samples(profile_facts *f, const profile_kind *k, const double *x, size_t n)
{
    double *kept = cbx_arena_calloc(f->run->arena, n, sizeof *kept);
    cbx_interval i;
    size_t m = 0;

    for (size_t s = 0; s < n; s++)
        if (isfinite(x[s])) kept[m++] = x[s];
    if (m == 0) return;
    f->failed |= cbx_stat_median_interval(f->run->ctx, kept, m, 0.95, &i, NULL) != CBX_OK;
    if (f->failed) return;
    add_value(f, k, i.value);
    if (m > 1) {
        f->fact[f->count - 1].samples = kept;
        f->fact[f->count - 1].nsamples = m;
    }
    if (i.level > 0) {
        f->fact[f->count - 1].lower = i.lower;
        f->fact[f->count - 1].upper = i.upper;
    }
}

void profile_remark(profile_facts *f, const char *fmt, ...)
{
    va_list args;

    if (f->nremarks == PROFILE_MAX_REMARKS) return;
    va_start(args, fmt);
    vsnprintf(f->remark[f->nremarks++], sizeof f->remark[0], fmt, args);
    va_end(args);
}

double profile_fact_value(const profile_facts *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->fact[i].kind.name, name) == 0) return f->fact[i].value;
    return NAN;
}

/* A remark where the times have several modes: separate groups, or else a dip test that rejects one
 * mode. */
static void see_modes(profile_facts *f, const char *what, const double *x, size_t n)
{
    enum { MIN_TIMES = 10, MAX_TIMES = 5000 };
    char center[2][CBX_FORMAT_SIZE];
    cbx_mode mode[16], two[2]; /* of groups of more than one value the first, and the largest of the others */
    size_t modes = 0, groups = 0;
    cbx_test dip;

    if (n < MIN_TIMES || n > MAX_TIMES) return;
    if (cbx_stat_modes(f->run->ctx, x, n, CBX_MODES_RESOLUTION, mode, CBX_LEN(mode), &modes, NULL)) modes = 0;
    for (size_t i = 0; i < modes && i < CBX_LEN(mode); i++) {
        if (mode[i].count < 2) continue;
        if (groups < 2)
            two[groups] = mode[i];
        else if (mode[i].count > two[1].count)
            two[1] = mode[i];
        groups++;
    }
    if (groups > 1) {
        profile_remark(f, "%s has %zu groups: %zu of %zu about %s, %zu about %s%s; the median belongs to one of them",
                       what, groups, two[0].count, n, cbx_format_seconds(two[0].center, center[0]), two[1].count,
                       cbx_format_seconds(two[1].center, center[1]), groups > 2 ? " ..." : "");
    } else if (!cbx_stat_test_dip(f->run->ctx, x, n, CBX_DIP_DRAWS, 1, &dip, NULL) && dip.p <= 0.01) {
        profile_remark(f, "%s has more than one mode (dip test, p = %.2g): look at the samples", what, dip.p);
    }
}

#define LOWER CBX_DIRECTION_LOWER
#define INFO  CBX_DIRECTION_INFO

/* What is often 0 in a sound run has no direction: nothing can be compared with 0 by a ratio, and a
 * check would never pass. */
/* Name, label, unit, direction, group, description; the value in a run r and its resources m. */
#define COMMAND_FACTS(X)                                                                                               \
    X("wall_time", "time", "s", LOWER, "time", "from the creation of the process to its end", r->wall_s)               \
    X("cpu_time", "CPU", "s", LOWER, "time", "of all processes, user and system", r->cpu_user_s + r->cpu_system_s)     \
    X("cpu_user", "CPU, user", "s", INFO, "time", "the part spent in the program", r->cpu_user_s)                      \
    X("cpu_system", "CPU, system", "s", INFO, "time", "the part spent in the kernel", r->cpu_system_s)                 \
    X("cpu_percent", "CPU share", "%", INFO, "time", "CPU time over wall time; 100 is one core",                       \
      100 * (r->cpu_user_s + r->cpu_system_s) / r->wall_s)                                                             \
    X("max_rss", "memory, one process", "MiB", LOWER, "memory", "largest peak of a single process", r->max_rss_mb)     \
    X("peak_rss", "memory, all at once", "MiB", LOWER, "memory", "largest sum over processes in any sample",           \
      m->summary.peak_rss_mb)                                                                                          \
    X("minor_faults", "page faults", "1", LOWER, "memory", "served without reading from storage",                      \
      (double)m->minor_faults)                                                                                         \
    X("major_faults", "page faults, storage", "1", INFO, "memory", "served by reading from storage",                   \
      (double)m->major_faults)                                                                                         \
    X("voluntary_switches", "switches, voluntary", "1", INFO, "scheduling", "the process waited for something",        \
      (double)m->voluntary_switches)                                                                                   \
    X("involuntary_switches", "switches, involuntary", "1", INFO, "scheduling", "the process was preempted",           \
      (double)m->involuntary_switches)                                                                                 \
    X("read_bytes", "read from storage", "B", INFO, "io", "", m->read_bytes)                                           \
    X("write_bytes", "written to storage", "B", INFO, "io", "", m->write_bytes)                                        \
    X("peak_threads", "threads", "1", INFO, "scheduling", "maximum at a time", m->peak_threads)                        \
    X("peak_processes", "processes", "1", INFO, "scheduling", "maximum at a time", m->peak_processes)                  \
    X("peak_gpu_mem", "GPU memory", "MiB", LOWER, "gpu", "of the whole device", m->summary.peak_gpu_mem_mb)            \
    X("mean_gpu_util", "GPU use", "%", INFO, "gpu", "", m->summary.mean_gpu_util)                                      \
    X("mean_gpu_clock", "GPU clock", "MHz", INFO, "gpu", "", m->summary.mean_gpu_clock_mhz)                            \
    X("mean_gpu_power", "GPU power", "W", INFO, "gpu", "", m->summary.mean_gpu_power_w)                                \
    X("peak_gpu_tree_mem", "GPU memory, its own", "MiB", LOWER, "gpu", "held by the processes of the command",         \
      m->peak_gpu_tree_mem_mb)                                                                                         \
    X("peak_gpu_temperature", "GPU temperature", "C", INFO, "gpu", "greatest", m->peak_gpu_temperature_c)              \
    X("gpu_slowed", "GPU throttled", "%", INFO, "gpu", "share of samples in which it was throttled",                   \
      100 * m->gpu_slowed_share)                                                                                       \
    X("monitor_overhead", "cost of sampling", "%", INFO, "profile", "CPU time of the sampling thread, of one core",    \
      m->overhead_percent)
#define KIND(name, label, unit, direction, group, description, value)                                                  \
    { name, label, unit, direction, group, description },
#define VALUE(name, label, unit, direction, group, description, value) value,
static const profile_kind command_kinds[] = { COMMAND_FACTS(KIND) };

enum {
    MAX_RSS = 5,
    LOOKLESS = 6,
    PEAK_RSS = 6,
    FIRST_GPU = 15,
    LAST_GPU = 21
}; /* as many of the first the kernel tells at the end */

/* A sample of a process that has just begun is no peak, and must not be compared with a later
 * one. */
#define JUST_BEGUN_MB 0.0625

/* Values of a run, as command_kinds has them; what is sampled is NaN where there was no sample. */
static void values_of_run(const cbx_profile_run *r, double v[CBX_LEN(command_kinds)])
{
    const cbx_resource_report *m = &r->resources;
    bool seen = m->summary.num_samples > 0;
    const double all[] = { COMMAND_FACTS(VALUE) };
    struct rusage own; /* the mark of a child is at least that of this program: it informs only above this */
    for (size_t i = 0; i < CBX_LEN(command_kinds); i++) v[i] = i < LOOKLESS || seen ? all[i] : NAN;
    if (m->summary.num_samples >= 2 && m->summary.peak_rss_mb >= JUST_BEGUN_MB) return;
    if (getrusage(RUSAGE_SELF, &own) || !(r->max_rss_mb > (double)own.ru_maxrss / 1024)) v[MAX_RSS] = NAN;
    v[PEAK_RSS] = NAN;
}

void profile_see_command(profile_facts *f, const cbx_profile *p)
{
    const size_t kinds = CBX_LEN(command_kinds);
    double *table = cbx_arena_calloc(f->run->arena, kinds * p->nruns, sizeof *table);
    size_t unseen = 0;

    f->samples = p->nruns;
    f->calls_per_sample = 1;
    for (size_t r = 0; r < p->nruns; r++) {
        double v[CBX_LEN(command_kinds)];
        values_of_run(&p->runs[r], v);
        f->gpu_throttle |= p->runs[r].resources.gpu_throttle;
        for (size_t k = 0; k < kinds; k++) table[k * p->nruns + r] = v[k];
        unseen += p->runs[r].resources.summary.num_samples < 2;
    }
    for (size_t k = 0; k < kinds; k++) add_samples(f, &command_kinds[k], table + k * p->nruns, p->nruns);
    see_modes(f, "time", table, p->nruns);
    if (unseen)
        profile_remark(f,
                       "%zu of %zu runs ended before the second sample: their sampled values, such as memory, are too "
                       "low or missing; shorten --sample-ms",
                       unseen, p->nruns);
}

void profile_see_function(profile_facts *f, const cbx_call_timing *t, const cbx_resource_report *r)
{
    static const profile_kind time = { "call_time", "time of a call",
                                       "s",         LOWER,
                                       "time",      "steady state, with the cost of the clock subtracted" };

    f->samples = t->nsamples;
    f->calls_per_sample = t->calls_per_sample;
    add_samples(f, &time, t->samples, t->nsamples);
    see_modes(f, time.label, t->samples, t->nsamples);
    ADD(f, t->first_call_s, "first_call", "first call", "s", INFO, "time",
        "with everything that is set up on first use");
    ADD(f, t->summary.min, "call_time_min", "minimum", "s", INFO, "time", "");
    ADD(f, t->percentile_s[1], "call_time_p90", "90 of 100", "s", INFO, "time", "");
    ADD(f, t->percentile_s[2], "call_time_p99", "99 of 100", "s", INFO, "time", "");
    ADD(f, 1e-9 * t->empty_call_ns, "empty_call", "empty call", "s", INFO, "profile",
        "part of every call, not subtracted");
    ADD(f, (double)r->hwm_bytes / 1048576.0, "max_rss", "memory, this program", "MiB", LOWER, "memory",
        "peak of the program that called the function");
    ADD(f, 100 * t->clock_share, "clock_share", "the clock's share", "%", INFO, "profile",
        "largest effect of clock resolution and cost on a window");
    /* Of a device beside a function, as of a command. */
    const cbx_profile_run run = { .wall_s = 1, .resources = *r };
    double v[CBX_LEN(command_kinds)];

    values_of_run(&run, v);
    f->gpu_throttle |= r->gpu_throttle;
    for (size_t k = FIRST_GPU; k <= LAST_GPU; k++) add_value(f, &command_kinds[k], v[k]);
}

void profile_see_gpu(profile_facts *f, const cbx_gpu *gpu)
{
    char words[CBX_GPU_THROTTLE_SIZE];

    if (!gpu) return;
    f->gpu = cbx_arena_strdup(f->run->arena, cbx_gpu_name(gpu));
    if (cbx_gpu_is_slowed(f->gpu_throttle))
        profile_remark(f, "GPU: '%s' was throttled at times: %.200s", f->gpu,
                       cbx_gpu_throttle_words(f->gpu_throttle & ~(uint64_t)CBX_GPU_THROTTLE_IDLE, words));
}

void profile_see_energy(profile_facts *f, const cbx_energy_report *e, double runs, const cbx_carbon_intensity *grid)
{
    const double carbon = grid ? 1e3 * cbx_carbon_kg(e->total_j / runs, grid->g_per_kwh, 1) : NAN;

    ADD(f, e->cpu_j / runs, "cpu_energy", "energy, CPU", "J", LOWER, "energy", "all packages of the machine");
    ADD(f, e->dram_j / runs, "dram_energy", "energy, memory", "J", LOWER, "energy", "");
    ADD(f, e->gpu_j / runs, "gpu_energy", "energy, GPU", "J", LOWER, "energy", "of the whole device");
    ADD(f, e->total_j / runs, "energy", "energy", "J", LOWER, "energy", "whole machine, including idle power");
    ADD(f, carbon, "carbon", "carbon dioxide", "g", LOWER, "energy",
        "of that energy, by the yearly mean intensity of the grid");
    if (!isnan(carbon)) {
        if (grid->source)
            profile_remark(f, "carbon: %.0f g/kWh, %s%s%s %d, %s", grid->g_per_kwh, grid->name,
                           grid->region ? ", " : "", grid->region ? grid->country : "", grid->year, grid->source);
        else
            profile_remark(f, "carbon: %.6g g/kWh, as given", grid->g_per_kwh);
    }
    if (e->cpu_why[0]) profile_remark(f, "%s", e->cpu_why);
    if (e->gpu_why[0]) profile_remark(f, "%s", e->gpu_why);
}

/* --- work --- */

static void place(profile_facts *f, const cbx_flops *w, double seconds, const cbx_roofs *roofs, size_t last_axis)
{
    static const profile_kind kinds[] = {
        { "intensity", "intensity", "flop/B", INFO, "work", "operations per byte" },
        { "efficiency", "share of the roofline", "%", CBX_DIRECTION_HIGHER, "work",
          "of the bound that applies, for one core" },
        { "alignment", "alignment of rows", "1", INFO, "work", "1: rows of a multiple of 128 elements" },
    };
    double bytes = isnan(w->bytes_least) ? w->bytes : w->bytes_least; /* words:ok */
    cbx_err why = CBX_ERR_INIT;
    cbx_roofline r;

    if (isnan(bytes) || isnan(w->flop)) {
        profile_remark(f, "no roofline: the %s are unknown", isnan(w->flop) ? "operations" : "bytes");
        return;
    }
    if (cbx_roofline_place(roofs, w->flop, bytes, seconds, bytes, &r, &why)) {
        profile_remark(f, "no roofline: %.250s", why.message);
        return;
    }
    if (isfinite(r.intensity)) add_value(f, &kinds[0], r.intensity);
    add_value(f, &kinds[1], 100 * r.efficiency);
    profile_remark(
        f, "bound by %s (%s), ridge at %.6g flop/B%s", r.bound == CBX_BOUND_MEMORY ? "memory" : "arithmetic",
        r.level->name, r.ridge,
        r.beyond_roof ? "; above the roofline: the counted work or bytes are wrong, or several cores were used" : "");
    f->is_placed = true;
    f->roof = *r.level;
    f->roofline = r;
    f->roofline.level = &f->roof;
    f->alignment = cbx_roofline_alignment(last_axis);
    add_value(f, &kinds[2], f->alignment);
    cbx_roofline_advise(&r, last_axis, &f->hints);
    for (size_t i = 0; i < f->hints.n; i++) profile_remark(f, "try: %s", f->hints.hint[i]);
}

void profile_see_work(profile_facts *f, const cbx_flops *w, double seconds, const cbx_roofs *roofs, size_t last_axis)
{
    ADD(f, w->flop, "flop", "operations", "1", INFO, "work", "floating-point, of a call");
    ADD(f, w->flop / seconds, "flop_per_s", "rate", "flop/s", CBX_DIRECTION_HIGHER, "work", "");
    ADD(f, w->transcendental, "transcendental", "functions", "1", INFO, "work",
        "sqrt, exp, sin ... of a call, not among the operations");
    ADD(f, w->int_op, "int_op", "integer operations", "1", INFO, "work", "");
    ADD(f, w->bytes, "bytes", "bytes", "B", INFO, "work", "read and written if each operation is a separate pass");
    ADD(f, w->bytes_least, "bytes_least", "bytes, minimum", "B", INFO, "work", "operands and results"); /* words:ok */
    f->work_source = cbx_flops_source_name(w->source);
    f->work_flags = w->flags;
    profile_remark(f, "work: by %s%s%s%s%s%s%s", cbx_flops_source_name(w->source), w->events[0] ? ", " : "", w->events,
                   w->flags & CBX_COST_NOMINAL ? ", in part by formula" : "",
                   !(w->flags & CBX_COST_LOWER_BOUND) ? ""
                   : w->source == CBX_FLOPS_XLA ? ", at least: a loop counts once, a library call for little or nothing"
                                                : ", at least: a loop counts once",
                   w->flags & CBX_COST_DEAREST ? ", of branches the most expensive" : "",
                   w->source == CBX_FLOPS_NONE ? ": unknown; define NAME_work(void *, double *, double *)" : "");
    if (w->why[0]) profile_remark(f, "work: no better source: %.250s", w->why);
    if (roofs) place(f, w, seconds, roofs, last_axis);
}

/* --- memory --- */

void profile_see_memory(profile_facts *f, const cbx_memory_of_call *m)
{
    ADD(f, m->usage_mb, "memory_usage", "memory of a call", "MiB", LOWER, "memory",
        "its peak over what was resident before");
    ADD(f, m->retained_mb, "memory_retained", "memory not freed", "MiB", INFO, "memory",
        "free memory given back to the kernel");
    for (size_t i = 0; i < m->nhints; i++) profile_remark(f, "memory: a call %s", m->hint[i]);
    if (!m->peak_by_kernel)
        profile_remark(f, "memory: the peak is a lower bound, since the kernel's high-water mark cannot be reset");
}

/* --- launches --- */

static void see_series(profile_facts *f, const cbx_launch_times *t, size_t n, const profile_kind *kinds, size_t nkinds)
{
    double *x = cbx_arena_calloc(f->run->arena, n, sizeof *x);

    for (size_t k = 0; k < nkinds; k++) {
        for (size_t i = 0; i < n; i++)
            x[i] = k == 0 ? fmax(0, t[i].first_s - t[i].steady_s) : k == 1 ? t[i].first_s : t[i].steady_s;
        add_samples(f, &kinds[k], x, n);
    }
}

void profile_see_launches(profile_facts *f, const cbx_launch_times *cold, const cbx_launch_times *warm, size_t n)
{
    static const profile_kind cold_calls[] = {
        { "compile_time", "compiling, cold", "s", LOWER, "compilation", "first call minus a later one" },
        { "first_call", "first call, cold", "s", LOWER, "compilation", "" },
        { "call_time", "later call, cold", "s", LOWER, "time", "" },
    };
    static const profile_kind warm_calls[] = {
        { "warm_compile_time", "compiling, warm", "s", LOWER, "compilation",
          "with a cache filled by an earlier launch" },
        { "warm_first_call", "first call, warm", "s", LOWER, "compilation", "" },
        { "warm_call_time", "later call, warm", "s", LOWER, "time", "" },
    };
    static const profile_kind launch[] = {
        { "cold_launch", "launch, cold cache", "s", LOWER, "compilation", "" },
        { "warm_launch", "launch, warm cache", "s", LOWER, "compilation", "" },
    };
    static const profile_kind saved = { "cache_saving", "saved by the cache", "s",
                                        INFO,           "compilation",        "cold minus warm" };

    const bool is_command = !((const profile_args *)f->run->args)->plugin;
    const profile_kind *kinds[] = { is_command ? &launch[0] : cold_calls, is_command ? &launch[1] : warm_calls };

    f->samples = n;
    f->calls_per_sample = 1;
    see_series(f, cold, n, kinds[0], is_command ? 1 : 3);
    if (!warm) return;
    see_series(f, warm, n, kinds[1], is_command ? 1 : 3);
    add_value(f, &saved, profile_fact_value(f, kinds[0]->name) - profile_fact_value(f, kinds[1]->name));
}

/* --- the three forms --- */

static const char *format_value(const char *unit, double v, char buf[CBX_FORMAT_SIZE])
{
    if (strcmp(unit, "s") == 0) return cbx_format_seconds(v, buf);
    if ((strcmp(unit, "1") == 0 || strcmp(unit, "B") == 0) && v == floor(v))
        snprintf(buf, CBX_FORMAT_SIZE, "%.0f", v);
    else
        snprintf(buf, CBX_FORMAT_SIZE, "%.6g", v);
    return buf;
}

void profile_print(const profile_facts *f)
{
    char value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE], shown[64];

    print_painted(PAINT_STRONG, "%s", f->subject);
    printf(": %zu %s", f->samples,
           strcmp(f->kind, "command") == 0    ? "runs"
           : strcmp(f->kind, "launches") == 0 ? "launches"
                                              : "samples");
    if (f->calls_per_sample > 1) printf(" of %zu calls", f->calls_per_sample);
    putchar('\n');
    print_painted(PAINT_FAINT, "%-22s %14s  %s\n", "", "median", "[95 % interval]");
    for (size_t i = 0; i < f->count; i++) {
        const profile_fact *fact = &f->fact[i];
        const char *unit = fact->kind.unit;
        bool plain = strcmp(unit, "s") == 0 || strcmp(unit, "1") == 0;
        snprintf(shown, sizeof shown, "%s%s%s", format_value(unit, fact->value, value), plain ? "" : " ",
                 plain ? "" : unit);
        printf("%-22s %*s", fact->kind.label, 14 + (strstr(shown, "\xC2\xB5") != NULL),
               shown); /* µ: two bytes, one column */
        if (!isnan(fact->lower))
            printf("  [%s, %s]", format_value(unit, fact->lower, lower), format_value(unit, fact->upper, upper));
        printf("\n");
    }
    for (size_t i = 0; i < f->nremarks; i++) print_painted(PAINT_FAINT, "%s%s\n", i ? "" : "\n", f->remark[i]);
    if (f->graph) profile_print_graph(f->graph);
}

/* Where the numbers of work come from, and how exact they are. */
static cbx_json *work_json(const profile_facts *f)
{
    return cbx_json_object(J_TEXT("source", f->work_source), J_BOOL("nominal", f->work_flags & CBX_COST_NOMINAL),
                           J_BOOL("at_least", f->work_flags & CBX_COST_LOWER_BOUND),
                           J_BOOL("dearest_branch", f->work_flags & CBX_COST_DEAREST));
}

static cbx_json *gpu_json(const profile_facts *f)
{
    const char *words;
    uint64_t bit;

    cbx_json *o = cbx_json_object(J_TEXT("name", f->gpu), J_BOOL("slowed", cbx_gpu_is_slowed(f->gpu_throttle)));
    cbx_json *reasons = cbx_json_set_array(o, "throttle_reasons");
    for (size_t i = 0; (words = cbx_gpu_throttle_at(i, &bit)); i++)
        if (f->gpu_throttle & bit) cbx_json_push_string(reasons, words);
    return o;
}

static cbx_json *roofline_json(const profile_facts *f)
{
    const cbx_roofline *r = &f->roofline;
    cbx_json *o = cbx_json_object(J_TEXT("bound", r->bound == CBX_BOUND_MEMORY ? "memory" : "compute"),
                                  J_TEXT("level", r->level->name), J_NUMBER("intensity", r->intensity),
                                  J_NUMBER("ridge", r->ridge), J_NUMBER("flop_share", r->flop_share),
                                  J_NUMBER("bytes_share", r->bytes_share), J_NUMBER("efficiency", r->efficiency),
                                  J_BOOL("beyond_roof", r->beyond_roof));

    cbx_json_put(o, J_KNOWN("alignment", f->alignment));
    cbx_json *hints = cbx_json_set_array(o, "recommendations");
    for (size_t i = 0; i < f->hints.n; i++) cbx_json_push_string(hints, f->hints.hint[i]);
    return o;
}

cbx_json *profile_json(const profile_facts *f)
{
    cbx_json *o = cbx_json_document("calibrax-profile", J_TEXT("kind", f->kind), J_TEXT("subject", f->subject),
                                    J_INT("samples", f->samples), J_INT("calls_per_sample", f->calls_per_sample));

    if (f->work_source) cbx_json_set(o, "work", work_json(f));
    if (f->is_placed) cbx_json_set(o, "roofline", roofline_json(f));
    if (f->graph) cbx_json_set(o, "graph", profile_graph_json(f->graph));
    if (f->gpu) cbx_json_set(o, "gpu", gpu_json(f));
    cbx_json *metrics = cbx_json_set_object(o, "metrics");
    for (size_t i = 0; i < f->count; i++) {
        const profile_fact *x = &f->fact[i];
        cbx_json_put(cbx_json_set_object(metrics, x->kind.name), J_TEXT("unit", x->kind.unit),
                     J_TEXT("direction", cbx_direction_name(x->kind.direction)), J_NUMBER("value", x->value),
                     J_KNOWN("lower", x->lower), J_KNOWN("upper", x->upper),
                     J_NUMBERS("samples", x->samples, x->nsamples));
    }
    cbx_json *remarks = cbx_json_set_array(o, "remarks");
    for (size_t i = 0; i < f->nremarks; i++) cbx_json_push_string(remarks, f->remark[i]);
    return o;
}

cbx_status profile_keep_run(const opt_run *run, cbx_run_builder *b, const char *root, char id[64])
{
    SCOPED(cbx_run) *r = NULL;
    cbx_status st = cbx_run_builder_freeze(b, &r, run->err);

    if (!st) st = keep_run(run, root, r, run->err);
    if (!st) snprintf(id, 64, "%s", cbx_run_id(r));
    return st;
}

cbx_status profile_keep(const profile_facts *f, const char *root, const char *name, char id[64])
{
    cbx_named_metric metrics[PROFILE_MAX_FACTS];
    const cbx_tag tags[] = { { "kind", f->kind } };
    const cbx_point point = { name, "profile", tags, CBX_LEN(tags), metrics, f->count };
    SCOPED(cbx_run_builder) *b = NULL;
    cbx_err *err = f->run->err;
    cbx_status st = cbx_run_builder_create(f->run->ctx, NULL, &b, err);

    for (size_t i = 0; i < f->count && !st; i++) {
        const profile_fact *x = &f->fact[i];
        const profile_kind *k = &x->kind;
        const cbx_priority priority = i == 0 ? CBX_PRIORITY_PRIMARY : CBX_PRIORITY_SECONDARY;
        const cbx_metric_def def = { k->name, k->unit, k->direction, k->group, priority, k->description };
        metrics[i] = (cbx_named_metric){
            k->name, { x->value, x->lower, x->upper, x->nsamples ? x->samples : NULL, x->nsamples }
        };
        st = cbx_run_builder_add_metric_def(b, &def, err);
    }
    if (!st) st = cbx_run_builder_add_point(b, &point, err);
    if (!st) st = cbx_run_builder_set_metadata(b, "profile", cbx_json_new_string(f->subject), err);
    if (!st && f->work_source) st = cbx_run_builder_set_metadata(b, "work", work_json(f), err);
    if (!st && f->is_placed) st = cbx_run_builder_set_metadata(b, "roofline", roofline_json(f), err);
    if (!st && f->gpu) st = cbx_run_builder_set_metadata(b, "gpu", gpu_json(f), err);
    if (!st && f->trace) st = cbx_run_builder_set_metadata(b, "trace", cbx_json_new_string(f->trace), err);
    return st ? st : profile_keep_run(f->run, b, root, id);
}
