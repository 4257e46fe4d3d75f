/*
 * One launch, message by message, and what the parent writes down.
 *
 *   hello -> load -> compile (checked) -> warm-up -> calibration -> 5 empty epochs
 *         -> epochs (some checked; before one: unseen inputs -> one call -> outputs -> outputs)
 *         -> bye
 *
 * Input sets follow one another in blocks, each a random permutation of all sets, so that no set is
 * always first.  Outputs are checked after the first call, after one random epoch (on another set
 * than the first if there is one), after the last, and after each other epoch with probability 1/8:
 * a worker cannot distinguish a checked epoch from another before it has answered it.
 *
 * Before one of the checked epochs the worker gets inputs that exist in no other launch.  One call
 * on them is timed from outside together with the outputs it owes: a worker that computes only when
 * it is asked for the outputs, or that has answered from memory so far, needs more time for it than
 * it claims for a call.
 */
#include "calibrax/core/owned.h"
#include "calibrax/perf/launch/launch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/launch/energy_source.h"
#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/profiling/procfs.h"

#define FLUSH_BYTES         (UINT64_C(64) << 20)
#define TARGET_NS           20e6
#define CHECK_ONE_IN        8
#define LARGE_OUTPUT_BYTES  1e6 /* above this only the checks that are owed: one of 4 MB takes 4 ms */
#define TRIES               2   /* repetitions of what a busy machine can spoil */
#define MEMORY_SHARE_TENTHS 8
/* Epochs that waits for a CPU make doubtful are made again: shorter than a slice of the scheduler
 * where a call allows it, else longer and longer, so that the one wait before an epoch is lost in
 * it. */
#define AGAIN_TRIES  5
#define CLEAR_NS     2e6
#define AGAIN_GROWTH 4
#define AGAIN_MAX_NS 8e9 /* of all epochs together */
/* of the time that an answer may take, so that the machine's business is not called a time-out */
#define AGAIN_SHARE    0.1
#define AGAIN_PAUSE_NS 10e6 /* before the first repetition; doubled each time */

/* Calls that are compared besides the timed epochs, and their cost: a share of the timed epochs, or
 * so long where that is more; of calls and outputs that are short, the single ones are compared
 * whatever that takes on a busy machine. */
#define SPOT_SHARE  0.05
#define SPOT_NS     20e6
#define SPOT_SINGLE 100 /* one call after the other: a fault in each 97th is among them ... */
#define SPOT_MAX    128 /* ... then after so many more calls that no worker can foresee which is looked at */
#define SPOT_CALLS  8
#define SHORT_NS    0.1e6
#define SHORT_BYTES 65536

#define NULL_READINGS 5
#define NULL_FIRST    64
#define NULL_NS       1e6 /* that a reading lasts */
#define NULL_MAX      10000000.0

/* --- beside epochs --- */

/* [ns] of a call in n calls; NaN: no number. */
static bool null_calls(cbx__run *x, double n, double *ns)
{
    CBX_OWNED(cbx_json) *m = NULL;
    char text[64];

    snprintf(text, sizeof text, "{\"op\":\"null\",\"iterations\":%.0f}\n", n);
    if (!cbx__run_ask(x, "null", text, "null", &m)) return false;
    *ns = cbx_json_get_double(m, "ns", NAN) / n;
    return true;
}

static bool call_overhead(cbx__run *x)
{
    double calls[NULL_READINGS], n = NULL_FIRST, one;

    if (!x->can_null) return true;
    if (!null_calls(x, n, &one) || !null_calls(x, n, &one)) return false; /* the first one warms it up */
    if (!(one >= 0)) return true;
    n = fmin(fmax(NULL_FIRST, NULL_NS / fmax(one, 0.1)), NULL_MAX);
    for (size_t i = 0; i < NULL_READINGS; i++)
        if (!null_calls(x, n, &calls[i])) return false;
    one = cbx__run_median(calls, NULL_READINGS);
    if (one >= 0) x->r->call_overhead_ns = one;
    return true;
}

/* --- the timed epochs --- */

