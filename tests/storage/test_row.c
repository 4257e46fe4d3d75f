/* The row record: every member both ways, foreign rows, damaged files, the latest rule, the store
 * on disk. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/storage/import.h"
#include "calibrax/storage/row_index.h"
#include "fail_alloc.h"

#define HEAD                                                                                                           \
    "\"run_id\":\"20260220T113424.346877+0000__0f3c2b1\",\"case\":\"semiring_matmul\",\"baseline\":\"tiled\","         \
    "\"platform\":\"cpu\",\"framework\":\"native\",\"param_point\":{\"m\":512,\"k\":512,\"alg\":\"log\",\"seed\":0},"

/* Every member the typed view knows, in the order they are written. */
static const char full_line[] =
    "{" HEAD "\"status\":\"ok\","
    "\"metrics\":{\"steady_time\":{\"min\":0.0015,\"median\":0.0016,\"p95\":0.0019,\"iqr\":0.0001,\"mean\":0.00165,"
    "\"n\":60,"
    "\"unit\":\"s\",\"p99\":0.002,\"lower\":0.00155,\"upper\":0.0017,\"level\":0.96875,\"launches\":[0.0016,0.00155,0."
    "0017],"
    "\"modes\":[{\"center\":0.0016,\"low\":0.00155,\"high\":0.0017,\"share\":1.0,\"launches\":3}],"
    "\"steady_state\":{\"flat\":2,\"warm_up\":1,\"slowdown\":0,\"none\":0,\"epochs\":60,\"epochs_dropped\":4},"
    "\"detectable\":{\"relative\":0.04,\"launches\":3,\"alpha\":0.05,\"power\":0.9}},"
    "\"compile_time\":{\"value\":0.25,\"unit\":\"s\",\"cache\":\"cold\",\"first_call\":0.26,\"lower\":0.24,\"upper\":0."
    "27,"
    "\"level\":0.75,\"launches\":[0.25,0.24,0.27]},"
    "\"peak_hbm\":{\"value\":null,\"unit\":\"MB\"},\"host_rss\":{\"value\":12.5,\"unit\":\"MB\",\"increase\":3.5},"
    "\"throughput\":{\"value\":174762666.0,\"unit\":\"elem/s\"},"
    "\"work\":{\"gmac_per_s\":83.9,\"gflop_per_s\":167.8,\"gbyte_per_s\":1.9,\"roofline_share\":0.61,\"bound_s\":0."
    "000976,\"gflop_per_s_lower\":160.0,\"gflop_per_s_upper\":170.0,\"gbyte_per_s_lower\":1.8,\"gbyte_per_s_upper\":2."
    "0,"
    "\"roofline_share_lower\":0.6,\"roofline_share_upper\":0.63,\"flop_per_byte\":88.0,\"bound_by\":\"fma\"},"
    "\"cpu_time\":{\"value\":0.75,\"unit\":\"s\"},"
    "\"compile_time_warm\":{\"value\":null,\"unit\":\"s\",\"reason\":\"not measured by --quick\",\"cache\":\"warm\"},"
    "\"first_call\":{\"value\":0.26,\"unit\":\"s\",\"lower\":0.25,\"upper\":0.28,\"level\":0.75},"
    "\"memory_increase\":{\"value\":3.25,\"unit\":\"MB\",\"lower\":3.0,\"upper\":3.5,\"level\":0.75,\"launches\":[3.0,"
    "3.25,3.5]},"
    "\"call_overhead\":{\"value\":2e-09,\"unit\":\"s\"},"
    "\"energy\":{\"value\":0.5,\"unit\":\"J\",\"scope\":\"package\",\"power_w\":40.0}},"
    "\"fidelity\":{\"status\":\"ok\",\"rel_to_tol\":0.031,\"max_abs\":1e-06,\"max_rel\":2e-07,\"n_mismatched\":0,"
    "\"layout_normalised\":true,\"oracle\":{\"kind\":\"fp64_full\",\"baseline\":null,\"subsample\":null},"
    "\"threshold\":{\"scope\":\"per_algebra\"},\"checks\":7,\"margin\":0.969,"
    "\"error\":{\"value\":0.03,\"unit\":\"bound\",\"launches\":[0.03,0.029,0.031]}},"
    "\"ratio\":{\"vs\":\"stream\",\"metric\":\"min\",\"value\":0.125},\"failure_detail\":null,"
    "\"provenance\":{\"timestamp\":\"2026-02-20T11:34:24.346877+00:00\"},\"schema_version\":2,"
    "\"variant\":\"default\",\"strongest\":true,\"point_label\":\"512x512x512 (log, "
    "f32)\",\"machine\":\"0123456789abcdef\","
    "\"representative\":true,"
    "\"ratio_paired\":{\"vs\":\"stream\",\"value\":0.124,\"lower\":0.12,\"upper\":0.13,\"level\":0.96875,\"verdict\":"
    "\"faster\",\"pairs\":11,\"p\":0.0009765625,\"p_holm\":0.00390625,\"holm_rows\":4,\"verdict_holm\":\"faster\",\"p_"
    "difference\":0.0009765625,"
    "\"p_equivalence\":1.0,\"margin\":0.02},\"caches\":\"warm\",\"role\":\"limit\",\"limit\":{\"vs\":\"pipes\","
    "\"share\":0.75}}";

