/*
 * criterion.rs: a folder target/criterion, which folder.c makes one JSON text of, messages of
 * cargo-criterion (JSON lines), and raw.csv.  Times are nanoseconds.
 *
 * The headline is criterion's typical value, the slope where it fitted one and the mean else, with
 * its interval; the samples are the times of one iteration.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "calibrax/storage/importers/importer.h"

static const char csv_head[] =
    "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count";

static int detect(const cbx__import_source *src)
{
    if (cbx_json_has(src->json, CBX__CRITERION_KEY)) return 95;
    if (!src->json && !src->line && !strncmp(src->text, csv_head, sizeof csv_head - 1)) return 95;
    return cbx_json_has(src->line, "reason") &&
                   (cbx_json_has(src->line, "group_name") || cbx_json_has(src->line, "report_directory"))
               ? 90
               : 0;
}

static void begin_point(cbx__import_job *job, const char *group, const char *function, const char *value)
{
    cbx__import_point_begin(job, function && *function ? function : group, function && *function ? group : "");
    if (value && *value) cbx__import_tag(job, "value", value);
}

/* What one iteration moves, by the names that folders (serde's) and the other two kinds have for
 * it. */
static const struct {
    const char *what;
    cbx__import_def def;
    double scale;
} rates[] = {
    { "bytes", CBX__DEF("bytes_per_second", "B/s", HIGHER, SECONDARY), 1 },
    { "bytesdecimal", CBX__DEF("bytes_per_second", "B/s", HIGHER, SECONDARY), 1 },
    { "bits", CBX__DEF("bytes_per_second", "B/s", HIGHER, SECONDARY), 0.125 },
    { "elements", CBX__DEF("elements_per_second", "1/s", HIGHER, SECONDARY), 1 },
};

static void add_rate(cbx__import_job *job, double amount, const char *what, double seconds)
{
    for (size_t i = 0; i < CBX_LEN(rates) && what && amount > 0; i++) {
        if (!strcasecmp(what, rates[i].what))
            cbx__import_metric(job, &rates[i].def, cbx_metric_of(amount * rates[i].scale / seconds));
    }
}

/* --- folder --- */

static cbx_metric read_typical(cbx__import_job *job, const cbx_json *estimates)
{
    const cbx_json *typical = cbx_json_get(estimates, "slope"), *interval;
    cbx_metric m;

    if (!typical) typical = cbx__import_object(job, estimates, "mean");
    m = cbx_metric_of(cbx__import_number(job, typical, "point_estimate") * 1e-9);
    interval = cbx_json_get(typical, "confidence_interval");
    m.lower = cbx__import_maybe_number(job, interval, "lower_bound") * 1e-9;
    m.upper = cbx__import_maybe_number(job, interval, "upper_bound") * 1e-9;
    return m;
}

static void read_sample(cbx__import_job *job, const cbx_json *sample, cbx__samples *s)
{
    cbx__samples iters = { 0 };

    if (!sample) return;
    cbx__import_samples(job, cbx__import_array(job, sample, "iters"), "iters", 1, &iters);
    cbx__import_samples(job, cbx__import_array(job, sample, "times"), "times", 1e-9, s);
    if (iters.n != s->n && !cbx__import_failed(job))
        cbx__import_fail(job, CBX_EFORMAT, "%zu iteration counts for %zu times", iters.n, s->n);
    for (size_t i = 0; i < s->n && i < iters.n; i++) s->items[i] /= iters.items[i];
}

/* --- messages --- */

static void read_message(cbx__import_job *job, const cbx_json *msg)
{
    const char *id = cbx__import_string(job, msg, "id"), *unit = cbx__import_string(job, msg, "unit");
    const cbx_json *typical = cbx__import_object(job, msg, "typical"),
                   *counts = cbx__import_array(job, msg, "iteration_count");
    double scale = cbx__import_seconds(unit);
    cbx__import_def def = CBX__DEF("value", unit, INFO, PRIMARY);
    cbx__samples s = { 0 };
    cbx_metric m;

    if (cbx__import_failed(job)) return;
    def = isnan(scale) ? def : cbx__import_time;
    scale = isnan(scale) ? 1 : scale;
    cbx__import_samples(job, cbx__import_array(job, msg, "measured_values"), "measured_values", scale, &s);
    if (s.n != cbx_json_length(counts)) {
        cbx__import_fail(job, CBX_EFORMAT, "%zu iteration counts for %zu values", cbx_json_length(counts), s.n);
        return;
    }
    for (size_t i = 0; i < s.n; i++) s.items[i] /= cbx_json_double_value(cbx_json_at(counts, i));
    m = cbx_metric_of(cbx__import_number(job, typical, "estimate") * scale);
    m.lower = cbx__import_maybe_number(job, typical, "lower_bound") * scale;
    m.upper = cbx__import_maybe_number(job, typical, "upper_bound") * scale;
    begin_point(job, id, NULL, NULL);
    cbx__import_metric_with(job, &def, m, &s);
    for (size_t i = 0; i < cbx_json_length(cbx_json_get(msg, "throughput")); i++) {
        const cbx_json *t = cbx_json_at(cbx_json_get(msg, "throughput"), i);
        const char *what = cbx_json_get_string(t, "unit", "");
        add_rate(job, cbx__import_number(job, t, "per_iteration"), what, m.value);
    }
    cbx__import_point_end(job);
}

