/* Exporters as a user calls them: tables by the letter, digits, what is best, files that are in the
 * way, memory that runs out. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/process.h"
#include "calibrax/exporters/figure.h"
#include "calibrax/exporters/table.h"
#include "fail_alloc.h"

typedef struct state {
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
    cbx_run *run;
    char folder[64];
} state;

static cbx_status read_run(cbx_ctx *ctx, cbx_run **out, cbx_err *err)
{
    return cbx_run_read(ctx, cbx_test_source("tests/exporters/fixtures/run.json"), out, err);
}

static int setup(void **out)
{
    static state s;
    cbx_err err = CBX_ERR_INIT;

    memset(&s, 0, sizeof s);
    cbx_test_alloc_init(&s.alloc);
    s.ctx = cbx_test_ctx(&s.alloc);
    cbx_test_folder(s.folder);
    CHECK_OK(read_run(s.ctx, &s.run, &err), &err, "the fixture");
    *out = &s;
    return 0;
}

static int teardown(void **in)
{
    state *s = *in;

    cbx_run_free(s->run);
    cbx_test_folder_remove(s->folder);
    cbx_ctx_free(s->ctx);
    cbx_test_alloc_check(&s->alloc, "after the test");
    return 0;
}

static cbx_status export(state *s, const char *format, bool replace, const char *metric, cbx_export_report *out,
                         cbx_err *err)
{
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    const cbx_run *run = s->run;

    o.folder = s->folder;
    o.replace = replace;
    o.metrics = metric ? &metric : NULL;
    o.nmetrics = metric != NULL;
    return cbx_export_runs(s->ctx, cbx_exporter_find(format), &run, 1, &o, out, err);
}

/* The one file that a format writes; the caller frees it with cbx_mem_free. */
static char *exported(state *s, const char *format, size_t *len)
{
    cbx_export_report r;
    cbx_err err = CBX_ERR_INIT;
    char *data = NULL;

    CHECK_OK(export(s, format, false, NULL, &r, &err), &err, format);
    CHECK_INT(r.nfiles, 1, "one file");
    CHECK_OK(cbx_file_read(s->ctx, r.files[0], 0, &data, len, &err), &err, "read it");
    cbx_export_report_clear(&r);
    return data;
}

