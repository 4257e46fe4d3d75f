/* JSON values: what one is, comparing, looking up. */
#include <math.h>
#include <string.h>

#include "calibrax/base/json_value.h"

/* --- what a value is --- */

cbx_json_type cbx_json_typeof(const cbx_json *v)
{
    static const cbx_json_type types[] = {
        [KIND_NULL] = CBX_JSON_NULL,   [KIND_BOOL] = CBX_JSON_BOOL,     [KIND_INT] = CBX_JSON_INT,
        [KIND_UINT] = CBX_JSON_INT,    [KIND_DOUBLE] = CBX_JSON_DOUBLE, [KIND_STRING] = CBX_JSON_STRING,
        [KIND_ARRAY] = CBX_JSON_ARRAY, [KIND_OBJECT] = CBX_JSON_OBJECT
    };

    return v ? types[v->kind] : CBX_JSON_NULL;
}

static const char *type_words(const cbx_json *v)
{
    static const char *const words[] = { "null",     "a boolean", "an integer", "a number",
                                         "a string", "an array",  "an object" };
    return words[cbx_json_typeof(v)];
}

/* The double as an exact int64; false if it is none. */
static bool double_as_int(double d, int64_t *out)
{
    if (!(d >= -0x1p63 && d < 0x1p63) || d != floor(d)) return false;
    *out = (int64_t)d;
    return true;
}

/* --- comparing --- */

static bool equal_int_double(const cbx_json *i, double d)
{
    int64_t n;

    if (i->kind == KIND_UINT) return d >= 0x1p63 && d < 0x1p64 && (uint64_t)d == i->large;
    return double_as_int(d, &n) && n == i->number;
}

static bool equal_numbers(const cbx_json *a, const cbx_json *b)
{
    if (a->kind == KIND_DOUBLE && b->kind == KIND_DOUBLE)
        return a->real == b->real || (isnan(a->real) && isnan(b->real));
    if (a->kind == KIND_DOUBLE) return equal_int_double(b, a->real);
    if (b->kind == KIND_DOUBLE) return equal_int_double(a, b->real);
    return a->kind == b->kind && a->number == b->number;
}

static bool equal_strings(const cbx_json *a, const cbx_json *b)
{
    return a->count == b->count && memcmp(cbx__as_string(a)->bytes, cbx__as_string(b)->bytes, a->count) == 0;
}

static bool equal_arrays(const cbx_json *a, const cbx_json *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (!cbx_json_equal(cbx_json_at(a, i), cbx_json_at(b, i))) return false;
    return true;
}

static bool equal_objects(const cbx_json *a, const cbx_json *b)
{
    const json_object *o = cbx__as_object(a);

    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        const json_member *m = &o->members[i],
                          *other = cbx__json_find(cbx__as_object(b), o->keys + m->key_at, m->key_len);
        if (!other || !cbx_json_equal(cbx__json_seen(&m->value), cbx__json_seen(&other->value))) return false;
    }
    return true;
}

static bool is_number(const cbx_json *v)
{
    return v && (v->kind == KIND_INT || v->kind == KIND_UINT || v->kind == KIND_DOUBLE);
}

bool cbx_json_equal(const cbx_json *a, const cbx_json *b)
{
    if (is_number(a) && is_number(b)) return equal_numbers(a, b);
    if (cbx_json_typeof(a) != cbx_json_typeof(b)) return false;
    switch (cbx_json_typeof(a)) {
    case CBX_JSON_BOOL: return a->truth == b->truth;
    case CBX_JSON_STRING: return equal_strings(a, b);
    case CBX_JSON_ARRAY: return equal_arrays(a, b);
    case CBX_JSON_OBJECT: return equal_objects(a, b);
    default: return true;
    }
}

/* --- values --- */

const char *cbx_json_string_value(const cbx_json *v)
{
    return cbx_json_typeof(v) == CBX_JSON_STRING ? cbx__as_string(v)->bytes : NULL;
}

