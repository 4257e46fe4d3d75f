/*
 * nperf selftest --aa and --power: comparisons drawn from recorded launches
 * (calibrax/perf/gate/proof.h).
 *
 * Recorded are four kernels of suites/selftest/kernels.c, interleaved: each as two attempts for
 * --aa, and plain beside three planted slow-downs for --power; points share POINT_S for each of
 * them, so that --aa is recorded in ten minutes at most and --power in five.  Promises: of equals
 * at most 6.5 % called different (upper bound, nominal 5 %), at most 5 % of tables of 50 with any
 * such row; a slow-down of 2 % in launches that vary by 1 % found by nine gates in ten.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/nperf/selftest.h"
#include "suites/suites.h"

#define MAX_ALARMS       0.065 /* of the upper bound */
#define NOMINAL          0.05  /* no rate is surely above it, and none of tables */
#define MIN_POWER        0.90
#define SLOW             0.02 /* that must be found ... */
#define VARIATION        0.01 /* ... where launches vary by so much */
#define SIMULATED        400
#define TABLES           1000
#define TABLES_EQUAL     10000
#define TABLES_QUICK     200
#define POINT_S          150 /* of recording */
#define POINT_S_QUICK    45
#define ROUNDS           200
#define ROUNDS_QUICK     50
#define MIN_ROUNDS       25 /* that a comparison needs */
#define MIN_ROUNDS_POWER 50 /* halves of the plain launches are equals, too: 25 a side */
#define MAX_COMPARISONS  1000000

static const char *const kernels[] = {
    "{\"kernel\":\"saxpy\",\"n\":1000}",
    "{\"kernel\":\"matmul\",\"n\":64}",
    "{\"kernel\":\"copy\",\"n\":1048576}",
    "{\"kernel\":\"sum\",\"n\":4096}",
};
/* Slow-downs are planted in what takes microseconds: in a saxpy of 50 ns one per cent is less than
 * a cycle. */
static const char *const slowed[] = { "{\"kernel\":\"matmul\",\"n\":64}", "{\"kernel\":\"sum\",\"n\":4096}" };

static size_t rounds_of(const selftest *t)
{
    return t->args->launches ? t->args->launches : t->args->quick ? ROUNDS_QUICK : ROUNDS;
}

static int check_rounds(const selftest *t, size_t min)
{
    if (rounds_of(t) >= min && rounds_of(t) <= 10000) return EXIT_PASS;
    return opt_fail(t->run, "--launches: %zu are not between %zu and 10000", rounds_of(t), min);
}

/* @param equals  true: launches of the plain program, twice; false: of all programs */
static cbx_measure_opts recording(const selftest *t, const char *const *points, size_t n, bool equals)
{
    static const char *const plain[] = { "plain" };
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;

    o.case_ops = &cbx_selftest_kernels_case;
    o.points = points;
    o.npoints = n;
    o.launches = rounds_of(t);
    o.warmup = 1;
    o.repeats = t->args->quick ? 3 : 5;
    o.budget_s = (t->args->quick ? POINT_S_QUICK : POINT_S) * (double)n;
    o.epoch_target_s = t->args->quick ? 0.002 : 0.005;
    o.allow = equals ? plain : NULL;
    o.nallow = equals;
    o.twins = equals;
    return o;
}

/* A number of comparisons, or of pairs. */
static int read_count(const selftest *t, const char *option, const char *what, const char *word, size_t *n)
{
    char *end;
    long wanted = strtol(word, &end, 10);

    *n = (size_t)wanted;
    if (!*end && wanted >= 1 && wanted <= MAX_COMPARISONS) return EXIT_PASS;
    return opt_fail(t->run, "%s: expected a number of %s from 1 to %d, found '%s'", option, what, MAX_COMPARISONS,
                    word);
}

static const cbx_row *find_row(const cbx_rows *rows, const char *label, const char *baseline, const char *variant)
{
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        if (!strcmp(r->baseline, baseline) && !strcmp(r->variant, variant) && !strcmp(r->point_label, label) &&
            cbx_row_is_good(r) && r->nlaunches)
            return r;
    }
    return NULL;
}

/* The budget ended a recording before it had the launches that a comparison needs. */
static int too_few(const selftest *t, const char *part, const cbx_proof_pool *p)
{
    progress_end(t->progress);
    fprintf(stderr,
            "nperf: %s: '%s' has %zu rounds, and %d are needed: record with more --launches, or without --quick\n",
            part, p->name, p->rounds, MIN_ROUNDS);
    return EXIT_UNDECIDED;
}

