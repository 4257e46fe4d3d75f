/*
 * Renderings of rows: against kept outputs (UPDATE_GOLDEN=1 rewrites them), for every width, and as
 * sentences.
 */
#include "check.h"
#include "fail_alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/perf/report/report.h"
#include "calibrax/perf/report/view.h"

static cbx_ctx *ctx;
static cbx_rows kept_rows; /* of the file that was read last */
static cbx_text last;      /* rendering */

static int set_up(void **state)
{
    (void)state;
    cbx_text_init(&last, cbx_allocator_default());
    cbx_rows_init(&kept_rows, cbx_allocator_default());
    return cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cbx_text_clear(&last);
    cbx_rows_clear(&kept_rows);
    cbx_ctx_free(ctx);
    return 0;
}

static const char *fixture(const char *name, char buf[512])
{
    const char *root = getenv("CALIBRAX_SOURCE_ROOT");
    snprintf(buf, 512, "%s/tests/fixtures/rows/%s", root ? root : ".", name);
    return buf;
}

/* Until the next ones are read. */
static const cbx_rows *read_rows(const char *name)
{
    char path[512];
    cbx_err err = CBX_ERR_INIT;
    cbx_rows_clear(&kept_rows);
    CHECK_OK(cbx_rows_read(ctx, fixture(name, path), &kept_rows, &err), &err, name);
    CHECK_INT(kept_rows.damaged, 0, name);
    return &kept_rows;
}

static void render(const char *kind, size_t width, const cbx_rows *rows, cbx_text *out)
{
    cbx_report_opts opts = CBX_REPORT_OPTS_INIT;
    opts.command = "nperf --case semiring_matmul --point '{\"m\":512}' --launches 6";
    if (!strcmp(kind, "table"))
        cbx_report_table(rows, width, out);
    else if (!strcmp(kind, "markdown"))
        cbx_report_markdown(rows, &opts, out);
    else if (!strcmp(kind, "site"))
        cbx_report_site(rows, &opts, out);
    else
        cbx_report_sentence(rows, out);
}

/* Until the next rendering. */
static const char *rendered(const char *kind, size_t width, const cbx_rows *rows)
{
    cbx_text_reset(&last);
    render(kind, width, rows, &last);
    CHECK_INT(last.status, CBX_OK, kind);
    return cbx_text_str(&last);
}

/* --- kept outputs --- */

static const struct {
    const char *kind, *rows;
    size_t width;
    const char *golden, *why;
} goldens[] = {
    { "table", "typical.jsonl", 120, "typical_120.txt", "a sweep on an ordinary terminal" },
    { "table", "troubled.jsonl", 0, "troubled_wide.txt", "everything that can go wrong, without a limit" },
    { "table", "troubled.jsonl", 80, "troubled_80.txt", "the same on 80 columns" },
    { "table", "evil.jsonl", 100, "evil_100.txt", "control characters do not reach the terminal" },
    { "markdown", "typical.jsonl", 0, "typical.md", "two cases, variants, a missing rival" },
    { "markdown", "troubled.jsonl", 0, "troubled.md", "notes on everything that can go wrong" },
    { "markdown", "evil.jsonl", 0, "evil.md", "cells stay cells" },
    { "sentence", "typical.jsonl", 0, "typical_sentence.txt", "two cases" },
    { "sentence", "troubled.jsonl", 0, "troubled_sentence.txt", "every outcome once" },
};

static void check_golden(size_t i)
{
    char name[256], path[512], *kept = NULL;
    size_t len = 0;
    const char *now = rendered(goldens[i].kind, goldens[i].width, read_rows(goldens[i].rows));
    cbx_err err = CBX_ERR_INIT;
    snprintf(name, sizeof name, "golden/%s", goldens[i].golden);
    fixture(name, path);
    if (getenv("UPDATE_GOLDEN")) CHECK_OK(cbx_file_write_atomic(ctx, path, now, strlen(now), &err), &err, path);
    CHECK_OK(cbx_file_read(ctx, path, 0, &kept, &len, &err), &err, "UPDATE_GOLDEN=1 writes it");
    if (strcmp(kept, now) != 0) fail_msg("%s: %s differs; it is now:\n%s", goldens[i].why, goldens[i].golden, now);
    cbx_mem_free(cbx_ctx_allocator(ctx), kept, len + 1);
}