static const struct {
    const char *word;
    double value;
} nonfinite[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

/* True for a number and for the strings that stand for one. */
static bool read_double(const cbx_json *v, double *out)
{
    const char *s = cbx_json_string_value(v);

    if (is_number(v)) {
        *out = v->kind == KIND_DOUBLE ? v->real : v->kind == KIND_UINT ? (double)v->large : (double)v->number;
        return true;
    }
    for (size_t i = 0; s && i < CBX_LEN(nonfinite); i++)
        if (!strcmp(s, nonfinite[i].word)) {
            *out = nonfinite[i].value;
            return true;
        }
    return false;
}

static bool read_int(const cbx_json *v, int64_t *out)
{
    if (!is_number(v)) return false;
    if (v->kind == KIND_DOUBLE) return double_as_int(v->real, out);
    *out = v->kind == KIND_UINT ? INT64_MAX : v->number;
    return true;
}

double cbx_json_double_value(const cbx_json *v)
{
    double d = NAN;
    read_double(v, &d);
    return d;
}

int64_t cbx_json_int_value(const cbx_json *v)
{
    int64_t n = 0;
    read_int(v, &n);
    return n;
}

bool cbx_json_bool_value(const cbx_json *v) { return cbx_json_typeof(v) == CBX_JSON_BOOL && v->truth; }

/* --- looking up --- */

static const json_member *member_of(const cbx_json *object, const char *key)
{
    return cbx_json_typeof(object) == CBX_JSON_OBJECT ? cbx__json_find(cbx__as_object(object), key, strlen(key)) : NULL;
}

bool cbx_json_has(const cbx_json *object, const char *key) { return member_of(object, key) != NULL; }

cbx_json *cbx_json_get(const cbx_json *object, const char *key)
{
    const json_member *m = member_of(object, key);
    return m ? cbx__json_seen(&m->value) : NULL;
}

size_t cbx_json_length(const cbx_json *v)
{
    return v && (v->kind == KIND_ARRAY || v->kind == KIND_OBJECT) ? v->count : 0;
}

cbx_json *cbx_json_at(const cbx_json *array, size_t i)
{
    if (cbx_json_typeof(array) != CBX_JSON_ARRAY || i >= array->count) return NULL;
    return cbx__json_seen(&cbx__as_array(array)->items[i]);
}

bool cbx_json_member(const cbx_json *object, size_t i, const char **key, cbx_json **value)
{
    const json_object *o = cbx__as_object(object);

    if (cbx_json_typeof(object) != CBX_JSON_OBJECT || i >= object->count) return false;
    *key = o->keys + o->members[i].key_at;
    *value = cbx__json_seen(&o->members[i].value);
    return true;
}

const char *cbx_json_get_string(const cbx_json *object, const char *key, const char *fallback)
{
    const char *s = cbx_json_string_value(cbx_json_get(object, key));
    return s ? s : fallback;
}

int64_t cbx_json_get_int(const cbx_json *object, const char *key, int64_t fallback)
{
    read_int(cbx_json_get(object, key), &fallback);
    return fallback;
}

double cbx_json_get_double(const cbx_json *object, const char *key, double fallback)
{
    read_double(cbx_json_get(object, key), &fallback);
    return fallback;
}

bool cbx_json_get_bool(const cbx_json *object, const char *key, bool fallback)
{
    const cbx_json *v = cbx_json_get(object, key);
    return cbx_json_typeof(v) == CBX_JSON_BOOL ? v->truth : fallback;
}

static cbx_status need_failed(const cbx_json *object, const char *key, const char *path, const char *expected,
                              cbx_err *err)
{
    const char *dot = path && *path ? "." : "";
    if (!path) path = "";
    if (object && cbx_json_typeof(object) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EFORMAT, "'%s': expected an object, found %s", *path ? path : "the value",
                        type_words(object));
    if (!cbx_json_has(object, key))
        return cbx_fail(err, CBX_EFORMAT, "'%s%s%s': expected %s, found nothing", path, dot, key, expected);
    return cbx_fail(err, CBX_EFORMAT, "'%s%s%s': expected %s, found %s", path, dot, key, expected,
                    type_words(cbx_json_get(object, key)));
}

cbx_status cbx_json_need_string(const cbx_json *object, const char *key, const char *path, const char **out,
                                cbx_err *err)
{
    const char *s = cbx_json_string_value(cbx_json_get(object, key));
    if (!s) return need_failed(object, key, path, "a string", err);
    *out = s;
    return CBX_OK;
}

cbx_status cbx_json_need_int(const cbx_json *object, const char *key, const char *path, int64_t *out, cbx_err *err)
{
    return read_int(cbx_json_get(object, key), out) ? CBX_OK : need_failed(object, key, path, "an integer", err);
}

cbx_status cbx_json_need_double(const cbx_json *object, const char *key, const char *path, double *out, cbx_err *err)
{
    return read_double(cbx_json_get(object, key), out) ? CBX_OK : need_failed(object, key, path, "a number", err);
}

static cbx_status need_type(const cbx_json *object, const char *key, const char *path, cbx_json_type type,
                            const char *expected, cbx_json **out, cbx_err *err)
{
    cbx_json *v = cbx_json_get(object, key);
    if (cbx_json_typeof(v) != type) return need_failed(object, key, path, expected, err);
    *out = v;
    return CBX_OK;
}

cbx_status cbx_json_need_object(const cbx_json *object, const char *key, const char *path, cbx_json **out, cbx_err *err)
{
    return need_type(object, key, path, CBX_JSON_OBJECT, "an object", out, err);
}

cbx_status cbx_json_need_array(const cbx_json *object, const char *key, const char *path, cbx_json **out, cbx_err *err)
{
    return need_type(object, key, path, CBX_JSON_ARRAY, "an array", out, err);
}