/* As nperf 0.x in Python wrote it: no additive member. */
static const char v1_line[] =
    "{" HEAD "\"status\":\"ok\",\"metrics\":{\"steady_time\":{\"min\":1.0,\"median\":2.0,\"p95\":3.0,\"iqr\":0.5,"
    "\"mean\":2.0,\"n\":10,"
    "\"unit\":\"s\"},\"compile_time\":{\"value\":4.0,\"unit\":\"s\",\"cache\":\"cold\"},\"peak_hbm\":{\"value\":null,"
    "\"unit\":\"MB\"},"
    "\"host_rss\":{\"value\":284.6796875,\"unit\":\"MB\"},\"throughput\":{\"value\":5.0,\"unit\":\"elem/s\"},"
    "\"recovery_slope\":{\"value\":0.5,\"unit\":\"1\"}},"
    "\"fidelity\":{\"status\":\"ok\",\"rel_to_tol\":0.1,\"max_abs\":1.0,\"max_rel\":1.0,\"n_mismatched\":0,\"layout_"
    "normalised\":true,"
    "\"oracle\":{\"kind\":\"fp64_full\",\"baseline\":null,\"subsample\":null},"
    "\"threshold\":{\"rtol\":0.001,\"atol\":0.0001,\"scope\":\"per_case\"}},"
    "\"ratio\":null,\"failure_detail\":null,\"provenance\":{},\"schema_version\":1}";

typedef struct state {
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
    cbx_rows rows;
    char folder[64];
} state;

static int setup(void **out)
{
    static state s;

    cbx_test_alloc_init(&s.alloc);
    s.ctx = cbx_test_ctx(&s.alloc);
    cbx_rows_init(&s.rows, cbx_ctx_allocator(s.ctx));
    cbx_test_folder(s.folder);
    *out = &s;
    return 0;
}

static int teardown(void **in)
{
    state *s = *in;

    cbx_test_folder_remove(s->folder);
    cbx_rows_clear(&s->rows);
    cbx_ctx_free(s->ctx);
    cbx_test_alloc_check(&s->alloc, "after the test");
    return 0;
}

static cbx_status add_text(cbx_rows *rows, const char *line, cbx_err *err)
{
    cbx_json *v = NULL;
    cbx_status st = cbx_json_parse(line, strlen(line), "a line", &v, err);

    if (!st) st = cbx_rows_add_json(rows, v, "a line", err);
    cbx_json_unref(v);
    return st;
}

static const cbx_row *add(state *s, const char *line)
{
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(add_text(&s->rows, line, &err), &err, line);
    return &s->rows.rows[s->rows.count - 1];
}

static void render(const cbx_row *row, char *buf, size_t size)
{
    cbx_json *v = cbx_row_to_json(row);
    cbx_text t;

    CHECK(v != NULL, "the row can be written");
    cbx_text_init(&t, cbx_allocator_default());
    cbx_json_write(v, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &t);
    CHECK(t.len < size, "the buffer of the test is large enough");
    memcpy(buf, cbx_text_str(&t), t.len + 1);
    cbx_text_clear(&t);
    cbx_json_unref(v);
}

static const char *path_in(const state *s, const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    return path;
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *fp = fopen(path, "wb");

    CHECK(fp && fwrite(data, 1, n, fp) == n, path);
    fclose(fp);
}

/* --- both ways --- */

TEST(test_every_member_both_ways)
{
    state *s = *test_state;
    const cbx_row *row = add(s, full_line);
    char written[8192];
    cbx_row bare;

    render(row, written, sizeof written);
    CHECK_STR(written, full_line, "what was read is what is written");
    bare = *row; /* without the JSON it came from everything must come from the typed view */
    bare.json = NULL;
    render(&bare, written, sizeof written);
    CHECK_STR(written, full_line, "the typed view holds all of it");
    bare.min_s = 0.0014;
    render(&bare, written, sizeof written);
    CHECK(strcmp(written, full_line) != 0, "the comparison sees a changed member");
}

