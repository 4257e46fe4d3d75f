/*
 * JSON values: what they are made of, making and unmaking, building, copying.
 *
 * Memory comes from malloc, since values outlive contexts and are made without one.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/json_value.h"

#define FEW 8 /* members that are found without slots */

static json_array *array_of(cbx_json *v) { return (json_array *)(void *)v; }
static json_object *object_of(cbx_json *v) { return (json_object *)(void *)v; }

/* --- making and unmaking --- */

static void *node_new(kind k, size_t size)
{
    cbx_json *v = calloc(1, size);

    if (!v) return NULL;
    v->refs = 1;
    v->kind = (uint16_t)k;
    return v;
}

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

cbx_json *cbx_json_new_object(void) { return node_new(KIND_OBJECT, sizeof(json_object)); }
cbx_json *cbx_json_new_array(void) { return node_new(KIND_ARRAY, sizeof(json_array)); }
cbx_json *cbx_json_new_int(int64_t v) { return box((cbx_json){ .kind = KIND_INT, .number = v }); }
cbx_json *cbx_json_new_double(double v) { return box((cbx_json){ .kind = KIND_DOUBLE, .real = v }); }
cbx_json *cbx_json_new_bool(bool v) { return box((cbx_json){ .kind = KIND_BOOL, .truth = v }); }

cbx_json *cbx_json_new_string(const char *s)
{
    size_t n = strlen(s);
    json_string *v = cbx__json_string_new(n);

    if (v) memcpy(v->bytes, s, n);
    return v ? &v->head : NULL;
}

/* A value in a container shares its life; what it is can be kept beyond as a value of its own. */
cbx_json *cbx_json_ref(cbx_json *v)
{
    if (!v) return NULL;
    if (v->refs == 0) return box(*v);
    v->refs++;
    return v;
}

static bool stands_alone(const void *items, const void *block_end) { return items != block_end; }

void cbx_json_unref(cbx_json *v)
{
    if (!v) return;
    assert(v->refs > 0);
    if (--v->refs > 0) return;
    if (v->kind == KIND_ARRAY) {
        json_array *a = array_of(v);
        for (size_t i = 0; i < v->count; i++) cbx__json_drop(&a->items[i]);
        if (stands_alone(a->items, a + 1)) free(a->items);
    } else if (v->kind == KIND_OBJECT) {
        json_object *o = object_of(v);
        for (size_t i = 0; i < v->count; i++) cbx__json_drop(&o->members[i].value);
        if (stands_alone(o->members, o + 1)) {
            free(o->members);
            free(o->keys);
        }
        free(o->slots);
    }
    free(v);
}

/* --- arrays --- */

/* Room for n items in all, outside of the block. */
static bool set_room(json_array *a, size_t n)
{
    bool alone = stands_alone(a->items, a + 1);
    cbx_json *items = n < SIZE_MAX / sizeof *items ? realloc(alone ? a->items : NULL, n * sizeof *items) : NULL;

    if (!items) return false;
    if (!alone && a->head.count) memcpy(items, a->items, a->head.count * sizeof *items);
    a->items = items;
    a->room = n;
    return true;
}

