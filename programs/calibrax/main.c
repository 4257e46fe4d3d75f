/*
 * calibrax: the library from the command line.  A table of commands; each is a file.
 */
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/exporters/exporter.h"
#include "calibrax/metrics/metrics.h"
#include "calibrax/storage/import.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"

static int run_help(const opt_run *run)
{
    opt_print_help(run->program, run->command, false, stdout);
    return EXIT_ERROR; /* a gate whose arguments are missing must not pass; --help is handled before this */
}

static const opt_command help_command = {
    .name = "",
    .synopsis = "COMMAND [ARGUMENT]... [OPTION]...",
    .description =
        "Keeps runs of measurements in a store, shows, compares and checks them, and measures programs. The store is "
        "that of --data, else of CALIBRAX_DATA, else .calibrax at the top of the repository or in the working folder.",
    .flags = OPT_ANY_ENVIRONMENT,
    .run = run_help,
};

static const opt_note examples[] = {
    { "calibrax ingest --input run.json benchmark.json", "add files of measurements to the store" },
    { "calibrax run --plugin ./bench.so --launches 10 --data store",
      "run the benchmarks of a shared object, and keep the run" },
    { "calibrax show --list --branch main", "list the runs of a branch, newest first" },
    { "calibrax show --points --since 2026-01-01 --tag framework=jax", "print points as JSON lines" },
    { "calibrax compare v1 v2", "compare runs side by side, with speed-ups and their intervals" },
    { "calibrax compare --diff baseline:main latest", "show the differences between two runs" },
    { "calibrax check --threshold 0.03 --format github", "check whether the latest run is worse than the baseline" },
    { "calibrax trend --metric time --point matmul", "show a metric over time" },
    { "calibrax trend --changes --state seen.json --check", "check whether a level changed since the last check" },
    { "calibrax metrics compute r_squared data.csv:predicted data.csv:measured --ci",
      "compute a metric of two columns, with its interval" },
    { "calibrax serve --data store", "show a store in a web browser on this machine" },
    { "my-service | calibrax watch --metric latency_ms --warning 20 --error 50 --raise-after 3",
      "alert on JSON lines" },
    { "calibrax bisect --good v1.2 --build 'make' --bench './bench'", "find the commit that made it slower" },
    { "CALIBRAX_USE_GPU=yes CALIBRAX_GPU_FALLBACK=no calibrax doctor", "check whether a GPU is used on this machine" },
    { NULL, NULL },
};

static const opt_note removed[] = {
    { "changepoints", "trend --changes" },
    { "diff", "compare --diff" },
    { "machine", "doctor --machine" },
    { "pareto", "compare --pareto" },
    { "profile-gpu", "profile --gpu 0 --energy" },
    { "query", "show --points" },
    { "rank", "compare --rank" },
    { "runs", "show --list" },
    { "scaling", "trend --over" },
    { "validate", "check --target" },
    { NULL, NULL },
};

/* Formats of importers and exporters; runs, metrics and baselines of the store, if that can
 * be read. */
static void complete(const opt_run *run, const char *kind, const char *data, void (*put)(void *user, const char *word),
                     void *user)
{
    const char *path = store_path(run, data), *const * names;
    SCOPED(cbx_store) *store = NULL;
    CLEARED(cbx_store_list) list = { 0 };
    SCOPED(cbx_run) *r = NULL;
    size_t n;

    const cbx_metric_function *m;

    for (size_t i = 0; !strcmp(kind, "functions") && (m = cbx_metric_at(run->ctx, i)); i++) put(user, m->name);
    for (size_t i = 0; !strcmp(kind, "domains") && (m = cbx_metric_at(run->ctx, i)); i++)
        if (i == 0 || strcmp(m->domain, cbx_metric_at(run->ctx, i - 1)->domain) != 0) put(user, m->domain);
    for (size_t i = 0; !strcmp(kind, "formats") && i < cbx_importers_count(); i++) put(user, cbx_importers_at(i).name);
    const cbx_exporter *const *exporters = cbx_exporters(&n);
    for (size_t i = 0; !strcmp(kind, "exporters") && i < n; i++) put(user, exporters[i]->name);
    if (!strcmp(kind, "formats") || !strcmp(kind, "exporters") || !strcmp(kind, "functions") ||
        !strcmp(kind, "domains") || !path || cbx_store_open(run->ctx, path, NULL, &store, NULL))
        return;
    if (!strcmp(kind, "runs") && !cbx_store_query_runs(store, NULL, &list, NULL)) {
        put(user, "latest");
        for (size_t i = 0; i < list.count; i++) put(user, list.entries[i].id);
    } else if (!strcmp(kind, "baselines") && !cbx_store_baselines(store, run->arena, &names, &n, NULL)) {
        for (size_t i = 0; i < n; i++) put(user, names[i]);
    } else if (!strcmp(kind, "metrics") && !cbx_store_load_bare(store, "latest", &r, NULL)) {
        CBX_SCOPED(cbx_names, seen, &run->arena->al);
        for (size_t i = 0; i < cbx_run_npoints(r); i++)
            for (size_t k = 0; k < cbx_run_point(r, i)->nmetrics; k++) {
                const char *name = cbx_run_point(r, i)->metrics[k].name;
                const size_t known = seen.n;
                if (cbx_names_add(&seen, name) == known) put(user, name);
            }
    }
}

int main(int argc, char **argv)
{
#define CALIBRAX_ENTRY(name) name##_command,
    const opt_command commands[] = { help_command, CALIBRAX_COMMANDS(CALIBRAX_ENTRY) };
    opt_settings settings;
    const opt_program program = {
        .name = "calibrax",
        .summary = "keep, compare and check measurements",
        .commands = commands,
        .ncommands = CBX_LEN(commands),
        .environment = opt_note_settings(&settings),
        .examples = examples,
        .removed = removed,
        .complete = complete,
    };

    return opt_main(&program, argc, (const char **)argv);
}
