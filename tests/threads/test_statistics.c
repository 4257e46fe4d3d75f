/*
 * Statistics from several threads: distributions, whose library keeps its results in static
 * variables behind one lock, and a bootstrap that starts threads of its own.
 */
#include "check.h"

#include <pthread.h>

#include "calibrax/base/ctx.h"
#include "calibrax/statistics/bootstrap.h"
#include "calibrax/statistics/distribution.h"

enum { THREADS = 4, POINTS = 400 };

static void *distributions(void *arg)
{
    double *out = arg;
    for (int i = 0; i < POINTS; i++) {
        double df = 1 + i % 40, p = (i + 0.5) / POINTS;
        out[i] = cbx_stat_t_cdf(3 * p, df) + cbx_stat_chi2_sf(df * p, df) + cbx_stat_f_quantile(p, df, 5);
    }
    return NULL;
}

TEST(distributions_from_many_threads)
{
    static double alone[POINTS], together[THREADS][POINTS];
    pthread_t threads[THREADS];
    distributions(alone);
    for (int t = 0; t < THREADS; t++)
        CHECK_INT(pthread_create(&threads[t], NULL, distributions, together[t]), 0, "thread");
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++) CHECK(memcmp(alone, together[t], sizeof alone) == 0, "as if alone");
}

TEST(resamples_from_many_threads)
{
    double x[50], values[2][200];
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err;
    for (int i = 0; i < 50; i++) x[i] = i * i % 17;
    for (int t = 0; t < 2; t++) {
        cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
        cbx_interval iv;
        o.statistic = CBX_BOOT_MEDIAN;
        o.resamples = 200;
        o.threads = t ? 4 : 1;
        o.distribution = values[t];
        CHECK_OK(cbx_stat_bootstrap(ctx, x, 50, NULL, 0, &o, &iv, &err), &err, "bootstrap");
    }
    CHECK(memcmp(values[0], values[1], sizeof values[0]) == 0, "the same bits");
    cbx_ctx_free(ctx);
}

TESTS()
