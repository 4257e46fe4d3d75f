/*
 * Reading a case file: every member is known, of the right kind, and goes with the others; else a
 * message names it.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/case/declared_internal.h"
#include "calibrax/perf/case/provider.h"

#define MAX_FILE_BYTES (1u << 20)
#define MAX_ENTRIES    256
#define MAX_BASELINES  64

typedef struct case_reader {
    cbx__reader r; /* first: what cbx__member.read gets */
    cbx_declared *d;
} case_reader;

static void *make(case_reader *c, size_t count, size_t size)
{
    return cbx__read_made(&c->r, cbx_arena_calloc(&c->d->arena, count, size));
}

/* Name i of a list is unlike those before it; the names are `stride` bytes apart. */
static void refuse_twin(case_reader *c, const char *noun, const char *const *first, size_t stride, size_t i)
{
    const char *const *mine = (const void *)((const char *)first + i * stride);

    for (size_t k = 0; k < i && !c->r.st; k++)
        if (!strcmp(*(const char *const *)(const void *)((const char *)first + k * stride), *mine))
            cbx__read_fault(&c->r, "another %s is called '%s'", noun, *mine);
}

/* --- parameters and points --- */

static void read_param(case_reader *c, const cbx_json *v, cbx_param_def *p)
{
    static const cbx__member members[] = { { "name", cbx__read_name, offsetof(cbx_param_def, name), true },
                                           { "min", NULL, 0, false },
                                           { "max", NULL, 0, false },
                                           { "words", NULL, 0, false },
                                           { "default", NULL, 0, false },
                                           { "help", cbx__read_text, offsetof(cbx_param_def, help), false } };
    cbx__reader *r = &c->r;
    const cbx_json *low = cbx_json_get(v, "min"), *high = cbx_json_get(v, "max"), *value = cbx_json_get(v, "default");
    bool fits = !value;

    cbx__read_members(r, v, members, CBX_LEN(members), p);
    if (cbx_json_has(v, "words")) {
        size_t n;
        const cbx_json *list = cbx__read_list(r, v, "words", 1, MAX_ENTRIES, &n);
        const char **words = make(c, n + 1, sizeof *words);
        for (size_t i = 0; i < n && !r->st; i++) cbx__read_name(r, "words", cbx_json_at(list, i), &words[i]);
        p->kind = CBX_PARAM_WORD;
        p->words = words;
        for (size_t i = 0; i < n && !r->st && !fits; i++) {
            const char *s = cbx_json_string_value(value);
            fits = s && !strcmp(words[i], s);
            p->fallback = words[i];
        }
    } else {
        p->kind = CBX_PARAM_INT;
        p->min = cbx_json_int_value(low);
        p->max = cbx_json_int_value(high);
        if (cbx_json_typeof(low) != CBX_JSON_INT || cbx_json_typeof(high) != CBX_JSON_INT)
            cbx__read_fault(r, "a parameter needs 'words', or 'min' and 'max' that are integers");
        if (p->min > p->max) cbx__read_fault(r, "'min' is larger than 'max'");
        if (value) {
            const int64_t n = cbx_json_int_value(value);
            fits = cbx_json_typeof(value) == CBX_JSON_INT && n >= p->min && n <= p->max;
            p->fallback = cbx__read_made(r, cbx_arena_printf(&c->d->arena, "%lld", (long long)n));
        }
    }
    if (!fits) cbx__read_fault(r, "'default' is not one of the allowed values");
}

static void read_params(case_reader *c, const cbx_json *root)
{
    cbx_declared *d = c->d;
    size_t n;
    const cbx_json *list = cbx__read_list(&c->r, root, "params", 0, 32, &n);

    d->params = make(c, n + 1, sizeof *d->params);
    for (size_t i = 0; i < n && !c->r.st; i++) {
        cbx__read_at(&c->r, "params", i);
        read_param(c, cbx_json_at(list, i), &d->params[i]);
        refuse_twin(c, "parameter", &d->params->name, sizeof *d->params, i);
    }
    cbx__read_at(&c->r, NULL, 0);
    d->ops.params = d->params;
    d->ops.nparams = n;
}

