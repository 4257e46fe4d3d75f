/*
 * Reading JSON: RFC 8259 to the letter, with the bare words NaN, Infinity and -Infinity beside it, in one walk over the text.
 *
 * Workload: ten thousand files of 10 kB at a time, and single ones of 100 MB that are mostly numbers.  A number of at most
 * 15 digits and a small power of ten is exact in one operation (Clinger 1990); the C library rounds the others.
 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/internal.h"
#include "calibrax/base/json_value.h"

#define LENGTH_MOST ((size_t)1 << 30)

/* What belongs to containers that are not closed yet, the innermost on top. */
typedef struct stack {
    void *data;
    size_t n, room;
} stack;

typedef struct parser {
    const char *text, *at, *end, *what;
    cbx_err *err;
    size_t depth;
    locale_t c_locale; /* a decimal point is a point, whatever the process has set */
    stack items, members, keys;
} parser;

static cbx_status malformed(const parser *p, const char *at, const char *fault)
{
    return cbx_fail(p->err, CBX_EFORMAT, "'%s': no JSON: %s at offset %zu", p->what, fault, (size_t)(at - p->text));
}

static cbx_status too_early(const parser *p)
{
    return cbx_fail(p->err, CBX_EFORMAT, "'%s': no JSON: it ends too early, at offset %zu", p->what,
                    (size_t)(p->end - p->text));
}

static cbx_status no_memory(const parser *p)
{
    return cbx_fail(p->err, CBX_ENOMEM, "out of memory to parse '%s'", p->what);
}

/* Something else than what may stand here. */
static cbx_status unexpected(const parser *p, const char *fault)
{
    unsigned char c;

    if (p->at >= p->end) return too_early(p);
    c = (unsigned char)*p->at;
    return malformed(p, p->at, c < 0x20 ? "a control character" : c == '\'' ? "a single quote" : fault);
}

/* Indented files are two fifths blanks: eight at a time. */
static void skip_space(parser *p)
{
    const char *at = p->at, *end = p->end;

    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
        at++;
        for (uint64_t v; end - at >= 8 && (memcpy(&v, at, sizeof v), v == 0x2020202020202020);) at += 8;
    }
    p->at = at;
}

static char peek(const parser *p) { return p->at < p->end ? *p->at : 0; }

/* --- numbers --- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* What the digits say: (-1)^negative * mantissa * 10^power, more behind it if it is not exact. */
typedef struct decimal {
    const char *start;
    bool negative, integer, exact;
    uint64_t mantissa;
    int significant, power;
} decimal;

#define DIGITS_MOST 19 /* that a uint64_t holds in any case */
#define POWER_MOST  100000

static bool take_digits(parser *p, decimal *d, bool fraction)
{
    const char *start = p->at, *c = start, *end = p->end;
    uint64_t mantissa = d->mantissa;
    int significant = d->significant;

    for (; c < end && is_digit(*c) && significant < DIGITS_MOST; c++) {
        mantissa = mantissa * 10 + (uint64_t)(*c - '0');
        significant += mantissa != 0;
    }
    d->mantissa = mantissa;
    d->significant = significant;
    if (fraction) d->power -= c - start < POWER_MOST ? (int)(c - start) : POWER_MOST;
    for (; c < end && is_digit(*c); c++) {
        d->exact = d->exact && *c == '0';
        d->power += !fraction && d->power < POWER_MOST;
    }
    p->at = c;
    return c > start;
}

static bool take_exponent(parser *p, decimal *d)
{
    bool negative;
    int e = 0;

    p->at++;
    negative = peek(p) == '-';
    if (negative || peek(p) == '+') p->at++;
    if (!is_digit(peek(p))) return false;
    for (; is_digit(peek(p)); p->at++) e = e < POWER_MOST ? 10 * e + (*p->at - '0') : e;
    d->power += negative ? -e : e;
    return true;
}

/* RFC 8259, section 6. */
static bool scan_number(parser *p, decimal *d)
{
    const char *first;

    *d = (decimal){ .start = p->at, .negative = *p->at == '-', .integer = true, .exact = true };
    p->at += d->negative;
    first = p->at;
    if (!take_digits(p, d, false) || (*first == '0' && p->at > first + 1)) return false;
    if (peek(p) == '.') {
        d->integer = false;
        p->at++;
        if (!take_digits(p, d, true)) return false;
    }
    if (peek(p) != 'e' && peek(p) != 'E') return true;
    d->integer = false;
    return take_exponent(p, d);
}

