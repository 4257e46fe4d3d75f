/*
 * Reading JSON, its tokens: RFC 8259 to the letter, with the bare words NaN, Infinity and -Infinity beside it.
 *
 * Workload: ten thousand files of 10 kB at a time, and single ones of 100 MB that are mostly numbers.  A number of at most
 * 15 digits and a small power of ten is exact in one operation (Clinger 1990), one of 19 nearly always in a long double; the C
 * library rounds the others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/internal.h"
#include "calibrax/base/json_parser.h"

cbx_status cbx__json_malformed(const cbx__json_reader *p, const char *at, const char *fault)
{
    return cbx_fail(p->err, CBX_EFORMAT, "'%s': no JSON: %s at offset %llu", p->what, fault,
                    (unsigned long long)(p->base + (uint64_t)(at - p->text)));
}

static cbx_status too_early(const cbx__json_reader *p)
{
    if (p->fault) return cbx_fail(p->err, p->fault, "%s", p->why.message);
    return cbx_fail(p->err, CBX_EFORMAT, "'%s': no JSON: it ends too early, at offset %llu", p->what,
                    (unsigned long long)(p->base + (uint64_t)(p->end - p->text)));
}

cbx_status cbx__json_no_memory(const cbx__json_reader *p) { return cbx_fail_nomem(p->err, p->what); }

cbx_status cbx__json_unexpected(const cbx__json_reader *p, const char *fault)
{
    unsigned char c;

    if (p->at >= p->end) return too_early(p);
    c = (unsigned char)*p->at;
    return cbx__json_malformed(p, p->at, c < 0x20 ? "a control character" : c == '\'' ? "a single quote" : fault);
}

static bool may_go_on(const cbx__json_reader *p) { return p->source.read && !p->drained && !p->fault; }

/* Indented files are two fifths blanks: eight at a time. */
void cbx__json_skip_blanks(cbx__json_reader *p)
{
    do {
        const char *at = p->at, *end = p->end;
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
            at++;
            for (uint64_t v; end - at >= 8 && (memcpy(&v, at, sizeof v), v == 0x2020202020202020);) at += 8;
        }
        p->at = at;
    } while (p->at == p->end && cbx__json_more(p, &(const char *){ p->at }));
}

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

static bool take_digits(cbx__json_reader *p, decimal *d, bool fraction)
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

static bool take_exponent(cbx__json_reader *p, decimal *d)
{
    bool negative;
    int e = 0;

    p->at++;
    negative = cbx__json_peek(p) == '-';
    if (negative || cbx__json_peek(p) == '+') p->at++;
    if (!is_digit(cbx__json_peek(p))) return false;
    for (; is_digit(cbx__json_peek(p)); p->at++) e = e < POWER_MOST ? 10 * e + (*p->at - '0') : e;
    d->power += negative ? -e : e;
    return true;
}

/* RFC 8259, section 6. */
static bool scan_number(cbx__json_reader *p, decimal *d)
{
    const char *first;

    *d = (decimal){ .start = p->at, .negative = *p->at == '-', .integer = true, .exact = true };
    p->at += d->negative;
    first = p->at;
    if (!take_digits(p, d, false) || (*first == '0' && p->at > first + 1)) return false;
    if (cbx__json_peek(p) == '.') {
        d->integer = false;
        p->at++;
        if (!take_digits(p, d, true)) return false;
    }
    if (cbx__json_peek(p) != 'e' && cbx__json_peek(p) != 'E') return true;
    d->integer = false;
    return take_exponent(p, d);
}

/* Up to twenty digits; false: more than 64 bits. */
static bool whole_number(const cbx__json_reader *p, const decimal *d, cbx_json *out)
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

/* In one operation where that is surely right, or left to the C library. */
static cbx_status real_number(const cbx__json_reader *p, const decimal *d, cbx_json *out)
{
    size_t n = (size_t)(p->at - d->start);
    char few[64], *copy = few;
    double v;

    *out = (cbx_json){ .kind = KIND_DOUBLE };
    if (d->exact && cbx__decimal_value(d->mantissa, d->power, &v)) {
        out->real = d->negative ? -v : v;
        return CBX_OK;
    }
    if (n >= sizeof few) copy = malloc(n + 1);
    if (!copy) return cbx__json_no_memory(p);
    memcpy(copy, d->start, n);
    copy[n] = 0;
    out->real = strtod_l(copy, NULL, p->c_locale);
    if (copy != few) free(copy);
    return CBX_OK;
}

