/*
 * calibrax export: runs in a form that others read.
 */
#include <string.h>

#include "calibrax/exporters/exporter.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/inputs.h"
#include "programs/common/output.h"

typedef struct export_args {
    select_args select;
    const char *format, *out, *by, *repo, *against;
    inputs_args inputs;
    opt_list metrics, plots;
    bool replace, dark, list, allow_machines;
} export_args;

static const opt_spec export_options[] = {
    { "format", 'f', OPT_STRING, offsetof(export_args, format), "NAME", NULL, "the form; --list shows them" },
    SELECT_STORE_ROWS(export_args),
    INPUTS_ROWS(export_args),
    { "against", 0, OPT_STRING, offsetof(export_args, against), "ID", NULL,
      "how the run differs from this one: a run of the store as with --run, or with --input a file" },
    { "allow-other-machine", 0, OPT_FLAG, offsetof(export_args, allow_machines), NULL, NULL,
      "with --against: compare across machines, and say so" },
    { "out", 'o', OPT_STRING, offsetof(export_args, out), "DIR", "the current folder",
      "where files go; made if missing" },
    { "metrics", 'm', OPT_LIST, offsetof(export_args, metrics), "NAME,...", "all", "these metrics, in this order" },
    { "by", 0, OPT_STRING, offsetof(export_args, by), "TAG", "framework", "the tag whose values are compared" },
    { "plot", 0, OPT_LIST, offsetof(export_args, plots), "KIND,...", "auto",
      "svg, pdf, png: kinds of plots; --list shows them" },
    { "replace", 0, OPT_FLAG, offsetof(export_args, replace), NULL, NULL, "write over files that hold something else" },
    { "dark", 0, OPT_FLAG, offsetof(export_args, dark), NULL, NULL, "plots on dark paper" },
    { "repo", 0, OPT_STRING, offsetof(export_args, repo), "PATH", ".", "asv: the repository that asv.conf.json names" },
    { "list", 0, OPT_FLAG, offsetof(export_args, list), NULL, NULL, "print the forms, and nothing else" },
    SELECT_JSON_ROW(export_args),
};

static cbx_json *named(const char *name, const char *summary)
{
    cbx_json *o = cbx_json_new_object();

    cbx_json_set_string(o, "name", name);
    cbx_json_set_string(o, "summary", summary);
    return o;
}

static int list_as_json(const opt_run *run, const cbx_exporter *const *all, size_t n)
{
    cbx_json *o = new_document("calibrax-forms"), *forms = cbx_json_new_array(), *plots = cbx_json_new_array();

    for (size_t i = 0; i < n; i++) cbx_json_push(forms, named(all[i]->name, all[i]->summary));
    for (size_t i = 0; i < cbx_export_nplots(); i++)
        cbx_json_push(plots, named(cbx_export_plot_name(i), cbx_export_plot_summary(i)));
    cbx_json_set(o, "forms", forms);
    cbx_json_set(o, "plots", plots);
    return print_json(run->program, o);
}

static void print_form(const char *name, const char *summary)
{
    print_painted(PAINT_STRONG, "%-12s", name);
    printf(" %s\n", summary);
}

static int list_formats(const opt_run *run)
{
    const export_args *a = run->args;
    size_t n;
    const cbx_exporter *const *all = cbx_exporters(&n);

    if (a->select.json) return list_as_json(run, all, n);

    for (size_t i = 0; i < n; i++) print_form(all[i]->name, all[i]->summary);
    puts("\nPlots (--plot):");
    for (size_t i = 0; i < cbx_export_nplots(); i++) print_form(cbx_export_plot_name(i), cbx_export_plot_summary(i));
    return EXIT_PASS;
}

static int find_format(const opt_run *run, const char *name, const cbx_exporter **out)
{
    const char *names[32], *near;
    size_t n;
    const cbx_exporter *const *all = cbx_exporters(&n);

    if (!name) return opt_fail(run->program, "export needs --format NAME: see 'calibrax export --list'");
    *out = cbx_exporter_find(name);
    if (*out) return EXIT_PASS;
    for (size_t i = 0; i < n && i < CBX_LEN(names); i++) names[i] = all[i]->name;
    near = cbx_nearest_word(name, names, n < CBX_LEN(names) ? n : CBX_LEN(names));
    if (near) return opt_fail(run->program, "no form '%s': did you mean '%s'?", name, near);
    return opt_fail(run->program, "no form '%s': see 'calibrax export --list'", name);
}