TEST(test_goldens)
{
    for (size_t i = 0; i < CBX_LEN(goldens); i++) check_golden(i);
}

TEST(test_nothing_private)
{
    static const char *const kinds[] = { "table", "markdown", "site", "sentence" };
    static const char *const files[] = { "typical.jsonl", "troubled.jsonl", "evil.jsonl" };
    static const char *const secrets[] = { "secret-host", "secret-user", "6.1.0-secret", "/home/", "/root/" };
    for (size_t f = 0; f < CBX_LEN(files); f++) {
        const cbx_rows *rows = read_rows(files[f]);
        for (size_t k = 0; k < CBX_LEN(kinds); k++) {
            const char *text = rendered(kinds[k], 0, rows);
            for (size_t s = 0; s < CBX_LEN(secrets); s++)
                if (strstr(text, secrets[s])) fail_msg("%s: '%s' is printed", files[f], secrets[s]);
        }
    }
}

/* --- widths --- */

static size_t longest_line(const char *s)
{
    size_t longest = 0, n = 0;
    for (; *s; s++) {
        if (*s == '\n')
            n = 0;
        else if (((unsigned char)*s & 0xc0) != 0x80 && ++n > longest)
            longest = n;
    }
    return longest;
}

/* Titles in the order in which a narrow terminal loses them. */
TEST(test_widths)
{
    static const char *const lost_in_order[] = { "p99",    "min ",     "compile", "GMAC/s",
                                                 "memory", "fidelity", "roof",    "against" };
    const cbx_rows *rows = read_rows("typical.jsonl");
    size_t shown_before = 0;
    for (size_t width = 38; width <= 200; width++) {
        size_t shown = 0;
        bool seen = false;
        CHECK_LE(longest_line(rendered("table", width, rows)), width, "the longest line");
        *strchr(last.data, '\n') = 0; /* the titles alone */
        for (size_t i = 0; i < CBX_LEN(lost_in_order); i++) {
            bool here = strstr(last.data, lost_in_order[i]) != NULL;
            if (seen && !here)
                fail_msg("width %zu: '%s' was given up before '%s'", width, lost_in_order[i], lost_in_order[i - 1]);
            seen = seen || here;
            shown += here;
        }
        assert_true(shown >= shown_before); /* wider never shows less */
        shown_before = shown;
    }
    assert_int_equal(shown_before, CBX_LEN(lost_in_order));
}

/* --- rows made here --- */

static cbx_row empty_row(const char *baseline, const char *status)
{
    cbx_row r = { .run_id = "r",
                  .case_name = "c",
                  .baseline = baseline,
                  .platform = "cpu",
                  .framework = "native",
                  .status = status,
                  .point_json = "{\"m\":8,\"k\":8,\"n\":8,\"algebra\":\"log\",\"seed\":0}",
                  .point_label = "8x8x8 (log)" };
    r.representative = true;
    r.min_s = r.median_s = r.p99_s = r.compile_s = r.host_rss_mb = r.host_rss_increase_mb = r.peak_hbm_mb = NAN;
    r.gmac_per_s = r.roofline_share = r.bound_s = r.rel_to_tol = r.ratio_value = r.first_call_s = NAN;
    r.steady = r.paired = (cbx_row_interval){ NAN, NAN, NAN, NAN };
    return r;
}

static cbx_row good_row(const char *baseline, double median)
{
    cbx_row r = empty_row(baseline, "ok");
    r.has_metrics = true;
    r.min_s = r.median_s = median;
    r.steady = (cbx_row_interval){ median, median * 0.98, median * 1.02, 0.97 };
    return r;
}

static cbx_row compared_row(const char *baseline, double median, double ratio, double lower, double upper,
                            const char *verdict)
{
    cbx_row r = good_row(baseline, median);
    r.paired_vs = r.ratio_vs = "stream";
    r.ratio_value = ratio;
    r.paired = (cbx_row_interval){ ratio, lower, upper, isfinite(lower) ? 0.97 : 0 };
    r.verdict = verdict;
    return r;
}

static cbx_row failed_row(const char *baseline, const char *status, const char *reason, const char *framework,
                          const char *remedy)
{
    cbx_row r = empty_row(baseline, status);
    r.failure_reason = reason;
    r.framework = framework;
    r.failure_remedy = remedy;
    return r;
}

