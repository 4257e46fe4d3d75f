/*
 * One launch, message by message, and what the parent writes down.
 *
 *   hello -> load -> compile (checked) -> warm-up -> calibration -> 5 empty epochs -> epochs (some checked) -> bye
 *
 * Input sets follow one another in blocks, each a random permutation of all sets, so that no set is always first.  Outputs are
 * checked after the first call, after one random epoch (on another set than the first if there is one), after the last, and after
 * each other epoch with probability 1/8: a worker cannot tell a checked epoch from another before it has answered it.
 */
#include "calibrax/perf/launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/rng.h"
#include "calibrax/perf/check.h"
#include "calibrax/perf/environment.h"
#include "calibrax/perf/procfs.h"
#include "calibrax/perf/talk.h"
#include "calibrax/perf/tools.h"

#define EMPTY_EPOCHS       5
#define TARGET_NS          20e6
#define ITERATIONS_MOST    1000000000u
#define CHECK_ONE_IN       8
#define LARGE_OUTPUT_BYTES 1e6 /* above this only the checks that are owed: one of 4 MB takes 4 ms */
/* Clocks are compared where the median epoch lasts so long by the parent's clock. */
#define LONG_EPOCH_NS  15e6
#define FEW_EPOCHS     3 /* below, one late awakening is a majority, so only a gross lie counts */
#define CLOCK_SLACK_NS 0.5e6

typedef struct run {
    cbx_ctx *ctx;
    const cbx_workload *w;
    const cbx_baseline_ops *baseline;
    cbx_launch_opts o; /* with the defaults filled in */
    cbx_launch_record *r;
    cbx__talk *t;
    cbx__checker checker;
    cbx_rng rng;
    uint64_t started_ns;
    double rss_load, hwm_load, peak; /* bytes */
    bool hwm_reset;
    size_t nepochs;
    unsigned char sets[CBX_LAUNCH_MAX_EPOCHS];
    bool checked[CBX_LAUNCH_MAX_EPOCHS];
    double raw_ns[CBX_LAUNCH_MAX_EPOCHS]; /* whole epoch by the parent's clock */
    cbx_status status;                    /* a failure of the parent itself */
    cbx_err err;
} run;