/* Points in canonical form, each checked by the case's own rules: so this comes last. */
static void read_points(case_reader *c, const cbx_json *root)
{
    cbx_declared *d = c->d;
    cbx__reader *r = &c->r;
    size_t n;
    cbx_json *defaults = cbx_json_new_object(); /* of a file without points */
    const cbx_json *list = cbx__read_list(r, root, "points", cbx_json_has(root, "points"), MAX_ENTRIES, &n);

    if (!list && !r->st) n = 1;
    const char **texts = make(c, n, sizeof *texts);

    for (size_t i = 0; i < n && !r->st; i++) {
        cbx_err why = CBX_ERR_INIT;
        cbx_params *p = NULL;
        cbx__read_at(r, "points", i);
        CBX_SCOPED(cbx_text, t, cbx_ctx_allocator(r->ctx));
        cbx_json_write(list ? cbx_json_at(list, i) : defaults, CBX_JSON_COMPACT, &t);
        cbx_status st = cbx_text_check(&t, &why);
        if (!st) st = cbx_case_point(r->ctx, &d->ops, cbx_text_str(&t), "it", &p, &why);
        if (st == CBX_ENOMEM) cbx__read_made(r, NULL);
        if (st) cbx__read_fault(r, "%.200s", why.message);
        if (!st) texts[i] = cbx__read_made(r, cbx_arena_strdup(&d->arena, cbx_params_json(p)));
        cbx_params_free(p);
    }
    cbx_json_unref(defaults);
    cbx__read_at(r, NULL, 0);
    if (!(d->representative >= 0 && d->representative < (double)n) || d->representative != floor(d->representative))
        cbx__read_fault(r, "'representative' must be the number of a point, 0 to %zu", n ? n - 1 : 0);
    if (r->st) return;
    d->ops.points = texts;
    d->ops.npoints = n;
    d->ops.representative = (size_t)d->representative;
}

/* --- arrays --- */

static bool any_number(const void *user, const char *name, size_t len, double *out)
{
    const cbx_param_def *p = cbx__declared_param(user, name, len);
    *out = 1;
    return p && p->kind == CBX_PARAM_INT;
}

/* A formula as text, or an integer; its names are parameters. */
static void read_formula(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *s = cbx_json_string_value(v);
    cbx_err why = CBX_ERR_INIT;
    double value;

    if (cbx_json_typeof(v) != CBX_JSON_INT && (!s || strlen(s) > 1024))
        cbx__read_fault(r, "'%s' must be a formula of parameters, or an integer", name);
    if (r->st) return;
    const char *formula = s ? cbx_arena_strdup(r->arena, s)
                            : cbx_arena_printf(r->arena, "%lld", (long long)cbx_json_int_value(v));
    *(const char **)out = cbx__read_made(r, formula);
    if (formula && cbx__expression_value(formula, any_number, ((case_reader *)r)->d, &value, &why))
        cbx__read_fault(r, "%.200s", why.message);
}

static void read_dtype(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *s = NULL;
    cbx_dtype *t = out;

    cbx__read_text(r, name, v, &s);
    if (!r->st && (cbx_dtype_parse(s, t, NULL) || *t == CBX_C64 || *t == CBX_C128))
        cbx__read_fault(
            r, "'%.40s' is not a dtype of a case: use bool, int8 to int64, uint8 to uint64, float32 or float64", s);
}

static void read_fill(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    static const char *const fills[] = { "normal", "uniform", "integers", "count", "constant" };
    const size_t i = CBX_WORD_AT(fills, cbx_json_string_value(v));

    if (i == CBX_LEN(fills)) cbx__read_fault(r, "'%s' must be normal, uniform, integers, count or constant", name);
    *(cbx__fill_kind *)out = (cbx__fill_kind)i;
}

