/*
 * calibrax export: runs in a form that others read.
 */
#include <stdio.h>
#include <string.h>

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

static const opt_spec export_options[] = {
    { "format", 'f', OPT_STRING, offsetof(export_args, format), "NAME", NULL, "output format; --list lists them",
      "@exporters" },
    SELECT_STORE_ROWS(export_args),
    INPUTS_ROWS(export_args),
    { "against", 0, OPT_STRING, offsetof(export_args, against), "ID", NULL,
      "write the comparison with this run: a run of the store as for --run, or with --input a file" },
    { "allow-other-machine", 0, OPT_FLAG, offsetof(export_args, allow_machines), NULL, NULL,
      "with --against: compare runs of different machines, with a note" },
    { "out", 'o', OPT_STRING, offsetof(export_args, out), "DIR", "the current folder",
      "output folder, created if missing" },
    { "to", 0, OPT_STRING, offsetof(export_args, to), "URL", NULL,
      "with mlflow: address of the server (default: MLFLOW_TRACKING_URI); with other formats as --out" },
    { "metrics", 'm', OPT_LIST, offsetof(export_args, metrics), "NAME,...", "all", "write these metrics, in this order",
      "@metrics" },
    { "metric", 0, OPT_LIST, offsetof(export_args, metrics), "NAME", NULL, NULL },
    { "by", 0, OPT_STRING, offsetof(export_args, by), "TAG", "framework", "the tag whose values are compared" },
    { "plot", 0, OPT_LIST, offsetof(export_args, plots), "KIND,...", "auto",
      "with svg, pdf or png: kinds of plots; --list lists them" },
    { "replace", 0, OPT_FLAG, offsetof(export_args, replace), NULL, NULL, "overwrite files with other content" },
    { "dark", 0, OPT_FLAG, offsetof(export_args, dark), NULL, NULL, "draw plots on a dark background" },
    { "repo", 0, OPT_STRING, offsetof(export_args, repo), "PATH", ".",
      "with asv: the repository that asv.conf.json names" },
    { "limit", 0, OPT_POSITIVE, offsetof(export_args, limit), "N", "1000",
      "with site: write at most N pages; with mlflow: at most N nested runs of a run" },
    { "experiment", 0, OPT_STRING, offsetof(export_args, experiment), "NAME", "calibrax",
      "with mlflow: the experiment, created if missing (default: MLFLOW_EXPERIMENT_NAME); with wandb: the project "
      "(default: WANDB_PROJECT)" },
    { "timeout", 0, OPT_ABOVE, offsetof(export_args, timeout_s), "SECONDS", "30",
      "with mlflow: time limit of a request" },
    { "list", 0, OPT_FLAG, offsetof(export_args, list), NULL, NULL, "list the formats, and stop" },
    SELECT_JSON_ROW(export_args),
};

static void add_format(cbx_json *list, bool json, const char *name, const char *summary)
{
    if (json) {
        json_put(cbx_json_push_object(list), J_TEXT("name", name), J_TEXT("summary", summary));
        return;
    }
    print_painted(PAINT_STRONG, "%-23s", name);
    printf(" %s\n", summary);
}

static int list_formats(const opt_run *run)
{
    const bool json = ((const export_args *)run->args)->select.json;
    cbx_json *o = new_document("calibrax-forms"), *formats = cbx_json_set_array(o, "forms");
    cbx_json *plots = cbx_json_set_array(o, "plots");
    size_t n;
    const cbx_exporter *const *all = cbx_exporters(&n);

    for (size_t i = 0; i < n; i++) add_format(formats, json, all[i]->name, all[i]->summary);
    if (!json) puts("\nPlots (--plot):");
    for (size_t i = 0; i < cbx_export_nplots(); i++)
        add_format(plots, json, cbx_export_plot_name(i), cbx_export_plot_summary(i));
    if (json) return print_json(run->program, o);
    cbx_json_unref(o);
    return EXIT_PASS;
}

static int find_format(const opt_run *run, const char *name, const cbx_exporter **out)
{
    const char *names[32], *near;
    size_t n;
    const cbx_exporter *const *all = cbx_exporters(&n);

    *out = cbx_exporter_find(name);
    if (*out) return EXIT_PASS;
    for (size_t i = 0; i < n && i < CBX_LEN(names); i++) names[i] = all[i]->name;
    near = cbx_nearest_word(name, names, n < CBX_LEN(names) ? n : CBX_LEN(names));
    if (near) return opt_fail(run->program, "unknown format '%s'; did you mean '%s'?", name, near);
    return opt_fail(run->program, "unknown format '%s'; 'calibrax export --list' lists the formats", name);
}

