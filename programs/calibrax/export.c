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
    const char *format, *out, *by, *repo, *against;
    inputs_args inputs;
    opt_list metrics, plots;
    bool replace, dark, list, allow_machines;
} export_args;

static const opt_spec export_options[] = {
    { "format", 'f', OPT_STRING, offsetof(export_args, format), "NAME", NULL, "the format; --list shows them" },
    SELECT_STORE_ROWS(export_args),
    INPUTS_ROWS(export_args),
    { "against", 0, OPT_STRING, offsetof(export_args, against), "ID", NULL,
      "write the comparison with this run: one of the store as with --run, or with --input a file" },
    { "allow-other-machine", 0, OPT_FLAG, offsetof(export_args, allow_machines), NULL, NULL,
      "with --against: compare across machines, and note it" },
    { "out", 'o', OPT_STRING, offsetof(export_args, out), "DIR", "the current folder",
      "folder of the files; made if missing" },
    { "metrics", 'm', OPT_LIST, offsetof(export_args, metrics), "NAME,...", "all", "these metrics, in this order",
      "@metrics" },
    { "metric", 0, OPT_LIST, offsetof(export_args, metrics), "NAME", NULL, NULL },
    { "by", 0, OPT_STRING, offsetof(export_args, by), "TAG", "framework", "the tag whose values are compared" },
    { "plot", 0, OPT_LIST, offsetof(export_args, plots), "KIND,...", "auto",
      "svg, pdf, png: kinds of plots; --list shows them" },
    { "replace", 0, OPT_FLAG, offsetof(export_args, replace), NULL, NULL, "overwrite files with other content" },
    { "dark", 0, OPT_FLAG, offsetof(export_args, dark), NULL, NULL, "draw plots on a dark background" },
    { "repo", 0, OPT_STRING, offsetof(export_args, repo), "PATH", ".", "asv: the repository that asv.conf.json names" },
    { "list", 0, OPT_FLAG, offsetof(export_args, list), NULL, NULL, "list the formats, and stop" },
    SELECT_JSON_ROW(export_args),
};

static void add_form(cbx_json *list, const char *name, const char *summary)
{
    cbx_json *o = cbx_json_push_object(list);

    json_put(o, J_TEXT("name", name), J_TEXT("summary", summary));
}

