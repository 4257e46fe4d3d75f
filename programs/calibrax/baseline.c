/*
 * calibrax baseline: names the run that later ones are compared with.
 */
#include <string.h>

#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct baseline_args {
    select_args select;
    const char *run, *name;
    bool list, remove;
} baseline_args;

#define AT(member) offsetof(baseline_args, member)

static const opt_spec baseline_options[] = {
    SELECT_STORE_ROWS,
    OPT("run", 0, STRING, run, "ID", "latest", "the run: its id, a unique prefix of the id, or latest", "@runs"),
    OPT("name", 0, STRING, name, "NAME", CBX_BASELINE_MAIN, "name of the baseline", "@baselines"),
    OPT_SWITCH("list", 0, list, "list the baselines"),
    OPT_SWITCH("remove", 0, remove, "remove the baseline"),
    SELECT_JSON_ROW,
};
static const opt_rule baseline_rules[] = {
    { "list", OPT_EXCLUDES, "remove run name" },
    { "remove", OPT_EXCLUDES, "run" },
};
static const baseline_args baseline_defaults = { .run = "latest", .name = CBX_BASELINE_MAIN };

static int say(const opt_run *run, const char *verb, const char *name, const char *id)
{
    const baseline_args *a = run->args;

    if (!a->select.json) {
        printf(id ? "Baseline set to run %s\n" : "Baseline %s removed\n", id ? id : name);
        return EXIT_PASS;
    }
    cbx_json *o = cbx_json_document("calibrax-baseline", J_TEXT("action", verb), J_TEXT("name", name));
    if (id) cbx_json_set_string(o, "run", id);
    return print_json(run, o);
}

static int list_baselines(const opt_run *run, cbx_store *store)
{
    const bool json = ((const baseline_args *)run->args)->select.json;
    const char *const *names;
    int status = EXIT_PASS;
    size_t n;

    if (opt_check(run, cbx_store_baselines(store, run->arena, &names, &n, run->err))) return EXIT_ERROR;
    SCOPED(cbx_json) *o = cbx_json_new_document("calibrax-baselines");
    cbx_json *list = cbx_json_set_array(o, "baselines");
    for (size_t i = 0; i < n; i++) {
        SCOPED(cbx_run) *base = NULL;
        if (cbx_store_baseline_get(store, names[i], &base, run->err))
            status = opt_fail(run, "warning: %s", run->err->message);
        if (!json) print_painted(PAINT_STRONG, "%-16s", names[i]);
        if (!json) print_painted(base ? PAINT_PLAIN : PAINT_BAD, " %s\n", base ? cbx_run_id(base) : "unreadable");
        cbx_json_put(cbx_json_push_object(list), J_TEXT("name", names[i]),
                     J_TEXT("run", base ? cbx_run_id(base) : NULL));
    }
    if (json && print_json(run, cbx_json_ref(o))) return EXIT_ERROR;
    return n ? status : opt_fail(run, "no baseline in '%s'", cbx_store_root(store));
}

static int run_baseline(const opt_run *run)
{
    const baseline_args *a = run->args;
    SCOPED(cbx_store) *store = NULL;
    SCOPED(cbx_run) *chosen = NULL;

    if (select_open(run, &a->select, false, &store)) return EXIT_ERROR;
    if (a->list) return list_baselines(run, store);
    if (!a->remove && !strcmp(a->run, "latest") && select_need_latest(run, store)) return EXIT_ERROR;
    if (!a->remove && select_run(run, store, a->run, &chosen)) return EXIT_ERROR;
    const char *id = chosen ? cbx_run_id(chosen) : NULL;
    int status = opt_check(run, a->remove ? cbx_store_baseline_remove(store, a->name, run->err)
                                          : cbx_store_baseline_set(store, a->name, id, run->err));
    return status ? status : say(run, a->remove ? "remove" : "set", a->name, id);
}

const opt_command baseline_command = {
    .name = "baseline",
    .synopsis = "[--run ID] [--name NAME] | --list | --remove [--name NAME]",
    .summary = "set, list or remove the baselines that runs are checked against",
    .description = "Keeps a copy of a run under a name; the Python package uses the one named main. With --list the "
                   "exit status is 2 if there are no baselines, or if one cannot be read.",
    OPT_OPTIONS_RULES(baseline),
    .defaults = &baseline_defaults,
};
