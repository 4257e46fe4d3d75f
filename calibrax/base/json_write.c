/* Writing JSON: layout, numbers and escapes equal to Python's json.dumps, so that files of either
 * side differ by content only. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/json_internal.h"
#include "calibrax/base/utf8.h"

static void write_value(cbx_json_writer *w, const cbx_json *v);

/* One character that cannot be written as it is; returns the bytes it took. */
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
    bool control = (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    if (code < 0x20 || (flags & CBX_JSON_ASCII) || (control && (flags & CBX_JSON_NO_CONTROL))) {
        if (code >= 0x10000) cbx_text_printf(out, "\\u%04" PRIx32, 0xD800 + ((code - 0x10000) >> 10));
        cbx_text_printf(out, "\\u%04" PRIx32, code < 0x10000 ? code : 0xDC00 + (code & 0x3FF));
    } else if (code == CBX__UTF8_REPLACEMENT) {
        cbx_text_puts(out, "\xEF\xBF\xBD");
    } else {
        cbx_text_add(out, s, used);
    }
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

/* Before an element and before the closing bracket. */
static void new_line(const cbx_json_writer *w)
{
    if (!(w->flags & CBX_JSON_INDENT2)) return;
    cbx_text_putc(w->out, '\n');
    for (int i = 0; i < w->level; i++) cbx_text_add(w->out, "  ", 2);
}

typedef struct member {
    const char *key;
    size_t key_len;
    const cbx_json *value;
} member;

/* By key: UTF-8 bytes sort as code points do, as in Python. */
static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = memcmp(x->key, y->key, x->key_len < y->key_len ? x->key_len : y->key_len);

    return order ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

static void write_key(const cbx_json_writer *w, const char *key, size_t len)
{
    cbx_json_write_string(key, len, w->flags, w->out);
    cbx_text_puts(w->out, w->flags & CBX_JSON_INDENT2 ? ": " : ":");
}

static void write_container(cbx_json_writer *w, const cbx_json *v)
{
    const json_object *o = v->kind == KIND_OBJECT ? cbx__as_object(v) : NULL;
    size_t n = v->count;
    member *sorted = NULL;

    if (o && n && (w->flags & CBX_JSON_SORT_KEYS)) {
        sorted = cbx_mem_calloc(&w->out->al, n, sizeof *sorted);
        if (!sorted) w->out->status = CBX_ENOMEM;
        for (size_t i = 0; sorted && i < n; i++) {
            const json_member *m = &o->members[i];
            sorted[i] = (member){ o->keys + m->key_at, m->key_len, cbx__json_resolve(&m->value) };
        }
        if (sorted) qsort(sorted, n, sizeof *sorted, compare_members);
    }
    cbx_text_putc(w->out, o ? '{' : '[');
    w->level++;
    for (size_t i = 0; i < n; i++) {
        const cbx_json *place = o ? &o->members[i].value : &cbx__as_array(v)->items[i];
        if (i) cbx_text_putc(w->out, ',');
        new_line(w);
        if (sorted)
            write_key(w, sorted[i].key, sorted[i].key_len);
        else if (o)
            write_key(w, o->keys + o->members[i].key_at, o->members[i].key_len);
        write_value(w, sorted ? sorted[i].value : cbx__json_resolve(place));
        if (!o && w->pour) w->pour(w->user, w->out);
    }
    cbx_mem_free(&w->out->al, sorted, n * sizeof *sorted);
    w->level--;
    if (n) new_line(w);
    cbx_text_putc(w->out, o ? '}' : ']');
}

static void write_value(cbx_json_writer *w, const cbx_json *v)
{
    if (v && v->failed) w->out->status = CBX_ENOMEM;
    switch (v ? v->kind : KIND_NULL) {
    case KIND_BOOL: cbx_text_puts(w->out, v->truth ? "true" : "false"); break;
    case KIND_INT: cbx_text_printf(w->out, "%" PRId64, v->number); break;
    case KIND_LONG: cbx_text_add(w->out, cbx__as_string(v)->bytes, v->count); break;
    case KIND_DOUBLE: cbx_json_write_double(v->real, w->flags, w->out); break;
    case KIND_STRING: cbx_json_write_string(cbx__as_string(v)->bytes, v->count, w->flags, w->out); break;
    case KIND_ARRAY:
    case KIND_OBJECT: write_container(w, v); break;
    default: cbx_text_puts(w->out, "null"); break;
    }
}

void cbx_json_write(const cbx_json *v, unsigned flags, cbx_text *out)
{
    write_value(&(cbx_json_writer){ .out = out, .flags = flags }, v);
}

/* --- documents that are not held --- */

static uint64_t top(const cbx_json_writer *w) { return UINT64_C(1) << (w->level - 1); }

static void begin_item(cbx_json_writer *w, const char *key)
{
    if (w->level) {
        if (w->not_empty & top(w)) cbx_text_putc(w->out, ',');
        w->not_empty |= top(w);
        new_line(w);
    }
    if (key) write_key(w, key, strlen(key));
}

static void end_item(cbx_json_writer *w)
{
    if (w->pour) w->pour(w->user, w->out);
}

void cbx_json_writer_begin(cbx_json_writer *w, const char *key, char bracket)
{
    assert(w->level < CBX__JSON_MAX_DEPTH);
    begin_item(w, key);
    cbx_text_putc(w->out, bracket);
    w->level++;
    w->not_empty &= ~top(w);
    w->arrays = bracket == '[' ? w->arrays | top(w) : w->arrays & ~top(w);
}

void cbx_json_writer_end(cbx_json_writer *w)
{
    bool filled = w->not_empty & top(w), array = w->arrays & top(w);

    w->level--;
    if (filled) new_line(w);
    cbx_text_putc(w->out, array ? ']' : '}');
    end_item(w);
}

void cbx_json_writer_add(cbx_json_writer *w, const char *key, const cbx_json *v)
{
    begin_item(w, key);
    write_value(w, v);
    end_item(w);
}

void cbx_json_writer_add_double(cbx_json_writer *w, const char *key, double v)
{
    begin_item(w, key);
    cbx_json_write_double(v, w->flags, w->out);
    end_item(w);
}

void cbx_json_writer_add_string(cbx_json_writer *w, const char *key, const char *s)
{
    begin_item(w, key);
    if (s)
        cbx_json_write_string(s, strlen(s), w->flags, w->out);
    else
        cbx_text_puts(w->out, "null");
    end_item(w);
}
