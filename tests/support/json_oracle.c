/* The second reader of JSON: json-c behind a scan, compared value by value. */
#include "json_oracle.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/utf8.h"

#define DEPTH_MOST 64

/* --- what json-c passes even in its strict mode --- */

typedef struct scanner {
    const char *text;
    size_t len, i;
} scanner;

static char peek(const scanner *s) { return s->i < s->len ? s->text[s->i] : 0; }

/* From behind the opening quote to behind the closing one; a missing one is json-c's to report. */
static bool scan_string(scanner *s)
{
    while (s->i < s->len && s->text[s->i] != '"') {
        size_t used = 1;
        unsigned char c = (unsigned char)s->text[s->i];
        if (c < 0x20) return false;
        if (c >= 0x80) cbx__utf8_decode(s->text + s->i, s->len - s->i, &used);
        if (c >= 0x80 && used == 1) return false;
        s->i += used;
        /* what is escaped cannot end the string; json-c says whether it may be escaped */
        if (c == '\\' && s->i < s->len && (unsigned char)s->text[s->i] >= 0x20 && (unsigned char)s->text[s->i] < 0x80)
            s->i++;
    }
    s->i++;
    return true;
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
    const char *limit = negative ? "9223372036854775808" : "18446744073709551615";
    size_t limit_len = strlen(limit);
    return n < limit_len || (n == limit_len && memcmp(digits, limit, n) <= 0);
}

/* RFC 8259, section 6, and -Infinity. */
static bool scan_number(scanner *s)
{
    bool negative = peek(s) == '-', integer = true;
    if (negative) s->i++;
    if (negative && peek(s) == 'I') return true;
    const char *digits = s->text + s->i;
    size_t n = scan_digits(s);
    if (n == 0 || (n > 1 && digits[0] == '0')) return false;
    if (peek(s) == '.') {
        integer = false;
        s->i++;
        if (scan_digits(s) == 0) return false;
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        integer = false;
        s->i++;
        if (peek(s) == '+' || peek(s) == '-') s->i++;
        if (scan_digits(s) == 0) return false;
    }
    return !integer || integer_fits(digits, n, negative);
}

static bool scan(const char *text, size_t len, size_t *colons)
{
    scanner s = { text, len, 0 };
    size_t depth = 0;
    bool good = true;
    while (good && s.i < len) {
        char c = text[s.i];
        if (c == '-' || (c >= '0' && c <= '9')) {
            good = scan_number(&s);
            continue;
        }
        if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r') return false;
        if (c == '\'' || ((c == '[' || c == '{') && ++depth > DEPTH_MOST)) return false;
        if ((c == ']' || c == '}') && depth > 0) depth--;
        *colons += c == ':';
        s.i++;
        if (c == '"') good = scan_string(&s);
    }
    return good;
}

/* --- json-c --- */

static size_t skip_space(const char *text, size_t len, size_t i)
{
    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')) i++;
    return i;
}

/* The text and then a NUL, which ends a bare number. */
static bool read_whole(const char *text, size_t len, json_object **out)
{
    json_tokener *tok = json_tokener_new_ex(DEPTH_MOST + 2);
    size_t end;
    bool good;

    json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    *out = json_tokener_parse_ex(tok, text, (int)len);
    end = json_tokener_get_parse_end(tok);
    if (json_tokener_get_error(tok) == json_tokener_continue) {
        *out = json_tokener_parse_ex(tok, "", 1);
        end = len;
    }
    good = json_tokener_get_error(tok) == json_tokener_success && skip_space(text, len, end) == len;
    json_tokener_free(tok);
    if (!good) json_object_put(*out);
    return good;
}

/* --- comparing --- */

static bool same(const cbx_json *ours, json_object *theirs);