static void check_sentence(cbx_row *list, size_t n, const char *wanted)
{
    assert_string_equal(rendered("sentence", 0, &(cbx_rows){ .rows = list, .count = n }), wanted);
}

static cbx_json *schedule_of(const char *text)
{
    cbx_json *o = NULL;
    if (cbx_json_parse(text, strlen(text), "schedule", &o, NULL)) fail_msg("%s", text);
    return o;
}

TEST(test_repeated_launches)
{
    cbx_row rows[] = { good_row("stream", 0.84), good_row("tiled", 0.1), good_row("naive", 0.2) };
    cbx_rows all = { .rows = rows, .count = CBX_LEN(rows) };
    rows[0].provenance = schedule_of("{\"schedule\":{\"retries\":1,\"retry_reasons\":{\"worker_killed\":1}}}");
    rows[1].provenance = schedule_of("{\"schedule\":{\"retries\":0,\"retry_reasons\":{}}}");
    rows[2].provenance = schedule_of(
        "{\"schedule\":{\"retries\":4,\"retry_reasons\":{\"machine_too_busy\":3,\"worker_killed\":1}}}");
    for (int kind = 0; kind < 2; kind++) {
        char plain[4096];
        size_t n = 0;
        for (const char *c = rendered(kind ? "markdown" : "table", 120, &all); *c && n + 1 < sizeof plain; c++) {
            if (*c != '\\') plain[n++] = *c; /* markdown escapes */
        }
        plain[n] = 0;
        assert_non_null(
            strstr(plain, "5 launches were repeated (machine_too_busy 3, worker_killed 2), most of them of naive (4)"));
    }
    for (size_t i = 0; i < CBX_LEN(rows); i++) cbx_json_unref((cbx_json *)rows[i].provenance);
    rows[0].provenance = rows[1].provenance = rows[2].provenance = NULL;
    assert_null(strstr(rendered("table", 120, &all), "were repeated"));
}

TEST(test_sentence_of_the_brief)
{
    cbx_row rows[] = {
        good_row("stream", 0.84),
        compared_row("tiled", 0.104, 0.1235, 0.1205, 0.1266, "faster"),
        failed_row("naive-dense", "fidelity_failed", "outside_bound", "native", NULL),
        failed_row("jax-stream", "env_failed", "provider_env_missing", "jax", "run scripts/setup-refs.sh jax"),
        failed_row("jax-naive", "env_failed", "provider_env_missing", "jax", "run scripts/setup-refs.sh jax"),
    };
    rows[1].roofline_share = 0.611;
    check_sentence(rows, CBX_LEN(rows),
                   "8x8x8 (log): tiled takes 104.0 ms, 0.123 of the time of stream [0.120, 0.127], and reaches 61 % of "
                   "the roofline; "
                   "naive-dense failed its "
                   "fidelity check; jax is not installed: run scripts/setup-refs.sh jax\n");
}

/* A limit is the fastest of all and no rival: words name it as what others are a share of. */
TEST(test_limit)
{
    cbx_row list[] = { good_row("stream", 0.84), good_row("pipes", 0.05),
                       compared_row("tiled", 0.104, 0.1235, 0.1205, 0.1266, "faster"), good_row("wrong", 0.2) };
    static const char *const wanted[] = { "stream", "tiled", "pipes", "wrong" };
    cbx_rows rows = { .rows = list, .count = CBX_LEN(list) };
    cbx__report_view view;
    cbx_text out;

    list[1].role = "limit";
    list[2].limit_vs = "pipes";
    list[2].limit_share = 0.822;
    list[3].status = "fidelity_failed";
    check_sentence(
        list, 3,
        "8x8x8 (log): tiled takes 104.0 ms, 0.123 of the time of stream [0.120, 0.127], and reaches 82 % of pipes\n");
    list[2].roofline_share = 0.611;
    check_sentence(list, 3,
                   "8x8x8 (log): tiled takes 104.0 ms, 0.123 of the time of stream [0.120, 0.127], and reaches 61 % of "
                   "the roofline, 82 % of "
                   "pipes\n");
    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    assert_true(cbx__report_view_open(&rows, &view, &out));
    for (size_t i = 0; i < CBX_LEN(wanted); i++) assert_string_equal(view.items[i].row->baseline, wanted[i]);
    cbx__report_view_close(&view, &out);
    cbx_text_clear(&out);
    const char *text = rendered("markdown", 0, &rows);
    assert_non_null(strstr(text, "% of pipes"));
    assert_non_null(strstr(text, "| limit |"));
    assert_null(strstr(text, "above 100 %"));
    list[2].limit_share = 1.043;
    assert_non_null(
        strstr(rendered("markdown", 0, &rows), "*above 100 %* of a limit: tiled of pipes (104.3 %). A limit is"));
    list[2].limit_share = 0.822;
    assert_non_null(strstr(rendered("site", 0, &rows), "<tr class=limit>"));
    list[1].median_s = 2; /* no rival is left, and the limit is not one */
    check_sentence(
        list, 2,
        "8x8x8 (log): stream takes 840.0 ms [823.2, 856.8] and is the fastest; no ratios, because no reference "
        "is named\n");
}

