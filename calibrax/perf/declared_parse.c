/*
 * Reading a case file: every member is known, of the right kind, and goes with the others; else a sentence that names it.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/json.h"
#include "calibrax/perf/declared_parts.h"

#define MAX_FILE_BYTES (1u << 20)
#define MAX_ENTRIES    256

/* What is being read, for messages: "'a.json': inputs[1]". */
typedef struct reader {
    cbx_ctx *ctx;
    cbx_declared *d;
    cbx_err *err;
    char where[96];
} reader;

static cbx_status fault(reader *r, const char *fmt, ...) CBX_PRINTF(2, 3);
static cbx_status fault(reader *r, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return cbx_fail(r->err, CBX_EFORMAT, "'%s': %s%s%s", r->d->what, r->where, *r->where ? ": " : "", text);
}

static cbx_status no_memory(reader *r) { return cbx_fail(r->err, CBX_ENOMEM, "out of memory for '%s'", r->d->what); }

static void at(reader *r, const char *list, size_t i) { snprintf(r->where, sizeof r->where, "%s[%zu]", list, i); }

/* --- members --- */

static cbx_status known_members(reader *r, const cbx_json *o, const char *const *names, size_t n)
{
    if (cbx_json_typeof(o) != CBX_JSON_OBJECT) return fault(r, "an object is expected");
    for (size_t i = 0; i < cbx_json_length(o); i++) {
        const char *key = NULL, *near;
        cbx_json *value = NULL;
        bool known = false;
        if (!cbx_json_member(o, i, &key, &value)) continue;
        for (size_t k = 0; k < n; k++) known = known || !strcmp(names[k], key);
        if (known) continue;
        near = cbx_nearest_word(key, names, n);
        return fault(r, "unknown member '%.60s'%s%s%s", key, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
    }
    return CBX_OK;
}
#define KNOWN(r, o, ...)                                                                                               \
    known_members(r, o, (const char *const[]){ __VA_ARGS__ }, CBX_LEN(((const char *const[]){ __VA_ARGS__ })))

static cbx_status text_member(reader *r, const cbx_json *o, const char *key, bool needed, const char **out)
{
    const cbx_json *v = cbx_json_get(o, key);
    const char *s = cbx_json_string_value(v);

    if (!v && !needed) return CBX_OK;
    if (!v) return fault(r, "member '%s' is missing", key);
    if (!s || !*s || strlen(s) > 4096) return fault(r, "'%s' has to be a text that is not empty", key);
    *out = cbx_arena_strdup(&r->d->arena, s);
    return *out ? CBX_OK : no_memory(r);
}

static cbx_status number_member(reader *r, const cbx_json *o, const char *key, double *out)
{
    const cbx_json *v = cbx_json_get(o, key);
    const cbx_json_type t = cbx_json_typeof(v);

    if (!v) return CBX_OK;
    if ((t != CBX_JSON_INT && t != CBX_JSON_DOUBLE) || !isfinite(cbx_json_double_value(v)))
        return fault(r, "'%s' has to be a number", key);
    *out = cbx_json_double_value(v);
    return CBX_OK;
}

/* A list of 1 (or `least`) to `most` entries; missing is fine if least is 0. */
static cbx_status list_member(reader *r, const cbx_json *o, const char *key, size_t least, size_t most,
                              const cbx_json **out, size_t *n)
{
    const cbx_json *v = cbx_json_get(o, key);

    *out = NULL;
    *n = 0;
    if (!v && least == 0) return CBX_OK;
    if (!v) return fault(r, "member '%s' is missing", key);
    if (cbx_json_typeof(v) != CBX_JSON_ARRAY || cbx_json_length(v) < least || cbx_json_length(v) > most)
        return fault(r, "'%s' has to be a list of %zu to %zu entries", key, least, most);
    *out = v;
    *n = cbx_json_length(v);
    return CBX_OK;
}

static cbx_status name_member(reader *r, const cbx_json *o, const char **out)
{
    cbx_status st = text_member(r, o, "name", true, out);
    if (!st && !cbx_name_is_safe(*out)) return fault(r, "'%.60s' is no name: letters, digits, '.', '_' and '-'", *out);
    return st;
}

/* --- parameters --- */

static cbx_status read_words(reader *r, const cbx_json *v, cbx_param_def *out)
{
    const cbx_json *list;
    const char **words;
    size_t n;
    cbx_status st = list_member(r, v, "words", 1, MAX_ENTRIES, &list, &n);

    if (st) return st;
    words = cbx_arena_calloc(&r->d->arena, n + 1, sizeof *words);
    if (!words) return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        const char *s = cbx_json_string_value(cbx_json_at(list, i));
        if (!s || !cbx_name_is_safe(s)) return fault(r, "'words' holds something that is no word");
        words[i] = cbx_arena_strdup(&r->d->arena, s);
        if (!words[i]) return no_memory(r);
    }
    out->kind = CBX_PARAM_WORD;
    out->words = words;
    return CBX_OK;
}

