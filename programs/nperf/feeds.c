/*
 * What is made of rows for others: nperf bundle, feed, coverage, growth.
 */
#include "suites/nitrix/feeds/feed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/perf/report/growth_lines.h"
#include "programs/nperf/nperf.h"
#include "suites/nitrix/feeds/coverage.h"

typedef struct feed_args {
    opt_list from;
    const char *case_name, *point, *machine, *primary, *reference, *apply, *out, *report, *op_matrix;
    double level;
    bool json;
} feed_args;

#define AT(member) offsetof(feed_args, member)
#define FROM                                                                                                           \
    OPT("from", 'f', WORDS, from, "PATH", "results/store", "read rows from these files, or folders such as a store")
#define CASE OPT("case", 'c', STRING, case_name, "NAME", "semiring_matmul", "case of the rows", "@cases")
#define MACHINE                                                                                                        \
    OPT("machine", 0, STRING, machine, "ID", "the machine of the newest row",                                          \
        "fingerprint of the machine, or a unique prefix")

/* --- shared --- */

static int read_from(const opt_run *run, bool all, cbx_row_extent extent, cbx_rows *rows)
{
    static const char *const store[] = { "results/store" };
    const feed_args *a = run->args;
    const opt_list from = a->from.count ? a->from : (opt_list){ store, 1 };
    SCOPED(cbx_row_index) *ix = NULL;
    int status = open_rows(run, "--from", &from, &ix);

    if (status || !all) return status ? status : latest_rows(run, ix, "--from", extent, rows);
    if (cbx_row_index_rows(ix, a->case_name, extent, rows, run->err))
        return opt_fail(run, "--from: %s", run->err->message);
    return EXIT_PASS;
}

/* To a file that was named, else to standard output. */
static int put_json(const opt_run *run, cbx_json *document, const char *path)
{
    if (!path) return print_json(run, cbx_json_ref(document));
    int status = write_json(run, path, document);
    if (!status) fprintf(stderr, "written: %s\n", path);
    return status;
}

/* Rows of other machines are left out, with a note. */
static void tell_machines(const opt_run *run, const cbx_rows *rows, const char *taken)
{
    const feed_args *a = run->args;

    CBX_SCOPED(cbx_names, others, &run->arena->al);
    for (size_t i = 0; i < rows->count; i++) {
        const char *machine = rows->rows[i].machine ? rows->rows[i].machine : "";
        if (!strcmp(rows->rows[i].case_name, a->case_name) && strcmp(machine, taken) != 0)
            cbx_names_add(&others, machine);
    }
    if (others.n)
        fprintf(stderr,
                "note: rows of machine %.12s are used, and those of %zu other%s (%.12s%s) are left out; --machine "
                "selects another\n",
                taken, others.n, others.n == 1 ? "" : "s", *others.list[0] ? others.list[0] : "unnamed",
                others.n == 1 ? "" : " ...");
}

/* --- bundle --- */

static const opt_spec bundle_options[] = {
    CASE,
    FROM,
    OPT("point", 'p', STRING, point, "JSON", "the representative point", "point of the case; its seed is ignored"),
    MACHINE,
    OPT("bundle-out", 'o', STRING, out, "FILE", "standard output", "write the bundle as JSON"),
    OPT("report", 0, STRING, report, "FILE", NULL, "write the bundle as markdown"),
    OPT_SWITCH("json", 0, json, "print the bundle even if it is written to a file"),
};

static int run_bundle(const opt_run *run)
{
    const feed_args *a = run->args;
    cbx_bundle_opts opts = CBX_BUNDLE_OPTS_INIT;
    SCOPED(cbx_json) *bundle = NULL;
    SCOPED_ROWS(rows, run);
    SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));

    opts.case_name = a->case_name;
    opts.point = a->point;
    opts.machine = a->machine;
    int status = read_from(run, true, CBX_ROWS_LEAN, &rows);
    if (!status) status = opt_check(run, cbx_bundle_make(run->ctx, &rows, &opts, &bundle, run->err));
    if (!status) tell_machines(run, &rows, cbx_json_get_string(bundle, "machine", ""));
    if (!status) status = put_json(run, bundle, a->out);
    if (!status && a->out && a->json) status = put_json(run, bundle, NULL);
    if (status || !a->report) return status;
    cbx_bundle_markdown(bundle, &text);
    return write_text(run, a->report, &text);
}

/* --- feed --- */

static const opt_spec feed_options[] = {
    CASE,
    FROM,
    OPT("primary", 0, STRING, primary, "NAME", "the reference of the rows' ratios",
        "baseline that represents the library"),
    OPT("reference", 'r', STRING, reference, "NAME", "naive-dense", "baseline that the library is compared with"),
    MACHINE,
    OPT("apply", 0, STRING, apply, "FILE", NULL,
        "write a copy of this op_matrix with the fields filled in; needs --out"),
    OPT("out", 'o', STRING, out, "FILE", "standard output",
        "write the fragment, or with --apply the copy, to this file"),
    OPT_SWITCH("json", 0, json, "print one JSON document: the fragment, and how it was applied"),
};