/* --- equals --- */

/* A pool for each point whose two attempts came out good. */
static size_t pools_of(const cbx_rows *rows, cbx_proof_pool *out, size_t capacity)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->count && n < capacity; i++) {
        const cbx_row *a = &rows->rows[i], *b;
        if (strcmp(a->variant, "default") != 0 || !cbx_row_is_good(a)) continue;
        b = find_row(rows, a->point_label, a->baseline, "twin");
        if (!b) continue;
        out[n++] = (cbx_proof_pool){ a->point_label, a->launch_medians_s, b->launch_medians_s,
                                     a->nlaunches < b->nlaunches ? a->nlaunches : b->nlaunches };
    }
    return n;
}

/* Surely within the promise, surely not, or too few comparisons to tell. */
static int equals_verdict(const cbx_proof_alarms *a)
{
    const cbx_proof_rate *all[] = { &a->rows, &a->gates, &a->row_tables, &a->gate_tables };

    for (size_t i = 0; i < CBX_LEN(all); i++)
        if (all[i]->lower > NOMINAL) return EXIT_CHECK;
    return a->rows.upper <= MAX_ALARMS && a->gates.upper <= MAX_ALARMS ? EXIT_PASS : EXIT_UNDECIDED;
}

/* A row that a recording cannot use. */
static const cbx_row *bad_row(const cbx_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (!cbx_row_is_good(&rows->rows[i]) && strcmp(rows->rows[i].status, "skipped") != 0) return &rows->rows[i];
    return NULL;
}

static cbx_json *kernels_json(const cbx_proof_pool *pools, size_t n, const cbx_proof_rate *by_pool)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < n; i++)
        cbx_json_put(cbx_json_push_object(list), J_TEXT("kernel", pools[i].name),
                     J_INT("launches", (2 * pools[i].rounds)),
                     J_NUMBER("launch_variation", selftest_variation(pools[i].first, pools[i].rounds)),
                     J_RATE("alarms", by_pool[i]));
    return list;
}

static void print_rate(const char *what, const cbx_proof_rate *r)
{
    printf("  %-28s %zu of %zu, %.2f %% [%.2f, %.2f]\n", what, r->hits, r->trials,
           100 * (double)r->hits / (double)r->trials, 100 * r->lower, 100 * r->upper);
}

static int ask_equals(const selftest *t, const cbx_rows *rows, size_t comparisons, cbx_json **out)
{
    cbx_proof_pool pools[CBX_LEN(kernels)];
    cbx_proof_rate by_pool[CBX_LEN(kernels)];
    cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
    cbx_proof_alarms a;
    size_t n = pools_of(rows, pools, CBX_LEN(pools));

    if (n < CBX_LEN(kernels)) return selftest_unmeasured(t, "--aa", bad_row(rows));
    o.comparisons = comparisons;
    /* 1 - (1 - 2/2^11)^50 = 4.8 % of tables of rows alarm: a thousand cannot distinguish that from
     * 5 % */
    o.tables = t->args->quick ? TABLES_QUICK : TABLES_EQUAL;
    o.seed = t->args->seed;
    for (size_t i = 0; i < n; i++)
        if (pools[i].rounds < MIN_ROUNDS) return too_few(t, "--aa", &pools[i]);
    if (cbx_proof_equals(t->run->ctx, pools, n, &o, &a, by_pool, t->run->err))
        return opt_fail(t->run, "--aa: %s", t->run->err->message);
    progress_end(t->progress);
    if (!t->args->json) {
        printf("equal programs judged different: %s\n", selftest_word(equals_verdict(&a)));
        print_rate("rows", &a.rows);
        print_rate("gates", &a.gates);
        print_rate("tables of rows, any", &a.row_tables);
        print_rate("tables of a gate, any", &a.gate_tables);
        for (size_t i = 0; i < n; i++) print_rate(pools[i].name, &by_pool[i]);
    }
    const cbx_proof_rate both = cbx_proof_rate_of(a.rows.hits + a.gates.hits, a.rows.trials + a.gates.trials);
    *out = cbx_json_object(J_INT("pairs", both.trials), J_INT("alarms", both.hits), J_NUMBER("rate_lower", both.lower),
                           J_NUMBER("rate_upper", both.upper), J_RATE("row_alarms", a.rows),
                           J_RATE("gate_alarms", a.gates), J_RATE("row_table_alarms", a.row_tables),
                           J_RATE("gate_table_alarms", a.gate_tables),
                           J_JSON("kernels", kernels_json(pools, n, by_pool)));
    return selftest_end(t, *out, equals_verdict(&a));
}

