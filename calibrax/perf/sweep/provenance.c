/**
 * Where a row comes from: provenance (spec of the row, additive to v1).
 * Nothing here names a host, a user or a path.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/version.h"
#include "calibrax/perf/sweep/pilot.h"
#include "calibrax/perf/sweep/put_json.h"
#include "calibrax/perf/sweep/session.h"

static cbx_json *revision_json(void)
{
    cbx_json *o = cbx_json_new_object();
    char sha[80];
    size_t len = (size_t)snprintf(sha, sizeof(sha), "%s", cbx_revision());
    bool dirty = len > 0 && len < sizeof(sha) && sha[len - 1] == '+';

    if (!o) return NULL;
    if (dirty) sha[len - 1] = 0;
    cbx_json_set_string(o, "sha", sha);
    cbx_json_set_bool(o, "dirty", dirty);
    return o;
}

static cbx_json *release_json(void)
{
    cbx_json *o = cbx_json_new_object();
    if (!o) return NULL;
    cbx_json_set_string(o, "name", "calibrax");
    cbx_json_set_string(o, "version", cbx_version());
    cbx_json_set_string(o, "revision", cbx_revision());
    cbx_json_set_string(o, "build", cbx_build());
    return o;
}

static cbx_json *probe_json(const cbx__session *s)
{
    cbx_json *o = cbx_json_new_object(), *pipes = cbx_json_new_object(), *levels = cbx_json_new_array();

    for (int i = 0; pipes && i < CBX_PIPE_COUNT; i++)
        cbx__json_put(pipes, cbx_pipe_name((cbx_pipe)i), cbx__json_doubles(s->probe.pipe_ops_per_s[i], 2));
    for (int i = 0; levels && i < s->probe.nlevels; i++) {
        const cbx_level_rate *l = &s->probe.level[i];
        cbx_json *j = cbx_json_new_object();
        if (!j) break;
        cbx_json_set_string(j, "name", l->name);
        cbx_json_set_int(j, "bytes", (int64_t)l->bytes);
        cbx_json_set_double(j, "read_bytes_per_s", l->read_bytes_per_s);
        cbx_json_set_double(j, "copy_bytes_per_s", l->copy_bytes_per_s);
        cbx_json_push(levels, j);
    }
    if (!o) {
        cbx_json_unref(pipes);
        cbx_json_unref(levels);
        return NULL;
    }
    cbx_json_set_string(o, "instruction_set", s->probe.instruction_set);
    cbx__json_put(o, "pipe_ops_per_s_f32_f64", pipes);
    cbx__json_put(o, "levels", levels);
    return o;
}

static cbx_json *variant_json(const cbx__attempt *a)
{
    cbx_json *o = cbx_json_new_object(), *env = cbx_json_new_object();

    if (!o || !env) {
        cbx_json_unref(o);
        cbx_json_unref(env);
        return NULL;
    }
    for (size_t i = 0; a->settings && i < a->settings->nenv; i++) {
        cbx_json_set_string(env, a->settings->env[i].name, a->settings->env[i].value);
    }
    cbx_json_set_string(o, "name", a->variant);
    cbx_json_set(o, "env", env);
    cbx_json_set_string(o, "why", a->settings ? a->settings->why : NULL);
    return o;
}

/* {"clocks_disagree":2}: causes of the launches that were made again. */
static cbx_json *retry_reasons_json(const cbx__attempt *a)
{
    cbx_json *o = cbx_json_new_object();

    for (const cbx__launch *l = a->first; o && l; l = l->next) {
        const char *cause = cbx_failure_reason(l->record.failure);
        if (l->unhealthy && !l->record.failure) cause = l->unhealthy;
        if (l->next && l->next->retry) cbx_json_set_int(o, cause, cbx_json_get_int(o, cause, 0) + 1);
    }
    return o;
}

