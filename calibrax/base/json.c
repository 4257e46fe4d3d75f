/*
 * JSON values: comparing, looking up, building, copying.
 *
 * Memory comes from malloc, since values outlive contexts and are made without one.
 */
#include "calibrax/base/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/json_internal.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/json_stream.h"

#define MAX_SEARCHED 8 /* members that are found without slots */

#define NIL       ((cbx_json){ .kind = KIND_NULL })
#define BOOL(v)   ((cbx_json){ .kind = KIND_BOOL, .truth = (v) })
#define INT(v)    ((cbx_json){ .kind = KIND_INT, .number = (v) })
#define DOUBLE(v) ((cbx_json){ .kind = KIND_DOUBLE, .real = (v) })

cbx_json_type cbx_json_typeof(const cbx_json *v)
{
    static const cbx_json_type types[] = {
        [KIND_NULL] = CBX_JSON_NULL,     [KIND_BOOL] = CBX_JSON_BOOL,     [KIND_INT] = CBX_JSON_INT,
        [KIND_DOUBLE] = CBX_JSON_DOUBLE, [KIND_STRING] = CBX_JSON_STRING, [KIND_ARRAY] = CBX_JSON_ARRAY,
        [KIND_OBJECT] = CBX_JSON_OBJECT, [KIND_LONG] = CBX_JSON_INT
    };

    return v ? types[v->kind] : CBX_JSON_NULL;
}

/* --- values --- */

/* The double as an exact int64; false if it is not one. */
static bool double_as_int(double d, int64_t *out)
{
    if (!(d >= -0x1p63 && d < 0x1p63) || d != floor(d)) return false;
    *out = (int64_t)d;
    return true;
}

static bool is_number(const cbx_json *v)
{
    return v && (v->kind == KIND_INT || v->kind == KIND_LONG || v->kind == KIND_DOUBLE);
}

static bool equal_numbers(const cbx_json *a, const cbx_json *b)
{
    char digits[DBL_MAX_10_EXP + 4];
    int64_t n;

    if (a->kind == KIND_DOUBLE && b->kind == KIND_DOUBLE)
        return a->real == b->real || (isnan(a->real) && isnan(b->real));
    if (a->kind == KIND_DOUBLE) return equal_numbers(b, a);
    if (a->kind == KIND_LONG && b->kind == KIND_LONG)
        return strcmp(cbx__as_string(a)->bytes, cbx__as_string(b)->bytes) == 0;
    if (b->kind != KIND_DOUBLE) return a->kind == b->kind && a->number == b->number;
    if (a->kind == KIND_LONG) {
        snprintf(digits, sizeof digits, "%.0f", b->real);
        return b->real == floor(b->real) && strcmp(digits, cbx__as_string(a)->bytes) == 0;
    }
    return double_as_int(b->real, &n) && n == a->number;
}

bool cbx_json_equal(const cbx_json *a, const cbx_json *b)
{
    if (is_number(a) && is_number(b)) return equal_numbers(a, b);
    if (cbx_json_typeof(a) != cbx_json_typeof(b)) return false;
    if (!a || a->kind == KIND_NULL) return true;
    if (a->kind == KIND_BOOL) return a->truth == b->truth;
    if (a->count != b->count) return false;
    if (a->kind == KIND_STRING) return memcmp(cbx__as_string(a)->bytes, cbx__as_string(b)->bytes, a->count) == 0;
    for (size_t i = 0; i < a->count; i++) {
        if (a->kind == KIND_ARRAY) {
            if (!cbx_json_equal(cbx_json_at(a, i), cbx_json_at(b, i))) return false;
            continue;
        }
        const json_object *o = cbx__as_object(a);
        const json_member *m = &o->members[i],
                          *other = cbx__json_find(cbx__as_object(b), o->keys + m->key_at, m->key_len);
        if (!other || !cbx_json_equal(cbx__json_resolve(&m->value), cbx__json_resolve(&other->value))) return false;
    }
    return true;
}

const char *cbx_json_string_value(const cbx_json *v)
{
    return cbx_json_typeof(v) == CBX_JSON_STRING ? cbx__as_string(v)->bytes : NULL;
}