static void read_messages(cbx__import_job *job)
{
    const cbx_json *only = cbx__import_source_of(job)->json; /* a single message is a JSON document */
    const char *line;

    if (only && !strcmp(cbx_json_get_string(only, "reason", ""), "benchmark-complete")) read_message(job, only);
    while ((line = cbx__import_line(job)) != NULL) {
        CBX_OWNED(cbx_json) *msg = NULL;
        cbx_err err = CBX_ERR_INIT;
        cbx_status st;
        if (!line[strspn(line, " \t")]) continue;
        st = cbx_json_parse(line, strlen(line), "line", &msg, &err);
        if (st)
            cbx__import_fail(job, st, "%s", err.message);
        else if (!strcmp(cbx_json_get_string(msg, "reason", ""), "benchmark-complete"))
            read_message(job, msg);
    }
}

/* --- raw.csv --- */

enum { GROUP, FUNCTION, VALUE, AMOUNT, KIND, MEASURED, UNIT, COUNT, NCELLS };

static double number_cell(cbx__import_job *job, const char *const *cells, int i, const char *name)
{
    char *end;
    double v = strtod(cells[i], &end);

    if (end == cells[i] || *end)
        cbx__import_fail(job, CBX_EFORMAT, "'%s' is '%.40s': expected a number", name, cells[i]);
    return v;
}

static void end_series(cbx__import_job *job, const char *const *cells, const cbx__samples *s)
{
    if (!s->n) return;
    begin_point(job, cells[GROUP], cells[FUNCTION], cells[VALUE]);
    cbx__import_metric_samples(job, &cbx__import_time, s);
    if (*cells[AMOUNT])
        add_rate(job, number_cell(job, cells, AMOUNT, "throughput_num"), cells[KIND], cbx__import_median(job, s));
    cbx__import_point_end(job);
}

static void read_file(cbx__import_job *job)
{
    const cbx__import_source *src = cbx__import_source_of(job);

    if (cbx_json_has(src->json, CBX__CRITERION_KEY)) {
        const cbx_json *list = cbx_json_get(cbx__import_source_of(job)->json, CBX__CRITERION_KEY), *item;

        for (size_t i = 0; cbx__import_element(job, list, NULL, i, &item); i++) {
            const cbx_json *bench = cbx_json_get(item, "benchmark");
            const char *group, *key;
            cbx_json *amount, *inner;
            cbx__samples s = { 0 };
            cbx_metric m;
            cbx__import_at(job, "%.120s", cbx_json_get_string(item, "folder", ""));
            group = cbx__import_string(job, bench, "group_id");
            begin_point(job, group, cbx__import_maybe_string(job, bench, "function_id"),
                        cbx__import_maybe_string(job, bench, "value_str"));
            m = read_typical(job, cbx__import_object(job, item, "estimates"));
            read_sample(job, cbx_json_get(item, "sample"), &s);
            cbx__import_metric_with(job, &cbx__import_time, m, &s);
            /* {"Bytes": n}, or {"ElementsAndBytes": {"elements": n, "bytes": n}} */
            amount = cbx_json_get(bench, "throughput");
            if (cbx_json_member(amount, 0, &key, &inner) && cbx_json_typeof(inner) == CBX_JSON_OBJECT) amount = inner;
            for (size_t k = 0; cbx_json_member(amount, k, &key, &inner); k++)
                add_rate(job, cbx_json_double_value(inner), key, m.value);
            cbx__import_point_end(job);
        }
    } else if (src->line)
        read_messages(job);
    else {
        const char *cells[NCELLS], *first[NCELLS] = { 0 };
        cbx__samples s = { 0 };
        char *line;

        cbx__import_line(job); /* the head */
        while ((line = cbx__import_line(job)) != NULL) {
            double scale;
            if (!*line) continue;
            if (cbx__import_cells(line, cells, NCELLS) != NCELLS) {
                cbx__import_fail(job, CBX_EFORMAT, "expected %d cells", NCELLS);
                break;
            }
            scale = cbx__import_seconds(cells[UNIT]);
            if (isnan(scale))
                cbx__import_fail(job, CBX_EFORMAT, "'unit' is '%.40s': expected a unit of time", cells[UNIT]);
            if (s.n && (strcmp(first[GROUP], cells[GROUP]) || strcmp(first[FUNCTION], cells[FUNCTION]) ||
                        strcmp(first[VALUE], cells[VALUE]))) {
                end_series(job, first, &s);
                s = (cbx__samples){ 0 };
            }
            if (!s.n) memcpy(first, cells, sizeof first);
            cbx__import_sample(job, &s,
                               number_cell(job, cells, MEASURED, "sample_measured_value") * scale /
                                   number_cell(job, cells, COUNT, "iteration_count"));
        }
        end_series(job, first, &s);
    }
}

const cbx__importer cbx__importer_criterion = {
    .name = "criterion",
    .summary = "criterion.rs: folder, cargo-criterion messages, raw.csv",
    .detect = detect,
    .read = read_file,
    .takes_text = true,
};
