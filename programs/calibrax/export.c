/*
 * calibrax export: runs in a form that others read.
 */
#include <stdio.h>

#include "calibrax/exporters/exporter.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/inputs.h"
#include "programs/common/output.h"

typedef struct export_args {
    select_args select;
    const char *format, *out, *to, *by, *repo, *against, *experiment;
    double timeout_s;
    inputs_args inputs;
    opt_list metrics, plots;
    size_t limit;
    bool replace, dark, list, allow_machines;
} export_args;

#define AT(member) offsetof(export_args, member)

static const opt_spec export_options[] = {
    OPT("format", 'f', STRING, format, "NAME", NULL, "output format; --list lists them", "@exporters"),
    SELECT_STORE_ROWS,
    INPUTS_ROWS,
    OPT("against", 0, STRING, against, "ID", NULL,
        "write the comparison with this run: a run of the store as for --run, or with --input a file"),
    OPT_SWITCH("allow-other-machine", 0, allow_machines,
               "with --against: compare runs of different machines, with a note"),
    OPT("out", 'o', STRING, out, "DIR", "the current folder", "output folder, created if missing"),
    OPT("to", 0, STRING, to, "URL", NULL,
        "with mlflow: address of the server (default: MLFLOW_TRACKING_URI); with other formats as --out"),
    OPT("metrics", 'm', LIST, metrics, "NAME,...", "all", "write these metrics, in this order", "@metrics"),
    OPT("metric", 0, LIST, metrics, "NAME", NULL, NULL),
    OPT("by", 0, STRING, by, "TAG", "framework", "the tag whose values are compared"),
    OPT("plot", 0, LIST, plots, "KIND,...", "auto", "with svg, pdf or png: kinds of plots; --list lists them"),
    OPT_SWITCH("replace", 0, replace, "overwrite files with other content"),
    OPT_SWITCH("dark", 0, dark, "draw plots on a dark background"),
    OPT("repo", 0, STRING, repo, "PATH", ".", "with asv: the repository that asv.conf.json names"),
    OPT("limit", 0, POSITIVE, limit, "N", "1000",
        "with site: write at most N pages; with mlflow: at most N nested runs of a run"),
    OPT("experiment", 0, STRING, experiment, "NAME", "calibrax",
        "with mlflow: the experiment, created if missing (default: MLFLOW_EXPERIMENT_NAME); with wandb: the project "
        "(default: WANDB_PROJECT)"),
    OPT("timeout", 0, ABOVE, timeout_s, "SECONDS", "30", "with mlflow: time limit of a request"),
    OPT_SWITCH("list", 0, list, "list the formats, and stop"),
    SELECT_JSON_ROW,
};

static int list_formats(const opt_run *run)
{
    const bool json = ((const export_args *)run->args)->select.json;
    SCOPED(cbx_json) *o = cbx_json_new_document("calibrax-forms");
    cbx_json *formats = cbx_json_set_array(o, "forms"), *plots = cbx_json_set_array(o, "plots");
    size_t n;
    const cbx_exporter *const *all = cbx_exporters(&n);

    for (size_t i = 0; i < n; i++) list_format(formats, json, 23, all[i]->name, all[i]->summary);
    if (!json) puts("\nPlots (--plot):");
    for (size_t i = 0; i < cbx_export_nplots(); i++)
        list_format(plots, json, 23, cbx_export_plot_name(i), cbx_export_plot_summary(i));
    return json ? print_json(run, cbx_json_ref(o)) : EXIT_PASS;
}

/* Prints the files that were written. */
static int print_files(const opt_run *run, const cbx_exporter *format, cbx_export_report *r)
{
    const export_args *a = run->args;
    json_stream out;
    int status = EXIT_PASS;

    for (size_t i = 0; i < r->nnotes; i++) opt_fail(run, "note: %s", r->notes[i]);
    for (size_t i = 0; !a->select.json && i < r->nfiles; i++) puts(r->files[i]);
    if (a->select.json) {
        json_stream_begin(
            &out,
            cbx_json_document("calibrax-export", J_TEXT("format", format->name), J_TEXTS("notes", r->notes, r->nnotes)),
            "files");
        for (size_t i = 0; i < r->nfiles; i++) json_stream_add(&out, cbx_json_new_string(r->files[i]));
        status = json_stream_end(&out, run, NULL);
    }
    cbx_export_report_clear(r);
    return status;
}

/* A run against another. */
static int write_analysis(const opt_run *run, const cbx_exporter *format, const cbx_export_opts *opts)
{
    const export_args *a = run->args;
    CLEARED(inputs_list) l = { NULL, 0 };
    SCOPED(cbx_run) *baseline = NULL;
    cbx_export_report report;
    int status = inputs_load(run, &a->select, &a->inputs, a->against, &l, &baseline);

    if (!status && l.n != 1) status = opt_fail(run, "'--against' compares with one run: name only one");
    if (status) return status;
    cbx_status st = cbx_export_analysis(run->ctx, format, l.items[0], baseline, opts, &report, run->err);
    if (st == CBX_EPERM && !a->allow_machines && cbx_run_same_machine(l.items[0], baseline) != CBX_MACHINE_SAME)
        return opt_fail(run, "%s; --allow-other-machine compares them anyway", run->err->message);
    return st ? opt_check(run, st) : print_files(run, format, &report);
}