static void draw_order(cbx__run *x)
{
    size_t order[128], n = x->w->nsets, rotated[CBX_LAUNCH_MAX_EPOCHS], nrotated = 0;
    for (size_t i = 0; i < x->nepochs; i++) {
        if (i % n == 0) cbx_rng_permutation(&x->rng, n, order);
        x->sets[i] = (unsigned char)order[i % n];
        x->checked[i] = cbx_rng_below(&x->rng, CHECK_ONE_IN) == 0 && x->output_bytes < LARGE_OUTPUT_BYTES;
        if (order[i % n] != 0) rotated[nrotated++] = i;
    }
    /* a single epoch: let it be one that cannot be answered from memory */
    x->probe_at = nrotated ? rotated[cbx_rng_below(&x->rng, nrotated)] : cbx_rng_below(&x->rng, x->nepochs);
    if (cbx__run_can_rotate(x))
        x->sets[x->probe_at] = (unsigned char)(x->probe_set = n > 1 ? n - 1 : 1);
    else if (n > 1)
        x->sets[x->probe_at] = (unsigned char)(x->probe_set = 1);
    else
        x->probe_set = 0;
    x->checked[x->nepochs - 1] = true;
    x->checked[x->probe_at] = true;
}

static bool timed_epoch(cbx__run *x, size_t i)
{
    double inner, outer;
    /* A worker that only claims to have flushed gains the time of warm calls in a row that is
     * called cold; it is never faster than it is anyway. */
    if (x->o.cold && !x->can_flush)
        cbx__talk_fail(x->t, CBX_FAILURE_POINT_UNSUPPORTED, "this worker cannot flush the caches");
    if (x->o.cold && (!x->can_flush || !cbx__run_ask(x, "flush", "{\"op\":\"flush\"}\n", "flush", NULL))) return false;
    if (!cbx__run_epoch(x, x->sets[i], x->r->iterations, &inner, &outer)) return false;
    cbx__run_note_epoch(x, i, inner, outer);
    x->cpu_ns += x->t->waits.cpu_ns;
    x->cpu_wall_ns += outer;
    x->r->outer_ns[i] = fmax(0, outer - x->r->empty_epoch_ns) / (double)x->r->iterations;
    x->r->epochs = i + 1;
    if (!x->checked[i]) return true;
    if (!cbx__run_check_outputs(x, x->sets[i])) return false;
    if (x->r->iterations > 1)
        x->late = (cbx__cost){ fmin(x->late.wall_ns, x->outputs.wall_ns), fmin(x->late.cpu_ns, x->outputs.cpu_ns) };
    return true;
}

/* [ns] That the first thread ran or waited for a CPU, ever; NaN where the kernel keeps no
 * account. */
static double first_thread_wants(const cbx__run *x)
{
    cbx__proc_sched s;
    return cbx__proc_sched_read(x->t->watch.worker, &s) ? (double)(s.run_ns + s.wait_ns) : NAN;
}

static bool timed_epochs(cbx__run *x)
{
    /* Then the epoch is itself the one call; but what a worker does while it is to flush its caches
     * is not seen. */
    const bool single = x->r->iterations == 1 && !x->o.cold;
    const uint64_t start = cbx_clock_ns();
    const double first_before = first_thread_wants(x);
    double before, others;
    bool ok = true;
    cbx__proc_others_want(x->t->child.pid, &before);
    x->r->epochs = 0;
    x->cpu_ns = x->cpu_wall_ns = 0;
    cbx__run_forget_readings(x);
    draw_order(x);
    cbx_energy_meter *meter = cbx__energy_begin(x->ctx, x->o.energy);
    for (size_t i = 0; i < x->nepochs && ok; i++) {
        const bool probe = i == x->probe_at;
        double cpu = -x->cpu_ns;
        ok = (!probe || (cbx__run_send_unseen(x) && (single || cbx__run_probe_call(x, &x->unseen)))) &&
             timed_epoch(x, i);
        cpu += x->cpu_ns;
        if (ok && probe && single) ok = cbx__run_note_one_call(x, x->raw_ns[i] - x->r->wait_ns[i], cpu, &x->unseen);
    }
    cbx__energy_end(meter, x->o.energy, strncmp(x->o.platform, "cuda", 4) == 0,
                    cbx__run_median(x->r->epoch_ns, x->r->epochs), x->r);
    if (!ok) return false;
    cbx__run_look_at_peak(x);
    /* no thread can have wanted more than all the time there was, though a wait that began before
     * is counted when it ends; a first thread that hands its work to another one sleeps meanwhile,
     * and where that is unknown it is taken to have been busy */
    const double wall = (double)(cbx_clock_ns() - start), first = first_thread_wants(x) - first_before;
    const size_t n = cbx__proc_others_want(x->t->child.pid, &others);
    x->r->threads_seen = n + 1;
    x->wanted_ns = (first < wall ? first : wall) + fmin(others - before, (double)n * wall);
    x->wanted_wall_ns = wall;
    return true;
}

