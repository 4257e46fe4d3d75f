/*
 * HLO text, line by line: computations begin with a head that ends in '{', then come instructions.
 * A computation is the body of a fusion if a later fusion names it (calls=NAME), so counts are kept
 * by name.
 */
#include "calibrax/profiling/hlo.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/list.h"

typedef struct span {
    const char *s;
    size_t n;
} span;

typedef struct computation {
    span name;
    size_t working;
    bool fused;
} computation;

typedef struct reader {
    const cbx_allocator *al;
    cbx_hlo_report *r;
    const char *what;
    CBX_LIST(computation) list; /* the last one is being read */
    CBX_LIST(span) calls;       /* of fusions */
    size_t line;
    bool module, inside;
} reader;

/* --- text --- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
}

static span trim(span t)
{
    while (t.n && is_space(*t.s)) t.s++, t.n--;
    while (t.n && is_space(t.s[t.n - 1])) t.n--;
    return t;
}

static bool equals(span t, const char *word) { return t.n == strlen(word) && !memcmp(t.s, word, t.n); }
static bool begins(span t, const char *word) { return t.n >= strlen(word) && !memcmp(t.s, word, strlen(word)); }

static span after(span t, size_t n) { return trim((span){ t.s + n, t.n - n }); }

/* The name that the text begins with, without its '%'. */
static span name_of(span t)
{
    size_t skip = t.n && *t.s == '%', n = skip;

    while (n < t.n && is_name(t.s[n])) n++;
    return (span){ t.s + skip, n - skip };
}

static size_t find(span t, const char *part)
{
    const char *at = t.n ? memmem(t.s, t.n, part, strlen(part)) : NULL;
    return at ? (size_t)(at - t.s) : t.n;
}

/* Length of a shape: of a tuple up to its last bracket, else up to the blank. */
static size_t shape_length(span t)
{
    size_t depth = 0, n = 0;

    for (; n < t.n; n++) {
        if (t.s[n] == '(') depth++;
        if (t.s[n] == ')' && depth) depth--;
        if (!depth && is_space(t.s[n])) break;
    }
    return n;
}

/* --- counting --- */

static bool is_one_of(span op, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (equals(op, words[i])) return true;
    return false;
}

