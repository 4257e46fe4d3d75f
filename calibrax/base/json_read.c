/*
 * Reading JSON: RFC 8259 to the letter, and the bare words NaN, Infinity and -Infinity.
 *
 * Workload: ten thousand files of 10 kB at a time, and single ones of 100 MB that are mostly
 * numbers.  A number of at most 15 digits and a small power of ten is exact in one operation
 * (Clinger 1990), one of 19 nearly always in a long double; the C library rounds the others.
 *
 * The text is a window of what is read: all of it, or what a source has given so far and is still
 * needed.  A token is read only when it is whole in the window: one that ends where the window ends
 * is read again with more text.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/internal.h"
#include "calibrax/base/json_internal.h"
#include "calibrax/base/json_stream.h"
#include "calibrax/base/list.h"
#include "calibrax/base/utf8.h"

#define MAX_LENGTH ((size_t)2 << 30)  /* of a text that is read at once, and of one token */
#define WINDOW     ((size_t)64 << 10) /* bytes, until a token is longer */
#define MAX_DIGITS 19                 /* that a uint64_t holds in any case */
#define MAX_POWER  100000
#define MAX_WORD   9    /* bytes of the longest word */
#define MAX_UTF8   4    /* bytes of a code point */
#define LONG_ARRAY 4096 /* elements beyond which an array grows on its own */

struct cbx__json_reader {
    const char *text, *at, *end; /* the window */
    const char *what;
    cbx_err *err;
    size_t depth;
    locale_t c_locale; /* a decimal point is a point, whatever the process has set */
    /* of containers that are not closed yet, the innermost on top */
    CBX_LIST(cbx_json) items;
    CBX_LIST(json_member) members;
    CBX_LIST(char) keys;
    cbx__json_sieve sieve;                /* .take NULL: none */
    size_t path[CBX__JSON_MAX_DEPTH + 1]; /* by depth: 1 + where the open member's key begins in keys, 0 in an array */

    cbx__json_source source; /* .read NULL: the window is all */
    uint64_t base;           /* where the window begins */
    char *buffer;
    size_t capacity;
    bool drained;
    cbx_status fault; /* of the source, and its message */
    cbx_err why;
};
typedef cbx__json_reader reader;

static cbx_status read_value(reader *p, cbx_json *out);

/* --- faults --- */

static unsigned long long offset_of(const reader *p, const char *at) { return p->base + (uint64_t)(at - p->text); }

static cbx_status malformed(const reader *p, const char *at, const char *fault)
{
    return cbx_fail(p->err, CBX_EFORMAT, "'%s': not JSON: %s at offset %llu", p->what, fault, offset_of(p, at));
}

static cbx_status too_early(const reader *p)
{
    if (p->fault) return cbx_fail(p->err, p->fault, "%s", p->why.message);
    return cbx_fail(p->err, CBX_EFORMAT, "'%s': not JSON: it ends too early, at offset %llu", p->what,
                    offset_of(p, p->end));
}

static cbx_status no_memory(const reader *p) { return cbx_fail_nomem(p->err, p->what); }

/* The next character is not one that is allowed. */
static cbx_status unexpected(const reader *p, const char *fault)
{
    unsigned char c;

    if (p->at >= p->end) return too_early(p);
    c = (unsigned char)*p->at;
    return malformed(p, p->at, c < 0x20 ? "a control character" : c == '\'' ? "a single quote" : fault);
}

/* --- the window --- */

static bool may_go_on(const reader *p) { return p->source.read && !p->drained && !p->fault; }

/* More text after the window, which moves: what is from *keep on stays; *keep and p->at follow it.
 * false: the text has ended. */