static bool broken(run *x, cbx_status st)
{
    x->status = st;
    return false;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *v, size_t n)
{
    double sorted[CBX_LAUNCH_MAX_EPOCHS];
    if (n == 0) return NAN;
    memcpy(sorted, v, n * sizeof *v);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/* --- memory --- */

static void look_at_peak(run *x)
{
    cbx__proc_memory m;
    if (cbx__proc_memory_read(x->t->child.pid, &m)) x->peak = fmax(x->peak, (double)m.hwm_bytes);
}

static void memory_after_import(run *x)
{
    cbx__proc_memory m;
    if (cbx__proc_memory_read(x->t->child.pid, &m)) x->r->hwm_start_bytes = (double)m.hwm_bytes;
}

static void memory_after_load(run *x)
{
    cbx__proc_memory m;
    x->hwm_reset = cbx__proc_reset_hwm(x->t->child.pid);
    if (!cbx__proc_memory_read(x->t->child.pid, &m)) return;
    x->rss_load = (double)m.rss_bytes;
    x->hwm_load = (double)m.hwm_bytes;
}

/* Where the mark could not be reset, a peak of the import hides the one that is sought. */
static void memory_at_end(run *x)
{
    if (x->peak <= 0) return;
    x->r->hwm_bytes = x->peak;
    if (x->hwm_reset || x->peak > x->hwm_load) x->r->hwm_increase_bytes = fmax(0, x->peak - x->rss_load);
}

/* --- messages --- */

static bool number_of(run *x, const cbx_json *answer, const char *key, double *out)
{
    double v = cbx_json_get_double(answer, key, NAN);
    if (isfinite(v) && v >= 0) {
        *out = v;
        return true;
    }
    cbx__talk_fail(x->t, CBX_FAILURE_PROTOCOL,
                   "the worker's answer in phase '%s' has no number '%s' that is finite and >= 0", x->t->phase, key);
    return false;
}

static bool ask(run *x, const char *phase, const char *text, const char *op, cbx_json **answer)
{
    x->t->phase = phase;
    return cbx__talk_ask_text(x->t, text, strlen(text), NULL, 0, op, answer);
}

static bool hello(run *x)
{
    cbx_json *m = NULL;
    x->t->phase = "import";
    if (!cbx__talk_ask(x->t, NULL, NULL, 0, "hello", &m)) return false;
    if (cbx_json_get_int(m, "protocol", 0) != 1) {
        cbx__talk_fail(x->t, CBX_FAILURE_PROTOCOL, "the worker speaks protocol %lld, this program 1",
                       (long long)cbx_json_get_int(m, "protocol", 0));
        cbx_json_unref(m);
        return false;
    }
    cbx_json_remove(m, "op");
    cbx_json_remove(m, "protocol");
    x->r->versions = m;
    memory_after_import(x);
    return true;
}

static bool load(run *x)
{
    cbx__load l = { 0 };
    bool ok;
    cbx_status st = cbx__load_make(x->w, x->w->nsets, x->baseline, &x->o, x->checker.fds, x->w->c->noutputs, &l,
                                   &x->err);
    if (st) return broken(x, st);
    x->t->phase = "load";
    ok = cbx__talk_ask(x->t, l.message, l.fds, l.nfds, "loaded", NULL);
    cbx__load_clear(&l);
    if (ok) memory_after_load(x);
    return ok;
}

/* Asks for the outputs of the last call and compares them with the answers of its set. */
static bool check_outputs(run *x, size_t set)
{
    look_at_peak(x);
    if (!ask(x, "outputs", "{\"op\":\"outputs\"}\n", "outputs", NULL)) return false;
    cbx_status st = cbx__checker_compare(x->ctx, &x->checker, set, &x->r->fidelity, &x->err);
    if (st) return broken(x, st);
    cbx__checker_poison(&x->checker);
    if (x->hwm_reset) cbx__proc_reset_hwm(x->t->child.pid); /* what writing the outputs took is not the baseline's */
    return true;
}

static bool compile(run *x)
{
    cbx_json *m = NULL;
    bool ok;
    x->r->ready_ns = (double)(cbx_clock_ns() - x->started_ns);
    if (!ask(x, "compile", "{\"op\":\"compile\"}\n", "compiled", &m)) return false;
    ok = number_of(x, m, "first_call_ns", &x->r->first_call_ns);
    if (ok && cbx_json_get(m, "compile_ns")) ok = number_of(x, m, "compile_ns", &x->r->compile_ns);
    cbx_json_unref(m);
    return ok && check_outputs(x, 0);
}

/* @param inner, outer  [ns] of the whole epoch by the worker's and by the parent's clock */
static bool epoch(run *x, size_t set, uint64_t iterations, double *inner, double *outer)
{
    char text[96];
    cbx_json *m = NULL;
    bool ok;
    snprintf(text, sizeof text, "{\"op\":\"epoch\",\"set\":%zu,\"iterations\":%llu}\n", set,
             (unsigned long long)iterations);
    if (!ask(x, "epoch", text, "epoch", &m)) return false;
    *outer = (double)(x->t->received_ns - x->t->sent_ns);
    ok = number_of(x, m, "ns", inner);
    cbx_json_unref(m);
    return ok;
}

/* --- the phases before the timed epochs --- */

static void go_slow(run *x)
{
    size_t few = x->o.slow_epochs ? x->o.slow_epochs : 1;
    x->r->iterations = 1;
    if (x->nepochs > few) x->nepochs = few;
}

static bool is_slow(const run *x, double call_ns) { return x->o.slow_call_s > 0 && call_ns > x->o.slow_call_s * 1e9; }

/* Untimed calls on alternating sets.  @param slow  set if the first of them took too long for more */
static bool warm_up(run *x, bool *slow)
{
    double inner, outer;
    if (x->o.warmup == 0) return true;
    if (!epoch(x, x->w->nsets > 1 ? 1 : 0, 1, &inner, &outer)) return false;
    *slow = is_slow(x, outer);
    return *slow || x->o.warmup == 1 || epoch(x, 0, x->o.warmup - 1, &inner, &outer);
}

/* [ns] of one call by the parent's clock; never less than the worker says, should the empty epoch have been held up. */
static double call_time(double inner, double outer, double empty, uint64_t n)
{
    return fmax(fmax(outer - empty, inner), 1) / (double)n;
}

/*
 * Calls an epoch so that it lasts the target: grow by at most ten until a reading is long enough to trust, then read once more
 * and believe the shorter one.
 */
static bool calibrate(run *x, bool *slow)
{
    double target = x->o.epoch_target_s * 1e9, inner, outer, empty, call;
    uint64_t n = 1;
    if (!epoch(x, 0, 0, &inner, &empty)) return false;
    for (;;) {
        if (!epoch(x, 0, n, &inner, &outer)) return false;
        if (n == 1 && is_slow(x, outer)) {
            *slow = true;
            return true;
        }
        call = call_time(inner, outer, empty, n);
        if (outer >= 0.25 * target || n >= ITERATIONS_MOST) break;
        double wanted = fmin(fmax(0.5 * target / call, 2.0 * (double)n), 10.0 * (double)n);
        n = (uint64_t)fmin(wanted, ITERATIONS_MOST);
    }
    if (call * (double)n < target) {
        if (!epoch(x, x->w->nsets > 1 ? 1 : 0, n, &inner, &outer)) return false;
        call = fmin(call, call_time(inner, outer, empty, n));
    }
    x->r->iterations = (uint64_t)fmin(fmax(ceil(1.02 * target / call), 1), ITERATIONS_MOST);
    return true;
}

static bool measure_empty(run *x)
{
    double inner, outer[EMPTY_EPOCHS];
    for (size_t i = 0; i < EMPTY_EPOCHS; i++) {
        if (!epoch(x, i % x->w->nsets, 0, &inner, &outer[i])) return false;
    }
    x->r->empty_epoch_ns = median(outer, EMPTY_EPOCHS);
    return true;
}

static bool settle(run *x)
{
    bool slow = false;
    x->r->iterations = x->o.iterations;
    if (!warm_up(x, &slow)) return false;
    if (!slow && x->o.iterations == 0 && !calibrate(x, &slow)) return false;
    if (slow) go_slow(x);
    return measure_empty(x);
}

/* --- the timed epochs --- */

static void draw_order(run *x)
{
    size_t order[128], n = x->w->nsets, rotated[CBX_LAUNCH_MAX_EPOCHS], nrotated = 0;
    double bytes = 0;
    for (size_t i = 0; i < x->w->c->noutputs; i++) bytes += (double)cbx_array_bytes(x->checker.arrays[i]);
    for (size_t i = 0; i < x->nepochs; i++) {
        if (i % n == 0) cbx_rng_permutation(&x->rng, n, order);
        x->sets[i] = (unsigned char)order[i % n];
        x->checked[i] = cbx_rng_below(&x->rng, CHECK_ONE_IN) == 0 && bytes < LARGE_OUTPUT_BYTES;
        if (order[i % n] != 0) rotated[nrotated++] = i;
    }
    if (n > 1 && nrotated == 0) { /* a single epoch: let it be one that cannot be answered from memory */
        x->sets[0] = 1;
        rotated[nrotated++] = 0;
    }
    x->checked[x->nepochs - 1] = true;
    x->checked[nrotated ? rotated[cbx_rng_below(&x->rng, nrotated)] : cbx_rng_below(&x->rng, x->nepochs)] = true;
}

static bool timed_epochs(run *x)
{
    draw_order(x);
    for (size_t i = 0; i < x->nepochs; i++) {
        double n = (double)x->r->iterations, inner;
        if (!epoch(x, x->sets[i], x->r->iterations, &inner, &x->raw_ns[i])) return false;
        x->r->epoch_ns[i] = inner / n;
        x->r->outer_ns[i] = fmax(0, x->raw_ns[i] - x->r->empty_epoch_ns) / n;
        x->r->epochs = i + 1;
        if (x->checked[i] && !check_outputs(x, x->sets[i])) return false;
    }
    look_at_peak(x);
    return true;
}

static bool bye(run *x)
{
    cbx_json *m = NULL;
    if (!ask(x, "bye", "{\"op\":\"bye\"}\n", "bye", &m)) return false;
    if (cbx_json_get(m, "device_peak_bytes"))
        x->r->device_peak_bytes = cbx_json_get_double(m, "device_peak_bytes", NAN);
    cbx_json_unref(m);
    return cbx__talk_end(x->t);
}

/* --- judging --- */

/*
 * Both clocks are CLOCK_MONOTONIC, so a worker cannot have spent more than the parent waited.  That it spent clearly less is a lie,
 * or the parent was woken late: one late awakening is an accident of the machine, most of them, or the best of them, are not.
 * Epochs are looked at all together or not at all; picking those that took long would pick the accidents.
 */
static void judge_clocks(run *x)
{
    const cbx_launch_record *r = x->r;
    size_t off = 0;
    double n = (double)r->iterations, least_inner = INFINITY, least_outer = INFINITY;
    bool comparable = r->epochs > 0 && median(x->raw_ns, r->epochs) >= LONG_EPOCH_NS;
    double share = r->epochs < FEW_EPOCHS ? 0.75 : 0.9;
    for (size_t i = 0; i < r->epochs; i++) {
        double inner = r->epoch_ns[i] * n, outer = r->outer_ns[i] * n;
        if (inner > 1.001 * x->raw_ns[i] + 20e3) {
            cbx__talk_fail(x->t, CBX_FAILURE_CLOCKS_DISAGREE,
                           "the worker reported %.3f ms for an epoch that the parent saw end after %.3f ms",
                           inner * 1e-6, x->raw_ns[i] * 1e-6);
            return;
        }
        off += inner < share * outer - CLOCK_SLACK_NS;
        least_inner = fmin(least_inner, inner);
        least_outer = fmin(least_outer, outer);
    }
    if (comparable && (2 * off > r->epochs || least_inner < 0.75 * least_outer - CLOCK_SLACK_NS)) {
        cbx__talk_fail(
            x->t, CBX_FAILURE_CLOCKS_DISAGREE,
            "the worker reported %.3f ms at best for epochs that took at least %.3f ms by the parent's clock",
            least_inner * 1e-6, least_outer * 1e-6);
    }
}

static void judge_fidelity(run *x)
{
    const cbx_fidelity *f = &x->r->fidelity;
    if (!f->checked || f->ok) return;
    if (x->checker.wrong_shape)
        cbx__talk_fail(x->t, CBX_FAILURE_WRONG_SHAPE, "%s", f->note);
    else
        cbx__talk_fail(x->t, CBX_FAILURE_FIDELITY,
                       "%llu elements are outside their bound, the worst by a factor of %.3g",
                       (unsigned long long)f->mismatched, f->rel_to_tol);
}

static void converse(run *x)
{
    bool ok = hello(x) && load(x) && compile(x) && settle(x) && timed_epochs(x);
    if (ok && bye(x)) judge_fidelity(x);
    if (ok) judge_clocks(x);
}

/* What remains to be written down, whatever happened. */
static void write_down(run *x)
{
    cbx_launch_record *r = x->r;
    const cbx__child *c = &x->t->child;
    cbx__talk_stop(x->t);
    r->failure = x->t->failure;
    snprintf(r->message, sizeof r->message, "%s", x->t->message);
    snprintf(r->phase, sizeof r->phase, "%s", x->t->phase);
    cbx__child_tail(c, r->stderr_tail, sizeof r->stderr_tail);
    r->exit_code = -1;
    if (!c->killed && r->failure != CBX_FAILURE_NONE) {
        if (WIFEXITED(c->status)) r->exit_code = WEXITSTATUS(c->status);
        if (WIFSIGNALED(c->status)) r->term_signal = WTERMSIG(c->status);
    }
    r->cpu_user_s = (double)c->usage.ru_utime.tv_sec + 1e-6 * (double)c->usage.ru_utime.tv_usec;
    r->cpu_system_s = (double)c->usage.ru_stime.tv_sec + 1e-6 * (double)c->usage.ru_stime.tv_usec;
    r->voluntary_switches = (uint64_t)c->usage.ru_nvcsw;
    r->involuntary_switches = (uint64_t)c->usage.ru_nivcsw;
    memory_at_end(x);
    if (isnan(r->compile_ns) && r->epochs) r->compile_ns = fmax(0, r->first_call_ns - median(r->epoch_ns, r->epochs));
}

/* --- starting --- */

static void record_init(cbx_launch_record *r)
{
    memset(r, 0, sizeof *r);
    double *const unknown[] = { &r->empty_epoch_ns, &r->first_call_ns,   &r->compile_ns,         &r->ready_ns,
                                &r->hwm_bytes,      &r->hwm_start_bytes, &r->hwm_increase_bytes, &r->device_peak_bytes,
                                &r->cpu_user_s,     &r->cpu_system_s,    &r->load_1min };
    for (size_t i = 0; i < CBX_LEN(unknown); i++) *unknown[i] = NAN;
    r->exit_code = -1;
    snprintf(r->phase, sizeof r->phase, "spawn");
}

static cbx_status settle_opts(run *x, const cbx_launch_opts *opts, cbx_err *err)
{
    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_launch_opts of another version");
    if (opts->epochs > CBX_LAUNCH_MAX_EPOCHS)
        return cbx_fail(err, CBX_EINVAL, "%zu epochs are too many: at most %d", opts->epochs, CBX_LAUNCH_MAX_EPOCHS);
    x->o = *opts;
    if (!x->o.platform) x->o.platform = "cpu";
    if (x->o.threads < 1) x->o.threads = 1;
    if (!(x->o.epoch_target_s > 0)) x->o.epoch_target_s = TARGET_NS * 1e-9;
    x->nepochs = x->o.epochs ? x->o.epochs : 1;
    x->rng = cbx_rng_make(x->o.seed, 1);
    return CBX_OK;
}

/* A failure that came before there was a worker. */
static cbx_status not_started(run *x, cbx_failure failure, const cbx_err *why)
{
    x->r->failure = failure;
    snprintf(x->r->message, sizeof x->r->message, "%s", why->message);
    return CBX_OK;
}

static cbx_status start(run *x, cbx_arena *arena, cbx_err *err)
{
    const cbx_provider_ops *provider = cbx_provider_find(x->baseline->provider);
    bool python = provider ? provider->python : x->o.interpreter != NULL;
    const char *program[6] = { 0 };
    cbx__environment env;
    cbx_err why = CBX_ERR_INIT;
    const char *tool;

    if (python && !x->o.interpreter) {
        cbx_fail(&why, CBX_EUNAVAILABLE, "no Python was given for provider '%s'", x->baseline->provider);
        return not_started(x, CBX_FAILURE_INTERPRETER_MISSING, &why);
    }
    cbx_status st = cbx__tool_find(python ? CBX__TOOL_PYTHON_WORKER : CBX__TOOL_WORKER, arena, &tool, &why);
    if (st == CBX_ENOENT) return not_started(x, CBX_FAILURE_WORKER_MISSING, &why);
    if (st) return cbx_fail(err, st, "%s", why.message);
    if (python) {
        const char *command[] = { x->o.interpreter, "-u", tool, x->baseline->provider, x->o.platform };
        memcpy(program, command, sizeof command);
    } else {
        program[0] = tool;
    }
    cbx__environment_init(&env, arena, true);
    cbx__environment_worker(&env, &x->o, x->baseline->provider);
    if (env.failed) return cbx_fail(err, CBX_ENOMEM, "no memory for the environment of '%s'", tool);
    cbx__child_opts child = { .program = program,
                              .env = env.vars,
                              .cores = x->o.cores,
                              .ncores = x->o.ncores,
                              .env_pad_bytes = x->o.env_pad_bytes,
                              .stack_pad_bytes = x->o.stack_pad_bytes };
    cbx__talk_opts talk = { .timeout_s = x->o.message_timeout_s,
                            .memory_limit_bytes = x->o.memory_limit_bytes,
                            .stop = x->o.stop,
                            .python = python };
    st = cbx__talk_open(cbx_ctx_allocator(x->ctx), &child, &talk, &x->t, &why);
    if (st == CBX_ENOENT) return not_started(x, CBX_FAILURE_WORKER_MISSING, &why);
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

cbx_status cbx_launch_run(cbx_ctx *ctx, const cbx_workload *w, const cbx_baseline_ops *baseline,
                          const cbx_launch_opts *opts, cbx_launch_record *record, cbx_err *err)
{
    uint64_t steal = cbx__proc_steal_read(), waited = 0;
    cbx_arena arena;
    cbx_status st;
    run *x;

    record_init(record);
    x = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *x);
    if (!x) return cbx_fail(err, CBX_ENOMEM, "no memory for a launch");
    *x = (run){ .ctx = ctx, .w = w, .baseline = baseline, .r = record, .started_ns = cbx_clock_ns() };
    record->load_1min = cbx__proc_load_read();
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = settle_opts(x, opts, err);
    if (!st) st = cbx__checker_init(ctx, w, &x->checker, err);
    if (!st) st = start(x, &arena, err);
    if (!st && x->t) {
        converse(x);
        write_down(x);
        waited = x->t->waited_ns;
        if (x->status) st = cbx_fail(err, x->status, "%s", x->err.message);
    }
    cbx__talk_close(x->t);
    if (x->checker.w) cbx__checker_clear(&x->checker);
    cbx_arena_clear(&arena);
    record->steal_ticks = cbx__proc_steal_read() - steal;
    record->overhead_ns = (double)(cbx_clock_ns() - x->started_ns - waited);
    cbx_mem_free(cbx_ctx_allocator(ctx), x, sizeof *x);
    if (st) cbx_launch_record_clear(record);
    return st;
}

void cbx_launch_record_clear(cbx_launch_record *record)
{
    if (!record) return;
    cbx_json_unref(record->versions);
    memset(record, 0, sizeof *record);
}
