/*
 * The text of functions ahead of time: kernels (ctext.h), loop nests around them with fixed extents
 * and strides, and folds with the trees of the reference backend, so that sums have its bits
 * (as the folds of nests do).
 */
#include "calibrax/array/jit/aot.h"

#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/ctext.h"
#include "calibrax/array/jit/folds.h"
#include "calibrax/array/reference/reduce.h"
#include "calibrax/base/version.h"

enum { WIDTH = 16 }; /* results that are folded side by side */

/* ---- nests ---- */

/* The address of a value and an offset. */
static void put_base(const cbx__aot *a, cbx__vid v, ptrdiff_t offset, cbx_text *out)
{
    const cbx__aot_place *p = &a->places[v];

    switch (p->kind) {
    case CBX__AOT_IN: cbx_text_printf(out, "(char *)in%zu", p->at); break;
    case CBX__AOT_OUT: cbx_text_printf(out, "(char *)out%zu", p->at); break;
    case CBX__AOT_CONSTANT: cbx_text_printf(out, "(char *)constant%u", v); break;
    default: cbx_text_puts(out, "(char *)work"), offset += (ptrdiff_t)p->at;
    }
    if (offset) cbx_text_printf(out, " + %td", offset);
}

static bool is_gone(const cbx__nest *n, int dim) { return n->gone >> dim & 1; }
static bool is_tile(const cbx__nest *n, size_t s) { return s < n->kernel.nout && n->sites[s].base == CBX__NO_VALUE; }

static void put_strides(const cbx__nest *n, const char *word, int dim, size_t instead, cbx_text *out)
{
    cbx_text_printf(out, "static const int64_t %s[] = {", word);
    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        ptrdiff_t by = dim < 0 ? 0 : n->sites[s].strides[dim];
        if (is_tile(n, s)) by = (ptrdiff_t)(instead * cbx__dtype_size((cbx_dtype)n->kernel.streams.items[s].dtype));
        cbx_text_printf(out, "%s%td", s ? ", " : " ", by);
    }
    cbx_text_puts(out, " };\n");
}

/* " + i0 * 8" of the dimensions that are gone, or of those that are not, up to one. */
static void put_steps(const cbx__nest *n, const ptrdiff_t *strides, bool gone, int last, cbx_text *out)
{
    for (int i = 0; i <= last; i++)
        if (is_gone(n, i) == gone && strides[i]) cbx_text_printf(out, " + i%d * %td", i, strides[i]);
}

/* The first elements of all streams at the indices i0 ... of dimensions that are kept; tiles are
 * added where they are used. */
static void put_pointers(const cbx__aot *a, const cbx__nest *n, int last, bool columns, const char *indent,
                         cbx_text *out)
{
    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        const cbx__site *site = &n->sites[s];
        cbx_text_printf(out, "%s    ", indent);
        if (is_tile(n, s)) {
            cbx_text_puts(out, "0,\n");
            continue;
        }
        if (site->base == CBX__NO_VALUE)
            cbx_text_printf(out, "(char *)(uintptr_t)(%td", site->offset);
        else
            put_base(a, site->base, site->offset, out);
        put_steps(n, site->strides, false, last, out);
        if (columns) cbx_text_printf(out, " + first * %td", site->strides[n->ndim - 1]);
        cbx_text_puts(out, site->base == CBX__NO_VALUE ? "),\n" : ",\n");
    }
}

/* Loops over kept dimensions up to one, and their indent. */
static void put_loops(const cbx__nest *n, int last, char indent[64], cbx_text *out)
{
    for (int i = 0; i <= last; i++) {
        if (is_gone(n, i)) continue;
        cbx_text_printf(out, "%sfor (int64_t i%d = 0; i%d < %zu; i%d++) {\n", indent, i, i, n->shape[i], i);
        strcat(indent, "    ");
    }
}

static void put_ends(char indent[64], cbx_text *out)
{
    while (strlen(indent) > 8) {
        indent[strlen(indent) - 4] = '\0';
        cbx_text_printf(out, "%s}\n", indent);
    }
}