static cbx_status read_range(reader *r, const cbx_json *v, cbx_param_def *out)
{
    const cbx_json *low = cbx_json_get(v, "min"), *high = cbx_json_get(v, "max");

    out->kind = CBX_PARAM_INT;
    if (cbx_json_typeof(low) != CBX_JSON_INT || cbx_json_typeof(high) != CBX_JSON_INT)
        return fault(r, "a parameter has 'words', or 'min' and 'max' that are whole numbers");
    out->min = cbx_json_int_value(low);
    out->max = cbx_json_int_value(high);
    return out->min <= out->max ? CBX_OK : fault(r, "'min' is larger than 'max'");
}

static cbx_status read_default(reader *r, const cbx_json *v, cbx_param_def *out)
{
    const cbx_json *value = cbx_json_get(v, "default");
    bool fits = false;

    if (!value) return CBX_OK;
    if (out->kind == CBX_PARAM_INT) {
        const int64_t n = cbx_json_int_value(value);
        fits = cbx_json_typeof(value) == CBX_JSON_INT && n >= out->min && n <= out->max;
        out->fallback = fits ? cbx_arena_printf(&r->d->arena, "%lld", (long long)n) : "";
    } else {
        const char *s = cbx_json_string_value(value);
        for (size_t i = 0; s && out->words[i] && !fits; i++) {
            fits = !strcmp(out->words[i], s);
            out->fallback = out->words[i];
        }
    }
    if (!out->fallback) return no_memory(r);
    return fits ? CBX_OK : fault(r, "'default' is not one of the allowed values");
}

static cbx_status read_params(reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *list;
    size_t n;
    cbx_status st = list_member(r, root, "params", 0, 32, &list, &n);

    if (st) return st;
    d->params = cbx_arena_calloc(&d->arena, n + 1, sizeof *d->params);
    if (!d->params) return no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        const cbx_json *v = cbx_json_at(list, i);
        cbx_param_def *p = &d->params[i];
        at(r, "params", i);
        st = KNOWN(r, v, "name", "min", "max", "words", "default", "help");
        if (!st) st = name_member(r, v, &p->name);
        for (size_t k = 0; k < i && !st; k++)
            if (!strcmp(d->params[k].name, p->name)) st = fault(r, "another parameter is called '%s'", p->name);
        if (!st) st = cbx_json_has(v, "words") ? read_words(r, v, p) : read_range(r, v, p);
        if (!st) st = read_default(r, v, p);
        if (!st) st = text_member(r, v, "help", false, &p->help);
    }
    d->ops.params = d->params;
    d->ops.nparams = n;
    r->where[0] = 0;
    return st;
}

