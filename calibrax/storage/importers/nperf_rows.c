/*
 * Rows of nperf (JSON lines, storage/row.h): the rows of a run id are a run, in any order; a row is
 * a point.
 *
 * The median of launch medians is the time, the launch medians are its samples.  A row that is not
 * good is noted with its failure, and so is a line that is not a row.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"
#include "calibrax/storage/row.h"

typedef struct row_metric {
    size_t offset; /* of a double in cbx_row */
    cbx__import_def def;
    double scale;
} row_metric;

static const row_metric metrics[] = {
    { offsetof(cbx_row, min_s), CBX__DEF("time_min", "s", INFO, SECONDARY), 1 },
    { offsetof(cbx_row, p95_s), CBX__DEF("time_p95", "s", INFO, SECONDARY), 1 },
    { offsetof(cbx_row, p99_s), CBX__DEF("time_p99", "s", INFO, SECONDARY), 1 },
    { offsetof(cbx_row, cpu_s), CBX__DEF("cpu_time", "s", LOWER, SECONDARY), 1 },
    { offsetof(cbx_row, host_rss_mb), CBX__DEF("peak_rss", "B", LOWER, SECONDARY), 1e6 },
    { offsetof(cbx_row, peak_hbm_mb), CBX__DEF("peak_hbm", "B", LOWER, SECONDARY), 1e6 },
    { offsetof(cbx_row, throughput_elem_per_s), CBX__DEF("throughput", "1/s", HIGHER, SECONDARY), 1 },
    { offsetof(cbx_row, gflop_per_s), CBX__DEF("flop_rate", "1/s", HIGHER, SECONDARY), 1e9 },
    { offsetof(cbx_row, gbyte_per_s), CBX__DEF("byte_rate", "B/s", HIGHER, SECONDARY), 1e9 },
    { offsetof(cbx_row, roofline_share), CBX__DEF("roofline_share", "", HIGHER, SECONDARY), 1 },
};

/* Metrics over launches: their median, interval and launches; of rows that do not hold them, the
 * value at `plain`. */
static const struct {
    size_t offset, plain;
    cbx__import_def def;
    double scale;
} launched[] = {
    { offsetof(cbx_row, compile), offsetof(cbx_row, compile_s), CBX__DEF("compile_time", "s", LOWER, SECONDARY), 1 },
    { offsetof(cbx_row, compile_warm), 0, CBX__DEF("compile_time_warm", "s", LOWER, SECONDARY), 1 },
    { offsetof(cbx_row, first_call), offsetof(cbx_row, first_call_s), CBX__DEF("first_call", "s", LOWER, SECONDARY),
      1 },
    { offsetof(cbx_row, memory), 0, CBX__DEF("memory_increase", "B", LOWER, SECONDARY), 1e6 },
    { offsetof(cbx_row, device_memory), 0, CBX__DEF("device_memory", "B", LOWER, SECONDARY), 1e6 },
    { offsetof(cbx_row, energy), 0, CBX__DEF("energy", "J", LOWER, SECONDARY), 1 },
    { offsetof(cbx_row, error), offsetof(cbx_row, rel_to_tol), CBX__DEF("error_to_tolerance", "", LOWER, SECONDARY),
      1 },
};

static int detect(const cbx__import_source *src)
{
    return cbx_json_has(src->line, "run_id") && cbx_json_has(src->line, "param_point") ? 95 : 0;
}

static double number_at(const cbx_row *r, size_t offset)
{
    return *(const double *)(const void *)((const char *)r + offset);
}

static void read_launched(cbx__import_job *job, const cbx_row *r, size_t i)
{
    const cbx_row_metric *from = (const void *)((const char *)r + launched[i].offset);
    double scale = launched[i].scale, v = from->over.value;
    cbx_metric m;

    if (isnan(v) && launched[i].plain) v = number_at(r, launched[i].plain);
    if (isnan(v)) return;
    m = cbx_metric_of(v * scale);
    if (from->over.level > 0) {
        m.lower = from->over.lower * scale;
        m.upper = from->over.upper * scale;
    }
    if (scale == 1) { /* samples are in the metric's own unit */
        m.samples = from->launches;
        m.nsamples = from->nlaunches;
    }
    cbx__import_metric(job, &launched[i].def, m);
}

