/*
 * nperf selftest: does the tool itself tell the truth?
 *
 * --aa measures a baseline as two attempts, so that every "faster" or "slower" is a false alarm; the rate is given with its exact
 * (Clopper-Pearson 1934) interval, and the check fails when that interval lies above 5 %.
 * --mutants measures the planted faults of every case through the whole pipeline: each must come out fidelity_failed, and every honest
 * native baseline must pass at the same points.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/common/stop.h"
#include "programs/nperf/nperf.h"

typedef struct selftest_args {
    const char *aa, *case_name;
    opt_list plugins;
    bool mutants, json;
    size_t seed;
} selftest_args;

#define AT(member) offsetof(selftest_args, member)

static const opt_spec selftest_options[] = {
    { "aa", 0, OPT_MAYBE, AT(aa), "N", "24", "measure N pairs of equals and count false alarms" },
    { "mutants", 0, OPT_FLAG, AT(mutants), NULL, NULL, "measure every planted fault; each must be found" },
    { "seed", 's', OPT_COUNT, AT(seed), "N", "0", "of order and layout" },
    { "case", 'c', OPT_STRING, AT(case_name), "NAME", "all cases", "planted faults of this case only" },
    { "plugin", 0, OPT_EACH, AT(plugins), "FILE", NULL, "also know the cases of a shared object; may be repeated" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document" },
};

/* Rate of false alarms that the intervals promise not to exceed. */
#define ALPHA      0.05
#define MAX_POINTS 64
/* Large enough that a fault cannot hide: at a 7x5x3 product of booleans a wrong row may give the right answer. */
#define MUTANT_SCALE 8

typedef struct aa_score {
    size_t pairs, alarms, failed;
    double lower, upper; /* 95 % interval of the rate */
} aa_score;

typedef struct mutant_score {
    size_t mutants, found, honest, honest_ok;
    cbx_text survivors; /* a line each */
} mutant_score;

/* --- exact interval of a rate --- */

/* P(Bin(n, p) <= k) */
static double binomial_cdf(size_t k, size_t n, double p)
{
    double sum = 0;

    for (size_t i = 0; i <= k && i <= n; i++) {
        double log_term = lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1);
        if (i) log_term += (double)i * log(p);
        if (n - i) log_term += (double)(n - i) * log1p(-p);
        sum += exp(log_term);
    }
    return sum < 1 ? sum : 1;
}

/* p at which P(Bin(n, p) <= k) is `level`; the probability falls with p. */
static double solve_rate(size_t k, size_t n, double level)
{
    double low = 0, high = 1;

    for (int i = 0; i < 60; i++) {
        double p = (low + high) / 2;
        if (binomial_cdf(k, n, p) > level)
            low = p;
        else
            high = p;
    }
    return (low + high) / 2;
}

static void clopper_pearson(size_t k, size_t n, double *lower, double *upper)
{
    *lower = k == 0 ? 0 : solve_rate(k - 1, n, 0.975);
    *upper = k >= n ? 1 : solve_rate(k, n, 0.025);
}

/* --- points --- */

/* Product of the whole-number parameters but the seed: how much work a point is, in kind. */
static double size_of(const cbx_case_ops *c, const cbx_params *p)
{
    double size = 1;
    for (size_t i = 0; i < c->nparams; i++) {
        if (c->params[i].kind == CBX_PARAM_INT && strcmp(c->params[i].name, "seed"))
            size *= (double)cbx_params_int(p, c->params[i].name);
    }
    return size;
}

/* The smallest point of the case that has any work. */
static cbx_params *smallest_point(cbx_ctx *ctx, const cbx_case_ops *c)
{
    cbx_params *best = NULL;

    for (size_t i = 0; i < c->npoints; i++) {
        cbx_params *p = NULL;
        if (cbx_case_point(ctx, c, c->points[i], c->name, &p, NULL)) continue;
        if (size_of(c, p) > 0 && (!best || size_of(c, p) < size_of(c, best))) {
            cbx_params_free(best);
            best = p;
        } else {
            cbx_params_free(p);
        }
    }
    return best;
}

