/* Kernels as functions of C17: the loops around the expressions of their instructions. */
#include "calibrax/array/internal.h"
#include "calibrax/array/jit/ctext_internal.h"

#define BLOCK 256

typedef cbx__writer writer;

/* The dtype of the marks of elements outside of a domain, by the largest one; CBX_BOOL: no function
 * of the kernel has a domain. */
static cbx_dtype mark_of(const cbx__kernel *k)
{
    cbx_dtype mark = CBX_BOOL;

    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kformula *f = cbx__formula_of(&k->instr.items[i]);
        if (f && !cbx__formula_is_total(f) && mark != CBX_U64)
            mark = k->instr.items[i].dtype == CBX_F64 ? CBX_U64 : CBX_U32;
    }
    return mark;
}

static bool is_loaded(const cbx__kernel *k, size_t s)
{
    for (size_t i = 0; i < k->instr.n; i++)
        if (k->instr.items[i].op == CBX__K_LOAD && k->instr.items[i].a == s) return true;
    return false;
}

/* Pointers to the elements of a row, and elements that are the same in all of it. */
static void put_row(writer *w, const cbx__kernel *k)
{
    for (size_t s = 0; s < k->streams.n; s++) {
        const cbx__kstream *x = &k->streams.items[s];
        const char *type = cbx__ctext_types[x->dtype], *constant = s < k->nout ? "" : "const ";
        if (s >= k->nout && k->carries.n == 0 && !is_loaded(k, s)) continue;
        switch (x->kind) {
        case CBX__STREAM_DENSE:
            cbx_text_printf(w->out, "        %s%s *p%zu = (%s%s *)(p[%zu] + j * outer[%zu]);\n", constant, type, s,
                            constant, type, s, s);
            break;
        case CBX__STREAM_SCALAR:
            cbx_text_printf(w->out, "        const %s p%zu = *(const %s *)(p[%zu] + j * outer[%zu]);\n", type, s, type,
                            s, s);
            break;
        case CBX__STREAM_STRIDED:
            cbx_text_printf(w->out, "        %schar *p%zu = p[%zu] + j * outer[%zu];\n", constant, s, s, s);
            break;
        default: /* an index */
            cbx_text_printf(
                w->out,
                "        const uint64_t p%zu = (uint64_t)(uintptr_t)p[%zu] + (uint64_t)j * (uint64_t)outer[%zu];\n", s,
                s, s);
        }
    }
}

/* The element of a stream at `at`, a variable. */
static void put_element(writer *w, const cbx__kernel *k, size_t s, const char *at)
{
    const cbx__kstream *x = &k->streams.items[s];

    switch (x->kind) {
    case CBX__STREAM_DENSE: cbx_text_printf(w->out, "p%zu[%s]", s, at); break;
    case CBX__STREAM_SCALAR: cbx_text_printf(w->out, "p%zu", s); break;
    case CBX__STREAM_STRIDED:
        cbx_text_printf(w->out, "*(%s%s *)(p%zu + %s * inner[%zu])", s < k->nout ? "" : "const ",
                        cbx__ctext_types[x->dtype], s, at, s);
        break;
    default: cbx_text_printf(w->out, "(int64_t)(p%zu + (uint64_t)%s * (uint64_t)inner[%zu])", s, at, s);
    }
}

static void put_values(writer *w, const cbx__kernel *k, const char *indent, const char *at)
{
    w->instr = k->instr.items;
    for (cbx__kid i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        if (x->op == CBX__K_CONST) continue;
        cbx_text_printf(w->out, "%sconst %s v%u = ", indent, cbx__ctext_types[x->dtype], i);
        if (x->op == CBX__K_LOAD)
            put_element(w, k, x->a, at);
        else if (x->op == CBX__K_CARRY)
            cbx_text_printf(w->out, "c%u", x->a);
        else
            cbx__ctext_put_value(w, x);
        cbx_text_puts(w->out, ";\n");
    }
}

static void put_plain_loop(writer *w, const cbx__kernel *k)
{
    cbx_text_puts(w->out, "        CBX_INDEPENDENT\n        for (int64_t i = 0; i < n; i++) {\n");
    w->slow = false;
    put_values(w, k, "            ", "i");
    for (size_t s = 0; s < k->nout; s++) {
        cbx_text_puts(w->out, "            ");
        put_element(w, k, s, "i");
        cbx_text_puts(w->out, " = ");
        cbx__ctext_put_operand(w, k->streams.items[s].value);
        cbx_text_puts(w->out, ";\n");
    }
    cbx_text_puts(w->out, "        }\n");
}