int selftest_equals(const selftest *t, cbx_json **out)
{
    const char *word = t->args->aa ? t->args->aa : SELFTEST_COMPARISONS;
    cbx_measure_opts o = recording(t, kernels, CBX_LEN(kernels), true);
    size_t wanted;
    int status = check_rounds(t, MIN_ROUNDS);

    if (read_count(t, "--aa", "comparisons", word, &wanted) || status) return EXIT_ERROR;
    CLEARED(cbx_measure_result) result;
    status = selftest_recording(t, "aa", &o, &result);
    if (!status) status = ask_equals(t, &result.rows, wanted, out);
    if (*out) selftest_put_recording(*out, &result);
    return status;
}

/* --- power --- */

typedef struct finding {
    const char *kernel;
    double slow, variation; /* planted; of the plain launches */
    double seen;            /* ratio of the medians of all launches, less 1 */
    cbx_proof_rate found;
} finding;

static const struct {
    const char *baseline;
    double slow;
} planted[] = { { "slow-1", 0.01 }, { "slow-2", 0.02 }, { "slow-5", 0.05 } };

#define MAX_FINDINGS (CBX_LEN(planted) * (CBX_LEN(slowed) + 1))

static cbx_proof_opts power_opts(const selftest *t)
{
    cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
    o.tables = t->args->quick ? TABLES_QUICK : TABLES;
    o.seed = t->args->seed;
    return o;
}

/* Launches that vary by exactly what is promised for, whatever this machine does. */
static int simulate_power(const selftest *t, finding *out, size_t *n)
{
    static double values[4][SIMULATED];
    const cbx_proof_pool pool = { "simulated", values[0], values[1], SIMULATED };
    cbx_proof_opts o = power_opts(t);

    for (uint64_t i = 0; i < 3; i++) cbx_proof_simulate(t->args->seed, i, 1e-3, VARIATION, SIMULATED, values[i]);
    for (size_t k = 0; k < CBX_LEN(planted); k++) {
        finding *f = &out[(*n)++];
        cbx_proof_simulate(t->args->seed, 4 + k, 1e-3 * (1 + planted[k].slow), VARIATION, SIMULATED, values[3]);
        *f = (finding){ .kernel = "simulated", .slow = planted[k].slow, .seen = planted[k].slow };
        f->variation = selftest_variation(values[2], SIMULATED);
        if (cbx_proof_power(t->run->ctx, values[2], values[3], SIMULATED, &pool, 1, &o, &f->found, t->run->err))
            return opt_fail(t->run, "--power: %s", t->run->err->message);
    }
    return EXIT_PASS;
}

static int find_planted(const selftest *t, const cbx_rows *rows, const cbx_row *plain, finding *out, size_t *n)
{
    const size_t half = plain->nlaunches / 2;
    const cbx_proof_pool pool = { plain->point_label, plain->launch_medians_s, plain->launch_medians_s + half, half };
    cbx_proof_opts o = power_opts(t);

    if (half < MIN_ROUNDS) return too_few(t, "--power", &pool);
    for (size_t k = 0; k < CBX_LEN(planted); k++) {
        const cbx_row *r = find_row(rows, plain->point_label, planted[k].baseline, "default");
        finding *f = &out[*n];
        size_t count = r && r->nlaunches < plain->nlaunches ? r->nlaunches : plain->nlaunches;
        if (!r) return selftest_unmeasured(t, "--power", bad_row(rows));
        *f = (finding){ plain->point_label,
                        planted[k].slow,
                        selftest_variation(plain->launch_medians_s, plain->nlaunches),
                        r->median_s / plain->median_s - 1,
                        { 0, 0, 0, 0 } };
        if (cbx_proof_power(t->run->ctx, plain->launch_medians_s, r->launch_medians_s, count, &pool, 1, &o, &f->found,
                            t->run->err))
            return opt_fail(t->run, "--power: %s", t->run->err->message);
        (*n)++;
    }
    return EXIT_PASS;
}

static bool is_promised(const finding *f)
{
    bool simulated = !strcmp(f->kernel, "simulated");
    return f->slow >= SLOW && (simulated || f->variation <= VARIATION);
}

static int power_verdict(const finding *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_promised(&f[i]) && (double)f[i].found.hits < MIN_POWER * (double)f[i].found.trials) return EXIT_CHECK;
    return EXIT_PASS;
}

