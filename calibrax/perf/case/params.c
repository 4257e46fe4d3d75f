/*
 * Parameter points: a JSON object checked against a case's table.
 *
 * A point is one block of memory: the header, a value a parameter, and the canonical JSON behind
 * them.  Words are kept as pointers into the table, so equal words are equal pointers and nothing
 * of the parsed text is kept.
 */
#include "calibrax/perf/case/params.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/json.h"
#include "calibrax/core/owned.h"

typedef union param_value {
    int64_t number;
    const char *word;
} param_value;

struct cbx_params {
    cbx_allocator al;
    size_t bytes; /* of the whole block */
    const cbx_param_def *defs;
    size_t ndefs;
    char *json; /* inside the block, behind the values */
    const void *user;
    param_value value[];
};

static const char *const type_words[] = {
    [CBX_JSON_NULL] = "null",       [CBX_JSON_BOOL] = "a boolean",
    [CBX_JSON_INT] = "an integer",  [CBX_JSON_DOUBLE] = "a number with a fraction",
    [CBX_JSON_STRING] = "a string", [CBX_JSON_ARRAY] = "an array",
    [CBX_JSON_OBJECT] = "an object"
};

static size_t find_def(const cbx_param_def *defs, size_t ndefs, const char *key)
{
    size_t i = 0;
    while (i < ndefs && strcmp(defs[i].name, key) != 0) i++;
    return i;
}

/* "'m', 'k', 'n'" of at most what fits; a list for people. */
static void list_names(char *buf, size_t size, const char *const *names, size_t n)
{
    size_t at = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < n && at + strlen(names[i]) + 5 < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s'%s'", at ? ", " : "", names[i]);
}

#define MAX_LISTED 32

static cbx_status unknown_key(const cbx_param_def *defs, size_t ndefs, const char *key, const char *what, cbx_err *err)
{
    const char *names[MAX_LISTED] = { NULL };
    char list[256];
    size_t n = 0;
    for (; n < ndefs && n < MAX_LISTED; n++) names[n] = defs[n].name;
    const char *nearest = cbx_nearest_word(key, names, n);
    if (nearest) return cbx_fail(err, CBX_EINVAL, "%s: unknown key '%.64s'; did you mean '%s'?", what, key, nearest);
    list_names(list, sizeof list, names, n);
    return cbx_fail(err, CBX_EINVAL, "%s: unknown key '%.64s'; known keys: %s", what, key, list);
}

static cbx_status set_number(const cbx_param_def *d, int64_t v, const char *what, param_value *out, cbx_err *err)
{
    if (v < d->min || v > d->max)
        return cbx_fail(err, CBX_EINVAL, "%s: '%s' is %" PRId64 ", but it must lie in %" PRId64 "..%" PRId64, what,
                        d->name, v, d->min, d->max);
    out->number = v;
    return CBX_OK;
}

static cbx_status set_word(const cbx_param_def *d, const char *word, const char *what, param_value *out, cbx_err *err)
{
    char list[256];
    size_t n = 0;
    for (; d->words[n]; n++) {
        if (strcmp(d->words[n], word) == 0) {
            out->word = d->words[n];
            return CBX_OK;
        }
    }
    list_names(list, sizeof list, d->words, n);
    return cbx_fail(err, CBX_EINVAL, "%s: unknown %s '%.64s'; allowed: %s", what, d->name, word, list);
}

/* Checks every member of the object and fills every value: the member's, the derived one, or the
 * table's. */
static cbx_status read_values(cbx_params *p, const cbx_json *object, const char *what, cbx_err *err)
{
    const char *key;
    cbx_json *member;
    cbx_status st = CBX_OK;
    for (size_t i = 0; cbx_json_member(object, i, &key, &member); i++)
        if (find_def(p->defs, p->ndefs, key) == p->ndefs) return unknown_key(p->defs, p->ndefs, key, what, err);
    for (size_t i = 0; i < p->ndefs && !st; i++) {
        const cbx_param_def *d = &p->defs[i];
        const bool number = d->kind == CBX_PARAM_INT;
        const cbx_json_type want = number ? CBX_JSON_INT : CBX_JSON_STRING;
        const bool given = cbx_json_has(object, d->name);
        const cbx_json *v = cbx_json_get(object, d->name);
        const char *text = given ? cbx_json_string_value(v) : d->derive ? d->derive(p) : d->fallback;
        if (given && cbx_json_typeof(v) != want)
            return cbx_fail(err, CBX_EINVAL, "%s: '%s' must be %s, found %s", what, d->name, type_words[want],
                            type_words[cbx_json_typeof(v)]);
        if (!given && !text)
            return cbx_fail(err, CBX_EINVAL, "%s: key '%s' is missing (%s)", what, d->name,
                            d->help ? d->help : "required");
        st = number ? set_number(d, given ? cbx_json_int_value(v) : strtoll(text, NULL, 10), what, &p->value[i], err)
                    : set_word(d, text, what, &p->value[i], err);
    }
    return st;
}