/* Baselines that the user left out are counted, in all renderings; their rows stay rows. */
TEST(test_left_out)
{
    cbx_row list[] = {
        good_row("stream", 0.84),
        compared_row("tiled", 0.104, 0.1235, 0.1205, 0.1266, "faster"),
        failed_row("numpy", "skipped", "skipped_by_config", "numpy", "name it in --baselines"),
        failed_row("jax-a", "skipped", "skipped_by_config", "jax", "name it in --baselines"),
        failed_row("jax-b", "skipped", "skipped_by_config", "jax", "take it out of --skip-baselines"),
    };
    cbx_rows rows = { .rows = list, .count = CBX_LEN(list) };
    list[2].failure_message = list[3].failure_message = "left out by --baselines";
    list[4].failure_message = "left out by --skip-baselines";
    check_sentence(list, CBX_LEN(list),
                   "8x8x8 (log): tiled takes 104.0 ms, 0.123 of the time of stream [0.120, 0.127]; 2 baselines left "
                   "out by --baselines; 1 "
                   "baseline left out by --skip-baselines\n");
    const char *text = rendered("table", 0, &rows);
    assert_true(strstr(text, "\n2 baselines left out by --baselines\n")); /* a line in the table */
    assert_true(!strstr(text, "numpy"));                                  /* in place of rows */
    text = rendered("markdown", 0, &rows);
    assert_true(strstr(text, "- 2 baselines left out by --baselines: name it in --baselines.\n")); /* a note */
    assert_true(!strstr(text, "numpy")); /* no row of the report */
}

/* Where the table was corrected, its verdict is shown; where it could not be, there is a note. */
TEST(test_verdicts_over_the_table)
{
    cbx_row list[] = {
        good_row("stream", 0.84),
        compared_row("tiled", 0.104, 0.1235, 0.1205, 0.1266, "faster"),
        compared_row("naive", 0.8, 0.95, 0.92, 0.99, "faster"),
    };
    cbx_rows rows = { .rows = list, .count = CBX_LEN(list) };
    for (size_t i = 1; i < CBX_LEN(list); i++) {
        list[i].pairs = 11;
        list[i].holm_rows = 2;
        list[i].verdict_holm = i == 1 ? "faster" : "undecided";
    }
    check_sentence(list, CBX_LEN(list),
                   "8x8x8 (log): tiled takes 104.0 ms, 0.123 of the time of stream [0.120, 0.127]; undecided, more "
                   "launches would decide: "
                   "naive (0.950)\n");
    const char *text = rendered("markdown", 0, &rows);
    assert_true(strstr(text, "corrected by Holm over 2 ratios")); /* the note */
    assert_true(!strstr(text, "are too few for"));                /* nothing to confess */
    list[1].verdict_holm = list[2].verdict_holm = NULL;
    list[1].pairs = list[2].pairs = 6;
    assert_true(strstr(rendered("markdown", 0, &rows),
                       "each row at 95 %; 6 launches are too few for a correction over 2 rows")); /* the note */
    assert_true(strstr(rendered("table", 0, &rows),
                       "each row at 95%: 6 launches are too few for a correction over 2 rows")); /* the legend */
}