static cbx_status load_run(void *user, size_t i, cbx_run **out, cbx_err *err) { return inputs_get(user, i, out, err); }

static int write_each(const opt_run *run, const cbx_exporter *format, const cbx_export_opts *opts)
{
    const export_args *a = run->args;
    CLEARED(inputs_names) names = { 0 };
    cbx_export_report report;
    int status = inputs_name(run, &a->select, &a->inputs, &names);
    const cbx_export_source runs = { names.n, load_run, &names };

    if (!status) inputs_warn(&names);
    if (!status) status = opt_check(run, cbx_export_each(run->ctx, format, &runs, opts, &report, run->err));
    return status ? status : print_files(run, format, &report);
}

/* All of a store. */
static int write_store(const opt_run *run, const cbx_exporter *format, const cbx_export_opts *opts)
{
    const export_args *a = run->args;
    cbx_export_report report;
    SCOPED(cbx_store) *store = NULL;

    if (a->inputs.runs.count || a->inputs.files.count || a->inputs.all || a->against || a->metrics.count || a->by)
        return opt_fail(run, "'--format %s' writes the whole store: leave out what chooses runs or metrics",
                        format->name);
    int status = select_open(run, &a->select, false, &store);
    if (!status) status = opt_check(run, cbx_export_store(run->ctx, format, store, opts, &report, run->err));
    if (!status) select_warn(run, store);
    return status ? status : print_files(run, format, &report);
}

static int run_export(const opt_run *run)
{
    const export_args *a = run->args;
    const cbx_export_opts opts = { .struct_size = sizeof opts,
                                   .folder = a->out ? a->out : a->to,
                                   .replace = a->replace,
                                   .metrics = a->metrics.items,
                                   .nmetrics = a->metrics.count,
                                   .group_by = a->by,
                                   .dark = a->dark,
                                   .plots = a->plots.items,
                                   .nplots = a->plots.count,
                                   .repo = a->repo,
                                   .allow_machines = a->allow_machines,
                                   .limit = a->limit,
                                   .to = a->to ? a->to : a->out,
                                   .experiment = a->experiment,
                                   .timeout_s = a->timeout_s };
    const char *names[32], *near;
    size_t n;
    const cbx_exporter *const *all = cbx_exporters(&n), *format;

    if (a->list) return list_formats(run);
    format = cbx_exporter_find(a->format);
    if (!format) {
        for (size_t i = 0; i < n && i < CBX_LEN(names); i++) names[i] = all[i]->name;
        near = cbx_nearest_word(a->format, names, n < CBX_LEN(names) ? n : CBX_LEN(names));
        return near ? opt_fail(run, "unknown format '%s'; did you mean '%s'?", a->format, near)
                    : opt_fail(run, "unknown format '%s'; 'calibrax export --list' lists the formats", a->format);
    }
    if (format->export_store) return write_store(run, format, &opts);
    return a->against ? write_analysis(run, format, &opts) : write_each(run, format, &opts);
}

static const opt_rule export_rules[] = {
    { "", OPT_NEEDS, "format list" },
    INPUTS_RULES,
    { "allow-other-machine", OPT_NEEDS, "against" },
    { "to", OPT_EXCLUDES, "out" },
    { "out", OPT_EXCLUDES, "format=mlflow" },
    { "plot,dark", OPT_NEEDS, "format=svg format=pdf format=png" },
    { "repo", OPT_NEEDS, "format=asv" },
    { "limit", OPT_NEEDS, "format=site format=mlflow" },
    { "experiment", OPT_NEEDS, "format=mlflow format=wandb" },
    { "timeout", OPT_NEEDS, "format=mlflow" },
};

const opt_command export_command = {
    .name = "export",
    .synopsis = "--format NAME [--run ID,... | --input FILE] [--out DIR | --to URL]",
    .summary = "write runs as tables, plots, or files of other tools",
    .description =
        "Writes runs in formats of other tools: LaTeX, HTML, CSV or Markdown tables with the best value of "
        "each group in bold, plots as SVG, PDF or PNG, a folder from which 'asv publish' builds a site, files "
        "of other benchmark tools, metrics for Prometheus and OpenTelemetry, runs on an MLflow server, offline "
        "runs of Weights & Biases (wandb), or the pages of a whole store (site); --list lists them. "
        "File names contain the id of their run, and a file with different content is overwritten only with "
        "--replace. Prints the paths of the files, or the addresses on the server.",
    OPT_OPTIONS_RULES(export),
};