TEST(test_csv)
{
    state *s = *test_state;
    cbx_text text;
    const char *line;

    add(s, full_line);
    add(s, v1_line);
    cbx_text_init(&text, cbx_ctx_allocator(s->ctx));
    cbx_rows_csv(&s->rows, &text);
    CHECK_INT(text.status, CBX_OK, "memory");
    CHECK(strncmp(cbx_text_str(&text),
                  "run_id,case,baseline,platform,framework,param_point,status,metrics.steady_time.min,", 82) == 0,
          "columns are named by their paths");
    CHECK(strstr(cbx_text_str(&text), ",metrics.memory_increase.launches,") != NULL, "launches");
    CHECK(!strstr(cbx_text_str(&text), "unit") && !strstr(cbx_text_str(&text), "provenance"),
          "what is fixed is left out");
    line = strchr(cbx_text_str(&text), '\n') + 1;
    CHECK(strstr(line, "\"{\"\"m\"\":512,\"\"k\"\":512,\"\"alg\"\":\"\"log\"\",\"\"seed\"\":0}\",ok,0.0015,") != NULL,
          "the point is quoted");
    CHECK(strstr(line, ",3.0 3.25 3.5,") != NULL, "launches share one cell");
    line = strchr(line, '\n') + 1;
    CHECK(strstr(line, ",ok,1.0,2.0,3.0,0.5,2.0,10,,,,") != NULL, "what version 1 lacks is empty");
    CHECK_STR(strchr(line, '\n'), "\n", "a line a row");
    cbx_text_clear(&text);
}

TEST(test_typed_view)
{
    state *s = *test_state;
    const cbx_row *row = add(s, full_line);

    CHECK(row->has_metrics && row->strongest && row->representative, "flags");
    CHECK(row->min_s == 0.0015 && row->median_s == 0.0016 && row->steady.value == 0.0016 && row->n == 60,
          "steady time");
    CHECK(row->nlaunches == 3 && row->launch_medians_s[2] == 0.0017, "launches");
    CHECK(isnan(row->peak_hbm_mb) && row->host_rss_mb == 12.5, "null is NaN");
    CHECK(row->pairs == 11 && row->paired_p == 0.0009765625 && row->paired_p_holm == 0.00390625 && row->holm_rows == 4,
          "correction over the table");
    CHECK(row->paired.lower == 0.12 && row->paired.upper == 0.13, "paired interval");
    CHECK_STR(row->verdict, "faster", "verdict");
    CHECK(row->nmodes == 1 && row->modes[0].high_s == 0.0017 && row->modes[0].launches == 3, "modes");
    CHECK(row->steady_state.warm_up == 1 && row->detectable.relative == 0.04, "steady state, and what would show");
    CHECK(row->compile.over.value == 0.25 && row->compile.nlaunches == 3 && row->compile.launches[2] == 0.27,
          "compile time");
    CHECK_STR(row->compile_warm.reason, "not measured by --quick", "a missing metric has a reason");
    CHECK(row->memory.over.upper == 3.5 && isnan(row->device_memory.over.value), "memory");
    CHECK(row->error.over.value == 0.03 && row->margin == 0.969, "fidelity");
    CHECK(row->gflop.value == 167.8 && row->gflop.lower == 160 && row->roofline.upper == 0.63, "rates with intervals");
    CHECK_STR(row->point_json, "{\"m\":512,\"k\":512,\"alg\":\"log\",\"seed\":0}", "point in the row's key order");
    CHECK(!row->failure_reason && !row->failure_message, "no failure");
    CHECK_STR(cbx_json_get_string(row->provenance, "timestamp", ""), "2026-02-20T11:34:24.346877+00:00", "provenance");
}

