/*
 * Runs of a store or of files, in the order they are named.
 */
#include "programs/calibrax/inputs.h"

#include <string.h>

#include "calibrax/base/file.h"

/* --- machines --- */

/* Refuses a run beside the first, or notes it; 0: it may be taken. */
static int check_machine(const opt_run *run, const cbx_run *first, const cbx_run *r, bool allowed, bool *noted)
{
    const char *id = cbx_run_id(r), *fault;

    if (*noted) return EXIT_PASS;
    if (cbx_run_same_machine(r, r) == CBX_MACHINE_UNKNOWN)
        fault = cbx_arena_printf(run->arena, "run '%s' does not name its machine", id);
    else if (cbx_run_same_machine(first, r) == CBX_MACHINE_OTHER)
        fault = cbx_arena_printf(run->arena, "runs '%s' and '%s' are of different machines", cbx_run_id(first), id);
    else
        return EXIT_PASS;
    if (!allowed) return opt_fail(run, "%s; --allow-other-machine compares them anyway", fault);
    opt_fail(run, "note: %s", fault);
    *noted = true;
    return EXIT_PASS;
}

int inputs_check_machines(const opt_run *run, const inputs_list *l, bool allowed)
{
    bool noted = false;
    int status = EXIT_PASS;

    for (size_t i = 0; !status && l->n > 1 && i < l->n; i++)
        status = check_machine(run, l->items[0], l->items[i], allowed, &noted);
    return status;
}

/* --- by name --- */

int inputs_name(const opt_run *run, const select_args *select, const inputs_args *a, inputs_names *out)
{
    const opt_list *const lists[] = { run->words, &a->runs, &a->files };
    size_t n = run->words->count + a->runs.count + a->files.count;
    bool stored = a->all || !n;

    *out = (inputs_names){ .run = run };
    out->names = cbx_arena_calloc(run->arena, n + 1, sizeof *out->names);
    out->is_file = cbx_arena_calloc(run->arena, n + 1, sizeof *out->is_file);
    if (!a->all && !n) out->names[out->n++] = "latest";
    for (size_t k = 0; !a->all && k < CBX_LEN(lists); k++)
        for (size_t i = 0; i < lists[k]->count; i++, out->n++) {
            const char *word = lists[k]->items[i], *dot = strrchr(word, '.');
            bool looks = strchr(word, '/') || (dot && dot > word && !strcmp(dot, ".json"));
            out->names[out->n] = word;
            /* of words a path of a run file; with --data a run whose id looks like one comes first,
             * if there is no such file */
            out->is_file[out->n] = k == 2 || (k == 0 && looks && (!select->data || cbx_path_exists(word)));
            stored = stored || !out->is_file[out->n];
        }
    if (!stored) return EXIT_PASS;
    if (select_open(run, select, false, &out->store)) return EXIT_ERROR;
    out->defs = select_defs_or_warn(run, out->store);
    if (!a->all) return EXIT_PASS;
    if (opt_check(run, cbx_store_query_runs(out->store, NULL, &out->list, run->err))) return EXIT_ERROR;
    out->n = out->list.count;
    if (!out->n) return opt_fail(run, "the store '%s' holds no runs", cbx_store_root(out->store));
    out->names = cbx_arena_calloc(run->arena, out->n, sizeof *out->names);
    out->is_file = cbx_arena_calloc(run->arena, out->n, sizeof *out->is_file);
    for (size_t i = 0; i < out->n; i++) out->names[i] = out->list.entries[out->n - 1 - i].id;
    return EXIT_PASS;
}

static bool asks_latest(const inputs_names *names)
{
    bool latest = false;

    for (size_t i = 0; names->store && !names->list.count && i < names->n; i++)
        latest = latest || !strcmp(names->names[i], "latest");
    return latest;
}

void inputs_warn(const inputs_names *names)
{
    if (asks_latest(names)) select_warn(names->run, names->store);
}

cbx_status inputs_get(const inputs_names *names, size_t i, cbx_run **out, cbx_err *err)
{
    if (names->is_file[i]) return cbx_run_read(names->run->ctx, names->names[i], out, err);
    cbx_status st = select_load(names->store, names->names[i], names->bare, out, err);
    return st ? st : select_define(names->run, names->defs, out, err);
}

void inputs_names_clear(inputs_names *names)
{
    cbx_store_list_clear(&names->list);
    cbx_run_free(names->defs);
    cbx_store_close(names->store);
    names->defs = NULL;
    names->store = NULL;
}

int inputs_load(const opt_run *run, const select_args *select, const inputs_args *a, const char *also, inputs_list *out,
                cbx_run **other)
{
    CLEARED(inputs_names) names = { 0 };
    int status = inputs_name(run, select, a, &names);

    *out = (inputs_list){ .n = 0 };
    if (!status) inputs_warn(&names);
    out->items = cbx_arena_calloc(run->arena, names.n, sizeof *out->items);
    for (size_t i = 0; !status && i < names.n; i++, out->n += !status)
        status = opt_check(run, inputs_get(&names, i, &out->items[i], run->err));
    if (status || !also) return status;
    names.names[0] = also;
    names.is_file[0] = !names.store;
    return opt_check(run, inputs_get(&names, 0, other, run->err));
}

void inputs_list_clear(inputs_list *l)
{
    for (size_t i = 0; i < l->n; i++) cbx_run_free(l->items[i]);
    l->n = 0;
}

/* --- one after the other --- */

int inputs_each(const opt_run *run, const select_args *select, const inputs_args *a, inputs_visit *v)
{
    CLEARED(inputs_names) names = { 0 };
    int status = inputs_name(run, select, a, &names);

    names.bare = v->bare;
    /* A gate must not pass on runs that it could not read. */
    if (!status && v->sure && a->all) status = select_need_readable(run, names.store, ", or name runs with --run");
    if (!status && v->sure && asks_latest(&names)) status = select_need_latest(run, names.store);
    if (!status && !v->sure) inputs_warn(&names);
    for (size_t i = 0; !status && i < names.n; i++) {
        SCOPED(cbx_run) *r = NULL;
        status = opt_check(run, inputs_get(&names, i, &r, run->err));
        if (status) break;
        if (v->n == 1 && !v->any_machine) status = check_machine(run, v->first, v->first, v->allow_machines, &v->noted);
        if (v->n && !v->any_machine && !status) status = check_machine(run, v->first, r, v->allow_machines, &v->noted);
        if (!status) status = v->take(v->user, r);
        if (!v->n++) v->first = cbx_run_ref(r);
    }
    cbx_run_free(v->first);
    v->first = NULL;
    return status;
}