/* Points in canonical form, each checked by the case's own rules: so this comes last. */
static cbx_status read_points(reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const char **texts;
    const cbx_json *list;
    double representative = 0;
    size_t n;
    cbx_status st = list_member(r, root, "points", 1, MAX_ENTRIES, &list, &n);

    if (st) return st;
    texts = cbx_arena_calloc(&d->arena, n, sizeof *texts);
    if (!texts) return no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        cbx_err why = CBX_ERR_INIT;
        cbx_params *p = NULL;
        cbx_text t;
        at(r, "points", i);
        cbx_text_init(&t, cbx_ctx_allocator(r->ctx));
        cbx_json_write(cbx_json_at(list, i), CBX_JSON_COMPACT, &t);
        st = cbx_text_check(&t, r->err);
        if (!st && cbx_case_point(r->ctx, &d->ops, cbx_text_str(&t), "it", &p, &why))
            st = fault(r, "%.200s", why.message);
        if (!st) texts[i] = cbx_arena_strdup(&d->arena, cbx_params_json(p));
        if (!st && !texts[i]) st = no_memory(r);
        cbx_params_free(p);
        cbx_text_clear(&t);
    }
    if (st) return st;
    r->where[0] = 0;
    st = number_member(r, root, "representative", &representative);
    if (st) return st;
    if (!(representative >= 0 && representative < (double)n) || representative != floor(representative))
        return fault(r, "'representative' has to be the number of a point, 0 to %zu", n - 1);
    d->ops.points = texts;
    d->ops.npoints = n;
    d->ops.representative = (size_t)representative;
    return CBX_OK;
}

/* --- arrays --- */

static bool any_name(const void *user, const char *name, size_t len, double *out)
{
    const cbx_declared *d = user;

    for (size_t i = 0; i < d->ops.nparams; i++)
        if (d->params[i].kind == CBX_PARAM_INT && strlen(d->params[i].name) == len &&
            !strncmp(d->params[i].name, name, len)) {
            *out = 1;
            return true;
        }
    return false;
}

/* A formula as text, or a number; its names are parameters. */
static cbx_status read_formula(reader *r, const cbx_json *v, const char **out)
{
    const char *s = cbx_json_string_value(v);
    cbx_err why = CBX_ERR_INIT;
    double value;

    if (cbx_json_typeof(v) == CBX_JSON_INT)
        *out = cbx_arena_printf(&r->d->arena, "%lld", (long long)cbx_json_int_value(v));
    else if (s && strlen(s) <= 1024)
        *out = cbx_arena_strdup(&r->d->arena, s);
    else
        return fault(r, "a formula of parameters, or a whole number, is expected");
    if (!*out) return no_memory(r);
    if (cbx__expression_value(*out, any_name, r->d, &value, &why)) return fault(r, "%.200s", why.message);
    return CBX_OK;
}

static cbx_status read_fill(reader *r, const cbx_json *v, cbx__declared_array *a)
{
    static const struct {
        const char *word;
        cbx__fill_kind kind;
        double low, high;
    } kinds[] = { { "normal", CBX__FILL_NORMAL, 0, 1 },
                  { "uniform", CBX__FILL_UNIFORM, 0, 1 },
                  { "integers", CBX__FILL_INTEGERS, 0, 1 },
                  { "count", CBX__FILL_COUNT, 0, 0 },
                  { "constant", CBX__FILL_CONSTANT, 0, 0 } };
    const char *word = "normal";
    size_t i = 0;
    cbx_status st = text_member(r, v, "fill", false, &word);

    if (st) return st;
    while (i < CBX_LEN(kinds) && strcmp(kinds[i].word, word)) i++;
    if (i == CBX_LEN(kinds)) return fault(r, "'fill' may be normal, uniform, integers, count or constant");
    a->fill = kinds[i].kind;
    a->low = kinds[i].low;
    a->high = kinds[i].high;
    st = number_member(r, v, "low", &a->low);
    if (!st) st = number_member(r, v, "high", &a->high);
    if (st) return st;
    if (a->fill == CBX__FILL_INTEGERS && !(a->low == floor(a->low) && a->high == floor(a->high) && a->low <= a->high &&
                                           fabs(a->low) < 0x1p53 && fabs(a->high) < 0x1p53))
        return fault(r, "integers go from 'low' to 'high', both whole");
    if (a->dtype == CBX_BOOL && a->fill != CBX__FILL_INTEGERS)
        return fault(r, "booleans are filled with integers 0 to 1");
    return CBX_OK;
}