TEST(test_absent_row_is_null_everywhere)
{
    cbx_row row;
    char written[2048];

    cbx_row_init(&row);
    CHECK(cbx_row_to_json(&row) == NULL, "a row without a case is refused");
    row.run_id = "r";
    row.case_name = "c";
    row.baseline = "b";
    row.platform = "cpu";
    row.framework = "native";
    row.status = "skipped";
    row.failure_reason = "slow_skipped";
    render(&row, written, sizeof written);
    CHECK_STR(written,
              "{\"run_id\":\"r\",\"case\":\"c\",\"baseline\":\"b\",\"platform\":\"cpu\",\"framework\":\"native\","
              "\"param_point\":{},"
              "\"status\":\"skipped\",\"metrics\":null,\"fidelity\":null,\"ratio\":null,"
              "\"failure_detail\":{\"reason\":\"slow_skipped\",\"message\":null,\"remedy\":null},\"provenance\":{},"
              "\"schema_version\":2,"
              "\"variant\":null,\"strongest\":true,\"point_label\":null,\"machine\":null,\"representative\":false,"
              "\"ratio_paired\":null}",
              "all v1 keys are there, null when absent");
    row.point_json = "[1]";
    CHECK(cbx_row_to_json(&row) == NULL, "a point that is no object is refused");
}

TEST(test_v1_row_is_read_and_its_fields_kept)
{
    state *s = *test_state;
    const cbx_row *row = add(s, v1_line);
    char written[4096];

    CHECK(isnan(row->p99_s) && isnan(row->gmac_per_s) && row->nlaunches == 0, "additive numbers are absent");
    CHECK(row->strongest && !row->variant, "one variant is its own strongest");
    render(row, written, sizeof written);
    CHECK(strstr(written, "\"threshold\":{\"scope\":\"per_case\",\"rtol\":0.001,\"atol\":0.0001}"),
          "its own scope and limits stay");
    CHECK(strstr(written, "\"recovery_slope\":{\"value\":0.5,\"unit\":\"1\"}}"), "a metric only some cases have stays");
}

TEST(test_unknown_fields_are_kept)
{
    state *s = *test_state;
    char written[4096];
    const cbx_row *row = add(
        s, "{" HEAD "\"status\":\"thermal_throttled\",\"metrics\":null,\"fidelity\":null,\"ratio\":null,"
           "\"failure_detail\":{\"reason\":\"hot\",\"limit_s\":30},\"provenance\":{\"a\":[1]},\"schema_version\":3,"
           "\"energy\":{\"j\":1.5},\"nothing\":null}");

    CHECK(!cbx_row_is_good(row), "an unknown status is a failed one");
    render(row, written, sizeof written);
    CHECK(strstr(written, "\"status\":\"thermal_throttled\""), "and is kept");
    CHECK(strstr(written, "\"energy\":{\"j\":1.5},\"nothing\":null}"), "unknown members are kept, nulls too");
    CHECK(strstr(written, "\"reason\":\"hot\",\"message\":null,\"remedy\":null,\"limit_s\":30"), "also inside a block");
    CHECK(strstr(written, "\"schema_version\":3"), "a newer version is not called an older one");
}

TEST(test_failure_without_reason)
{
    state *s = *test_state;
    const cbx_row *row = add(s, "{" HEAD
                                "\"status\":\"timeout\",\"failure_detail\":{\"limit_s\":30},\"schema_version\":1}");

    CHECK_STR(row->failure_reason, "timeout", "the status stands for the reason that v1 left out");
    CHECK(row->provenance == NULL, "a dead worker's row may have no provenance");
}

TEST(test_numbers_that_are_not_finite)
{
    state *s = *test_state;
    char written[4096];
    const cbx_row *row = add(
        s, "{" HEAD "\"status\":\"fidelity_failed\",\"fidelity\":{\"status\":\"failed\",\"rel_to_tol\":\"NaN\","
           "\"max_abs\":\"Infinity\",\"max_rel\":-Infinity,\"n_mismatched\":3},"
           "\"metrics\":{\"steady_time\":{\"lower\":\"-Infinity\",\"upper\":\"Infinity\",\"level\":0,\"min\":NaN}},"
           "\"schema_version\":1}");

    CHECK(isnan(row->rel_to_tol) && row->max_abs == INFINITY && row->max_rel == -INFINITY,
          "strings and bare tokens are read");
    CHECK(row->steady.lower == -INFINITY && row->steady.level == 0, "no interval yet");
    render(row, written, sizeof written);
    CHECK(strstr(written, "\"rel_to_tol\":\"NaN\",\"max_abs\":\"Infinity\",\"max_rel\":\"-Infinity\""),
          "strings are written");
    CHECK(strstr(written, "\"min\":null"), "a time that there is not is null");
}

/* --- what is no row --- */