static void read_arrays(case_reader *c, const cbx_json *root, bool input)
{
#define PLACE(m) offsetof(cbx__declared_array, m)
    static const cbx__member members[] = {
        { "name", cbx__read_name, PLACE(name), true },
        { "dtype", read_dtype, PLACE(dtype), true },
        { "shape", NULL, 0, true },
        { "fill", read_fill, PLACE(fill), false },
        { "low", cbx__read_number, PLACE(low), false },
        { "high", cbx__read_number, PLACE(high), false },
    };
    static const cbx__member output_members[] = {
        { "name", cbx__read_name, PLACE(name), true },
        { "dtype", read_dtype, PLACE(dtype), true },
        { "shape", NULL, 0, true },
        { "rtol", cbx__read_tolerance, PLACE(rtol), false },
        { "atol", cbx__read_tolerance, PLACE(atol), false },
    };
#undef PLACE
    cbx__declared_array *arrays = input ? c->d->inputs : c->d->outputs;
    cbx_case_ops *ops = &c->d->ops;
    cbx__reader *r = &c->r;
    const char *key = input ? "inputs" : "outputs";
    size_t n;
    const cbx_json *list = cbx__read_list(r, root, key, 1, CBX_CASE_MAX_ARRAYS, &n);
    const char **names = make(c, n, sizeof *names);

    for (size_t i = 0; i < n && !r->st; i++) {
        const cbx_json *v = cbx_json_at(list, i);
        cbx__declared_array *a = &arrays[i];
        size_t rank;
        cbx__read_at(r, key, i);
        a->high = a->rtol = a->atol = NAN;
        cbx__read_members(r, v, input ? members : output_members, input ? CBX_LEN(members) : CBX_LEN(output_members),
                          a);
        if (isnan(a->high)) a->high = a->fill <= CBX__FILL_INTEGERS;
        const cbx_json *shape = cbx__read_list(r, v, "shape", 0, CBX_LEN(a->shape), &rank);
        for (size_t k = 0; k < rank && !r->st; k++) read_formula(r, "shape", cbx_json_at(shape, k), &a->shape[k]);
        a->ndim = (int)rank;
        if (a->fill == CBX__FILL_INTEGERS && !(a->low == floor(a->low) && a->high == floor(a->high) &&
                                               a->low <= a->high && fabs(a->low) < 0x1p53 && fabs(a->high) < 0x1p53))
            cbx__read_fault(r, "integers need integers 'low' and 'high', 'low' at most 'high'");
        if (input && a->dtype == CBX_BOOL && a->fill != CBX__FILL_INTEGERS)
            cbx__read_fault(r, "booleans are filled with integers 0 to 1");
        refuse_twin(c, "array", &arrays->name, sizeof *arrays, i);
        names[i] = a->name;
    }
    cbx__read_at(r, NULL, 0);
    *(input ? &ops->input_names : &ops->output_names) = names;
    *(input ? &ops->ninputs : &ops->noutputs) = n;
}

static bool find_axis(const cbx__declared_array *arrays, size_t n, const char *name, const cbx_json *v, int *axes)
{
    const int64_t axis = cbx_json_int_value(v);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(arrays[i].name, name)) continue;
        axes[i] = (int)axis;
        return cbx_json_typeof(v) == CBX_JSON_INT && axis >= 0 && axis < arrays[i].ndim;
    }
    return false;
}