static void put_map(const cbx__aot *a, size_t number, cbx_text *out)
{
    const cbx__nest *n = &a->nests[number];
    const int last = n->ndim - 1;
    char indent[64] = "        ";

    cbx_text_puts(out, "    {\n        ");
    put_strides(n, "outer", last - 1, 0, out);
    cbx_text_puts(out, "        ");
    put_strides(n, "inner", last, 0, out);
    put_loops(n, last - 2, indent, out);
    cbx_text_printf(out, "%schar *const p[] = {\n", indent);
    put_pointers(a, n, last - 2, false, indent, out);
    cbx_text_printf(out, "%s};\n%skernel%zu(%zu, %zu, p, outer, inner);\n", indent, indent, number,
                    last > 0 ? n->shape[last - 1] : 1, last >= 0 ? n->shape[last] : 1);
    put_ends(indent, out);
    cbx_text_puts(out, "    }\n");
}

/* ---- folds ---- */

static size_t trees_of(const cbx__nest *n)
{
    size_t trees = 0;
    for (size_t f = 0; f < n->nfolds; f++) trees += cbx__in_tree(&n->folds[f]);
    return trees;
}
/* The last dimension is kept: its results are folded side by side. */
static bool by_columns(const cbx__nest *n) { return n->ndim > 0 && !is_gone(n, n->ndim - 1); }
static int width_of(const cbx__nest *n) { return by_columns(n) ? WIDTH : 1; }

/* Elements pos .. pos + count - 1 of the folded dimensions to the tiles. */
static void put_produce(const cbx__aot *a, size_t number, cbx_text *out)
{
    const cbx__nest *n = &a->nests[number];
    const bool columns = by_columns(n);
    int innermost = n->ndim - 1;

    while (innermost >= 0 && !is_gone(n, innermost)) innermost--;
    cbx_text_printf(out,
                    "\n/* Elements pos .. pos + count - 1 of one result, or of %d side by side, to the tiles. */\n"
                    "static void produce%zu(char *const *at, int64_t pos, int64_t count, int64_t width, char *const "
                    "*tile)\n{\n    ",
                    WIDTH, number);
    put_strides(n, "outer", columns ? innermost : -1, (size_t)width_of(n), out);
    cbx_text_puts(out, "    ");
    put_strides(n, "inner", n->ndim - 1, 1, out);
    cbx_text_puts(
        out, "\n    (void)at, (void)pos, (void)width;\n    for (int64_t done = 0, run; done < count; done += run) {\n");
    if (innermost >= 0)
        cbx_text_printf(out,
                        "        int64_t e = pos + done;\n        run = %zu - e %% %zu;\n"
                        "        if (run > count - done) run = count - done;\n",
                        n->shape[innermost], n->shape[innermost]);
    else
        cbx_text_puts(out, "        run = 1;\n");
    for (int i = innermost; i >= 0; i--) {
        if (!is_gone(n, i)) continue;
        cbx_text_printf(out, "        const int64_t i%d = e %% %zu;\n        (void)i%d, e /= %zu;\n", i, n->shape[i], i,
                        n->shape[i]);
    }
    cbx_text_puts(out, "        char *const p[] = {\n");
    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        if (is_tile(n, s)) {
            size_t f = 0;
            while (n->folds[f].stream != s) f++;
            cbx_text_printf(out, "            tile[%zu] + done * %zu,\n", f,
                            (size_t)width_of(n) * cbx__dtype_size((cbx_dtype)n->kernel.streams.items[s].dtype));
            continue;
        }
        const bool count = n->sites[s].base == CBX__NO_VALUE;
        cbx_text_printf(out, count ? "            (char *)((uintptr_t)at[%zu]" : "            at[%zu]", s);
        put_steps(n, n->sites[s].strides, true, innermost, out);
        cbx_text_puts(out, count ? "),\n" : ",\n");
    }
    cbx_text_printf(out, "        };\n        kernel%zu(%s, p, outer, inner);\n    }\n}\n", number,
                    columns ? "run, width" : "1, run");
}