TEST(test_sentence_undecided)
{
    cbx_row rows[] = { good_row("stream", 1e-3), compared_row("a", 1e-3, 0.97, 0.9, 1.05, "undecided"),
                       compared_row("b", 1e-3, 1.001, 0.995, 1.008, "equivalent"),
                       compared_row("d", 2e-3, 2, 1.9, 2.1, "slower"),
                       compared_row("e", 5e-4, 0.5, -INFINITY, INFINITY, "undecided") };
    check_sentence(rows, CBX_LEN(rows),
                   "8x8x8 (log): nothing is shown to be faster than stream; equivalent: b (1.00); slower: d (2.00); "
                   "undecided, more launches would decide: e (0.500), a (0.970)\n");
}

TEST(test_sentence_without_reference)
{
    cbx_row failed[] = { failed_row("stream", "crashed", "worker_killed", "native", NULL), good_row("tiled", 2e-3),
                         good_row("numpy", 1e-3), compared_row("other", 1, 1, 1, 1, "equivalent") };
    cbx_row unnamed[] = { good_row("a", 2e-3), good_row("b", 1e-3) };
    cbx_row absent[] = { compared_row("tiled", 1e-3, 0.5, 0.4, 0.6, "faster") };
    failed[3].point_json = "{}"; /* another point of the case names the reference */
    failed[3].representative = false;
    check_sentence(failed, CBX_LEN(failed),
                   "8x8x8 (log): numpy takes 1.00 ms [0.98, 1.02] and is the fastest; no ratios, because the reference "
                   "stream has no good "
                   "row; stream crashed\n");
    check_sentence(
        unnamed, CBX_LEN(unnamed),
        "8x8x8 (log): b takes 1.00 ms [0.98, 1.02] and is the fastest; no ratios, because no reference is named\n");
    check_sentence(
        absent, CBX_LEN(absent),
        "8x8x8 (log): tiled takes 1.00 ms [0.98, 1.02]; no ratio, because the reference stream was not measured\n");
}

TEST(test_sentence_of_little)
{
    cbx_row alone[] = { good_row("stream", 3.2e-3) };
    cbx_row none[] = { failed_row("stream", "timeout", "message_timeout", "native", "raise --worker-timeout"),
                       failed_row("slow", "skipped", "slow_skipped", "native", "leave out --skip-slow") };
    alone[0].roofline_share = 0.0731;
    check_sentence(alone, 1,
                   "8x8x8 (log): stream takes 3.20 ms [3.14, 3.26] and reaches 7.3 % of the roofline; there is nothing "
                   "to compare it with\n");
    check_sentence(none, CBX_LEN(none),
                   "8x8x8 (log): no baseline has a good row; stream ran out of time: raise --worker-timeout; skipped: "
                   "slow (slow_skipped)\n");
    const cbx_rows rows = { .rows = none, .count = CBX_LEN(none) };
    assert_non_null(strstr(rendered("table", 0, &rows), "\nslow      skipped: ")); /* names are a column of their own */
    check_sentence(NULL, 0, "nothing was measured\n");
}

TEST(test_sentence_quotes_strongest_variant)
{
    cbx_row rows[] = { good_row("stream", 1e-2), compared_row("openblas", 2e-3, 0.2, 0.19, 0.21, "faster"),
                       compared_row("openblas", 1e-3, 0.1, 0.095, 0.105, "faster") };
    rows[1].variant = "default";
    rows[2].variant = "tuned";
    rows[2].strongest = true;
    check_sentence(rows, CBX_LEN(rows),
                   "8x8x8 (log): openblas (tuned) takes 1.00 ms, 0.100 of the time of stream [0.095, 0.105]\n");
}

/* --- order --- */

TEST(test_order)
{
    cbx_row list[] = { failed_row("gone", "crashed", "x", "native", NULL), good_row("slow", 3),
                       compared_row("quick", 1, 0.5, 0.4, 0.6, "faster"), good_row("stream", 2),
                       good_row("wrong", 0.5) };
    static const char *const wanted[] = { "stream", "quick", "slow", "wrong", "gone" };
    cbx_rows rows = { .rows = list, .count = CBX_LEN(list) };
    cbx__report_view view;
    cbx_text out;
    list[4].status = "fidelity_failed";
    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    assert_true(cbx__report_view_open(&rows, &view, &out));
    assert_int_equal(view.ngroups, 1);
    for (size_t i = 0; i < CBX_LEN(wanted); i++) assert_string_equal(view.items[i].row->baseline, wanted[i]);
    assert_ptr_equal(view.groups[0].reference->row, &list[3]);
    assert_int_equal(view.items[4].class, CBX__REPORT_FAILED);
    cbx__report_view_close(&view, &out);
    cbx_text_clear(&out);
}