/* The words of `words` with the numbers of `numbers` times `scale`, as canonical JSON in the arena; NULL if the case does not allow it. */
static const char *mixed_point(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *words, const cbx_params *numbers,
                               int64_t scale, cbx_arena *arena)
{
    cbx_params *p = NULL;
    const char *json = NULL;
    cbx_text t;

    cbx_text_init(&t, &arena->al);
    for (size_t i = 0; i < c->nparams; i++) {
        const char *name = c->params[i].name;
        cbx_text_printf(&t, "%s\"%s\":", i ? "," : "{", name);
        if (c->params[i].kind == CBX_PARAM_INT)
            cbx_text_printf(&t, "%lld", (long long)(cbx_params_int(numbers, name) * scale));
        else
            cbx_text_printf(&t, "\"%s\"", cbx_params_word(words, name));
    }
    cbx_text_putc(&t, '}');
    if (!cbx_case_point(ctx, c, cbx_text_str(&t), c->name, &p, NULL))
        json = cbx_arena_strdup(arena, cbx_params_json(p));
    cbx_params_free(p);
    cbx_text_clear(&t);
    return json;
}

static bool has_item(const opt_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!strcmp(list->items[i], word)) return true;
    }
    return false;
}

/* Every combination of words that the case's points show, at `scale` times the smallest point's numbers. */
static bool small_points(cbx_ctx *ctx, const cbx_case_ops *c, int64_t scale, cbx_arena *arena, opt_list *out)
{
    cbx_params *smallest = smallest_point(ctx, c);
    bool good = smallest != NULL;

    for (size_t i = 0; i < c->npoints && good && out->count < MAX_POINTS; i++) {
        cbx_params *p = NULL;
        const char *json;
        if (cbx_case_point(ctx, c, c->points[i], c->name, &p, NULL)) continue;
        json = mixed_point(ctx, c, p, smallest, scale, arena);
        if (!json) json = mixed_point(ctx, c, p, smallest, 1, arena);
        if (json && !has_item(out, json)) good = opt_append(arena, json, out);
        cbx_params_free(p);
    }
    cbx_params_free(smallest);
    return good;
}

/* Baselines that run in our own worker, mutants too where asked. */
static bool native_names(const cbx_case_ops *c, bool mutants, bool slow, cbx_arena *arena, opt_list *out)
{
    for (size_t i = 0; i < c->nbaselines; i++) {
        const cbx_baseline_ops *b = c->baselines[i];
        if (strcmp(b->provider, "native") || (b->mutant_reason && !mutants) || (b->slow_reason && !slow)) continue;
        if (!opt_append(arena, b->name, out)) return false;
    }
    return true;
}

/* --- equals --- */

static void count_alarms(const cbx_rows *rows, size_t wanted, aa_score *s)
{
    for (size_t i = 0; i < rows->count && s->pairs < wanted; i++) {
        const cbx_row *r = &rows->rows[i];
        if (strcmp(r->variant ? r->variant : "", "twin")) continue;
        if (!cbx_row_is_good(r) || !r->verdict) {
            s->failed++;
            continue;
        }
        s->pairs++;
        s->alarms += !strcmp(r->verdict, "faster") || !strcmp(r->verdict, "slower");
    }
}

static int aa_round(const opt_program *program, cbx_ctx *ctx, const cbx_case_ops *c, const opt_list *points,
                    const opt_list *names, uint64_t seed, size_t wanted, progress *p, aa_score *s)
{
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    cbx_measure_result result;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    o.case_ops = c;
    o.points = points->items;
    o.npoints = points->count;
    o.allow = names->items;
    o.nallow = names->count;
    o.twins = true;
    o.launches = 6;
    o.warmup = 1;
    o.repeats = 3;
    o.epoch_target_s = 0.002;
    o.seed = seed;
    o.stop = stop_catch();
    o.progress = progress_show;
    o.user = p;
    cbx_measure_result_init(&result, cbx_ctx_allocator(ctx));
    if (cbx_measure_run(ctx, &o, &result, &err))
        status = opt_fail(program, "%s", err.message);
    else if (result.interrupted)
        status = EXIT_STOPPED;
    count_alarms(&result.rows, wanted, s);
    cbx_measure_result_clear(&result);
    return status;
}