static void read_groups(case_reader *c, const cbx_json *root)
{
    cbx_declared *d = c->d;
    const cbx_json *list = cbx__read_list(&c->r, root, "permute", 0, CBX__DECLARED_MAX_GROUPS, &d->ngroups);

    for (size_t g = 0; g < d->ngroups && !c->r.st; g++) {
        const cbx_json *v = cbx_json_at(list, g);
        cbx__declared_group *group = &d->groups[g];
        const char *key;
        cbx_json *axis;
        cbx__read_at(&c->r, "permute", g);
        for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) group->input_axis[i] = group->output_axis[i] = -1;
        if (cbx_json_typeof(v) != CBX_JSON_OBJECT || cbx_json_length(v) == 0)
            cbx__read_fault(&c->r, "expected an object of arrays and their axes");
        for (size_t i = 0; !c->r.st && cbx_json_member(v, i, &key, &axis); i++)
            if (!find_axis(d->inputs, d->ops.ninputs, key, axis, group->input_axis) &&
                !find_axis(d->outputs, d->ops.noutputs, key, axis, group->output_axis))
                cbx__read_fault(&c->r, "'%.60s' is not an array with such an axis", key);
    }
    cbx__read_at(&c->r, NULL, 0);
}

/* --- functions and commands --- */

/* The definition of a function that a worker receives: workers/python/cases/declared.py reads
 * it. */
static const char *define(case_reader *c, const cbx__declared_entry *f, bool reference)
{
    const cbx_case_ops *ops = &c->d->ops;
    cbx_arena *arena = &c->d->arena;
    const char *colon = f->python ? strrchr(f->python, ':') : NULL, *file;
    cbx_text t;

    if (!colon || colon == f->python || !colon[1])
        cbx__read_fault(&c->r, "'%.80s' is not a function: expected 'file.py:function'", f->python);
    if (c->r.st) return NULL;
    file = cbx__read_made(&c->r, cbx_arena_strndup(arena, f->python, (size_t)(colon - f->python)));
    if (file && *file != '/') file = cbx__read_made(&c->r, cbx_path_join(arena, c->d->folder, file));
    if (!cbx_list_push(CBX_IN_ARENA(arena), &c->d->files, file)) cbx__read_made(&c->r, NULL);
    CBX_OWNED(cbx_json) *o = cbx_json_object(
        J_TEXT("file", file), J_TEXT("call", colon + 1), J_GIVEN("setup", f->setup),
        J_TEXTS("inputs", ops->input_names, ops->ninputs), J_TEXTS("outputs", ops->output_names, ops->noutputs));
    if (reference) {
        cbx_json_put(o, J_NUMBER("rtol", f->rtol), J_NUMBER("atol", f->atol));
        /* The tolerances of each output, and the dtype of those whose answers are compared as
         * integers. */
        cbx_json *values = NULL;
        for (const cbx__declared_array *a = c->d->outputs; a < c->d->outputs + c->d->ops.noutputs; a++)
            if (!isnan(a->rtol) || !isnan(a->atol) || a->dtype == CBX_I64 || a->dtype == CBX_U64)
                values = cbx_json_set_array(o, "tolerances");
        for (const cbx__declared_array *a = c->d->outputs; a < c->d->outputs + c->d->ops.noutputs && values; a++) {
            const char *integers = a->dtype == CBX_I64 ? "int64" : a->dtype == CBX_U64 ? "uint64" : NULL;
            cbx_json_put(cbx_json_push_object(values), J_NUMBER("rtol", isnan(a->rtol) ? f->rtol : a->rtol),
                         J_NUMBER("atol", isnan(a->atol) ? f->atol : a->atol), J_GIVEN("integers", integers));
        }
    }
    cbx_text_init(&t, cbx_ctx_allocator(c->r.ctx));
    cbx_json_write(o, CBX_JSON_COMPACT, &t);
    return cbx__read_made(&c->r, cbx__text_keep(&t, arena));
}

static void read_provider(cbx__reader *r, const char *name, const cbx_json *v, void *out)
{
    const char *s = cbx_json_string_value(v);
    const cbx_provider_ops *p = cbx_provider_find(s);

    cbx__read_text(r, name, v, out);
    if (!p || !p->python)
        cbx__read_fault(r, "'%.40s' is not a provider of Python functions: 'nperf doctor' lists them", s);
}

