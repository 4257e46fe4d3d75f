/*
 * One point with many samples: they are those of the file, in its order, and so is their median;
 * faults far inside are reported; memory that runs out on the way.
 *
 * The i-th of n values is (7919 i mod n) + 1/4.  7919 is a prime that divides no n here, so that
 * each of 1/4, 5/4, ... is there once: the median is (n - 1)/2 + 1/4, and all of it is exact.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"
#include "calibrax/storage/import.h"
#include "fail_alloc.h"

/* A text: what is before, between and behind the samples; %s in `item` is the number of a
 * sample. */
typedef struct form {
    const char *format, *head, *item, *between, *tail, *metric;
    double scale;
    const char *other; /* another metric that has the same samples; NULL: none */
} form;

static const form forms[] = {
    { "hyperfine", "{\"results\":[{\"command\":\"c\",\"mean\":1,\"exit_codes\":[0],\"times\":[", "%s", ",", "]}]}",
      "time", 1, NULL },
    { "pytest-benchmark", "{\"machine_info\":{},\"benchmarks\":[{\"name\":\"t\",\"stats\":{\"data\":[", "%s", ",",
      "]}}]}", "time", 1, NULL },
    { "pyperf", "{\"version\":\"1.0\",\"benchmarks\":[{\"metadata\":{\"name\":\"b\"},\"runs\":[", "{\"values\":[%s]}",
      ",", "]}]}", "time", 1, NULL },
    { "pyperf", "{\"version\":\"1.0\",\"benchmarks\":[{\"metadata\":{\"name\":\"b\"},\"runs\":[{\"values\":[", "%s",
      ",", "]}]}]}", "time", 1, NULL },
    { "nanobench", "{\"results\":[{\"name\":\"q\",\"median(elapsed)\":1,\"measurements\":[",
      "{\"elapsed\":%s,\"pagefaults\":0,\"cpucycles\":%s}", ",", "]}]}", "time", 1, "cpucycles" },
    { "jmh",
      "[{\"jmhVersion\":\"1.37\",\"benchmark\":\"a.B\",\"primaryMetric\":{\"score\":1,\"scoreUnit\":\"s/op\","
      "\"rawData\":[[",
      "%s", ",", "]]}}]", "time", 1, NULL },
    { "jmh",
      "[{\"jmhVersion\":\"1.37\",\"benchmark\":\"a.B\",\"primaryMetric\":{\"score\":1,\"scoreUnit\":\"s/op\","
      "\"rawData\":[",
      "[%s]", ",", "]}}]", "time", 1, NULL },
    { "benchmarktools",
      "[{\"Julia\":\"1\",\"BenchmarkTools\":\"1\"},[[\"BenchmarkGroup\",{\"data\":{\"a\":[\"Trial\",{\"times\":[", "%s",
      ",", "]}]}}]]]", "time", 1e-9, NULL },
    { "go", "goos: linux\n", "BenchmarkA-2 \t 1\t %s ns/op\t %s B/op", "\n", "\n", "time", 1e-9, "bytes_per_op" },
    { "criterion", "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n",
      "a,b,,,,%s,s,1", "\n", "\n", "time", 1, NULL },
    { "calibrax",
      "{\"id\":\"r\",\"timestamp\":\"2026-01-01T00:00:00+00:00\",\"points\":[{\"name\":\"p\",\"scenario\":\"s\","
      "\"metrics\":{\"few\":{\"value\":2,\"samples\":[1,3]},\"t\":{\"value\":1,\"lower\":null,\"samples\":[",
      "%s", ",", "]},\"late\":{\"value\":3}}}]}", "t", 1, NULL },
    { "calibrax",
      "{\"id\":\"r\",\"timestamp\":\"2026-01-01T00:00:00+00:00\",\"points\":[{\"name\":\"p\",\"scenario\":\"s\","
      "\"unknown\":1,\"metrics\":{\"t\":{\"value\":1,\"samples\":[",
      "%s", ",", "]}}}]}", "t", 1, NULL },
};

static double sample(size_t i, size_t n) { return (double)(7919 * i % n) + 0.25; }

/* A text with n values; in the place of one of them stands a word, unless that is NULL. */
static void write_text(const form *f, size_t n, size_t at, const char *word, cbx_text *out)
{
    char number[32];

    cbx_text_reset(out);
    cbx_text_puts(out, f->head);
    for (size_t i = 0; i < n; i++) {
        snprintf(number, sizeof number, "%.2f", sample(i, n));
        if (i) cbx_text_puts(out, f->between);
        for (const char *c = f->item; *c; c += *c == '%' ? 2 : 1) {
            if (*c == '%')
                cbx_text_puts(out, word && i == at ? word : number);
            else
                cbx_text_putc(out, *c);
        }
    }
    cbx_text_puts(out, f->tail);
    CHECK_OK(out->status, &(cbx_err)CBX_ERR_INIT, f->format);
}

static cbx_status read_text(cbx_ctx *ctx, const cbx_text *text, const form *f, cbx_run **out, cbx_err *err)
{
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_import import;
    cbx_status st;

    opts.format = f->format;
    st = cbx_import_text(ctx, text->data, text->len, "long", &opts, &import, err);
    if (st) return st;
    if (out) *out = cbx_run_ref(import.runs[0]);
    cbx_import_clear(&import);
    return CBX_OK;
}

