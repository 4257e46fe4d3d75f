/*
 * Functions ahead of time: traced, planned as the compiler does, with kernels for what programs
 * leave to the backend, and each value that is stored at its place in the operands, the results or
 * the workspace.
 */
#include "calibrax/array/aot.h"

#include <ctype.h>
#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/jit/aot.h"
#include "calibrax/array/jit/ctext.h"
#include "calibrax/array/jit/lower.h"
#include "calibrax/array/jit/program.h"
#include "calibrax/array/trace/trace.h"
#include "calibrax/base/file.h"

/* ---- nests ---- */

/* Of an operation that a program leaves to the backend: whether a kernel can do it, and as what. */
static bool becomes_kernel(const cbx__graph *g, cbx__plan *plan, uint32_t k)
{
    const cbx__node *node = &g->nodes.items[k];

    if (plan->role[k] != CBX__ROLE_APPLY) return true;
    if (node->prim == CBX_PRIM_TRANSPOSE)
        plan->role[k] = CBX__ROLE_VIEW;
    else if (cbx__can_fold(g, node))
        plan->role[k] = CBX__ROLE_FOLD;
    return plan->role[k] != CBX__ROLE_APPLY;
}

/* The nests of all units; kernels of a->nests are the caller's to clear, whatever is returned. */
static cbx_status make_nests(cbx_arena *arena, const cbx_allocator *al, const cbx__graph *g, cbx__aot *a, cbx_err *err)
{
    cbx__plan plan;
    cbx_status st = cbx__plan_create(arena, g, CBX__LONGEST, false, &plan, err);
    size_t max = 0;

    if (st) return st;
    for (size_t u = 0; u < plan.nunits; u++) max += plan.units[u].apply == CBX__NO_INDEX ? plan.units[u].nroots : 1;
    a->nests = cbx_arena_calloc(arena, max, sizeof *a->nests);
    if (!a->nests) return cbx_fail_nomem(err, "the loops of a function");
    for (size_t u = 0; !st && u < plan.nunits; u++) {
        cbx__unit unit = plan.units[u];
        cbx__nest *nests = NULL;
        bool scanned = false;
        size_t n = 0;
        if (unit.apply != CBX__NO_INDEX && g->nodes.items[unit.apply].prim == CBX_PRIM_SCAN) {
            st = cbx__scan_nest(arena, al, &g->nodes.items[unit.apply], &scanned, &a->nests[a->n], err);
            a->n += !st && scanned;
            if (st || scanned) continue;
        }
        if (unit.apply != CBX__NO_INDEX && !becomes_kernel(g, &plan, unit.apply))
            return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' cannot be written as C: it has no form for '%s'", g->name,
                            cbx_prim_name(g->nodes.items[unit.apply].prim));
        if (unit.apply != CBX__NO_INDEX) unit = (cbx__unit){ CBX__NO_INDEX, 1, &plan.units[u].apply };
        st = cbx__nests_create(arena, al, &plan, &unit, &n, &nests, err);
        if (!st && n > 0) memcpy(a->nests + a->n, nests, n * sizeof *nests);
        a->n += st ? 0 : n;
    }
    for (size_t i = 0; !st && i < a->n; i++) {
        const cbx__kinstr *x = cbx__ctext_refused(&a->nests[i].kernel);
        if (x)
            st = cbx_fail(err, CBX_EUNSUPPORTED, "'%s' cannot be written as C: it has no form for '%s' of %s", g->name,
                          cbx__kernel_word(x), cbx_dtype_name((cbx_dtype)x->dtype));
    }
    return st;
}

/* ---- places ---- */

/* Values that are neither operands, constants nor results, in the order in which nests
 * make them. */
typedef struct places {
    cbx__aot *a;
    CBX_LIST(cbx__span) spans;
    CBX_LIST(cbx__vid) values;
    uint32_t *of; /* span of each value, counted from 1; 0: none */
    bool failed;  /* out of memory */
} places;

static void meet(places *p, const cbx_allocator *al, cbx__vid v, uint32_t nest)
{
    if (v == CBX__NO_VALUE || p->a->places[v].kind != CBX__AOT_NOWHERE) return;
    if (!p->of[v]) {
        const size_t bytes = cbx__desc_bytes(&p->a->graph->values.items[v].desc);
        p->failed |= !cbx_list_push(al, &p->spans, (cbx__span){ .first = nest, .bytes = bytes }) ||
                     !cbx_list_push(al, &p->values, v);
        p->of[v] = (uint32_t)p->values.n;
    }
    if (!p->failed) p->spans.items[p->of[v] - 1].last = nest;
}

