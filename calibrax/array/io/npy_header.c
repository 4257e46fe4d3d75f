/* The header of an NPY file: a magic, a version, a length, and a Python literal that we read
 * without evaluating it.
 *
 *   \x93NUMPY  major minor  HEADER_LEN (u16 little-endian in version 1, u32 in 2 and 3)
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (512, 512), }   padded with blanks, ends in
 *   \n
 *
 * Format: numpy/lib/format.py.  Versions differ in the length field and the text encoding only;
 * what we accept is ASCII. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/array/io/npy_internal.h"

#define MAX_HEADER 65535 /* bytes of the literal; only structured dtypes need more, and those are refused */

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

typedef struct reader {
    const char *at, *end;
    const char *start;
    cbx_err *err;
} reader;

typedef struct word {
    const char *text;
    size_t len;
} word;

static bool same(word w, const char *s) { return strlen(s) == w.len && memcmp(w.text, s, w.len) == 0; }

static void skip_blanks(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static cbx_status malformed(const reader *r, const char *expected)
{
    return cbx_fail(r->err, CBX_EFORMAT, "npy header: expected %s at byte %td of its dictionary", expected,
                    r->at - r->start);
}

static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

/* A quoted string without escapes. */
static cbx_status read_string(reader *r, word *out)
{
    skip_blanks(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"')) return malformed(r, "a quoted string");
    const char *close = memchr(r->at + 1, *r->at, (size_t)(r->end - r->at - 1));
    if (!close || memchr(r->at, '\\', (size_t)(close - r->at))) return malformed(r, "the end of a plain string");
    out->text = r->at + 1;
    out->len = (size_t)(close - out->text);
    r->at = close + 1;
    return CBX_OK;
}

static cbx_status read_bool(reader *r, bool *out)
{
    skip_blanks(r);
    if (r->end - r->at >= 4 && memcmp(r->at, "True", 4) == 0) {
        *out = true;
        r->at += 4;
        return CBX_OK;
    }
    if (r->end - r->at >= 5 && memcmp(r->at, "False", 5) == 0) {
        *out = false;
        r->at += 5;
        return CBX_OK;
    }
    return malformed(r, "True or False");
}

static cbx_status read_length(reader *r, size_t *out)
{
    const char *begin;
    size_t v = 0;

    skip_blanks(r);
    for (begin = r->at; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (__builtin_mul_overflow(v, (size_t)10, &v) || __builtin_add_overflow(v, (size_t)(*r->at - '0'), &v))
            return cbx_fail(r->err, CBX_EOVERFLOW, "npy header: a length of the shape overflows");
    }
    if (r->at == begin) return malformed(r, "a length of the shape");
    if (r->at < r->end && *r->at == 'L') r->at++; /* written by Python 2 */
    *out = v;
    return CBX_OK;
}

/* "()", "(3,)", "(3, 4)"; Python reads "(3)" as a number, and so it is refused. */
static cbx_status read_shape(reader *r, cbx_array_desc *d)
{
    bool comma = false;

    if (!take(r, '(')) return malformed(r, "the tuple of the shape");
    for (d->ndim = 0; !take(r, ')'); d->ndim++) {
        if (d->ndim > 0 && !comma) return malformed(r, "',' or ')' in the shape");
        if (d->ndim == CBX_MAX_RANK)
            return cbx_fail(r->err, CBX_EUNSUPPORTED, "npy header: the shape has more than %d axes", CBX_MAX_RANK);
        cbx_status st = read_length(r, &d->shape[d->ndim]);
        if (st) return st;
        comma = take(r, ',');
    }
    if (d->ndim == 1 && !comma) return malformed(r, "',' after the only length of the shape");
    return CBX_OK;
}

static const struct {
    char kind;
    const char *words;
} refused[] = {
    { 'O', "Python objects" },
    { 'V', "raw or structured records" },
    { 'S', "byte strings" },
    { 'U', "text" },
    { 'M', "dates" },
    { 'm', "time spans" },
    { 'a', "byte strings" },
    { 'f', "a float of this size" },
    { 'c', "a complex of this size" },
};

static cbx_status refuse_dtype(const reader *r, word w, char kind)
{
    const char *words = "an unknown kind";

    for (size_t i = 0; i < CBX_LEN(refused); i++)
        if (refused[i].kind == kind) words = refused[i].words;
    return cbx_fail(
        r->err, CBX_EDTYPE,
        "npy dtype '%.*s' (%s) is not supported: save the array as bool, int, uint, float32, float64 or complex",
        w.len > 32 ? 32 : (int)w.len, w.text, words);
}

/* "<f4": byte order, kind, bytes. */
static cbx_status read_dtype(reader *r, cbx_npy_header *h)
{
    static const struct {
        char kind;
        unsigned bytes;
    } table[CBX_DTYPE_COUNT] = {
#define ROW(name, number, bytes, kind) [number] = { kind, bytes },
        CBX_DTYPE_MAP(ROW)
#undef ROW
    };
    const bool host_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    bool little;
    unsigned bytes = 0;
    word w;
    cbx_status st;

    skip_blanks(r);
    if (r->at < r->end && *r->at == '[')
        return cbx_fail(r->err, CBX_EDTYPE,
                        "npy has a structured dtype, which is not supported: save each field as an array");
    st = read_string(r, &w);
    if (st) return st;
    for (size_t i = 0; i < w.len; i++)
        if (w.text[i] < ' ' || w.text[i] > '~') return malformed(r, "a dtype in printable ASCII");
    if (w.len < 2 || !strchr("<>|=", w.text[0])) return refuse_dtype(r, w, w.len ? w.text[0] : '?');
    for (size_t i = 2; i < w.len && i < 5; i++)
        bytes = w.text[i] >= '0' && w.text[i] <= '9' ? bytes * 10 + (unsigned)(w.text[i] - '0') : 0;
    for (size_t i = 0; i < CBX_DTYPE_COUNT; i++) {
        if (w.len > 4 || w.text[1] != table[i].kind || bytes != table[i].bytes) continue;
        if (w.text[0] == '|' && bytes > 1) return malformed(r, "a byte order ('<' or '>') in the dtype");
        little = w.text[0] == '<' || (w.text[0] != '>' && host_is_little);
        h->desc.dtype = (cbx_dtype)i;
        h->swapped = bytes > 1 && little != host_is_little;
        return CBX_OK;
    }
    return refuse_dtype(r, w, w.text[1]);
}

enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static cbx_status read_member(reader *r, cbx_npy_header *h, unsigned *seen)
{
    word key;
    cbx_status st = read_string(r, &key);

    if (st) return st;
    unsigned now = same(key, "descr")           ? SEEN_DESCR
                   : same(key, "fortran_order") ? SEEN_ORDER
                   : same(key, "shape")         ? SEEN_SHAPE
                                                : 0;
    if (!now) return malformed(r, "no keys except 'descr', 'fortran_order' and 'shape'");
    if (*seen & now) return malformed(r, "each key only once");
    *seen |= now;
    if (!take(r, ':')) return malformed(r, "':'");
    if (now == SEEN_DESCR) return read_dtype(r, h);
    if (now == SEEN_ORDER) return read_bool(r, &h->fortran_order);
    return read_shape(r, &h->desc);
}

cbx_status cbx__npy_header_bytes(const void *data, size_t len, size_t *out, cbx_err *err)
{
    const unsigned char *p = data;

    if (len < 8) return cbx_fail(err, CBX_EFORMAT, "npy is truncated: %zu bytes, less than its magic and version", len);
    if (memcmp(p, magic, sizeof(magic)) != 0)
        return cbx_fail(err, CBX_EFORMAT, "not an npy file: it does not begin with \\x93NUMPY");
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return cbx_fail(err, CBX_EVERSION, "npy version %d.%d is not supported: it must be 1.0, 2.0 or 3.0", p[6],
                        p[7]);
    if (len < (p[6] == 1 ? 10u : 12u)) return cbx_fail(err, CBX_EFORMAT, "npy is truncated in its header length");
    uint32_t n = (uint32_t)p[8] | (uint32_t)p[9] << 8;
    if (p[6] > 1) n |= (uint32_t)p[10] << 16 | (uint32_t)p[11] << 24;
    if (n > MAX_HEADER)
        return cbx_fail(err, CBX_EFORMAT, "npy header of %" PRIu32 " bytes is longer than %d", n, MAX_HEADER);
    *out = n + (p[6] == 1 ? 10u : 12u);
    return CBX_OK;
}

cbx_status cbx_npy_parse_header(const void *data, size_t len, cbx_npy_header *out, cbx_err *err)
{
    const char *p = data;
    cbx_npy_header h = { 0 };
    size_t count;
    reader r = { .err = err };
    cbx_status st = cbx__npy_header_bytes(data, len, &h.data_offset, err);

    if (st) return st;
    if (h.data_offset > len)
        return cbx_fail(err, CBX_EFORMAT, "npy is truncated in its header: %zu of %zu bytes", len, h.data_offset);
    size_t prefix = p[6] == 1 ? 10 : 12;
    r.start = r.at = p + prefix;
    r.end = p + h.data_offset;
    unsigned seen = 0;
    bool comma = true;

    if (!take(&r, '{')) return malformed(&r, "'{'");
    while (!take(&r, '}')) {
        if (!comma) return malformed(&r, "',' or '}'");
        st = read_member(&r, &h, &seen);
        if (st) return st;
        comma = take(&r, ',');
    }
    if (seen != SEEN_ALL) return malformed(&r, "all of 'descr', 'fortran_order' and 'shape'");
    skip_blanks(&r);
    if (r.at != r.end) return malformed(&r, "nothing after '}'");
    st = cbx_array_desc_count(&h.desc, &count, err);
    if (st) return st;
    *out = h;
    return CBX_OK;
}

/* "{'descr': '<f4', 'fortran_order': False, 'shape': (512, 512), }": at most 16 lengths of 20
 * digits, so version 1 always fits. */
static size_t write_dictionary(const cbx_array_desc *d, char *buf, size_t size)
{
    static const char kinds[CBX_DTYPE_COUNT] = {
#define KIND(name, number, bytes, kind) [number] = kind,
        CBX_DTYPE_MAP(KIND)
#undef KIND
    };
    size_t bytes = cbx_dtype_size(d->dtype);
    char order = bytes == 1 ? '|' : __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    int n = snprintf(buf, size, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", order, kinds[d->dtype],
                     bytes);

    for (int i = 0; i < d->ndim; i++) n += snprintf(buf + n, size - (size_t)n, "%s%zu", i ? ", " : "", d->shape[i]);
    n += snprintf(buf + n, size - (size_t)n, "%s), }", d->ndim == 1 ? "," : "");
    return (size_t)n;
}

cbx_status cbx_npy_make_header(const cbx_array_desc *desc, void *buf, size_t buf_size, size_t *needed, cbx_err *err)
{
    char text[CBX__NPY_HEADER_MAX] = { 0 };
    size_t count;
    cbx_status st = cbx_array_desc_count(desc, &count, err);

    if (st) return st;
    size_t n = write_dictionary(desc, text + 10, sizeof(text) - 10);
    size_t total = (10 + n + 1 + 63) / 64 * 64;
    if (buf) {
        if (buf_size < total)
            return cbx_fail(err, CBX_EINVAL, "npy header needs %zu bytes, and the buffer has %zu", total, buf_size);
        memcpy(text, magic, sizeof(magic));
        text[6] = 1;
        text[8] = (char)((total - 10) & 255);
        text[9] = (char)((total - 10) >> 8);
        memset(text + 10 + n, ' ', total - 11 - n);
        text[total - 1] = '\n';
        memcpy(buf, text, total);
    }
    if (needed) *needed = total;
    return CBX_OK;
}
