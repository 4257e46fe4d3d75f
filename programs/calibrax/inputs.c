/*
 * Runs of a store or of files, in the order they are named.
 */
#include "programs/calibrax/inputs.h"

#include <string.h>

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

static bool make_room(const opt_run *run, inputs_list *l, size_t n)
{
    l->n = 0;
    l->items = cbx_arena_calloc(run->arena, n, sizeof *l->items);
    return l->items;
}

/* With the store's definitions where it has none of its own. */
static int stored_run(const opt_run *run, cbx_store *store, const cbx_run *defs, const char *name, cbx_run **out)
{
    cbx_err err = CBX_ERR_INIT;
    int status = select_run(run, store, name, out);

    if (!status && select_define(run, defs, out, &err)) status = opt_fail(run->program, "%s", err.message);
    return status;
}

static int add_stored(const opt_run *run, cbx_store *store, const cbx_run *defs, const char *name, inputs_list *l)
{
    int status = stored_run(run, store, defs, name, &l->items[l->n]);

    l->n += !status;
    return status;
}

static int read_file(const opt_run *run, const char *path, cbx_run **out)
{
    cbx_err err = CBX_ERR_INIT;

    return cbx_run_read(run->ctx, path, out, &err) ? opt_fail(run->program, "%s", err.message) : EXIT_PASS;
}

static int add_file(const opt_run *run, const char *path, inputs_list *l)
{
    int status = read_file(run, path, &l->items[l->n]);

    l->n += !status;
    return status;
}

static int check_choice(const opt_run *run, const select_args *select, const inputs_args *a)
{
    const char *name = run->command->name;

    if (!select->data == !a->files.count)
        return opt_fail(run->program, "%s needs either --data DIR or --input FILE", name);
    if (a->files.count && (a->runs.count || a->all))
        return opt_fail(run->program, "--run and --all choose runs of a store: give --data DIR");
    if (a->all && a->runs.count) return opt_fail(run->program, "--all and --run exclude each other");
    return EXIT_PASS;
}

int inputs_load_names(const opt_run *run, const select_args *select, const char *const *names, size_t n,
                      inputs_list *out)
{
    cbx_store *store = NULL;
    cbx_run *defs = NULL;
    int status = make_room(run, out, n) ? EXIT_PASS : no_memory(run);

    if (!status && select->data) status = select_open(run, select, false, &store);
    if (!status && store) defs = select_defs_or_warn(run, store);
    for (size_t i = 0; !status && i < n; i++)
        status = select->data ? add_stored(run, store, defs, names[i], out) : add_file(run, names[i], out);
    cbx_run_free(defs);
    cbx_store_close(store);
    return status;
}

void inputs_clear(inputs_list *l)
{
    for (size_t i = 0; i < l->n; i++) cbx_run_free(l->items[i]);
    l->n = 0;
}

/* --- machines --- */

