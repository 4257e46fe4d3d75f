/* Rates of false alarms and of slow-downs found, on made-up launches whose rates are known. */
#include "check.h"
#include "fail_alloc.h"

#include <math.h>

#include "calibrax/perf/gate/proof.h"

enum { ROUNDS = 400 };

static double first[ROUNDS], second[ROUNDS];
static const cbx_proof_pool pool = { "made up", first, second, ROUNDS };

static void make_pool(uint64_t seed, double cv)
{
    cbx_proof_simulate(seed, 1, 1e-3, cv, ROUNDS, first);
    cbx_proof_simulate(seed, 2, 1e-3, cv, ROUNDS, second);
}

static void check_holds(cbx_proof_rate r, double rate, const char *why)
{
    if (r.lower > rate || r.upper < rate)
        fail_msg("%s: %zu of %zu, [%g, %g] without %g", why, r.hits, r.trials, r.lower, r.upper, rate);
}

/*
 * Launches that differ by far more than the margin, so that nothing is equivalent: a row of n pairs
 * alarms where the order-statistic interval misses 1, whose probability is exact: 2 / 2^6 for 6
 * pairs, 2 (1 + 11) / 2^11 for 11.
 */
TEST(the_rate_of_rows_is_the_one_of_the_interval)
{
    static const struct {
        size_t pairs;
        double rate;
    } cases[] = { { 6, 2.0 / 64 }, { 11, 24.0 / 2048 } };
    cbx_ctx *ctx = cbx_test_context();
    make_pool(3, 0.5);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
        cbx_proof_alarms a;
        cbx_proof_rate by_pool;
        cbx_err err = CBX_ERR_INIT;
        o.comparisons = 4000;
        o.tables = 40;
        o.rows = 10;
        o.pairs = cases[i].pairs;
        CHECK_OK(cbx_proof_equals(ctx, &pool, 1, &o, &a, &by_pool, &err), &err, "equals");
        check_holds(a.rows, cases[i].rate, "false alarms of rows");
        CHECK_LE(a.gates.upper, 0.065, "false alarms of the gate");
        CHECK_LE(a.row_tables.lower, 0.05, "tables of rows");
        CHECK_LE(a.gate_tables.lower, 0.05, "tables of a gate");
        CHECK_INT(by_pool.trials, 8000, "both kinds");
        CHECK_INT(by_pool.hits, a.rows.hits + a.gates.hits, "both kinds");
    }
    cbx_ctx_free(ctx);
}

/* Drift through the recording: rounds cancel it, where the two attempts ran side by side. */
TEST(interleaving_cancels_drift)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
    cbx_proof_alarms a;
    cbx_err err = CBX_ERR_INIT;
    make_pool(4, 0.05);
    for (size_t i = 0; i < ROUNDS; i++) {
        first[i] *= 1 + 0.5 * (double)i / ROUNDS;
        second[i] *= 1 + 0.5 * (double)i / ROUNDS;
    }
    o.comparisons = 2000;
    o.tables = 20;
    o.rows = 5;
    CHECK_OK(cbx_proof_equals(ctx, &pool, 1, &o, &a, NULL, &err), &err, "equals");
    check_holds(a.rows, 24.0 / 2048, "false alarms under drift");
    cbx_ctx_free(ctx);
}

/* The promise: +2 % in launches that vary by 1 %, 25 a side, found in nine of ten tables of 50
 * rows, and nothing found where there is none. */
TEST(power)
{
    static const struct {
        double slow, least, most;
    } cases[] = { { 1.00, 0, 0.02 }, { 1.02, 0.9, 1 }, { 1.05, 0.99, 1 } };
    cbx_ctx *ctx = cbx_test_context();
    make_pool(5, 0.01);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        static double base[ROUNDS], slow[ROUNDS];
        cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
        cbx_proof_rate r;
        cbx_err err = CBX_ERR_INIT;
        o.tables = 100;
        cbx_proof_simulate(6, 1, 1e-3, 0.01, ROUNDS, base);
        cbx_proof_simulate(6, 2, 1e-3 * cases[i].slow, 0.01, ROUNDS, slow);
        CHECK_OK(cbx_proof_power(ctx, base, slow, ROUNDS, &pool, 1, &o, &r, &err), &err, "power");
        CHECK_INT(r.trials, 100, "tables");
        if ((double)r.hits < cases[i].least * 100 || (double)r.hits > cases[i].most * 100)
            fail_msg("%g: %zu of %zu", cases[i].slow, r.hits, r.trials);
    }
    cbx_ctx_free(ctx);
}

TEST(the_same_seed_gives_the_same_counts)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
    cbx_proof_alarms a, b;
    cbx_err err = CBX_ERR_INIT;
    make_pool(7, 0.2);
    o.comparisons = 500;
    o.tables = 5;
    o.seed = 11;
    CHECK_OK(cbx_proof_equals(ctx, &pool, 1, &o, &a, NULL, &err), &err, "equals");
    CHECK_OK(cbx_proof_equals(ctx, &pool, 1, &o, &b, NULL, &err), &err, "equals");
    CHECK(!memcmp(&a, &b, sizeof a), "alike");
    cbx_ctx_free(ctx);
}

TEST(bad_pools)
{
    static const double few[] = { 1, 1, 1 }, hole[ROUNDS] = { 0 };
    const cbx_proof_pool short_pool = { "short", few, few, 3 }, holed = { "holed", hole, hole, ROUNDS };
    cbx_ctx *ctx = cbx_test_context();
    cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
    cbx_proof_alarms a;
    cbx_proof_rate r;
    cbx_err err = CBX_ERR_INIT;
    make_pool(8, 0.1);
    CHECK_STATUS(cbx_proof_equals(ctx, NULL, 0, &o, &a, NULL, &err), CBX_EINVAL, "no pool");
    CHECK_STATUS(cbx_proof_equals(ctx, &short_pool, 1, &o, &a, NULL, &err), CBX_EINVAL, "too short");
    CHECK_STATUS(cbx_proof_equals(ctx, &holed, 1, &o, &a, NULL, &err), CBX_EDOM, "a median of 0");
    CHECK_STATUS(cbx_proof_power(ctx, few, few, 3, &pool, 1, &o, &r, &err), CBX_EINVAL, "too few");
    CHECK_STATUS(cbx_proof_power(ctx, hole, hole, ROUNDS, &pool, 1, &o, &r, &err), CBX_EDOM, "a median of 0");
    o.struct_size = 3;
    CHECK_STATUS(cbx_proof_equals(ctx, &pool, 1, &o, &a, NULL, &err), CBX_EINVAL, "another version");
    cbx_ctx_free(ctx);
}

static cbx_status ask_once(cbx_ctx *ctx, void *user)
{
    cbx_proof_opts o = CBX_PROOF_OPTS_INIT;
    cbx_proof_alarms a;
    (void)user;
    o.comparisons = o.tables = 1;
    o.rows = 2;
    return cbx_proof_equals(ctx, &pool, 1, &o, &a, NULL, NULL);
}

TEST(no_memory)
{
    make_pool(9, 0.1);
    CHECK_GT(cbx_test_fail_each(ask_once, NULL, "cbx_proof_equals"), 10, "allocations were made to fail");
}

TESTS()
