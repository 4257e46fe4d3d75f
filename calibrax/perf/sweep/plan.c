/**
 * Which attempts a point has, and how many launches and epochs fit its budget; see plan.h.
 */
#include "calibrax/perf/sweep/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/perf/schedule/cores.h"
#include "calibrax/perf/schedule/platforms.h"
#include "calibrax/statistics/estimate.h"

#define MIN_MEMORY (UINT64_C(16) << 20)

static bool contains(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

/* With the nearest name of a baseline, or all of them. */
static cbx_status unknown_baseline(const cbx_case_ops *c, const char *option, const char *word, cbx_err *err)
{
    const char *names[128];
    size_t n = 0, len = 0;
    char all[300] = "";

    for (size_t i = 0; i < c->nbaselines && n < CBX_LEN(names); i++) {
        if (c->baselines[i]->mutant_reason) continue;
        names[n++] = c->baselines[i]->name;
        if (len + 1 < sizeof(all))
            len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", n > 1 ? ", " : "", c->baselines[i]->name);
    }
    const char *near = cbx_nearest_word(word, names, n);
    return cbx_fail(err, CBX_EINVAL, "'%s' must name baselines of case '%s', got '%s'; %s%s%s", option, c->name, word,
                    near ? "did you mean '" : "known: ", near ? near : all, near ? "'?" : "");
}

cbx_status cbx__plan_check_names(const cbx_measure_opts *opts, const cbx_case_ops *c, cbx_err *err)
{
    for (size_t i = 0; i < opts->nallow; i++)
        if (!cbx_case_baseline(c, opts->allow[i])) return unknown_baseline(c, "baselines", opts->allow[i], err);
    for (size_t i = 0; i < opts->ndeny; i++)
        if (!cbx_case_baseline(c, opts->deny[i])) return unknown_baseline(c, "skip_baselines", opts->deny[i], err);
    return CBX_OK;
}

cbx_status cbx__plan_check(const cbx_measure_opts *opts, cbx_err *err)
{
    if (opts->struct_size != sizeof(*opts))
        return cbx_fail(err, CBX_EINVAL, "measure: options of another version of the header");
    if (!opts->case_ops) return cbx_fail(err, CBX_EINVAL, "measure: no case given");
    if (opts->launches > 100000)
        return cbx_fail(err, CBX_EINVAL, "'launches' must be at most 100000, got %zu", opts->launches);
    if (opts->repeats > CBX_LAUNCH_MAX_EPOCHS)
        return cbx_fail(err, CBX_EINVAL, "'repeats' must be at most %d, got %zu", CBX_LAUNCH_MAX_EPOCHS, opts->repeats);
    if (!(opts->budget_s >= 0))
        return cbx_fail(err, CBX_EINVAL, "'budget' must be a number of seconds of at least 0, got %g", opts->budget_s);
    if (!(opts->gpu_settle_s >= 0 && opts->gpu_settle_s <= 3600))
        return cbx_fail(err, CBX_EINVAL, "'gpu_settle' must be 0 to 3600 seconds, got %g", /* words:ok */
                        opts->gpu_settle_s);
    if (!(opts->lock_wait_s >= 0))
        return cbx_fail(err, CBX_EINVAL, "'lock_wait' must be a number of seconds of at least 0, got %g",
                        opts->lock_wait_s);
    if (opts->threads < 0 || opts->threads > CBX__MAX_CORES)
        return cbx_fail(err, CBX_EINVAL, "'threads' must be 1 to %d, got %d", CBX__MAX_CORES, opts->threads);
    if (opts->memory_limit_bytes && opts->memory_limit_bytes < MIN_MEMORY)
        return cbx_fail(err, CBX_EINVAL, "'memory_limit' must be at least 16M, which any worker needs, got %llu bytes",
                        (unsigned long long)opts->memory_limit_bytes);
    if (!(opts->precision >= 0 && opts->precision < 1))
        return cbx_fail(err, CBX_EINVAL, "'precision' must be a relative half width, such as 0.01 for 1 %%, got %g",
                        opts->precision);
    return cbx__plan_check_names(opts, opts->case_ops, err);
}

cbx_failure cbx__plan_selection(const cbx_measure_opts *opts, const cbx_baseline_ops *b,
                                char message[CBX_ERR_MESSAGE_SIZE], const char **remedy)
{
    const bool named = contains(opts->allow, opts->nallow, b->name), chosen = !opts->nallow || named;

    if (!chosen || contains(opts->deny, opts->ndeny, b->name)) {
        snprintf(message, CBX_ERR_MESSAGE_SIZE, "%s", chosen ? "skipped on request" : "not chosen");
        *remedy = chosen ? "do not skip it" : "choose it too";
        return CBX_FAILURE_SKIPPED_BY_CONFIG;
    }
    if (!opts->skip_slow || !b->slow_reason || named) return CBX_FAILURE_NONE;
    snprintf(message, CBX_ERR_MESSAGE_SIZE, "declared slow: %s", b->slow_reason);
    return CBX_FAILURE_SLOW_SKIPPED;
}

static bool on_gpu_alone(const cbx_baseline_ops *b) { return strcmp(b->provider, "cuda") == 0; }

/* Variants of a baseline's provider under the user's choice; an attempt that is skipped has one
 * row, under the default's name. */
static size_t variants_of(const cbx_measure_opts *opts, const cbx_baseline_ops *b, const cbx_variant **out)
{
    const cbx_provider_ops *p = cbx_provider_find(b->provider);
    size_t n = p && p->variants ? p->variants(b, out) : 0;

    if (n == 0) return 0;
    if (opts->variants == CBX_VARIANTS_DEFAULT || opts->twins || opts->mutants) return 1;
    if (opts->variants == CBX_VARIANTS_TUNED && n > 1) {
        *out += n - 1;
        return 1;
    }
    return n;
}

static void add_attempts(const cbx_measure_opts *opts, const char *platform, const cbx_baseline_ops *b,
                         const char *unsupported, cbx__plan *plan)
{
    const cbx_variant *variants = NULL;
    const size_t n = variants_of(opts, b, &variants), copies = opts->twins ? 2 : n > 1 ? n : 1;
    const char *refuses = cbx__platform_refuses(platform, b->provider);

    for (size_t i = 0; i < copies; i++) {
        cbx__attempt *a = &plan->attempts[plan->count++];
        const cbx_variant *v = n ? &variants[opts->twins ? 0 : i] : NULL;
        *a = (cbx__attempt){ .baseline = b, .platform = platform, .settings = v, .median_s = NAN, .min_s = NAN };
        a->variant = opts->twins && i == 1 ? "twin" : v ? v->name : "default";
        if (unsupported) {
            a->failure = CBX_FAILURE_POINT_UNSUPPORTED;
            snprintf(a->message, sizeof(a->message), "%s", unsupported);
        } else if ((a->failure = cbx__plan_selection(opts, b, a->message, &a->remedy))) {
            /* the message has the reason */
        } else if (refuses) {
            a->failure = CBX_FAILURE_BACKEND_UNAVAILABLE;
            snprintf(a->message, sizeof(a->message), "provider '%s' %s", b->provider, refuses);
        } else if (!strcmp(platform, "cpu") && on_gpu_alone(b)) {
            a->failure = CBX_FAILURE_BACKEND_UNAVAILABLE;
            snprintf(a->message, sizeof(a->message), "baseline '%s' runs on a GPU: choose platform cuda12", b->name);
            a->remedy = "--platforms cuda12";
        }
        if (a->failure) break; /* it has one row, under the default's name */
    }
}

cbx_status cbx__plan_make(cbx_arena *arena, const cbx_measure_opts *opts, const char *platform, const cbx_params *point,
                          cbx__plan *out, cbx_err *err)
{
    const cbx_case_ops *c = opts->case_ops;
    cbx__plan plan = { 0 };
    size_t capacity = 0;

    for (size_t b = 0; b < c->nbaselines; b++) {
        const cbx_variant *v = NULL;
        size_t n = opts->twins ? 2 : variants_of(opts, c->baselines[b], &v);
        capacity += n ? n : 1;
    }
    plan.attempts = cbx_arena_calloc(arena, capacity, sizeof(*plan.attempts));
    if (!plan.attempts) return cbx_fail(err, CBX_ENOMEM, "out of memory for the attempts of a point");
    for (size_t i = 0; i < c->nbaselines; i++) {
        const cbx_baseline_ops *b = c->baselines[i];
        const char *reason = NULL;
        const bool rare = (b->mutant_reason && !opts->mutants) || (on_gpu_alone(b) && !strcmp(platform, "cpu"));
        if (rare && !contains(opts->allow, opts->nallow, b->name)) continue;
        bool fits = !b->supports || b->supports(point, &reason);
        if (fits || reason) add_attempts(opts, platform, b, fits ? NULL : reason, &plan);
    }
    /* rows of cold caches are variants of their own: "cold", "tuned-cold" */
    for (cbx__attempt *a = plan.attempts; opts->cold_cache && a < plan.attempts + plan.count; a++) {
        a->variant = strcmp(a->variant, "default") ? cbx_arena_printf(arena, "%s-cold", a->variant) : "cold";
        if (!a->variant) return cbx_fail(err, CBX_ENOMEM, "out of memory for the attempts of a point");
    }
    *out = plan;
    return CBX_OK;
}

bool cbx__attempt_alive(const cbx__attempt *a) { return !a->failure && !a->idle && !a->ended; }

cbx__launch *cbx__attempt_add(cbx_arena *arena, cbx__attempt *a)
{
    cbx__launch *l = cbx_arena_calloc(arena, 1, sizeof *l);

    if (!l) return NULL;
    l->median_s = NAN;
    *(a->last ? &a->last->next : &a->first) = l;
    a->last = l;
    a->nlaunches++;
    return l;
}

size_t cbx__plan_live(const cbx__plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->count; i++) n += cbx__attempt_alive(&plan->attempts[i]);
    return n;
}