TEST(tables, setup, teardown)
{
    state *s = *test_state;
    static const struct {
        const char *format, *part, *why;
    } cases[] = {
        { "latex",
          "\n\\begin{tabular}{llrrr}\n\\toprule\nframework & batch & latency [ms] & rate [samples/s] & err\\_50\\% "
          "\\\\\n\\midrule\n",
          "head, escaped, with units" },
        { "latex", "flax & 32 & \\textbf{0.800 [0.780, 0.830]} & \\textbf{1200} & 1.000\\,$\\times 10^{-6}$ \\\\\n",
          "best by direction; a millionth is one" },
        { "latex",
          "torch \\& \\textless{}b\\textgreater{} & 256 & \\textbf{5.200} & 1.235\\,$\\times 10^{8}$ & -- \\\\\n",
          "missing is a dash; NaN does not compete, and alone nothing is best" },
        { "latex", "; point: forward; scenario: train\n", "what is the same for all is there once" },
        { "html", "<td>torch &amp; &lt;b&gt;</td><td>32</td><td class=\"n\">0.950 [0.900, 1.000]</td>", "escaped" },
        { "html", "<b>0.800 [0.780, 0.830]</b>", "best" },
        { "html", "1.000 \xC3\x97 10<sup>-6</sup>", "powers" },
        { "markdown", "| torch &amp; &lt;b&gt; | 256 | **5.200** | 1.235e8 | \xE2\x80\x93 |\n", "a row" },
        { "csv", "framework,batch,latency [ms],latency lower [ms],latency upper [ms],rate [samples/s],err_50%\r\n",
          "head" },
        { "csv", "\r\ntorch & <b>,32,0.95,0.9,1.0,1100.0,\r\n", "missing is empty" },
        { "csv", "\r\nflax,256,6.1,6.0,6.25,nan,2.5e-06\r\n", "NaN is a value" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        size_t len;
        char *data = exported(s, cases[i].format, &len);
        if (!strstr(data, cases[i].part)) fail_msg("%s: no\n%s\nin\n%s", cases[i].why, cases[i].part, data);
        cbx_mem_free(cbx_ctx_allocator(s->ctx), data, len + 1);
    }
}

TEST(digits, setup, teardown)
{
    state *s = *test_state;
    const double close[] = { 12.345, 12.346, 12.344 };
    static const struct {
        double value, lower, upper;
        const char *wanted[3];
        int exponent;
        const char *why;
    } cases[] = {
        { 1e-6, NAN, NAN, { "1.000", "", "" }, -6, "never 0.0000" },
        { 0, NAN, NAN, { "0.000", "", "" }, 0, "0 is 0" },
        { 12.3456, 12.28, 12.40, { "12.346", "12.280", "12.400" }, 0, "two digits of 0.06" },
        { 1234.56, 1100, 1400, { "1235", "1100", "1400" }, 0, "no digits behind the point for 150" },
        { 0.001, -5, 5, { "0.001", "-5.000", "5.000" }, 0, "one digit of the value at least" },
        { 123456789,
          123456700,
          123456800,
          { "1.23456789", "1.23456700", "1.23456800" },
          8,
          "many digits that are known" },
        { -2.5e-9, NAN, NAN, { "-2.500", "", "" }, -9, "negative" },
        { NAN, NAN, NAN, { "nan", "", "" }, 0, "NaN" },
        { INFINITY, 1, NAN, { "inf", "1.000", "" }, 0, "infinite" },
        { 1.5e300, NAN, NAN, { "1.500", "", "" }, 300, "large" },
        { 1, 1, 1, { "1.000", "1.000", "1.000" }, 0, "an interval without width" },
    };
    cbx__number n;
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_metric m = { cases[i].value, cases[i].lower, cases[i].upper, NULL, 0 };
        CHECK_OK(cbx__number_of(s->ctx, &m, &n, &err), &err, cases[i].why);
        CHECK_STR(n.value, cases[i].wanted[0], cases[i].why);
        CHECK_STR(n.lower, cases[i].wanted[1], cases[i].why);
        CHECK_STR(n.upper, cases[i].wanted[2], cases[i].why);
        CHECK_INT(n.exponent, cases[i].exponent, cases[i].why);
    }
    const cbx_metric m = { 12.345, NAN, NAN, close, 3 };
    CHECK_OK(cbx__number_of(s->ctx, &m, &n, &err), &err, "samples");
    CHECK_STR(n.value, "12.3450", "two digits of the standard deviation, 0.0010");
}

TEST(files_in_the_way, setup, teardown)
{
    state *s = *test_state;
    cbx_export_report r;
    cbx_err err = CBX_ERR_INIT;
    char path[128];

    snprintf(path, sizeof path, "%s/run-aaa111.csv", s->folder);
    CHECK_OK(cbx_file_write_atomic(s->ctx, path, "other", 5, &err), &err, "a file");
    CHECK_STATUS(export(s, "csv", false, NULL, &r, &err), CBX_EEXIST, "it holds something else");
    CHECK(strstr(err.message, path), err.message);
    CHECK_OK(export(s, "csv", true, NULL, &r, &err), &err, "replaced");
    cbx_export_report_clear(&r);
    CHECK_OK(export(s, "csv", false, NULL, &r, &err), &err, "the same is no obstacle");
    cbx_export_report_clear(&r);
    CHECK_STATUS(export(s, "csv", false, "rate", &r, &err), CBX_EEXIST, "another choice of metrics is something else");
    CHECK_STATUS(export(s, "csv", false, "speed", &r, &err), CBX_ENOENT, "no such metric");
    CHECK_STR(err.message, "no point of run 'aaa111' has the metric 'speed'", "words");
    CHECK(!cbx_exporter_find("word"), "no such form");
}

TEST(names, setup, teardown)
{
    state *s = *test_state;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_ctx_allocator(s->ctx));
    CHECK_STR(cbx__export_safe_name(&arena, "latency"), "latency", "safe as it is");
    const char *a = cbx__export_safe_name(&arena, "a/b"), *b = cbx__export_safe_name(&arena, "a_b");
    CHECK(cbx_name_is_safe(a) && strcmp(a, b), a);
    CHECK(cbx_name_is_safe(cbx__export_safe_name(&arena, "../../etc")), "no way out of the folder");
    CHECK(cbx_name_is_safe(cbx__export_safe_name(&arena, "")), "nothing");
    cbx_arena_clear(&arena);
}