static cbx_status parse_number(cbx__json_reader *p, cbx_json *out)
{
    const char *start = p->at;
    cbx_json passed;
    decimal d;
    bool good;

    for (;;) {
        p->at = start;
        good = scan_number(p, &d);
        if (p->at < p->end || !may_go_on(p)) break;
        cbx__json_more(p, &start);
    }
    if (p->fault) return too_early(p);
    if (!good) return cbx__json_malformed(p, p->at, "a malformed number");
    if (!d.integer) return out ? real_number(p, &d, out) : CBX_OK;
    return whole_number(p, &d, out ? out : &passed) ? CBX_OK
                                                    : cbx__json_malformed(p, p->at, "an integer of more than 64 bits");
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
#define WORD_MOST 9 /* bytes of the longest */

static cbx_status parse_word(cbx__json_reader *p, cbx_json *out)
{
    size_t left = (size_t)(p->end - p->at);

    for (size_t i = 0; i < CBX_LEN(words); i++) {
        size_t n = left < words[i].len ? left : words[i].len;
        if (n == 0 || memcmp(p->at, words[i].text, n) != 0) continue;
        if (n < words[i].len) return too_early(p);
        p->at += n;
        if (out) *out = words[i].value;
        return CBX_OK;
    }
    return cbx__json_unexpected(p, "an unexpected character");
}

cbx_status cbx__json_scalar(cbx__json_reader *p, cbx_json *out)
{
    char c;

    while (p->end - p->at < WORD_MOST && cbx__json_more(p, &(const char *){ p->at })) continue;
    if (p->fault) return too_early(p);
    c = cbx__json_peek(p);
    if (is_digit(c) || (c == '-' && !(p->at + 1 < p->end && p->at[1] == 'I'))) return parse_number(p, out);
    return parse_word(p, out);
}

/* --- strings --- */

#define UTF8_MOST 4 /* bytes of a code point */

/* Bytes of a string that do not stand for themselves. */
static const bool special[256] = { [0 ... 0x1F] = true, ['"'] = true, ['\\'] = true, [0x80 ... 0xFF] = true };

static const char *skip_plain(const char *at, const char *end)
{
    while (at < end && !special[(unsigned char)*at]) at++;
    return at;
}

/* From behind the opening quote to the closing one, or to the end of the window; says whether there are escapes. */
static cbx_status scan_string(cbx__json_reader *p, bool *escapes)
{
    *escapes = false;
    while ((p->at = skip_plain(p->at, p->end)) < p->end && *p->at != '"') {
        size_t used = 1;
        unsigned char c = (unsigned char)*p->at;
        if (c < 0x20) return cbx__json_malformed(p, p->at, "a control character in a string");
        if (c >= 0x80 && p->end - p->at < UTF8_MOST && may_go_on(p)) {
            used = (size_t)(p->end - p->at); /* which is looked at again, with what follows */
        } else if (c >= 0x80) {
            cbx__utf8_decode(p->at, (size_t)(p->end - p->at), &used);
            if (used == 1) return cbx__json_malformed(p, p->at, "a byte that is no UTF-8 in a string");
        } else if (c == '\\') {
            *escapes = true;
            used = p->at + 1 < p->end && (p->at[1] == '"' || p->at[1] == '\\') ? 2 : 1;
        }
        p->at += used;
    }
    return CBX_OK;
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
static cbx_status decode(cbx__json_reader *p, const char *s, const char *end, json_string *out)
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
            if (!decode_unicode(&s, end, &to)) return cbx__json_malformed(p, s, "a malformed \\u escape");
            if (!to[-1]) return cbx__json_malformed(p, s - 6, "a NUL (\\u0000) in a string");
            continue;
        }
        letter = s[1] ? strchr(letters, s[1]) : NULL;
        if (!letter) return cbx__json_malformed(p, s, "an unknown escape");
        *to++ = plain[letter - letters];
        s += 2;
    }
    *to = 0;
    out->head.count = (size_t)(to - out->bytes);
    return CBX_OK;
}

cbx_status cbx__json_string(cbx__json_reader *p, json_piece *out)
{
    const char *start = ++p->at;
    bool escapes;
    cbx_status st;

    for (;;) {
        p->at = start;
        st = scan_string(p, &escapes);
        if (st || p->at < p->end || !may_go_on(p)) break;
        cbx__json_more(p, &start);
    }
    if (!st && p->at == p->end) st = too_early(p);
    if (st) return st;
    *out = (json_piece){ start, (size_t)(p->at - start), NULL };
    p->at++;
    if (!escapes) return CBX_OK;
    out->decoded = cbx__json_string_new(out->len);
    if (!out->decoded) return cbx__json_no_memory(p);
    st = decode(p, start, start + out->len, out->decoded);
    if (st) {
        free(out->decoded);
        return st;
    }
    out->bytes = out->decoded->bytes;
    out->len = out->decoded->head.count;
    return CBX_OK;
}