/* What becomes of t with element x. */
static const char *step_of(const cbx__nest_fold *f)
{
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX, flt = f->wide == CBX_F64;

    switch (f->prim) {
    case CBX_PRIM_SUM: return f->wide == CBX_I64 ? "(int64_t)((uint64_t)*t + (uint64_t)x)" : "*t + x";
    case CBX_PRIM_PROD: return f->wide == CBX_I64 ? "(int64_t)((uint64_t)*t * (uint64_t)x)" : "*t * x";
    case CBX_PRIM_ANY: return "*t | x";
    case CBX_PRIM_ALL: return "*t & x";
    default: break;
    }
    if (!flt) return max ? "x > *t ? x : *t" : "x < *t ? x : *t";
    if (f->skips_nan) return max ? "*t >= x || x != x ? *t : x" : "*t <= x || x != x ? *t : x";
    return max ? "*t >= x || *t != *t ? *t : x" : "*t <= x || *t != *t ? *t : x";
}

static const char *beginning_of(const cbx__nest_fold *f)
{
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX;

    switch (f->prim) {
    case CBX_PRIM_PROD: return "1";
    case CBX_PRIM_ALL: return "true";
    case CBX_PRIM_REDUCE_MAX:
    case CBX_PRIM_REDUCE_MIN:
        if (f->wide == CBX_F64) return f->skips_nan ? "NAN" : max ? "-INFINITY" : "INFINITY";
        if (f->wide == CBX_I64) return max ? "INT64_MIN" : "INT64_MAX";
        return max ? "0" : "UINT64_MAX";
    default: return "0"; /* SUM, ANY */
    }
}

static void put_folds(const cbx__aot *a, size_t number, cbx_text *out)
{
    const cbx__nest *n = &a->nests[number];

    cbx_text_printf(out, "\ntypedef struct folds%zu {\n", number);
    for (size_t f = 0; f < n->nfolds; f++)
        cbx_text_printf(out, "    %s t%zu[%d];\n", cbx__ctext_types[n->folds[f].wide], f, width_of(n));
    cbx_text_printf(out, "} folds%zu;\n", number);
}

static bool is_extreme(const cbx__nest_fold *f)
{
    return f->wide == CBX_F64 && (f->prim == CBX_PRIM_REDUCE_MAX || f->prim == CBX_PRIM_REDUCE_MIN);
}

static const char *extreme_name(const cbx__nest_fold *f)
{
    static const char *const names[2][2] = { { "min_leaf", "nanmin_leaf" }, { "max_leaf", "nanmax_leaf" } };
    return names[f->prim == CBX_PRIM_REDUCE_MAX][f->skips_nan];
}

/* Extremes in 8 lanes; of equal numbers, which are zeros, the first, and NaN as the fold has it. */
static void put_extreme(const cbx__nest_fold *f, cbx_text *out)
{
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX;
    const char better = max ? '>' : '<', *seen = f->skips_nan ? "==" : "!=";

    cbx_text_printf(
        out,
        "\n/* The %s of n numbers, of zeros the first; NaN if %s. */\nCBX_UNUSED static double %s"
        "(const double *x, int64_t n)\n{\n    double t[8], r;\n    int64_t seen[8] = { 0 }, any = 0, i = 0;\n\n"
        "    for (int64_t k = 0; k < 8; k++) t[k] = %sINFINITY;\n"
        "    for (; i + 8 <= n; i += 8)\n        for (int64_t k = 0; k < 8; k++) {\n"
        "            t[k] = x[i + k] %c t[k] ? x[i + k] : t[k];\n            seen[k] |= x[i + k] %s x[i + k];\n        "
        "}\n"
        "    for (; i < n; i++) {\n        t[0] = x[i] %c t[0] ? x[i] : t[0];\n        seen[0] |= x[i] %s x[i];\n    "
        "}\n",
        max ? "largest" : "smallest", f->skips_nan ? "all are" : "one is", extreme_name(f), max ? "-" : "", better,
        seen, better, seen);
    cbx_text_printf(out,
                    "    r = t[0];\n    for (int64_t k = 0; k < 8; k++) r = t[k] %c r ? t[k] : r, any |= seen[k];\n    "
                    "if (%sany) return NAN;\n"
                    "    for (i = 0; r == 0 && i < n; i++)\n        if (x[i] == 0) return x[i];\n    return r;\n}\n",
                    better, f->skips_nan ? "!" : "");
}

