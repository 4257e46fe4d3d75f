/**
 * Where a row comes from: provenance (docs/reference/row-schema.json, additive to v1).  Nothing
 * here names a host, a user or a path.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/version.h"
#include "calibrax/core/record.h"
#include "calibrax/perf/sweep/public.h"
#include "calibrax/perf/sweep/session.h"
#include "calibrax/perf/sweep/stopping.h"

/* Members of `o` named below; JSON's failures are sticky, and checked once, at the end. */

/* A count, or null. */
#define COUNT_IF(known, key, n) ((known) ? J_INT(key, n) : J_NULL(key))

static cbx_json *ints(const int *x, size_t n)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < n; i++) cbx_json_push_int(list, x[i]);
    return list;
}

static const char no_launch[] = "no launch was measured";

/* A number, or null and the reason beside it. */
#define NUMBER_OR(key, v, why) J_FINITE(key, v), J_GIVEN(key "_reason", isfinite(v) ? NULL : (why))

static void set_probe(cbx_json *o, const cbx_probe *probe)
{
    cbx_json_set_string(o, "instruction_set", probe->instruction_set);
    cbx_json *pipes = cbx_json_set_object(o, "pipe_ops_per_s_f32_f64"), *levels = cbx_json_set_array(o, "levels");
    for (int i = 0; i < CBX_PIPE_COUNT; i++)
        cbx_json_set_doubles(pipes, cbx_pipe_name((cbx_pipe)i), probe->pipe_ops_per_s[i], 2);
    for (int i = 0; i < probe->nlevels; i++) {
        const cbx_level_rate *l = &probe->level[i];
        cbx_json_put(cbx_json_push_object(levels), J_TEXT("name", l->name), J_INT("bytes", l->bytes),
                     J_NUMBER("read_bytes_per_s", l->read_bytes_per_s),
                     J_NUMBER("copy_bytes_per_s", l->copy_bytes_per_s));
    }
}

static void set_schedule(cbx_json *o, const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    cbx_json_put(o, J_TEXT("order", "williams"), J_INT("seed", s->opts->seed), J_INT("rounds", p->rounds),
                 J_INT("launches_asked", s->launches), J_INT("launches_planned", p->counts.launches),
                 J_INT("epochs_asked", s->epochs), J_INT("epochs_planned", cbx__epochs_of(p, a)),
                 J_INT("warmup", s->warmup), J_INT("iterations", a->iterations), J_INT("retries", a->retries));
    /* {"clocks_disagree":2}: causes of the launches that were repeated */
    cbx_json *reasons = cbx_json_set_object(o, "retry_reasons");
    for (const cbx__launch *l = a->first; l; l = l->next) {
        const char *cause = cbx_failure_reason(l->record.failure);
        if (l->unhealthy && !l->record.failure) cause = l->unhealthy;
        if (l->next && l->next->retry) cbx_json_set_int(reasons, cause, cbx_json_get_int(reasons, cause, 0) + 1);
    }
    cbx_json_put(o, J_NUMBER("epoch_target_s", s->epoch_target_s), J_NUMBER("budget_s", s->budget_s),
                 J_KNOWN("point_budget_s", isfinite(p->share_s) ? p->share_s : NAN));
    cbx_json *pilot = cbx_json_set_object(o, "pilot"); /* counts that the first launches gave, and the plan */
    cbx_json_set_int(pilot, "pilot_launches", (int64_t)a->pilot.launches);
    if (a->pilot.launches)
        cbx_json_put(pilot, J_NUMBER("mean_s", a->pilot.mean_s), J_NUMBER("launch_variation", a->pilot.launch_cv),
                     J_NUMBER("epoch_variation", a->pilot.epoch_cv), J_NUMBER("launch_cost_s", a->pilot.launch_s),
                     J_NUMBER("epoch_cost_s", a->pilot.epoch_s), J_INT("best_epochs", a->pilot.best_epochs));
    cbx_json_put(pilot, a->pilot.needed ? J_INT("launches_needed", a->pilot.needed) : J_NONE,
                 J_FINITE("precision", s->goal.half_width > 0 ? s->goal.half_width : NAN),
                 J_BOOL("decide", s->goal.decide), J_TEXT("limit", p->limit));
    cbx_json_set_null(o, "looks");
    if (p->looks.count) { /* the rounds at which intervals were computed, and their level */
        cbx_json *looks = cbx_json_set_object(o, "looks"), *pairs = cbx_json_set_array(looks, "pairs");
        for (size_t j = 0; j < p->looks.count; j++) cbx_json_push_int(pairs, (int64_t)p->looks.pairs[j]);
        cbx_json_put(looks, J_INT("stopped_at", p->looks.pairs[a->look]),
                     J_NUMBER("level", cbx_looks_level(&p->looks, a->look)), J_NUMBER("error", p->looks.error));
    }
    cbx_json_put(o, J_TEXT("stopped_because", a->stopped_because), J_GIVEN("note", p->note[0] ? p->note : NULL));
}