TEST(test_wrong_rows_name_the_member)
{
    state *s = *test_state;
    static const struct {
        const char *line, *message, *why;
    } cases[] = {
        { "[1,2]", "'a line': expected an object, found an array", "no object" },
        { "{}", "'a line': `run_id`: is missing", "empty object" },
        { "{\"run_id\":7}", "'a line': `run_id`: expected a string, found an integer", "wrong type" },
        { "{\"run_id\":\"\"}", "'a line': `run_id`: is empty", "an empty id names nothing" },
        { "{" HEAD "\"status\":null}", "'a line': `status`: is missing", "null is absent" },
        { "{" HEAD "\"status\":\"ok\"}", "'a line': `schema_version`: is missing", "no version" },
        { "{" HEAD "\"status\":\"ok\",\"schema_version\":\"1\"}",
          "'a line': `schema_version`: expected a version number, found a string", "a version in quotes" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":{\"steady_time\":{\"min\":\"1.5\"}}}",
          "'a line': `metrics.steady_time.min`: expected a number, found a string",
          "a number in quotes is not guessed at" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":{\"steady_time\":{\"launches\":[1,true]}}}",
          "'a line': `metrics.steady_time.launches.1`: expected a number, found a boolean", "path into a list" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":{\"steady_time\":{\"n\":-1}}}",
          "'a line': `metrics.steady_time.n`: expected a count, found an integer", "a negative count" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":{\"steady_time\":{\"modes\":{}}}}",
          "'a line': `metrics.steady_time.modes`: expected an array, found an object", "an object for a list" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":{\"steady_time\":{\"modes\":[{},3]}}}",
          "'a line': `metrics.steady_time.modes.1`: expected an object, found an integer", "a number for an element" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":{\"steady_time\":{\"modes\":[{\"launches\":\"3\"}]}}}",
          "'a line': `metrics.steady_time.modes.0.launches`: expected a count, found a string",
          "path into an element" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":{\"memory_increase\":{\"launches\":[\"x\"]}}}",
          "'a line': `metrics.memory_increase.launches.0`: expected a number, found a string", "launches of a metric" },
        { "{" HEAD "\"status\":\"ok\",\"metrics\":[]}", "'a line': `metrics`: expected an object, found an array",
          "wrong block" },
        { "{" HEAD "\"status\":\"ok\",\"fidelity\":{}}", "'a line': `fidelity.status`: is missing",
          "a block without its word" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(add_text(&s->rows, cases[i].line, &err), CBX_EFORMAT, cases[i].why);
        CHECK_STR(err.message, cases[i].message, cases[i].why);
    }
    CHECK_INT(s->rows.count, 0, "none was added");
}

/* --- files --- */

TEST(test_damaged_file_costs_only_the_damage)
{
    state *s = *test_state;
    char text[3 * sizeof full_line + 200];
    cbx_err err = CBX_ERR_INIT;
    int n = snprintf(text, sizeof text, "%s\n\n\x01\xff garbage {\n%s\r\n{\"run_id\":\"x\"}\n%.120s", full_line,
                     v1_line, full_line);
    const char *path = path_in(s, "damaged.jsonl");
    char wanted[300];

    write_file(path, text, (size_t)n);
    CHECK_OK(cbx_rows_read(s->ctx, path, &s->rows, &err), &err, "a damaged file is read");
    CHECK_INT(s->rows.count, 2, "the good lines are there");
    CHECK_INT(s->rows.damaged, 3, "rubbish, JSON that is no row, a torn last line");
    snprintf(wanted, sizeof wanted, "'%s line 3': ", path);
    CHECK(strncmp(s->rows.first_damage, wanted, strlen(wanted)) == 0, "the first damage names file and line");
}

TEST(test_empty_and_missing_files)
{
    state *s = *test_state;
    cbx_err err = CBX_ERR_INIT;

    write_file(path_in(s, "empty.jsonl"), "", 0);
    CHECK_OK(cbx_rows_read(s->ctx, path_in(s, "empty.jsonl"), &s->rows, &err), &err, "an empty file holds no rows");
    CHECK_INT(s->rows.count + s->rows.damaged, 0, "and no damage");
    CHECK_STATUS(cbx_rows_read(s->ctx, path_in(s, "none.jsonl"), &s->rows, &err), CBX_ENOENT, "a missing file");
    CHECK(strstr(err.message, "none.jsonl"), "is named");
}

TEST(test_folder_is_read_in_order_of_paths)
{
    state *s = *test_state;
    cbx_err err = CBX_ERR_INIT;
    static const char *const files[] = {
        "b.jsonl", "a/z.jsonl", "a.jsonl", "a/a.raw.jsonl", ".hidden.jsonl", "note.txt"
    };
    static const char *const order[] = { "a.jsonl", "a/z.jsonl", "b.jsonl" };

    mkdir(path_in(s, "a"), 0777);
    CHECK(symlink("nowhere", path_in(s, "broken.jsonl")) == 0, "a broken link lies about");
    CHECK(symlink("..", path_in(s, "a/loop")) == 0, "and a loop");
    for (size_t i = 0; i < CBX_LEN(files); i++) {
        char text[1024];
        int n = snprintf(text, sizeof text,
                         "{\"run_id\":\"r\",\"case\":\"%s\",\"baseline\":\"b\",\"platform\":\"p\",\"framework\":\"f\","
                         "\"param_point\":{},"
                         "\"status\":\"ok\",\"schema_version\":1}\n",
                         files[i]);
        write_file(path_in(s, files[i]), text, (size_t)n);
    }
    CHECK_OK(cbx_rows_read(s->ctx, s->folder, &s->rows, &err), &err, "a folder is read");
    CHECK_INT(s->rows.count, CBX_LEN(order), "rows only: no raw launches, no hidden files");
    for (size_t i = 0; i < CBX_LEN(order); i++) CHECK_STR(s->rows.rows[i].case_name, order[i], "sorted by path");
}

TEST(test_written_file_is_read_back)
{
    state *s = *test_state;
    cbx_err err = CBX_ERR_INIT;
    cbx_rows back;
    char a[4096];

    add(s, full_line);
    add(s, v1_line);
    CHECK_OK(cbx_rows_write(s->ctx, path_in(s, "out.jsonl"), s->rows.rows, s->rows.count, &err), &err, "write");
    cbx_rows_init(&back, cbx_ctx_allocator(s->ctx));
    CHECK_OK(cbx_rows_read(s->ctx, path_in(s, "out.jsonl"), &back, &err), &err, "read");
    CHECK_INT(back.count, 2, "both");
    CHECK_INT(back.damaged, 0, "whole");
    render(&back.rows[0], a, sizeof a);
    CHECK_STR(a, full_line, "the same");
    cbx_rows_clear(&back);
    CHECK_STATUS(cbx_rows_write(s->ctx, "/proc/none/out.jsonl", s->rows.rows, 1, &err), CBX_ENOENT,
                 "an unwritable path");
}

/* --- the latest rule --- */

static void add_short(state *s, const char *run_id, const char *baseline, const char *status, const char *extra)
{
    char line[512];

    snprintf(line, sizeof line,
             "{\"run_id\":\"%s\",\"case\":\"c\",\"baseline\":\"%s\",\"platform\":\"cpu\",\"framework\":\"f\",\"param_"
             "point\":{\"m\":1,"
             "\"k\":2},\"status\":\"%s\",\"schema_version\":1%s}",
             run_id, baseline, status, extra);
    add(s, line);
}

/* The rows of s, which become those that an index of them shows; returns how many series have a
 * newer failure. */
static size_t show_latest(state *s)
{
    const char *path = path_in(s, "latest.jsonl");
    cbx_row_index *ix = NULL;
    cbx_err err = CBX_ERR_INIT;
    size_t hidden = 99;

    CHECK_OK(cbx_rows_write(s->ctx, path, s->rows.rows, s->rows.count, &err), &err, "write");
    cbx_rows_clear(&s->rows);
    CHECK_OK(cbx_row_index_open(s->ctx, &path, 1, &ix, &err), &err, "open");
    CHECK_OK(cbx_row_index_latest(ix, CBX_ROWS_WHOLE, &s->rows, &hidden, &err), &err, "latest");
    cbx_row_index_close(ix);
    return hidden;
}

TEST(test_latest_rule)
{
    static const struct {
        const char *ids[3], *statuses[3];
        size_t kept, hidden;
        const char *why;
    } cases[] = {
        { { "1", "2", "3" }, { "ok", "ok", "ok" }, 2, 0, "the newest" },
        { { "3", "2", "1" }, { "ok", "ok", "ok" }, 0, 0, "by run id, not by place" },
        { { "1", "2", "3" }, { "ok", "ok", "timeout" }, 1, 1, "a failure never hides a good row" },
        { { "1", "2", "3" }, { "ok", "skipped", "oom" }, 0, 1, "not even two of them" },
        { { "1", "2", "3" }, { "oom", "crashed", "skipped" }, 2, 0, "failures only: the newest" },
        { { "1", "2", "3" }, { "oom", "ok", "ok" }, 2, 0, "an older failure does not matter" },
        { { "2", "2", "1" }, { "ok", "ok", "ok" }, 0, 0, "a tie keeps the first" },
        { { "2", "2", "1" }, { "oom", "ok", "ok" }, 2, 1, "what is listed twice counts once, as its first row says" },
    };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char place[3][32];
        size_t hidden;
        for (size_t j = 0; j < 3; j++) {
            snprintf(place[j], sizeof place[j], ",\"point_label\":\"%zu\"", j);
            add_short(s, cases[i].ids[j], "b", cases[i].statuses[j], place[j]);
        }
        hidden = show_latest(s);
        CHECK_INT(s->rows.count, 1, cases[i].why);
        CHECK_INT(atoi(s->rows.rows[0].point_label), cases[i].kept, cases[i].why);
        CHECK_INT(hidden, cases[i].hidden, cases[i].why);
        cbx_rows_clear(&s->rows);
    }
}

