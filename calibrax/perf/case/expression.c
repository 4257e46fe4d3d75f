/*
 * Arithmetic over parameters; see expression.h.  Recursive descent, a function a rule.
 */
#include "calibrax/perf/case/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64

typedef struct reader {
    const char *whole, *at;
    cbx__expression_lookup *lookup;
    const void *user;
    int depth;
    cbx_status status;
    cbx_err *err;
} reader;

static double fail(reader *r, const char *what)
{
    if (!r->status)
        r->status = cbx_fail(r->err, CBX_EFORMAT, "'%.80s' is not a formula: %s at character %zu", r->whole, what,
                             (size_t)(r->at - r->whole) + 1);
    return NAN;
}

static char next(reader *r)
{
    while (*r->at == ' ') r->at++;
    return r->status ? 0 : *r->at;
}

static bool take(reader *r, char c)
{
    if (next(r) != c) return false;
    r->at++;
    return true;
}

static double sum(reader *r);

static double parenthesis(reader *r)
{
    if (!take(r, '(')) return fail(r, "'(' expected");
    if (++r->depth > MAX_DEPTH) return fail(r, "too many parentheses");
    double v = sum(r);
    r->depth--;
    return take(r, ')') ? v : fail(r, "')' expected");
}

static double name(reader *r)
{
    size_t len = 0;
    double v = 0;

    while (isalnum((unsigned char)r->at[len]) || r->at[len] == '_') len++;
    if (len == 4 && strncmp(r->at, "log2", 4) == 0) {
        r->at += len;
        return log2(parenthesis(r));
    }
    if (!r->lookup(r->user, r->at, len, &v)) return fail(r, "a name that is no parameter with numbers");
    r->at += len;
    return v;
}

static double number(reader *r)
{
    char *end = NULL;
    const double v = strtod(r->at, &end);

    if (end == r->at || !isfinite(v)) return fail(r, "no number");
    r->at = end;
    return v;
}

static double atom(reader *r)
{
    const char c = next(r);

    if (c == '(') return parenthesis(r);
    if (isalpha((unsigned char)c) || c == '_') return name(r);
    if (isdigit((unsigned char)c) || c == '.') return number(r);
    return fail(r, c ? "something unexpected" : "an early end");
}

static double power(reader *r)
{
    const bool minus = take(r, '-');

    if (++r->depth > MAX_DEPTH) return fail(r, "too many powers");
    double v = atom(r);
    if (take(r, '^')) v = pow(v, power(r));
    r->depth--;
    return minus ? -v : v;
}

static double product(reader *r)
{
    double v = power(r);

    for (;;) {
        if (take(r, '*'))
            v *= power(r);
        else if (take(r, '/'))
            v /= power(r);
        else
            return v;
    }
}

static double sum(reader *r)
{
    double v = product(r);

    for (;;) {
        if (take(r, '+'))
            v += product(r);
        else if (take(r, '-'))
            v -= product(r);
        else
            return v;
    }
}

cbx_status cbx__expression_value(const char *text, cbx__expression_lookup *lookup, const void *user, double *out,
                                 cbx_err *err)
{
    reader r = { .whole = text, .at = text, .lookup = lookup, .user = user, .err = err };
    const double v = sum(&r);

    if (!r.status && next(&r)) fail(&r, "something behind its end");
    if (r.status) return r.status;
    *out = v;
    return CBX_OK;
}
