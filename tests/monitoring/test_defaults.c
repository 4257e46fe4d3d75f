/*
 * Options of 0: a value like any other, never a default.
 */
#include "check.h"

#include <math.h>

#include "calibrax/monitoring/health.h"
#include "calibrax/monitoring/sink.h"
#include "calibrax/monitoring/tendency.h"

/* 0 is used where it is legal, else refused by name. */
TEST(zero_is_no_default)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    static const char *const names[] = { "window", "min_executions", "slow",        "slow",
                                         "keep",   "raise_after",    "clear_after", "limit" };
    cbx_health_opts opts[4] = { CBX_HEALTH_OPTS_INIT, CBX_HEALTH_OPTS_INIT, CBX_HEALTH_OPTS_INIT,
                                CBX_HEALTH_OPTS_INIT };
    cbx_health_opts strict = CBX_HEALTH_OPTS_INIT;
    cbx_alert_rule rule = CBX_ALERT_RULE_INIT;
    cbx_health_report r;
    cbx_health *h = NULL;
    cbx_alerts *a = NULL;
    cbx_sink *s = NULL;
    cbx_tendency t;
    double x[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    size_t i = 0;

    opts[0].window = 0;
    opts[1].min_executions = 0;
    opts[2].degraded_slow = 0;
    opts[3].critical_slow = 0;
    for (; i < CBX_LEN(opts); i++) {
        CHECK_STATUS(cbx_health_create(ctx, &opts[i], &h, &err), CBX_EINVAL, names[i]);
        CHECK(strstr(err.message, names[i]) != NULL, err.message);
    }
    CHECK_STATUS(cbx_alerts_create(ctx, 0, &a, &err), CBX_EINVAL, names[i]);
    CHECK(strstr(err.message, names[i++]) != NULL, err.message);
    CHECK_OK(cbx_alerts_create(ctx, 1, &a, &err), &err, "one alert remembered");
    rule.metric = "m";
    rule.levels[1] = 1;
    rule.raise_after = 0;
    CHECK_STATUS(cbx_alerts_add_rule(a, &rule, &err), CBX_EINVAL, names[i]);
    CHECK(strstr(err.message, names[i++]) != NULL, err.message);
    rule.raise_after = 1;
    rule.clear_after = 0;
    CHECK_STATUS(cbx_alerts_add_rule(a, &rule, &err), CBX_EINVAL, names[i]);
    CHECK(strstr(err.message, names[i++]) != NULL, err.message);
    cbx_alerts_free(a);
    CHECK_STATUS(cbx_sink_create(ctx, CBX_SINK_COMMAND, "cat", 0, &s, &err), CBX_EINVAL, names[i]);
    CHECK(strstr(err.message, names[i]) != NULL, err.message);
    CHECK_STATUS(cbx_tendency_find(ctx, x, 10, NAN, 0.95, &t, &err), CBX_EINVAL, "a threshold that is not a number");
    strict.degraded_rate = strict.critical_rate = 0;
    CHECK_OK(cbx_health_create(ctx, &strict, &h, &err), &err, "no failure at all is allowed");
    for (int k = 0; k < 20; k++) CHECK_OK(cbx_health_record(h, "p", 1, k != 7, 1, &err), &err, "record");
    cbx_health_read(h, 0, 2, &r);
    CHECK_STR(cbx_health_state_name(r.state), "critical", "one failure of 20");
    cbx_health_free(h);
    cbx_ctx_free(ctx);
}

TESTS()
