/*
 * Growing text, and the number formats that every output shares.
 *
 * Shortest doubles: a decimal of at most 15 digits survives the way to a normal double and back
 * (DBL_DIG), so 15 digits without trailing zeros, else 16, else 17 is the shortest; below DBL_MIN
 * digits are tried from 1 on.
 * At a power of two the doubles below lie twice as close as those above, and a decimal just above
 * may read back although the nearest one of the same length, below, does not: Steele & White, PLDI
 * 1990, section 4.
 */
#include "calibrax/base/text.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/internal.h"

void cbx_text_init(cbx_text *t, const cbx_allocator *al) { *t = (cbx_text){ .al = *al, .status = CBX_OK }; }

void cbx_text_clear(cbx_text *t)
{
    cbx_mem_free(&t->al, t->data, t->cap);
    t->data = NULL;
    t->len = t->cap = 0;
    t->status = CBX_OK;
}

void cbx_text_reset(cbx_text *t)
{
    t->len = 0;
    if (t->data) t->data[0] = 0;
    t->status = CBX_OK;
}

/* Capacity for n more bytes and a NUL. */
static bool text_grow(cbx_text *t, size_t n)
{
    if (t->status) return false;
    if (n < t->cap - t->len) return true;
    size_t cap = t->cap ? t->cap : 64;
    if (n > SIZE_MAX / 4 || t->len > SIZE_MAX / 4) goto fail;
    while (cap - t->len <= n) cap *= 2;
    char *data = cbx_mem_resize(&t->al, t->data, t->cap, cap);
    if (!data) goto fail;
    t->data = data;
    t->cap = cap;
    return true;
fail:
    t->status = CBX_ENOMEM;
    return false;
}

void cbx_text_add(cbx_text *t, const char *bytes, size_t n)
{
    if (n == 0 || !text_grow(t, n)) return;
    memcpy(t->data + t->len, bytes, n);
    t->len += n;
    t->data[t->len] = 0;
}

void cbx_text_puts(cbx_text *t, const char *s) { cbx_text_add(t, s, strlen(s)); }

void cbx_text_putc(cbx_text *t, char c) { cbx_text_add(t, &c, 1); }

/* Into the present capacity, which nearly always suffices; text that was cut is formatted again. */
void cbx_text_printf(cbx_text *t, const char *fmt, ...)
{
    size_t space = t->cap - t->len;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(space ? t->data + t->len : NULL, space, fmt, args);
    bool whole = n >= 0 && (size_t)n < space && !t->status;
    if (!whole && n > 0 && text_grow(t, (size_t)n)) whole = vsnprintf(t->data + t->len, (size_t)n + 1, fmt, again) == n;
    if (whole)
        t->len += (size_t)n;
    else if (space)
        t->data[t->len] = 0;
    va_end(again);
    va_end(args);
}

static bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/* True where a character would be read as markup: snake_case is no emphasis, and a bracket is a
 * link only before another. */
static bool is_markup(const char *s, size_t i)
{
    switch (s[i]) {
    case '\\':
    case '|':
    case '`':
    case '#':
    case '~':
    case '*': return true;
    case '_': return !(i && is_alnum(s[i - 1]) && is_alnum(s[i + 1]));
    case ']': return s[i + 1] != 0 && strchr("([:", s[i + 1]) != NULL;
    default: return false;
    }
}

void cbx_text_put_markdown(cbx_text *out, const char *s)
{
    bool control;

    for (size_t n, i = 0; (n = cbx_text_char(s + i, &control)) != 0; i += n) {
        if (strchr("<>&", s[i]))
            cbx_text_put_html(out, (char[]){ s[i], 0 });
        else if (s[i] == '@') /* names no user */
            cbx_text_puts(out, "&#64;");
        else if (control)
            cbx_text_putc(out, ' ');
        else {
            if (is_markup(s, i)) cbx_text_putc(out, '\\');
            cbx_text_add(out, s + i, n);
        }
    }
}

void cbx_text_put_html(cbx_text *t, const char *s)
{
    static const char special[] = "&<>\"'";
    static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

    for (size_t n; *s; s += n ? n : 1) {
        n = strcspn(s, special);
        if (n)
            cbx_text_add(t, s, n);
        else
            cbx_text_puts(t, entities[strchr(special, *s) - special]);
    }
}

