/* Suites: collections from JSON, and their reports. */
#include "draw.h"

#include <math.h>

#include "calibrax/metrics/compose.h"
#include "fail_alloc.h"

static cbx_err err;
static cbx_ctx *ctx;

static const double P[] = { 2.5, 0, 2, 8 }, T[] = { 3, -0.5, 2, 7 };

static cbx_array *vector(size_t n, const double *v) { return array_of(ctx, 1, &n, v, false); }

static const char suite_text[] =
    "{\"description\": \"regression\", \"groups\": {"
    "\"errors\": [\"mae\", {\"metric\": \"huber_loss\", \"label\": \"huber\", \"high\": 0.01, \"weight\": 4, "
    "\"parameters\": {\"delta\": 0.1}}],"
    "\"fit\": [{\"metric\": \"r_squared\", \"low\": 0.9, \"high\": 1, \"weight\": 2}]}}";
static const char report_text[] =
    "errors\n"
    "  mae                                0.5\n"
    "  huber                              0.04625                 at most 0.01: FAILED\n"
    "fit\n"
    "  r_squared                          0.9486081370449679      between 0.9 and 1.0: passed\n";
static const char report_json[] =
    "{\"groups\":[{\"name\":\"errors\",\"metrics\":[{\"label\":\"mae\",\"metric\":\"mae\",\"direction\":\"lower\","
    "\"value\":0.5},"
    "{\"label\":\"huber\",\"metric\":\"huber_loss\",\"direction\":\"lower\",\"value\":0.04625,\"low\":null,\"high\":0."
    "01,"
    "\"passed\":false}]},{\"name\":\"fit\",\"metrics\":[{\"label\":\"r_squared\",\"metric\":\"r_squared\","
    "\"direction\":\"higher\",\"value\":0.9486081370449679,\"low\":0.9,\"high\":1.0,\"passed\":true}]}],\"updates\":1,"
    "\"passed\":false}";

static cbx_status read_suite(cbx_ctx *c, const char *text, cbx_metric_collection **out)
{
    cbx_json *o = NULL;
    cbx_status st = cbx_json_parse(text, strlen(text), "suite", &o, &err);

    if (!st) st = cbx_metric_collection_read(c, o, "suite", out, &err);
    cbx_json_unref(o);
    return st;
}

