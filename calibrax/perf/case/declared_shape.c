/*
 * What a case file says of points and arrays: parameters and their values, shapes and contents, and axes that are permuted together.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/case/declared_reader.h"

/* --- parameters --- */

static cbx_status read_words(cbx__case_reader *r, const cbx_json *v, cbx_param_def *out)
{
    const cbx_json *list;
    const char **words;
    size_t n;
    cbx_status st = cbx__case_list(r, v, "words", 1, CBX__CASE_MAX_ENTRIES, &list, &n);

    if (st) return st;
    words = cbx_arena_calloc(&r->d->arena, n + 1, sizeof *words);
    if (!words) return cbx__case_no_memory(r);
    for (size_t i = 0; i < n; i++) {
        const char *s = cbx_json_string_value(cbx_json_at(list, i));
        if (!s || !cbx_name_is_safe(s)) return cbx__case_fault(r, "'words' holds something that is no word");
        words[i] = cbx_arena_strdup(&r->d->arena, s);
        if (!words[i]) return cbx__case_no_memory(r);
    }
    out->kind = CBX_PARAM_WORD;
    out->words = words;
    return CBX_OK;
}

static cbx_status read_range(cbx__case_reader *r, const cbx_json *v, cbx_param_def *out)
{
    const cbx_json *low = cbx_json_get(v, "min"), *high = cbx_json_get(v, "max");

    out->kind = CBX_PARAM_INT;
    if (cbx_json_typeof(low) != CBX_JSON_INT || cbx_json_typeof(high) != CBX_JSON_INT)
        return cbx__case_fault(r, "a parameter has 'words', or 'min' and 'max' that are whole numbers");
    out->min = cbx_json_int_value(low);
    out->max = cbx_json_int_value(high);
    return out->min <= out->max ? CBX_OK : cbx__case_fault(r, "'min' is larger than 'max'");
}

static cbx_status read_default(cbx__case_reader *r, const cbx_json *v, cbx_param_def *out)
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
    if (!out->fallback) return cbx__case_no_memory(r);
    return fits ? CBX_OK : cbx__case_fault(r, "'default' is not one of the allowed values");
}

cbx_status cbx__case_params(cbx__case_reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *list;
    size_t n;
    cbx_status st = cbx__case_list(r, root, "params", 0, 32, &list, &n);

    if (st) return st;
    d->params = cbx_arena_calloc(&d->arena, n + 1, sizeof *d->params);
    if (!d->params) return cbx__case_no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        const cbx_json *v = cbx_json_at(list, i);
        cbx_param_def *p = &d->params[i];
        cbx__case_at(r, "params", i);
        st = CBX__CASE_KNOWN(r, v, "name", "min", "max", "words", "default", "help");
        if (!st) st = cbx__case_name(r, v, &p->name);
        for (size_t k = 0; k < i && !st; k++)
            if (!strcmp(d->params[k].name, p->name))
                st = cbx__case_fault(r, "another parameter is called '%s'", p->name);
        if (!st) st = cbx_json_has(v, "words") ? read_words(r, v, p) : read_range(r, v, p);
        if (!st) st = read_default(r, v, p);
        if (!st) st = cbx__case_text(r, v, "help", false, &p->help);
    }
    d->ops.params = d->params;
    d->ops.nparams = n;
    r->where[0] = 0;
    return st;
}

cbx_status cbx__case_points(cbx__case_reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const char **texts;
    const cbx_json *list;
    double representative = 0;
    size_t n;
    cbx_status st = cbx__case_list(r, root, "points", 1, CBX__CASE_MAX_ENTRIES, &list, &n);

    if (st) return st;
    texts = cbx_arena_calloc(&d->arena, n, sizeof *texts);
    if (!texts) return cbx__case_no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        cbx_err why = CBX_ERR_INIT;
        cbx_params *p = NULL;
        cbx_text t;
        cbx__case_at(r, "points", i);
        cbx_text_init(&t, cbx_ctx_allocator(r->ctx));
        cbx_json_write(cbx_json_at(list, i), CBX_JSON_COMPACT, &t);
        st = cbx_text_check(&t, r->err);
        if (!st) st = cbx_case_point(r->ctx, &d->ops, cbx_text_str(&t), "it", &p, &why);
        if (st) st = st == CBX_ENOMEM ? cbx__case_no_memory(r) : cbx__case_fault(r, "%.200s", why.message);
        if (!st) texts[i] = cbx_arena_strdup(&d->arena, cbx_params_json(p));
        if (!st && !texts[i]) st = cbx__case_no_memory(r);
        cbx_params_free(p);
        cbx_text_clear(&t);
    }
    if (st) return st;
    r->where[0] = 0;
    st = cbx__case_number(r, root, "representative", &representative);
    if (st) return st;
    if (!(representative >= 0 && representative < (double)n) || representative != floor(representative))
        return cbx__case_fault(r, "'representative' has to be the number of a point, 0 to %zu", n - 1);
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

