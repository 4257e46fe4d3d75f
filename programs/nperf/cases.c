/*
 * The cases that this run knows: those linked in, and those of plug-ins.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/plugin.h"
#include "programs/nperf/nperf.h"
#include "suites/suites.h"

/* One a process; the list is asked for from everywhere. */
static cbx_case_set *set;

const cbx_case_list *nperf_cases(void) { return set ? cbx_case_set_list(set) : &cbx_builtin_cases; }

void nperf_cases_close(void)
{
    cbx_case_set_free(set);
    set = NULL;
}

/* Adds an absolute path to the variable: workers run in folders of their own. */
static int name_for_workers(const opt_program *program, cbx_arena *arena, const char *path)
{
    const char *before = getenv(CBX_CASE_PLUGINS_VARIABLE);
    char *whole = realpath(path, NULL);
    const char *value;

    if (!whole) return opt_fail(program, "cannot load the plug-in '%s': %s", path, strerror(errno));
    value = cbx_arena_printf(arena, "%s%s%s", before ? before : "", before && *before ? ":" : "", whole);
    free(whole);
    if (!value || setenv(CBX_CASE_PLUGINS_VARIABLE, value, 1)) return opt_fail(program, "out of memory");
    if (strchr(path, ':')) return opt_fail(program, "--plugin '%s': a path must not hold a colon", path);
    return EXIT_PASS;
}

int nperf_cases_open(const opt_run *run, const opt_list *plugins)
{
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    for (size_t i = 0; i < plugins->count && !status; i++)
        status = name_for_workers(run->program, run->arena, plugins->items[i]);
    if (!status && (cbx_case_set_create(run->ctx, &cbx_builtin_cases, &set, &err) ||
                    cbx_case_set_add_environment(run->ctx, set, &err)))
        status = opt_fail(run->program, "%s", err.message);
    return status;
}

const cbx_case_ops *nperf_case(const opt_program *program, const char *name)
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
        opt_fail(program, "unknown case '%s'; did you mean '%s'?", name, near);
    else
        opt_fail(program, "unknown case '%s'; 'nperf list' shows the cases", name);
    return NULL;
}