static cbx_status make_places(cbx_arena *arena, const cbx__graph *g, cbx__aot *a, cbx_err *err)
{
    cbx__region work = { .bytes = SIZE_MAX, .until = CBX__NO_INDEX };
    cbx__span **order;
    places p = { .a = a, .of = cbx_arena_calloc(arena, g->values.n + 1, sizeof *p.of) };

    a->places = cbx_arena_calloc(arena, g->values.n + 1, sizeof *a->places);
    if (!p.of || !a->places) return cbx_fail_nomem(err, "the places of values");
    for (size_t v = 0; v < g->values.n; v++)
        if (g->values.items[v].constant) a->places[v].kind = CBX__AOT_CONSTANT;
    for (size_t i = 0; i < g->in.n; i++) a->places[g->in.items[i]] = (cbx__aot_place){ CBX__AOT_IN, i };
    for (size_t i = 0; i < g->out.n; i++)
        if (a->places[g->out.items[i]].kind == CBX__AOT_NOWHERE)
            a->places[g->out.items[i]] = (cbx__aot_place){ CBX__AOT_OUT, i };
    for (uint32_t n = 0; n < a->n; n++) {
        const cbx__nest *nest = &a->nests[n];
        for (size_t s = 0; s < nest->kernel.streams.n; s++) meet(&p, CBX_IN_ARENA(arena), nest->sites[s].base, n);
        for (size_t f = 0; f < nest->nfolds; f++) meet(&p, CBX_IN_ARENA(arena), nest->folds[f].result.base, n);
    }
    order = cbx_arena_calloc(arena, p.spans.n + 1, sizeof(cbx__span *));
    if (p.failed || !order) return cbx_fail_nomem(err, "the places of values");
    cbx__spans_place(p.spans.n, p.spans.items, 1, &work, order);
    for (size_t i = 0; i < p.spans.n; i++)
        a->places[p.values.items[i]] = (cbx__aot_place){ CBX__AOT_WORK, p.spans.items[i].at };
    a->work_bytes = work.used;
    return CBX_OK;
}

/* ---- names ---- */

/*
 * Words of C and of C++, which reads the header too; names of <string.h>, and of <math.h> that have
 * no forms with f and l; macros that compilers define; headers, which a file of the same name
 * would hide.
 */
static const char words[] =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const const_cast "
    "consteval constexpr constinit continue co_await co_return co_yield decltype default delete do double dynamic_cast "
    "else enum explicit export extern false float for friend goto if inline int long main mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local "
    "throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq "
    "memccpy memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strdup strerror strlen "
    "strncat strncmp strncpy strndup strpbrk strrchr strspn strstr strtok strxfrm bcmp bcopy bzero explicit_bzero ffs "
    "ffsl ffsll index memmem mempcpy memrchr rawmemchr rindex stpcpy stpncpy strcasecmp strcasestr strchrnul "
    "strerror_l strerror_r strlcat strlcpy strncasecmp strnlen strsep strsignal strtok_r strverscmp strcasecmp_l "
    "strncasecmp_l strcoll_l strxfrm_l isgreaterequal islessequal islessgreater issignaling math_errhandling signgam "
    "lgamma_r lgammaf_r lgammal_r "
    "NULL NAN INFINITY MAXFLOAT i386 linux unix assert complex ctype errno fenv inttypes iso646 limits locale math "
    "setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads "
    "time uchar wchar wctype ";
/* Functions of <math.h>, which also have names with an f or an l at the end. */
static const char functions[] =
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs fdim "
    "finite floor fma fmax fmin fmod fpclassify frexp gamma hypot ilogb isfinite isgreater isinf isless isnan isnormal "
    "isunordered j0 j1 jn ldexp lgamma llogb llrint llround log log10 log1p log2 logb lrint lround modf nan "
    "nearbyint nextafter nextdown nexttoward nextup pow pow10 remainder remquo rint round roundeven scalb scalbln "
    "scalbn signbit significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn ";
/* Macros begin so: of <math.h> and <stdint.h>, and those of the file. */
static const char macros[] = "CBX_ FP_ HUGE_VAL INT16_ INT32_ INT64_ INT8_ INTMAX_ INTPTR_ INT_ MATH_ M_ PTRDIFF_ "
                             "SIG_ATOMIC_ SIZE_ SNAN UINT16_ UINT32_ UINT64_ UINT8_ UINTMAX_ UINTPTR_ UINT_ WCHAR_ "
                             "WINT_ ";

static bool is_among(const char *list, const char *name, size_t length)
{
    for (size_t n; (n = strcspn(list, " ")); list += n + 1)
        if (n == length && memcmp(list, name, n) == 0) return true;
    return false;
}

/* True of what C and its headers have, or keep for themselves: names that begin with '_' or end
 * with "_t". */
static bool is_taken(const char *name)
{
    const size_t n = strlen(name);
    const bool suffix = n > 0 && strchr("fl", name[n - 1]);

    for (size_t at = 0, length; (length = strcspn(macros + at, " ")); at += length + 1)
        if (strncmp(macros + at, name, length) == 0) return true;
    return *name == '_' || (n > 1 && strcmp(name + n - 2, "_t") == 0) || is_among(words, name, n) ||
           is_among(functions, name, n) || (suffix && is_among(functions, name, n - 1));
}

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_') return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_') return false;
    return true;
}

