/*
 * The powercap tree: intel-rapl:P is a package or psys, intel-rapl:P:D a domain of it.  AMD's
 * driver uses the same names.  intel-rapl-mmio:* counts the same packages again and is left out.
 */
#include "calibrax/profiling/energy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/profiling/procfs.h"
#include "calibrax/profiling/ticker.h"

typedef struct counter {
    cbx_energy_domain domain;
    char path[256];
    double range_uj, last_uj, sum_uj;
    bool lost;
} counter;

struct cbx_energy_meter {
    cbx_allocator al;
    cbx_energy_opts o;
    uint64_t start_ns, last_ns;
    counter counters[CBX_ENERGY_MAX_DOMAINS];
    size_t ncounters;
    char cpu_why[256], gpu_why[256];
    double gpu_first_j, gpu_last_j, gpu_sum_j, gpu_last_w; /* counter; integrated */
    bool gpu_counts, gpu_seen;
};

static uint64_t now(const cbx_energy_meter *m) { return m->o.clock_ns ? m->o.clock_ns() : cbx_clock_ns(); }

static bool read_number(const char *path, double *out)
{
    char text[64], *end;
    if (!cbx__proc_read(path, text, sizeof text)) return false;
    double v = strtod(text, &end);
    if (end == text || !(v >= 0)) return false;
    *out = v;
    return true;
}

/* --- RAPL --- */

static bool read_name(const char *root, const char *entry, char *name, size_t size)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s/name", root, entry);
    if (n < 0 || (size_t)n >= sizeof path || !cbx__proc_read(path, name, size)) return false;
    name[strcspn(name, "\n")] = '\0';
    return true;
}

static void add_counter(cbx_energy_meter *m, const char *root, const char *entry)
{
    counter *c = &m->counters[m->ncounters];
    const char *second = strchr(entry + 11, ':');
    char name[48], path[512], parent[32], of[20];

    if (m->ncounters == CBX_ENERGY_MAX_DOMAINS || !read_name(root, entry, name, sizeof name)) return;
    *c = (counter){ .range_uj = NAN };
    if (snprintf(c->path, sizeof c->path, "%s/%s/energy_uj", root, entry) >= (int)sizeof c->path) return;
    if (access(c->path, R_OK) != 0) {
        if (!m->cpu_why[0] && (errno == EACCES || errno == EPERM))
            snprintf(m->cpu_why, sizeof m->cpu_why, "'%.100s' may not be read: run as root, or 'chmod a+r' these files",
                     c->path);
        return;
    }
    if (!read_number(c->path, &c->last_uj)) return;
    snprintf(path, sizeof path, "%s/%s/max_energy_range_uj", root, entry);
    read_number(path, &c->range_uj);
    c->domain.kind = strncmp(name, "package", 7) == 0 ? CBX_ENERGY_PACKAGE
                     : strcmp(name, "dram") == 0      ? CBX_ENERGY_DRAM
                     : strcmp(name, "psys") == 0      ? CBX_ENERGY_PLATFORM
                                                      : CBX_ENERGY_PART;
    snprintf(c->domain.name, sizeof c->domain.name, "%.40s", name);
    if (second && (size_t)(second - entry) < sizeof parent) { /* a domain of a package: "package-0/dram" */
        snprintf(parent, sizeof parent, "%.*s", (int)(second - entry), entry);
        if (read_name(root, parent, of, sizeof of))
            snprintf(c->domain.name, sizeof c->domain.name, "%s/%.24s", of, name);
    }
    m->ncounters++;
}

/* --- the device --- */

static void read_gpu(cbx_energy_meter *m, double seconds)
{
    cbx_gpu_reading r;
    cbx_err err = CBX_ERR_INIT;

    if (!m->o.gpu || m->gpu_why[0]) return;
    if (cbx_gpu_read(m->o.gpu, &r, &err)) {
        snprintf(m->gpu_why, sizeof m->gpu_why, "%.250s", err.message);
        return;
    }
    if (!m->gpu_seen) {
        m->gpu_seen = true;
        m->gpu_counts = !isnan(r.energy_j);
        m->gpu_first_j = r.energy_j;
        if (!m->gpu_counts && isnan(r.power_w))
            snprintf(m->gpu_why, sizeof m->gpu_why, "'%.90s' reports neither energy nor power", cbx_gpu_name(m->o.gpu));
    } else {
        m->gpu_sum_j += 0.5 * (m->gpu_last_w + r.power_w) * seconds;
    }
    m->gpu_last_j = r.energy_j;
    m->gpu_last_w = r.power_w;
}

/* --- all of it --- */

