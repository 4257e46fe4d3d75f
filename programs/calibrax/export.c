/*
 * calibrax export: runs in a form that others read.
 */
#include <string.h>

#include "calibrax/exporters/exporter.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct export_args {
    select_args select;
    const char *format, *out, *by, *repo, *against;
    opt_list runs, files, metrics;
    bool all, replace, dark, list;
} export_args;

static const opt_spec export_options[] = {
    { "format", 'f', OPT_STRING, offsetof(export_args, format), "NAME", NULL, "the form; --list shows them" },
    SELECT_STORE_ROWS(export_args),
    { "run", 0, OPT_LIST, offsetof(export_args, runs), "ID,...", "latest",
      "runs of the store: ids, beginnings of ids, latest, or baseline:NAME" },
    { "all", 0, OPT_FLAG, offsetof(export_args, all), NULL, NULL, "every run of the store, oldest first" },
    { "input", 0, OPT_EACH, offsetof(export_args, files), "FILE", NULL,
      "a run file; may be repeated, in place of --data" },
    { "against", 0, OPT_STRING, offsetof(export_args, against), "ID", NULL,
      "how the run differs from this one: a run of the store as with --run, or with --input a file" },
    { "out", 'o', OPT_STRING, offsetof(export_args, out), "DIR", "the current folder",
      "where files go; made if missing" },
    { "metrics", 'm', OPT_LIST, offsetof(export_args, metrics), "NAME,...", "all", "these metrics, in this order" },
    { "by", 0, OPT_STRING, offsetof(export_args, by), "TAG", "framework", "the tag whose values are compared" },
    { "replace", 0, OPT_FLAG, offsetof(export_args, replace), NULL, NULL, "write over files that hold something else" },
    { "dark", 0, OPT_FLAG, offsetof(export_args, dark), NULL, NULL, "plots on dark paper" },
    { "repo", 0, OPT_STRING, offsetof(export_args, repo), "PATH", ".", "asv: the repository that asv.conf.json names" },
    { "list", 0, OPT_FLAG, offsetof(export_args, list), NULL, NULL, "print the forms, and nothing else" },
    SELECT_JSON_ROW(export_args),
};

/* Runs to export, in order. */
typedef struct run_list {
    cbx_run **items;
    size_t n;
} run_list;

static int list_formats(void)
{
    size_t n;
    const cbx_exporter *const *all = cbx_exporters(&n);

    for (size_t i = 0; i < n; i++) printf("%-10s %s\n", all[i]->name, all[i]->summary);
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

static int load_all(const opt_run *run, cbx_store *store, run_list *l)
{
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (cbx_store_query_runs(store, NULL, &list, &err)) return opt_fail(run->program, "%s", err.message);
    if (!list.count) status = opt_fail(run->program, "the store '%s' holds no runs", cbx_store_root(store));
    l->items = cbx_arena_calloc(run->arena, list.count, sizeof *l->items);
    if (!l->items) status = opt_fail(run->program, "out of memory");
    for (size_t i = list.count; !status && i-- > 0;) {
        status = select_run(run, store, list.entries[i].id, &l->items[l->n]);
        l->n += !status;
    }
    cbx_store_list_clear(&list);
    return status;
}

static int load_named(const opt_run *run, cbx_store *store, const export_args *a, run_list *l)
{
    static const char *const latest[] = { "latest" };
    const char *const *names = a->runs.count ? a->runs.items : latest;
    size_t n = a->runs.count ? a->runs.count : 1;
    int status = EXIT_PASS;

    l->items = cbx_arena_calloc(run->arena, n, sizeof *l->items);
    if (!l->items) return opt_fail(run->program, "out of memory");
    for (size_t i = 0; !status && i < n; i++) {
        status = select_run(run, store, names[i], &l->items[l->n]);
        l->n += !status;
    }
    return status;
}

static int load_store(const opt_run *run, const export_args *a, run_list *l, cbx_run **baseline)
{
    cbx_store *store = NULL;
    int status = select_open(run, &a->select, false, &store);

    if (!status) status = a->all ? load_all(run, store, l) : load_named(run, store, a, l);
    if (!status && a->against) status = select_run(run, store, a->against, baseline);
    cbx_store_close(store);
    return status;
}

static int load_files(const opt_run *run, const export_args *a, run_list *l, cbx_run **baseline)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = CBX_OK;

    l->items = cbx_arena_calloc(run->arena, a->files.count, sizeof *l->items);
    if (!l->items) return opt_fail(run->program, "out of memory");
    for (size_t i = 0; !st && i < a->files.count; i++) {
        st = cbx_run_read(run->ctx, a->files.items[i], &l->items[l->n], &err);
        l->n += !st;
    }
    if (!st && a->against) st = cbx_run_read(run->ctx, a->against, baseline, &err);
    return st ? opt_fail(run->program, "%s", err.message) : EXIT_PASS;
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

static int check_args(const opt_run *run, const export_args *a)
{
    if (!a->select.data == !a->files.count)
        return opt_fail(run->program, "export needs either --data DIR or --input FILE");
    if (a->files.count && (a->runs.count || a->all))
        return opt_fail(run->program, "--run and --all choose runs of a store: give --data DIR");
    if (a->all && a->runs.count) return opt_fail(run->program, "--all and --run exclude each other");
    return EXIT_PASS;
}

static int write_runs(const opt_run *run, const cbx_exporter *format, const run_list *l, const cbx_run *baseline)
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
    o.repo = a->repo;
    if (baseline && l->n != 1) return opt_fail(run->program, "--against compares one run: name it alone");
    if (baseline)
        st = cbx_export_analysis(run->ctx, format, l->items[0], baseline, &o, &report, &err);
    else
        st = cbx_export_runs(run->ctx, format, (const cbx_run *const *)l->items, l->n, &o, &report, &err);
    if (st) return opt_fail(run->program, "%s", err.message);
    status = tell(run, format, &report);
    cbx_export_report_clear(&report);
    return status;
}

static int run_export(const opt_run *run)
{
    const export_args *a = run->args;
    const cbx_exporter *format;
    run_list runs = { NULL, 0 };
    cbx_run *baseline = NULL;
    int status;

    if (a->list) return list_formats();
    status = find_format(run, a->format, &format);
    if (!status) status = check_args(run, a);
    if (!status) status = a->select.data ? load_store(run, a, &runs, &baseline) : load_files(run, a, &runs, &baseline);
    if (!status) status = write_runs(run, format, &runs, baseline);
    for (size_t i = 0; i < runs.n; i++) cbx_run_free(runs.items[i]);
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