void cbx_text_put_csv(cbx_text *t, const char *s)
{
    const char *c = s;
    bool odd = false;

    for (size_t n; !odd && (n = cbx_text_char(c, &odd)) != 0; c += n) odd = odd || *c == ',' || *c == '"';
    if (!odd && *s != ' ' && (!*s || s[strlen(s) - 1] != ' ')) {
        cbx_text_puts(t, s);
        return;
    }
    bool control;

    cbx_text_putc(t, '"');
    for (size_t n; (n = cbx_text_char(s, &control)) != 0; s += n) {
        if (*s == '"') cbx_text_putc(t, '"');
        control = control && *s != '\n' && *s != '\r'; /* lines of a field are its own */
        cbx_text_add(t, control ? " " : s, control ? 1 : n);
    }
    cbx_text_putc(t, '"');
}

void cbx_text_put_plain(cbx_text *t, const char *s)
{
    bool control;

    for (size_t n; (n = cbx_text_char(s, &control)) != 0; s += n) {
        if (!control) cbx_text_add(t, s, n);
        for (size_t i = 0; control && i < n; i++) cbx_text_printf(t, "\\x%02x", (unsigned)(unsigned char)s[i]);
    }
}

const char *cbx_text_str(const cbx_text *t) { return t->len ? t->data : ""; }

cbx_status cbx_text_check(const cbx_text *t, cbx_err *err)
{
    return t->status ? cbx_fail(err, t->status, "out of memory for a text of more than %zu bytes", t->len) : CBX_OK;
}

/* --- numbers --- */

#define DIGITS 17

/*
 * One operation on two factors that are exact is rounded right (Clinger, PLDI 1990).  In a long
 * double of 64 bits a number of up to 19 digits and a power up to 10^27 are exact; what comes out
 * is off by half a unit of bit 64 at most, so that rounding it again to 53 bits is right too,
 * unless it lies as close to the middle of two doubles.  Results are far from both ends of the
 * range.
 */
#if LDBL_MANT_DIG == 64 && defined(__x86_64__)
#define LONG_TENS 27

/* Not under an emulator that has no such numbers, nor where the unit is set to less. */
static bool is_long(void)
{
    volatile long double one = 1, last = 0x1p-63L;
    return one + last != one;
}

static long double ten_to(int power)
{
    static const long double tens[] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L };
    return tens[power];
}

static long double scaled(long double v, int power) { return power < 0 ? v / ten_to(-power) : v * ten_to(power); }

static bool long_value(uint64_t digits, int power, double *out)
{
    uint64_t bits;
    long double v;

    if (!digits || power < -LONG_TENS || power > LONG_TENS || !is_long()) return false;
    v = scaled((long double)digits, power);
    memcpy(&bits, &v, sizeof bits); /* the mantissa, its first bit set */
    if ((bits & 0x7FF) >= 0x3FF && (bits & 0x7FF) <= 0x401) return false;
    *out = (double)v;
    return true;
}

/* v as an integer of 17 digits times 10^-power, rounded; false where that is not sure. */
static bool long_digits(double v, uint64_t *digits, int *power)
{
    int exponent, p;
    long double y, rest;

    frexp(v, &exponent);
    p = 16 - (int)floor((exponent - 1) * 0.30102999566398120);
    if (p <= -LONG_TENS || p >= LONG_TENS || !is_long()) return false;
    y = scaled(v, p);
    if (y >= 1e17L) y = scaled(v, --p);
    *digits = (uint64_t)y;
    rest = y - (long double)*digits; /* known to 1/256 */
    if (y < 1e16L || (rest > 0.49L && rest < 0.51L)) return false;
    *digits += rest > 0.5L;
    *power = p;
    return *digits < (uint64_t)1e17;
}
#else
static bool long_value(uint64_t digits, int power, double *out)
{
    (void)digits, (void)power, (void)out;
    return false;
}

static bool long_digits(double v, uint64_t *digits, int *power)
{
    (void)v, (void)digits, (void)power;
    return false;
}
#endif

bool cbx__decimal_value(uint64_t digits, int power, double *out)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

    if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)1 << 53 && power >= -22 && power <= 22) {
        *out = power < 0 ? (double)digits / tens[-power] : (double)digits * tens[power];
        return true;
    }
    return long_value(digits, power, out);
}

/* Significant digits of |v| and its decimal exponent: 0.d1d2d3... * 10^point. The decimal point of
 * the current locale is skipped, and strtod reads s the same way. */
static void print_digits(double v, int ndigits, char s[64], char digits[DIGITS + 1], int *point)
{
    int n = 0;
    snprintf(s, 64, "%.*e", ndigits - 1, v);
    const char *p = s;
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && n < DIGITS) digits[n++] = *p;
    digits[n] = 0;
    *point = atoi(p + 1) + 1;
}

/* The next decimal of the same length away from zero; true if it reads back as v. */
static bool digits_above(double v, char digits[DIGITS + 1], int *point)
{
    char s[64];
    int i = (int)strlen(digits) - 1;
    for (; i >= 0 && digits[i] == '9'; i--) digits[i] = '0';
    if (i >= 0)
        digits[i]++;
    else
        digits[0] = '1', ++*point;
    snprintf(s, sizeof s, "%se%d", digits, *point - (int)strlen(digits));
    return strtod(s, NULL) == v;
}