#define PLACE(m) offsetof(cbx__declared_entry, m)
static const cbx__member reference_members[] = { { "provider", read_provider, PLACE(provider), true },
                                                 { "python", cbx__read_text, PLACE(python), true },
                                                 { "setup", cbx__read_text, PLACE(setup), false },
                                                 { "rtol", cbx__read_tolerance, PLACE(rtol), false },
                                                 { "atol", cbx__read_tolerance, PLACE(atol), false } };
static const cbx__member python_baseline[] = {
    { "name", cbx__read_name, PLACE(name), true },      { "summary", cbx__read_text, PLACE(summary), false },
    { "slow", cbx__read_text, PLACE(slow), false },     { "provider", read_provider, PLACE(provider), true },
    { "python", cbx__read_text, PLACE(python), true },  { "setup", cbx__read_text, PLACE(setup), false },
    { "mutant", cbx__read_text, PLACE(mutant), false }, { "must_fail", cbx__read_text, PLACE(must_fail), false }
};
#undef PLACE

static void read_baselines(case_reader *c, const cbx_json *root)
{
    cbx_declared *d = c->d;
    const bool python = d->kind == CBX_DECLARED_PYTHON;
    size_t n;
    const cbx_json *list = cbx__read_list(&c->r, root, "baselines", 1, MAX_BASELINES, &n);
    const cbx_baseline_ops **table = make(c, n, sizeof *table);

    d->baselines = make(c, n, sizeof *d->baselines);
    d->commands = make(c, n, sizeof *d->commands);
    for (size_t i = 0; i < n && !c->r.st; i++) {
        cbx__declared_entry e = { .summary = "", .provider = "command" };
        cbx__read_at(&c->r, "baselines", i);
        cbx__read_members(&c->r, cbx_json_at(list, i), python ? python_baseline : cbx__command_members,
                          python ? CBX_LEN(python_baseline) : cbx__command_nmembers, &e);
        d->baselines[i] = (cbx_baseline_ops){ .struct_size = sizeof *d->baselines,
                                              .abi = CBX_CASE_ABI,
                                              .name = e.name,
                                              .provider = e.provider,
                                              .summary = e.summary,
                                              .slow_reason = e.slow,
                                              .mutant_reason = e.mutant,
                                              .must_fail = e.must_fail };
        d->commands[i] = e.run;
        refuse_twin(c, "baseline", &d->baselines->name, sizeof *d->baselines, i);
        if (i && d->baselines[i - 1].mutant_reason && !e.mutant) cbx__read_fault(&c->r, "mutants come last");
        if (python && !c->r.st) d->baselines[i].definition = define(c, &e, false);
        table[i] = &d->baselines[i];
    }
    cbx__read_at(&c->r, NULL, 0);
    d->ops.baselines = table;
    d->ops.nbaselines = n;
}

static void read_checks(case_reader *c, const cbx_json *root)
{
#define PLACE(m) offsetof(cbx_command_check, m)
    static const cbx__member members[] = {
        { "command", cbx__read_text, PLACE(command), false }, { "file", cbx__read_text, PLACE(file), false },
        { "same_as", cbx__read_text, PLACE(same_as), false }, { "numbers", cbx__read_text, PLACE(numbers), false },
        { "rtol", cbx__read_tolerance, PLACE(rtol), false },  { "atol", cbx__read_tolerance, PLACE(atol), false },
    };
#undef PLACE
    cbx_declared *d = c->d;
    const cbx_json *list = cbx__read_list(&c->r, root, "check", 0, CBX__DECLARED_MAX_CHECKS, &d->nchecks);

    for (size_t i = 0; i < d->nchecks && !c->r.st; i++) {
        cbx_command_check *k = &d->checks[i];
        cbx__read_at(&c->r, "check", i);
        cbx__read_members(&c->r, cbx_json_at(list, i), members, CBX_LEN(members), k);
        if (k->command ? k->file || k->same_as || k->numbers : !k->file || !k->same_as == !k->numbers)
            cbx__read_fault(&c->r, "a check needs 'command', or 'file' and one of 'same_as' and 'numbers'");
    }
    cbx__read_at(&c->r, NULL, 0);
}

