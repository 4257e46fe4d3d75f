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

static int load_all(const opt_run *run, cbx_store *store, inputs_list *l)
{
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (cbx_store_query_runs(store, NULL, &list, &err)) return opt_fail(run->program, "%s", err.message);
    if (!list.count) status = opt_fail(run->program, "the store '%s' holds no runs", cbx_store_root(store));
    if (!status && !make_room(run, l, list.count)) status = no_memory(run);
    for (size_t i = list.count; !status && i-- > 0;) status = add_stored(run, store, list.entries[i].id, l);
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

int inputs_load(const opt_run *run, const select_args *select, const inputs_args *a, const char *also, inputs_list *out,
                cbx_run **other)
{
    const char *name = run->command->name;

    if (!select->data == !a->files.count)
        return opt_fail(run->program, "%s needs either --data DIR or --input FILE", name);
    if (a->files.count && (a->runs.count || a->all))
        return opt_fail(run->program, "--run and --all choose runs of a store: give --data DIR");
    if (a->all && a->runs.count) return opt_fail(run->program, "--all and --run exclude each other");
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

int inputs_check_machines(const opt_run *run, const inputs_list *l, bool allowed)
{
    for (size_t i = 0; l->n > 1 && i < l->n; i++) {
        const char *id = cbx_run_id(l->items[i]), *fault;
        if (cbx_run_same_machine(l->items[i], l->items[i]) == CBX_MACHINE_UNKNOWN)
            fault = cbx_arena_printf(run->arena, "run '%s' does not say its machine", id);
        else if (cbx_run_same_machine(l->items[0], l->items[i]) == CBX_MACHINE_OTHER)
            fault = cbx_arena_printf(run->arena, "runs '%s' and '%s' are of machines that differ",
                                     cbx_run_id(l->items[0]), id);
        else
            continue;
        if (!fault) return no_memory(run);
        if (!allowed) return opt_fail(run->program, "%s: --allow-other-machine compares them all the same", fault);
        opt_fail(run->program, "note: %s", fault);
        break;
    }
    return EXIT_PASS;
}