static cbx_status take_instruction(reader *d, span right, cbx_err *err)
{
    static const char *const memory[] = { "copy", "transpose", "reshape", "broadcast" };
    static const char *const arithmetic[] = { "add", "multiply", "dot", "convolution", "reduce" };
    static const char *const idle[] = { "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "fusion" };
    span rest = after(right, shape_length(right)), op = name_of(rest);
    cbx_hlo_report *r = d->r;

    if (!op.n || op.n == rest.n || rest.s[op.n] != '(')
        return cbx_fail(err, CBX_EFORMAT, "'%s', line %zu: an instruction without an opcode", d->what, d->line);
    r->instructions++;
    r->memory_ops += is_one_of(op, memory, CBX_LEN(memory));
    r->arithmetic_ops += is_one_of(op, arithmetic, CBX_LEN(arithmetic));
    r->loops += equals(op, "while");
    r->custom_calls += equals(op, "custom-call");
    if (!is_one_of(op, idle, CBX_LEN(idle))) {
        r->working++;
        d->list.items[d->list.n - 1].working++;
    }
    if (!equals(op, "fusion")) return CBX_OK;
    r->fusions++;
    size_t at = find(rest, " calls=");
    if (at == rest.n || cbx_list_push(d->al, &d->calls, name_of(after(rest, at + strlen(" calls="))))) return CBX_OK;
    return cbx_fail_nomem(err, "HLO");
}

/* Tables of files and frames, with which newer modules begin, are outside of computations. */
static cbx_status take_line(reader *d, span line, cbx_err *err)
{
    d->line++;
    line = trim(line);
    if (begins(line, "HloModule")) d->module = true;
    if (!d->inside) {
        bool head = d->module && line.n > 1 && line.s[line.n - 1] == '{' &&
                    (find(line, "->") < line.n || begins(line, "ENTRY "));
        if (!head) return CBX_OK;
        if (begins(line, "ENTRY ")) line = after(line, strlen("ENTRY "));
        if (!cbx_list_push(d->al, &d->list, (computation){ name_of(line), 0, false }))
            return cbx_fail_nomem(err, "HLO");
        d->r->computations++;
        d->inside = true;
        return CBX_OK;
    }
    if (line.n && *line.s == '}') {
        d->inside = false;
        return CBX_OK;
    }
    if (begins(line, "ROOT ")) line = after(line, strlen("ROOT "));
    size_t at = find(line, " = ");
    return at < line.n ? take_instruction(d, after(line, at + 3), err) : CBX_OK;
}

/* --- the report --- */

static int by_name(const void *a, const void *b)
{
    const span *x = a, *y = b; /* a computation begins with its name */
    size_t n = x->n < y->n ? x->n : y->n;
    int c = n ? memcmp(x->s, y->s, n) : 0;

    return c ? c : (x->n > y->n) - (x->n < y->n);
}

static void advise(cbx_hlo_report *r, bool wrong, const char *words)
{
    if (wrong) strcpy(r->advice[r->nadvice++], words);
}

static void conclude(reader *d)
{
    cbx_hlo_report *r = d->r;
    double n = (double)r->instructions;

    if (d->list.n) qsort(d->list.items, d->list.n, sizeof *d->list.items, by_name);
    for (size_t i = 0; i < d->calls.n && d->list.n; i++) {
        computation *c = bsearch(&d->calls.items[i], d->list.items, d->list.n, sizeof *d->list.items, by_name);
        if (!c || c->fused) continue;
        c->fused = true;
        r->fused += c->working;
    }
    r->fusion_ratio = (double)r->fusions / n;
    r->memory_ratio = (double)r->memory_ops / n;
    r->arithmetic_ratio = (double)r->arithmetic_ops / n;
    r->fused_ratio = r->working ? (double)r->fused / (double)r->working : 0;
    r->score = fmin(1, 0.4 * fmin(2 * r->fusion_ratio, 1) + 0.3 * r->arithmetic_ratio + 0.3 * (1 - r->memory_ratio));
    advise(r, r->working && r->fused_ratio < 0.2,
           "few operations are fused: put elementwise work into one compiled function");
    advise(r, r->memory_ratio > 0.5, "most instructions move data: examine transposes, reshapes and layouts");
    advise(r, r->loops > 0, "loops: XLA counts the operations of their body once");
    advise(r, r->custom_calls > 0, "library calls: XLA does not count their operations");
}

cbx_status cbx_hlo_read(cbx_ctx *ctx, const char *text, size_t len, const char *what, cbx_hlo_report *out, cbx_err *err)
{
    cbx_hlo_report r = { 0 };
    reader d = { .al = cbx_ctx_allocator(ctx), .r = &r, .what = what };
    const char *end = text + len;
    cbx_status st = CBX_OK;

    while (!st && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;
        st = take_line(&d, (span){ text, (size_t)(stop - text) }, err);
        text = newline ? newline + 1 : end;
    }
    if (!st && !d.module)
        st = cbx_fail(err, CBX_EFORMAT,
                      "'%s' is not HLO: it has no line 'HloModule NAME'; give the text of a compiled module", what);
    if (!st && d.inside)
        st = cbx_fail(err, CBX_EFORMAT, "'%s' ends inside a computation, after line %zu", what, d.line);
    if (!st && !r.instructions) st = cbx_fail(err, CBX_EFORMAT, "'%s' has no instruction", what);
    if (!st) conclude(&d);
    cbx_list_clear(d.al, &d.list);
    cbx_list_clear(d.al, &d.calls);
    if (!st) *out = r;
    return st;
}