/* Whether 0.d1d2d3... * 10^point reads back as v. */
static bool reads_back(double v, const char *digits, int n, int point)
{
    int power = point - n;
    uint64_t whole = 0;
    double back;
    char s[64];

    for (int i = 0; i < n; i++) whole = 10 * whole + (uint64_t)(digits[i] - '0');
    if (cbx__decimal_value(whole, power, &back)) return v == back;
    snprintf(s, sizeof s, "%.*se%d", n, digits, power);
    return strtod(s, NULL) == v;
}

/* The 17 nearest digits. */
static void all_digits(double v, char all[DIGITS + 1], int *point)
{
    uint64_t whole;
    char s[64];
    int power;

    if (!long_digits(v, &whole, &power)) {
        print_digits(v, DIGITS, s, all, point);
        return;
    }
    *point = DIGITS - power;
    all[DIGITS] = 0;
    for (int i = DIGITS; i-- > 0; whole /= 10) all[i] = (char)('0' + whole % 10);
}

/* n digits out of the 17 nearest ones; false where those leave open which way it rounds. */
static bool round_digits(const char all[DIGITS + 1], int n, char digits[DIGITS + 1], int *point)
{
    int dropped = 0, half = 5;

    for (int i = n; i < DIGITS; i++) dropped = 10 * dropped + (all[i] - '0');
    for (int i = n + 1; i < DIGITS; i++) half *= 10;
    if (dropped == half) return false;
    memcpy(digits, all, (size_t)n);
    digits[n] = 0;
    if (dropped < half) return true;
    for (int i = n - 1; i >= 0; i--) {
        if (digits[i] != '9') {
            digits[i]++;
            return true;
        }
        digits[i] = '0';
    }
    digits[0] = '1';
    ++*point;
    return true;
}

/* From one conversion to 17 digits, which nearly always gives the shorter ones; false: try each. */
static bool shortened_digits(double v, char digits[DIGITS + 1], int *point)
{
    char all[DIGITS + 1];
    int whole_point;

    all_digits(v, all, &whole_point);
    for (int n = 15; n < DIGITS; n++) {
        *point = whole_point;
        if (!round_digits(all, n, digits, point)) return false;
        if (reads_back(v, digits, n, *point)) return true;
    }
    *point = whole_point;
    memcpy(digits, all, sizeof all);
    return true;
}

static char *put(char *s, const char *from, size_t n) { return (char *)memcpy(s, from, n) + n; }

static char *put_zeros(char *s, int n) { return n > 0 ? (char *)memset(s, '0', (size_t)n) + n : s; }

/* Digits laid out as repr does: plain from 1e-4 to below 1e16, else with an exponent of at least
 * two digits. */
static void lay_out(char *s, const char *digits, int point)
{
    int n = (int)strlen(digits);
    if (point > 16 || point < -3) {
        sprintf(s, "%c%s%se%+03d", digits[0], n > 1 ? "." : "", digits + 1, point - 1);
        return;
    }
    if (point <= 0) {
        s = put_zeros(put(s, "0.", 2), -point);
        s = put(s, digits, (size_t)n);
    } else if (point >= n) {
        s = put_zeros(put(s, digits, (size_t)n), point - n);
        s = put(s, ".0", 2);
    } else {
        s = put(s, digits, (size_t)point);
        *s++ = '.';
        s = put(s, digits + point, (size_t)(n - point));
    }
    *s = 0;
}

const char *cbx_format_double(double v, char buf[CBX_FORMAT_SIZE])
{
    char digits[DIGITS + 1] = "0", *s = buf;
    int point = 1;
    if (isnan(v)) return strcpy(buf, "nan");
    if (signbit(v)) *s++ = '-';
    v = fabs(v);
    if (isinf(v)) {
        strcpy(s, "inf");
        return buf;
    }
    if (v > 0) {
        int exponent;
        bool power_of_two = frexp(v, &exponent) == 0.5;
        if (power_of_two || v < DBL_MIN || !shortened_digits(v, digits, &point)) {
            for (int n = v < DBL_MIN ? 1 : 15; n <= DIGITS; n++) {
                char printed[64];
                print_digits(v, n, printed, digits, &point);
                if (strtod(printed, NULL) == v) break;
                if (power_of_two && digits_above(v, digits, &point)) break;
            }
        }
        size_t len = strlen(digits);
        while (len > 1 && digits[len - 1] == '0') digits[--len] = 0;
    }
    lay_out(s, digits, point);
    return buf;
}