static void put_results(writer *w, const cbx__kernel *k, const char *indent)
{
    for (size_t s = 0; s < k->nout; s++) {
        cbx_text_printf(w->out, "%sd%zu[i] = ", indent, s);
        cbx__ctext_put_operand(w, k->streams.items[s].value);
        cbx_text_puts(w->out, ";\n");
    }
}

/* Whether a function of an element is outside of its domain. */
static void put_marks(writer *w, const cbx__kernel *k, cbx_dtype mark)
{
    const char *before = "                mark[i] = ";

    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        const cbx__kformula *f = cbx__formula_of(x);
        if (!f || cbx__formula_is_total(f)) continue;
        cbx_text_printf(w->out, "%s(%s)!in_%s_%s", before, cbx__ctext_types[mark], cbx_prim_name((cbx_prim)x->prim),
                        cbx__ctext_tags[x->dtype]);
        cbx__ctext_put_operands(w, x);
        before = " |\n                          ";
    }
    cbx_text_puts(w->out, ";\n                any |= mark[i];\n");
}

/* Whether results wait in a block of their own until all of its elements are done: steps are
 * apart, or an input lies there, too. */
static void put_waits(writer *w, const cbx__kernel *k)
{
    for (size_t s = 0; s < k->nout; s++) {
        const char *before = "";
        cbx_text_printf(w->out, "    const bool waits%zu = ", s);
        for (size_t i = k->nout; i < k->streams.n && k->streams.items[s].kind == CBX__STREAM_DENSE; i++) {
            if (k->streams.items[i].kind != CBX__STREAM_DENSE) continue;
            cbx_text_printf(w->out, "%sp[%zu] == p[%zu]", before, s, i);
            before = " || ";
        }
        if (!*before) cbx_text_puts(w->out, k->streams.items[s].kind == CBX__STREAM_DENSE ? "false" : "true");
        cbx_text_puts(w->out, ";\n");
    }
}

static void put_blocks(writer *w, const cbx__kernel *k, cbx_dtype mark)
{
    cbx_text_printf(w->out, "        for (int64_t first = 0; first < n; first += %d) {\n", BLOCK);
    cbx_text_printf(w->out, "            const int64_t count = n - first < %d ? n - first : %d;\n", BLOCK, BLOCK);
    cbx_text_printf(w->out, "            %s mark[%d], any = 0;\n", cbx__ctext_types[mark], BLOCK);
    for (size_t s = 0; s < k->nout; s++) {
        const char *type = cbx__ctext_types[k->streams.items[s].dtype];
        cbx_text_printf(w->out, "            %s w%zu[%d], *d%zu = ", type, s, BLOCK, s);
        if (k->streams.items[s].kind == CBX__STREAM_DENSE)
            cbx_text_printf(w->out, "waits%zu ? w%zu : p%zu + first;\n", s, s, s);
        else
            cbx_text_printf(w->out, "w%zu;\n", s);
    }
    cbx_text_puts(w->out, "            CBX_INDEPENDENT\n            for (int64_t i = 0; i < count; i++) {\n"
                          "                CBX_UNUSED const int64_t e = first + i;\n");
    w->slow = false;
    put_values(w, k, "                ", "e");
    put_results(w, k, "                ");
    put_marks(w, k, mark);
    cbx_text_puts(w->out,
                  "            }\n            for (int64_t i = 0; any && i < count; i++) {\n"
                  "                CBX_UNUSED const int64_t e = first + i;\n                if (!mark[i]) continue;\n");
    w->slow = true;
    put_values(w, k, "                ", "e");
    put_results(w, k, "                ");
    cbx_text_puts(w->out, "            }\n");
    for (size_t s = 0; s < k->nout; s++) {
        cbx_text_printf(w->out, "            for (int64_t i = 0, e = first; waits%zu && i < count; i++, e++) ", s);
        put_element(w, k, s, "e");
        cbx_text_printf(w->out, " = d%zu[i];\n", s);
    }
    cbx_text_puts(w->out, "        }\n");
}