bool cbx__square_order(cbx_arena *arena, const cbx__plan *plan, uint64_t seed, size_t round, cbx__square *q)
{
    if (!q->live && !(q->live = cbx_arena_calloc(arena, 3 * plan->count + 1, sizeof *q->live))) return false;
    if (cbx__plan_live(plan) != q->n) {
        q->n = 0;
        q->first = round;
        for (size_t i = 0; i < plan->count; i++)
            if (cbx__attempt_alive(&plan->attempts[i])) q->live[q->n++] = i;
    }
    q->order = q->live + plan->count;
    cbx__schedule_order(seed, q->n, round - q->first, q->order + plan->count, q->order);
    for (size_t place = 0; place < q->n; place++) q->order[place] = q->live[q->order[place]];
    return true;
}

void cbx__plan_fail(cbx__plan *plan, cbx_failure failure, const char *format, ...)
{
    for (cbx__attempt *a = plan->attempts; a < plan->attempts + plan->count; a++) {
        va_list words;
        if (!cbx__attempt_alive(a)) continue;
        a->failure = failure;
        va_start(words, format);
        vsnprintf(a->message, sizeof a->message, format, words);
        va_end(words);
    }
}

cbx_status cbx__attempt_times(cbx_arena *arena, const cbx__attempt *a, cbx__times *out, cbx_err *err)
{
    size_t total = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) total += l->record.epochs;
    *out = (cbx__times){ .medians = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *out->medians),
                         .epochs = cbx_arena_calloc(arena, total + 1, sizeof *out->epochs),
                         .sizes = cbx_arena_calloc(arena, a->nlaunches + 1, sizeof *out->sizes) };
    if (!out->medians || !out->epochs || !out->sizes)
        return cbx_fail(err, CBX_ENOMEM, "out of memory for the times of %zu launches", a->nlaunches);
    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (isnan(l->median_s)) continue;
        for (size_t e = l->steady_from; e < l->record.epochs; e++)
            out->epochs[out->nepochs++] = 1e-9 * l->record.epoch_ns[e];
        out->sizes[out->launches] = l->record.epochs - l->steady_from;
        out->medians[out->launches++] = l->median_s;
    }
    return CBX_OK;
}