cbx_status cbx__case_formula(cbx__case_reader *r, const cbx_json *v, const char **out)
{
    const char *s = cbx_json_string_value(v);
    cbx_err why = CBX_ERR_INIT;
    double value;

    if (cbx_json_typeof(v) == CBX_JSON_INT)
        *out = cbx_arena_printf(&r->d->arena, "%lld", (long long)cbx_json_int_value(v));
    else if (s && strlen(s) <= 1024)
        *out = cbx_arena_strdup(&r->d->arena, s);
    else
        return cbx__case_fault(r, "a formula of parameters, or a whole number, is expected");
    if (!*out) return cbx__case_no_memory(r);
    if (cbx__expression_value(*out, any_name, r->d, &value, &why)) return cbx__case_fault(r, "%.200s", why.message);
    return CBX_OK;
}

static cbx_status read_fill(cbx__case_reader *r, const cbx_json *v, cbx__declared_array *a)
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
    cbx_status st = cbx__case_text(r, v, "fill", false, &word);

    if (st) return st;
    while (i < CBX_LEN(kinds) && strcmp(kinds[i].word, word)) i++;
    if (i == CBX_LEN(kinds)) return cbx__case_fault(r, "'fill' may be normal, uniform, integers, count or constant");
    a->fill = kinds[i].kind;
    a->low = kinds[i].low;
    a->high = kinds[i].high;
    st = cbx__case_number(r, v, "low", &a->low);
    if (!st) st = cbx__case_number(r, v, "high", &a->high);
    if (st) return st;
    if (a->fill == CBX__FILL_INTEGERS && !(a->low == floor(a->low) && a->high == floor(a->high) && a->low <= a->high &&
                                           fabs(a->low) < 0x1p53 && fabs(a->high) < 0x1p53))
        return cbx__case_fault(r, "integers go from 'low' to 'high', both whole");
    if (a->dtype == CBX_BOOL && a->fill != CBX__FILL_INTEGERS)
        return cbx__case_fault(r, "booleans are filled with integers 0 to 1");
    return CBX_OK;
}

static cbx_status read_array(cbx__case_reader *r, const cbx_json *v, bool input, cbx__declared_array *a)
{
    const char *dtype = NULL;
    const cbx_json *shape;
    size_t n;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = input ? CBX__CASE_KNOWN(r, v, "name", "dtype", "shape", "fill", "low", "high")
                          : CBX__CASE_KNOWN(r, v, "name", "dtype", "shape");

    if (!st) st = cbx__case_name(r, v, &a->name);
    if (!st) st = cbx__case_text(r, v, "dtype", true, &dtype);
    if (!st && (cbx_dtype_parse(dtype, &a->dtype, &why) || a->dtype == CBX_C64 || a->dtype == CBX_C128))
        st = cbx__case_fault(r, "'%.40s' is no dtype of a case: bool, int8 to int64, uint8 to uint64, float32, float64",
                             dtype);
    if (!st) st = cbx__case_list(r, v, "shape", 0, CBX_LEN(a->shape), &shape, &n);
    for (size_t i = 0; !st && i < n; i++) st = cbx__case_formula(r, cbx_json_at(shape, i), &a->shape[i]);
    if (!st) a->ndim = (int)n;
    return st || !input ? st : read_fill(r, v, a);
}

cbx_status cbx__case_arrays(cbx__case_reader *r, const cbx_json *root, const char *key, bool input,
                            cbx__declared_array *arrays, const char *const **names, size_t *count)
{
    const char **made;
    const cbx_json *list;
    size_t n;
    cbx_status st = cbx__case_list(r, root, key, 1, CBX_CASE_MAX_ARRAYS, &list, &n);

    if (st) return st;
    made = cbx_arena_calloc(&r->d->arena, n, sizeof *made);
    if (!made) return cbx__case_no_memory(r);
    for (size_t i = 0; i < n && !st; i++) {
        cbx__case_at(r, key, i);
        st = read_array(r, cbx_json_at(list, i), input, &arrays[i]);
        for (size_t k = 0; k < i && !st; k++)
            if (!strcmp(arrays[k].name, arrays[i].name))
                st = cbx__case_fault(r, "another one is called '%s'", arrays[i].name);
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

cbx_status cbx__case_groups(cbx__case_reader *r, const cbx_json *root)
{
    cbx_declared *d = r->d;
    const cbx_json *list;
    size_t n;
    cbx_status st = cbx__case_list(r, root, "permute", 0, CBX__DECLARED_MAX_GROUPS, &list, &n);

    for (size_t g = 0; g < n && !st; g++) {
        const cbx_json *v = cbx_json_at(list, g);
        cbx__case_at(r, "permute", g);
        for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) d->groups[g].input_axis[i] = d->groups[g].output_axis[i] = -1;
        if (cbx_json_typeof(v) != CBX_JSON_OBJECT || cbx_json_length(v) == 0)
            st = cbx__case_fault(r, "an object of arrays and their axes is expected");
        for (size_t i = 0; !st && i < cbx_json_length(v); i++) {
            const char *key = NULL;
            cbx_json *axis = NULL;
            if (!cbx_json_member(v, i, &key, &axis)) continue;
            if (!find_axis(d->inputs, d->ops.ninputs, key, axis, d->groups[g].input_axis) &&
                !find_axis(d->outputs, d->ops.noutputs, key, axis, d->groups[g].output_axis))
                st = cbx__case_fault(r, "'%.60s' is no array with such an axis", key);
        }
    }
    d->ngroups = n;
    r->where[0] = 0;
    return st;
}