/* --- the document --- */

#define PLACE(m) offsetof(cbx_declared, m)
#define ANY_CASE                                                                                                       \
    { "schema", NULL, 0, true }, { "version", NULL, 0, true }, { "name", cbx__read_name, PLACE(ops.name), true },      \
        { "kind", NULL, 0, true }, { "summary", cbx__read_text, PLACE(ops.summary), false },                           \
        { "setup", cbx__read_text, PLACE(setup), false }, { "params", NULL, 0, false }, { "points", NULL, 0, false },  \
        { "representative", cbx__read_number, PLACE(representative), false },                                          \
    {                                                                                                                  \
        "baselines", NULL, 0, true                                                                                     \
    }
static const cbx__member python_case[] = { ANY_CASE,
                                           { "inputs", NULL, 0, true },
                                           { "outputs", NULL, 0, true },
                                           { "permute", NULL, 0, false },
                                           { "work", NULL, 0, false },
                                           { "reference", NULL, 0, true } };
static const cbx__member command_case[] = { ANY_CASE,
                                            { "prepare", cbx__read_text, PLACE(prepare), false },
                                            { "folder", cbx__read_text, PLACE(where), false },
                                            { "check", NULL, 0, false } };
static const cbx__member work_members[] = { { "macs", read_formula, PLACE(macs), false },
                                            { "flop", read_formula, PLACE(flop), false },
                                            { "bytes", read_formula, PLACE(bytes), false } };
#undef PLACE

static void read_case(case_reader *c, const cbx_json *root)
{
    cbx_declared *d = c->d;
    cbx__reader *r = &c->r;
    const cbx_json *version = cbx_json_get(root, "version");
    const char *kind = cbx_json_get_string(root, "kind", NULL), *schema = cbx_json_get_string(root, "schema", "");

    if (!strcmp(schema, "calibrax-benchmarks"))
        r->st = cbx_fail(r->err, CBX_EFORMAT,
                         "'%s' is of the former schema 'calibrax-benchmarks': write \"schema\": \"nperf-case\", "
                         "\"version\": 1, \"name\": \"NAME\", \"kind\": \"commands\", and \"baselines\", \"prepare\" "
                         "and \"conclude\" for benchmarks, setup and teardown",
                         d->what);
    else if (strcmp(schema, "nperf-case"))
        r->st = cbx_fail(r->err, CBX_EFORMAT, "'%s' is not a case file: expected \"schema\": \"nperf-case\"", d->what);
    if (cbx_json_typeof(version) != CBX_JSON_INT || cbx_json_int_value(version) < 1)
        cbx__read_fault(r, "expected \"version\": 1");
    if (!r->st && cbx_json_int_value(version) > 1)
        r->st = cbx_fail(r->err, CBX_EVERSION, "'%s' is of version %lld of case files, and this program reads 1",
                         d->what, (long long)cbx_json_int_value(version));
    if (!kind) cbx__read_fault(r, "member 'kind' is missing");
    bool python = kind && !strcmp(kind, "python");
    if (!python && kind && strcmp(kind, "commands")) cbx__read_fault(r, "'kind' must be python or commands");
    if (r->st) return;
    d->kind = python ? CBX_DECLARED_PYTHON : CBX_DECLARED_COMMANDS;
    d->ops.summary = "";
    cbx__read_members(r, root, python ? python_case : command_case,
                      python ? CBX_LEN(python_case) : CBX_LEN(command_case), d);
    read_params(c, root);
    if (python) {
        read_arrays(c, root, true);
        read_arrays(c, root, false);
        read_groups(c, root);
        snprintf(r->where, sizeof r->where, "work");
        if (cbx_json_has(root, "work"))
            cbx__read_members(r, cbx_json_get(root, "work"), work_members, CBX_LEN(work_members), d);
        cbx__declared_entry reference = { 0 };
        snprintf(r->where, sizeof r->where, "reference");
        cbx__read_members(r, cbx_json_get(root, "reference"), reference_members, CBX_LEN(reference_members),
                          &reference);
        d->ops.oracle_provider = reference.provider;
        if (!r->st) d->ops.oracle_definition = define(c, &reference, true);
        cbx__read_at(r, NULL, 0);
    } else {
        read_checks(c, root);
        if (d->where && *d->where != '/') d->where = cbx__read_made(r, cbx_path_join(&d->arena, d->folder, d->where));
    }
    read_baselines(c, root);
    if (r->st) return;
    cbx__declared_fill_ops(d);
    read_points(c, root);
}