static int apply(const opt_run *run, const cbx_json *fragment, size_t *unknown_ops)
{
    const feed_args *a = run->args;
    SCOPED(cbx_json) *matrix = NULL, *copy = NULL;
    size_t unknown = 0;
    int status = EXIT_PASS;

    if (cbx_json_read(run->ctx, a->apply, &matrix, run->err) ||
        cbx_feed_apply(fragment, matrix, a->apply, &copy, &unknown, run->err))
        status = opt_fail(run, "--apply: %s", run->err->message);
    *unknown_ops = unknown;
    if (!status && unknown)
        fprintf(stderr, "note: '%s' does not list the operation; the copy is unchanged\n", a->apply);
    return status ? status : put_json(run, copy, a->out);
}

static int run_feed(const opt_run *run)
{
    const feed_args *a = run->args;
    size_t unknown = 0;
    cbx_feed_opts opts = CBX_FEED_OPTS_INIT;
    SCOPED(cbx_json) *fragment = NULL;
    SCOPED_ROWS(rows, run);

    if (a->apply && !a->out) return opt_fail(run, "'--apply' writes a copy: name it with --out");
    opts.case_name = a->case_name;
    opts.primary = a->primary;
    opts.reference = a->reference;
    opts.machine = a->machine;
    int status = read_from(run, true, CBX_ROWS_WHOLE, &rows);
    if (!status) status = opt_check(run, cbx_feed_make(run->ctx, &rows, &opts, &fragment, run->err));
    if (status) return status;
    const char *name, *device;
    cbx_json *fields, *words;
    for (size_t i = 0; cbx_json_member(fragment, i, &name, &fields); i++) {
        const cbx_json *meta = cbx_json_get(fields, "_meta"), *notes = cbx_json_get(meta, "notes");
        tell_machines(run, &rows, cbx_json_get_string(meta, "machine", ""));
        for (size_t k = 0; cbx_json_member(notes, k, &device, &words); k++)
            fprintf(stderr, "note: %s on %s: %s\n", name, device, cbx_json_string_value(words));
        if (!a->primary)
            fprintf(stderr, "note: the library's side is '%s', %s; --primary names another baseline\n",
                    cbx_json_get_string(meta, "primary", "?"), cbx_json_get_string(meta, "primary_rule", "?"));
    }
    if (a->apply)
        status = apply(run, fragment, &unknown);
    else if (a->out || !a->json)
        status = put_json(run, fragment, a->out);
    if (status || !a->json) return status;
    /* {"schema":"nperf-feed","version":1,"case","fragment":{...},"applied_to","unknown_ops","out"} */
    cbx_json *o = cbx_json_document("nperf-feed", J_TEXT("case", a->case_name),
                                    J_JSON("fragment", cbx_json_ref(fragment)), J_TEXT("applied_to", a->apply),
                                    a->apply ? J_INT("unknown_ops", unknown) : J_NULL("unknown_ops"),
                                    J_TEXT("out", a->out));
    return print_json(run, o);
}

/* --- coverage --- */