static void check_metric(const cbx_run *run, const form *f, const char *metric, double scale, size_t n)
{
    const cbx_metric *m = cbx_point_metric(cbx_run_point(run, 0), metric);
    bool own = !strcmp(f->format, "jmh") || !strcmp(f->format, "calibrax"); /* its score is its own, not the median */
    double middle = ((double)(n / 2 - (n % 2 == 0)) + 0.25) * scale, upper = ((double)(n / 2) + 0.25) * scale;

    CHECK(m != NULL, f->format);
    CHECK_INT(m->nsamples, n, f->format);
    for (size_t i = 0; i < n; i++)
        if (m->samples[i] != sample(i, n) * scale) fail_msg("%s: sample %zu is %.17g", f->format, i, m->samples[i]);
    CHECK(m->value == (own ? 1 : 0.5 * middle + 0.5 * upper), f->format);
}

TEST(long_points_are_whole)
{
    static const size_t sizes[] = { 40001, 70000 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    for (size_t k = 0; k < CBX_LEN(forms) * CBX_LEN(sizes); k++) {
        const form *f = &forms[k / 2];
        cbx_run *run = NULL;
        write_text(f, sizes[k % 2], 0, NULL, &text);
        CHECK_OK(read_text(ctx, &text, f, &run, &err), &err, f->format);
        CHECK_INT(cbx_run_npoints(run), 1, "one point");
        check_metric(run, f, f->metric, f->scale, sizes[k % 2]);
        if (f->other) check_metric(run, f, f->other, 1, sizes[k % 2]);
        cbx_run_free(run);
    }
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

/* The number of values of each process is kept, too. */
TEST(launches_are_counted)
{
    static const struct {
        size_t form, launches;
    } cases[] = { { 2, 5000 }, { 3, 1 } };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_run *run = NULL;
        const cbx_json *counts;
        write_text(&forms[cases[i].form], 5000, 0, NULL, &text);
        CHECK_OK(read_text(ctx, &text, &forms[cases[i].form], &run, &err), &err, "processes");
        counts = cbx_json_get(cbx_json_get(cbx_run_metadata(run), "launches"), "b");
        CHECK_INT(cbx_json_length(counts), cases[i].launches, "a count for each process");
        CHECK_INT(cbx_json_int_value(cbx_json_at(counts, cases[i].launches - 1)), 5000 / cases[i].launches, "values");
        cbx_run_free(run);
    }
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

/* --- faults --- */

TEST(a_null_sample_is_nan)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    const cbx_metric *m;
    cbx_run *run = NULL;
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    write_text(&forms[0], 70000, 100, "null", &text);
    CHECK_OK(read_text(ctx, &text, &forms[0], &run, &err), &err, "null");
    m = cbx_point_metric(cbx_run_point(run, 0), "time");
    CHECK(isnan(m->value) && isnan(m->samples[100]) && m->samples[101] == sample(101, 70000), "NaN, and no median");
    cbx_run_free(run);
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

TEST(faults_far_inside_are_reported)
{
    static const struct {
        size_t form, at;
        const char *word, *message;
    } faults[] = {
        { 0, 66000, "\"x\"", "element 66000 of times is not a number" },
        { 0, 66000, "1,", "some JSON" },
        { 1, 1500, "[]", "element 1500 of data is not a number" },
        { 2, 1001, "true", "element 0 of values is not a number" },
        { 4, 69999, "{}", "'elapsed': expected a number, found an object" },
        { 5, 40000, "{\"a\":1,\"a\":2}", "twice" },
        { 8, 69999, "x", "expected a number and its unit" },
        { 10, 66000, "\"x\"", "'points.0.metrics.t.samples.66000': expected a number" },
        { 10, 66000, "null", "'points.0.metrics.t.samples.66000': expected a number" },
        { 11, 66000, "null", "'points.0.metrics.t.samples.66000': expected a number" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        const form *f = &forms[faults[i].form];
        cbx_err err = CBX_ERR_INIT;
        write_text(f, 70000, faults[i].at, faults[i].word, &text);
        CHECK_STATUS(read_text(ctx, &text, f, NULL, &err), CBX_EFORMAT, faults[i].message);
        CHECK(strstr(err.message, "'long'") && !strchr(err.message, '\n'), err.message);
        CHECK(!strcmp(faults[i].message, "some JSON") || strstr(err.message, faults[i].message), err.message);
    }
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

typedef struct attempt {
    const form *form;
    const cbx_text *text;
} attempt;

static cbx_status try_attempt(cbx_ctx *ctx, void *user)
{
    const attempt *a = user;

    return read_text(ctx, a->text, a->form, NULL, NULL);
}

TEST(memory_that_runs_out)
{
    static const size_t each[] = { 0, 2, 8, 10 }; /* an array, arrays in an array, lines, a run of our own */
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    for (size_t i = 0; i < CBX_LEN(each); i++) {
        const attempt a = { &forms[each[i]], &text };
        write_text(a.form, 3000, 0, NULL, &text);
        CHECK_GT(cbx_test_fail_each(try_attempt, (void *)(uintptr_t)&a, a.form->format), 5, "fails");
    }
    cbx_text_clear(&text);
}

TESTS(.seconds = 600)
