/*
 * One point with more samples than are held: they are those of the file, in its order, and so is their median, through memory and
 * through the disk; faults far inside are told; memory that runs out on the way.
 *
 * The i-th of n values is (7919 i mod n) + 1/4.  7919 is a prime that divides no n here, so that each of 1/4, 5/4, ... stands there once:
 * the median is (n - 1)/2 + 1/4, and all of it is exact.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/text.h"
#include "calibrax/storage/import.h"
#include "fail_alloc.h"

/* A text: what stands before, between and behind the samples, each of which stands in `item` wherever that says %s. */
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

static cbx_status keep_text(cbx_ctx *ctx, const char *text, size_t len, const form *f, const char *root, bool on_disk,
                            cbx_run **out, cbx_err *err)
{
    cbx_import_opts opts = CBX_IMPORT_OPTS_INIT;
    cbx_store_opts made = CBX_STORE_OPTS_INIT;
    cbx_store *store = NULL;
    cbx_import import;
    cbx_status st;

    made.create = true;
    opts.format = f->format;
    if (on_disk) opts.scratch = root;
    st = cbx_store_open(ctx, root, &made, &store, err);
    if (st) return st;
    st = cbx_import_text(ctx, text, len, "long", &opts, &import, err);
    if (!st) {
        st = cbx_import_save(&import, 0, store, true, err);
        if (!st && out) st = cbx_store_load(store, cbx_run_id(import.runs[0]), out, err);
        cbx_import_clear(&import);
    }
    cbx_store_close(store);
    return st;
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

static void long_points_are_whole(void **state)
{
    static const size_t sizes[] = { 40001, 70000 }; /* a block on disk and a rest, two and a rest */
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    char root[64];
    cbx_text text;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    cbx_text_init(&text, cbx_allocator_default());
    cbx_test_folder(root);
    for (size_t k = 0; k < CBX_LEN(forms) * CBX_LEN(sizes) * 2; k++) {
        const form *f = &forms[k / 4];
        cbx_run *run = NULL;
        write_text(f, sizes[k % 2], 0, NULL, &text);
        CHECK_OK(keep_text(ctx, cbx_text_str(&text), text.len, f, root, k / 2 % 2, &run, &err), &err, f->format);
        CHECK_INT(cbx_run_npoints(run), 1, "one point");
        check_metric(run, f, f->metric, f->scale, sizes[k % 2]);
        if (f->other) check_metric(run, f, f->other, 1, sizes[k % 2]);
        cbx_run_free(run);
    }
    cbx_test_folder_remove(root);
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

/* How many values each process gave is kept, too. */
static void launches_are_counted(void **state)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    char root[64];
    cbx_text text;
    cbx_run *run = NULL;
    const cbx_json *counts;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    cbx_text_init(&text, cbx_allocator_default());
    cbx_test_folder(root);
    write_text(&forms[2], 5000, 0, NULL, &text);
    CHECK_OK(keep_text(ctx, cbx_text_str(&text), text.len, &forms[2], root, true, &run, &err), &err, "many processes");
    counts = cbx_json_get(cbx_json_get(cbx_run_metadata(run), "launches"), "b");
    CHECK_INT(cbx_json_length(counts), 5000, "a count a process");
    CHECK_INT(cbx_json_int_value(cbx_json_at(counts, 4999)), 1, "of one value");
    cbx_run_free(run);
    run = NULL;
    write_text(&forms[3], 5000, 0, NULL, &text);
    CHECK_OK(keep_text(ctx, cbx_text_str(&text), text.len, &forms[3], root, true, &run, &err), &err, "one process");
    counts = cbx_json_get(cbx_json_get(cbx_run_metadata(run), "launches"), "b");
    CHECK_INT(cbx_json_length(counts), 1, "a process");
    CHECK_INT(cbx_json_int_value(cbx_json_at(counts, 0)), 5000, "of many values");
    cbx_run_free(run);
    cbx_test_folder_remove(root);
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

/* --- what is wrong in the midst of it --- */

static void no_number_stays_none(void **state)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    char root[64];
    cbx_text text;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    cbx_text_init(&text, cbx_allocator_default());
    cbx_test_folder(root);
    for (size_t on_disk = 0; on_disk < 2; on_disk++) {
        const cbx_metric *m;
        cbx_run *run = NULL;
        write_text(&forms[0], 70000, 100, "null", &text);
        CHECK_OK(keep_text(ctx, cbx_text_str(&text), text.len, &forms[0], root, on_disk, &run, &err), &err, "null");
        m = cbx_point_metric(cbx_run_point(run, 0), "time");
        CHECK(isnan(m->value) && isnan(m->samples[100]) && m->samples[101] == sample(101, 70000), "NaN, and no median");
        cbx_run_free(run);
    }
    cbx_test_folder_remove(root);
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

static void faults_far_inside_are_told(void **state)
{
    static const struct {
        size_t form, at;
        const char *word, *said;
    } faults[] = {
        { 0, 66000, "\"x\"", "element 66000 of times is no number" },
        { 0, 66000, "1,", "some JSON" },
        { 1, 1500, "[]", "element 1500 of data is no number" },
        { 2, 1001, "true", "element 0 of values is no number" },
        { 4, 69999, "{}", "'elapsed': expected a number, found an object" },
        { 5, 40000, "{\"a\":1,\"a\":2}", "twice" },
        { 8, 69999, "x", "expected a number and its unit" },
        { 10, 66000, "\"x\"", "'points.0.metrics.t.samples.66000': expected a number" },
        { 10, 66000, "null", "'points.0.metrics.t.samples.66000': expected a number" },
        { 11, 66000, "null", "'points.0.metrics.t.samples.66000': expected a number" },
    };
    cbx_ctx *ctx = NULL;
    char root[64];
    cbx_text text;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), &(cbx_err)CBX_ERR_INIT, "context");
    cbx_text_init(&text, cbx_allocator_default());
    cbx_test_folder(root);
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        const form *f = &forms[faults[i].form];
        cbx_err err = CBX_ERR_INIT;
        write_text(f, 70000, faults[i].at, faults[i].word, &text);
        CHECK_STATUS(keep_text(ctx, cbx_text_str(&text), text.len, f, root, true, NULL, &err), CBX_EFORMAT,
                     faults[i].said);
        CHECK(strstr(err.message, "'long'") && !strchr(err.message, '\n'), err.message);
        CHECK(!strcmp(faults[i].said, "some JSON") || strstr(err.message, faults[i].said), err.message);
    }
    for (size_t i = 0; i < CBX_LEN(forms); i += i == 7 ? 3 : 1) /* JSON that ends early */
        for (size_t part = 1; part < 8; part += 2) {
            cbx_err err = CBX_ERR_INIT;
            if (part == 1) write_text(&forms[i], 4000, 0, NULL, &text);
            CHECK_STATUS(keep_text(ctx, cbx_text_str(&text), text.len * part / 8, &forms[i], root, true, NULL, &err),
                         CBX_EFORMAT, "cut");
        }
    cbx_test_folder_remove(root);
    cbx_text_clear(&text);
    cbx_ctx_free(ctx);
}

typedef struct attempt {
    const form *form;
    const char *root;
    const cbx_text *text;
} attempt;

static cbx_status try_attempt(cbx_ctx *ctx, void *user)
{
    const attempt *a = user;

    return keep_text(ctx, cbx_text_str(a->text), a->text->len, a->form, a->root, true, NULL, NULL);
}

static void memory_that_runs_out(void **state)
{
    static const size_t each[] = { 0, 2, 8, 10 }; /* an array, arrays in an array, lines, a run of our own */
    char root[64];
    cbx_text text;

    (void)state;
    cbx_text_init(&text, cbx_allocator_default());
    cbx_test_folder(root);
    for (size_t i = 0; i < CBX_LEN(each); i++) {
        const attempt a = { &forms[each[i]], root, &text };
        write_text(a.form, 32800, 0, NULL, &text);
        CHECK_GT(cbx_test_fail_each(try_attempt, (void *)(uintptr_t)&a, a.form->format), 5, "fails");
    }
    cbx_test_folder_remove(root);
    cbx_text_clear(&text);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_points_are_whole), cmocka_unit_test(launches_are_counted),
        cmocka_unit_test(no_number_stays_none),  cmocka_unit_test(faults_far_inside_are_told),
        cmocka_unit_test(memory_that_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
