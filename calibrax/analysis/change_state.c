/* The memory of calibrax trend --changes. */
#include "calibrax/analysis/change_state.h"

#include <stdio.h>
#include <string.h>

static cbx_status check_series(const cbx_json *series, const char *what, const char *name, cbx_err *err)
{
    char path[256];
    const cbx_json *last = cbx_json_get(series, "last"), *changes = cbx_json_get(series, "changes");

    snprintf(path, sizeof path, "series.%.200s", name);
    if (cbx_json_typeof(series) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EFORMAT, "'%s': '%s' is not an object: name another state file", what, path);
    if (last && !cbx_json_string_value(last))
        return cbx_fail(err, CBX_EFORMAT, "'%s': '%s.last' is not the name of a run: name another state file", what,
                        path);
    if (cbx_json_typeof(changes) != CBX_JSON_ARRAY)
        return cbx_fail(err, CBX_EFORMAT, "'%s': '%s.changes' is not an array: name another state file", what, path);
    for (size_t i = 0; i < cbx_json_length(changes); i++) {
        if (cbx_json_string_value(cbx_json_at(changes, i))) continue;
        return cbx_fail(err, CBX_EFORMAT, "'%s': '%s.changes.%zu' is not the name of a run: name another state file",
                        what, path, i);
    }
    return CBX_OK;
}

cbx_status cbx_change_state_check(const cbx_json *state, const char *what, cbx_err *err)
{
    const cbx_json *all = cbx_json_get(state, "series");
    const char *name;
    cbx_json *series;
    cbx_status st = CBX_OK;

    if (strcmp(cbx_json_get_string(state, "schema", ""), CBX_CHANGE_STATE_SCHEMA) != 0)
        return cbx_fail(err, CBX_EFORMAT, "'%s' is not a state file of changes: name another file", what);
    if (cbx_json_get_int(state, "version", 0) != CBX_CHANGE_STATE_VERSION)
        return cbx_fail(
            err, CBX_EVERSION,
            "'%s' has version %lld, and this release reads version %d: use the newer program, or remove the file", what,
            (long long)cbx_json_get_int(state, "version", 0), CBX_CHANGE_STATE_VERSION);
    if (cbx_json_typeof(all) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EFORMAT, "'%s': 'series' is not an object: name another state file", what);
    for (size_t i = 0; !st && cbx_json_member(all, i, &name, &series); i++) st = check_series(series, what, name, err);
    return st;
}

const cbx_json *cbx_change_state_of(const cbx_json *state, const char *series)
{
    return cbx_json_get(cbx_json_get(state, "series"), series);
}

/* n: missing. */
static size_t place_of(const char *run, const char *const *runs, size_t n)
{
    for (size_t i = 0; run && i < n; i++)
        if (!strcmp(runs[i], run)) return i;
    return n;
}

bool cbx_change_state_is_reported(const cbx_json *series, const char *const *runs, size_t n, size_t at,
                                  size_t min_segment)
{
    const cbx_json *reported = cbx_json_get(series, "changes");

    for (size_t i = 0; i < cbx_json_length(reported); i++) {
        size_t place = place_of(cbx_json_string_value(cbx_json_at(reported, i)), runs, n);
        if (place < n && (place > at ? place - at : at - place) < min_segment) return true;
    }
    return false;
}

size_t cbx_change_state_unseen(const cbx_json *series, const char *const *runs, size_t n)
{
    size_t place = place_of(cbx_json_get_string(series, "last", NULL), runs, n);

    return place < n ? n - place - 1 : n;
}

cbx_json *cbx_change_state_make(const char *const *runs, size_t n, const size_t *changes, size_t nchanges)
{
    cbx_json *o = cbx_json_new_object(), *reported;

    cbx_json_set_string(o, "last", n ? runs[n - 1] : NULL);
    reported = cbx_json_set_array(o, "changes");
    for (size_t k = 0; k < nchanges; k++) cbx_json_push_string(reported, runs[changes[k]]);
    return cbx_json_finish(o);
}