/* Replaces *p by a block that ends with its JSON. */
static cbx_status add_json(cbx_params **p, cbx_err *err)
{
    const size_t old = (*p)->bytes;
    cbx_params *grown = NULL;
    bool any = false;

    CBX_SCOPED(cbx_text, t, &(*p)->al);
    for (size_t i = 0; i < (*p)->ndefs; i++) {
        const cbx_param_def *d = &(*p)->defs[i];
        const param_value *v = &(*p)->value[i];
        const bool number = d->kind == CBX_PARAM_INT;
        if (d->omits_fallback && d->fallback &&
            (number ? v->number == strtoll(d->fallback, NULL, 10) : strcmp(v->word, d->fallback) == 0))
            continue;
        cbx_text_printf(&t, "%s\"%s\":", any ? "," : "{", d->name);
        any = true;
        if (number)
            cbx_text_printf(&t, "%" PRId64, v->number);
        else
            cbx_text_printf(&t, "\"%s\"", v->word);
    }
    cbx_text_puts(&t, any ? "}" : "{}");
    cbx_status st = cbx_text_check(&t, err);
    if (!st && !(grown = cbx_mem_resize(&(*p)->al, *p, old, old + t.len + 1)))
        st = cbx_fail_nomem(err, "a parameter point");
    if (!st) {
        grown->bytes = old + t.len + 1;
        grown->json = (char *)grown + old;
        memcpy(grown->json, cbx_text_str(&t), t.len + 1);
        *p = grown;
    }
    return st;
}

cbx_status cbx_params_parse(cbx_ctx *ctx, const cbx_param_def *defs, size_t ndefs, const char *json, const char *what,
                            cbx_params **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t bytes = sizeof(cbx_params) + ndefs * sizeof(param_value);
    CBX_OWNED(cbx_json) *object = NULL;
    cbx_params *p = NULL;
    cbx_status st = cbx_json_parse(json, strlen(json), what, &object, err);
    if (!st && cbx_json_typeof(object) != CBX_JSON_OBJECT)
        st = cbx_fail(err, CBX_EINVAL, "%s: a point is a JSON object like {\"m\":512}, found %s", what,
                      type_words[cbx_json_typeof(object)]);
    if (!st && !(p = cbx_mem_zalloc(al, bytes))) st = cbx_fail_nomem(err, "a parameter point");
    if (!st) {
        p->al = *al;
        p->bytes = bytes;
        p->defs = defs;
        p->ndefs = ndefs;
        st = read_values(p, object, what, err);
    }
    if (!st) st = add_json(&p, err);
    return CBX_FINISH(st, *out = p, cbx_params_free(p));
}

void cbx_params_free(cbx_params *p)
{
    if (!p) return;
    const cbx_allocator al = p->al;
    cbx_mem_free(&al, p, p->bytes);
}

int64_t cbx_params_int(const cbx_params *p, const char *key)
{
    const size_t i = find_def(p->defs, p->ndefs, key);
    assert(i < p->ndefs && p->defs[i].kind == CBX_PARAM_INT);
    return p->value[i].number;
}

const char *cbx_params_word(const cbx_params *p, const char *key)
{
    const size_t i = find_def(p->defs, p->ndefs, key);
    assert(i < p->ndefs && p->defs[i].kind == CBX_PARAM_WORD);
    return p->value[i].word;
}

const char *cbx_params_json(const cbx_params *p) { return p->json; }

const void *cbx_params_user(const cbx_params *p) { return p->user; }
void cbx_params_set_user(cbx_params *p, const void *user) { p->user = user; }