static cbx_status read_array(reader *r, const cbx_json *v, bool input, cbx__declared_array *a)
{
    const char *dtype = NULL;
    const cbx_json *shape;
    size_t n;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = input ? KNOWN(r, v, "name", "dtype", "shape", "fill", "low", "high")
                          : KNOWN(r, v, "name", "dtype", "shape");

    if (!st) st = name_member(r, v, &a->name);
    if (!st) st = text_member(r, v, "dtype", true, &dtype);
    if (!st && (cbx_dtype_parse(dtype, &a->dtype, &why) || a->dtype == CBX_C64 || a->dtype == CBX_C128))
        st = fault(r, "'%.40s' is no dtype of a case: bool, int8 to int64, uint8 to uint64, float32, float64", dtype);
    if (!st) st = list_member(r, v, "shape", 0, CBX_LEN(a->shape), &shape, &n);
    for (size_t i = 0; !st && i < n; i++) st = read_formula(r, cbx_json_at(shape, i), &a->shape[i]);
    if (!st) a->ndim = (int)n;
    return st || !input ? st : read_fill(r, v, a);
}

static cbx_status read_arrays(reader *r, const cbx_json *root, const char *key, bool input, cbx__declared_array *arrays,
                              const char *const **names, size_t *count)
{
    const char **made;
    const cbx_json *list;
    size_t n;
    cbx_status st = list_member(r, root, key, 1, CBX_CASE_MAX_ARRAYS, &list, &n);

    if (st) return st;
    made = cbx_arena_calloc(&r->d->arena, n, sizeof *made);
    if (!made) return no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        at(r, key, i);
        st = read_array(r, cbx_json_at(list, i), input, &arrays[i]);
        for (size_t k = 0; k < i && !st; k++)
            if (!strcmp(arrays[k].name, arrays[i].name)) st = fault(r, "another one is called '%s'", arrays[i].name);
        made[i] = arrays[i].name;
    }
    r->where[0] = 0;
    *names = made;
    *count = n;
    return st;
}

/* --- permutations --- */

static bool find_axis(cbx__declared_array *arrays, size_t n, const char *name, const cbx_json *v, int *axes)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = cbx_json_int_value(v);
        if (strcmp(arrays[i].name, name)) continue;
        if (cbx_json_typeof(v) != CBX_JSON_INT || axis < 0 || axis >= arrays[i].ndim) return false;
        axes[i] = (int)axis;
        return true;
    }
    return false;
}

static cbx_status read_groups(reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *list;
    size_t n;
    cbx_status st = list_member(r, root, "permute", 0, CBX__DECLARED_MAX_GROUPS, &list, &n);

    for (size_t g = 0; g < n && !st; g++) {
        const cbx_json *v = cbx_json_at(list, g);
        at(r, "permute", g);
        for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) d->groups[g].input_axis[i] = d->groups[g].output_axis[i] = -1;
        if (cbx_json_typeof(v) != CBX_JSON_OBJECT || cbx_json_length(v) == 0)
            st = fault(r, "an object of arrays and their axes is expected");
        for (size_t i = 0; !st && i < cbx_json_length(v); i++) {
            const char *key = NULL;
            cbx_json *axis = NULL;
            if (!cbx_json_member(v, i, &key, &axis)) continue;
            if (!find_axis(d->inputs, d->ops.ninputs, key, axis, d->groups[g].input_axis) &&
                !find_axis(d->outputs, d->ops.noutputs, key, axis, d->groups[g].output_axis))
                st = fault(r, "'%.60s' is no array with such an axis", key);
        }
    }
    d->ngroups = n;
    r->where[0] = 0;
    return st;
}