bool cbx__json_append(cbx_json *array, cbx_json value)
{
    json_array *a = array_of(array);

    if (array->count >= a->room && !set_room(a, array->count < 2 ? 4 : 2 * array->count)) return false;
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

/* FNV-1a, of Fowler, Noll and Vo. */
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
    if (!o->slots) {
        for (size_t i = 0; i < o->head.count; i++)
            if (has_key(o, i, key, len)) return &o->members[i];
        return NULL;
    }
    for (uint32_t s = hash_key(key, len);; s++) {
        uint32_t at = o->slots[s & (o->nslots - 1)];
        if (at == 0) return NULL;
        if (has_key(o, at - 1, key, len)) return &o->members[at - 1];
    }
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

/* Out of the block, with room to grow. */
static bool move_out(json_object *o, size_t len)
{
    size_t n = o->head.count, keys_room = 2 * (size_t)o->keys_len + len + 32;
    json_member *members = malloc((2 * n + 4) * sizeof *members);
    char *keys = keys_room < UINT32_MAX ? malloc(keys_room) : NULL;

    if (!members || !keys) {
        free(members);
        free(keys);
        return false;
    }
    if (n) memcpy(members, o->members, n * sizeof *members);
    if (o->keys_len) memcpy(keys, o->keys, o->keys_len);
    o->members = members;
    o->keys = keys;
    o->room = (uint32_t)(2 * n + 4);
    o->keys_room = (uint32_t)keys_room;
    return true;
}

static bool grow(json_object *o, size_t len)
{
    if (o->head.count == o->room) {
        json_member *members = realloc(o->members, 2 * (size_t)o->room * sizeof *members);
        if (!members) return false;
        o->members = members;
        o->room *= 2;
    }
    if (o->keys_len + len + 1 > o->keys_room) {
        size_t room = 2 * (size_t)o->keys_room + len;
        char *keys = room < UINT32_MAX ? realloc(o->keys, room) : NULL;
        if (!keys) return false;
        o->keys = keys;
        o->keys_room = (uint32_t)room;
    }
    return true;
}

/* Room for one more member with a key of len bytes; what is there stays on failure. */
static bool reserve(json_object *o, size_t len)
{
    size_t n = o->head.count;

    if (n >= UINT32_MAX / 8 || len >= UINT32_MAX / 2) return false;
    if (!(o->room ? grow(o, len) : move_out(o, len))) return false;
    return n < FEW || (o->slots && n < o->nslots / 2) || make_slots(o, o->slots ? 2 * o->nslots : 4 * FEW);
}

/* The value takes the place of the one that is there. */
static void replace(json_member *m, cbx_json value)
{
    cbx_json old = m->value;

    m->value = value;
    cbx__json_drop(&old);
}

static bool put(cbx_json *object, const char *key, size_t len, cbx_json value)
{
    json_object *o = object_of(object);
    json_member *m = cbx__json_find(o, key, len);

    if (m) {
        replace(m, value);
        return true;
    }
    if (!reserve(o, len)) return false;
    memcpy(o->keys + o->keys_len, key, len);
    o->keys[o->keys_len + len] = 0;
    o->members[object->count] = (json_member){ o->keys_len, (uint32_t)len, value };
    o->keys_len += (uint32_t)len + 1;
    if (o->slots) enter_slot(o, object->count);
    object->count++;
    return true;
}

static void drop_unfilled(json_object *o)
{
    free(o->slots);
    free(o);
}

cbx_json *cbx__json_object_of(const json_member *members, size_t n, const char *keys, size_t keys_len,
                              const char **twice)
{
    json_object *o = n < UINT32_MAX / 8 ? malloc(sizeof *o + n * sizeof *members + keys_len) : NULL;
    uint32_t nslots = 4 * FEW;

    *twice = NULL;
    if (!o) return NULL;
    *o = (json_object){ .head = { .refs = 1, .kind = KIND_OBJECT }, .members = (json_member *)(void *)(o + 1) };
    o->keys = (char *)(o->members + n);
    o->keys_len = (uint32_t)keys_len;
    if (keys_len) memcpy(o->keys, keys, keys_len);
    while (nslots < 2 * n) nslots *= 2;
    if (n > FEW && !make_slots(o, nslots)) {
        drop_unfilled(o);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (cbx__json_find(o, keys + members[i].key_at, members[i].key_len)) {
            *twice = keys + members[i].key_at;
            drop_unfilled(o);
            return NULL;
        }
        o->members[o->head.count] = members[i];
        if (o->slots) enter_slot(o, o->head.count);
        o->head.count++;
    }
    return &o->head;
}

bool cbx_json_remove(cbx_json *object, const char *key)
{
    json_object *o = object_of(object);
    json_member *m = cbx_json_typeof(object) == CBX_JSON_OBJECT ? cbx__json_find(o, key, strlen(key)) : NULL;
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

/* --- building --- */

static bool copy_place(const cbx_json *from, cbx_json *to)
{
    *to = *from;
    if (from->kind == KIND_REF) to->ref = cbx_json_copy(from->ref);
    return from->kind != KIND_REF || to->ref;
}

static bool copy_elements(const cbx_json *from, cbx_json *to)
{
    if (from->count && !set_room(array_of(to), from->count)) return false;
    for (; to->count < from->count; to->count++)
        if (!copy_place(&cbx__as_array(from)->items[to->count], &array_of(to)->items[to->count])) return false;
    return true;
}

static bool copy_members(const cbx_json *from, cbx_json *to)
{
    const json_object *o = cbx__as_object(from);

    for (size_t i = 0; i < from->count; i++) {
        cbx_json value;
        if (!copy_place(&o->members[i].value, &value)) return false;
        if (put(to, o->keys + o->members[i].key_at, o->members[i].key_len, value)) continue;
        cbx__json_drop(&value);
        return false;
    }
    return true;
}

static cbx_json *copy_string(const cbx_json *v)
{
    json_string *s = cbx__json_string_new(v->count);

    if (s) memcpy(s->bytes, cbx__as_string(v)->bytes, v->count);
    return s ? &s->head : NULL;
}

cbx_json *cbx_json_copy(const cbx_json *v)
{
    cbx_json *copy;

    if (!v) return NULL;
    if (v->kind == KIND_STRING) return copy_string(v);
    if (v->kind != KIND_ARRAY && v->kind != KIND_OBJECT) return box(*v);
    copy = v->kind == KIND_ARRAY ? cbx_json_new_array() : cbx_json_new_object();
    if (copy) copy->failed = v->failed;
    if (copy && (v->kind == KIND_ARRAY ? copy_elements(v, copy) : copy_members(v, copy))) return copy;
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

/* A small value is copied, and its node is freed. */
static bool add_value(cbx_json *container, const char *key, cbx_json *value)
{
    cbx_json place = { .kind = KIND_REF, .ref = value };
    bool added;

    if (!value) return fail(container);
    if (value->kind < KIND_STRING) place = (cbx_json){ .kind = value->kind, .number = value->number };
    added = add(container, key, place);
    if (added && value->failed) container->failed = true;
    if (!added || place.kind != KIND_REF) cbx_json_unref(value);
    return added;
}

/* The new container belongs to the other one. */
static cbx_json *add_container(cbx_json *container, const char *key, cbx_json *value)
{
    return add_value(container, key, value) ? value : NULL;
}

static bool add_string(cbx_json *container, const char *key, const char *s)
{
    return s ? add_value(container, key, cbx_json_new_string(s)) : add(container, key, (cbx_json){ .kind = KIND_NULL });
}

#define INT(v)    ((cbx_json){ .kind = KIND_INT, .number = (v) })
#define DOUBLE(v) ((cbx_json){ .kind = KIND_DOUBLE, .real = (v) })

bool cbx_json_set(cbx_json *object, const char *key, cbx_json *value) { return add_value(object, key, value); }
bool cbx_json_set_null(cbx_json *object, const char *key) { return add(object, key, (cbx_json){ .kind = KIND_NULL }); }
bool cbx_json_set_string(cbx_json *object, const char *key, const char *s) { return add_string(object, key, s); }
bool cbx_json_set_int(cbx_json *object, const char *key, int64_t v) { return add(object, key, INT(v)); }
bool cbx_json_set_double(cbx_json *object, const char *key, double v) { return add(object, key, DOUBLE(v)); }

bool cbx_json_set_bool(cbx_json *object, const char *key, bool v)
{
    return add(object, key, (cbx_json){ .kind = KIND_BOOL, .truth = v });
}

bool cbx_json_set_number(cbx_json *object, const char *key, double v)
{
    return isfinite(v) ? cbx_json_set_double(object, key, v) : cbx_json_set_null(object, key);
}

cbx_json *cbx_json_set_object(cbx_json *object, const char *key)
{
    return add_container(object, key, cbx_json_new_object());
}

cbx_json *cbx_json_set_array(cbx_json *object, const char *key)
{
    return add_container(object, key, cbx_json_new_array());
}

bool cbx_json_set_doubles(cbx_json *object, const char *key, const double *v, size_t n)
{
    cbx_json *list = cbx_json_set_array(object, key);

    if (!list || (n && !set_room(array_of(list), n))) return fail(object);
    for (size_t i = 0; i < n; i++) array_of(list)->items[i] = DOUBLE(v[i]);
    list->count = n;
    return true;
}

bool cbx_json_set_interval(cbx_json *object, const char *key, double value, double lower, double upper, double level)
{
    cbx_json *o = cbx_json_set_object(object, key);
    bool known = level > 0;

    cbx_json_set_number(o, "value", value);
    cbx_json_set_number(o, "lower", known ? lower : NAN);
    cbx_json_set_number(o, "upper", known ? upper : NAN);
    return cbx_json_set_number(o, "level", known ? level : NAN) && !o->failed;
}

bool cbx_json_push(cbx_json *array, cbx_json *value) { return add_value(array, NULL, value); }
bool cbx_json_push_null(cbx_json *array) { return add(array, NULL, (cbx_json){ .kind = KIND_NULL }); }
bool cbx_json_push_string(cbx_json *array, const char *s) { return add_string(array, NULL, s); }
bool cbx_json_push_int(cbx_json *array, int64_t v) { return add(array, NULL, INT(v)); }
bool cbx_json_push_double(cbx_json *array, double v) { return add(array, NULL, DOUBLE(v)); }
cbx_json *cbx_json_push_object(cbx_json *array) { return add_container(array, NULL, cbx_json_new_object()); }
cbx_json *cbx_json_push_array(cbx_json *array) { return add_container(array, NULL, cbx_json_new_array()); }

static bool has_failed(const cbx_json *v)
{
    bool failed = v->failed;

    for (size_t i = 0; v->kind == KIND_ARRAY && !failed && i < v->count; i++) {
        const cbx_json *place = &cbx__as_array(v)->items[i];
        failed = place->kind == KIND_REF && has_failed(place->ref);
    }
    for (size_t i = 0; v->kind == KIND_OBJECT && !failed && i < v->count; i++) {
        const cbx_json *place = &cbx__as_object(v)->members[i].value;
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