static void put_extremes(const cbx__aot *a, cbx_text *out)
{
    bool have[2][2] = { { false } };

    for (size_t i = 0; i < a->n; i++) {
        for (size_t f = 0; f < a->nests[i].nfolds && !by_columns(&a->nests[i]); f++) {
            const cbx__nest_fold *fold = &a->nests[i].folds[f];
            bool *h = &have[fold->prim == CBX_PRIM_REDUCE_MAX][fold->skips_nan];
            if (is_extreme(fold) && !*h) put_extreme(fold, out);
            *h |= is_extreme(fold);
        }
    }
}

static void put_tree(const cbx__aot *a, size_t number, cbx_text *out)
{
    const cbx__nest *n = &a->nests[number];
    const size_t trees = trees_of(n);
    const int width = width_of(n);

    cbx_text_printf(
        out,
        "\n/* Halves until %d or fewer elements are left; sums[] are those of this part, other folds go on. */\n"
        "static void tree%zu(char *const *at, int64_t pos, int64_t count, int64_t width, folds%zu *fold,\n"
        "                   double (*sums)[%d])\n"
        "{\n    if (count > %d) {\n        const int64_t half = count / 2 - count / 2 %% 8;\n"
        "        double right[%zu][%d];\n",
        CBX__LEAF, number, number, width, CBX__LEAF, trees ? trees : 1, width);
    cbx_text_printf(
        out,
        "        tree%zu(at, pos, half, width, fold, sums);\n"
        "        tree%zu(at, pos + half, count - half, width, fold, right);\n"
        "        for (int64_t k = 0; k < %zu; k++)\n"
        "            for (int64_t c = 0; c < width; c++) sums[k][c] += right[k][c];\n        return;\n    }\n",
        number, number, trees);
    for (size_t f = 0; f < n->nfolds; f++)
        cbx_text_printf(out, "    %s tile%zu[%d];\n", cbx__ctext_types[n->folds[f].wide], f, CBX__LEAF * width);
    cbx_text_puts(out, "    char *const tiles[] = {");
    for (size_t f = 0; f < n->nfolds; f++) cbx_text_printf(out, "%s(char *)tile%zu", f ? ", " : " ", f);
    cbx_text_printf(out, " };\n    produce%zu(at, pos, count, width, tiles);\n    (void)fold, (void)sums;\n", number);
    for (size_t f = 0, k = 0; f < n->nfolds; f++) {
        if (cbx__in_tree(&n->folds[f])) {
            cbx_text_printf(out, "    sum_leaf(tile%zu, count, width, %d, sums[%zu]);\n", f, width, k++);
            continue;
        }
        if (is_extreme(&n->folds[f]) && width == 1) {
            cbx_text_printf(out,
                            "    {\n        double *t = &fold->t%zu[0];\n        const double x = %s(tile%zu, count);\n"
                            "        *t = %s;\n    }\n",
                            f, extreme_name(&n->folds[f]), f, step_of(&n->folds[f]));
            continue;
        }
        cbx_text_printf(out,
                        "    for (int64_t i = 0; i < count; i++)\n        for (int64_t c = 0; c < width; c++) {\n"
                        "            %s *t = &fold->t%zu[c];\n            const %s x = tile%zu[i * %d + c];\n          "
                        "  *t = %s;\n        }\n",
                        cbx__ctext_types[n->folds[f].wide], f, cbx__ctext_types[n->folds[f].wide], f, width,
                        step_of(&n->folds[f]));
    }
    cbx_text_puts(out, "}\n");
}

