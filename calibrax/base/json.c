/*
 * JSON values over json-c (MIT; Debian 12 has 0.16, anything from 0.15 on serves; its types stay here and in
 * json_write.c).
 *
 * json-c takes its memory from malloc and offers no other way, so a context's allocator does not see it.  Before 0.18
 * it leaves the copies of strings and keys unchecked while parsing (its issue 857): a process whose malloc fails may
 * end there. Parsing is its strict mode behind a scan of our own, which finds the nesting depth and what json-c lets
 * pass all the same: control characters, single quotes, numbers such as 1. or 01, integers beyond 64 bits,
 * surrogates and overlong sequences in UTF-8. Numbers and
 * layout are written by json_write.c: json-c prints doubles with 17 digits and has no layout equal to Python's.
 */
#include "calibrax/base/json.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/internal.h"

#define DEPTH_MOST  64
#define LENGTH_MOST ((size_t)1 << 30)

static json_object *inside(const cbx_json *v) { return (json_object *)(uintptr_t)v; }
static cbx_json *outside(json_object *v) { return (cbx_json *)v; }

/* --- parsing --- */

/* What json-c is lenient about even in its strict mode, found in one walk over the text. */
typedef struct scanner {
    const char *text, *what;
    size_t len, i;
    cbx_err *err;
} scanner;

static char peek(const scanner *s) { return s->i < s->len ? s->text[s->i] : 0; }

static cbx_status malformed(const scanner *s, const char *fault)
{
    return cbx_fail(s->err, CBX_EFORMAT, "'%s': no JSON: %s at offset %zu", s->what, fault, s->i);
}

/* From behind the opening quote to behind the closing one; a missing one is json-c's to report. */
static cbx_status scan_string(scanner *s)
{
    while (s->i < s->len && s->text[s->i] != '"') {
        size_t used = 1;
        unsigned char c = (unsigned char)s->text[s->i];
        if (c < 0x20) return malformed(s, "a control character in a string");
        if (c >= 0x80) cbx__utf8_decode(s->text + s->i, s->len - s->i, &used);
        if (c >= 0x80 && used == 1) return malformed(s, "a byte that is no UTF-8 in a string");
        s->i += used;
        /* what is escaped cannot end the string; json-c says whether it may be escaped */
        if (c == '\\' && s->i < s->len && (unsigned char)s->text[s->i] >= 0x20 && (unsigned char)s->text[s->i] < 0x80)
            s->i++;
    }
    s->i++;
    return CBX_OK;
}

static size_t scan_digits(scanner *s)
{
    size_t n = 0;
    while (peek(s) >= '0' && peek(s) <= '9') s->i++, n++;
    return n;
}

/* json-c saturates integers beyond its range without a word. */
static bool integer_fits(const char *digits, size_t n, bool negative)
{
    static const char most[] = "18446744073709551615", least[] = "9223372036854775808";
    const char *limit = negative ? least : most;
    size_t limit_len = strlen(limit);
    return n < limit_len || (n == limit_len && memcmp(digits, limit, n) <= 0);
}

/* RFC 8259, section 6, and -Infinity. */
static cbx_status scan_number(scanner *s)
{
    bool negative = peek(s) == '-', integer = true;
    if (negative) s->i++;
    if (negative && peek(s) == 'I') return CBX_OK;
    const char *digits = s->text + s->i;
    size_t n = scan_digits(s);
    if (n == 0 || (n > 1 && digits[0] == '0')) return malformed(s, "a malformed number");
    if (peek(s) == '.') {
        integer = false;
        s->i++;
        if (scan_digits(s) == 0) return malformed(s, "a malformed number");
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        integer = false;
        s->i++;
        if (peek(s) == '+' || peek(s) == '-') s->i++;
        if (scan_digits(s) == 0) return malformed(s, "a malformed number");
    }
    return integer && !integer_fits(digits, n, negative) ? malformed(s, "an integer of more than 64 bits") : CBX_OK;
}