/* Prints the files that were written. */
static int print_files(const opt_run *run, const cbx_exporter *format, cbx_export_report *r)
{
    const export_args *a = run->args;
    cbx_json *head, *notes;
    json_stream out;
    int status = EXIT_PASS;

    for (size_t i = 0; i < r->nnotes; i++) opt_fail(run->program, "note: %s", r->notes[i]);
    for (size_t i = 0; !a->select.json && i < r->nfiles; i++) puts(r->files[i]);
    if (a->select.json) {
        head = new_document("calibrax-export");
        cbx_json_set_string(head, "format", format->name);
        notes = cbx_json_set_array(head, "notes");
        for (size_t i = 0; i < r->nnotes; i++) cbx_json_push_string(notes, r->notes[i]);
        json_stream_begin(&out, head, "files");
        for (size_t i = 0; i < r->nfiles; i++) json_stream_add(&out, cbx_json_new_string(r->files[i]));
        status = json_stream_end(&out, run->program, NULL);
    }
    cbx_export_report_clear(r);
    return status;
}

/* A run against another. */
static int write_analysis(const opt_run *run, const cbx_exporter *format, const cbx_export_opts *opts)
{
    const export_args *a = run->args;
    inputs_list l = { NULL, 0 };
    cbx_run *baseline = NULL;
    cbx_export_report report;
    cbx_status st;
    int status = inputs_load(run, &a->select, &a->inputs, a->against, &l, &baseline);

    if (!status && l.n != 1) status = opt_fail(run->program, "'--against' compares with one run: name only one");
    if (!status) {
        st = cbx_export_analysis(run->ctx, format, l.items[0], baseline, opts, &report, run->err);
        if (st == CBX_EPERM && !a->allow_machines && cbx_run_same_machine(l.items[0], baseline) != CBX_MACHINE_SAME)
            status = opt_fail(run->program, "%s; --allow-other-machine compares them anyway", run->err->message);
        else
            status = st ? opt_check(run, st) : print_files(run, format, &report);
    }
    inputs_clear(&l);
    cbx_run_free(baseline);
    return status;
}

static cbx_status load_run(void *user, size_t i, cbx_run **out, cbx_err *err) { return inputs_get(user, i, out, err); }

static int write_each(const opt_run *run, const cbx_exporter *format, const cbx_export_opts *opts)
{
    const export_args *a = run->args;
    inputs_names names;
    cbx_export_report report;
    int status = inputs_name(run, &a->select, &a->inputs, &names);
    const cbx_export_source runs = { names.n, load_run, &names };

    if (!status) inputs_warn(&names);
    if (!status) status = opt_check(run, cbx_export_each(run->ctx, format, &runs, opts, &report, run->err));
    if (!status) status = print_files(run, format, &report);
    inputs_names_clear(&names);
    return status;
}

/* All of a store. */
static int write_store(const opt_run *run, const cbx_exporter *format, const cbx_export_opts *opts)
{
    const export_args *a = run->args;
    cbx_export_report report;
    cbx_store *store = NULL;
    int status;

    if (a->inputs.runs.count || a->inputs.files.count || a->inputs.all || a->against || a->metrics.count || a->by)
        return opt_fail(run->program, "'--format %s' writes the whole store: leave out what chooses runs or metrics",
                        format->name);
    status = select_open(run, &a->select, false, &store);
    if (!status) status = opt_check(run, cbx_export_store(run->ctx, format, store, opts, &report, run->err));
    if (!status) select_warn(run, store);
    if (!status) status = print_files(run, format, &report);
    cbx_store_close(store);
    return status;
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
    const cbx_exporter *format;

    if (a->list) return list_formats(run);
    if (find_format(run, a->format, &format)) return EXIT_ERROR;
    if (format->export_store) return write_store(run, format, &opts);
    return a->against ? write_analysis(run, format, &opts) : write_each(run, format, &opts);
}

static const opt_rule export_rules[] = {
    { "", OPT_NEEDS, "format list" },
    INPUTS_RULES,
    { "allow-other-machine", OPT_NEEDS, "against" },
    { "to", OPT_EXCLUDES, "out" },
    { "out", OPT_EXCLUDES, "format=mlflow" },
    { "plot", OPT_NEEDS, "format=svg format=pdf format=png" },
    { "dark", OPT_NEEDS, "format=svg format=pdf format=png" },
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
    OPT_OPTIONS(export),
    .run = run_export,
    OPT_RULES(export),
};