static int run_aa(const opt_program *program, cbx_ctx *ctx, const selftest_args *a, cbx_arena *arena, progress *p,
                  aa_score *s)
{
    const cbx_case_list *cases = nperf_cases();
    long wanted = strtol(a->aa, NULL, 10);
    int status = EXIT_PASS;

    if (wanted < 1 || wanted > 1000000)
        return opt_fail(program, "--aa: expected a number of pairs from 1 to 1000000, found '%s'", a->aa);
    for (uint64_t turn = 0; s->pairs < (size_t)wanted && !status; turn++) {
        const cbx_case_ops *c = cases->cases[turn % cases->count];
        opt_list points = { NULL, 0 }, names = { NULL, 0 };
        size_t before = s->pairs;
        if (!small_points(ctx, c, 1, arena, &points) || !native_names(c, false, false, arena, &names))
            return opt_fail(program, "out of memory");
        points.count = points.count > 3 ? 3 : points.count;
        while (points.count > 1 && (points.count - 1) * names.count >= (size_t)wanted - s->pairs) points.count--;
        status = aa_round(program, ctx, c, &points, &names, a->seed + turn, (size_t)wanted, p, s);
        if (!status && s->pairs == before)
            return opt_fail(program, "--aa: no pair of case '%s' could be measured", c->name);
    }
    clopper_pearson(s->alarms, s->pairs, &s->lower, &s->upper);
    return status;
}

/* --- mutants --- */

static void count_mutants(const cbx_case_ops *c, const cbx_rows *rows, mutant_score *s)
{
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        const cbx_baseline_ops *b = cbx_case_baseline(c, r->baseline);
        if (!b || !strcmp(r->status, "skipped")) continue;
        if (b->mutant_reason) {
            bool found = !strcmp(r->status, "fidelity_failed");
            s->mutants++;
            s->found += found;
            if (!found)
                cbx_text_printf(&s->survivors, "%s at %s: %s, not fidelity_failed (%s)\n", r->baseline, r->point_label,
                                r->status, b->mutant_reason);
        } else {
            s->honest++;
            s->honest_ok += cbx_row_is_good(r);
            if (!cbx_row_is_good(r))
                cbx_text_printf(&s->survivors, "honest %s at %s: %s\n", r->baseline, r->point_label, r->status);
        }
    }
}

static int mutants_of(const opt_program *program, cbx_ctx *ctx, const cbx_case_ops *c, const selftest_args *a,
                      cbx_arena *arena, progress *p, mutant_score *s)
{
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    opt_list points = { NULL, 0 }, names = { NULL, 0 };
    cbx_measure_result result;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (!small_points(ctx, c, MUTANT_SCALE, arena, &points) || !native_names(c, true, true, arena, &names))
        return opt_fail(program, "out of memory");
    o.case_ops = c;
    o.points = points.items;
    o.npoints = points.count;
    o.allow = names.items;
    o.nallow = names.count;
    o.mutants = true;
    o.launches = 1;
    o.warmup = 0;
    o.repeats = 2;
    o.epoch_target_s = 0.0005;
    o.seed = a->seed;
    o.stop = stop_catch();
    o.progress = progress_show;
    o.user = p;
    cbx_measure_result_init(&result, cbx_ctx_allocator(ctx));
    if (cbx_measure_run(ctx, &o, &result, &err))
        status = opt_fail(program, "%s", err.message);
    else if (result.interrupted)
        status = EXIT_STOPPED;
    count_mutants(c, &result.rows, s);
    cbx_measure_result_clear(&result);
    return status;
}

static int run_mutants(const opt_program *program, cbx_ctx *ctx, const selftest_args *a, cbx_arena *arena, progress *p,
                       mutant_score *s)
{
    const cbx_case_list *cases = nperf_cases();
    int status = EXIT_PASS;

    if (a->case_name && !nperf_case(program, a->case_name)) return EXIT_ERROR;
    for (size_t i = 0; i < cases->count && !status; i++) {
        if (a->case_name && strcmp(a->case_name, cases->cases[i]->name)) continue;
        status = mutants_of(program, ctx, cases->cases[i], a, arena, p, s);
    }
    return status;
}

/* --- what it came to --- */

static bool aa_holds(const aa_score *s) { return s->lower <= ALPHA; }

static bool mutants_hold(const mutant_score *s)
{
    return s->mutants > 0 && s->found == s->mutants && s->honest_ok == s->honest;
}