static cbx_status scan(const char *text, size_t len, const char *what, cbx_err *err)
{
    scanner s = { text, what, len, 0, err };
    size_t depth = 0;
    cbx_status st = CBX_OK;
    while (!st && s.i < len) {
        char c = text[s.i];
        if (c == '-' || (c >= '0' && c <= '9')) {
            st = scan_number(&s);
            continue;
        }
        if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r') return malformed(&s, "a control character");
        if (c == '\'') return malformed(&s, "a single quote");
        if ((c == '[' || c == '{') && ++depth > DEPTH_MOST)
            return cbx_fail(err, CBX_EOVERFLOW, "'%s': nested deeper than %d at offset %zu", what, DEPTH_MOST, s.i);
        if ((c == ']' || c == '}') && depth > 0) depth--;
        s.i++;
        if (c == '"') st = scan_string(&s);
    }
    return st;
}

static size_t skip_space(const char *text, size_t len, size_t i)
{
    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')) i++;
    return i;
}

/* Feeds the text and then a NUL, which ends a bare number. */
static cbx_status feed(json_tokener *tok, const char *text, size_t len, const char *what, json_object **out,
                       cbx_err *err)
{
    json_object *v = json_tokener_parse_ex(tok, text, (int)len);
    size_t end = json_tokener_get_parse_end(tok);
    if (json_tokener_get_error(tok) == json_tokener_continue) {
        v = json_tokener_parse_ex(tok, "", 1);
        end = len;
    }
    enum json_tokener_error error = json_tokener_get_error(tok);
    if (error == json_tokener_continue || (error == json_tokener_error_parse_eof))
        return cbx_fail(err, CBX_EFORMAT, "'%s': no JSON: it ends too early, at offset %zu", what, end);
    if (error != json_tokener_success)
        return cbx_fail(err, CBX_EFORMAT, "'%s': no JSON: %s at offset %zu", what, json_tokener_error_desc(error), end);
    /* json-c returns a null without an error when it cannot allocate its locale or a value */
    if (!v && text[skip_space(text, len, 0)] != 'n')
        return cbx_fail(err, CBX_ENOMEM, "out of memory to parse '%s'", what);
    if (skip_space(text, len, end) < len) {
        json_object_put(v);
        return cbx_fail(err, CBX_EFORMAT, "'%s': no JSON: something stands behind the value at offset %zu", what,
                        skip_space(text, len, end));
    }
    *out = v;
    return CBX_OK;
}

cbx_status cbx_json_parse(const char *text, size_t len, const char *what, cbx_json **out, cbx_err *err)
{
    json_object *v = NULL;
    if (len > LENGTH_MOST) return cbx_fail(err, CBX_EOVERFLOW, "'%s': longer than 1 GiB", what);
    cbx_status st = scan(text, len, what, err);
    if (st) return st;
    if (skip_space(text, len, 0) == len) return cbx_fail(err, CBX_EFORMAT, "'%s': no JSON: it is empty", what);
    json_tokener *tok = json_tokener_new_ex(DEPTH_MOST + 2);
    if (!tok) return cbx_fail(err, CBX_ENOMEM, "out of memory to parse '%s'", what);
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    st = feed(tok, text, len, what, &v, err);
    json_tokener_free(tok);
    if (!st) *out = outside(v);
    return st;
}

cbx_status cbx_json_read(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err)
{
    char *data = NULL;
    size_t len = 0;
    cbx_status st = cbx_file_read(ctx, path, LENGTH_MOST, &data, &len, err);
    if (st) return st;
    st = cbx_json_parse(data, len, path, out, err);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    return st;
}

cbx_json *cbx_json_ref(cbx_json *v) { return outside(json_object_get(inside(v))); }
void cbx_json_unref(cbx_json *v) { json_object_put(inside(v)); }

/* --- what a value is --- */

cbx_json_type cbx_json_typeof(const cbx_json *v)
{
    switch (json_object_get_type(inside(v))) {
    case json_type_boolean: return CBX_JSON_BOOL;
    case json_type_int: return CBX_JSON_INT;
    case json_type_double: return CBX_JSON_DOUBLE;
    case json_type_string: return CBX_JSON_STRING;
    case json_type_array: return CBX_JSON_ARRAY;
    case json_type_object: return CBX_JSON_OBJECT;
    default: return CBX_JSON_NULL;
    }
}

static const char *type_words(const cbx_json *v)
{
    static const char *const words[] = { "null",     "a boolean", "an integer", "a number",
                                         "a string", "an array",  "an object" };
    return words[cbx_json_typeof(v)];
}