static const double errors[] = { 1, 0.1, NAN, 1e-3, 1e-4 }, upper[] = { 2, 0.2, NAN, 2e-3, 2e-4 },
                    lower[] = { 0.5, 0.05, NAN, 5e-4, 5e-5 }, tolerance = 1e-2;
static const char *const value_names[] = { "accuracy", "f1" };

static cbx_status draw_figures(cbx_ctx *ctx, void *folder)
{
    const cbx_convergence_figure c = {
        "loss/of model", "Loss", "epoch", "loss", errors, lower, upper, 5, &tolerance, 1
    };
    const cbx_values_figure v = { "scores", "Scores", "share", value_names, errors, lower, upper, 2 };
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_export_report r;
    cbx_status st;

    o.folder = folder;
    o.replace = true;
    st = cbx_export_convergence(ctx, cbx_exporter_find("svg"), &c, &o, &r, NULL);
    if (!st) cbx_export_report_clear(&r);
    if (!st) st = cbx_export_values(ctx, cbx_exporter_find("svg"), &v, &o, &r, NULL);
    if (!st) cbx_export_report_clear(&r);
    return st;
}

/* The text of a figure that was drawn, its name checked; the caller frees it with cbx_mem_free. */
static char *drawn(state *s, const cbx_convergence_figure *c, const cbx_values_figure *v, const char *name, size_t *len)
{
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_export_report r;
    char *text = NULL;

    o.folder = s->folder;
    if (c)
        CHECK_OK(cbx_export_convergence(s->ctx, cbx_exporter_find("svg"), c, &o, &r, &err), &err, name);
    else
        CHECK_OK(cbx_export_values(s->ctx, cbx_exporter_find("svg"), v, &o, &r, &err), &err, name);
    CHECK_INT(r.nfiles, 1, "one file");
    CHECK(strstr(r.files[0], name) != NULL, r.files[0]);
    CHECK_OK(cbx_file_read(s->ctx, r.files[0], 0, &text, len, &err), &err, "read it");
    cbx_export_report_clear(&r);
    return text;
}

TEST(figures, setup, teardown)
{
    state *s = *test_state;
    cbx_convergence_figure c = { "loss/of model", "Loss", "epoch", "loss", errors, lower, upper, 5, &tolerance, 1 };
    const cbx_values_figure v = { "scores", "Scores", "share", value_names, errors, NULL, NULL, 2 };
    const double none = INFINITY;
    cbx_err err = CBX_ERR_INIT;
    cbx_export_report r;
    char *text;
    size_t len;

    text = drawn(s, &c, NULL, "convergence-loss_of_model-", &len);
    CHECK(strstr(text, "Loss") && strstr(text, "epoch"), "title and axis");
    CHECK(strstr(text, "0.01") != NULL, "the tolerance by its value");
    cbx_mem_free(cbx_ctx_allocator(s->ctx), text, len + 1);
    text = drawn(s, NULL, &v, "values-scores.svg", &len);
    CHECK(strstr(text, "accuracy") && strstr(text, "f1"), "names");
    cbx_mem_free(cbx_ctx_allocator(s->ctx), text, len + 1);
    cbx_export_opts opts = CBX_EXPORT_OPTS_INIT;
    opts.struct_size += 8;
    CHECK_STATUS(cbx_export_values(s->ctx, cbx_exporter_find("svg"), &v, &opts, &r, &err), CBX_EINVAL,
                 "a later version");
    CHECK_STATUS(cbx_export_values(s->ctx, cbx_exporter_find("csv"), &v, NULL, &r, &err), CBX_EUNSUPPORTED, "no plots");
    CHECK(strstr(err.message, "svg, pdf or png") != NULL, err.message);
    c.tolerances = &none;
    CHECK_STATUS(cbx_export_convergence(s->ctx, cbx_exporter_find("svg"), &c, NULL, &r, &err), CBX_EDOM,
                 "no tolerance");
    c.n = 0;
    CHECK_STATUS(cbx_export_convergence(s->ctx, cbx_exporter_find("svg"), &c, NULL, &r, &err), CBX_EINVAL, "no values");
    CHECK_STATUS(cbx_export_values(s->ctx, cbx_exporter_find("svg"), &(cbx_values_figure){ 0 }, NULL, &r, &err),
                 CBX_EINVAL, "nothing");
    CHECK_GT(cbx_test_fail_each(draw_figures, s->folder, "figures"), 5, "something was allocated");
}

/* Lines are drawn over the points that have the metric: one without it, and without the tag, does
 * not matter. */