/* --- numbers --- */

static const struct {
    double ratio, lower, upper;
    const char *verdict, *full, *brief, *why;
} ratios[] = {
    { 0.1235, 0.1205, 0.1266, "faster", "0.123 [0.120, 0.127]", "0.123", "below 1 is faster" },
    { 1.5, 1.4, 1.6, "slower", "1.50 [1.40, 1.60]", "1.50", "above 1 is slower" },
    { 1.04, 0.96, 1.08, "undecided", "1.04 [0.96, 1.08]", "1.04", "undecided has the same direction" },
    { 1.0, 0.995, 1.005, "equivalent", "1.000 [0.995, 1.005]", "1.00", "a narrow interval gets a decimal" },
    { 0.5, -INFINITY, INFINITY, "undecided", "0.500", "0.500", "too few launches: no interval is made up" },
    { 500, 476, 526, "slower", "500 [476, 526]", "500", "hundreds need no decimals" },
    { 0.002, 0.0019, 0.0021, "faster", "0.00200 [0.00190, 0.00210]", "0.00200", "three digits of a small one" },
    { 0.99972, 0.99, 1.01, "equivalent", "1.00 [0.99, 1.01]", "1.00", "what rounds up to 1 has its digits" },
    { NAN, NAN, NAN, "undecided", NULL, NULL, "no ratio, no words" },
    { 0.0, 0.0, 0.0, "faster", NULL, NULL, "a time of zero is no ratio" },
};

TEST(test_ratios)
{
    for (size_t i = 0; i < CBX_LEN(ratios); i++) {
        cbx_row r = compared_row("a", 1, ratios[i].ratio, ratios[i].lower, ratios[i].upper, ratios[i].verdict);
        cbx__report_ratio ratio;
        r.ratio_vs = NULL;
        if (cbx__report_ratio_of(&r, &ratio) != (ratios[i].full != NULL)) fail_msg("%s", ratios[i].why);
        if (!ratios[i].full) continue;
        CHECK_STR(ratio.verdict, ratios[i].verdict, ratios[i].why);
        for (int brief = 0; brief < 2; brief++) {
            cbx_text_reset(&last);
            cbx__report_put_ratio(&last, &ratio, brief);
            CHECK_STR(cbx_text_str(&last), brief ? ratios[i].brief : ratios[i].full, ratios[i].why);
        }
    }
}

TEST(test_minimum_disagrees)
{
    cbx_row bimodal = compared_row("pyg", 1, 0.42, 0.40, 0.44, "faster"),
            fine = compared_row("a", 1, 0.42, 0.40, 0.44, "faster");
    bimodal.ratio_value = 0.23; /* the published PyG row: minima 0.23, medians 0.42 */
    fine.ratio_value = 0.41;
    assert_true(cbx__report_minimum_disagrees(&bimodal));
    assert_false(cbx__report_minimum_disagrees(&fine));
    bimodal.paired.lower = -INFINITY;
    assert_false(cbx__report_minimum_disagrees(&bimodal));
}

static const struct {
    double seconds;
    const char *text;
} times[] = {
    { 4e-10, "0 ns" },
    { 4.2e-8, "42 ns" },
    { 9.996e-7, "1.0 \xC2\xB5s" },
    { 1.234e-6, "1.2 \xC2\xB5s" },
    { 9.9996e-4, "1.00 ms" },
    { 3.214e-3, "3.21 ms" },
    { 0.09999, "99.99 ms" },
    { 0.2034, "203.4 ms" },
    { 0.99996, "1.000 s" },
    { 61.5, "61.500 s" },
    { NAN, "-" },
    { INFINITY, "-" },
    { -1, "-" },
    { 0, "0 ns" },
};

TEST(test_times)
{
    for (size_t i = 0; i < CBX_LEN(times); i++) {
        cbx_text_reset(&last);
        cbx__report_put_seconds(&last, times[i].seconds, &cbx__report_ascii);
        assert_string_equal(cbx_text_str(&last), times[i].text);
    }
}