/* An integer of json-c is an int64 or a uint64; tells them apart: true for one beyond INT64_MAX. */
static bool is_beyond_int64(const cbx_json *v)
{
    return json_object_get_type(inside(v)) == json_type_int && json_object_get_int64(inside(v)) == INT64_MAX &&
           json_object_get_uint64(inside(v)) > (uint64_t)INT64_MAX;
}

/* The double as an exact int64; false if it is none. */
static bool double_as_int(double d, int64_t *out)
{
    if (!(d >= -0x1p63 && d < 0x1p63) || d != floor(d)) return false;
    *out = (int64_t)d;
    return true;
}

static bool equal_int_double(const cbx_json *i, double d)
{
    int64_t n;
    if (is_beyond_int64(i)) return d >= 0x1p63 && d < 0x1p64 && (uint64_t)d == json_object_get_uint64(inside(i));
    return double_as_int(d, &n) && n == json_object_get_int64(inside(i));
}

static bool equal_numbers(const cbx_json *a, const cbx_json *b)
{
    bool a_int = cbx_json_typeof(a) == CBX_JSON_INT, b_int = cbx_json_typeof(b) == CBX_JSON_INT;
    double x = json_object_get_double(inside(a)), y = json_object_get_double(inside(b));
    if (a_int && b_int)
        return is_beyond_int64(a) == is_beyond_int64(b) &&
               (is_beyond_int64(a) ? json_object_get_uint64(inside(a)) == json_object_get_uint64(inside(b))
                                   : json_object_get_int64(inside(a)) == json_object_get_int64(inside(b)));
    if (a_int) return equal_int_double(a, y);
    if (b_int) return equal_int_double(b, x);
    return x == y || (isnan(x) && isnan(y));
}

static bool equal_strings(const cbx_json *a, const cbx_json *b)
{
    int n = json_object_get_string_len(inside(a));
    return n == json_object_get_string_len(inside(b)) &&
           memcmp(json_object_get_string(inside(a)), json_object_get_string(inside(b)), (size_t)n) == 0;
}

static bool equal_arrays(const cbx_json *a, const cbx_json *b)
{
    size_t n = cbx_json_length(a);
    if (n != cbx_json_length(b)) return false;
    for (size_t i = 0; i < n; i++)
        if (!cbx_json_equal(cbx_json_at(a, i), cbx_json_at(b, i))) return false;
    return true;
}

static bool equal_objects(const cbx_json *a, const cbx_json *b)
{
    if (cbx_json_length(a) != cbx_json_length(b)) return false;
    json_object_object_foreach(inside(a), key, value)
    {
        json_object *other;
        if (!json_object_object_get_ex(inside(b), key, &other) || !cbx_json_equal(outside(value), outside(other)))
            return false;
    }
    return true;
}

static bool is_number(const cbx_json *v)
{
    cbx_json_type t = cbx_json_typeof(v);
    return t == CBX_JSON_INT || t == CBX_JSON_DOUBLE;
}

bool cbx_json_equal(const cbx_json *a, const cbx_json *b)
{
    if (is_number(a) && is_number(b)) return equal_numbers(a, b);
    if (cbx_json_typeof(a) != cbx_json_typeof(b)) return false;
    switch (cbx_json_typeof(a)) {
    case CBX_JSON_BOOL: return json_object_get_boolean(inside(a)) == json_object_get_boolean(inside(b));
    case CBX_JSON_STRING: return equal_strings(a, b);
    case CBX_JSON_ARRAY: return equal_arrays(a, b);
    case CBX_JSON_OBJECT: return equal_objects(a, b);
    default: return true;
    }
}

/* --- values --- */