size_t cbx__attempt_numbers(const cbx__attempt *a, size_t offset, double scale, bool timed, double *out)
{
    size_t n = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) {
        const double v = scale * *(const double *)(const void *)((const char *)&l->record + offset);
        if ((!timed || !isnan(l->median_s)) && isfinite(v)) out[n++] = v;
    }
    return n;
}

/* Seconds of one round under given counts. */
static double round_cost(const cbx__cost *costs, size_t n, size_t epochs, bool warmup)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += costs[i].fixed_s + (warmup ? costs[i].warmup_s : 0) + costs[i].epoch_s * (double)epochs;
    return s;
}

cbx__counts cbx__plan_fit(const cbx__cost *costs, size_t n, double left_s, size_t launches, size_t epochs)
{
    cbx__counts k = { .launches = launches, .epochs = epochs, .warmup = true };
    size_t floor_launches = launches < CBX__MIN_LAUNCHES ? launches : CBX__MIN_LAUNCHES;

    if (n == 0 || isinf(left_s)) return k;
    if (left_s < 0) left_s = 0;
    while (k.epochs > 1 && (double)(k.launches - 1) * round_cost(costs, n, k.epochs, true) > left_s) k.epochs--;
    if ((double)(k.launches - 1) * round_cost(costs, n, k.epochs, true) <= left_s) return k;
    k.warmup = false;
    double one = round_cost(costs, n, 1, false);
    while (k.launches > 1 && (double)(k.launches - 1) * one > left_s) k.launches--;
    if (k.launches >= floor_launches) return k;
    k.starved = launches >= CBX__MIN_LAUNCHES;
    return k;
}