bool cbx__json_double(const cbx_json *v, double *out)
{
    static const struct {
        const char *word;
        double value;
    } nonfinite[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };
    const char *s = cbx_json_string_value(v);

    if (is_number(v)) {
        *out = v->kind == KIND_DOUBLE ? v->real
               : v->kind == KIND_LONG ? strtod(cbx__as_string(v)->bytes, NULL)
                                      : (double)v->number;
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
    *out = v->kind == KIND_INT ? v->number : cbx__as_string(v)->bytes[0] == '-' ? INT64_MIN : INT64_MAX;
    return true;
}

double cbx_json_double_value(const cbx_json *v)
{
    double d = NAN;
    cbx__json_double(v, &d);
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

static json_member *member_of(const cbx_json *object, const char *key)
{
    return cbx_json_typeof(object) == CBX_JSON_OBJECT ? cbx__json_find(cbx__as_object(object), key, strlen(key)) : NULL;
}

bool cbx_json_has(const cbx_json *object, const char *key) { return member_of(object, key) != NULL; }

cbx_json *cbx_json_get(const cbx_json *object, const char *key)
{
    const json_member *m = member_of(object, key);
    return m ? cbx__json_resolve(&m->value) : NULL;
}

size_t cbx_json_length(const cbx_json *v)
{
    return v && (v->kind == KIND_ARRAY || v->kind == KIND_OBJECT) ? v->count : 0;
}

cbx_json *cbx_json_at(const cbx_json *array, size_t i)
{
    if (cbx_json_typeof(array) != CBX_JSON_ARRAY || i >= array->count) return NULL;
    return cbx__json_resolve(&cbx__as_array(array)->items[i]);
}

bool cbx_json_member(const cbx_json *object, size_t i, const char **key, cbx_json **value)
{
    const json_object *o = cbx__as_object(object);

    if (cbx_json_typeof(object) != CBX_JSON_OBJECT || i >= object->count) return false;
    *key = o->keys + o->members[i].key_at;
    *value = cbx__json_resolve(&o->members[i].value);
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
    cbx__json_double(cbx_json_get(object, key), &fallback);
    return fallback;
}

bool cbx_json_get_bool(const cbx_json *object, const char *key, bool fallback)
{
    const cbx_json *v = cbx_json_get(object, key);
    return cbx_json_typeof(v) == CBX_JSON_BOOL ? v->truth : fallback;
}

const char *cbx_json_type_name(cbx_json_type type)
{
    static const char *const words[] = { "null",     "a boolean", "an integer", "a number",
                                         "a string", "an array",  "an object" };
    return words[type];
}

/* CBX_OK if the member is as expected, else what was found. */
static cbx_status need(bool good, const cbx_json *object, const char *key, const char *path, const char *expected,
                       cbx_err *err)
{
    const char *dot = path && *path ? "." : "", *found = cbx_json_type_name(cbx_json_typeof(cbx_json_get(object, key)));

    if (good) return CBX_OK;
    if (!path) path = "";
    if (object && cbx_json_typeof(object) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EFORMAT, "'%s': expected an object, found %s", *path ? path : "the value",
                        cbx_json_type_name(cbx_json_typeof(object)));
    return cbx_fail(err, CBX_EFORMAT, "'%s%s%s': expected %s, found %s", path, dot, key, expected,
                    cbx_json_has(object, key) ? found : "nothing");
}

cbx_status cbx_json_need_string(const cbx_json *object, const char *key, const char *path, const char **out,
                                cbx_err *err)
{
    const char *s = cbx_json_string_value(cbx_json_get(object, key));
    if (s) *out = s;
    return need(s, object, key, path, "a string", err);
}

cbx_status cbx_json_need_int(const cbx_json *object, const char *key, const char *path, int64_t *out, cbx_err *err)
{
    return need(read_int(cbx_json_get(object, key), out), object, key, path, "an integer", err);
}

cbx_status cbx_json_need_double(const cbx_json *object, const char *key, const char *path, double *out, cbx_err *err)
{
    return need(cbx__json_double(cbx_json_get(object, key), out), object, key, path, "a number", err);
}

static cbx_status need_container(const cbx_json *object, const char *key, const char *path, cbx_json_type type,
                                 cbx_json **out, cbx_err *err)
{
    cbx_json *v = cbx_json_get(object, key);
    bool good = cbx_json_typeof(v) == type;

    if (good) *out = v;
    return need(good, object, key, path, cbx_json_type_name(type), err);
}

cbx_status cbx_json_need_object(const cbx_json *object, const char *key, const char *path, cbx_json **out, cbx_err *err)
{
    return need_container(object, key, path, CBX_JSON_OBJECT, out, err);
}

cbx_status cbx_json_need_array(const cbx_json *object, const char *key, const char *path, cbx_json **out, cbx_err *err)
{
    return need_container(object, key, path, CBX_JSON_ARRAY, out, err);
}

/* --- making and freeing --- */

static void *node_new(kind k, size_t size)
{
    cbx_json *v = calloc(1, size);

    if (!v) return NULL;
    v->refs = 1;
    v->kind = (uint16_t)k;
    return v;
}

/* A small value of its own. */
static cbx_json *box(cbx_json small)
{
    cbx_json *v = node_new(small.kind, sizeof *v);

    if (v) v->number = small.number;
    return v;
}

json_string *cbx__json_string_new(size_t n)
{
    json_string *s = n < SIZE_MAX - sizeof *s ? malloc(sizeof *s + n + 1) : NULL;

    if (!s) return NULL;
    s->head = (cbx_json){ .refs = 1, .kind = KIND_STRING, .count = n };
    s->bytes[n] = 0;
    return s;
}

cbx_json *cbx__json_text_new(kind k, const char *s, size_t n)
{
    json_string *v = cbx__json_string_new(n);

    if (!v) return NULL;
    memcpy(v->bytes, s, n);
    v->head.kind = (uint16_t)k;
    return &v->head;
}

cbx_json *cbx_json_new_object(void) { return node_new(KIND_OBJECT, sizeof(json_object)); }
cbx_json *cbx_json_new_array(void) { return node_new(KIND_ARRAY, sizeof(json_array)); }
cbx_json *cbx_json_new_int(int64_t v) { return box(INT(v)); }
cbx_json *cbx_json_new_double(double v) { return box(DOUBLE(v)); }
cbx_json *cbx_json_new_bool(bool v) { return box(BOOL(v)); }
cbx_json *cbx_json_new_string(const char *s) { return cbx__json_text_new(KIND_STRING, s, strlen(s)); }

cbx_json *cbx_json_ref(cbx_json *v)
{
    if (!v) return NULL;
    if (v->refs == 0) return box(*v);
    v->refs++;
    return v;
}

void cbx_json_unref(cbx_json *v)
{
    if (!v) return;
    assert(v->refs > 0);
    if (--v->refs > 0) return;
    if (v->kind == KIND_ARRAY) {
        json_array *a = cbx__as_array(v);
        for (size_t i = 0; i < v->count; i++) cbx__json_drop(&a->items[i]);
        if (a->capacity) free(a->items);
    } else if (v->kind == KIND_OBJECT) {
        json_object *o = cbx__as_object(v);
        for (size_t i = 0; i < v->count; i++) cbx__json_drop(&o->members[i].value);
        if (o->capacity) {
            free(o->members);
            free(o->keys);
        }
        free(o->slots);
    }
    free(v);
}

/* --- arrays --- */

/* Capacity for n items in all, outside of the block. */
static bool array_reserve(json_array *a, size_t n)
{
    bool own = a->capacity > 0;
    cbx_json *items = n < SIZE_MAX / sizeof *items ? realloc(own ? a->items : NULL, n * sizeof *items) : NULL;

    if (!items) return false;
    if (!own && a->head.count) memcpy(items, a->items, a->head.count * sizeof *items);
    a->items = items;
    a->capacity = n;
    return true;
}

bool cbx__json_append(cbx_json *array, cbx_json value)
{
    json_array *a = cbx__as_array(array);

    if (array->count >= a->capacity && !array_reserve(a, array->count < 2 ? 4 : 2 * array->count)) return false;
    a->items[array->count++] = value;
    return true;
}

cbx_json *cbx__json_array_of(const cbx_json *items, size_t n)
{
    json_array *a = malloc(sizeof *a + n * sizeof *items);

    if (!a) return NULL;
    *a = (json_array){ .head = { .refs = 1, .kind = KIND_ARRAY, .count = n }, .items = (cbx_json *)(void *)(a + 1) };
    if (n) memcpy(a->items, items, n * sizeof *items);
    return &a->head;
}

/* --- objects --- */

/* FNV-1a, of Fowler, Noll and Vo, in 32 bits. */
static uint32_t hash_key(const char *key, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)key[i]) * 16777619u;
    return h;
}

