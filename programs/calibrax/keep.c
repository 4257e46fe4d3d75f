/*
 * Runs into stores that were there before the work.
 */
#include "programs/calibrax/keep.h"

static cbx_status open_store(const opt_run *run, const char *root, bool create, cbx_store **out, cbx_err *err)
{
    cbx_store_opts o = CBX_STORE_OPTS_INIT;

    o.create = create;
    return cbx_store_open(run->ctx, root, &o, out, err);
}

int keep_prepare(const opt_run *run, const char *root)
{
    cbx_store *store = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_status st = open_store(run, root, true, &store, &err);

    cbx_store_close(store);
    return st ? opt_fail(run->program, "%s", err.message) : EXIT_PASS;
}

cbx_status keep_run(const opt_run *run, const char *root, const cbx_run *r, cbx_err *err)
{
    cbx_store *store = NULL;
    cbx_status st = open_store(run, root, false, &store, err);

    if (st == CBX_ENOENT) {
        st = open_store(run, root, true, &store, err);
        if (!st)
            opt_fail(
                run->program,
                "warning: the store '%s' went away while it ran, and was made anew: if its disk comes back, ingest "
                "'%s/runs/%s.json' there",
                root, root, cbx_run_id(r));
    }
    if (!st) st = cbx_store_save(store, r, false, err);
    cbx_store_close(store);
    return st;
}