/* Up to twenty digits; false: more than 64 bits. */
static bool whole_number(const parser *p, const decimal *d, cbx_json *out)
{
    uint64_t v = 0;

    for (const char *c = d->start + d->negative; c < p->at; c++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*c - '0'), &v)) return false;
    if (d->negative && v > (uint64_t)1 << 63) return false;
    if (d->negative)
        *out = (cbx_json){ .kind = KIND_INT, .number = v ? -(int64_t)(v - 1) - 1 : 0 };
    else if (v > INT64_MAX)
        *out = (cbx_json){ .kind = KIND_UINT, .large = v };
    else
        *out = (cbx_json){ .kind = KIND_INT, .number = (int64_t)v };
    return true;
}

/* Correctly rounded since both factors are exact, or left to the C library. */
static cbx_status real_number(const parser *p, const decimal *d, cbx_json *out)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    size_t n = (size_t)(p->at - d->start);
    char few[64], *copy = few;
    double v = (double)d->mantissa;

    *out = (cbx_json){ .kind = KIND_DOUBLE };
    if (FLT_EVAL_METHOD == 0 && d->exact && d->mantissa <= (uint64_t)1 << 53 && d->power >= -22 && d->power <= 22) {
        v = d->power < 0 ? v / tens[-d->power] : v * tens[d->power];
        out->real = d->negative ? -v : v;
        return CBX_OK;
    }
    if (n >= sizeof few) copy = malloc(n + 1);
    if (!copy) return no_memory(p);
    memcpy(copy, d->start, n);
    copy[n] = 0;
    out->real = strtod_l(copy, NULL, p->c_locale);
    if (copy != few) free(copy);
    return CBX_OK;
}

static cbx_status parse_number(parser *p, cbx_json *out)
{
    decimal d;

    if (!scan_number(p, &d)) return malformed(p, p->at, "a malformed number");
    if (!d.integer) return real_number(p, &d, out);
    return whole_number(p, &d, out) ? CBX_OK : malformed(p, p->at, "an integer of more than 64 bits");
}

/* --- words --- */

static const struct {
    const char *text;
    size_t len;
    cbx_json value;
} words[] = {
    { "null", 4, { .kind = KIND_NULL } },
    { "true", 4, { .kind = KIND_BOOL, .truth = true } },
    { "false", 5, { .kind = KIND_BOOL, .truth = false } },
    { "NaN", 3, { .kind = KIND_DOUBLE, .real = NAN } },
    { "Infinity", 8, { .kind = KIND_DOUBLE, .real = INFINITY } },
    { "-Infinity", 9, { .kind = KIND_DOUBLE, .real = -INFINITY } },
};

static cbx_status parse_word(parser *p, cbx_json *out)
{
    size_t left = (size_t)(p->end - p->at);

    for (size_t i = 0; i < CBX_LEN(words); i++) {
        size_t n = left < words[i].len ? left : words[i].len;
        if (n == 0 || memcmp(p->at, words[i].text, n) != 0) continue;
        if (n < words[i].len) return too_early(p);
        p->at += n;
        *out = words[i].value;
        return CBX_OK;
    }
    return unexpected(p, "an unexpected character");
}

/* --- strings --- */

/* A string as it stands in the text, or decoded if it holds escapes. */
typedef struct piece {
    const char *bytes;
    size_t len;
    json_string *decoded; /* NULL: in the text */
} piece;

/* From behind the opening quote to the closing one; says whether there are escapes. */
static cbx_status scan_string(parser *p, bool *escapes)
{
    *escapes = false;
    while (p->at < p->end && *p->at != '"') {
        size_t used = 1;
        unsigned char c = (unsigned char)*p->at;
        if (c < 0x20) return malformed(p, p->at, "a control character in a string");
        if (c >= 0x80) {
            cbx__utf8_decode(p->at, (size_t)(p->end - p->at), &used);
            if (used == 1) return malformed(p, p->at, "a byte that is no UTF-8 in a string");
        } else if (c == '\\') {
            *escapes = true;
            used = p->at + 1 < p->end && (p->at[1] == '"' || p->at[1] == '\\') ? 2 : 1;
        }
        p->at += used;
    }
    return p->at < p->end ? CBX_OK : too_early(p);
}

static bool hex4(const char *s, const char *end, uint32_t *out)
{
    uint32_t v = 0;

    if (end - s < 4) return false;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        uint32_t digit = is_digit(c)            ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (digit > 15) return false;
        v = v << 4 | digit;
    }
    *out = v;
    return true;
}

static char *put_utf8(char *to, uint32_t code)
{
    static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    int n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (int i = n - 1; i > 0; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3F));
    to[0] = (char)(lead[n] | code);
    return to + n;
}