TEST(test_latest_keys_and_order)
{
    state *s = *test_state;
    static const char *const order[] = { "z", "a", "z", "z", "m" };

    add_short(s, "1", "z", "ok", "");
    add_short(s, "1", "a", "ok", "");
    add_short(s, "2", "z", "ok", "");
    add_short(s, "1", "z", "ok", ",\"machine\":\"m1\"");
    add_short(s, "1", "z", "ok", ",\"variant\":\"tuned\"");
    add_short(s, "1", "z", "ok", ",\"variant\":\"default\""); /* the same as none: older than run 2 */
    add_short(s, "1", "m", "ok", "");
    add(s, "{\"run_id\":\"0\",\"case\":\"c\",\"baseline\":\"m\",\"platform\":\"cpu\",\"framework\":\"f\",\"param_"
           "point\":{\"k\":2,\"m\":1},"
           "\"status\":\"ok\",\"schema_version\":1}"); /* the same point, its keys turned round */
    show_latest(s);
    CHECK_INT(s->rows.count, CBX_LEN(order),
              "machine and variant are part of the key, the order of keys in a point is not");
    for (size_t i = 0; i < CBX_LEN(order); i++)
        CHECK_STR(s->rows.rows[i].baseline, order[i], "in order of first appearance");
    CHECK_STR(s->rows.rows[0].run_id, "2", "the newer one, at the place of the first");
    cbx_rows_clear(&s->rows);
    CHECK_INT(show_latest(s), 0, "no rows are fine");
}