static void print_scores(const aa_score *aa, const mutant_score *m)
{
    if (aa) {
        printf("equals: %zu of %zu pairs flagged as different, %.1f %% [%.1f, %.1f]; promised at most %.0f %%: %s\n",
               aa->alarms, aa->pairs, aa->pairs ? 100.0 * (double)aa->alarms / (double)aa->pairs : NAN, 100 * aa->lower,
               100 * aa->upper, 100 * ALPHA, aa_holds(aa) ? "holds" : "broken");
        if (aa->failed) printf("        %zu pairs could not be measured\n", aa->failed);
    }
    if (m) {
        printf("mutants: %zu of %zu planted faults found, %zu of %zu honest baselines passed: %s\n", m->found,
               m->mutants, m->honest_ok, m->honest, mutants_hold(m) ? "holds" : "broken");
        fputs(cbx_text_str(&m->survivors), stdout);
    }
}

static cbx_json *scores_json(const aa_score *aa, const mutant_score *m)
{
    cbx_json *o = cbx_json_new_object(), *a = aa ? cbx_json_new_object() : NULL, *u = m ? cbx_json_new_object() : NULL;

    if (!o) return NULL;
    cbx_json_set_string(o, "schema", "nperf-selftest");
    cbx_json_set_int(o, "version", 1);
    if (a) {
        cbx_json_set_int(a, "pairs", (int64_t)aa->pairs);
        cbx_json_set_int(a, "alarms", (int64_t)aa->alarms);
        cbx_json_set_int(a, "failed", (int64_t)aa->failed);
        cbx_json_set_double(a, "rate_lower", aa->lower);
        cbx_json_set_double(a, "rate_upper", aa->upper);
        cbx_json_set_bool(a, "holds", aa_holds(aa));
    }
    if (a)
        cbx_json_set(o, "aa", a);
    else
        cbx_json_set_null(o, "aa");
    if (u) {
        cbx_json_set_int(u, "mutants", (int64_t)m->mutants);
        cbx_json_set_int(u, "found", (int64_t)m->found);
        cbx_json_set_int(u, "honest", (int64_t)m->honest);
        cbx_json_set_int(u, "honest_ok", (int64_t)m->honest_ok);
        cbx_json_set_string(u, "survivors", cbx_text_str(&m->survivors));
        cbx_json_set_bool(u, "holds", mutants_hold(m));
    }
    if (u)
        cbx_json_set(o, "mutants", u);
    else
        cbx_json_set_null(o, "mutants");
    return o;
}

static int run_selftest(const opt_run *run)
{
    const opt_program *program = run->program;
    selftest_args *a = run->args;
    cbx_arena *arena = run->arena;
    cbx_ctx *ctx = run->ctx;
    aa_score aa = { 0 };
    mutant_score m = { 0 };
    progress p;
    bool want_mutants = a->mutants || !a->aa, want_aa = a->aa || !a->mutants;
    int status = EXIT_PASS;

    if (nperf_cases_open(run, &a->plugins, NULL)) return EXIT_ERROR;
    if (!a->aa) a->aa = "24";
    cbx_text_init(&m.survivors, cbx_ctx_allocator(ctx));
    progress_init(&p);
    if (want_mutants) status = run_mutants(program, ctx, a, arena, &p, &m);
    if (want_aa && !status) status = run_aa(program, ctx, a, arena, &p, &aa);
    progress_end(&p);
    if (!status && a->json)
        status = print_json(program, scores_json(want_aa ? &aa : NULL, want_mutants ? &m : NULL));
    else if (!status)
        print_scores(want_aa ? &aa : NULL, want_mutants ? &m : NULL);
    if (!status && ((want_aa && !aa_holds(&aa)) || (want_mutants && !mutants_hold(&m)))) status = EXIT_CHECK;
    cbx_text_clear(&m.survivors);
    return status;
}

const opt_command selftest_command = {
    "selftest",
    "[--aa [N]] [--mutants] [--case NAME] [--plugin FILE] [--json]",
    "is the tool itself truthful?",
    "Measures equals against each other and counts false alarms; measures planted faults and counts those found. "
    "Without options it does both. "
    "Exit status 1 when a fault survives or there are more false alarms than promised.",
    selftest_options,
    CBX_LEN(selftest_options),
    sizeof(selftest_args),
    NULL,
    0,
    run_selftest,
};