static cbx_status parse(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *folder,
                        const cbx_allocator *al, cbx_declared **out, cbx_err *err)
{
    cbx_declared *d = CBX_ARENA_OBJECT(cbx_declared, al);
    case_reader c = { .r = { .ctx = ctx, .what = what, .folder = folder, .err = err }, .d = d };
    CBX_OWNED(cbx_json) *root = NULL;

    if (!cbx__read_made(&c.r, d)) return c.r.st;
    c.r.arena = &d->arena;
    d->what = cbx__read_made(&c.r, cbx_arena_strdup(&d->arena, what));
    d->folder = cbx__read_made(&c.r, cbx_arena_strdup(&d->arena, folder));
    if (!c.r.st) c.r.st = cbx_json_parse(text, len, what, &root, err);
    if (!c.r.st) read_case(&c, root);
    if (c.r.st)
        cbx_declared_free(d);
    else
        *out = d;
    return c.r.st;
}

cbx_status cbx_declared_parse(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *folder,
                              cbx_declared **out, cbx_err *err)
{
    return parse(ctx, text, len, what, folder, cbx_ctx_allocator(ctx), out, err);
}

cbx_status cbx_declared_read(cbx_ctx *ctx, const char *path, cbx_declared **out, cbx_err *err)
{
    return cbx__declared_read(ctx, path, cbx_ctx_allocator(ctx), out, err);
}

cbx_status cbx__declared_read(cbx_ctx *ctx, const char *path, const cbx_allocator *al, cbx_declared **out, cbx_err *err)
{
    char *data = NULL, *folder, hash[CBX_HASH_SIZE];
    size_t len = 0;
    cbx_declared *d = NULL;
    cbx_status st = cbx_file_read(ctx, path, MAX_FILE_BYTES, &data, &len, err);

    if (st) return st;
    folder = realpath(path, NULL);
    if (folder) {
        *(strrchr(folder, '/') + (strrchr(folder, '/') == folder)) = 0;
        st = parse(ctx, data, len, path, folder, al, &d, err);
    } else
        st = cbx_fail_errno(err, errno, "cannot read '%s'", path);
    /* The answer depends on this file and on those that it names, which must exist. */
    cbx_hash_bytes(data, len, hash);
    const char *key = st ? NULL : cbx_arena_strdup(&d->arena, hash);
    for (size_t i = 0; key && i < d->files.n && !st; i++) {
        const char *file = d->files.items[i];
        st = access(file, R_OK) ? cbx_fail(err, CBX_ENOENT, "'%s' names '%s': %s", d->what, file, strerror(errno))
                                : cbx_hash_file(ctx, file, hash, err);
        if (!st) key = cbx_arena_printf(&d->arena, "%s %s", key, hash);
    }
    if (!st && !key) st = cbx_fail_nomem(err, path);
    if (!st) d->ops.oracle_key = key;
    free(folder);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    return CBX_FINISH(st, *out = d, cbx_declared_free(d));
}

void cbx_declared_free(cbx_declared *d)
{
    if (d) cbx_arena_end(&d->arena);
}

cbx_declared_kind cbx_declared_get_kind(const cbx_declared *d) { return d->kind; }
const cbx_case_ops *cbx_declared_case(const cbx_declared *d) { return &d->ops; }