/* The cores and devices of each slot; core_groups are those of CPU slots. */
static void set_scheduler(cbx_json *o, const cbx__session *s)
{
    const cbx__resources *r = s->resources;

    cbx_json_put(o, J_INT("cpu_slots", r ? r->slots : 1), J_INT("n_gpus", r ? r->gpus : 0),
                 J_INT("max_parallel", r ? r->parallel : 1));
    cbx_json *groups = cbx_json_set_array(o, "core_groups"), *resources = cbx_json_set_array(o, "resources");
    for (size_t i = 0; r && i < r->n; i++) {
        const cbx__resource *x = &r->list[i];
        if (!x->device) cbx_json_push(groups, ints(x->cores.cpus, x->cores.ncpus));
        cbx_json_push(resources, cbx_json_object(J_TEXT("platform", s->platforms[x->queue]),
                                                 COUNT_IF(x->device, "device", x->device->number),
                                                 J_JSON("cpus", ints(x->cores.cpus, x->cores.ncpus)),
                                                 J_JSON("cores", ints(x->cores.cores, x->cores.ncores))));
    }
    cbx_json_put(o, J_BOOL("smt", r && r->topology.smt), J_NUMBER("gpu_settle_s", s->opts->gpu_settle_s));
}

/* An array for each layout factor and place, an entry a launch in the order run; and whether the
 * kernel adds its own draw to code, stack and heap. */
static void set_layout(cbx_json *o, const cbx__attempt *a)
{
    const int random = cbx__layout_is_random();
    cbx_json *env = cbx_json_set_array(o, "env_pad_bytes"), *stack = cbx_json_set_array(o, "stack_pad_bytes"),
             *heap = cbx_json_set_array(o, "heap_pad_bytes"), *position = cbx_json_set_array(o, "position");

    for (const cbx__launch *l = a->first; l; l = l->next) {
        cbx_json_push_int(env, (int64_t)l->layout.env_pad_bytes);
        cbx_json_push_int(stack, (int64_t)l->layout.stack_pad_bytes);
        cbx_json_push_int(heap, (int64_t)l->layout.heap_pad_bytes);
        cbx_json_push_int(position, (int64_t)l->position);
    }
    cbx_json_put(o, random >= 0 ? J_BOOL("placed_anew", random == 1) : J_NULL("placed_anew"));
}

/* The parts of the sandbox that were in force in every launch that started. */
static void set_sandbox(cbx_json *o, const cbx__session *s, const cbx__attempt *a)
{
    cbx_sandbox_facts all = { .landlock = 0 };
    size_t n = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) {
        const cbx_sandbox_facts *f = &l->record.sandbox;
        if (!strcmp(l->record.phase, "spawn")) continue; /* it did not come so far */
        if (n++ == 0) all = *f;
#define AND_PART(member, word, lack, remedy) all.member = all.member && f->member;
        CBX_SANDBOX_PARTS(AND_PART)
#undef AND_PART
    }
    cbx_json_set_string(o, "mode", cbx_sandbox_mode_word(s->sandbox.mode));
    cbx_json *enforced = cbx_json_set_array(o, "enforced"), *missing = cbx_json_set_array(o, "missing");
#define PUSH_PART(member, word, lack, remedy) cbx_json_push_string(all.member ? enforced : missing, word);
    CBX_SANDBOX_PARTS(PUSH_PART)
#undef PUSH_PART
    cbx_json_put(o, J_INT("landlock", all.landlock), J_INT("granted_read", s->sandbox.nreadable),
                 J_INT("granted_write", s->sandbox.nwritable));
}

static void set_health(cbx_json *o, const cbx__attempt *a)
{
    uint64_t steal = 0, voluntary = 0, involuntary = 0, throttles = 0;
    double load = NAN, apart = NAN, pressure = NAN, waited = 0, wall = 0;
    size_t confined = 0, contended = 0, again = 0, threads = 0, unhealthy = 0;
    bool counts_heat = a->first != NULL;

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
            if (r->epoch_ns[e] > 0) apart = fmax(apart, fabs(r->outer_ns[e] / r->epoch_ns[e] - 1));
        }
    }
    cbx_json_put(
        o, J_INT("steal_ticks", steal), J_INT("voluntary_switches", voluntary),
        J_INT("involuntary_switches", involuntary),
        NUMBER_OR("load_1min_max", load, a->first ? "/proc/loadavg cannot be read" : no_launch),
        NUMBER_OR("clocks_apart_max", apart, "no epoch was timed"),
        NUMBER_OR("cpu_pressure_percent_max", pressure, a->first ? "the kernel reports no pressure" : no_launch),
        J_INT("confined_launches", confined), J_INT("contended_launches", contended),
        J_INT("unhealthy_launches", unhealthy) /* that count anyway */, J_INT("epochs_measured_again", again),
        NUMBER_OR("waited_share", wall > 0 ? waited / wall : NAN, "no epoch was timed"),
        COUNT_IF(threads > 0, "threads_seen_max", threads), COUNT_IF(counts_heat, "throttles", throttles));
}