static const opt_spec coverage_options[] = {
    FROM,
    OPT("op-matrix", 0, STRING, op_matrix, "FILE", NULL, "catalogue of operations, to list those without rows"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};

static void print_coverage(const cbx_json *report)
{
    static const char *const columns[] = { "platforms", "reference", "precision", "scale" };
    const cbx_json *ops = cbx_json_get(report, "ops"), *unmeasured = cbx_json_get(report, "unmeasured");

    print_painted(PAINT_FAINT, "%-22s %-14s %-14s %-10s %-9s %6s  %s\n", "case", "platforms", "reference", "precision",
                  "scale", "points", "deficits");
    for (size_t i = 0; i < cbx_json_length(ops); i++) {
        const cbx_json *o = cbx_json_at(ops, i), *deficits = cbx_json_get(o, "deficits");
        print_plain(cbx_json_get_string(o, "case", "?"), 22);
        for (size_t k = 0; k < CBX_LEN(columns); k++) {
            putchar(' ');
            print_plain(cbx_json_get_string(o, columns[k], "?"), k < 2 ? 14 : k == 2 ? 10 : 9);
        }
        printf(" %6lld ", (long long)cbx_json_get_int(o, "points", 0));
        for (size_t k = 0; k < cbx_json_length(deficits); k++) {
            printf("%s", k ? ", " : " ");
            print_plain(cbx_json_string_value(cbx_json_at(deficits, k)), 0);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < cbx_json_length(unmeasured); i++) {
        printf("unmeasured: ");
        print_plain(cbx_json_string_value(cbx_json_at(unmeasured, i)), 0);
        putchar('\n');
    }
}

static int run_coverage(const opt_run *run)
{
    const feed_args *a = run->args;
    const cbx_case_list *list = nperf_cases();
    const char **cases = cbx_arena_calloc(run->arena, list->count, sizeof *cases);
    SCOPED(cbx_json) *catalogue = NULL, *report = NULL;
    SCOPED_ROWS(rows, run);

    for (size_t i = 0; i < list->count; i++) cases[i] = list->cases[i]->name;
    int status = read_from(run, false, CBX_ROWS_LEAN, &rows);
    if (!status && a->op_matrix && cbx_json_read(run->ctx, a->op_matrix, &catalogue, run->err))
        status = opt_fail(run, "--op-matrix: %s", run->err->message);
    if (!status)
        status = opt_check(run, cbx_coverage_make(run->ctx, &rows, cases, list->count, catalogue, &report, run->err));
    if (status || a->json) return status ? status : put_json(run, report, NULL);
    print_coverage(report);
    return EXIT_PASS;
}

/* --- growth --- */

static const opt_spec growth_options[] = {
    FROM,
    OPT("level", 0, NUMBER, level, "X", "0.95", "confidence level of the intervals"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
};

static int run_growth(const opt_run *run)
{
    const feed_args *a = run->args;
    cbx_growth_line *lines = NULL;
    size_t n = 0;
    SCOPED_ROWS(rows, run);

    int status = read_from(run, false, CBX_ROWS_LEAN, &rows);
    if (!status)
        status = opt_check(run, cbx_growth_of_rows(run->ctx, &rows, a->level, run->arena, &lines, &n, run->err));
    if (status || a->json) return status ? status : print_json(run, cbx_growth_json(lines, n));
    for (size_t i = 0; i < n; i++) {
        const cbx_growth_line *l = &lines[i];
        char name[120], value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE];
        snprintf(name, sizeof name, "%s %s%s%s, %s%s%s", l->row->case_name, l->row->baseline,
                 l->row->variant && strcmp(l->row->variant, "default") ? " " : "",
                 l->row->variant && strcmp(l->row->variant, "default") ? l->row->variant : "", l->variety,
                 l->grows ? ", by " : "", l->grows ? l->grows : "");
        print_plain(name, 52);
        printf(" %2zu size%s", l->nsizes, l->nsizes == 1 ? "" : "s");
        if (isfinite(l->exponent.value))
            printf(", exponent %.2f [%.2f, %.2f]", l->exponent.value, l->exponent.lower, l->exponent.upper);
        if (isfinite(l->declared_exponent)) printf(", declared %.2f", l->declared_exponent);
        printf("; %s", cbx_growth_trust_name(l->trust));
        if (l->trust == CBX_GROWTH_VALIDATED)
            printf(": %s [%s, %s] at 100 times the largest size", cbx_format_seconds(l->projected_s.value, value),
                   cbx_format_seconds(l->projected_s.lower, lower), cbx_format_seconds(l->projected_s.upper, upper));
        putchar('\n');
    }
    return EXIT_PASS;
}

/* --- the commands --- */

static const feed_args defaults = { .case_name = "semiring_matmul", .level = 0.95 };

#define COMMAND(name, synopsis, summary, description, options, run)                                                    \
    {                                                                                                                  \
        name, synopsis, summary, description, options, CBX_LEN(options), sizeof(feed_args), &defaults, 0, run          \
    }

const opt_command bundle_command = COMMAND("bundle", "[--case NAME] [--from PATH...] [OPTION]...",
                                           "collect all results of one point",
                                           "Writes the results of one point: each baseline on each platform, its ratio "
                                           "and fidelity, and the ratios over time. It makes no recommendation.",
                                           bundle_options, run_bundle);
const opt_command feed_command = COMMAND(
    "feed", "[--case NAME] [--from PATH...] [--apply FILE --out FILE]", "fill the performance fields of an op_matrix",
    "Writes the fragment of an op_matrix that follows from the rows of the representative point: the minimum time of "
    "the library over that of the reference (below 1: the library is faster). Rows of runs with --skip-slow are "
    "ignored.",
    feed_options, run_feed);
const opt_command coverage_command = COMMAND("coverage", "[--from PATH...] [--op-matrix FILE] [--json]",
                                             "show the coverage of each case, and where rivals are faster",
                                             "Shows for each case on which platforms it is measured, how strong its "
                                             "rivals are, in which precisions and sizes, and where a "
                                             "strong rival is faster.",
                                             coverage_options, run_coverage);
const opt_command growth_command = COMMAND(
    "growth", "[--from PATH...] [--json]", "fit how run time grows with the work of a point",
    "Fits a power law of the work, with its interval, to each baseline with four sizes or more, and predicts the time "
    "at a hundred times the largest size, if a fit to the smaller sizes predicts the largest one.",
    growth_options, run_growth);
