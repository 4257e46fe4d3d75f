/* What the library writes fits docs/reference/row-schema.json, and scripts/check_rows.py sees lines
 * that do not. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/storage/row.h"
#include "fail_alloc.h"

#define RUN_ID "20260220T113424.346877+0000__0f3c2b1"

/* Exit status of the checker; its output goes to out. */
static int check_rows(const char *path, char *out, size_t size)
{
    const char *root = getenv("CALIBRAX_SOURCE_ROOT");
    char command[1024];
    FILE *pipe;
    size_t n;

    CHECK(root != NULL, "CALIBRAX_SOURCE_ROOT names the source folder");
    snprintf(command, sizeof command, "/usr/bin/python3 '%s/scripts/check_rows.py' '%s' 2>&1", root, path);
    pipe = popen(command, "r");
    CHECK(pipe != NULL, "the shell starts");
    n = fread(out, 1, size - 1, pipe);
    out[n] = '\0';
    return pclose(pipe) >> 8;
}

static cbx_row absent_row(void)
{
    cbx_row row;

    cbx_row_init(&row);
    row.run_id = RUN_ID;
    row.case_name = "semiring_matmul";
    row.baseline = "jax-stream";
    row.platform = "cpu";
    row.framework = "jax";
    row.status = "env_failed";
    row.failure_reason = "provider_env_missing";
    return row;
}

static cbx_row measured_row(void)
{
    static const double launches[] = { 1.5, 1.25, INFINITY };
    cbx_row row = absent_row();

    row.status = "ok";
    row.failure_reason = NULL;
    row.point_json = "{\"m\":512}";
    row.has_metrics = true;
    row.min_s = 1.0;
    row.median_s = 1.25;
    row.launch_medians_s = launches;
    row.nlaunches = 3;
    row.fidelity_status = "ok";
    row.max_rel = INFINITY;
    row.oracle_kind = "fp64_full";
    row.ratio_vs = row.paired_vs = "stream";
    row.paired.lower = -INFINITY;
    row.verdict = "undecided";
    return row;
}

TEST(test_written_rows_fit_the_schema)
{
    char folder[64], path[128], out[4096];
    cbx_row rows[2] = { absent_row(), measured_row() };
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();

    cbx_test_folder(folder);
    snprintf(path, sizeof path, "%s/rows.jsonl", folder);
    CHECK_OK(cbx_rows_write(ctx, path, rows, 2, &err), &err, "write");
    CHECK_INT(check_rows(path, out, sizeof out), 0, out);
    CHECK_STR(out, "", "no fault");
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
}

/* Each changes one word of a good row. */
static const struct {
    const char *from, *to, *fault;
} faults[] = {
    { "\"schema_version\":2", "\"schema_version\":0", "row.schema_version: 0 is less than the minimum of 1" },
    { "\"case\":", "\"kase\":", "row: 'case' is a required property" },
    { "\"n\":0", "\"n\":true", "row.metrics.steady_time.n: True is not of type 'integer'" },
    { "\"min\":1.0", "\"min\":\"1.0\"",
      "row.metrics.steady_time.min: '1.0' is not valid under any of the given schemas" },
    { "\"min\":1.0", "\"min\":NaN", "not JSON: the bare token NaN is in a row" },
    { "\"unit\":\"MB\"", "\"unit\":\"MiB\"", "row.metrics.peak_hbm.unit: 'MiB' is not one of" },
    { "[1.5,", "[[],", "row.metrics.steady_time.launches[0]: [] is not valid under any" },
    { "\"baseline\":\"jax-stream\"", "\"baseline\":\"\"", "row.baseline: ''" },
    { "__0f3c2b1", "__dirty", "row.run_id: '20260220T113424.346877+0000__dirty' does not match" },
    { "\"undecided\"", "\"maybe\"", "row.ratio_paired.verdict: 'maybe' is not one of" },
    { "\"provenance\":{}", "\"provenance\":", "not JSON" },
};

static void put_with_fault(FILE *fp, const char *line, const char *from, const char *to)
{
    const char *place = strstr(line, from);

    CHECK(place != NULL, "the line holds what is to be replaced");
    fprintf(fp, "%.*s%s%s\n", (int)(place - line), line, to, place + strlen(from));
}

TEST(test_planted_faults_are_seen)
{
    char folder[64], path[128], out[8192], wanted[256];
    cbx_row row = measured_row();
    cbx_json *v = cbx_row_to_json(&row);
    cbx_text line;
    FILE *fp;

    cbx_text_init(&line, cbx_allocator_default());
    cbx_json_write(v, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &line);
    cbx_test_folder(folder);
    snprintf(path, sizeof path, "%s/rows.jsonl", folder);
    fp = fopen(path, "w");
    for (size_t i = 0; i < CBX_LEN(faults); i++) put_with_fault(fp, cbx_text_str(&line), faults[i].from, faults[i].to);
    fclose(fp);
    CHECK_INT(check_rows(path, out, sizeof out), 1, out);
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        snprintf(wanted, sizeof wanted, "rows.jsonl:%zu: %s", i + 1, faults[i].fault);
        if (!strstr(out, wanted)) fail_msg("'%s' is not in:\n%s", wanted, out);
    }
    cbx_test_folder_remove(folder);
    cbx_text_clear(&line);
    cbx_json_unref(v);
}

TEST(test_unreadable_file)
{
    char out[4096];

    CHECK_INT(check_rows("/nowhere/rows.jsonl", out, sizeof out), 2, "a missing file is a usage error");
}

TESTS()