/* How often the text defines a name: it is in a line without indent, and parameters, a length,
 * fields or the end are behind it. */
static size_t definitions(const char *text, const char *name)
{
    const size_t n = strlen(name);
    size_t found = 0;

    for (const char *at = text; (at = strstr(at, name)); at += n) {
        const char *line = at, *behind = at + n;
        while (line > text && line[-1] != '\n') line--;
        if (strchr(" /#", *line) || (at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))) continue;
        found += strchr("([;", *behind) || strncmp(behind, ")(", 2) == 0 || strncmp(behind, " {", 2) == 0;
    }
    return found;
}

/* ---- all ---- */

static cbx_status check_dtypes(const cbx__graph *g, cbx_err *err)
{
    for (size_t i = 0; i < g->in.n + g->out.n; i++) {
        const cbx_array_desc *d = i < g->in.n ? cbx__graph_in(g, i) : cbx__graph_out(g, i - g->in.n);
        if (!cbx__kernel_has(d->dtype))
            return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' cannot be written as C: %s %zu has dtype %s", g->name,
                            i < g->in.n ? "operand" : "result", i < g->in.n ? i : i - g->in.n,
                            cbx_dtype_name(d->dtype));
    }
    return CBX_OK;
}

static cbx_status put_graph(cbx_arena *arena, const cbx_allocator *al, const cbx__graph *g, const char *name,
                            cbx_text *header, cbx_text *source, cbx_err *err)
{
    cbx__aot a = { .graph = g, .name = name };
    const cbx__kernel **kernels = NULL;
    cbx_text text;
    cbx_status st = check_dtypes(g, err);

    cbx_text_init(&text, al);
    if (!st) st = make_nests(arena, al, g, &a, err);
    if (!st) st = make_places(arena, g, &a, err);
    if (!st && !(kernels = cbx_arena_calloc(arena, a.n, sizeof *kernels)))
        st = cbx_fail_nomem(err, "the text of a function");
    for (size_t i = 0; !st && i < a.n; i++) kernels[i] = &a.nests[i].kernel;
    if (!st) cbx__aot_put_source(&a, kernels, &text);
    if (!st) st = cbx_text_check(&text, err);
    if (!st && definitions(cbx_text_str(&text), name) > 1)
        st = cbx_fail(err, CBX_EINVAL,
                      "'%s' cannot be the name of a function: its own file defines that name, choose another one",
                      name);
    if (!st) {
        cbx__aot_put_header(&a, header);
        cbx_text_add(source, text.data, text.len);
    }
    cbx_text_clear(&text);
    for (size_t i = 0; i < a.n; i++) cbx__kernel_clear(&a.nests[i].kernel);
    return st;
}

cbx_status cbx_aot_text(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, const char *name, cbx_text *header,
                        cbx_text *source, cbx_err *err)
{
    CBX_CLEARED(cbx__traced) t = { 0 };
    cbx_status st = cbx__begin(ctx, err);

    if (!st) st = cbx__fn_check("aot", f, err);
    if (!st && !is_identifier(name))
        st = cbx_fail(err, CBX_EINVAL, "'%s' cannot be the name of a function in C: use letters, digits and '_'", name);
    if (!st && is_taken(name))
        st = cbx_fail(err, CBX_EINVAL,
                      "'%s' cannot be the name of a function: C or its headers have that name, choose another one",
                      name);
    if (!st) st = cbx__trace_fn(ctx, f, in, &t, err);
    if (!st && t.ncaptured > 0)
        st = cbx_fail(err, CBX_EINVAL, "'%s' cannot be written as C: it reads an array of a function that is traced",
                      f->name);
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    return st ? st : put_graph(&arena, cbx_ctx_allocator(ctx), t.graph, name, header, source, err);
}

cbx_status cbx_aot_write(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, const char *path, cbx_err *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    cbx_text texts[2], file;
    cbx_status st = path ? CBX_OK : cbx_fail(err, CBX_EINVAL, "'aot' needs a path to write to");

    if (st) return st;
    cbx_text_init(&file, cbx_ctx_allocator(ctx));
    for (int i = 0; i < 2; i++) cbx_text_init(&texts[i], cbx_ctx_allocator(ctx));
    st = cbx_aot_text(ctx, f, in, slash ? slash + 1 : path, &texts[0], &texts[1], err);
    for (int i = 0; !st && i < 2; i++) st = cbx_text_check(&texts[i], err);
    for (int i = 0; !st && i < 2; i++) {
        cbx_text_reset(&file);
        cbx_text_printf(&file, "%s.%c", path, "hc"[i]);
        st = cbx_text_check(&file, err);
        if (!st) st = cbx_file_write_atomic(ctx, cbx_text_str(&file), texts[i].data, texts[i].len, err);
    }
    for (int i = 0; i < 2; i++) cbx_text_clear(&texts[i]);
    cbx_text_clear(&file);
    return st;
}