const char *cbx_json_string_value(const cbx_json *v)
{
    return cbx_json_typeof(v) == CBX_JSON_STRING ? json_object_get_string(inside(v)) : NULL;
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
        *out = is_beyond_int64(v) ? (double)json_object_get_uint64(inside(v)) : json_object_get_double(inside(v));
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
    if (cbx_json_typeof(v) == CBX_JSON_DOUBLE) return double_as_int(json_object_get_double(inside(v)), out);
    if (cbx_json_typeof(v) != CBX_JSON_INT) return false;
    *out = json_object_get_int64(inside(v));
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

bool cbx_json_bool_value(const cbx_json *v)
{
    return cbx_json_typeof(v) == CBX_JSON_BOOL && json_object_get_boolean(inside(v));
}

/* --- looking up --- */

bool cbx_json_has(const cbx_json *object, const char *key)
{
    return cbx_json_typeof(object) == CBX_JSON_OBJECT && json_object_object_get_ex(inside(object), key, NULL);
}

cbx_json *cbx_json_get(const cbx_json *object, const char *key)
{
    json_object *v = NULL;
    if (cbx_json_typeof(object) == CBX_JSON_OBJECT) json_object_object_get_ex(inside(object), key, &v);
    return outside(v);
}

size_t cbx_json_length(const cbx_json *v)
{
    switch (cbx_json_typeof(v)) {
    case CBX_JSON_ARRAY: return json_object_array_length(inside(v));
    case CBX_JSON_OBJECT: return (size_t)json_object_object_length(inside(v));
    default: return 0;
    }
}

cbx_json *cbx_json_at(const cbx_json *array, size_t i)
{
    if (cbx_json_typeof(array) != CBX_JSON_ARRAY || i >= json_object_array_length(inside(array))) return NULL;
    return outside(json_object_array_get_idx(inside(array), i));
}

bool cbx_json_member(const cbx_json *object, size_t i, const char **key, cbx_json **value)
{
    if (i >= cbx_json_length(object) || cbx_json_typeof(object) != CBX_JSON_OBJECT) return false;
    struct lh_entry *entry = json_object_get_object(inside(object))->head;
    while (i-- > 0) entry = entry->next;
    *key = lh_entry_k(entry);
    *value = lh_entry_v(entry);
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
    cbx_json *v = cbx_json_get(object, key);
    return cbx_json_typeof(v) == CBX_JSON_BOOL ? json_object_get_boolean(inside(v)) : fallback;
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

/* --- building --- */

cbx_json *cbx_json_new_object(void) { return outside(json_object_new_object()); }
cbx_json *cbx_json_new_array(void) { return outside(json_object_new_array()); }
cbx_json *cbx_json_new_string(const char *s) { return outside(json_object_new_string(s)); }
cbx_json *cbx_json_new_int(int64_t v) { return outside(json_object_new_int64(v)); }
cbx_json *cbx_json_new_double(double v) { return outside(json_object_new_double(v)); }
cbx_json *cbx_json_new_bool(bool v) { return outside(json_object_new_boolean(v)); }

cbx_json *cbx_json_copy(const cbx_json *v)
{
    json_object *copy = NULL;
    return v && json_object_deep_copy(inside(v), &copy, NULL) == 0 ? outside(copy) : NULL;
}

bool cbx_json_set(cbx_json *object, const char *key, cbx_json *value)
{
    if (value && cbx_json_typeof(object) == CBX_JSON_OBJECT &&
        json_object_object_add(inside(object), key, inside(value)) == 0)
        return true;
    cbx_json_unref(value);
    return false;
}

bool cbx_json_set_null(cbx_json *object, const char *key)
{
    return cbx_json_typeof(object) == CBX_JSON_OBJECT && json_object_object_add(inside(object), key, NULL) == 0;
}

bool cbx_json_set_string(cbx_json *object, const char *key, const char *s)
{
    return s ? cbx_json_set(object, key, cbx_json_new_string(s)) : cbx_json_set_null(object, key);
}

bool cbx_json_set_int(cbx_json *object, const char *key, int64_t v)
{
    return cbx_json_set(object, key, cbx_json_new_int(v));
}
bool cbx_json_set_double(cbx_json *object, const char *key, double v)
{
    return cbx_json_set(object, key, cbx_json_new_double(v));
}
bool cbx_json_set_bool(cbx_json *object, const char *key, bool v)
{
    return cbx_json_set(object, key, cbx_json_new_bool(v));
}

bool cbx_json_push(cbx_json *array, cbx_json *value)
{
    if (value && cbx_json_typeof(array) == CBX_JSON_ARRAY && json_object_array_add(inside(array), inside(value)) == 0)
        return true;
    cbx_json_unref(value);
    return false;
}

bool cbx_json_push_null(cbx_json *array)
{
    return cbx_json_typeof(array) == CBX_JSON_ARRAY && json_object_array_add(inside(array), NULL) == 0;
}

bool cbx_json_remove(cbx_json *object, const char *key)
{
    if (!cbx_json_has(object, key)) return false;
    json_object_object_del(inside(object), key);
    return true;
}