static int tell(const opt_run *run, const cbx_exporter *format, const cbx_export_report *r)
{
    const export_args *a = run->args;
    cbx_json *o, *files;

    for (size_t i = 0; !a->select.json && i < r->nfiles; i++) puts(r->files[i]);
    if (!a->select.json) return EXIT_PASS;
    o = new_document("calibrax-export");
    files = cbx_json_new_array();
    cbx_json_set_string(o, "format", format->name);
    for (size_t i = 0; i < r->nfiles; i++) cbx_json_push(files, cbx_json_new_string(r->files[i]));
    cbx_json_set(o, "files", files);
    return print_json(run->program, o);
}

static int write_runs(const opt_run *run, const cbx_exporter *format, const inputs_list *l, const cbx_run *baseline)
{
    const export_args *a = run->args;
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_export_report report;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    int status;

    o.folder = a->out;
    o.replace = a->replace;
    o.metrics = a->metrics.items;
    o.nmetrics = a->metrics.count;
    o.group_by = a->by;
    o.dark = a->dark;
    o.plots = a->plots.items;
    o.nplots = a->plots.count;
    o.repo = a->repo;
    o.allow_machines = a->allow_machines;
    if (baseline && l->n != 1) return opt_fail(run->program, "--against compares one run: name it alone");
    if (a->allow_machines && !baseline) return opt_fail(run->program, "--allow-other-machine: needs --against");
    if (baseline)
        st = cbx_export_analysis(run->ctx, format, l->items[0], baseline, &o, &report, &err);
    else
        st = cbx_export_runs(run->ctx, format, (const cbx_run *const *)l->items, l->n, &o, &report, &err);
    if (st == CBX_EPERM && baseline && !a->allow_machines)
        return opt_fail(run->program, "%s: --allow-other-machine compares them all the same", err.message);
    if (st) return opt_fail(run->program, "%s", err.message);
    status = tell(run, format, &report);
    cbx_export_report_clear(&report);
    return status;
}

/* Options of other forms, which would do nothing here. */
static int check_form(const opt_run *run, const cbx_exporter *format)
{
    static const char *const drawn[] = { "svg", "pdf", "png" };
    const export_args *a = run->args;
    bool plots = false;

    for (size_t i = 0; i < CBX_LEN(drawn); i++) plots |= !strcmp(format->name, drawn[i]);
    if ((a->plots.count || a->dark) && !plots)
        return opt_fail(run->program, "--plot and --dark: need --format svg, pdf or png");
    if (a->repo && strcmp(format->name, "asv") != 0) return opt_fail(run->program, "--repo: needs --format asv");
    return EXIT_PASS;
}

static int run_export(const opt_run *run)
{
    const export_args *a = run->args;
    const cbx_exporter *format;
    inputs_list runs = { NULL, 0 };
    cbx_run *baseline = NULL;
    int status;

    if (a->list) return list_formats(run);
    status = find_format(run, a->format, &format);
    if (!status) status = check_form(run, format);
    if (!status) status = inputs_load(run, &a->select, &a->inputs, a->against, &runs, &baseline);
    if (!status) status = write_runs(run, format, &runs, baseline);
    inputs_clear(&runs);
    cbx_run_free(baseline);
    return status;
}

const opt_command export_command = {
    "export",
    "--format NAME (--data DIR [--run ID,...] | --input FILE) [--out DIR]",
    "runs as tables, plots, or a site",
    "Writes runs in a form that others read: LaTeX, HTML, CSV or Markdown tables with the best value of each group in "
    "bold, "
    "plots as SVG, PDF or PNG, or the folder that 'asv publish' makes a site of. Files carry the id of their run in "
    "their "
    "name, and a file that holds something else is never written over unless --replace says so. Prints the paths of "
    "the files.",
    export_options,
    CBX_LEN(export_options),
    sizeof(export_args),
    NULL,
    0,
    run_export,
};
