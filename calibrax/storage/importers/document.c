/* Sketches and heads of JSON files. */
#include "calibrax/storage/importers/document.h"

#include <stdlib.h>
#include <string.h>

#define FEW         32    /* of a container, that a sketch shows */
#define VALUES_MOST 20000 /* in a sketch */

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory while reading a file"); }

/* Adds a value to a container, whose key is that of the member; takes it over. */
static cbx_status add(cbx_json *to, const char *key, cbx_json *value, cbx_err *err)
{
    bool good;

    if (key)
        good = value ? cbx_json_set(to, key, value) : cbx_json_set_null(to, key);
    else
        good = value ? cbx_json_push(to, value) : cbx_json_push_null(to);
    return good ? CBX_OK : no_memory(err);
}

/* --- sketch --- */

static cbx_status sketch(cbx__json_reader *r, size_t *left, cbx_json **out, cbx_err *err);

static cbx_status sketch_member(cbx__json_reader *r, size_t *left, const char *key, cbx_json *to, cbx_err *err)
{
    char *own = key ? strdup(key) : NULL; /* the reader forgets it */
    cbx_json *value = NULL;
    cbx_status st = key && !own ? no_memory(err) : sketch(r, left, &value, err);

    if (!st && own && cbx_json_has(to, own)) /* whoever reads the file says so; it is known by the first one */
        cbx_json_unref(value);
    else if (!st)
        st = add(to, own, value, err);
    free(own);
    return st;
}

static cbx_status sketch_container(cbx__json_reader *r, size_t *left, bool object, cbx_json **out, cbx_err *err)
{
    cbx_json *v = object ? cbx_json_new_object() : cbx_json_new_array();
    bool more = true;
    const char *key;
    cbx_status st = v ? cbx__json_reader_enter(r, err) : no_memory(err);

    for (size_t i = 0; !st; i++) {
        st = cbx__json_reader_next(r, &key, &more, err);
        if (st || !more) break;
        st = i < FEW && *left ? sketch_member(r, left, key, v, err) : cbx__json_reader_skip(r, err);
    }
    if (st)
        cbx_json_unref(v);
    else
        *out = v;
    return st;
}

static cbx_status sketch(cbx__json_reader *r, size_t *left, cbx_json **out, cbx_err *err)
{
    cbx_json_type type = cbx__json_reader_type(r);

    *left -= *left > 0;
    if (type != CBX_JSON_ARRAY && type != CBX_JSON_OBJECT) return cbx__json_reader_value(r, out, err);
    return sketch_container(r, left, type == CBX_JSON_OBJECT, out, err);
}

cbx_status cbx__document_sketch(const cbx__bytes *b, cbx_json **out, cbx_err *err)
{
    cbx__bytes_walk walk;
    size_t left = VALUES_MOST;
    cbx_json *v = NULL;
    cbx_status st = cbx__bytes_walk_begin(&walk, b, 0, err);

    if (!st) st = sketch(walk.reader, &left, &v, err);
    if (!st) st = cbx__json_reader_end(walk.reader, err);
    cbx__bytes_walk_end(&walk);
    if (st)
        cbx_json_unref(v);
    else
        *out = v;
    return st;
}

/* --- all but a list --- */

/* An empty container in the place of the next value, if that is one. */
static cbx_status set_apart(cbx__json_reader *r, cbx_json **out, uint64_t *place, cbx_err *err)
{
    cbx_json_type type = cbx__json_reader_type(r);

    *place = CBX__NO_PLACE;
    if (type != CBX_JSON_ARRAY && type != CBX_JSON_OBJECT) return cbx__json_reader_value(r, out, err);
    *out = type == CBX_JSON_ARRAY ? cbx_json_new_array() : cbx_json_new_object();
    if (!*out) return no_memory(err);
    *place = cbx__json_reader_offset(r);
    return cbx__json_reader_skip(r, err);
}

static cbx_status read_member(cbx__json_reader *r, const char *key, const char *list, cbx_json *to, uint64_t *place,
                              cbx_err *err)
{
    char *own = strdup(key);
    cbx_json *value = NULL;
    cbx_status st = CBX_OK;

    if (!own)
        st = no_memory(err);
    else if (cbx_json_has(to, own))
        st = cbx__json_reader_twice(r, own, err);
    else if (!strcmp(own, list))
        st = set_apart(r, &value, place, err);
    else
        st = cbx__json_reader_value(r, &value, err);
    if (st)
        cbx_json_unref(value);
    else
        st = add(to, own, value, err);
    free(own);
    return st;
}