/* Columns, in each all rows in order. */
static void put_carries(writer *w, const cbx__kernel *k)
{
    cbx_text_puts(w->out, "    for (int64_t i = 0; i < n && m > 0; i++) {\n        int64_t j = 0;\n");
    for (size_t c = 0; c < k->carries.n; c++)
        cbx_text_printf(w->out, "        %s c%zu;\n",
                        cbx__ctext_types[k->streams.items[k->carries.items[c].first].dtype], c);
    cbx_text_puts(w->out, "        {\n");
    put_row(w, k);
    for (size_t c = 0; c < k->carries.n; c++) {
        cbx_text_printf(w->out, "        c%zu = ", c);
        put_element(w, k, k->carries.items[c].first, "i");
        cbx_text_puts(w->out, ";\n");
    }
    for (size_t s = 0; s < k->streams.n; s++) cbx_text_printf(w->out, "        (void)p%zu;\n", s);
    cbx_text_puts(w->out, "        }\n        for (; j < m; j++) {\n");
    put_row(w, k);
    w->slow = true;
    put_values(w, k, "            ", "i");
    for (size_t s = 0; s < k->nout; s++) {
        if (k->streams.items[s].final) continue;
        cbx_text_puts(w->out, "            ");
        put_element(w, k, s, "i");
        cbx_text_puts(w->out, " = ");
        cbx__ctext_put_operand(w, k->streams.items[s].value);
        cbx_text_puts(w->out, ";\n");
    }
    for (size_t c = 0; c < k->carries.n; c++) {
        cbx_text_printf(w->out, "            c%zu = ", c);
        cbx__ctext_put_operand(w, k->carries.items[c].next);
        cbx_text_puts(w->out, ";\n");
    }
    for (size_t s = 0; s < k->streams.n; s++) cbx_text_printf(w->out, "            (void)p%zu;\n", s);
    cbx_text_puts(w->out, "        }\n        j = 0;\n        {\n");
    put_row(w, k);
    for (size_t s = 0; s < k->nout; s++)
        for (size_t c = 0; k->streams.items[s].final && c < k->carries.n; c++) {
            if (k->carries.items[c].next != k->streams.items[s].value) continue;
            cbx_text_puts(w->out, "        ");
            put_element(w, k, s, "i");
            cbx_text_printf(w->out, " = c%zu;\n", c);
            break;
        }
    for (size_t s = 0; s < k->streams.n; s++) cbx_text_printf(w->out, "        (void)p%zu;\n", s);
    cbx_text_puts(w->out, "        }\n    }\n}\n");
}

static void put_kernel(writer *w, const char *name, bool is_part, size_t number, const cbx__kernel *k)
{
    const cbx_dtype mark = mark_of(k);

    cbx_text_printf(
        w->out,
        "\n%svoid %s%zu(%sint64_t m, int64_t n, char *const *p, const int64_t *outer, const int64_t *inner)\n"
        "{\n    %s(void)inner;\n",
        is_part ? "CBX_UNUSED static " : "", name, number, is_part ? "" : "const void *self, ",
        is_part ? "" : "(void)self, ");
    if (k->carries.n) {
        put_carries(w, k);
        return;
    }
    if (mark != CBX_BOOL) put_waits(w, k);
    cbx_text_puts(w->out, "    for (int64_t j = 0; j < m && n > 0; j++) {\n");
    put_row(w, k);
    if (mark == CBX_BOOL)
        put_plain_loop(w, k);
    else
        put_blocks(w, k, mark);
    cbx_text_puts(w->out, "    }\n}\n");
}

static void put_beginning(cbx_text *out, bool is_part)
{
    cbx_text_puts(out, "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n\n"
                       "#if defined(__GNUC__)\n"
                       "#define CBX_UNUSED __attribute__((unused))\n"
                       "#else\n"
                       "#define CBX_UNUSED\n"
                       "#endif\n"
                       "#if defined(__clang__)\n"
                       "#define CBX_INLINE      static inline __attribute__((always_inline, unused))\n"
                       "#define CBX_INDEPENDENT _Pragma(\"clang loop vectorize(assume_safety)\")\n"
                       "#pragma clang diagnostic ignored \"-Wpass-failed\" /* loops without vectors are fine */\n"
                       "#elif defined(__GNUC__)\n"
                       "#define CBX_INLINE      static inline __attribute__((always_inline, unused))\n"
                       "#define CBX_INDEPENDENT _Pragma(\"GCC ivdep\")\n"
                       "#else\n"
                       "#define CBX_INLINE static inline\n"
                       "#define CBX_INDEPENDENT\n"
                       "#endif\n\n");
    if (is_part) /* whatever the flags of its build are */
        cbx_text_puts(out, "/* Products and sums are rounded each, as in the array library. */\n"
                           "#if defined(__clang__)\n"
                           "#pragma STDC FP_CONTRACT OFF\n"
                           "#elif defined(__GNUC__)\n"
                           "#pragma GCC optimize(\"fp-contract=off\", \"no-math-errno\", \"trapping-math\")\n"
                           "#endif\n\n");
}

void cbx__ctext_put(cbx_text *out, const char *name, bool is_part, size_t n, const cbx__kernel *const *kernels)
{
    writer w = { .out = out };

    for (size_t i = 0; i < n; i++) cbx__ctext_need(&w, kernels[i]->instr.items, kernels[i]->instr.n);
    put_beginning(out, is_part);
    cbx__ctext_put_needed(&w);
    for (size_t i = 0; i < n; i++) put_kernel(&w, name, is_part, i, kernels[i]);
}