/* --- run ids and the store --- */

TEST(test_run_ids)
{
    static const struct {
        const char *revision, *tail, *why;
    } cases[] = {
        { "0f3c2b1a99887766554433221100ffeeddccbbaa", "__0f3c2b1", "first seven digits" },
        { "0f3c2b1+", "__0f3c2b1", "a dirty tree" },
        { "unknown", "__nosha", "no revision known" },
        { NULL, "__nosha", "none given" },
        { "0f3c", "__nosha", "too short" },
    };
    char buf[CBX_RUN_ID_SIZE], wanted[CBX_RUN_ID_SIZE];

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        snprintf(wanted, sizeof wanted, "20260220T113424.346877+0000%s", cases[i].tail);
        CHECK_STR(cbx_row_run_id(1771587264346877, cases[i].revision, buf), wanted, cases[i].why);
    }
}

TEST(test_store)
{
    state *s = *test_state;
    cbx_err err = CBX_ERR_INIT;
    const char *id = "20260220T113424.346877+0000__0f3c2b1";
    const char *root = path_in(s, "store");
    char kept_root[256];

    snprintf(kept_root, sizeof kept_root, "%s", root);
    add(s, full_line);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(cbx_row_store_put(s->ctx, kept_root, "semiring_matmul", id, s->rows.rows, 1,
                                   i ? "{\"raw\":1}\n" : NULL, &err),
                 &err, "put, twice with an id that exists");
    }
    CHECK(cbx_path_exists(path_in(s, "store/semiring_matmul/20260220T113424.346877+0000__0f3c2b1.jsonl")),
          "file of the id");
    CHECK(!cbx_path_exists(path_in(s, "store/semiring_matmul/20260220T113424.346877+0000__0f3c2b1.raw.jsonl.gz")),
          "no raw launches given");
    CHECK(cbx_path_exists(path_in(s, "store/semiring_matmul/20260220T113424.346877+0000__0f3c2b1-02.raw.jsonl.gz")),
          "raw launches beside");
    cbx_rows_clear(&s->rows);
    CHECK_OK(cbx_rows_read(s->ctx, kept_root, &s->rows, &err), &err, "read the store");
    CHECK_INT(s->rows.count, 3, "nothing was overwritten");
    CHECK_STR(s->rows.rows[0].run_id, "20260220T113424.346877+0000__0f3c2b1-02", "'-' sorts before '.'");
    CHECK_STR(s->rows.rows[1].run_id, "20260220T113424.346877+0000__0f3c2b1-03",
              "the rows carry the id that the file has");
}