/* What the first launches said, and what followed. */
static cbx_json *pilot_json(const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    cbx_json *o = cbx_json_new_object();

    if (!o) return NULL;
    cbx_json_set_int(o, "pilot_launches", (int64_t)a->pilot.launches);
    if (a->pilot.launches) {
        cbx_json_set_double(o, "mean_s", a->pilot.mean_s);
        cbx_json_set_double(o, "launch_variation", a->pilot.launch_cv);
        cbx_json_set_double(o, "epoch_variation", a->pilot.epoch_cv);
        cbx_json_set_double(o, "launch_cost_s", a->pilot.launch_s);
        cbx_json_set_double(o, "epoch_cost_s", a->pilot.epoch_s);
        cbx_json_set_int(o, "best_epochs", (int64_t)a->pilot.best_epochs);
    }
    if (a->pilot.needed) cbx_json_set_int(o, "launches_needed", (int64_t)a->pilot.needed);
    cbx__json_put_or_null(o, "precision", s->goal.half_width > 0 ? cbx_json_new_double(s->goal.half_width) : NULL);
    cbx_json_set_bool(o, "decide", s->goal.decide);
    cbx_json_set_string(o, "limit", p->limit);
    return o;
}

/* Where it was looked at, and at which level each row's intervals are. */
static cbx_json *looks_json(const cbx__point *p, const cbx__attempt *a)
{
    cbx_json *o = p->looks.count ? cbx_json_new_object() : NULL, *pairs = cbx_json_new_array();

    for (size_t j = 0; pairs && j < p->looks.count; j++)
        cbx_json_push(pairs, cbx_json_new_int((int64_t)p->looks.pairs[j]));
    if (!o) {
        cbx_json_unref(pairs);
        return NULL;
    }
    cbx__json_put(o, "pairs", pairs);
    cbx_json_set_int(o, "stopped_at", (int64_t)p->looks.pairs[a->look]);
    cbx_json_set_double(o, "level", cbx_looks_level(&p->looks, a->look));
    cbx_json_set_double(o, "error", p->looks.error);
    return o;
}

static cbx_json *schedule_json(const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    cbx_json *o = cbx_json_new_object();

    if (!o) return NULL;
    cbx_json_set_string(o, "order", "williams");
    cbx_json_set_int(o, "seed", (int64_t)s->opts->seed);
    cbx_json_set_int(o, "rounds", (int64_t)p->rounds);
    cbx_json_set_int(o, "launches_asked", (int64_t)s->launches);
    cbx_json_set_int(o, "launches_planned", (int64_t)p->counts.launches);
    cbx_json_set_int(o, "epochs_asked", (int64_t)s->epochs);
    cbx_json_set_int(o, "epochs_planned", (int64_t)cbx__epochs_of(p, a));
    cbx_json_set_int(o, "warmup", (int64_t)s->warmup);
    cbx_json_set_int(o, "iterations", (int64_t)a->iterations);
    cbx_json_set_int(o, "retries", (int64_t)a->retries);
    cbx__json_put(o, "retry_reasons", retry_reasons_json(a));
    cbx_json_set_double(o, "epoch_target_s", s->epoch_target_s);
    cbx_json_set_double(o, "budget_s", s->budget_s);
    if (isfinite(p->share_s)) cbx_json_set_double(o, "point_budget_s", p->share_s);
    cbx__json_put(o, "pilot", pilot_json(s, p, a));
    cbx__json_put_or_null(o, "looks", looks_json(p, a));
    cbx_json_set_string(o, "stopped_because", a->stopped_because);
    if (p->note[0]) cbx_json_set_string(o, "note", p->note);
    return o;
}

static cbx_json *resource_json(const cbx__session *s, const cbx__resource *r)
{
    cbx_json *o = cbx_json_new_object();

    if (!o) return NULL;
    cbx_json_set_string(o, "platform", s->platforms[r->queue]);
    cbx__json_put_or_null(o, "device", r->device ? cbx_json_new_int(r->device->number) : NULL);
    cbx__json_put(o, "cpus", cbx__json_ints(r->cores.cpus, r->cores.ncpus));
    cbx__json_put(o, "cores", cbx__json_ints(r->cores.cores, r->cores.ncores));
    return o;
}