static void print_form(const char *name, const char *summary)
{
    print_painted(PAINT_STRONG, "%-12s", name);
    printf(" %s\n", summary);
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

/* What is written. */
typedef struct writing {
    const opt_run *run;
    const cbx_exporter *format;
    cbx_export_opts opts;
} writing;

static int print_files(const writing *w, const cbx_export_report *r)
{
    const export_args *a = w->run->args;
    cbx_json *tail = cbx_json_new_object(), *head;
    json_stream out;

    for (size_t i = 0; !a->select.json && i < r->nfiles; i++) puts(r->files[i]);
    if (!a->select.json) {
        cbx_json_unref(tail);
        return EXIT_PASS;
    }
    head = new_document("calibrax-export");
    cbx_json_set_string(head, "format", w->format->name);
    json_stream_begin(&out, head, "files");
    for (size_t i = 0; i < r->nfiles; i++) json_stream_add(&out, cbx_json_new_string(r->files[i]));
    return json_stream_end(&out, w->run->program, tail);
}

static int written(writing *w, cbx_status st, cbx_export_report *report, const cbx_err *err)
{
    int status;

    if (st) return opt_fail(w->run->program, "%s", err->message);
    status = print_files(w, report);
    cbx_export_report_clear(report);
    return status;
}

/* A run against another. */
static int write_analysis(writing *w)
{
    const export_args *a = w->run->args;
    inputs_list l = { NULL, 0 };
    cbx_run *baseline = NULL;
    cbx_export_report report;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    int status = inputs_load(w->run, &a->select, &a->inputs, a->against, &l, &baseline);

    if (!status && l.n != 1) status = opt_fail(w->run->program, "'--against' compares one run: name only one");
    if (!status) {
        st = cbx_export_analysis(w->run->ctx, w->format, l.items[0], baseline, &w->opts, &report, &err);
        if (st == CBX_EPERM && !a->allow_machines)
            status = opt_fail(w->run->program, "%s: --allow-other-machine compares them all the same", err.message);
        else
            status = written(w, st, &report, &err);
    }
    inputs_clear(&l);
    cbx_run_free(baseline);
    return status;
}

static cbx_status load_run(void *user, size_t i, cbx_run **out, cbx_err *err) { return inputs_get(user, i, out, err); }

static int write_each(writing *w)
{
    const export_args *a = w->run->args;
    inputs_names names;
    cbx_export_report report;
    cbx_err err = CBX_ERR_INIT;
    int status = inputs_name(w->run, &a->select, &a->inputs, &names);
    const cbx_export_source runs = { names.n, load_run, &names };

    if (!status) inputs_warn(&names);
    if (!status)
        status = written(w, cbx_export_each(w->run->ctx, w->format, &runs, &w->opts, &report, &err), &report, &err);
    inputs_names_clear(&names);
    return status;
}

/* --- the command --- */

/* Options of other forms, which would do nothing here. */
static int check_form(const opt_run *run, const cbx_exporter *format)
{
    static const char *const drawn[] = { "svg", "pdf", "png" };
    const export_args *a = run->args;
    bool plots = false;

    for (size_t i = 0; i < CBX_LEN(drawn); i++) plots |= !strcmp(format->name, drawn[i]);
    if ((a->plots.count || a->dark) && !plots)
        return opt_fail(run->program, "'--plot' and '--dark' need '--format' svg, pdf or png");
    if (a->repo && strcmp(format->name, "asv") != 0) return opt_fail(run->program, "'--repo' needs '--format asv'");
    return EXIT_PASS;
}

static void set_options(writing *w)
{
    const export_args *a = w->run->args;
    const cbx_export_opts none = CBX_EXPORT_OPTS_INIT;

    w->opts = none;
    w->opts.folder = a->out;
    w->opts.replace = a->replace;
    w->opts.metrics = a->metrics.items;
    w->opts.nmetrics = a->metrics.count;
    w->opts.group_by = a->by;
    w->opts.dark = a->dark;
    w->opts.plots = a->plots.items;
    w->opts.nplots = a->plots.count;
    w->opts.repo = a->repo;
    w->opts.allow_machines = a->allow_machines;
}

static int run_export(const opt_run *run)
{
    const export_args *a = run->args;
    writing w = { .run = run };
    int status;

    if (a->list) {
        size_t n;
        const cbx_exporter *const *all = cbx_exporters(&n);

        if (a->select.json) {
            cbx_json *o = new_document("calibrax-forms"), *forms = cbx_json_set_array(o, "forms");
            cbx_json *plots = cbx_json_set_array(o, "plots");

            for (size_t i = 0; i < n; i++) add_form(forms, all[i]->name, all[i]->summary);
            for (size_t i = 0; i < cbx_export_nplots(); i++)
                add_form(plots, cbx_export_plot_name(i), cbx_export_plot_summary(i));
            return print_json(run->program, o);
        }
        for (size_t i = 0; i < n; i++) print_form(all[i]->name, all[i]->summary);
        puts("\nPlots (--plot):");
        for (size_t i = 0; i < cbx_export_nplots(); i++)
            print_form(cbx_export_plot_name(i), cbx_export_plot_summary(i));
        return EXIT_PASS;
    }
    status = find_format(run, a->format, &w.format);
    if (!status) status = check_form(run, w.format);
    set_options(&w);
    if (status) return status;
    return a->against ? write_analysis(&w) : write_each(&w);
}

static const opt_rule export_rules[] = { INPUTS_RULES, { "allow-other-machine", OPT_NEEDS, "against" } };

const opt_command export_command = {
    .name = "export",
    .synopsis = "--format NAME [--run ID,... | --input FILE] [--out DIR]",
    .summary = "write runs as tables, plots, or a site",
    .description = "Writes runs in formats for other readers: LaTeX, HTML, CSV or Markdown tables with the best value "
                   "of each group in bold, plots as SVG, PDF or PNG, or the folder that 'asv publish' makes a site of. "
                   "File names hold the id of their run, and a file with other content is overwritten only with "
                   "--replace. Prints the paths of the files.",
    OPT_OPTIONS(export),
    .run = run_export,
    OPT_RULES(export),
};