void cbx_energy_meter_see(cbx_energy_meter *m)
{
    uint64_t t = now(m);
    double seconds = t > m->last_ns ? 1e-9 * (double)(t - m->last_ns) : 0;

    for (size_t i = 0; i < m->ncounters; i++) {
        counter *c = &m->counters[i];
        double v;
        c->lost = c->lost || !read_number(c->path, &v) || (v < c->last_uj && isnan(c->range_uj));
        if (c->lost) continue;
        c->sum_uj += v >= c->last_uj ? v - c->last_uj : v - c->last_uj + c->range_uj;
        c->last_uj = v;
    }
    read_gpu(m, seconds);
    m->last_ns = t;
}

cbx_status cbx_energy_meter_start(cbx_ctx *ctx, const cbx_energy_opts *opts, cbx_energy_meter **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_energy_opts o = CBX_ENERGY_OPTS_INIT;
    cbx_energy_meter *m;

    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_energy_opts", err);
    if (!st) st = cbx_check_range("rapl_update_s", o.rapl_update_s, 0, INFINITY, err);
    if (!st) st = cbx_check_range("gpu_update_s", o.gpu_update_s, 0, INFINITY, err);
    if (st) return st;
    if (o.rapl_update_s == 0) o.rapl_update_s = 1e-3;
    if (o.gpu_update_s == 0) o.gpu_update_s = 0.1;
    m = cbx_mem_zalloc(al, sizeof *m);
    if (!m) return cbx_fail_nomem(err, "an energy meter");
    m->al = *al;
    m->o = o;
    if (!o.gpu) snprintf(m->gpu_why, sizeof m->gpu_why, "no GPU was given to the meter");
    const char *root = m->o.powercap ? m->o.powercap : "/sys/class/powercap", *const * names;
    size_t n = 0;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    st = cbx_dir_list(ctx, root, NULL, &arena, &names, &n, err);
    for (size_t i = 0; i < n && !st; i++)
        if (strncmp(names[i], "intel-rapl:", 11) == 0) add_counter(m, root, names[i]);
    if (m->ncounters == 0 && !m->cpu_why[0])
        snprintf(
            m->cpu_why, sizeof m->cpu_why,
            "no RAPL counters in '%.100s': load the module intel_rapl_common, or ask the host of a virtual machine",
            root);
    if (st == CBX_ENOMEM) {
        cbx_mem_free(al, m, sizeof *m);
        return st;
    }
    m->o.powercap = NULL; /* the caller's text */
    m->start_ns = m->last_ns = now(m);
    cbx_energy_meter_see(m);
    for (size_t i = 0; i < m->ncounters; i++) m->counters[i].sum_uj = 0;
    *out = m;
    return CBX_OK;
}

void cbx_energy_meter_free(cbx_energy_meter *m)
{
    if (!m) return;
    cbx_mem_free(&m->al, m, sizeof *m);
}

static void refuse_short(double seconds, double update_s, const char *what, double *j, char why[256])
{
    if (isnan(*j) || seconds >= CBX_ENERGY_MIN_UPDATES * update_s) return;
    *j = NAN;
    snprintf(why, 256, "%.3g s are too short for %s, which updates every %.3g s: measure at least %.3g s", seconds,
             what, update_s, CBX_ENERGY_MIN_UPDATES * update_s);
}

