/*
 * Writing JSON: layout, numbers and escapes equal to Python's json.dumps, so that files of either side differ by
 * content only.
 *
 * It sees values through json.h alone, but for the length of a string, which may hold a NUL.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "calibrax/base/internal.h"
#include "calibrax/base/json.h"

static void write_value(const cbx_json *v, unsigned flags, int level, cbx_text *out);

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
    if (code < 0x20 || (flags & CBX_JSON_ASCII))
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

static void write_double(double v, unsigned flags, cbx_text *out)
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
    json_object *o = (json_object *)(uintptr_t)v;
    int64_t n = json_object_get_int64(o);
    if (n == INT64_MAX)
        cbx_text_printf(out, "%" PRIu64, json_object_get_uint64(o));
    else
        cbx_text_printf(out, "%" PRId64, n);
}

/* Before an element and before the closing bracket. */
static void new_line(unsigned flags, int level, cbx_text *out)
{
    if (!(flags & CBX_JSON_INDENT2)) return;
    cbx_text_putc(out, '\n');
    for (int i = 0; i < level; i++) cbx_text_add(out, "  ", 2);
}

static void write_array(const cbx_json *v, unsigned flags, int level, cbx_text *out)
{
    size_t n = cbx_json_length(v);
    cbx_text_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) cbx_text_putc(out, ',');
        new_line(flags, level + 1, out);
        write_value(cbx_json_at(v, i), flags, level + 1, out);
    }
    if (n) new_line(flags, level, out);
    cbx_text_putc(out, ']');
}

typedef struct member {
    const char *key;
    cbx_json *value;
} member;

static int compare_members(const void *a, const void *b)
{
    return strcmp(((const member *)a)->key, ((const member *)b)->key);
}

static void write_member(const member *m, bool first, unsigned flags, int level, cbx_text *out)
{
    if (!first) cbx_text_putc(out, ',');
    new_line(flags, level + 1, out);
    cbx_json_write_string(m->key, strlen(m->key), flags, out);
    cbx_text_puts(out, flags & CBX_JSON_INDENT2 ? ": " : ":");
    write_value(m->value, flags, level + 1, out);
}

/* Members by key: UTF-8 bytes sort as code points do, as in Python. */
static void write_sorted_members(const cbx_json *v, size_t n, unsigned flags, int level, cbx_text *out)
{
    size_t i = 0;
    member *members = cbx_mem_calloc(&out->al, n, sizeof *members);
    if (!members) {
        out->status = CBX_ENOMEM;
        return;
    }
    json_object_object_foreach((json_object *)(uintptr_t)v, key, value)
        members[i++] = (member){ key, (cbx_json *)value };
    qsort(members, n, sizeof *members, compare_members);
    for (i = 0; i < n; i++) write_member(&members[i], i == 0, flags, level, out);
    cbx_mem_free(&out->al, members, n * sizeof *members);
}

static void write_object(const cbx_json *v, unsigned flags, int level, cbx_text *out)
{
    size_t n = cbx_json_length(v);
    bool first = true;
    cbx_text_putc(out, '{');
    if (n && (flags & CBX_JSON_SORT_KEYS)) {
        write_sorted_members(v, n, flags, level, out);
    } else if (n) {
        json_object_object_foreach((json_object *)(uintptr_t)v, key, value)
        {
            const member m = { key, (cbx_json *)value };
            write_member(&m, first, flags, level, out);
            first = false;
        }
    }
    if (n) new_line(flags, level, out);
    cbx_text_putc(out, '}');
}

static void write_value(const cbx_json *v, unsigned flags, int level, cbx_text *out)
{
    json_object *o = (json_object *)(uintptr_t)v;
    switch (cbx_json_typeof(v)) {
    case CBX_JSON_NULL: cbx_text_puts(out, "null"); break;
    case CBX_JSON_BOOL: cbx_text_puts(out, cbx_json_bool_value(v) ? "true" : "false"); break;
    case CBX_JSON_INT: write_int(v, out); break;
    case CBX_JSON_DOUBLE: write_double(json_object_get_double(o), flags, out); break;
    case CBX_JSON_STRING:
        cbx_json_write_string(json_object_get_string(o), (size_t)json_object_get_string_len(o), flags, out);
        break;
    case CBX_JSON_ARRAY: write_array(v, flags, level, out); break;
    case CBX_JSON_OBJECT: write_object(v, flags, level, out); break;
    }
}

void cbx_json_write(const cbx_json *v, unsigned flags, cbx_text *out) { write_value(v, flags, 0, out); }