/* Refuses a run beside the first, or says so; 0: it may be taken. */
static int check_machine(const opt_run *run, const cbx_run *first, const cbx_run *r, bool allowed, bool *noted)
{
    const char *id = cbx_run_id(r), *fault;

    if (*noted) return EXIT_PASS;
    if (cbx_run_same_machine(r, r) == CBX_MACHINE_UNKNOWN)
        fault = cbx_arena_printf(run->arena, "run '%s' does not say its machine", id);
    else if (cbx_run_same_machine(first, r) == CBX_MACHINE_OTHER)
        fault = cbx_arena_printf(run->arena, "runs '%s' and '%s' are of machines that differ", cbx_run_id(first), id);
    else
        return EXIT_PASS;
    if (!fault) return no_memory(run);
    if (!allowed) return opt_fail(run->program, "%s: --allow-other-machine compares them all the same", fault);
    opt_fail(run->program, "note: %s", fault);
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

static bool asks_latest(const inputs_args *a)
{
    bool latest = !a->all && !a->runs.count;

    for (size_t i = 0; i < a->runs.count; i++) latest = latest || !strcmp(a->runs.items[i], "latest");
    return latest;
}

static int name_stored(const opt_run *run, const select_args *select, const inputs_args *a, inputs_names *out)
{
    static const char *const latest[] = { "latest" };
    cbx_err err = CBX_ERR_INIT;

    if (select_open(run, select, false, &out->store)) return EXIT_ERROR;
    out->defs = select_defs_or_warn(run, out->store);
    out->names = a->all ? NULL : a->runs.count ? a->runs.items : latest;
    out->n = a->runs.count ? a->runs.count : 1;
    if (!a->all) return EXIT_PASS;
    if (cbx_store_query_runs(out->store, NULL, &out->list, &err)) return opt_fail(run->program, "%s", err.message);
    out->n = out->list.count;
    return out->n ? EXIT_PASS : opt_fail(run->program, "the store '%s' holds no runs", cbx_store_root(out->store));
}

int inputs_name(const opt_run *run, const select_args *select, const inputs_args *a, inputs_names *out)
{
    int status = check_choice(run, select, a);

    *out = (inputs_names){ .run = run };
    if (status) return status;
    if (select->data) return name_stored(run, select, a, out);
    out->names = a->files.items;
    out->n = a->files.count;
    return EXIT_PASS;
}

void inputs_warn(const inputs_names *names, const inputs_args *a)
{
    if (names->store && asks_latest(a)) select_warn(names->run, names->store);
}

cbx_status inputs_get(const inputs_names *names, size_t i, cbx_run **out, cbx_err *err)
{
    const char *name = names->names ? names->names[i] : names->list.entries[names->n - 1 - i].id;

    if (names->store) {
        cbx_status st = select_load(names->store, name, names->bare, out, err);
        return st ? st : select_define(names->run, names->defs, out, err);
    }
    return cbx_run_read(names->run->ctx, name, out, err);
}

int inputs_load(const opt_run *run, const select_args *select, const inputs_args *a, const char *also, inputs_list *out,
                cbx_run **other)
{
    inputs_names names;
    cbx_err err = CBX_ERR_INIT;
    int status = inputs_name(run, select, a, &names);

    if (!status) inputs_warn(&names, a);
    if (!status && !make_room(run, out, names.n)) status = no_memory(run);
    for (size_t i = 0; !status && i < names.n; i++, out->n += !status)
        if (inputs_get(&names, i, &out->items[i], &err)) status = opt_fail(run->program, "%s", err.message);
    if (!status && also)
        status = names.store ? stored_run(run, names.store, names.defs, also, other) : read_file(run, also, other);
    inputs_names_clear(&names);
    return status;
}

void inputs_names_clear(inputs_names *names)
{
    cbx_store_list_clear(&names->list);
    cbx_run_free(names->defs);
    names->defs = NULL;
    cbx_store_close(names->store);
    names->store = NULL;
}

/* --- one after the other --- */

/* The first run has nothing beside it until the second one comes. */
static int check_next(const opt_run *run, inputs_visit *v, const cbx_run *r)
{
    int status = EXIT_PASS;

    if (v->any_machine || !v->n) return EXIT_PASS;
    if (v->n == 1) status = check_machine(run, v->first, v->first, v->allow_machines, &v->noted);
    return status ? status : check_machine(run, v->first, r, v->allow_machines, &v->noted);
}

/* Takes over the run. */
static int visit(const opt_run *run, inputs_visit *v, cbx_run *r)
{
    int status = check_next(run, v, r);

    if (!status) status = v->take(v->user, r);
    if (!v->n++)
        v->first = r;
    else
        cbx_run_free(r);
    return status;
}

/* A gate passes nothing for what it has not seen. */
static int need_sure(const opt_run *run, cbx_store *store, const inputs_args *a)
{
    if (a->all) return select_need_readable(run, store, ", or name runs with --run");
    return asks_latest(a) ? select_need_latest(run, store) : EXIT_PASS;
}

int inputs_each(const opt_run *run, const select_args *select, const inputs_args *a, inputs_visit *v)
{
    inputs_names names;
    cbx_err err = CBX_ERR_INIT;
    int status = inputs_name(run, select, a, &names);

    names.bare = v->bare;
    if (!status && names.store && v->sure) status = need_sure(run, names.store, a);
    if (!status && !v->sure) inputs_warn(&names, a);
    for (size_t i = 0; !status && i < names.n; i++) {
        cbx_run *r = NULL;
        if (inputs_get(&names, i, &r, &err))
            status = opt_fail(run->program, "%s", err.message);
        else
            status = visit(run, v, r);
    }
    cbx_run_free(v->first);
    v->first = NULL;
    inputs_names_clear(&names);
    return status;
}
