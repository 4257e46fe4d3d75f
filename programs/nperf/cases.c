/*
 * The cases that this run knows: those linked in, those of plug-ins, and those of case files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/case/plugin.h"
#include "programs/nperf/nperf.h"
#include "suites/suites.h"

/* One a process; the list is asked for from everywhere. */
static cbx_case_set *set;
static cbx_declared *files_read[32];
static size_t nfiles_read;

const cbx_case_list *nperf_cases(void) { return set ? cbx_case_set_list(set) : &cbx_builtin_cases; }

void nperf_cases_close(void)
{
    cbx_case_set_free(set);
    set = NULL;
    while (nfiles_read > 0) cbx_declared_free(files_read[--nfiles_read]);
}

const cbx_declared *nperf_declared(size_t i) { return i < nfiles_read ? files_read[i] : NULL; }

const cbx_declared *nperf_commands(const char *name)
{
    for (size_t i = 0; i < nfiles_read; i++) {
        if (cbx_declared_get_kind(files_read[i]) == CBX_DECLARED_COMMANDS &&
            !strcmp(cbx_declared_case(files_read[i])->name, name))
            return files_read[i];
    }
    return NULL;
}

/* Adds an absolute path to the variable: workers run in folders of their own. */
static int name_for_workers(const opt_run *run, const char *path)
{
    const char *before = getenv(CBX_CASE_PLUGINS_VARIABLE);
    char *whole = realpath(path, NULL);

    if (!whole) return opt_fail(run, "cannot load the plug-in '%s': %s", path, strerror(errno));
    const char *value = cbx_arena_printf(run->arena, "%s%s%s", before ? before : "", before && *before ? ":" : "",
                                         whole);
    free(whole);
    if (setenv(CBX_CASE_PLUGINS_VARIABLE, value, 1)) return opt_fail(run, "out of memory");
    if (strchr(path, ':')) return opt_fail(run, "'--plugin': the path '%s' must not contain a colon", path);
    return EXIT_PASS;
}

/* Reads a case file; one of Python functions becomes a case like any other. */
static int open_file(const opt_run *run, const char *path)
{
    cbx_declared *d = NULL;

    if (nfiles_read == CBX_LEN(files_read))
        return opt_fail(run, "'--define': the maximum is %zu case files", CBX_LEN(files_read));
    if (cbx_declared_read(run->ctx, path, &d, run->err)) return opt_fail(run, "%s", run->err->message);
    const char *name = cbx_declared_case(d)->name;
    files_read[nfiles_read++] = d;
    if (cbx_declared_get_kind(d) == CBX_DECLARED_PYTHON)
        return cbx_case_set_add(run->ctx, set, cbx_declared_case(d), path, run->err)
                   ? opt_fail(run, "%s", run->err->message)
                   : EXIT_PASS;
    if (cbx_case_find(cbx_case_set_list(set), name) || nperf_commands(name) != d)
        return opt_fail(run, "'%s': a case '%s' exists already; rename it", path, name);
    return EXIT_PASS;
}

int nperf_cases_open(const opt_run *run, const opt_list *plugins, const opt_list *files)
{
    int status = EXIT_PASS;

    for (size_t i = 0; i < plugins->count && !status; i++) status = name_for_workers(run, plugins->items[i]);
    const char *named = getenv(CBX_CASE_PLUGINS_VARIABLE);
    if (!status && named && *named && cbx_fidelity_isolate(run->err)) status = opt_fail(run, "%s", run->err->message);
    if (!status && (cbx_case_set_create(run->ctx, &cbx_builtin_cases, &set, run->err) ||
                    cbx_case_set_add_environment(run->ctx, set, run->err)))
        status = opt_fail(run, "%s", run->err->message);
    for (size_t i = 0; i < files->count && !status; i++) status = open_file(run, files->items[i]);
    return status;
}

const cbx_case_ops *nperf_case(const opt_run *run, const char *name)
{
    const cbx_case_list *list = nperf_cases();
    const cbx_case_ops *c = cbx_case_find(list, name);
    const char *names[256], *near;
    size_t n = 0;

    if (c) return c;
    while (n < list->count && n < CBX_LEN(names)) {
        names[n] = list->cases[n]->name;
        n++;
    }
    near = cbx_nearest_word(name, names, n);
    if (near)
        opt_fail(run, "unknown case '%s'; did you mean '%s'?", name, near);
    else
        opt_fail(run, "unknown case '%s'; 'nperf list' shows the cases", name);
    return NULL;
}