static bool more_text(reader *p, const char **keep)
{
    size_t kept = (size_t)(p->end - *keep), at = (size_t)(p->at - *keep), got = 0;

    if (!may_go_on(p)) return false;
    if (kept) memmove(p->buffer, *keep, kept);
    p->base += (uint64_t)(*keep - p->text);
    if (kept == p->capacity && 2 * kept > MAX_LENGTH)
        p->fault = cbx_fail(&p->why, CBX_EOVERFLOW, "'%s': a text of more than %zu MiB at offset %llu", p->what,
                            kept >> 20, (unsigned long long)p->base);
    else if (kept == p->capacity && !cbx_grow(cbx_allocator_default(), &p->buffer, &p->capacity, 2 * kept, 1))
        p->fault = cbx_fail_nomem(&p->why, p->what);
    p->text = *keep = p->buffer;
    p->at = p->text + at;
    if (!p->fault) p->fault = p->source.read(p->source.user, p->buffer + kept, p->capacity - kept, &got, &p->why);
    p->end = p->text + kept + got;
    p->drained = got == 0;
    return got > 0;
}

/* A token that ends where the window ends is read again, with more text. */
static bool ran_out(reader *p, const char **start)
{
    if (p->at < p->end || !may_go_on(p)) return false;
    more_text(p, start);
    return true;
}

static char peek(const reader *p) { return p->at < p->end ? *p->at : 0; }

/* Indented files are two fifths blanks: eight at a time. */
static void skip_blanks(reader *p)
{
    do {
        const char *at = p->at, *end = p->end;
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
            at++;
            for (uint64_t v; end - at >= 8 && (memcpy(&v, at, sizeof v), v == 0x2020202020202020);) at += 8;
        }
        p->at = at;
    } while (p->at == p->end && more_text(p, &(const char *){ p->at }));
}

static inline void skip_space(reader *p)
{
    if (p->at >= p->end || *p->at <= ' ') skip_blanks(p);
}

/* --- numbers --- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The digits of a number: (-1)^negative * mantissa * 10^power; not exact: more digits follow. */
typedef struct decimal {
    const char *start;
    bool negative, integer, exact;
    uint64_t mantissa;
    int significant, power;
} decimal;

static bool take_digits(reader *p, decimal *d, bool fraction)
{
    const char *start = p->at, *c = start, *end = p->end;
    uint64_t mantissa = d->mantissa;
    int significant = d->significant;

    for (; c < end && is_digit(*c) && significant < MAX_DIGITS; c++) {
        mantissa = mantissa * 10 + (uint64_t)(*c - '0');
        significant += mantissa != 0;
    }
    d->mantissa = mantissa;
    d->significant = significant;
    if (fraction) d->power -= c - start < MAX_POWER ? (int)(c - start) : MAX_POWER;
    for (; c < end && is_digit(*c); c++) {
        d->exact = d->exact && *c == '0';
        d->power += !fraction && d->power < MAX_POWER;
    }
    p->at = c;
    return c > start;
}

/* RFC 8259, section 6. */
static bool scan_number(reader *p, decimal *d)
{
    const char *first;
    bool negative;
    int e = 0;

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
    p->at++;
    negative = peek(p) == '-';
    if (negative || peek(p) == '+') p->at++;
    if (!is_digit(peek(p))) return false;
    for (; is_digit(peek(p)); p->at++) e = e < MAX_POWER ? 10 * e + (*p->at - '0') : e;
    d->power += negative ? -e : e;
    return true;
}

static cbx_status read_integer(const reader *p, const decimal *d, cbx_json *out)
{
    if (d->power == 0 && d->mantissa <= (uint64_t)INT64_MAX + d->negative) {
        *out = (cbx_json){ .kind = KIND_INT, .number = (int64_t)(d->negative ? -d->mantissa : d->mantissa) };
        return CBX_OK;
    }
    *out = (cbx_json){ .kind = KIND_REF, .ref = cbx__json_text_new(KIND_LONG, d->start, (size_t)(p->at - d->start)) };
    return out->ref ? CBX_OK : no_memory(p);
}