/* --- functions and files --- */

static cbx_status need_file(reader *r, const char *path)
{
    cbx_declared *d = r->d;

    if (d->nfiles == d->files_room) {
        const size_t room = d->files_room ? 2 * d->files_room : 16;
        const char **files = cbx_arena_calloc(&d->arena, room, sizeof *files);
        if (!files) return no_memory(r);
        if (d->nfiles) memcpy(files, d->files, d->nfiles * sizeof *files);
        d->files = files;
        d->files_room = room;
    }
    d->files[d->nfiles++] = path;
    return CBX_OK;
}

/* "file.py:function" of a member, with its file in the case's folder. */
static cbx_status split_function(reader *r, const char *text, const char **file, const char **function)
{
    const char *colon = strrchr(text, ':');
    const char *name;

    if (!colon || colon == text || !colon[1])
        return fault(r, "'%.80s' names no function: 'file.py:function' is expected", text);
    name = cbx_arena_strndup(&r->d->arena, text, (size_t)(colon - text));
    if (!name) return no_memory(r);
    *file = *name == '/' ? name : cbx_path_join(&r->d->arena, r->d->folder, name);
    *function = colon + 1;
    if (!*file) return no_memory(r);
    return need_file(r, *file);
}

static bool set_names(cbx_json *o, const char *key, const char *const *names, size_t n)
{
    cbx_json *list = cbx_json_new_array();
    bool ok = list != NULL;

    for (size_t i = 0; i < n && ok; i++) ok = cbx_json_push(list, cbx_json_new_string(names[i]));
    return cbx_json_set(o, key, list) && ok;
}

/* What the worker is told of a function: see workers/python/cases/declared.py. */
static cbx_status define(reader *r, const cbx_json *v, bool reference, const char **out)
{
    const cbx_case_ops *c = &r->d->ops;
    const char *python = NULL, *setup = NULL, *file = NULL, *function = NULL;
    double rtol = 0, atol = 0;
    cbx_json *o = NULL;
    cbx_text t;
    bool ok;
    cbx_status st = text_member(r, v, "python", true, &python);

    if (!st) st = text_member(r, v, "setup", false, &setup);
    if (!st) st = split_function(r, python, &file, &function);
    if (!st && reference) st = number_member(r, v, "rtol", &rtol);
    if (!st && reference) st = number_member(r, v, "atol", &atol);
    if (st) return st;
    o = cbx_json_new_object();
    ok = o && cbx_json_set_string(o, "file", file) && cbx_json_set_string(o, "call", function) &&
         (!setup || cbx_json_set_string(o, "setup", setup)) && set_names(o, "inputs", c->input_names, c->ninputs) &&
         set_names(o, "outputs", c->output_names, c->noutputs);
    if (ok && reference) ok = cbx_json_set_double(o, "rtol", rtol) && cbx_json_set_double(o, "atol", atol);
    cbx_text_init(&t, cbx_ctx_allocator(r->ctx));
    if (ok) cbx_json_write(o, CBX_JSON_COMPACT, &t);
    *out = ok && !t.status ? cbx_arena_strdup(&r->d->arena, cbx_text_str(&t)) : NULL;
    cbx_text_clear(&t);
    cbx_json_unref(o);
    return *out ? CBX_OK : no_memory(r);
}

static cbx_status read_provider(reader *r, const cbx_json *v, const char **out)
{
    const cbx_provider_ops *p;
    cbx_status st = text_member(r, v, "provider", true, out);

    if (st) return st;
    p = cbx_provider_find(*out);
    return p && p->python ? CBX_OK
                          : fault(r, "'%.40s' is no provider of Python functions: 'nperf doctor' lists them", *out);
}