void cbx_energy_meter_report(cbx_energy_meter *m, cbx_energy_report *out)
{
    cbx_energy_report r = { 0 };

    cbx_energy_meter_see(m);
    r.duration_s = 1e-9 * (double)(m->last_ns - m->start_ns);
    /* A domain that was lost makes its kind unknown. */
    double sums[3] = { 0, 0, 0 };
    bool any[3] = { false, false, false };
    for (size_t i = 0; i < m->ncounters; i++) {
        cbx_energy_domain *d = &r.domain[r.ndomains++];
        *d = m->counters[i].domain;
        d->joules = m->counters[i].lost ? NAN : 1e-6 * m->counters[i].sum_uj;
        if (d->kind == CBX_ENERGY_PART) continue;
        sums[d->kind] += d->joules;
        any[d->kind] = true;
    }
    r.cpu_j = any[CBX_ENERGY_PACKAGE] ? sums[CBX_ENERGY_PACKAGE] : NAN;
    r.dram_j = any[CBX_ENERGY_DRAM] ? sums[CBX_ENERGY_DRAM] : NAN;
    r.platform_j = any[CBX_ENERGY_PLATFORM] ? sums[CBX_ENERGY_PLATFORM] : NAN;
    memcpy(r.cpu_why, m->cpu_why, sizeof r.cpu_why);
    if (any[CBX_ENERGY_PACKAGE] && isnan(r.cpu_j))
        snprintf(r.cpu_why, sizeof r.cpu_why, "a RAPL counter could no longer be read");
    memcpy(r.gpu_why, m->gpu_why, sizeof r.gpu_why);
    r.gpu_w = m->gpu_seen ? m->gpu_last_w : NAN;
    r.gpu_integrated = m->gpu_seen && !m->gpu_counts;
    r.gpu_j = m->gpu_why[0] ? NAN : m->gpu_counts ? m->gpu_last_j - m->gpu_first_j : m->gpu_sum_j;
    for (size_t i = 0; i < r.ndomains; i++)
        if (r.duration_s < CBX_ENERGY_MIN_UPDATES * m->o.rapl_update_s) r.domain[i].joules = NAN;
    refuse_short(r.duration_s, m->o.rapl_update_s, "RAPL", &r.dram_j, r.cpu_why);
    refuse_short(r.duration_s, m->o.rapl_update_s, "RAPL", &r.platform_j, r.cpu_why);
    refuse_short(r.duration_s, m->o.rapl_update_s, "RAPL", &r.cpu_j, r.cpu_why);
    refuse_short(r.duration_s, m->o.gpu_update_s, "the device's sensor", &r.gpu_j, r.gpu_why);
    r.total_j = NAN;
    const double parts[] = { r.cpu_j, r.dram_j, r.gpu_j };
    for (size_t i = 0; i < CBX_LEN(parts); i++)
        if (!isnan(parts[i])) r.total_j = (isnan(r.total_j) ? 0 : r.total_j) + parts[i];
    r.mean_power_w = r.duration_s > 0 ? r.total_j / r.duration_s : NAN;
    *out = r;
}

/* --- a series --- */

struct cbx_energy_series {
    cbx_allocator al;
    cbx_energy_meter *meter;
    cbx__thinned samples;
    cbx__ticker ticker;
    bool stopped;
    cbx_energy_series_report report;
};

static bool take_sample(void *series)
{
    cbx_energy_series *s = series;
    cbx_energy_report *r = &s->report.total;

    cbx_energy_meter_report(s->meter, r);
    s->report.peak_gpu_w = fmax(s->report.peak_gpu_w, r->gpu_w);
    cbx_energy_sample *place = cbx__thinned_place(&s->samples);
    if (place) *place = (cbx_energy_sample){ r->duration_s, r->cpu_j, r->dram_j, r->platform_j, r->gpu_j, r->gpu_w };
    return true;
}

static void drop(cbx_energy_series *s)
{
    cbx_energy_meter_free(s->meter);
    cbx_mem_free(&s->al, s->samples.rows, s->samples.capacity * s->samples.size);
    cbx_mem_free(&s->al, s, sizeof *s);
}

cbx_status cbx_energy_series_start(cbx_ctx *ctx, const cbx_energy_series_opts *opts, cbx_energy_series **out,
                                   cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_energy_series_opts o = CBX_ENERGY_SERIES_OPTS_INIT;
    cbx_energy_series *s;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_energy_series_opts", err);

    if (o.interval_s == 0) o.interval_s = 0.1;
    if (o.max_samples == 0) o.max_samples = 4096;
    if (!st) st = cbx_check_range("interval_s", o.interval_s, 0.001, 3600, err);
    if (!st) st = cbx_check_range("max_samples", (double)o.max_samples, 2, 1 << 24, err);
    if (st) return st;
    s = cbx_mem_zalloc(al, sizeof *s);
    if (!s) return cbx_fail_nomem(err, "a series of energy");
    s->al = *al;
    s->report.peak_gpu_w = NAN;
    s->samples = (cbx__thinned){
        cbx_mem_alloc(al, o.max_samples * sizeof(cbx_energy_sample)), sizeof(cbx_energy_sample), o.max_samples, 0, 1, 0
    };
    if (!s->samples.rows) st = cbx_fail_nomem(err, "samples");
    if (!st) st = cbx_energy_meter_start(ctx, o.meter, &s->meter, err);
    if (!st) st = cbx__ticker_start(&s->ticker, cbx_clock_ns(), o.interval_s, take_sample, s, err);
    return CBX_FINISH(st, *out = s, drop(s));
}

static void stop(cbx_energy_series *s)
{
    if (s->stopped) return;
    cbx__ticker_stop(&s->ticker);
    s->report.samples = s->samples.rows;
    s->report.nsamples = s->samples.n;
    s->report.late = s->ticker.late;
    s->report.overhead_cpu_s = s->ticker.cpu_s;
    s->stopped = true;
}

void cbx_energy_series_stop(cbx_energy_series *s, cbx_energy_series_report *out)
{
    stop(s);
    *out = s->report;
}

void cbx_energy_series_free(cbx_energy_series *s)
{
    if (!s) return;
    stop(s);
    drop(s);
}