TEST(lines_without_a_point, setup, teardown)
{
    state *s = *test_state;
    static const char text[] =
        "{\"id\":\"lines\",\"timestamp\":\"2026-02-20T11:34:24+00:00\",\"environment\":{},\"metadata\":{},"
        "\"metric_defs\":{},\"points\":["
        "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"framework\":\"x\",\"n\":\"2\"},\"metrics\":{\"time\":{"
        "\"value\":3}}},"
        "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"framework\":\"x\"},\"metrics\":{\"memory\":{\"value\":7}}},"
        "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"framework\":\"x\",\"n\":\"1\"},\"metrics\":{\"time\":{"
        "\"value\":2}}}]}";
    static const struct {
        const char *metric, *plot;
        cbx_status status;
        const char *why;
    } cases[] = {
        { "time", "line", CBX_OK, "lines over n" },
        { "time", "auto", CBX_OK, "lines over n without being asked for" },
        { "memory", "line", CBX_ENOENT, "no number along x" },
        { "memory", "auto", CBX_OK, "bars" },
    };
    char path[128];
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    snprintf(path, sizeof path, "%s/lines.json", s->folder);
    CHECK_OK(cbx_file_write_atomic(s->ctx, path, text, strlen(text), &err), &err, "write");
    CHECK_OK(cbx_run_read(s->ctx, path, &run, &err), &err, "read");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
        cbx_export_report r;
        const cbx_run *list[] = { run };
        char *data = NULL;
        size_t len = 0;
        o.folder = s->folder;
        o.replace = true;
        o.metrics = &cases[i].metric;
        o.plots = &cases[i].plot;
        o.nmetrics = o.nplots = 1;
        CHECK_STATUS(cbx_export_runs(s->ctx, cbx_exporter_find("svg"), list, 1, &o, &r, &err), cases[i].status,
                     cases[i].why);
        if (cases[i].status) continue;
        CHECK_OK(cbx_file_read(s->ctx, r.files[0], 0, &data, &len, &err), &err, "read it");
        bool lines = strstr(data, "class=\"line\"");
        CHECK(lines == !strcmp(cases[i].metric, "time"), cases[i].why);
        CHECK(!lines || (strstr(data, ">1.0<") && !strstr(data, ">-<")), "numbers along x");
        cbx_mem_free(cbx_ctx_allocator(s->ctx), data, len + 1);
        cbx_export_report_clear(&r);
    }
    cbx_run_free(run);
}

typedef struct attempt {
    const char *format, *folder;
    const char *plot; /* of two metrics of one run; NULL: everything of two runs */
} attempt;

static cbx_status try_export(cbx_ctx *ctx, void *user)
{
    const attempt *a = user;
    static const char *const metrics[] = { "latency", "rate" };
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_export_report r;
    cbx_run *run = NULL;
    cbx_status st = read_run(ctx, &run, NULL);
    const cbx_run *list[] = { run, run };

    o.folder = a->folder;
    o.replace = true;
    o.plots = &a->plot;
    o.nplots = a->plot != NULL;
    o.metrics = metrics;
    o.nmetrics = a->plot ? CBX_LEN(metrics) : 0;
    if (!st) st = cbx_export_runs(ctx, cbx_exporter_find(a->format), list, a->plot ? 1 : 2, &o, &r, NULL);
    if (!st) cbx_export_report_clear(&r);
    if (!st && cbx_exporter_find(a->format)->export_analysis) {
        st = cbx_export_analysis(ctx, cbx_exporter_find(a->format), run, run, &o, &r, NULL);
        if (!st) cbx_export_report_clear(&r);
    }
    cbx_run_free(run);
    return st;
}

static cbx_status load_one(void *user, size_t i, cbx_run **out, cbx_err *err)
{
    (void)i;
    return read_run(user, out, err);
}

static cbx_status try_each(cbx_ctx *ctx, void *user)
{
    const attempt *a = user;
    const cbx_export_source runs = { 2, load_one, ctx };
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_export_report r;
    cbx_status st;

    o.folder = a->folder;
    o.replace = true;
    st = cbx_export_each(ctx, cbx_exporter_find(a->format), &runs, &o, &r, NULL);
    if (!st) cbx_export_report_clear(&r);
    return st;
}