static bool has_key(const json_object *o, size_t i, const char *key, size_t len)
{
    const char *there = o->keys + o->members[i].key_at;

    return o->members[i].key_len == len && (!len || *there == *key) && memcmp(there, key, len) == 0;
}

json_member *cbx__json_find(const json_object *o, const char *key, size_t len)
{
    for (size_t i = 0; !o->slots && i < o->head.count; i++)
        if (has_key(o, i, key, len)) return &o->members[i];
    for (uint32_t s = o->slots ? hash_key(key, len) : 0; o->slots; s++) {
        uint32_t at = o->slots[s & (o->nslots - 1)];
        if (at == 0) break;
        if (has_key(o, at - 1, key, len)) return &o->members[at - 1];
    }
    return NULL;
}

static void enter_slot(json_object *o, size_t i)
{
    uint32_t s = hash_key(o->keys + o->members[i].key_at, o->members[i].key_len);

    while (o->slots[s & (o->nslots - 1)]) s++;
    o->slots[s & (o->nslots - 1)] = (uint32_t)i + 1;
}

/* At most half of the slots are taken. */
static bool make_slots(json_object *o, uint32_t n)
{
    uint32_t *slots = calloc(n, sizeof *slots);

    if (!slots) return false;
    free(o->slots);
    o->slots = slots;
    o->nslots = n;
    for (size_t i = 0; i < o->head.count; i++) enter_slot(o, i);
    return true;
}