/* Columns of w numbers: 8 sums of every eighth row, joined pairwise; the rows that are left
 * follow. */
static const char sum_leaf[] =
    "\n/* Sums of `width` columns in rows of w numbers: 8 sums of every eighth row, joined, and the rows that are "
    "left. */\n"
    "CBX_INLINE void sum_leaf(const double *x, int64_t n, int64_t width, int64_t w, double *sums)\n{\n"
    "    const int64_t whole = n < 8 ? 0 : n - n % 8;\n    double r[8][16];\n\n"
    "    for (int64_t k = 0; k < 8 && whole; k++)\n        for (int64_t c = 0; c < width; c++) r[k][c] = x[k * w + "
    "c];\n"
    "    for (int64_t i = 8; i < whole; i += 8)\n        for (int64_t k = 0; k < 8; k++)\n"
    "            for (int64_t c = 0; c < width; c++) r[k][c] += x[(i + k) * w + c];\n"
    "    for (int64_t c = 0; c < width; c++)\n        sums[c] = whole ? ((r[0][c] + r[1][c]) + (r[2][c] + r[3][c])) + "
    "((r[4][c] + r[5][c]) + (r[6][c] + r[7][c])) : -0.0;\n"
    "    for (int64_t i = whole; i < n; i++)\n        for (int64_t c = 0; c < width; c++) sums[c] += x[i * w + "
    "c];\n}\n";

/* The results of the folds of one step of the loops. */
static void put_stores(const cbx__aot *a, const cbx__nest *n, const char *indent, cbx_text *out)
{
    const bool columns = by_columns(n);
    const int last = columns ? n->ndim - 2 : n->ndim - 1;

    for (size_t f = 0; f < n->nfolds; f++) {
        const cbx__nest_fold *fold = &n->folds[f];
        const char *type = cbx__ctext_types[fold->to];
        cbx_text_printf(out, "%sfor (int64_t c = 0; c < width; c++) *(%s *)(", indent, type);
        put_base(a, fold->result.base, fold->result.offset, out);
        put_steps(n, fold->result.strides, false, last, out);
        if (columns) cbx_text_printf(out, " + (first + c) * %td", fold->result.strides[n->ndim - 1]);
        cbx_text_printf(out, fold->to == CBX_BOOL ? ") = folds.t%zu[c] != 0;\n" : ") = (%2$s)folds.t%1$zu[c];\n", f,
                        type);
    }
}

static void put_fold(const cbx__aot *a, size_t number, cbx_text *out)
{
    const cbx__nest *n = &a->nests[number];
    const bool columns = by_columns(n);
    const size_t length = cbx__nest_points(n, true), chunk = n->chunked ? CBX__CHUNK : length, trees = trees_of(n);
    const int last = columns ? n->ndim - 2 : n->ndim - 1, width = width_of(n);
    char indent[64] = "        ";

    cbx_text_puts(out, "    {\n");
    put_loops(n, last, indent, out);
    if (columns) {
        const size_t all = n->shape[n->ndim - 1];
        cbx_text_printf(out, "%sfor (int64_t first = 0; first < %zu; first += %d) {\n", indent, all, WIDTH);
        strcat(indent, "    ");
        cbx_text_printf(out, "%sconst int64_t width = %zu - first < %d ? %zu - first : %d;\n", indent, all, WIDTH, all,
                        WIDTH);
    } else {
        cbx_text_printf(out, "%sconst int64_t width = 1;\n", indent);
    }
    if (n->kernel.streams.n > n->nfolds) {
        cbx_text_printf(out, "%schar *const at[] = {\n", indent);
        put_pointers(a, n, last, columns, indent, out);
        cbx_text_printf(out, "%s};\n", indent);
    } else { /* nothing but the tiles */
        cbx_text_printf(out, "%schar *const *const at = 0;\n", indent);
    }
    cbx_text_printf(out, "%sfolds%zu folds;\n%sdouble sums[%zu][%d];\n%s(void)at, (void)sums, (void)folds;\n", indent,
                    number, indent, trees ? trees : 1, width, indent);
    cbx_text_printf(out, "%sfor (int64_t c = 0; c < %d; c++) {\n", indent, width);
    for (size_t f = 0; f < n->nfolds; f++)
        cbx_text_printf(out, "%s    folds.t%zu[c] = %s;\n", indent, f, beginning_of(&n->folds[f]));
    cbx_text_printf(out, "%s}\n", indent);
    if (length > 0) {
        cbx_text_printf(out, "%sfor (int64_t done = 0; done < %zu; done += %zu) {\n", indent, length, chunk);
        cbx_text_printf(out, "%s    tree%zu(at, done, %zu - done < %zu ? %zu - done : %zu, width, &folds, sums);\n",
                        indent, number, length, chunk, length, chunk);
        for (size_t f = 0, k = 0; f < n->nfolds; f++)
            if (cbx__in_tree(&n->folds[f]))
                cbx_text_printf(out, "%s    for (int64_t c = 0; c < width; c++) folds.t%zu[c] += sums[%zu][c];\n",
                                indent, f, k++);
        cbx_text_printf(out, "%s}\n", indent);
    }
    put_stores(a, n, indent, out);
    put_ends(indent, out);
    cbx_text_puts(out, "    }\n");
}