/* Calls of an epoch that may show more; 0: none that this launch has time for. */
static uint64_t other_iterations(const cbx__run *x)
{
    double n = (double)x->r->iterations, epochs = (double)x->r->epochs;
    double call = x->cpu_ns / x->o.threads / (n * epochs), clear = CLEAR_NS / call;
    if (x->o.cold) return 0;
    double longest = AGAIN_GROWTH * cbx__run_median(x->raw_ns, x->r->epochs);
    if (x->r->measured_again == 0 && clear >= 4 && clear < n / 1.5) return (uint64_t)clear;
    if (n * AGAIN_GROWTH > (double)CBX__ITERATIONS_MAX) return 0;
    if (longest * epochs > AGAIN_MAX_NS || longest > AGAIN_SHARE * 1e9 * x->o.message_timeout_s) return 0;
    return x->r->iterations * AGAIN_GROWTH;
}

static bool too_busy(cbx__run *x)
{
    double wall = cbx__run_median(x->raw_ns, x->r->epochs),
           wait = fmin(wall, cbx__run_median(x->r->wait_ns, x->r->epochs));
    x->r->contended = true;
    cbx__talk_fail(x->t, CBX_FAILURE_CONTENDED,
                   "the machine is too busy to measure: in an epoch of %.3f ms %.3f ms were waiting for a CPU, "
                   "at a load of %.1f",
                   wall * 1e-6, wait * 1e-6, cbx__proc_load_read());
    return false;
}

/* Short epochs whose outputs are compared: what is wrong in one call of a hundred is right at the
 * end of nearly every timed epoch. */
static bool spot_checks(cbx__run *x)
{
    double inner, outer, budget = 0;
    uint64_t start = cbx_clock_ns();
    bool brief = cbx__run_claim(x) < SHORT_NS && x->output_bytes <= SHORT_BYTES;
    for (size_t i = 0; i < x->r->epochs; i++) budget += SPOT_SHARE * x->raw_ns[i];
    budget = fmax(budget, SPOT_NS);
    if (x->baseline->limit || x->o.cold) return true;
    for (size_t i = 0; i < SPOT_MAX; i++) {
        if ((double)(cbx_clock_ns() - start) > budget && !(brief && i < SPOT_SINGLE)) return true;
        uint64_t calls = i < SPOT_SINGLE ? 1 : 1 + cbx_rng_below(&x->secret, SPOT_CALLS);
        size_t set = cbx_rng_below(&x->secret, x->w->nsets);
        if (set == x->probe_set && cbx__run_can_rotate(x)) set = 0; /* which holds other inputs now */
        if (cbx__run_claim(x) * (double)calls > budget) return true;
        if (!cbx__run_epoch(x, set, calls, &inner, &outer) || !cbx__run_check_outputs(x, set)) return false;
    }
    return true;
}