/* Who had which cores and devices; core_groups are those of CPU slots. */
static cbx_json *scheduler_json(const cbx__session *s)
{
    cbx_json *o = cbx_json_new_object(), *groups = cbx_json_new_array(), *resources = cbx_json_new_array();
    const cbx__resources *r = s->resources;

    if (!o) {
        cbx_json_unref(groups);
        cbx_json_unref(resources);
        return NULL;
    }
    for (size_t i = 0; r && i < r->n; i++) {
        if (groups && !r->list[i].device)
            cbx_json_push(groups, cbx__json_ints(r->list[i].cores.cpus, r->list[i].cores.ncpus));
        if (resources) cbx_json_push(resources, resource_json(s, &r->list[i]));
    }
    cbx_json_set_int(o, "cpu_slots", r ? (int64_t)r->slots : 1);
    cbx_json_set_int(o, "n_gpus", r ? (int64_t)r->gpus : 0);
    cbx_json_set_int(o, "max_parallel", r ? (int64_t)r->parallel : 1);
    cbx__json_put(o, "core_groups", groups);
    cbx__json_put(o, "resources", resources);
    cbx_json_set_bool(o, "smt", r && r->topology.smt);
    cbx_json_set_double(o, "gpu_settle_s", s->opts->gpu_settle_s);
    return o;
}

/* One array for each layout factor and place, an entry a launch in the order run; and whether the kernel adds its own draw to code, stack and heap. */
static cbx_json *layout_json(const cbx__attempt *a)
{
    static const char *const keys[] = { "env_pad_bytes", "stack_pad_bytes", "heap_pad_bytes", "position" };
    const int placed_anew = cbx__layout_placed_anew();
    cbx_json *o = cbx_json_new_object();

    for (size_t k = 0; o && k < CBX_LEN(keys); k++) {
        cbx_json *list = cbx_json_new_array();
        for (const cbx__launch *l = a->first; list && l; l = l->next) {
            const size_t v[] = { l->layout.env_pad_bytes, l->layout.stack_pad_bytes, l->layout.heap_pad_bytes,
                                 l->position };
            cbx_json_push(list, cbx_json_new_int((int64_t)v[k]));
        }
        cbx__json_put(o, keys[k], list);
    }
    if (o) cbx__json_put_or_null(o, "placed_anew", placed_anew < 0 ? NULL : cbx_json_new_bool(placed_anew == 1));
    return o;
}

static cbx_json *words_json(const cbx_sandbox_facts *f, bool wanted)
{
    cbx_json *a = cbx_json_new_array();
#define PUSH_PART(member, word, lack, remedy)                                                                          \
    if (a && f->member == wanted) cbx_json_push(a, cbx_json_new_string(word));
    CBX_SANDBOX_PARTS(PUSH_PART)
#undef PUSH_PART
    return a;
}

/* What was in force in every launch whose launcher said so. */
static cbx_json *sandbox_json(const cbx__session *s, const cbx__attempt *a)
{
    cbx_sandbox_facts all = { .landlock = 0 };
    cbx_json *o = cbx_json_new_object();
    size_t n = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) {
        const cbx_sandbox_facts *f = &l->record.sandbox;
        if (!strcmp(l->record.phase, "spawn")) continue; /* it did not come so far */
        if (n++ == 0) all = *f;
#define AND_PART(member, word, lack, remedy) all.member = all.member && f->member;
        CBX_SANDBOX_PARTS(AND_PART)
#undef AND_PART
    }
    if (!o) return NULL;
    cbx_json_set_string(o, "mode", cbx_sandbox_mode_word(s->sandbox.mode));
    cbx__json_put(o, "enforced", words_json(&all, true));
    cbx__json_put(o, "missing", words_json(&all, false));
    cbx_json_set_int(o, "landlock", all.landlock);
    cbx_json_set_int(o, "granted_read", (int64_t)s->sandbox.nreadable);
    cbx_json_set_int(o, "granted_write", (int64_t)s->sandbox.nwritable);
    return o;
}

/* A number, or null and the reason beside it. */
static void put_known(cbx_json *o, const char *key, double v, const char *why)
{
    char name[64];

    cbx__json_put_or_null(o, key, isnan(v) ? NULL : cbx_json_new_double(v));
    snprintf(name, sizeof name, "%s_reason", key);
    if (isnan(v)) cbx_json_set_string(o, name, why);
}