/* Units of times; a value that rounds to 1000 of a unit is shown in the next one. */
typedef struct time_unit {
    double below, scale, ticks; /* ticks: 10^decimals */
    int decimals;
    const char *name;
} time_unit;

static const time_unit time_units[] = { { 999.5e-9, 1e9, 1, 0, "ns" },
                                        { 999.95e-6, 1e6, 10, 1, "\xC2\xB5s" },
                                        { 99.995e-3, 1e3, 100, 2, "ms" },
                                        { 999.95e-3, 1e3, 10, 1, "ms" },
                                        { 1e12, 1, 1000, 3, "s" } };

static const time_unit *time_unit_of(double seconds)
{
    for (size_t i = 0; i < CBX_LEN(time_units); i++)
        if (fabs(seconds) < time_units[i].below) return &time_units[i];
    return NULL;
}

/* Without the unit's name; the point is a point in every locale. */
static const char *format_time(double seconds, const time_unit *u, char buf[CBX_FORMAT_SIZE])
{
    double size = u ? fabs(seconds) * u->scale * u->ticks : INFINITY;
    if (!(size < 9e15)) return cbx_format_double(u ? seconds * u->scale : seconds, buf);
    long long n = llround(size), ticks = (long long)u->ticks;
    const char *sign = seconds < 0 && n ? "-" : "";
    if (u->decimals)
        snprintf(buf, CBX_FORMAT_SIZE, "%s%lld.%0*lld", sign, n / ticks, u->decimals, n % ticks);
    else
        snprintf(buf, CBX_FORMAT_SIZE, "%s%lld", sign, n);
    return buf;
}

const char *cbx_format_seconds(double seconds, char buf[CBX_FORMAT_SIZE])
{
    const time_unit *u = time_unit_of(seconds);

    if (isnan(seconds)) return strcpy(buf, "-");
    format_time(seconds, u, buf);
    return strcat(strcat(buf, " "), u ? u->name : "s");
}

const char *cbx_format_seconds_interval(double seconds, double lower, double upper, char buf[CBX_FORMAT_INTERVAL_SIZE])
{
    const time_unit *u = time_unit_of(seconds);
    char low[CBX_FORMAT_SIZE], high[CBX_FORMAT_SIZE];

    cbx_format_seconds(seconds, buf);
    if (isfinite(seconds) && isfinite(lower) && isfinite(upper))
        sprintf(buf + strlen(buf), " [%s, %s]", format_time(lower, u, low), format_time(upper, u, high));
    return buf;
}

const char *cbx_format_ratio(double ratio, double lower, double upper, char buf[CBX_FORMAT_INTERVAL_SIZE])
{
    const bool interval = isfinite(lower) && isfinite(upper);
    int d = 2; /* decimals: three digits, also of what rounds up to 1.00 */

    if (!isfinite(ratio) || !(ratio > 0)) return strcpy(buf, "-");
    d -= (int)floor(log10(ratio * 1.0005));
    if (interval && upper - lower < 2 * pow(10.0, -d)) d++;
    d = d < 0 ? 0 : d > 9 ? 9 : d;
    snprintf(buf, CBX_FORMAT_INTERVAL_SIZE, ratio < 1e15 ? "%.*f" : "%.*e", d, ratio);
    if (interval && fabs(upper) < 1e15)
        snprintf(buf + strlen(buf), CBX_FORMAT_INTERVAL_SIZE - strlen(buf), " [%.*f, %.*f]", d, lower, d, upper);
    return buf;
}

/* --- names --- */

bool cbx_name_is_safe(const char *s)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t len = strspn(s, allowed);
    return len >= 1 && len <= 128 && s[len] == 0 && s[0] != '.' && s[0] != '-';
}

#define MAX_WORD 64

/* Levenshtein distance of two words of at most MAX_WORD characters, row by row. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[MAX_WORD + 1];
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            size_t insert = row[j - 1] + 1, drop = row[j] + 1;
            diagonal = row[j];
            row[j] = replace < insert ? replace : insert;
            if (drop < row[j]) row[j] = drop;
        }
    }
    return row[nb];
}

const char *cbx_nearest_word(const char *word, const char *const *candidates, size_t n)
{
    size_t len = strlen(word), best = 0;
    const char *nearest = NULL;
    if (len > MAX_WORD) return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t candidate_len = strlen(candidates[i]);
        if (candidate_len > MAX_WORD) continue;
        size_t d = edit_distance(word, len, candidates[i], candidate_len);
        if (d > 3 || 2 * d > len) continue;
        if (!nearest || d < best) {
            nearest = candidates[i];
            best = d;
        }
    }
    return nearest;
}