static bool measure(cbx__run *x)
{
    for (int i = 0;; i++) { /* epochs of the calibrated length, however often that takes */
        if (!cbx__run_settle(x, i > 0) || !timed_epochs(x)) return false;
        if (!cbx__run_too_short(x)) break;
        if (i < TRIES) continue;
        cbx__talk_fail(x->t, CBX_FAILURE_CLOCKS_DISAGREE,
                       "epochs of %llu calls last %.3f ms, far less than when they were chosen, %d times",
                       (unsigned long long)x->r->iterations, cbx__run_median(x->raw_ns, x->r->epochs) * 1e-6,
                       TRIES + 1);
        return false;
    }
    while (cbx__run_compare_clocks(x) == CBX__CLOCKS_UNSURE) {
        const uint64_t n = x->r->measured_again < AGAIN_TRIES ? other_iterations(x) : 0, start = cbx_clock_ns();
        if (n == 0) return too_busy(x);
        /* a pause, in case the others are done soon */
        nanosleep(&(struct timespec){ 0, (long)(AGAIN_PAUSE_NS * (double)(1u << x->r->measured_again)) }, NULL);
        x->t->waited_ns += cbx_clock_ns() - start;
        x->r->iterations = n;
        x->r->measured_again++;
        if (!timed_epochs(x)) return false;
    }
    if (!cbx__run_probe_again(x) || !spot_checks(x) || !cbx__run_series(x)) return false;
    x->stray_cpu = x->o.ncores ? cbx__proc_stray_cpu(x->t->child.pid, x->o.cores, x->o.ncores) : -1;
    return true;
}

static bool bye(cbx__run *x)
{
    CBX_OWNED(cbx_json) *m = NULL;
    if (!x->o.compile_only && !call_overhead(x)) return false;
    x->r->left_behind = cbx__child_sweep(&x->t->child);
    if (x->r->left_behind > CBX__TALK_MAX_PROCESSES)
        cbx__talk_fail(x->t, CBX_FAILURE_PINNING, "the worker left %zu processes behind, at most %d are allowed",
                       x->r->left_behind, CBX__TALK_MAX_PROCESSES);
    if (!cbx__run_ask(x, "bye", "{\"op\":\"bye\"}\n", "bye", &m)) return false;
    if (cbx_json_get(m, "device_peak_bytes"))
        x->r->device_peak_bytes = cbx_json_get_double(m, "device_peak_bytes", NAN);
    return cbx__talk_end(x->t);
}

bool cbx__run_may_compile(const cbx__run *x)
{
    const cbx_provider_ops *p = cbx_provider_find(x->baseline->provider);
    return !p || !p->no_compiler;
}

/* What remains to be written down, whatever happened. */
static void write_down(cbx__run *x)
{
    cbx_launch_record *r = x->r;
    const cbx__process *c = &x->t->child;
    cbx__talk_stop(x->t);
    r->failure = x->t->failure;
    snprintf(r->message, sizeof r->message, "%s", x->t->message);
    snprintf(r->phase, sizeof r->phase, "%s", x->t->phase);
    cbx__process_tail(c, r->stderr_tail, sizeof r->stderr_tail);
    r->exit_code = -1;
    if (!c->killed && r->failure != CBX_FAILURE_NONE) {
        if (WIFEXITED(c->status)) r->exit_code = WEXITSTATUS(c->status);
        if (WIFSIGNALED(c->status)) r->term_signal = WTERMSIG(c->status);
    }
    cbx__run_memory_at_end(x);
    if (isnan(r->compile_ns) && r->epochs && cbx__run_may_compile(x))
        r->compile_ns = fmax(0, r->first_call_ns - cbx__run_median(r->epoch_ns, r->epochs));
    if (c->lost) return;
    r->cpu_user_s = cbx__seconds_of(c->usage.ru_utime);
    r->cpu_system_s = cbx__seconds_of(c->usage.ru_stime);
    r->voluntary_switches = (uint64_t)c->usage.ru_nvcsw;
    r->involuntary_switches = (uint64_t)c->usage.ru_nivcsw;
}

/* --- starting --- */

void cbx__launch_record_init(cbx_launch_record *r)
{
    memset(r, 0, sizeof *r);
    r->empty_epoch_ns = r->first_call_ns = r->compile_ns = r->ready_ns = r->overhead_ns = r->call_overhead_ns = NAN;
    r->hwm_bytes = r->hwm_start_bytes = r->hwm_increase_bytes = r->device_peak_bytes = r->tree_peak_bytes = NAN;
    r->cpu_user_s = r->cpu_system_s = r->load_1min = r->pressure_percent = r->memory_limit_bytes = NAN;
    r->clock_ratio = r->clock_doubt = r->energy_call_j = r->power_w = NAN;
    r->exit_code = -1;
    memcpy(r->phase, "spawn", sizeof "spawn");
}