/* Capacity for one more member with a key of len bytes, outside of the block; what is there stays
 * on failure. */
static bool object_reserve(json_object *o, size_t len)
{
    size_t n = o->head.count, keys = 2 * (size_t)o->keys_len + len + 32;
    bool own = o->capacity > 0;
    void *grown;

    if (n >= UINT32_MAX / 8 || len >= UINT32_MAX / 2) return false;
    if (!own || o->keys_len + len + 1 > o->keys_capacity) {
        grown = keys < UINT32_MAX ? realloc(own ? o->keys : NULL, keys) : NULL;
        if (!grown) return false;
        if (own) { /* else the members must leave the block, too */
            o->keys = grown;
            o->keys_capacity = (uint32_t)keys;
        }
    }
    if (!own) {
        json_member *members = malloc((2 * n + 4) * sizeof *members);
        if (!members) {
            free(grown);
            return false;
        }
        if (n) memcpy(members, o->members, n * sizeof *members);
        if (o->keys_len) memcpy(grown, o->keys, o->keys_len);
        o->members = members;
        o->keys = grown;
        o->capacity = (uint32_t)(2 * n + 4);
        o->keys_capacity = (uint32_t)keys;
    } else if (n == o->capacity) {
        grown = realloc(o->members, 2 * n * sizeof *o->members);
        if (!grown) return false;
        o->members = grown;
        o->capacity *= 2;
    }
    return n < MAX_SEARCHED || (o->slots && n < o->nslots / 2) ||
           make_slots(o, o->slots ? 2 * o->nslots : 4 * MAX_SEARCHED);
}

static bool put(cbx_json *object, const char *key, size_t len, cbx_json value)
{
    json_object *o = cbx__as_object(object);
    json_member *m = cbx__json_find(o, key, len);

    if (m) {
        cbx_json old = m->value;
        m->value = value;
        cbx__json_drop(&old);
        return true;
    }
    if (!object_reserve(o, len)) return false;
    memcpy(o->keys + o->keys_len, key, len);
    o->keys[o->keys_len + len] = 0;
    o->members[object->count] = (json_member){ o->keys_len, (uint32_t)len, value };
    o->keys_len += (uint32_t)len + 1;
    if (o->slots) enter_slot(o, object->count);
    object->count++;
    return true;
}

cbx_json *cbx__json_object_of(const json_member *members, size_t n, const char *keys, size_t keys_len,
                              const char **twice)
{
    json_object *o = n < UINT32_MAX / 8 ? malloc(sizeof *o + n * sizeof *members + keys_len) : NULL;
    uint32_t nslots = 4 * MAX_SEARCHED;

    *twice = NULL;
    if (!o) return NULL;
    *o = (json_object){ .head = { .refs = 1, .kind = KIND_OBJECT }, .members = (json_member *)(void *)(o + 1) };
    o->keys = (char *)(o->members + n);
    o->keys_len = (uint32_t)keys_len;
    if (keys_len) memcpy(o->keys, keys, keys_len);
    while (nslots < 2 * n) nslots *= 2;
    if (n > MAX_SEARCHED && !make_slots(o, nslots)) goto fail;
    for (size_t i = 0; i < n; i++) {
        if (cbx__json_find(o, keys + members[i].key_at, members[i].key_len)) {
            *twice = keys + members[i].key_at;
            goto fail;
        }
        o->members[o->head.count] = members[i];
        if (o->slots) enter_slot(o, o->head.count);
        o->head.count++;
    }
    return &o->head;
fail: /* the values are still the caller's */
    free(o->slots);
    free(o);
    return NULL;
}