static cbx_status read_reference(reader *r, const cbx_json *root)
{
    cbx_json *v = cbx_json_get(root, "reference");
    cbx_case_ops *c = &r->d->ops;
    double rtol = 0, atol = 0;
    cbx_status st;

    if (!v) return fault(r, "member 'reference' is missing: a case is nothing without its right answer");
    snprintf(r->where, sizeof r->where, "reference");
    st = KNOWN(r, v, "provider", "python", "setup", "rtol", "atol");
    if (!st) st = number_member(r, v, "rtol", &rtol);
    if (!st) st = number_member(r, v, "atol", &atol);
    if (!st && (rtol < 0 || atol < 0)) st = fault(r, "'rtol' and 'atol' must not be negative");
    if (!st) st = read_provider(r, v, &c->oracle_provider);
    if (!st) st = define(r, v, true, &c->oracle_definition);
    r->where[0] = 0;
    return st;
}

/* --- baselines --- */

static cbx_status read_baseline(reader *r, const cbx_json *v, size_t i)
{
    cbx_declared *d = r->d;
    cbx_baseline_ops *b = &d->baselines[i];
    const bool python = d->kind == CBX_DECLARED_PYTHON;
    cbx_status st = python ? KNOWN(r, v, "name", "summary", "provider", "python", "setup", "slow", "mutant")
                           : KNOWN(r, v, "name", "summary", "command", "slow");

    b->struct_size = sizeof *b;
    b->abi = CBX_CASE_ABI;
    b->summary = "";
    b->provider = "command";
    if (!st) st = name_member(r, v, &b->name);
    if (!st) st = text_member(r, v, "summary", false, &b->summary);
    if (!st) st = text_member(r, v, "slow", false, &b->slow_reason);
    for (size_t k = 0; k < i && !st; k++)
        if (!strcmp(d->baselines[k].name, b->name)) st = fault(r, "another baseline is called '%s'", b->name);
    if (!python) return st ? st : text_member(r, v, "command", true, &d->commands[i]);
    if (!st) st = text_member(r, v, "mutant", false, &b->mutant_reason);
    if (!st && i && d->baselines[i - 1].mutant_reason && !b->mutant_reason) st = fault(r, "mutants come last");
    if (!st) st = read_provider(r, v, &b->provider);
    return st ? st : define(r, v, false, &b->definition);
}

static cbx_status read_baselines(reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_baseline_ops **table;
    const cbx_json *list;
    size_t n;
    cbx_status st = list_member(r, root, "baselines", 1, 64, &list, &n);

    if (st) return st;
    d->baselines = cbx_arena_calloc(&d->arena, n, sizeof *d->baselines);
    d->commands = cbx_arena_calloc(&d->arena, n, sizeof *d->commands);
    table = cbx_arena_calloc(&d->arena, n, sizeof *table);
    if (!d->baselines || !d->commands || !table) return no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        at(r, "baselines", i);
        st = read_baseline(r, cbx_json_at(list, i), i);
        table[i] = &d->baselines[i];
    }
    d->ops.baselines = table;
    d->ops.nbaselines = n;
    r->where[0] = 0;
    return st;
}

/* --- what is only of one kind --- */

static cbx_status read_work(reader *r, const cbx_json *root)
{
    static const char *const names[] = { "macs", "flop", "bytes" };
    const char **const places[] = { &r->d->macs, &r->d->flop, &r->d->bytes };
    const cbx_json *v = cbx_json_get(root, "work");
    cbx_status st;

    if (!v) return CBX_OK;
    snprintf(r->where, sizeof r->where, "work");
    st = known_members(r, v, names, CBX_LEN(names));
    for (size_t i = 0; i < CBX_LEN(names) && !st; i++)
        if (cbx_json_has(v, names[i])) st = read_formula(r, cbx_json_get(v, names[i]), places[i]);
    r->where[0] = 0;
    return st;
}

