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

/* What is written, and what of it is done. */
typedef struct writing {
    const opt_run *run;
    const cbx_exporter *format;
    cbx_export_opts opts;
    const char **files;
    size_t nfiles, room;
    bool *found; /* of each metric that is asked for */
    size_t nfound;
    const char *first; /* id of the first run */
} writing;

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

static int note_files(writing *w, const cbx_export_report *r)
{
    for (size_t i = 0; i < r->nfiles; i++) {
        if (w->nfiles == w->room) {
            size_t room = w->room ? 2 * w->room : 16;
            const char **more = cbx_arena_calloc(w->run->arena, room, sizeof *more);
            if (!more) return no_memory(w->run);
            if (w->nfiles) memcpy(more, w->files, w->nfiles * sizeof *more);
            w->files = more;
            w->room = room;
        }
        w->files[w->nfiles] = cbx_arena_strdup(w->run->arena, r->files[i]);
        if (!w->files[w->nfiles++]) return no_memory(w->run);
    }
    return EXIT_PASS;
}

static int tell(const writing *w)
{
    const export_args *a = w->run->args;
    cbx_json *o, *files;

    for (size_t i = 0; !a->select.json && i < w->nfiles; i++) puts(w->files[i]);
    if (!a->select.json) return EXIT_PASS;
    o = new_document("calibrax-export");
    files = cbx_json_new_array();
    cbx_json_set_string(o, "format", w->format->name);
    for (size_t i = 0; i < w->nfiles; i++) cbx_json_push(files, cbx_json_new_string(w->files[i]));
    cbx_json_set(o, "files", files);
    return print_json(w->run->program, o);
}

static int written(writing *w, cbx_status st, cbx_export_report *report, const cbx_err *err)
{
    int status;

    if (st) return opt_fail(w->run->program, "%s", err->message);
    status = note_files(w, report);
    cbx_export_report_clear(report);
    return status;
}

/* --- a run, or runs together --- */

static int write_analysis(writing *w, const inputs_list *l, const cbx_run *baseline)
{
    const export_args *a = w->run->args;
    cbx_export_report report;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (l->n != 1) return opt_fail(w->run->program, "--against compares one run: name it alone");
    st = cbx_export_analysis(w->run->ctx, w->format, l->items[0], baseline, &w->opts, &report, &err);
    if (st == CBX_EPERM && !a->allow_machines)
        return opt_fail(w->run->program, "%s: --allow-other-machine compares them all the same", err.message);
    return written(w, st, &report, &err);
}

static int write_loaded(writing *w)
{
    const export_args *a = w->run->args;
    inputs_list l = { NULL, 0 };
    cbx_run *baseline = NULL;
    cbx_export_report report;
    cbx_err err = CBX_ERR_INIT;
    int status = inputs_load(w->run, &a->select, &a->inputs, a->against, &l, &baseline);

    if (!status && baseline) {
        status = write_analysis(w, &l, baseline);
    } else if (!status) {
        cbx_status st = cbx_export_runs(w->run->ctx, w->format, (const cbx_run *const *)l.items, l.n, &w->opts, &report,
                                        &err);
        status = written(w, st, &report, &err);
    }
    inputs_clear(&l);
    cbx_run_free(baseline);
    return status;
}

/* --- runs one by one --- */

#define ENOUGH (-1)

/* Looks for the metrics that are asked for, until all of them have been seen. */
static int look_for_metrics(void *user, const cbx_run *r)
{
    writing *w = user;

    if (!w->first) w->first = cbx_arena_strdup(w->run->arena, cbx_run_id(r));
    if (!w->first) return no_memory(w->run);
    for (size_t m = 0; m < w->opts.nmetrics; m++)
        for (size_t i = 0; !w->found[m] && i < cbx_run_npoints(r); i++) {
            w->found[m] = cbx_point_metric(cbx_run_point(r, i), w->opts.metrics[m]);
            w->nfound += w->found[m];
        }
    return w->nfound == w->opts.nmetrics ? ENOUGH : EXIT_PASS;
}

static int check_metrics(writing *w)
{
    const export_args *a = w->run->args;
    inputs_visit v = { .take = look_for_metrics, .user = w, .any_machine = true };
    int status = EXIT_PASS;

    if (!w->opts.nmetrics) return EXIT_PASS;
    w->found = cbx_arena_calloc(w->run->arena, w->opts.nmetrics, sizeof *w->found);
    if (!w->found) return no_memory(w->run);
    status = inputs_each(w->run, &a->select, &a->inputs, &v);
    if (status) return status == ENOUGH ? EXIT_PASS : status;
    for (size_t m = 0; m < w->opts.nmetrics; m++)
        if (!w->found[m])
            return opt_fail(w->run->program, "no point of run '%s' has the metric '%s'", w->first, w->opts.metrics[m]);
    return EXIT_PASS;
}

static int write_one(void *user, const cbx_run *r)
{
    writing *w = user;
    cbx_export_report report;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_export_runs(w->run->ctx, w->format, &r, 1, &w->opts, &report, &err);

    return written(w, st, &report, &err);
}

static int write_each(writing *w)
{
    const export_args *a = w->run->args;
    inputs_visit v = { .take = write_one, .user = w, .any_machine = true };
    int status = check_metrics(w);

    w->opts.allow_missing = true;
    return status ? status : inputs_each(w->run, &a->select, &a->inputs, &v);
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
        return opt_fail(run->program, "--plot and --dark: need --format svg, pdf or png");
    if (a->repo && strcmp(format->name, "asv") != 0) return opt_fail(run->program, "--repo: needs --format asv");
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

    if (a->list) return list_formats(run);
    if (a->allow_machines && !a->against) return opt_fail(run->program, "--allow-other-machine: needs --against");
    status = find_format(run, a->format, &w.format);
    if (!status) status = check_form(run, w.format);
    set_options(&w);
    if (!status) status = a->against || w.format->together ? write_loaded(&w) : write_each(&w);
    return status ? status : tell(&w);
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