TEST(suites)
{
    cbx_metric_collection *c = NULL;
    cbx_json *report = NULL;
    cbx_text text;
    double v;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    cbx_array *in[] = { vector(4, P), vector(4, T) };
    CHECK_OK(read_suite(ctx, suite_text, &c), &err, "a suite");
    CHECK_OK(cbx_metric_collection_update(ctx, c, 2, in, NULL, &err), &err, "a batch");
    CHECK_OK(cbx_metric_collection_report(ctx, c, &report, &err), &err, "a report");
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx_metric_report_text(report, &text);
    CHECK_STR(cbx_text_str(&text), report_text, "as text");
    cbx_text_reset(&text);
    cbx_json_write(report, 0, &text);
    cbx_json *wanted = NULL;
    CHECK_OK(cbx_json_parse(report_json, strlen(report_json), "report", &wanted, &err), &err, "the expected report");
    CHECK(cbx_json_equal(report, wanted), cbx_text_str(&text));
    cbx_json_unref(wanted);
    CHECK_OK(cbx_metric_collection_weighted(ctx, c, CBX_DIRECTION_HIGHER, &v, &err), &err, "weighted");
    CHECK(fabs(v - (2 * 0.94860813704496794 - 4 * 0.04625 - 0.5)) < 1e-14, "higher is better");
    CHECK_OK(cbx_metric_collection_weighted(ctx, c, CBX_DIRECTION_LOWER, &v, &err), &err, "weighted");
    CHECK(fabs(v + (2 * 0.94860813704496794 - 4 * 0.04625 - 0.5)) < 1e-14, "lower is better");
    cbx_text_clear(&text);
    cbx_json_unref(report);
    cbx_metric_collection_free(c);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

static const struct {
    const char *suite, *sentence;
} faults[] = {
    { "[]", "suite: a suite of metrics has either an object 'groups' or a list 'metrics'" },
    { "{\"metrics\": [\"mae\"], \"groups\": {}}",
      "suite: a suite of metrics has either an object 'groups' or a list 'metrics'" },
    { "{\"metrics\": [\"maee\"]}", "suite: there is no metric 'maee': did you mean 'mae'?" },
    { "{\"metrics\": []}", "suite: there are no metrics in it" },
    { "{\"metrics\": [\"mae\", \"mae\"]}",
      "suite: there is a metric 'mae' in the collection already: give it another label" },
    { "{\"metrics\": [3]}", "suite: a metric must be a name, or an object with the key 'metric'" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"hihg\": 3}]}",
      "suite: a metric: unknown key 'hihg': did you mean 'high'?" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"label\": 5}]}", "suite: the label of mae must be text" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"high\": -Infinity}]}",
      "suite: mae: no value can reach an infinite threshold" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": 0.1}]}",
      "suite: the parameters of huber_loss must be an object" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": {\"delta\": NaN}}]}",
      "suite: 'delta' must be a number, got NaN" },
    { "{\"metrics\": [{\"metric\": \"mae\", \"low\": 3, \"high\": 2}]}",
      "suite: mae: the threshold 'low', 3, must be at most 'high', 2" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": {\"d\": 3}}]}",
      "suite: huber_loss has no parameter 'd'" },
    { "{\"metrics\": [{\"metric\": \"huber_loss\", \"parameters\": {\"delta\": 0}}]}",
      "suite: huber_loss: 'delta' must be above 0, not 0" },
    { "{\"metrics\": [{\"metric\": \"f1_score\", \"parameters\": {\"average\": \"most\"}}]}",
      "suite: 'average' must be one of binary|micro|macro|weighted, not 'most'" },
    { "{\"metrics\": [{\"metric\": \"f1_score\", \"parameters\": {\"average\": 2}}]}",
      "suite: 'average' must be one of binary|micro|macro|weighted, not 2" },
    { "{\"metrics\": [{\"metric\": \"f_divergence\"}]}", "suite: f_divergence: needs a function of ratios" },
    { "{\"groups\": {\"a\": {}}}", "suite: 'a' must be a list of metrics" },
};

TEST(suites_refuse)
{
    cbx_metric_collection *c = NULL;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        CHECK(read_suite(ctx, faults[i].suite, &c) != CBX_OK, faults[i].suite);
        if (!strstr(err.message, faults[i].sentence)) fail_msg("%s: %s", faults[i].suite, err.message);
    }
    cbx_ctx_free(ctx);
}

static cbx_status a_suite(cbx_ctx *c, void *user)
{
    cbx_metric_collection *s = NULL;
    cbx_json *report = NULL;
    cbx_text text;
    cbx_status st = read_suite(c, suite_text, &s);

    cbx_text_init(&text, cbx_ctx_allocator(c));
    if (!st) st = cbx_metric_collection_update(c, s, 2, user, NULL, &err);
    if (!st) st = cbx_metric_collection_report(c, s, &report, &err);
    if (!st) cbx_metric_report_text(report, &text);
    if (!st) st = cbx_text_check(&text, &err);
    cbx_text_reset(&text);
    if (!st) st = cbx_metric_collection_pack(c, s, &text, &err);
    if (!st) st = cbx_metric_collection_unpack(c, s, text.data, text.len, &err);
    cbx_text_clear(&text);
    cbx_json_unref(report);
    cbx_metric_collection_free(s);
    return st;
}

TEST(memory_may_end)
{
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    cbx_array *in[] = { vector(4, P), vector(4, T) };
    size_t at = 0;
    cbx_test_alloc t;
    cbx_test_alloc_init(&t);
    for (cbx_status st = CBX_ENOMEM; st; at++) { /* the lookup of names needs none that must not fail */
        cbx_ctx *c = cbx_test_ctx(&t);
        t.failures = 0;
        t.fail_at = t.calls + 1 + at;
        st = a_suite(c, in);
        CHECK(t.failures == 0 ? st == CBX_OK : true, "a suite");
        if (t.failures) st = CBX_ENOMEM;
        cbx_ctx_free(c);
        cbx_test_alloc_check(&t, "a suite");
    }
    CHECK_GT((double)at, 10, "allocations");
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 300)