static void print_power(const finding *f, size_t n)
{
    printf("planted slow-downs found by a gate of 25 launches a side among 50 rows: %s\n",
           selftest_word(power_verdict(f, n)));
    for (size_t i = 0; i < n; i++)
        printf("  %-14s +%.0f %% (seen %+.2f %%), launches vary by %.2f %%: found %zu of %zu [%.1f, %.1f]\n",
               f[i].kernel, 100 * f[i].slow, 100 * f[i].seen, 100 * f[i].variation, f[i].found.hits, f[i].found.trials,
               100 * f[i].found.lower, 100 * f[i].found.upper);
}

int selftest_power(const selftest *t, cbx_json **out)
{
    cbx_measure_opts o = recording(t, slowed, CBX_LEN(slowed), false);
    finding found[MAX_FINDINGS];
    size_t n = 0;
    int status = check_rounds(t, MIN_ROUNDS_POWER);

    if (!status) status = simulate_power(t, found, &n);
    if (status) return status;
    CLEARED(cbx_measure_result) result;
    status = selftest_recording(t, "power", &o, &result);
    for (size_t i = 0; !status && i < result.rows.count; i++) {
        const cbx_row *r = &result.rows.rows[i];
        if (strcmp(r->baseline, "plain") != 0) continue;
        if (!cbx_row_is_good(r))
            status = selftest_unmeasured(t, "--power", r);
        else
            status = find_planted(t, &result.rows, r, found, &n);
    }
    progress_end(t->progress);
    if (!status) {
        if (!t->args->json) print_power(found, n);
        cbx_json *document = cbx_json_new_object(), *list = cbx_json_new_array();
        for (size_t i = 0; i < n; i++) {
            cbx_json_put(cbx_json_push_object(list), J_TEXT("kernel", found[i].kernel),
                         J_NUMBER("planted", found[i].slow), J_NUMBER("seen", found[i].seen),
                         J_NUMBER("launch_variation", found[i].variation), J_BOOL("promised", is_promised(&found[i])),
                         J_RATE("found", found[i].found));
            if (!strcmp(found[i].kernel, "simulated") && found[i].slow == SLOW)
                cbx_json_put(document, J_RATE("found_2_percent_at_1_percent_variation", found[i].found));
        }
        cbx_json_put(document, J_INT("launches_a_side", 25), J_JSON("findings", list));
        *out = document;
        selftest_put_recording(document, &result);
        status = selftest_end(t, document, power_verdict(found, n));
    }
    return status;
}

/* --- live: each pair measured again --- */

static int live_round(const selftest *t, size_t wanted, size_t *alarms, size_t *pairs)
{
    cbx_measure_opts o = recording(t, kernels, CBX_LEN(kernels), true);
    selftest turn = *t;
    selftest_args args = *t->args;

    args.seed += *pairs;
    turn.args = &args;
    o.launches = t->args->quick ? 6 : 11;
    CLEARED(cbx_measure_result) result;
    int status = selftest_measure(&turn, &o, &result);
    for (size_t i = 0; i < result.rows.count && *pairs < wanted; i++) {
        const cbx_row *r = &result.rows.rows[i];
        if (strcmp(r->variant, "twin") != 0 || !cbx_row_is_good(r) || !r->verdict) continue;
        ++*pairs;
        *alarms += !strcmp(r->verdict, "faster") || !strcmp(r->verdict, "slower");
    }
    return status;
}

int selftest_live(const selftest *t, cbx_json **out)
{
    size_t wanted, alarms = 0, pairs = 0;
    int status = read_count(t, "--live", "pairs", t->args->live, &wanted);

    if (status) return status;
    while (!status && pairs < wanted) {
        size_t before = pairs;
        status = live_round(t, wanted, &alarms, &pairs);
        if (!status && pairs == before) status = EXIT_UNDECIDED;
    }
    if (status == EXIT_UNDECIDED) fprintf(stderr, "nperf: --live: the machine is too busy to measure a pair\n");
    if (status) return status;
    cbx_proof_rate rate = cbx_proof_rate_of(alarms, pairs);
    progress_end(t->progress);
    if (!t->args->json) print_rate("equal programs measured again", &rate);
    *out = cbx_json_object(J_INT("pairs", pairs), J_RATE("alarms", rate));
    return selftest_end(t, *out, rate.lower <= NOMINAL ? EXIT_PASS : EXIT_CHECK);
}