static cbx_json *health_json(const cbx__attempt *a)
{
    uint64_t steal = 0, voluntary = 0, involuntary = 0, throttles = 0;
    double load = NAN, apart = NAN, pressure = NAN, waited = 0, wall = 0;
    size_t confined = 0, contended = 0, again = 0, threads = 0, unhealthy = 0;
    bool counts_heat = a->first != NULL;
    cbx_json *o = cbx_json_new_object();

    if (!o) return NULL;
    for (const cbx__launch *l = a->first; l; l = l->next) {
        const cbx_launch_record *r = &l->record;
        steal += r->steal_ticks;
        voluntary += r->voluntary_switches;
        involuntary += r->involuntary_switches;
        load = fmax(load, r->load_1min);
        pressure = fmax(pressure, r->pressure_percent);
        contended += r->contended;
        unhealthy += l->unhealthy && !isnan(l->median_s);
        confined += r->confined;
        again += r->measured_again;
        if (r->threads_seen > threads) threads = r->threads_seen;
        counts_heat = counts_heat && r->throttles != UINT64_MAX;
        if (counts_heat) throttles += r->throttles;
        for (size_t e = 0; e < r->epochs; e++) {
            waited += r->wait_ns[e];
            wall += r->outer_ns[e] * (double)r->iterations;
        }
        for (size_t e = 0; e < r->epochs; e++) {
            if (r->epoch_ns[e] > 0) apart = fmax(apart, fabs(r->outer_ns[e] / r->epoch_ns[e] - 1));
        }
    }
    cbx_json_set_int(o, "steal_ticks", (int64_t)steal);
    cbx_json_set_int(o, "voluntary_switches", (int64_t)voluntary);
    cbx_json_set_int(o, "involuntary_switches", (int64_t)involuntary);
    put_known(o, "load_1min_max", load, "/proc/loadavg cannot be read");
    put_known(o, "clocks_apart_max", apart, "no epoch was timed");
    put_known(o, "cpu_pressure_percent_max", pressure, "the kernel reports no pressure");
    cbx_json_set_int(o, "confined_launches", (int64_t)confined);
    cbx_json_set_int(o, "contended_launches", (int64_t)contended);
    cbx_json_set_int(o, "unhealthy_launches", (int64_t)unhealthy); /* that count all the same */
    cbx_json_set_int(o, "epochs_measured_again", (int64_t)again);
    put_known(o, "waited_share", wall > 0 ? waited / wall : NAN, "no epoch was timed");
    cbx__json_put_or_null(o, "threads_seen_max", threads ? cbx_json_new_int((int64_t)threads) : NULL);
    cbx__json_put_or_null(o, "throttles", counts_heat ? cbx_json_new_int((int64_t)throttles) : NULL);
    return o;
}

/* The limit that workers had, who held it, and the most that a worker's tree was seen to have. */
static cbx_json *memory_json(const cbx__attempt *a)
{
    cbx_json *o = cbx_json_new_object();
    double peak = NAN;

    if (!o) return NULL;
    for (const cbx__launch *l = a->first; l; l = l->next) peak = fmax(peak, l->record.tree_peak_bytes);
    cbx_json_set_double(o, "limit_bytes", a->last ? a->last->record.memory_limit_bytes : NAN);
    cbx_json_set_string(o, "limit_by", a->last ? a->last->record.memory_limit_by : NULL);
    cbx_json_set_double(o, "tree_peak_bytes", peak);
    return o;
}

/* What the worker said of itself last. */
static const cbx_json *hello_of(const cbx__attempt *a)
{
    const cbx_json *v = NULL;
    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (l->record.versions) v = l->record.versions;
    }
    return v;
}

static void put_worker(cbx_json *o, const cbx_json *hello)
{
    cbx_json *worker = hello ? cbx_json_copy(hello) : NULL, *versions;

    if (worker) {
        cbx_json_remove(worker, "op");
        versions = cbx_json_get(worker, "versions");
        cbx__json_put_or_null(o, "versions", versions ? cbx_json_copy(versions) : NULL);
    }
    cbx__json_put_or_null(o, "worker", worker);
}