bool cbx_json_remove(cbx_json *object, const char *key)
{
    json_object *o = cbx__as_object(object);
    json_member *m = member_of(object, key);
    cbx_json old;

    if (!m) return false;
    old = m->value;
    memmove(m, m + 1, (size_t)(o->members + object->count - (m + 1)) * sizeof *m);
    object->count--;
    if (o->slots) memset(o->slots, 0, o->nslots * sizeof *o->slots);
    for (size_t i = 0; o->slots && i < object->count; i++) enter_slot(o, i);
    cbx__json_drop(&old);
    return true;
}

/* --- copying --- */

cbx_json *cbx_json_copy(const cbx_json *v)
{
    cbx_json *copy;

    if (!v) return NULL;
    if (v->kind == KIND_STRING || v->kind == KIND_LONG)
        return cbx__json_text_new((kind)v->kind, cbx__as_string(v)->bytes, v->count);
    if (v->kind != KIND_ARRAY && v->kind != KIND_OBJECT) return box(*v);
    copy = v->kind == KIND_ARRAY ? cbx_json_new_array() : cbx_json_new_object();
    if (!copy) return NULL;
    copy->failed = v->failed;
    if (v->kind == KIND_ARRAY && v->count && !array_reserve(cbx__as_array(copy), v->count)) goto fail;
    for (size_t i = 0; i < v->count; i++) {
        const json_object *o = cbx__as_object(v);
        cbx_json place = v->kind == KIND_ARRAY ? cbx__as_array(v)->items[i] : o->members[i].value;
        if (place.kind == KIND_REF && !(place.ref = cbx_json_copy(place.ref))) goto fail;
        if (v->kind == KIND_ARRAY ? cbx__json_append(copy, place)
                                  : put(copy, o->keys + o->members[i].key_at, o->members[i].key_len, place))
            continue;
        cbx__json_drop(&place);
        goto fail;
    }
    return copy;
fail:
    cbx_json_unref(copy);
    return NULL;
}

/* --- adding; a container to which something could not be added has failed --- */

static bool fail(cbx_json *container)
{
    if (container) container->failed = true;
    return false;
}

/* key NULL: to the end of an array. */
static bool add(cbx_json *container, const char *key, cbx_json small)
{
    if (!container || container->kind != (key ? KIND_OBJECT : KIND_ARRAY)) return fail(container);
    if (key ? put(container, key, strlen(key), small) : cbx__json_append(container, small)) return true;
    return fail(container);
}

/* A small value is copied, and its node is freed.  NULL: not added. */
static cbx_json *add_value(cbx_json *container, const char *key, cbx_json *value)
{
    cbx_json place = { .kind = KIND_REF, .ref = value };
    bool added;

    if (!value) fail(container);
    if (!value) return NULL;
    if (value->kind < KIND_STRING) place = (cbx_json){ .kind = value->kind, .number = value->number };
    added = add(container, key, place);
    if (added && value->failed) container->failed = true;
    if (!added || place.kind != KIND_REF) cbx_json_unref(value);
    return added ? value : NULL;
}

static bool add_string(cbx_json *container, const char *key, const char *s)
{
    return s ? add_value(container, key, cbx_json_new_string(s)) != NULL : add(container, key, NIL);
}

bool cbx_json_set(cbx_json *object, const char *key, cbx_json *value) { return add_value(object, key, value); }
bool cbx_json_set_null(cbx_json *object, const char *key) { return add(object, key, NIL); }
bool cbx_json_set_string(cbx_json *object, const char *key, const char *s) { return add_string(object, key, s); }
bool cbx_json_set_int(cbx_json *object, const char *key, int64_t v) { return add(object, key, INT(v)); }
bool cbx_json_set_double(cbx_json *object, const char *key, double v) { return add(object, key, DOUBLE(v)); }
bool cbx_json_set_bool(cbx_json *object, const char *key, bool v) { return add(object, key, BOOL(v)); }

bool cbx_json_set_number(cbx_json *object, const char *key, double v)
{
    return add(object, key, isfinite(v) ? DOUBLE(v) : NIL);
}

cbx_json *cbx_json_set_object(cbx_json *object, const char *key)
{
    return add_value(object, key, cbx_json_new_object());
}