cbx_json *cbx__provenance_make(const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    /* without a sandbox frameworks keep what they compile where the user's other programs do; only
     * JAX is set to keep nothing, and C and NumPy compile nothing */
    static const char *const keep_nothing[] = { "native", "numpy", "scipy", "jax" };
    const char *provider = a->baseline->provider;
    const bool cpu = !strcmp(a->platform, "cpu"), native = !strcmp(provider, "native");
    const bool here = s->opts->in_process && native;
    bool cold = s->sandbox.mode != CBX_SANDBOX_OFF || here; /* a confined worker has an empty home folder of its own */
    const cbx_json *hello = NULL;                           /* the last description that a worker gave of itself */
    double peak = NAN;
    char now[CBX_TIME_SIZE];
    cbx_json *env;
    char sha[80];
    const size_t len = (size_t)snprintf(sha, sizeof(sha), "%s", cbx_revision());
    const bool dirty = len > 0 && len < sizeof(sha) && sha[len - 1] == '+';

    if (dirty) sha[len - 1] = 0;
    cbx_json *o = cbx_json_object(
        J_TEXT("timestamp", cbx_time_format_iso(s->started_us, now)),
        J_JSON("tool", cbx_json_object(J_TEXT("name", "calibrax"), J_TEXT("version", cbx_version()),
                                       J_TEXT("revision", cbx_revision()), J_TEXT("build", cbx_build()))),
        J_JSON("bench", cbx_json_object(J_TEXT("sha", sha), J_BOOL("dirty", dirty))), J_COPY("machine", s->machine),
        J_JSON("device", cbx_json_object(J_TEXT("kind", cpu ? "cpu" : "gpu"), J_TEXT("platform", a->platform),
                                         p->device ? J_INT("number", p->device->number) : J_NONE,
                                         J_GIVEN("name", p->device ? p->device->name : NULL))),
        J_NULL("probe"));
    if (s->have_probe) set_probe(cbx_json_set_object(o, "probe"), &s->probe);
    for (const cbx__launch *l = a->first; l; l = l->next) {
        peak = fmax(peak, l->record.tree_peak_bytes);
        if (l->record.versions) hello = l->record.versions;
    }
    cbx_json_put(o, hello ? J_COPY("versions", cbx_json_get(hello, "versions")) : J_NONE, J_COPY("worker", hello),
                 J_TEXT("binary_hash", native && s->worker_hash[0] ? s->worker_hash : NULL),
                 J_TEXT("measurement_isolation", here ? "in_process" : "subprocess"),
                 J_JSON("cpu_affinity", ints(p->cores, p->ncores)), J_INT("threads", s->threads),
                 J_TEXT("precision_policy", cbx__policy_applied(provider, s->precision)),
                 J_JSON("policy", cbx__policy_json(provider, a->platform, s->threads, s->precision, true)));
    /* the limit of the workers, what enforced it, and a tree's peak */
    cbx_json_put(cbx_json_set_object(o, "memory"),
                 NUMBER_OR("limit_bytes", a->last ? a->last->record.memory_limit_bytes : NAN,
                           a->last ? "the memory of the worker is not limited" : no_launch),
                 J_TEXT("limit_by", a->last ? a->last->record.memory_limit_by : NULL),
                 NUMBER_OR("tree_peak_bytes", peak, a->first ? "the memory of the worker was not sampled" : no_launch));
    set_scheduler(cbx_json_set_object(o, "scheduler"), s);
    for (size_t i = 0; i < CBX_LEN(keep_nothing); i++) cold = cold || (cpu && !strcmp(provider, keep_nothing[i]));
    env = cbx_json_new_object();
    for (size_t i = 0; a->settings && i < a->settings->nenv; i++)
        cbx_json_set_string(env, a->settings->env[i].name, a->settings->env[i].value);
    cbx_json_put(o, J_TEXT("coverage_mode", s->opts->skip_slow ? "fast" : "full"),
                 J_TEXT("compile_cache", cold ? "cold" : "shared"),
                 J_JSON("variant", cbx_json_object(J_TEXT("name", a->variant), J_JSON("env", env),
                                                   J_TEXT("why", a->settings ? a->settings->why : NULL))));
    set_schedule(cbx_json_set_object(o, "schedule"), s, p, a);
    set_layout(cbx_json_set_object(o, "layout"), a);
    cbx_json_set_null(o, "sandbox");
    if (!here && a->first) set_sandbox(cbx_json_set_object(o, "sandbox"), s, a);
    set_health(cbx_json_set_object(o, "health"), a);
    cbx_json_put(o,
                 J_JSON("oracle", cbx_json_object(J_TEXT("kind", "fp64_full"),
                                                  J_TEXT("inputs_hash", p->workload_hash[0] ? p->workload_hash : NULL),
                                                  J_BOOL("cached", p->oracle_cached))),
                 J_BOOL("resumed", p->resumed));
    return cbx_json_finish(o);
}