static cbx_json *device_json(const cbx__point *p, const cbx__attempt *a)
{
    cbx_json *o = cbx_json_new_object();
    if (!o) return NULL;
    cbx_json_set_string(o, "kind", strcmp(a->platform, "cpu") ? "gpu" : "cpu");
    cbx_json_set_string(o, "platform", a->platform);
    if (p->device) {
        cbx_json_set_int(o, "number", p->device->number);
        cbx_json_set_string(o, "name", p->device->name);
    }
    return o;
}

static cbx_json *oracle_json(const cbx__point *p)
{
    cbx_json *o = cbx_json_new_object();
    if (!o) return NULL;
    cbx_json_set_string(o, "kind", "fp64_full");
    cbx_json_set_string(o, "inputs_hash", p->workload_hash[0] ? p->workload_hash : NULL);
    cbx_json_set_bool(o, "cached", p->oracle_cached);
    return o;
}

static bool runs_here(const cbx__session *s, const cbx__attempt *a)
{
    return s->opts->in_process && !strcmp(a->baseline->provider, "native");
}

/* What a launch finds compiled.  A confined worker has a home folder of its own, which is empty.  Without that frameworks keep what they
 * compile where the user's other programs do; JAX alone is told to keep nothing, and C and NumPy compile nothing. */
static const char *compile_cache_of(const cbx__session *s, const cbx__attempt *a)
{
    static const char *const keep_nothing[] = { "native", "numpy", "scipy", "jax" };

    if (s->sandbox.mode != CBX_SANDBOX_OFF || runs_here(s, a)) return "cold";
    for (size_t i = 0; i < CBX_LEN(keep_nothing) && !strcmp(a->platform, "cpu"); i++)
        if (!strcmp(a->baseline->provider, keep_nothing[i])) return "cold";
    return "shared";
}

cbx_json *cbx__provenance_make(const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    char now[CBX_TIME_SIZE];
    cbx_json *o = cbx_json_new_object();

    if (!o) return NULL;
    cbx_json_set_string(o, "timestamp", cbx_time_format_iso(s->started_us, now));
    cbx__json_put(o, "tool", release_json());
    cbx__json_put(o, "bench", revision_json());
    cbx__json_put_or_null(o, "machine", s->machine ? cbx_json_copy(s->machine) : NULL);
    cbx__json_put(o, "device", device_json(p, a));
    cbx__json_put_or_null(o, "probe", s->have_probe ? probe_json(s) : NULL);
    put_worker(o, hello_of(a));
    cbx_json_set_string(o, "binary_hash",
                        !strcmp(a->baseline->provider, "native") && s->worker_hash[0] ? s->worker_hash : NULL);
    cbx_json_set_string(o, "measurement_isolation", runs_here(s, a) ? "in_process" : "subprocess");
    cbx__json_put(o, "cpu_affinity", cbx__json_ints(p->cores, p->ncores));
    cbx_json_set_int(o, "threads", s->threads);
    cbx_json_set_string(o, "precision_policy", cbx__policy_applied(a->baseline->provider, s->precision));
    cbx__json_put(o, "policy", cbx__policy_json(a->baseline->provider, a->platform, s->threads, s->precision, true));
    cbx__json_put(o, "memory", memory_json(a));
    cbx__json_put(o, "scheduler", scheduler_json(s));
    cbx_json_set_string(o, "coverage_mode", s->opts->skip_slow ? "fast" : "full");
    cbx_json_set_string(o, "compile_cache", compile_cache_of(s, a));
    cbx__json_put(o, "variant", variant_json(a));
    cbx__json_put(o, "schedule", schedule_json(s, p, a));
    cbx__json_put(o, "layout", layout_json(a));
    cbx__json_put_or_null(o, "sandbox", runs_here(s, a) || !a->first ? NULL : sandbox_json(s, a));
    cbx__json_put(o, "health", health_json(a));
    cbx__json_put(o, "oracle", oracle_json(p));
    cbx_json_set_bool(o, "resumed", p->resumed);
    return o;
}