/* \uXXXX, two of them for a pair of surrogates; half a pair becomes the replacement character.  false: no hex digits. */
static bool decode_unicode(const char **s, const char *end, char **to)
{
    uint32_t code, low;

    if (!hex4(*s + 2, end, &code)) return false;
    *s += 6;
    if (code >= 0xD800 && code < 0xDC00 && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u' &&
        hex4(*s + 2, end, &low) && low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        *s += 6;
    } else if (code >= 0xD800 && code < 0xE000) {
        code = CBX__UTF8_REPLACEMENT;
    }
    *to = put_utf8(*to, code);
    return true;
}

/* No sequence grows when it is decoded. */
static cbx_status decode(parser *p, const char *s, const char *end, json_string *out)
{
    static const char letters[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    char *to = out->bytes;

    while (s < end) {
        const char *letter;
        if (*s != '\\') {
            *to++ = *s++;
            continue;
        }
        if (s[1] == 'u') {
            if (!decode_unicode(&s, end, &to)) return malformed(p, s, "a malformed \\u escape");
            continue;
        }
        letter = s[1] ? strchr(letters, s[1]) : NULL;
        if (!letter) return malformed(p, s, "an unknown escape");
        *to++ = plain[letter - letters];
        s += 2;
    }
    *to = 0;
    out->head.count = (size_t)(to - out->bytes);
    return CBX_OK;
}

/* At the opening quote.  What was decoded is the caller's. */
static cbx_status parse_string(parser *p, piece *out)
{
    const char *start = ++p->at;
    bool escapes;
    cbx_status st = scan_string(p, &escapes);

    if (st) return st;
    *out = (piece){ start, (size_t)(p->at - start), NULL };
    p->at++;
    if (!escapes) return CBX_OK;
    out->decoded = cbx__json_string_new(out->len);
    if (!out->decoded) return no_memory(p);
    st = decode(p, start, start + out->len, out->decoded);
    if (st) {
        free(out->decoded);
        return st;
    }
    out->bytes = out->decoded->bytes;
    out->len = out->decoded->head.count;
    return CBX_OK;
}

static cbx_status parse_string_value(parser *p, cbx_json *out)
{
    piece s;
    json_string *v;
    cbx_status st = parse_string(p, &s);

    if (st) return st;
    v = s.decoded ? s.decoded : cbx__json_string_new(s.len);
    if (!v) return no_memory(p);
    if (!s.decoded) memcpy(v->bytes, s.bytes, s.len);
    *out = (cbx_json){ .kind = KIND_REF, .ref = &v->head };
    return CBX_OK;
}

/* --- values --- */

static cbx_status parse_value(parser *p, cbx_json *out);

/* Room for n more of a size, the first of which it returns; NULL: out of memory. */
static void *push(stack *s, size_t n, size_t size)
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

static void clear_stacks(parser *p)
{
    for (size_t i = 0; i < p->items.n; i++) cbx__json_drop((cbx_json *)p->items.data + i);
    for (size_t i = 0; i < p->members.n; i++) cbx__json_drop(&((json_member *)p->members.data + i)->value);
    free(p->items.data);
    free(p->members.data);
    free(p->keys.data);
}

/* Behind an element: a comma and more, or the bracket that closes. */
static cbx_status parse_separator(parser *p, char close, bool *more)
{
    skip_space(p);
    *more = peek(p) == ',';
    if (!*more && peek(p) != close) return unexpected(p, "neither a comma nor a closing bracket");
    p->at++;
    skip_space(p);
    return CBX_OK;
}

#define LONG_ARRAY 4096 /* elements beyond which an array grows on its own */

/* What the stack has above base, as an array. */
static cbx_json *pop_array(parser *p, size_t base)
{
    const cbx_json *items = p->items.n > base ? (cbx_json *)p->items.data + base : NULL;
    cbx_json *v = cbx__json_array_of(items, p->items.n - base);

    if (v) p->items.n = base;
    return v;
}

static cbx_status add_item(parser *p, size_t base, cbx_json **array, const cbx_json *item)
{
    cbx_json *place;

    if (!*array && p->items.n - base == LONG_ARRAY) *array = pop_array(p, base);
    place = *array ? NULL : push(&p->items, 1, sizeof *place);
    if (place) *place = *item;
    if (place || (*array && cbx__json_append(*array, *item))) return CBX_OK;
    cbx__json_drop(item);
    return no_memory(p);
}

static cbx_status parse_array(parser *p, cbx_json **out)
{
    size_t base = p->items.n;
    cbx_json *array = NULL;
    bool more = peek(p) != ']';
    cbx_status st = CBX_OK;

    if (!more) p->at++;
    while (!st && more) {
        cbx_json item;
        st = parse_value(p, &item);
        if (!st) st = add_item(p, base, &array, &item);
        if (!st) st = parse_separator(p, ']', &more);
    }
    if (!st && !array && !(array = pop_array(p, base))) st = no_memory(p);
    if (st)
        cbx_json_unref(array);
    else
        *out = array;
    return st;
}

static cbx_status push_key(parser *p, size_t keys_base, json_member *out)
{
    piece key;
    char *copy;
    cbx_status st;

    if (peek(p) != '"') return unexpected(p, "a key that is no string");
    st = parse_string(p, &key);
    if (st) return st;
    *out = (json_member){ .key_at = (uint32_t)(p->keys.n - keys_base), .key_len = (uint32_t)key.len };
    copy = push(&p->keys, key.len + 1, 1);
    if (copy) {
        memcpy(copy, key.bytes, key.len);
        copy[key.len] = 0;
    }
    free(key.decoded);
    return copy ? CBX_OK : no_memory(p);
}

static cbx_status parse_member(parser *p, size_t keys_base)
{
    json_member m, *place;
    cbx_status st = push_key(p, keys_base, &m);

    if (st) return st;
    skip_space(p);
    if (peek(p) != ':') return unexpected(p, "no colon behind a key");
    p->at++;
    skip_space(p);
    st = parse_value(p, &m.value);
    if (st) return st;
    place = push(&p->members, 1, sizeof *place);
    if (place) {
        *place = m;
        return CBX_OK;
    }
    cbx__json_drop(&m.value);
    return no_memory(p);
}

static cbx_status parse_object(parser *p, cbx_json **out)
{
    size_t base = p->members.n, keys_base = p->keys.n;
    bool more = peek(p) != '}';
    cbx_status st = CBX_OK;

    if (!more) p->at++;
    while (!st && more) {
        st = parse_member(p, keys_base);
        if (!st) st = parse_separator(p, '}', &more);
    }
    if (st) return st;
    if (p->members.n == base)
        *out = cbx_json_new_object();
    else
        *out = cbx__json_object_of((json_member *)p->members.data + base, p->members.n - base,
                                   (char *)p->keys.data + keys_base, p->keys.n - keys_base);
    if (!*out) return no_memory(p);
    p->members.n = base;
    p->keys.n = keys_base;
    return CBX_OK;
}

/* At the opening bracket. */
static cbx_status parse_container(parser *p, cbx_json *out)
{
    bool is_array = *p->at == '[';
    cbx_json *v = NULL;
    cbx_status st;

    if (++p->depth > CBX__JSON_DEPTH_MOST)
        return cbx_fail(p->err, CBX_EOVERFLOW, "'%s': nested deeper than %d at offset %zu", p->what,
                        CBX__JSON_DEPTH_MOST, (size_t)(p->at - p->text));
    p->at++;
    skip_space(p);
    st = is_array ? parse_array(p, &v) : parse_object(p, &v);
    p->depth--;
    if (!st) *out = (cbx_json){ .kind = KIND_REF, .ref = v };
    return st;
}

static cbx_status parse_value(parser *p, cbx_json *out)
{
    char c = peek(p);

    if (c == '"') return parse_string_value(p, out);
    if (c == '[' || c == '{') return parse_container(p, out);
    if (is_digit(c) || (c == '-' && !(p->at + 1 < p->end && p->at[1] == 'I'))) return parse_number(p, out);
    return parse_word(p, out);
}

/* --- texts and files --- */

static cbx_status parse_text(parser *p, cbx_json **out)
{
    cbx_json place;
    cbx_status st;

    skip_space(p);
    if (p->at == p->end) return cbx_fail(p->err, CBX_EFORMAT, "'%s': no JSON: it is empty", p->what);
    st = parse_value(p, &place);
    if (st) return st;
    skip_space(p);
    if (p->at < p->end) {
        cbx__json_drop(&place);
        return malformed(p, p->at, "something stands behind the value");
    }
    *out = place.kind == KIND_REF ? place.ref : place.kind == KIND_NULL ? NULL : cbx_json_ref(&place);
    return !*out && place.kind != KIND_NULL ? no_memory(p) : CBX_OK;
}

cbx_status cbx_json_parse(const char *text, size_t len, const char *what, cbx_json **out, cbx_err *err)
{
    parser p = { .text = text, .at = text, .end = text + len, .what = what, .err = err };
    cbx_json *v = NULL;
    cbx_status st;

    if (len > LENGTH_MOST) return cbx_fail(err, CBX_EOVERFLOW, "'%s': longer than 1 GiB", what);
    p.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!p.c_locale) return no_memory(&p);
    st = parse_text(&p, &v);
    clear_stacks(&p);
    freelocale(p.c_locale);
    if (!st) *out = v;
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