cbx_status cbx__document_apart(cbx__json_reader *r, const char *list, cbx_json **out, uint64_t *place, cbx_err *err)
{
    cbx_json *v = NULL;
    bool more = true;
    const char *key;
    cbx_status st;

    *place = CBX__NO_PLACE;
    if (!list || (*list && cbx__json_reader_type(r) != CBX_JSON_OBJECT)) return cbx__json_reader_value(r, out, err);
    if (!*list) {
        st = set_apart(r, &v, place, err);
    } else {
        v = cbx_json_new_object();
        st = v ? cbx__json_reader_enter(r, err) : no_memory(err);
        while (!st && !(st = cbx__json_reader_next(r, &key, &more, err)) && more)
            st = read_member(r, key, list, v, place, err);
    }
    if (st)
        cbx_json_unref(v);
    else
        *out = v;
    return st;
}

/* --- all but long arrays --- */

void cbx__long_arrays_clear(cbx__long_arrays *apart)
{
    free(apart->list);
    *apart = (cbx__long_arrays){ 0 };
}

static bool note_array(cbx__long_arrays *apart, const cbx_json *array, uint64_t at, size_t n)
{
    if (apart->n == apart->room) {
        size_t room = apart->room ? 2 * apart->room : 8;
        cbx__long_array *more = realloc(apart->list, room * sizeof *more);
        if (!more) return false;
        apart->list = more;
        apart->room = room;
    }
    apart->list[apart->n++] = (cbx__long_array){ array, at, n };
    return true;
}

/* What has been read of an array turns out to be the beginning of a long one. */
static cbx_status empty_array(cbx__long_arrays *apart, size_t napart, cbx_json **array, cbx_err *err)
{
    cbx_json_unref(*array);
    *array = cbx_json_new_array();
    apart->n = napart;
    return *array ? CBX_OK : no_memory(err);
}

static cbx_status value_in_array(cbx__json_reader *r, cbx__long_arrays *apart, cbx_json **out, cbx_err *err)
{
    uint64_t at = cbx__json_reader_offset(r);
    cbx_json *v = cbx_json_new_array(), *item;
    size_t n = 0, napart = apart->n;
    bool more = true;
    const char *key;
    cbx_status st = v ? cbx__json_reader_enter(r, err) : no_memory(err);

    for (; !st && !(st = cbx__json_reader_next(r, &key, &more, err)) && more; n++) {
        item = NULL;
        if (n == CBX__LONG_ARRAY) st = empty_array(apart, napart, &v, err);
        if (!st && n < CBX__LONG_ARRAY) st = cbx__document_value(r, apart, &item, err);
        if (!st) st = n < CBX__LONG_ARRAY ? add(v, NULL, item, err) : cbx__json_reader_skip(r, err);
    }
    if (!st && n > CBX__LONG_ARRAY && !note_array(apart, v, at, n)) st = no_memory(err);
    if (st)
        cbx_json_unref(v);
    else
        *out = v;
    return st;
}

static cbx_status value_in_object(cbx__json_reader *r, cbx__long_arrays *apart, cbx_json **out, cbx_err *err)
{
    cbx_json *v = cbx_json_new_object(), *item;
    bool more = true;
    const char *key;
    cbx_status st = v ? cbx__json_reader_enter(r, err) : no_memory(err);

    while (!st && !(st = cbx__json_reader_next(r, &key, &more, err)) && more) {
        char *own = strdup(key); /* the reader forgets it */
        item = NULL;
        st = !own ? no_memory(err) : cbx_json_has(v, own) ? cbx__json_reader_twice(r, own, err) : CBX_OK;
        if (!st) st = cbx__document_value(r, apart, &item, err);
        if (!st) st = add(v, own, item, err);
        free(own);
    }
    if (st)
        cbx_json_unref(v);
    else
        *out = v;
    return st;
}

cbx_status cbx__document_value(cbx__json_reader *r, cbx__long_arrays *apart, cbx_json **out, cbx_err *err)
{
    cbx_json_type type = cbx__json_reader_type(r);

    if (type == CBX_JSON_ARRAY) return value_in_array(r, apart, out, err);
    return type == CBX_JSON_OBJECT ? value_in_object(r, apart, out, err) : cbx__json_reader_value(r, out, err);
}
