/*
 * Reading JSON, whole values: in one walk over the text.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/json_parser.h"

/* --- values --- */

static cbx_status parse_string_value(cbx__json_reader *p, cbx_json *out)
{
    json_piece s;
    json_string *v;
    cbx_status st = cbx__json_string(p, &s);

    if (st) return st;
    v = s.decoded ? s.decoded : cbx__json_string_new(s.len);
    if (!v) return cbx__json_no_memory(p);
    if (!s.decoded) memcpy(v->bytes, s.bytes, s.len);
    *out = (cbx_json){ .kind = KIND_REF, .ref = &v->head };
    return CBX_OK;
}

/* Room for n more of a size, the first of which it returns; NULL: out of memory. */
static void *push(json_stack *s, size_t n, size_t size)
{
    size_t room = s->room ? s->room : 256;

    while (room < s->n + n) room *= 2;
    if (room != s->room) {
        void *data = realloc(s->data, room * size);
        if (!data) return NULL;
        s->data = data;
        s->room = room;
    }
    s->n += n;
    return (char *)s->data + (s->n - n) * size;
}

cbx_status cbx__json_separator(cbx__json_reader *p, char close, bool *more)
{
    cbx__json_skip_space(p);
    *more = cbx__json_peek(p) == ',';
    if (!*more && cbx__json_peek(p) != close) return cbx__json_unexpected(p, "neither a comma nor a closing bracket");
    p->at++;
    cbx__json_skip_space(p);
    return CBX_OK;
}

#define LONG_ARRAY 4096 /* elements beyond which an array grows on its own */

/* What the stack has above base, as an array. */
static cbx_json *pop_array(cbx__json_reader *p, size_t base)
{
    const cbx_json *items = p->items.n > base ? (cbx_json *)p->items.data + base : NULL;
    cbx_json *v = cbx__json_array_of(items, p->items.n - base);

    if (v) p->items.n = base;
    return v;
}

static cbx_status add_item(cbx__json_reader *p, size_t base, cbx_json **array, const cbx_json *item)
{
    cbx_json *place;

    if (!*array && p->items.n - base == LONG_ARRAY) *array = pop_array(p, base);
    place = *array ? NULL : push(&p->items, 1, sizeof *place);
    if (place) *place = *item;
    if (place || (*array && cbx__json_append(*array, *item))) return CBX_OK;
    cbx__json_drop(item);
    return cbx__json_no_memory(p);
}

static cbx_status pass_item(cbx__json_reader *p, size_t i, const cbx_json *item)
{
    cbx_status st = p->sieve.take(p->sieve.user, p, i, cbx__json_seen(item), p->err);

    cbx__json_drop(item);
    return st;
}

static cbx_status parse_array(cbx__json_reader *p, cbx_json **out)
{
    size_t base = p->items.n, passed = 0;
    cbx_json *array = NULL;
    bool more = cbx__json_peek(p) != ']', sieved;
    cbx_status st = CBX_OK;

    p->path[p->depth] = 0;
    sieved = p->sieve.take && p->sieve.wants(p->sieve.user, p);
    if (!more) p->at++;
    while (!st && more) {
        cbx_json item;
        st = cbx__json_value(p, &item);
        if (!st) st = sieved ? pass_item(p, passed++, &item) : add_item(p, base, &array, &item);
        if (!st) st = cbx__json_separator(p, ']', &more);
    }
    if (!st && !array && !(array = pop_array(p, base))) st = cbx__json_no_memory(p);
    if (st)
        cbx_json_unref(array);
    else
        *out = array;
    return st;
}

static cbx_status push_key(cbx__json_reader *p, size_t keys_base, json_member *out)
{
    json_piece key;
    char *copy;
    cbx_status st;

    if (cbx__json_peek(p) != '"') return cbx__json_unexpected(p, CBX__JSON_NO_KEY);
    st = cbx__json_string(p, &key);
    if (st) return st;
    *out = (json_member){ .key_at = (uint32_t)(p->keys.n - keys_base), .key_len = (uint32_t)key.len };
    p->path[p->depth] = p->keys.n + 1;
    copy = push(&p->keys, key.len + 1, 1);
    if (copy) {
        memcpy(copy, key.bytes, key.len);
        copy[key.len] = 0;
    }
    free(key.decoded);
    return copy ? CBX_OK : cbx__json_no_memory(p);
}

cbx_status cbx__json_colon(cbx__json_reader *p)
{
    cbx__json_skip_space(p);
    if (cbx__json_peek(p) != ':') return cbx__json_unexpected(p, "no colon behind a key");
    p->at++;
    cbx__json_skip_space(p);
    return CBX_OK;
}