static cbx_status read_number(reader *p, cbx_json *out)
{
    const char *start = p->at;
    char small[64], *copy = small;
    decimal d;
    bool good;
    size_t n;

    do {
        p->at = start;
        good = scan_number(p, &d);
    } while (ran_out(p, &start));
    if (p->fault) return too_early(p);
    if (!good) return malformed(p, p->at, "a malformed number");
    if (d.integer) return read_integer(p, &d, out);
    *out = (cbx_json){ .kind = KIND_DOUBLE };
    if (d.exact && cbx__decimal_value(d.mantissa, d.power, &out->real)) {
        if (d.negative) out->real = -out->real;
        return CBX_OK;
    }
    n = (size_t)(p->at - d.start);
    if (n >= sizeof small) copy = malloc(n + 1);
    if (!copy) return no_memory(p);
    memcpy(copy, d.start, n);
    copy[n] = 0;
    out->real = strtod_l(copy, NULL, p->c_locale);
    if (copy != small) free(copy);
    return CBX_OK;
}

/* A number or a word, at its first byte. */
static cbx_status read_scalar(reader *p, cbx_json *out)
{
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
    size_t left;
    char c;

    while (p->end - p->at < MAX_WORD && more_text(p, &(const char *){ p->at })) continue;
    if (p->fault) return too_early(p);
    c = peek(p);
    if (is_digit(c) || (c == '-' && !(p->at + 1 < p->end && p->at[1] == 'I'))) return read_number(p, out);
    left = (size_t)(p->end - p->at);
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

/* A string in the text, or decoded if it holds escapes. */
typedef struct json_piece {
    const char *bytes;
    size_t len;
    json_string *decoded; /* the caller's; NULL: bytes are in the window, until that moves */
} json_piece;

/* From the first byte to the closing quote, or to the end of the window; *escapes: there are
 * some. */
static cbx_status scan_string(reader *p, bool *escapes)
{
    static const bool special[256] = { [0 ... 0x1F] = true, ['"'] = true, ['\\'] = true, [0x80 ... 0xFF] = true };

    *escapes = false;
    for (;;) {
        const char *at = p->at, *end = p->end;
        size_t used = 1;
        unsigned char c;

        while (at < end && !special[(unsigned char)*at]) at++;
        p->at = at;
        if (at == end || *at == '"') return CBX_OK;
        c = (unsigned char)*at;
        if (c < 0x20) return malformed(p, at, "a control character in a string");
        if (c >= 0x80 && end - at < MAX_UTF8 && may_go_on(p)) {
            used = (size_t)(end - at); /* it is scanned again, with what follows */
        } else if (c >= 0x80) {
            cbx__utf8_decode(at, (size_t)(end - at), &used);
            if (used == 1) return malformed(p, at, "a byte that is not UTF-8 in a string");
        } else if (c == '\\') {
            *escapes = true;
            used = at + 1 < end && (at[1] == '"' || at[1] == '\\') ? 2 : 1;
        }
        p->at += used;
    }
}

static bool hex4(const char *s, const char *end, uint32_t *out)
{
    uint32_t v = 0;

    if (end - s < 4) return false;
    for (int i = 0; i < 4; i++) {
        char c = s[i], lower = (char)(c | 0x20);
        if (!is_digit(c) && !(lower >= 'a' && lower <= 'f')) return false;
        v = v << 4 | (uint32_t)(is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    *out = v;
    return true;
}

/* \uXXXX, two of them for a pair of surrogates; half a pair becomes the replacement character.
 * false: no hex digits. */
static bool decode_unicode(const char **s, const char *end, char **to)
{
    static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    uint32_t code, low;
    int n;

    if (!hex4(*s + 2, end, &code)) return false;
    *s += 6;
    if (code >= 0xD800 && code < 0xDC00 && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u' &&
        hex4(*s + 2, end, &low) && low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        *s += 6;
    } else if (code >= 0xD800 && code < 0xE000) {
        code = CBX__UTF8_REPLACEMENT;
    }
    n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, code >>= 6) (*to)[i] = (char)(0x80 | (code & 0x3F));
    (*to)[0] = (char)(lead[n] | code);
    *to += n;
    return true;
}

/* No sequence grows when it is decoded. */
static cbx_status decode(reader *p, const char *s, const char *end, json_string *out)
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
            if (!to[-1]) return malformed(p, s - 6, "a NUL (\\u0000) in a string");
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

/* At the opening quote. */
static cbx_status read_string(reader *p, json_piece *out)
{
    const char *start = ++p->at;
    bool escapes;
    cbx_status st;

    do {
        p->at = start;
        st = scan_string(p, &escapes);
    } while (!st && ran_out(p, &start));
    if (!st && p->at == p->end) st = too_early(p);
    if (st) return st;
    *out = (json_piece){ start, (size_t)(p->at - start), NULL };
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

static cbx_status read_string_value(reader *p, cbx_json *out)
{
    json_piece s;
    json_string *v;
    cbx_status st = read_string(p, &s);

    if (st) return st;
    v = s.decoded ? s.decoded : cbx__json_string_new(s.len);
    if (!v) return no_memory(p);
    if (!s.decoded) memcpy(v->bytes, s.bytes, s.len);
    *out = (cbx_json){ .kind = KIND_REF, .ref = &v->head };
    return CBX_OK;
}

/* --- containers --- */

/* After an element: a comma and more, or the bracket that closes. */
static cbx_status read_separator(reader *p, char close, bool *more)
{
    skip_space(p);
    *more = peek(p) == ',';
    if (!*more && peek(p) != close) return unexpected(p, "neither a comma nor a closing bracket");
    p->at++;
    skip_space(p);
    return CBX_OK;
}

/* The items above base, as an array. */
static cbx_json *pop_array(reader *p, size_t base)
{
    size_t n = p->items.n - base;
    cbx_json *v = cbx__json_array_of(n ? p->items.items + base : NULL, n);

    if (v) p->items.n = base;
    return v;
}

static cbx_status read_array(reader *p, cbx_json **out)
{
    size_t base = p->items.n, passed = 0;
    cbx_json *array = NULL, item;
    bool more = peek(p) != ']', sieved;
    cbx_status st = CBX_OK;

    p->path[p->depth] = 0;
    sieved = p->sieve.take && p->sieve.wants(p->sieve.user, p);
    if (!more) p->at++;
    while (!st && more) {
        st = read_value(p, &item);
        if (st) break;
        if (sieved) {
            st = p->sieve.take(p->sieve.user, p, passed++, cbx__json_resolve(&item), p->err);
            cbx__json_drop(&item);
        } else {
            if (!array && p->items.n - base == LONG_ARRAY) array = pop_array(p, base);
            if (!(array ? cbx__json_append(array, item)
                        : p->items.n - base < LONG_ARRAY && cbx_list_push(cbx_allocator_default(), &p->items, item))) {
                cbx__json_drop(&item);
                st = no_memory(p);
            }
        }
        if (!st) st = read_separator(p, ']', &more);
    }
    if (!st && !array && !(array = pop_array(p, base))) st = no_memory(p);
    return CBX_FINISH(st, *out = array, cbx_json_unref(array));
}

static cbx_status read_member(reader *p, size_t keys_base)
{
    json_piece key;
    json_member m;
    cbx_status st;
    bool kept;

    if (peek(p) != '"') return unexpected(p, "a key that is not a string");
    st = read_string(p, &key);
    if (st) return st;
    m = (json_member){ .key_at = (uint32_t)(p->keys.n - keys_base), .key_len = (uint32_t)key.len };
    p->path[p->depth] = p->keys.n + 1;
    kept = cbx_list_reserve(cbx_allocator_default(), &p->keys, p->keys.n + key.len + 1);
    if (kept) {
        memcpy(p->keys.items + p->keys.n, key.bytes, key.len);
        p->keys.n += key.len;
        p->keys.items[p->keys.n++] = 0;
    }
    free(key.decoded);
    if (!kept) return no_memory(p);
    skip_space(p);
    if (peek(p) != ':') return unexpected(p, "no colon after a key");
    p->at++;
    skip_space(p);
    st = read_value(p, &m.value);
    if (st || cbx_list_push(cbx_allocator_default(), &p->members, m)) return st;
    cbx__json_drop(&m.value);
    return no_memory(p);
}

static cbx_status read_object(reader *p, cbx_json **out)
{
    size_t base = p->members.n, keys_base = p->keys.n;
    bool more = peek(p) != '}';
    const char *twice = NULL;
    cbx_status st = CBX_OK;

    if (!more) p->at++;
    while (!st && more) {
        st = read_member(p, keys_base);
        if (!st) st = read_separator(p, '}', &more);
    }
    if (st) return st;
    *out = p->members.n == base ? cbx_json_new_object()
                                : cbx__json_object_of(p->members.items + base, p->members.n - base,
                                                      p->keys.items + keys_base, p->keys.n - keys_base, &twice);
    if (!*out && twice)
        return cbx_fail(p->err, CBX_EFORMAT,
                        "'%s': the key '%.120s' is listed twice in the object that ends at offset %llu", p->what, twice,
                        offset_of(p, p->at));
    if (!*out) return no_memory(p);
    p->members.n = base;
    p->keys.n = keys_base;
    return CBX_OK;
}

static cbx_status read_value(reader *p, cbx_json *out)
{
    char c = peek(p);
    cbx_json *v = NULL;
    cbx_status st;

    if (c == '"') return read_string_value(p, out);
    if (c != '[' && c != '{') return read_scalar(p, out);
    if (++p->depth > CBX__JSON_MAX_DEPTH)
        return cbx_fail(p->err, CBX_EOVERFLOW, "'%s': nested deeper than %d at offset %llu", p->what,
                        CBX__JSON_MAX_DEPTH, offset_of(p, p->at));
    p->at++;
    skip_space(p);
    st = c == '[' ? read_array(p, &v) : read_object(p, &v);
    p->depth--;
    if (!st) *out = (cbx_json){ .kind = KIND_REF, .ref = v };
    return st;
}

/* --- documents --- */

cbx_status cbx__byte_order_mark(const char *s, size_t n, const char *what, size_t *mark, cbx_err *err)
{
    *mark = n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    if (n < 2 || (memcmp(s, "\xFF\xFE", 2) != 0 && memcmp(s, "\xFE\xFF", 2) != 0)) return CBX_OK;
    return cbx_fail(err, CBX_EFORMAT, "'%s': is UTF-16, not UTF-8: convert it with `iconv -f UTF-16 -t UTF-8`", what);
}

static cbx_status read_document(reader *p, cbx_json **out)
{
    cbx_json place;
    size_t mark = 0;
    cbx_status st;

    while (p->end - p->at < 3 && more_text(p, &(const char *){ p->at })) continue;
    if (p->fault) return too_early(p);
    st = cbx__byte_order_mark(p->at, (size_t)(p->end - p->at), p->what, &mark, p->err);
    if (st) return st;
    p->at += mark;
    skip_space(p);
    if (p->at == p->end && !p->fault) return cbx_fail(p->err, CBX_EFORMAT, "'%s': not JSON: it is empty", p->what);
    st = read_value(p, &place);
    if (st) return st;
    skip_space(p);
    if (p->at < p->end || p->fault) {
        cbx__json_drop(&place);
        return p->at < p->end ? malformed(p, p->at, "unexpected text after the value") : too_early(p);
    }
    *out = place.kind == KIND_REF ? place.ref : place.kind == KIND_NULL ? NULL : cbx_json_ref(&place);
    return *out || place.kind == KIND_NULL ? CBX_OK : no_memory(p);
}

static cbx_status read_all(reader *p, cbx_json **out)
{
    const cbx_allocator *al = cbx_allocator_default();
    cbx_json *v = NULL;
    cbx_status st;

    p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    st = p->c_locale ? read_document(p, &v) : no_memory(p);
    for (size_t i = 0; i < p->items.n; i++) cbx__json_drop(&p->items.items[i]);
    for (size_t i = 0; i < p->members.n; i++) cbx__json_drop(&p->members.items[i].value);
    cbx_list_clear(al, &p->items);
    cbx_list_clear(al, &p->members);
    cbx_list_clear(al, &p->keys);
    if (p->c_locale) freelocale(p->c_locale);
    if (!st) *out = v;
    return st;
}

cbx_status cbx_json_parse(const char *text, size_t len, const char *what, cbx_json **out, cbx_err *err)
{
    reader p = { .text = text, .at = text, .end = text + len, .what = what, .err = err };

    if (len > MAX_LENGTH) return cbx_fail(err, CBX_EOVERFLOW, "'%s': longer than 2 GiB", what);
    return read_all(&p, out);
}

cbx_status cbx_json_read(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err)
{
    CBX_SCOPED(cbx_text, data, cbx_ctx_allocator(ctx));
    cbx_status st = cbx__file_text(ctx, path, MAX_LENGTH, &data, err);

    return st ? st : cbx_json_parse(data.data, data.len, path, out, err);
}

cbx_status cbx__json_stream(const cbx__json_source *source, const cbx__json_sieve *sieve, const char *what,
                            cbx_json **out, cbx_err *err)
{
    reader p = { .what = what, .err = err, .source = *source, .buffer = malloc(WINDOW), .capacity = WINDOW };
    cbx_status st;

    if (sieve) p.sieve = *sieve;
    p.text = p.at = p.end = p.buffer;
    st = p.buffer ? read_all(&p, out) : no_memory(&p);
    free(p.buffer);
    return st;
}

size_t cbx__json_reader_depth(const reader *r) { return r->depth; }

const char *cbx__json_reader_key(const reader *r, size_t level)
{
    return r->path[level] ? r->keys.items + r->path[level] - 1 : NULL;
}

/* --- files --- */

typedef struct file_source {
    const char *path;
    cbx_hasher *hasher; /* of what was read; NULL: no hash is needed */
    int fd;
    bool unreadable; /* a failing disk, a folder */
} file_source;

static cbx_status read_file(void *user, char *to, size_t size, size_t *got, cbx_err *err)
{
    file_source *f = user;
    ssize_t n;

    do n = read(f->fd, to, size);
    while (n < 0 && errno == EINTR);
    *got = n < 0 ? 0 : (size_t)n;
    f->unreadable = n < 0;
    if (n < 0) return cbx_fail_errno(err, errno, "cannot read '%s'", f->path);
    if (f->hasher && n) cbx_hasher_add(f->hasher, to, *got);
    return CBX_OK;
}

cbx_status cbx__json_stream_file(const char *path, const cbx__json_sieve *sieve, const char *what,
                                 char hash[CBX_HASH_SIZE], cbx_json **out, cbx_err *err)
{
    file_source f = { .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC) };
    char rest[4096];
    cbx_status st;

    if (hash) *hash = '\0';
    if (f.fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    f.hasher = hash ? cbx_hasher_create() : NULL;
    st = hash && !f.hasher ? cbx_fail_nomem(err, path)
                           : cbx__json_stream(&(cbx__json_source){ read_file, &f }, sieve, what, out, err);
    for (size_t got = 1; got && f.hasher && !f.unreadable;) read_file(&f, rest, sizeof rest, &got, NULL);
    close(f.fd);
    if (f.hasher) cbx_hasher_end(f.hasher, hash);
    if (hash && f.unreadable) *hash = '\0';
    return st;
}