/* --- steady epochs of a launch, and complaints about the machine --- */

#define MAX_STOLEN 0.1 /* share of the launch's time */
#define MIN_TICKS  2   /* one tick is the grain of the counter */

cbx_status cbx__launch_settle(cbx_ctx *ctx, cbx__launch *l, cbx_err *err)
{
    const cbx_launch_record *r = &l->record;
    cbx_steady s;
    cbx_status st = cbx_stat_steady(ctx, r->epoch_ns, r->epochs, NULL, &s, NULL, 0, err);

    if (st) return st;
    l->steady = s.kind;
    l->steady_from = s.kind == CBX_STEADY_NONE ? 0 : s.start;
    st = cbx_stat_median(ctx, r->epoch_ns + l->steady_from, r->epochs - l->steady_from, &l->median_s, err);
    l->median_s *= 1e-9;
    return st;
}

const char *cbx__launch_complaint(const cbx__launch *l)
{
    const cbx_launch_record *r = &l->record;
    double cpus = fmax(1, (double)sysconf(_SC_NPROCESSORS_ONLN)); /* the counter is of all of them */
    double stolen_s = (double)r->steal_ticks / (double)sysconf(_SC_CLK_TCK) / cpus;

    if (isnan(l->median_s)) return NULL;
    if (r->throttles && r->throttles != UINT64_MAX) return "throttled";
    return r->steal_ticks >= MIN_TICKS && stolen_s > MAX_STOLEN * l->wall_s ? "stolen" : NULL;
}

bool cbx__launch_repeats(const cbx__attempt *a)
{
    size_t before = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) before += l->unhealthy && l->next && l->next->retry;
    return 3 * (before + 1) <= a->nlaunches + 2;
}