TEST(test_store_refuses_names_that_leave_it)
{
    state *s = *test_state;
    static const struct {
        const char *case_name, *run_id, *why;
    } cases[] = {
        { "../evil", "id", "a case that climbs" },
        { "c", "../../evil", "a run that climbs" },
        { "c", "a/b", "a folder in an id" },
        { "c", "", "no id" },
        { "c", ".hidden", "a hidden file" },
        { "c", "+x", "begins with a plus" },
        { "", "id", "no case" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_row_store_put(s->ctx, s->folder, cases[i].case_name, cases[i].run_id, NULL, 0, NULL, &err),
                     CBX_EINVAL, cases[i].why);
        CHECK(strstr(err.message, "letters, digits"), "the message lists what is allowed");
    }
}

/* --- memory --- */

static cbx_status everything(cbx_ctx *ctx, void *user)
{
    const char *folder = user;
    char file[128], store[128];
    cbx_rows rows;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    snprintf(file, sizeof file, "%s/rows.jsonl", folder);
    snprintf(store, sizeof store, "%s/store", folder);
    cbx_rows_init(&rows, cbx_ctx_allocator(ctx));
    st = cbx_rows_read(ctx, file, &rows, &err);
    if (!st) {
        cbx_text csv;
        cbx_text_init(&csv, cbx_ctx_allocator(ctx));
        cbx_rows_csv(&rows, &csv);
        st = cbx_text_check(&csv, &err);
        cbx_text_clear(&csv);
    }
    if (!st) st = cbx_row_store_put(ctx, store, "again", "again", rows.rows, rows.count, "raw\n", &err);
    cbx_rows_clear(&rows);
    return st;
}

static cbx_status read_folder(cbx_ctx *ctx, void *user)
{
    cbx_rows rows;
    cbx_status st;

    cbx_rows_init(&rows, cbx_ctx_allocator(ctx));
    st = cbx_rows_read(ctx, user, &rows, NULL);
    cbx_rows_clear(&rows);
    return st;
}

/* What is in the store of rows: its raw launches, its files as importers see them, its oldest runs
 * removed. */
static cbx_status from_the_store(cbx_ctx *ctx, void *user)
{
    const char *const *paths;
    char store[128], file[160];
    size_t npaths;
    cbx_arena arena;
    cbx_text raw;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    snprintf(store, sizeof store, "%s/store", (const char *)user);
    snprintf(file, sizeof file, "%s/again", store);
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx_text_init(&raw, cbx_ctx_allocator(ctx));
    st = cbx_row_store_raw(ctx, store, "again", "again", &raw, &err);
    if (!st) st = cbx_import_files(ctx, file, &arena, &paths, &npaths, &err);
    if (!st) st = cbx_row_store_prune(ctx, store, "again", 1000, NULL, &err);
    cbx_text_clear(&raw);
    cbx_arena_clear(&arena);
    CHECK(!st == !*err.message, "a sentence comes with a failure, and only with one");
    return st;
}

static cbx_status write_rows(cbx_ctx *ctx, void *user)
{
    char file[128];
    cbx_rows rows;
    cbx_status st;

    snprintf(file, sizeof file, "%s/rows.jsonl", (const char *)user);
    cbx_rows_init(&rows, cbx_ctx_allocator(ctx));
    st = cbx_rows_read(ctx, file, &rows, NULL);
    if (!st) st = cbx_rows_write(ctx, file, rows.rows, rows.count, NULL);
    cbx_rows_clear(&rows);
    return st;
}

TEST(test_every_allocation_may_fail)
{
    state *s = *test_state;
    char text[16384] = "";

    for (size_t i = 0; i < 9; i++) {
        strcat(text, i % 2 ? full_line : v1_line);
        strcat(text, "\n");
    }
    write_file(path_in(s, "rows.jsonl"), text, strlen(text));
    CHECK_GT(cbx_test_fail_each(everything, s->folder, "read, latest, put"), 10, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(from_the_store, s->folder, "raw, files, prune"), 5, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(write_rows, s->folder, "read, write"), 10, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(read_folder, s->folder, "read a folder"), 10, "allocations were made to fail");
}

TESTS(.setup = setup, .teardown = teardown)