static cbx_status parse_member(cbx__json_reader *p, size_t keys_base)
{
    json_member m, *place;
    cbx_status st = push_key(p, keys_base, &m);

    if (st) return st;
    st = cbx__json_colon(p);
    if (!st) st = cbx__json_value(p, &m.value);
    if (st) return st;
    place = push(&p->members, 1, sizeof *place);
    if (place) {
        *place = m;
        return CBX_OK;
    }
    cbx__json_drop(&m.value);
    return cbx__json_no_memory(p);
}

static cbx_status not_made(const cbx__json_reader *p, const char *twice)
{
    if (!twice) return cbx__json_no_memory(p);
    return cbx_fail(p->err, CBX_EFORMAT, "'%s': the key '%.120s' stands twice in the object that ends at offset %llu",
                    p->what, twice, (unsigned long long)(p->base + (uint64_t)(p->at - p->text)));
}

static cbx_status parse_object(cbx__json_reader *p, cbx_json **out)
{
    size_t base = p->members.n, keys_base = p->keys.n;
    bool more = cbx__json_peek(p) != '}';
    const char *twice = NULL;
    cbx_status st = CBX_OK;

    if (!more) p->at++;
    while (!st && more) {
        st = parse_member(p, keys_base);
        if (!st) st = cbx__json_separator(p, '}', &more);
    }
    if (st) return st;
    if (p->members.n == base)
        *out = cbx_json_new_object();
    else
        *out = cbx__json_object_of((json_member *)p->members.data + base, p->members.n - base,
                                   (char *)p->keys.data + keys_base, p->keys.n - keys_base, &twice);
    if (!*out) return not_made(p, twice);
    p->members.n = base;
    p->keys.n = keys_base;
    return CBX_OK;
}

cbx_status cbx__json_deeper(cbx__json_reader *p)
{
    if (++p->depth > CBX__JSON_DEPTH_MOST)
        return cbx_fail(p->err, CBX_EOVERFLOW, "'%s': nested deeper than %d at offset %llu", p->what,
                        CBX__JSON_DEPTH_MOST, (unsigned long long)(p->base + (uint64_t)(p->at - p->text)));
    p->at++;
    cbx__json_skip_space(p);
    return CBX_OK;
}

/* At the opening bracket. */
static cbx_status parse_container(cbx__json_reader *p, cbx_json *out)
{
    bool is_array = *p->at == '[';
    cbx_json *v = NULL;
    cbx_status st = cbx__json_deeper(p);

    if (st) return st;
    st = is_array ? parse_array(p, &v) : parse_object(p, &v);
    p->depth--;
    if (!st) *out = (cbx_json){ .kind = KIND_REF, .ref = v };
    return st;
}

cbx_status cbx__json_value(cbx__json_reader *p, cbx_json *out)
{
    char c = cbx__json_peek(p);

    if (c == '"') return parse_string_value(p, out);
    return c == '[' || c == '{' ? parse_container(p, out) : cbx__json_scalar(p, out);
}

cbx_status cbx__json_own(const cbx__json_reader *p, const cbx_json *place, cbx_json **out)
{
    cbx_json *v = place->kind == KIND_REF    ? place->ref
                  : place->kind == KIND_NULL ? NULL
                                             : cbx_json_ref((cbx_json *)(uintptr_t)place);

    if (!v && place->kind != KIND_NULL) return cbx__json_no_memory(p);
    *out = v;
    return CBX_OK;
}

/* --- texts and files --- */

static cbx_status parse_text(cbx__json_reader *p, cbx_json **out)
{
    cbx_json place;
    size_t mark = 0;
    cbx_status st = cbx__byte_order_mark(p->text, (size_t)(p->end - p->text), p->what, &mark, p->err);

    if (st) return st;
    p->at += mark;
    cbx__json_skip_space(p);
    if (p->at == p->end) return cbx_fail(p->err, CBX_EFORMAT, "'%s': no JSON: it is empty", p->what);
    st = cbx__json_value(p, &place);
    if (st) return st;
    cbx__json_skip_space(p);
    if (p->at == p->end) return cbx__json_own(p, &place, out);
    cbx__json_drop(&place);
    return cbx__json_malformed(p, p->at, "something stands behind the value");
}

cbx_status cbx_json_parse(const char *text, size_t len, const char *what, cbx_json **out, cbx_err *err)
{
    cbx__json_reader p = { .text = text, .at = text, .end = text + len, .what = what, .err = err };
    cbx_json *v = NULL;
    cbx_status st;

    if (len > CBX__JSON_LENGTH_MOST) return cbx_fail(err, CBX_EOVERFLOW, "'%s': longer than 2 GiB", what);
    st = cbx__json_begin(&p);
    if (!st) st = parse_text(&p, &v);
    cbx__json_end(&p);
    if (!st) *out = v;
    return st;
}

cbx_status cbx_json_read(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err)
{
    char *data = NULL;
    size_t len = 0;
    cbx_status st = cbx_file_read(ctx, path, CBX__JSON_LENGTH_MOST, &data, &len, err);

    if (st) return st;
    st = cbx_json_parse(data, len, path, out, err);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    return st;
}