static bool same_number(const cbx_json *ours, json_object *theirs)
{
    double x, y;

    if (json_object_get_type(theirs) == json_type_int) {
        if (cbx_json_typeof(ours) != CBX_JSON_INT) return false;
        return cbx_json_int_value(ours) == json_object_get_int64(theirs) &&
               cbx_json_double_value(ours) == (json_object_get_int64(theirs) == INT64_MAX
                                                   ? (double)json_object_get_uint64(theirs)
                                                   : (double)json_object_get_int64(theirs));
    }
    x = cbx_json_double_value(ours);
    y = json_object_get_double(theirs);
    return cbx_json_typeof(ours) == CBX_JSON_DOUBLE && ((isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0);
}

static bool same_members(const cbx_json *ours, json_object *theirs)
{
    size_t i = 0;

    if (cbx_json_length(ours) != (size_t)json_object_object_length(theirs)) return false;
    json_object_object_foreach(theirs, key, value)
    {
        const char *our_key;
        cbx_json *our_value;
        if (!cbx_json_member(ours, i++, &our_key, &our_value) || strcmp(our_key, key) != 0) return false;
        if (cbx_json_get(ours, key) != our_value || !same(our_value, value)) return false;
    }
    return true;
}

static bool same_elements(const cbx_json *ours, json_object *theirs)
{
    size_t n = json_object_array_length(theirs);

    for (size_t i = 0; i < n; i++)
        if (!same(cbx_json_at(ours, i), json_object_array_get_idx(theirs, i))) return false;
    return cbx_json_length(ours) == n;
}

static bool same(const cbx_json *ours, json_object *theirs)
{
    switch (json_object_get_type(theirs)) {
    case json_type_null: return ours == NULL;
    case json_type_boolean:
        return cbx_json_typeof(ours) == CBX_JSON_BOOL && cbx_json_bool_value(ours) == json_object_get_boolean(theirs);
    case json_type_string:
        return cbx_json_typeof(ours) == CBX_JSON_STRING &&
               !strcmp(cbx_json_string_value(ours), json_object_get_string(theirs));
    case json_type_array: return cbx_json_typeof(ours) == CBX_JSON_ARRAY && same_elements(ours, theirs);
    case json_type_object: return cbx_json_typeof(ours) == CBX_JSON_OBJECT && same_members(ours, theirs);
    default: return same_number(ours, theirs);
    }
}

static size_t count_members(json_object *v)
{
    size_t n = 0;

    if (json_object_get_type(v) == json_type_array) {
        for (size_t i = 0; i < json_object_array_length(v); i++) n += count_members(json_object_array_get_idx(v, i));
    } else if (json_object_get_type(v) == json_type_object) {
        json_object_object_foreach(v, key, value)
        {
            (void)key;
            n += 1 + count_members(value);
        }
    }
    return n;
}

/* Some integer may have more than 64 bits: json-c refuses it, and we read the nearest double. */
static bool has_long_integer(const char *text, size_t len)
{
    size_t digits = 0;

    for (size_t i = 0; i < len && digits < 19; i++) digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
    return digits >= 19;
}

const char *cbx_test_json_differs(const char *text, size_t len, bool accepted, const cbx_json *ours)
{
    json_object *theirs = NULL;
    const char *differs = NULL;
    size_t mark = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0, colons = 0;
    bool taken, nul;

    text += mark; /* which json-c does not know */
    len -= mark;
    nul = memmem(text, len, "\\u0000", 6);
    taken = skip_space(text, len, 0) < len && scan(text, len, &colons) && read_whole(text, len, &theirs);
    if (taken && !accepted &&
        (nul || count_members(theirs) < colons)) /* json-c cuts a key at a NUL, and keeps the last of two */
        taken = json_object_put(theirs) != 1;
    if (!taken && accepted && has_long_integer(text, len)) return NULL;
    if (taken != accepted) differs = taken ? "json-c reads it, we do not" : "we read it, json-c does not";
    if (!differs && taken && count_members(theirs) < colons) differs = "we read a key that is listed twice";
    if (!differs && taken && !same(ours, theirs)) differs = "json-c reads another value";
    if (taken) json_object_put(theirs);
    return differs;
}
