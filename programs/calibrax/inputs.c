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

static int add_stored(const opt_run *run, cbx_store *store, const char *name, inputs_list *l)
{
    int status = select_run(run, store, name, &l->items[l->n]);

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

static int look(const opt_run *run, const inputs_list *l)
{
    bool doubled = l->n > 1 && (l->n & (l->n - 1)) == 0;

    return l->look && doubled ? l->look(run, l) : EXIT_PASS;
}

static int load_all(const opt_run *run, cbx_store *store, inputs_list *l)
{
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (cbx_store_query_runs(store, NULL, &list, &err)) return opt_fail(run->program, "%s", err.message);
    if (!list.count) status = opt_fail(run->program, "the store '%s' holds no runs", cbx_store_root(store));
    if (!status && !make_room(run, l, list.count)) status = no_memory(run);
    for (size_t i = list.count; !status && i-- > 0;) {
        status = add_stored(run, store, list.entries[i].id, l);
        if (!status) status = look(run, l);
    }
    cbx_store_list_clear(&list);
    return status;
}

static int load_stored(const opt_run *run, const select_args *select, const inputs_args *a, const char *also,
                       inputs_list *l, cbx_run **other)
{
    static const char *const latest[] = { "latest" };
    const char *const *names = a->runs.count ? a->runs.items : latest;
    size_t n = a->runs.count ? a->runs.count : 1;
    cbx_store *store = NULL;
    int status = select_open(run, select, false, &store);

    if (!status && a->all) status = load_all(run, store, l);
    if (!status && !a->all && !make_room(run, l, n)) status = no_memory(run);
    for (size_t i = 0; !status && !a->all && i < n; i++) status = add_stored(run, store, names[i], l);
    if (!status && also) status = select_run(run, store, also, other);
    cbx_store_close(store);
    return status;
}

static int load_files(const opt_run *run, const inputs_args *a, const char *also, inputs_list *l, cbx_run **other)
{
    int status = make_room(run, l, a->files.count) ? EXIT_PASS : no_memory(run);

    for (size_t i = 0; !status && i < a->files.count; i++) status = add_file(run, a->files.items[i], l);
    if (!status && also) status = read_file(run, also, other);
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

int inputs_load(const opt_run *run, const select_args *select, const inputs_args *a, const char *also, inputs_list *out,
                cbx_run **other)
{
    int status = check_choice(run, select, a);

    if (status) return status;
    return select->data ? load_stored(run, select, a, also, out, other) : load_files(run, a, also, out, other);
}

int inputs_load_names(const opt_run *run, const select_args *select, const char *const *names, size_t n,
                      inputs_list *out)
{
    cbx_store *store = NULL;
    int status = make_room(run, out, n) ? EXIT_PASS : no_memory(run);

    if (!status && select->data) status = select_open(run, select, false, &store);
    for (size_t i = 0; !status && i < n; i++)
        status = select->data ? add_stored(run, store, names[i], out) : add_file(run, names[i], out);
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

static int visit_stored(const opt_run *run, cbx_store *store, const char *name, inputs_visit *v)
{
    cbx_run *r = NULL;
    int status = select_run(run, store, name, &r);

    return status ? status : visit(run, v, r);
}

static int visit_all(const opt_run *run, cbx_store *store, inputs_visit *v)
{
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (cbx_store_query_runs(store, NULL, &list, &err)) return opt_fail(run->program, "%s", err.message);
    if (!list.count) status = opt_fail(run->program, "the store '%s' holds no runs", cbx_store_root(store));
    for (size_t i = list.count; !status && i-- > 0;) status = visit_stored(run, store, list.entries[i].id, v);
    cbx_store_list_clear(&list);
    return status;
}

/* A gate passes nothing for what it has not seen. */
static int need_sure(const opt_run *run, cbx_store *store, const inputs_args *a)
{
    bool latest = !a->runs.count;

    if (a->all) return select_need_readable(run, store, ", or name runs with --run");
    for (size_t i = 0; i < a->runs.count; i++) latest = latest || !strcmp(a->runs.items[i], "latest");
    return latest ? select_need_latest(run, store) : EXIT_PASS;
}

static int visit_store(const opt_run *run, const select_args *select, const inputs_args *a, inputs_visit *v)
{
    cbx_store *store = NULL;
    int status = select_open(run, select, false, &store);

    if (!status && v->sure) status = need_sure(run, store, a);
    if (!status && a->all) status = visit_all(run, store, v);
    if (!status && !a->all && !a->runs.count) status = visit_stored(run, store, "latest", v);
    for (size_t i = 0; !status && i < a->runs.count; i++) status = visit_stored(run, store, a->runs.items[i], v);
    cbx_store_close(store);
    return status;
}

int inputs_each(const opt_run *run, const select_args *select, const inputs_args *a, inputs_visit *v)
{
    int status = check_choice(run, select, a);

    if (!status && select->data) status = visit_store(run, select, a, v);
    for (size_t i = 0; !status && i < a->files.count; i++) {
        cbx_run *r = NULL;
        status = read_file(run, a->files.items[i], &r);
        if (!status) status = visit(run, v, r);
    }
    cbx_run_free(v->first);
    v->first = NULL;
    return status;
}