cbx_json *cbx_json_set_array(cbx_json *object, const char *key) { return add_value(object, key, cbx_json_new_array()); }

bool cbx_json_set_doubles(cbx_json *object, const char *key, const double *v, size_t n)
{
    cbx_json *list = cbx_json_set_array(object, key);

    if (!list || (n && !array_reserve(cbx__as_array(list), n))) return fail(object);
    for (size_t i = 0; i < n; i++) cbx__as_array(list)->items[i] = DOUBLE(v[i]);
    list->count = n;
    return true;
}

bool cbx_json_set_interval(cbx_json *object, const char *key, double value, double lower, double upper, double level)
{
    cbx_json *o = cbx_json_interval(value, lower, upper, level);

    return cbx_json_set(object, key, o) && !o->failed;
}

bool cbx_json_push(cbx_json *array, cbx_json *value) { return add_value(array, NULL, value); }
bool cbx_json_push_null(cbx_json *array) { return add(array, NULL, NIL); }
bool cbx_json_push_string(cbx_json *array, const char *s) { return add_string(array, NULL, s); }
bool cbx_json_push_int(cbx_json *array, int64_t v) { return add(array, NULL, INT(v)); }
bool cbx_json_push_double(cbx_json *array, double v) { return add(array, NULL, DOUBLE(v)); }
cbx_json *cbx_json_push_object(cbx_json *array) { return add_value(array, NULL, cbx_json_new_object()); }
cbx_json *cbx_json_push_array(cbx_json *array) { return add_value(array, NULL, cbx_json_new_array()); }

static bool has_failed(const cbx_json *v)
{
    bool failed = v->failed, array = v->kind == KIND_ARRAY;

    for (size_t i = 0; !failed && i < cbx_json_length(v); i++) {
        const cbx_json *place = array ? &cbx__as_array(v)->items[i] : &cbx__as_object(v)->members[i].value;
        failed = place->kind == KIND_REF && has_failed(place->ref);
    }
    return failed;
}

cbx_status cbx_json_check(const cbx_json *v, cbx_err *err)
{
    return !v || has_failed(v) ? cbx_fail_nomem(err, NULL) : CBX_OK;
}

cbx_json *cbx_json_finish(cbx_json *v)
{
    if (!cbx_json_check(v, NULL)) return v;
    cbx_json_unref(v);
    return NULL;
}

/* --- many members in one call (json_put.h) --- */

cbx_json *cbx_json_with(cbx_json *object, const cbx_json_entry *m)
{
    cbx_json *list;

    for (; m->kind != CBX_JSON_PUT_END; m++) {
        if ((m->kind == CBX_JSON_PUT_GIVEN && !m->text) || (m->kind == CBX_JSON_PUT_KNOWN && isnan(m->number)))
            continue;
        switch (m->kind) {
        case CBX_JSON_PUT_TEXT:
        case CBX_JSON_PUT_GIVEN: cbx_json_set_string(object, m->key, m->text); break;
        case CBX_JSON_PUT_NUMBER:
        case CBX_JSON_PUT_KNOWN: cbx_json_set_double(object, m->key, m->number); break;
        case CBX_JSON_PUT_FINITE: cbx_json_set_number(object, m->key, m->number); break;
        case CBX_JSON_PUT_INT: cbx_json_set_int(object, m->key, m->integer); break;
        case CBX_JSON_PUT_BOOL: cbx_json_set_bool(object, m->key, m->truth); break;
        case CBX_JSON_PUT_VALUE: cbx_json_set(object, m->key, m->value); break;
        case CBX_JSON_PUT_COPY:
            if (m->source)
                cbx_json_set(object, m->key, cbx_json_copy(m->source));
            else
                cbx_json_set_null(object, m->key);
            break;
        case CBX_JSON_PUT_NUMBERS: cbx_json_set_doubles(object, m->key, m->numbers, m->n); break;
        case CBX_JSON_PUT_TEXTS:
            list = cbx_json_set_array(object, m->key);
            for (size_t i = 0; i < m->n; i++) cbx_json_push_string(list, m->texts[i]);
            break;
        case CBX_JSON_PUT_END: break;
        }
    }
    return object;
}

cbx_json *cbx_json_interval(double value, double lower, double upper, double level)
{
    if (!(level > 0)) lower = upper = level = NAN;
    return cbx_json_object(J_FINITE("value", value), J_FINITE("lower", lower), J_FINITE("upper", upper),
                           J_FINITE("level", level));
}
