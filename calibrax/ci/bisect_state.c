/*
 * A search as JSON and back: names instead of numbers, so that a state fits the history whatever order the commits came in.
 */
#include <math.h>
#include <string.h>

#include "calibrax/ci/bisect_parts.h"

#define SCHEMA  "calibrax-bisect"
#define VERSION 1

static bool push_pair(cbx_json *list, const char *name, cbx_json *value)
{
    cbx_json *pair = cbx_json_new_array();

    if (!pair || !value || !cbx_json_push(pair, cbx_json_new_string(name))) {
        cbx_json_unref(value);
        cbx_json_unref(pair);
        return false;
    }
    if (!cbx_json_push(pair, value)) {
        cbx_json_unref(pair);
        return false;
    }
    return cbx_json_push(list, pair);
}

static bool put_head(const cbx_bisect *b, cbx_json *o)
{
    return cbx_json_set_string(o, "schema", SCHEMA) && cbx_json_set_int(o, "version", VERSION) &&
           cbx_json_set_string(o, "identity", b->opts.identity) && cbx_json_set_string(o, "good", b->names[b->n]) &&
           cbx_json_set_string(o, "bad", b->names[b->n - 1]) && cbx_json_set_int(o, "candidates", (int64_t)b->n);
}

cbx_json *cbx_bisect_state(const cbx_bisect *b)
{
    cbx_json *o = cbx_json_new_object(), *values = cbx_json_new_array(), *broken = cbx_json_new_array();
    bool ok = o && values && broken;

    for (size_t v = 0; ok && v < b->nvalues; v++)
        ok = push_pair(values, b->names[b->values[v].commit], cbx_json_new_double(b->values[v].value));
    for (size_t i = 0; ok && i <= b->n; i++) {
        if (b->reasons[i]) ok = push_pair(broken, b->names[i], cbx_json_new_string(b->reasons[i]));
    }
    ok = ok && put_head(b, o);
    if (ok) {
        ok = cbx_json_set(o, "observations", values);
        values = NULL;
    }
    if (ok) {
        ok = cbx_json_set(o, "broken", broken);
        broken = NULL;
    }
    cbx_json_unref(values);
    cbx_json_unref(broken);
    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_status need_same(const cbx_json *state, const char *key, const char *wanted, const char *what, cbx_err *err)
{
    const char *found;
    cbx_status st = cbx_json_need_string(state, key, what, &found, err);

    if (st || !strcmp(found, wanted)) return st;
    return cbx_fail(err, CBX_EINVAL,
                    "'%s' is of another search: its %s is '%s', not '%s'; name another state file or remove it", what,
                    key, found, wanted);
}

static cbx_status check_head(const cbx_bisect *b, const cbx_json *state, const char *what, cbx_err *err)
{
    const char *schema;
    int64_t version;
    cbx_status st = cbx_json_need_string(state, "schema", what, &schema, err);

    if (!st && strcmp(schema, SCHEMA)) return cbx_fail(err, CBX_EFORMAT, "'%s' is no state of a bisection", what);
    if (!st) st = cbx_json_need_int(state, "version", what, &version, err);
    if (!st && version != VERSION)
        return cbx_fail(err, CBX_EVERSION, "'%s' has version %lld; this program reads %d", what, (long long)version,
                        VERSION);
    if (!st) st = need_same(state, "good", b->names[b->n], what, err);
    if (!st) st = need_same(state, "bad", b->names[b->n - 1], what, err);
    if (!st) st = need_same(state, "identity", b->opts.identity, what, err);
    return st;
}

/* The i-th pair of a list: its commit and the value beside the name. */
static cbx_status read_pair(const cbx_bisect *b, const cbx_json *list, size_t i, const char *what, size_t *commit,
                            const cbx_json **value, cbx_err *err)
{
    const cbx_json *pair = cbx_json_at(list, i);
    const char *name = cbx_json_typeof(pair) == CBX_JSON_ARRAY ? cbx_json_string_value(cbx_json_at(pair, 0)) : NULL;

    if (!name || cbx_json_length(pair) != 2) return cbx_fail(err, CBX_EFORMAT, "'%s': entry %zu is no pair", what, i);
    if (!cbx_bisect_find(b, name, commit))
        return cbx_fail(err, CBX_EINVAL, "'%s' names commit '%s', which is not between the ends", what, name);
    *value = cbx_json_at(pair, 1);
    return CBX_OK;
}

cbx_status cbx_bisect_restore(cbx_bisect *b, const cbx_json *state, const char *what, cbx_err *err)
{
    cbx_json *values, *broken;
    const cbx_json *value;
    size_t commit;
    cbx_status st = check_head(b, state, what, err);

    if (!st) st = cbx_json_need_array(state, "observations", what, &values, err);
    if (!st) st = cbx_json_need_array(state, "broken", what, &broken, err);
    for (size_t i = 0; !st && i < cbx_json_length(values); i++) {
        st = read_pair(b, values, i, what, &commit, &value, err);
        if (!st) st = cbx_bisect_observe(b, commit, cbx_json_double_value(value), err);
        if (st == CBX_EDOM) st = cbx_fail(err, CBX_EFORMAT, "'%s': value %zu is not finite", what, i);
    }
    for (size_t i = 0; !st && i < cbx_json_length(broken); i++) {
        st = read_pair(b, broken, i, what, &commit, &value, err);
        if (!st && !cbx_json_string_value(value))
            st = cbx_fail(err, CBX_EFORMAT, "'%s': reason %zu is no text", what, i);
        if (!st) st = cbx_bisect_broken(b, commit, cbx_json_string_value(value), err);
    }
    return st;
}
