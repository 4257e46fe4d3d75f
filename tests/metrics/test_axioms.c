/* What the rows of the table declare, on random operands of every metric: range, axioms, invariances, proper scores. */
#include "draw.h"

#include <math.h>

static cbx_err err;
static cbx_ctx *ctx;

enum { DRAWS = 20 };

static void rows_have_their_properties(void **state)
{
    const cbx_metric_function *m;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_metric_options o = { 0 };
        set_needs(m, &o);
        CHECK_OK(cbx_metric_check_properties(ctx, m, &o, DRAWS, 7 + i, &err), &err, m->name);
    }
    cbx_ctx_free(ctx);
}

/* A row that is right, with one property that it does not have. */
static void false_properties_are_seen(void **state)
{
    static const struct {
        const char *metric;
        double low;
        unsigned axioms, invariances;
        const char *sentence;
    } cases[] = {
        { "mse", 100, 0, 0, "mse is 1.2" },
        { "relative_l2_error", 0, CBX_AXIOM_SYMMETRIC, 0, "is not symmetric" },
        { "cosine_distance", 0, CBX_AXIOM_TRIANGLE, 0, "breaks the triangle inequality" },
        { "pearson_correlation", -1, CBX_AXIOM_IDENTITY, 0, "of x and x is 1, not 0" },
        { "log_cosh_loss", 0, 0, CBX_INVARIANT_SCALE, "is not invariant (scale)" },
        { "euclidean_distance", 0, 0, CBX_INVARIANT_MONOTONE, "is not invariant (monotone)" },
        { "wasserstein_1d", 0, 0, CBX_INVARIANT_MONOTONE, "is not invariant (monotone)" },
        { "manhattan_distance", 0, 0, CBX_INVARIANT_ROTATION, "is not invariant (rotation)" },
        { "spectral_distance", 0, 0, CBX_INVARIANT_COMMON_SCALE, "is not invariant (common scale)" },
        { "mse", 0, 0, CBX_INVARIANT_SAMPLE_ORDER, "is not invariant (order of each sample)" },
        { "euclidean_distance", 0, 0, CBX_INVARIANT_SHIFT | CBX_INVARIANT_LORENTZ, "is not invariant (Lorentz)" },
        { "stiefel_distance", 0, 0, CBX_INVARIANT_ORDER, NULL }, /* of rows: true, too */
        { "ndcg", 0, 0, CBX_INVARIANT_SHIFT, "is not invariant (shift)" },
        { "f1_score", 0, 0, CBX_INVARIANT_RELABEL, "is not invariant (relabel)" },
        { "spd_log_euclidean_distance", 0, 0, CBX_INVARIANT_CONGRUENCE, "is not invariant (congruence)" },
        { "brier_score", 0, CBX_AXIOM_POSITIVE, 0, NULL },
        { "expected_calibration_error", 0, CBX_AXIOM_PROPER, 0, NULL }, /* least, though not only, for the truth */
        { "mae_of_probabilities", 0, CBX_AXIOM_PROPER, 0, "is not proper" },
    };

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const bool improper = strcmp(cases[i].metric, "mae_of_probabilities") == 0;
        const cbx_metric_function *m;
        cbx_metric_function row;
        CHECK_OK(cbx_metric_find(ctx, improper ? "mae" : cases[i].metric, &m, &err), &err, cases[i].metric);
        row = *m;
        row.low = cases[i].low;
        row.axioms = cases[i].axioms;
        row.invariances = cases[i].invariances;
        if (improper) row.operands[0].kind = CBX_OPERAND_PROBABILITY, row.operands[1].kind = CBX_OPERAND_BINARY;
        CHECK_STATUS(cbx_metric_check_properties(ctx, &row, NULL, DRAWS, 7, &err),
                     cases[i].sentence ? CBX_EDOM : CBX_OK, cases[i].metric);
        if (cases[i].sentence && !strstr(err.message, cases[i].sentence))
            fail_msg("%s: '%s', not '%s'", cases[i].metric, err.message, cases[i].sentence);
    }
    cbx_ctx_free(ctx);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_their_properties),
        cmocka_unit_test(false_properties_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