static cbx_status settle_opts(cbx__run *x, const cbx_launch_opts *opts, cbx_err *err)
{
    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_launch_opts of another version");
    if (opts->sandbox && opts->sandbox->struct_size != sizeof *opts->sandbox)
        return cbx_fail(err, CBX_EINVAL, "cbx_sandbox of another version");
    if (opts->epochs > CBX_LAUNCH_MAX_EPOCHS)
        return cbx_fail(err, CBX_EINVAL, "%zu epochs are too many: at most %d", opts->epochs, CBX_LAUNCH_MAX_EPOCHS);
    x->o = *opts;
    if (!x->o.platform) x->o.platform = "cpu";
    if (x->o.threads < 1) x->o.threads = 1;
    if (!(x->o.epoch_target_s > 0)) x->o.epoch_target_s = TARGET_NS * 1e-9;
    if (x->o.flush_bytes == 0) x->o.flush_bytes = FLUSH_BYTES;
    if (!(x->o.message_timeout_s > 0)) x->o.message_timeout_s = 3600;
    if (x->o.memory_limit_bytes == 0) x->o.memory_limit_bytes = cbx__proc_available() / 10 * MEMORY_SHARE_TENTHS;
    if (x->o.memory_limit_bytes == UINT64_MAX) x->o.memory_limit_bytes = 0; /* a conversation without a limit */
    x->rng = cbx_rng_make(x->o.seed, 1);
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return cbx_fail_errno(err, errno, "the kernel has no random numbers for a launch");
    x->secret = cbx_rng_make(bits, 2);
    return CBX_OK;
}

cbx_status cbx_launch_run(cbx_ctx *ctx, const cbx_workload *w, const cbx_baseline_ops *baseline,
                          const cbx_launch_opts *opts, cbx_launch_record *record, cbx_err *err)
{
    uint64_t steal = cbx__proc_steal_read(), throttles = cbx__proc_throttles(), waited = 0;

    cbx__launch_record_init(record);
    cbx__run *x = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *x);
    if (!x) return cbx_fail(err, CBX_ENOMEM, "no memory for a launch");
    *x = (cbx__run){
        .ctx = ctx, .w = w, .baseline = baseline, .r = record, .started_ns = cbx_clock_ns(), .seeds = w->seeds
    };
    record->load_1min = cbx__proc_load_read();
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx__scratch_folder_init(&x->scratch);
    cbx_status st = settle_opts(x, opts, err);
    if (!st) st = cbx__checker_init(ctx, w, &x->checker, err);
    for (size_t i = 0; !st && i < w->c->noutputs; i++) x->output_bytes += (double)cbx_array_bytes(x->checker.arrays[i]);
    if (!st) st = cbx__run_start(x, &arena, err);
    if (!st && x->t) {
        bool ok = cbx__run_hello(x) && cbx__run_load(x) && cbx__run_compile(x) && (x->o.compile_only || measure(x));
        if (ok && bye(x)) cbx__run_judge_fidelity(x);
        if (ok && !x->o.compile_only) cbx__run_judge_times(x);
        if (x->t->failure == CBX_FAILURE_CONTENDED && record->fidelity.checked && !record->fidelity.ok) {
            x->t->failure = CBX_FAILURE_NONE; /* what is wrong is wrong on a busy machine, too */
            cbx__run_judge_fidelity(x);
        }
        write_down(x);
        waited = x->t->waited_ns;
        if (x->status) st = cbx_fail(err, x->status, "%s", x->err.message);
    }
    cbx__talk_close(x->t);
    cbx__scratch_folder_remove(&x->scratch);
    if (x->checker.w) cbx__checker_clear(&x->checker);
    record->steal_ticks = cbx__proc_steal_read() - steal;
    record->throttles = throttles == UINT64_MAX ? UINT64_MAX : cbx__proc_throttles() - throttles;
    record->pressure_percent = cbx__proc_pressure_read();
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