static cbx_status read_python(reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    cbx_case_ops *c = &d->ops;
    cbx_status st = KNOWN(r, root, "schema", "version", "name", "kind", "summary", "params", "points", "representative",
                          "inputs", "outputs", "permute", "reference", "work", "setup", "baselines");

    if (!st) st = read_arrays(r, root, "inputs", true, d->inputs, &c->input_names, &c->ninputs);
    if (!st) st = read_arrays(r, root, "outputs", false, d->outputs, &c->output_names, &c->noutputs);
    if (!st) st = read_groups(r, root);
    if (!st) st = read_work(r, root);
    if (!st) st = read_reference(r, root);
    if (!st) st = read_baselines(r, root);
    if (st) return st;
    cbx__declared_fill_ops(d);
    return CBX_OK;
}

static cbx_status read_check(reader *r, const cbx_json *v, cbx__declared_check *c)
{
    cbx_status st = KNOWN(r, v, "command", "file", "same_as", "numbers", "rtol", "atol");

    if (!st) st = text_member(r, v, "command", false, &c->command);
    if (!st) st = text_member(r, v, "file", false, &c->file);
    if (!st) st = text_member(r, v, "same_as", false, &c->same_as);
    if (!st) st = text_member(r, v, "numbers", false, &c->numbers);
    if (!st) st = number_member(r, v, "rtol", &c->rtol);
    if (!st) st = number_member(r, v, "atol", &c->atol);
    if (st) return st;
    if (c->command ? c->file || c->same_as || c->numbers : !c->file || !c->same_as == !c->numbers)
        return fault(r, "a check has 'command', or 'file' and one of 'same_as' and 'numbers'");
    if (c->rtol < 0 || c->atol < 0) return fault(r, "'rtol' and 'atol' must not be negative");
    return CBX_OK;
}

static cbx_status read_commands(reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *list;
    size_t n;
    cbx_status st = KNOWN(r, root, "schema", "version", "name", "kind", "summary", "params", "points", "representative",
                          "setup", "prepare", "check", "baselines");

    if (!st) st = text_member(r, root, "prepare", false, &d->prepare);
    if (!st) st = read_baselines(r, root);
    if (!st) st = list_member(r, root, "check", 0, CBX__DECLARED_MAX_CHECKS, &list, &n);
    for (size_t i = 0; !st && i < n; i++) {
        at(r, "check", i);
        st = read_check(r, cbx_json_at(list, i), &d->checks[i]);
        d->nchecks = i + 1;
    }
    r->where[0] = 0;
    if (st) return st;
    cbx__declared_fill_ops(d);
    return CBX_OK;
}

static cbx_status read_head(reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *version = cbx_json_get(root, "version");
    const char *kind = NULL, *schema = cbx_json_get_string(root, "schema", "");
    cbx_status st;

    if (cbx_json_typeof(root) != CBX_JSON_OBJECT || strcmp(schema, "nperf-case"))
        return fault(r, "no case file: \"schema\": \"nperf-case\" is expected");
    if (cbx_json_typeof(version) != CBX_JSON_INT || cbx_json_int_value(version) < 1)
        return fault(r, "\"version\": 1 is expected");
    if (cbx_json_int_value(version) > 1)
        return cbx_fail(r->err, CBX_EVERSION, "'%s' is of version %lld of case files, and this program reads 1",
                        d->what, (long long)cbx_json_int_value(version));
    st = name_member(r, root, &d->ops.name);
    d->ops.summary = "";
    if (!st) st = text_member(r, root, "summary", false, &d->ops.summary);
    if (!st) st = text_member(r, root, "setup", false, &d->setup);
    if (!st) st = text_member(r, root, "kind", true, &kind);
    if (st) return st;
    if (strcmp(kind, "python") && strcmp(kind, "commands")) return fault(r, "'kind' may be python or commands");
    d->kind = strcmp(kind, "python") ? CBX_DECLARED_COMMANDS : CBX_DECLARED_PYTHON;
    return CBX_OK;
}