TEST(memory_runs_out, setup, teardown)
{
    state *s = *test_state;
    static const char *const formats[] = { "latex",
                                           "html",
                                           "csv",
                                           "markdown",
                                           "svg",
                                           "asv",
                                           "google-benchmark",
                                           "hyperfine",
                                           "pytest-benchmark",
                                           "pyperf",
                                           "bmf",
                                           "github-action-benchmark",
                                           "perfherder",
                                           "openmetrics",
                                           "node-exporter",
                                           "otlp" };
    static const char *const plots[] = { "box", "violin", "convergence", "heat", "pareto" };

    for (size_t i = 0; i < CBX_LEN(formats); i++) {
        attempt a = { formats[i], s->folder, NULL };
        CHECK_GT(cbx_test_fail_each(try_export, &a, formats[i]), 5, formats[i]);
        CHECK_GT(cbx_test_fail_each(try_each, &a, formats[i]), 5, formats[i]);
    }
    for (size_t i = 0; i < CBX_LEN(plots); i++) {
        attempt a = { "svg", s->folder, plots[i] };
        CHECK_GT(cbx_test_fail_each(try_export, &a, plots[i]), 5, plots[i]);
    }
}

/* --- a server --- */

typedef struct server_attempt {
    char url[64];
    unsigned number; /* each attempt finds an empty experiment */
} server_attempt;

static cbx_status try_server(cbx_ctx *ctx, void *user)
{
    static const char text[] =
        "{\"id\":\"small\",\"timestamp\":\"2026-02-20T11:34:24+00:00\",\"environment\":{\"machine\":\"m\",\"a\":{\"b\":"
        "1}},"
        "\"metadata\":{},\"metric_defs\":{\"t\":{\"name\":\"t\",\"unit\":\"s\",\"direction\":\"lower\"},"
        "\"u\":{\"name\":\"u\",\"unit\":\"B\",\"direction\":\"lower\"}},\"points\":["
        "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"framework\":\"x\"},\"metrics\":{\"t\":{\"value\":2,\"lower\":1,"
        "\"upper\":3,\"samples\":[1,2,3]},\"u\":{\"value\":7}}},"
        "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"framework\":\"y\"},\"metrics\":{\"t\":{\"value\":3}}}]}";
    server_attempt *a = user;
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_export_report r;
    cbx_json *json = NULL;
    cbx_run *run = NULL;
    char experiment[32];
    cbx_status st = cbx_json_parse(text, sizeof text - 1, "the run", &json, NULL);
    const cbx_run *list[1];

    if (!st) st = cbx_run_from_json(ctx, json, "the run", &run, NULL);
    cbx_json_unref(json);
    list[0] = run;
    snprintf(experiment, sizeof experiment, "attempt %u", a->number++);
    o.to = a->url;
    o.experiment = experiment;
    o.allow_machines = true;
    if (!st) st = cbx_export_runs(ctx, cbx_exporter_find("mlflow"), list, 1, &o, &r, NULL);
    if (!st) cbx_export_report_clear(&r);
    if (!st) st = cbx_export_analysis(ctx, cbx_exporter_find("mlflow"), run, run, &o, &r, NULL);
    if (!st) cbx_export_report_clear(&r);
    cbx_run_free(run);
    return st;
}

/* At every allocation of an export to a server, which tests/cli/mlflow_server.py plays. */
TEST(memory_runs_out_at_a_server)
{
    char script[512];
    const char *const argv[] = { "python3", script, NULL };
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    server_attempt a = { .number = 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx__process p;
    int pipe_of[2];
    size_t n = 0;

    snprintf(script, sizeof script, "%s/tests/cli/mlflow_server.py", getenv("CALIBRAX_SOURCE_ROOT"));
    CHECK_INT(pipe(pipe_of), 0, "a pipe");
    o.argv = argv;
    o.output = cbx__fd_up(pipe_of[1]);
    cbx__process_init(&p);
    CHECK_OK(cbx__process_start(&o, &p, &err), &err, "the server");
    close(o.output);
    while (n < sizeof a.url - 1 && read(pipe_of[0], a.url + n, 1) == 1 && a.url[n] != '\n') n++;
    CHECK(n > 8 && a.url[n] == '\n', "the server printed its address");
    a.url[n] = '\0';
    CHECK_GT(cbx_test_fail_each(try_server, &a, "mlflow"), 200, "it allocates");
    cbx__process_kill(&p);
    cbx__process_finish(&p);
    close(pipe_of[0]);
}

TESTS(.seconds = 600)