/* ---- all ---- */

static bool is_empty(const cbx__nest *n) { return cbx__nest_points(n, false) == 0; }

/* Results that are operands, constants, or the same as others. */
static void put_copies(const cbx__aot *a, cbx_text *out)
{
    const cbx__graph *g = a->graph;

    for (size_t i = 0; i < g->out.n; i++) {
        const cbx__vid v = g->out.items[i];
        const size_t bytes = cbx__desc_bytes(&g->values.items[v].desc);
        if (a->places[v].kind == CBX__AOT_OUT && a->places[v].at == i) continue;
        if (bytes == 0) continue;
        cbx_text_printf(out, "    memcpy(out%zu, ", i);
        put_base(a, v, 0, out);
        cbx_text_printf(out, ", %zu);\n", bytes);
    }
}

void cbx__aot_put_source(const cbx__aot *a, const cbx__kernel *const *kernels, cbx_text *out)
{
    const cbx__graph *g = a->graph;
    bool folds = false;

    cbx_text_printf(
        out, "/* '%s' as C, written by calibrax %s; to be built with -O3 -march=native. */\n#include \"%s.h\"\n\n",
        g->name, CBX_VERSION, a->name);
    cbx__ctext_put(out, "kernel", true, a->n, kernels);
    for (size_t i = 0; i < a->n; i++) folds |= trees_of(&a->nests[i]) > 0;
    if (folds) cbx_text_puts(out, sum_leaf);
    put_extremes(a, out);
    cbx__aot_put_constants(a, out);
    for (size_t i = 0; i < a->n; i++) {
        if (a->nests[i].nfolds == 0 || is_empty(&a->nests[i])) continue;
        put_folds(a, i, out);
        if (cbx__nest_points(&a->nests[i], true) == 0) continue;
        put_produce(a, i, out);
        put_tree(a, i, out);
    }
    cbx_text_puts(out, "\n");
    cbx__aot_put_signature(a, out);
    cbx_text_puts(out, "\n{\n");
    for (size_t i = 0; i < g->in.n; i++) cbx_text_printf(out, "    (void)in%zu;\n", i);
    for (size_t i = 0; i < g->out.n; i++) cbx_text_printf(out, "    (void)out%zu;\n", i);
    for (size_t i = 0; i < a->n; i++) {
        if (is_empty(&a->nests[i])) continue;
        if (a->nests[i].nfolds > 0)
            put_fold(a, i, out);
        else
            put_map(a, i, out);
    }
    put_copies(a, out);
    cbx_text_puts(out, "}\n");
}