static void read_row(cbx__import_job *job, const cbx_row *r)
{
    CBX_OWNED(cbx_json) *point = NULL; /* the tags are its strings */

    if (cbx_row_is_limit(r)) {
        cbx__import_note(job, r->baseline, "left out: it is a limit, not a competitor");
        return;
    }
    if (!cbx_row_is_good(r) || !r->has_metrics) {
        cbx__import_note(job, r->baseline, "%s: %.300s", r->status,
                         r->failure_message  ? r->failure_message
                         : r->failure_reason ? r->failure_reason
                                             : "has no metrics");
        return;
    }
    cbx__import_point_begin(job, r->case_name, r->platform);
    cbx__import_tag(job, "framework", r->framework);
    cbx__import_tag(job, "baseline", r->baseline);
    if (r->variant && strcmp(r->variant, "default") != 0) cbx__import_tag(job, "variant", r->variant);
    if (!cbx_json_parse(r->point_json, strlen(r->point_json), "point", &point, NULL)) cbx__import_tags_of(job, point);
    cbx_metric m = cbx_metric_of(isnan(r->steady.value) ? r->median_s : r->steady.value);

    m.lower = r->steady.lower;
    m.upper = r->steady.upper;
    m.samples = r->launch_medians_s;
    m.nsamples = r->nlaunches;
    cbx__import_metric(job, &cbx__import_time, m);
    for (size_t i = 0; i < CBX_LEN(metrics); i++) {
        double v = number_at(r, metrics[i].offset);
        if (!isnan(v)) cbx__import_metric(job, &metrics[i].def, cbx_metric_of(v * metrics[i].scale));
    }
    for (size_t i = 0; i < CBX_LEN(launched); i++) read_launched(job, r, i);
    cbx__import_point_end(job);
}

static void read_line(cbx__import_job *job, const cbx_json *value, const char *what)
{
    int64_t version = cbx_json_get_int(value, "schema_version", 0);
    cbx_err err = CBX_ERR_INIT;
    CBX_SCOPED(cbx_rows, rows, cbx_ctx_allocator(cbx__import_ctx(job)));
    cbx_status st = cbx_rows_add_json(&rows, (cbx_json *)(uintptr_t)value, what, &err);

    if (st == CBX_ENOMEM) {
        cbx__import_fail(job, st, "out of memory");
    } else if (st) {
        cbx__import_note(job, what, "is not a row: %s", err.message);
    } else if (version > CBX_ROW_SCHEMA_VERSION) {
        cbx__import_fail(job, CBX_EVERSION,
                         "is a row of version %lld; this release reads up to %d: use a later release of calibrax",
                         (long long)version, CBX_ROW_SCHEMA_VERSION);
    } else {
        if (cbx__import_run_for(job, rows.rows[0].run_id)) {
            /* "20260220T113424.346877+0000__1a2b3c4" */
            const char *mark = strstr(rows.rows[0].run_id, "__");
            size_t n = mark ? (size_t)(mark - rows.rows[0].run_id) : strlen(rows.rows[0].run_id);
            const char *time = cbx__import_strndup(job, rows.rows[0].run_id, n);
            const char *revision = mark && strncmp(mark + 2, "nosha", 5) != 0 ? cbx__import_strndup(job, mark + 2, 7)
                                                                              : NULL;
            CBX_OWNED(cbx_json) *machine = rows.rows[0].machine ? cbx_json_new_string(rows.rows[0].machine) : NULL;
            CBX_OWNED(cbx_json) *id = cbx_json_new_string(rows.rows[0].run_id);

            cbx__import_run_iso(job, time);
            cbx__import_run_commit(job, revision, NULL);
            cbx__import_run_environment(job, "machine", machine);
            cbx__import_run_metadata(job, "nperf_run_id", id);
        }
        read_row(job, &rows.rows[0]);
    }
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *only = cbx__import_source_of(job)->json; /* a single row is a JSON document */
    const char *line;
    char what[40];

    if (only) read_line(job, only, "line 1");
    for (size_t i = 1; (line = cbx__import_line(job)) != NULL; i++) {
        CBX_OWNED(cbx_json) *value = NULL;
        cbx_err err = CBX_ERR_INIT;
        cbx_status st;
        if (!line[strspn(line, " \t")]) continue;
        snprintf(what, sizeof what, "line %zu", i);
        st = cbx_json_parse(line, strlen(line), what, &value, &err);
        if (st == CBX_ENOMEM)
            cbx__import_fail(job, st, "out of memory");
        else if (st)
            cbx__import_note(job, what, "is not a row: %s", err.message);
        else
            read_line(job, value, what);
    }
}

const cbx__importer cbx__importer_nperf = {
    .name = "nperf",
    .summary = "rows of nperf, JSON lines",
    .detect = detect,
    .read = read_file,
    .takes_text = true,
    .version = "schema_version",
    .version_max = CBX_ROW_SCHEMA_VERSION,
};