static const struct {
    const char *in;
    size_t max;
    const char *out, *why;
} publics[] = {
    { "cannot open /home/ann/x.so: no", 0, "cannot open (path) no", "an absolute path" },
    { "at '/root/a b'", 0, "at '(path) b'", "a quoted one" },
    { "~/x and a/b and 1/2", 0, "(path) and a/b and 1/2", "relative ones stay: scripts/setup-refs.sh is one" },
    { "</script>", 0, "</script>", "no path" },
    { "a\033[31m\tb\r\n", 0, "a [31m b  ", "control characters" },
    { "a\302\233b\303\274", 0, "a b\303\274", "C1 controls, but not letters" },
    { "abcdefgh", 5, "abcde...", "cut" },
    { "\303\274\303\274\303\274", 3, "\303\274\303\274...", "cut between characters" },
    { NULL, 0, "", "nothing" },
};

TEST(test_public_words)
{
    for (size_t i = 0; i < CBX_LEN(publics); i++) {
        cbx_text_reset(&last);
        cbx__report_put_public(&last, publics[i].in, publics[i].max);
        CHECK_STR(cbx_text_str(&last), publics[i].out, publics[i].why);
    }
}

/* Every line of a markdown table has as many unescaped bars as its head. */
static size_t bars(const char *line)
{
    size_t n = 0;
    for (const char *p = line; *p && *p != '\n'; p++) {
        if (*p == '\\' && p[1])
            p++;
        else
            n += *p == '|';
    }
    return n;
}

TEST(test_markdown_cells)
{
    const cbx_rows *rows = read_rows("evil.jsonl");
    const char *text = rendered("markdown", 0, rows), *table = strstr(text, "| point |");
    size_t lines = 0;
    for (const char *p = table; p && *p == '|'; p = strchr(p, '\n') + 1, lines++)
        assert_int_equal(bars(p), bars(table));
    assert_int_equal(lines, 2 + rows->count);
    assert_int_equal(bars("| a|b |"), 3); /* a bar that is not escaped would be seen */
    assert_null(strstr(text, "<script"));
}

/* A column that no row fills is left out of every table, as the rates and the roofline of plain
 * commands. */
TEST(test_empty_columns)
{
    cbx_row list[] = { good_row("sleep", 0.84), good_row("true", 0.1) };
    cbx_rows rows = { .rows = list, .count = CBX_LEN(list) };
    static const char *const kinds[] = { "table", "markdown", "site" };
    for (size_t i = 0; i < CBX_LEN(list); i++)
        list[i].gmac_per_s = list[i].gflop_per_s = list[i].gbyte_per_s = list[i].rel_to_tol = NAN;
    for (int filled = 0; filled < 2; filled++) {
        list[1].gmac_per_s = filled ? 3 : NAN;
        for (size_t i = 0; i < CBX_LEN(kinds); i++) {
            const char *text = rendered(kinds[i], 0, &rows);
            CHECK(strstr(text, "time [interval]"), kinds[i]);
            CHECK(!strstr(text, "GFLOP/s") && !strstr(text, "fidelity |"), kinds[i]);
            CHECK(!strstr(text, "GMAC/s") == !filled, kinds[i]);
        }
    }
}

/* --- memory --- */

typedef struct rendering {
    const char *kind;
    const cbx_rows *rows;
    const char *whole; /* what it is where memory suffices */
} rendering;

static cbx_status render_once(cbx_ctx *c, void *user)
{
    const rendering *r = user;
    cbx_text out;
    cbx_status st;

    cbx_text_init(&out, cbx_ctx_allocator(c));
    render(r->kind, 100, r->rows, &out);
    st = out.status;
    if (!st) CHECK_STR(cbx_text_str(&out), r->whole, "a text with status ok is the whole text");
    cbx_text_clear(&out);
    return st;
}

TEST(test_allocation_failures)
{
    static const char *const kinds[] = { "table", "markdown", "site", "sentence" };
    const cbx_rows *rows = read_rows("troubled.jsonl");
    for (size_t k = 0; k < CBX_LEN(kinds); k++) {
        rendering r = { kinds[k], rows, rendered(kinds[k], 100, rows) };
        CHECK_GT(cbx_test_fail_each(render_once, &r, kinds[k]), 2, "allocations were made to fail");
    }
}

TESTS(.before = set_up, .after = tear_down)
