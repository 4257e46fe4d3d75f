/*
 * Writing JSON: layout, numbers and escapes equal to Python's json.dumps, so that files of either side differ by
 * content only.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/internal.h"
#include "calibrax/base/json_value.h"

/* How a document is laid out, and who takes what is written so far. */
typedef struct form {
    unsigned flags;
    cbx_json_pour_fn pour; /* NULL: nobody */
    void *user;
} form;

static void write_value(const cbx_json *v, const form *f, int level, cbx_text *out);

static void write_escape(uint32_t code, cbx_text *out)
{
    if (code < 0x10000) {
        cbx_text_printf(out, "\\u%04" PRIx32, code);
        return;
    }
    code -= 0x10000;
    cbx_text_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

/* One character that cannot stand as it is; returns the bytes it took. */
static size_t write_special(const char *s, size_t left, unsigned flags, cbx_text *out)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = *s ? strchr(plain, *s) : NULL;
    size_t used = 1;
    if (at) {
        cbx_text_putc(out, '\\');
        cbx_text_putc(out, letters[at - plain]);
        return used;
    }
    uint32_t code = cbx__utf8_decode(s, left, &used);
    bool odd = (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    if (code < 0x20 || (flags & CBX_JSON_ASCII) || (odd && (flags & CBX_JSON_NO_CONTROL)))
        write_escape(code, out);
    else if (code == CBX__UTF8_REPLACEMENT)
        cbx_text_puts(out, "\xEF\xBF\xBD");
    else
        cbx_text_add(out, s, used);
    return used;
}

static bool is_ordinary(unsigned char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void cbx_json_write_string(const char *s, size_t len, unsigned flags, cbx_text *out)
{
    cbx_text_putc(out, '"');
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && is_ordinary((unsigned char)s[i + n])) n++;
        if (n)
            cbx_text_add(out, s + i, n);
        else
            n = write_special(s + i, len - i, flags, out);
        i += n;
    }
    cbx_text_putc(out, '"');
}

void cbx_json_write_double(double v, unsigned flags, cbx_text *out)
{
    char buf[CBX_FORMAT_SIZE];
    if (isfinite(v)) {
        cbx_text_puts(out, cbx_format_double(v, buf));
        return;
    }
    const char *word = isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
    cbx_text_printf(out, flags & CBX_JSON_NONFINITE_STRING ? "\"%s\"" : "%s", word);
}

static void write_int(const cbx_json *v, cbx_text *out)
{
    if (v->kind == KIND_UINT)
        cbx_text_printf(out, "%" PRIu64, v->large);
    else
        cbx_text_printf(out, "%" PRId64, v->number);
}

/* Before an element and before the closing bracket. */
static void new_line(unsigned flags, int level, cbx_text *out)
{
    if (!(flags & CBX_JSON_INDENT2)) return;
    cbx_text_putc(out, '\n');
    for (int i = 0; i < level; i++) cbx_text_add(out, "  ", 2);
}

static void write_array(const cbx_json *v, const form *f, int level, cbx_text *out)
{
    size_t n = cbx_json_length(v);
    cbx_text_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) cbx_text_putc(out, ',');
        new_line(f->flags, level + 1, out);
        write_value(cbx_json_at(v, i), f, level + 1, out);
        if (f->pour) f->pour(f->user, out);
    }
    if (n) new_line(f->flags, level, out);
    cbx_text_putc(out, ']');
}

typedef struct member {
    const char *key;
    size_t key_len;
    const cbx_json *value;
} member;

static member member_at(const json_object *o, size_t i)
{
    const json_member *m = &o->members[i];

    return (member){ o->keys + m->key_at, m->key_len, cbx__json_seen(&m->value) };
}

/* By key: UTF-8 bytes sort as code points do, as in Python. */
static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = memcmp(x->key, y->key, x->key_len < y->key_len ? x->key_len : y->key_len);

    return order ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

static void write_member(const member *m, bool first, const form *f, int level, cbx_text *out)
{
    if (!first) cbx_text_putc(out, ',');
    new_line(f->flags, level + 1, out);
    cbx_json_write_string(m->key, m->key_len, f->flags, out);
    cbx_text_puts(out, f->flags & CBX_JSON_INDENT2 ? ": " : ":");
    write_value(m->value, f, level + 1, out);
}

static void write_sorted_members(const json_object *o, size_t n, const form *f, int level, cbx_text *out)
{
    member *members = cbx_mem_calloc(&out->al, n, sizeof *members);

    if (!members) {
        out->status = CBX_ENOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) members[i] = member_at(o, i);
    qsort(members, n, sizeof *members, compare_members);
    for (size_t i = 0; i < n; i++) write_member(&members[i], i == 0, f, level, out);
    cbx_mem_free(&out->al, members, n * sizeof *members);
}

static void write_object(const cbx_json *v, const form *f, int level, cbx_text *out)
{
    const json_object *o = cbx__as_object(v);
    size_t n = cbx_json_length(v);

    cbx_text_putc(out, '{');
    if (n && (f->flags & CBX_JSON_SORT_KEYS)) write_sorted_members(o, n, f, level, out);
    for (size_t i = 0; i < n && !(f->flags & CBX_JSON_SORT_KEYS); i++) {
        const member m = member_at(o, i);
        write_member(&m, i == 0, f, level, out);
    }
    if (n) new_line(f->flags, level, out);
    cbx_text_putc(out, '}');
}

static void write_value(const cbx_json *v, const form *f, int level, cbx_text *out)
{
    switch (cbx_json_typeof(v)) {
    case CBX_JSON_NULL: cbx_text_puts(out, "null"); break;
    case CBX_JSON_BOOL: cbx_text_puts(out, v->truth ? "true" : "false"); break;
    case CBX_JSON_INT: write_int(v, out); break;
    case CBX_JSON_DOUBLE: cbx_json_write_double(v->real, f->flags, out); break;
    case CBX_JSON_STRING: cbx_json_write_string(cbx__as_string(v)->bytes, v->count, f->flags, out); break;
    case CBX_JSON_ARRAY: write_array(v, f, level, out); break;
    case CBX_JSON_OBJECT: write_object(v, f, level, out); break;
    }
}

void cbx_json_write(const cbx_json *v, unsigned flags, cbx_text *out)
{
    const form f = { .flags = flags };
    write_value(v, &f, 0, out);
}

void cbx_json_write_part(const cbx_json *v, unsigned flags, int level, cbx_json_pour_fn pour, void *user, cbx_text *out)
{
    const form f = { flags, pour, user };
    write_value(v, &f, level, out);
}

void cbx_json_write_break(unsigned flags, int level, cbx_text *out) { new_line(flags, level, out); }