/* --- the whole --- */

static cbx_status create(cbx_ctx *ctx, const char *what, const char *folder, cbx_declared **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_declared *d = cbx_mem_zalloc(al, sizeof *d);

    if (!d) return cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", what);
    d->al = *al;
    cbx_arena_init(&d->arena, al);
    d->what = cbx_arena_strdup(&d->arena, what);
    d->folder = cbx_arena_strdup(&d->arena, folder);
    if (!d->what || !d->folder) {
        cbx_declared_free(d);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", what);
    }
    *out = d;
    return CBX_OK;
}

cbx_status cbx_declared_parse(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *folder,
                              cbx_declared **out, cbx_err *err)
{
    cbx_json *root = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_declared *d = NULL;
    reader r = { .ctx = ctx, .err = err };
    cbx_status st = create(ctx, what, folder, &d, err);

    if (st) return st;
    r.d = d;
    st = cbx_json_parse(text, len, what, &root, &why);
    if (st) st = cbx_fail(err, st, "%s", why.message);
    if (!st) st = read_head(&r, root);
    if (!st) st = read_params(&r, root);
    if (!st) st = d->kind == CBX_DECLARED_PYTHON ? read_python(&r, root) : read_commands(&r, root);
    if (!st) st = read_points(&r, root);
    cbx_json_unref(root);
    if (st)
        cbx_declared_free(d);
    else
        *out = d;
    return st;
}

/* Files that must be there; and their hashes, on which the answer depends. */
static cbx_status see_files(cbx_ctx *ctx, cbx_declared *d, const char *own_hash, cbx_err *err)
{
    const char *key = own_hash;

    for (size_t i = 0; i < d->nfiles; i++) {
        char hash[CBX_HASH_SIZE];
        cbx_status st;
        if (access(d->files[i], R_OK))
            return cbx_fail(err, CBX_ENOENT, "'%s' names '%s': %s", d->what, d->files[i], strerror(errno));
        st = cbx_hash_file(ctx, d->files[i], hash, err);
        if (st) return st;
        key = cbx_arena_printf(&d->arena, "%s %s", key, hash);
        if (!key) return cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", d->what);
    }
    d->ops.oracle_key = key;
    return CBX_OK;
}

cbx_status cbx_declared_read(cbx_ctx *ctx, const char *path, cbx_declared **out, cbx_err *err)
{
    char *data = NULL, *folder, own[CBX_HASH_SIZE];
    const char *kept;
    size_t len = 0;
    cbx_declared *d = NULL;
    cbx_status st = cbx_file_read(ctx, path, MAX_FILE_BYTES, &data, &len, err);

    if (st) return st;
    folder = realpath(path, NULL);
    if (!folder) {
        st = cbx_fail_errno(err, errno, "cannot read '%s'", path);
    } else {
        *(strrchr(folder, '/') + (strrchr(folder, '/') == folder)) = 0;
        st = cbx_declared_parse(ctx, data, len, path, folder, &d, err);
    }
    if (!st) {
        cbx_hash_bytes(data, len, own);
        kept = cbx_arena_strdup(&d->arena, own);
        st = kept ? see_files(ctx, d, kept, err) : cbx_fail(err, CBX_ENOMEM, "out of memory for '%s'", path);
    }
    if (st)
        cbx_declared_free(d);
    else
        *out = d;
    free(folder);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    return st;
}

void cbx_declared_free(cbx_declared *d)
{
    if (!d) return;
    const cbx_allocator al = d->al;
    cbx_arena_clear(&d->arena);
    cbx_mem_free(&al, d, sizeof *d);
}

cbx_declared_kind cbx_declared_get_kind(const cbx_declared *d) { return d->kind; }
const cbx_case_ops *cbx_declared_case(const cbx_declared *d) { return &d->ops; }