/* --- one launch as a line of JSON beside the rows: its plan and its readings ---
 *
 * Nothing here names a
 * host, a user or a path. */
/* Readings that are called in the line what they are called here. */
#define DOUBLE(member) J_NUMBER(#member, r->member)
#define COUNT(member)  J_INT(#member, r->member)

void cbx__raw_line(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, const cbx__launch *l,
                   cbx_text *out)
{
    const cbx_launch_record *r = &l->record;
    const cbx_fidelity *f = &r->fidelity;
    char message[CBX_ERR_MESSAGE_SIZE];
    cbx_json *point = NULL;

    /* where and how the launch was made */
    cbx_json *o = cbx_json_document("nperf-launch", J_TEXT("run_id", s->run_id),
                                    J_TEXT("case", s->opts->case_ops->name));
    if (!cbx_json_parse(p->json, strlen(p->json), "point", &point, NULL)) cbx_json_set(o, "param_point", point);
    cbx_json_put(o, J_TEXT("platform", a->platform), J_TEXT("baseline", a->baseline->name),
                 J_TEXT("variant", a->variant), J_INT("round", l->round), J_INT("position", l->position),
                 J_INT("attempt", l->attempt), J_BOOL("retry", l->retry),
                 J_GIVEN("retry_reason", l->retry ? cbx_failure_reason(l->repeats) : NULL), J_INT("seed", l->seed >> 1),
                 J_INT("env_pad_bytes", l->layout.env_pad_bytes), J_INT("stack_pad_bytes", l->layout.stack_pad_bytes),
                 J_INT("heap_pad_bytes", l->layout.heap_pad_bytes), J_NUMBER("wall_s", l->wall_s),
                 J_TEXT("steady_class", cbx_steady_name(l->steady)), J_INT("steady_from", l->steady_from),
                 J_GIVEN("unhealthy", l->unhealthy),
                 /* the readings */
                 J_TEXT("failure", r->failure ? cbx_failure_word(r->failure) : NULL));
    if (r->failure) {
        memcpy(message, r->message, sizeof(message));
        cbx__public_message(message);
        cbx_json_put(o, J_TEXT("message", message), J_TEXT("phase", r->phase), J_INT("exit_code", r->exit_code),
                     J_INT("term_signal", r->term_signal));
    }
    cbx_json_put(
        o, J_NUMBERS("epoch_ns", r->epoch_ns, r->epochs), J_NUMBERS("outer_ns", r->outer_ns, r->epochs),
        COUNT(iterations), DOUBLE(empty_epoch_ns), DOUBLE(first_call_ns), DOUBLE(compile_ns), DOUBLE(ready_ns),
        DOUBLE(overhead_ns), DOUBLE(hwm_bytes), DOUBLE(hwm_start_bytes), DOUBLE(hwm_increase_bytes),
        DOUBLE(device_peak_bytes), DOUBLE(tree_peak_bytes), DOUBLE(cpu_user_s), DOUBLE(cpu_system_s),
        COUNT(voluntary_switches), COUNT(involuntary_switches), COUNT(steal_ticks), DOUBLE(load_1min),
        COUNT(measured_again), DOUBLE(clock_doubt), COUNT(left_behind),
        COUNT_IF(r->threads_seen, "threads_seen", r->threads_seen), J_NUMBERS("wait_ns", r->wait_ns, r->epochs),
        J_BOOL("contended", r->contended), J_NUMBER("cpu_pressure_percent", r->pressure_percent),
        f->checked ? J_JSON("fidelity", cbx_json_object(J_BOOL("ok", f->ok), J_NUMBER("rel_to_tol", f->rel_to_tol),
                                                        J_INT("mismatched", f->mismatched), J_INT("checks", f->checks),
                                                        J_GIVEN("note", f->note[0] ? f->note : NULL)))
                   : J_NULL("fidelity"));
    cbx_json_write(o, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, out);
    cbx_text_putc(out, '\n');
    cbx_json_unref(o);
}
