/* What callers of a function ahead of time see: its declaration in a header, with the shapes; and
 * the constants behind it. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/aot.h"
#include "calibrax/array/jit/ctext.h"
#include "calibrax/base/version.h"

/* ---- the declaration ---- */

void cbx__aot_put_signature(const cbx__aot *a, cbx_text *out)
{
    const cbx__graph *g = a->graph;
    const char *before = "";

    cbx_text_printf(out, "void %s(", a->name);
    for (size_t i = 0; i < g->in.n; i++, before = ", ")
        cbx_text_printf(out, "%sconst %s *in%zu", before, cbx__ctext_types[cbx__graph_in(g, i)->dtype], i);
    for (size_t i = 0; i < g->out.n; i++, before = ", ")
        cbx_text_printf(out, "%s%s *out%zu", before, cbx__ctext_types[cbx__graph_out(g, i)->dtype], i);
    if (a->work_bytes > 0) cbx_text_printf(out, "%svoid *work", before), before = ", ";
    if (!*before) cbx_text_puts(out, "void");
    cbx_text_puts(out, ")");
}

static void put_description(const char *word, size_t i, const cbx_array_desc *d, cbx_text *out)
{
    cbx_text_printf(out, " *   %s%zu: %s (", word, i, cbx_dtype_name(d->dtype));
    for (int k = 0; k < d->ndim; k++) cbx_text_printf(out, "%s%zu", k ? ", " : "", d->shape[k]);
    cbx_text_puts(out, ")\n");
}

static void put_upper(const char *name, cbx_text *out)
{
    for (; *name; name++) cbx_text_putc(out, (char)toupper((unsigned char)*name));
}

void cbx__aot_put_header(const cbx__aot *a, cbx_text *out)
{
    const cbx__graph *g = a->graph;

    cbx_text_printf(
        out, "/*\n * '%s' as C, written by calibrax %s.  Arrays are row-major, without gaps, and do not overlap:\n",
        g->name, CBX_VERSION);
    for (size_t i = 0; i < g->in.n; i++) put_description("in", i, cbx__graph_in(g, i), out);
    for (size_t i = 0; i < g->out.n; i++) put_description("out", i, cbx__graph_out(g, i), out);
    if (a->work_bytes > 0)
        cbx_text_puts(
            out, " *   work: memory of the function's own, aligned as malloc does; what is in it does not matter\n");
    cbx_text_puts(out, " * Allocates nothing.  Safe from any thread.\n */\n#ifndef ");
    put_upper(a->name, out);
    cbx_text_puts(out, "_H\n#define ");
    put_upper(a->name, out);
    cbx_text_puts(out,
                  "_H\n\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    if (a->work_bytes > 0) {
        cbx_text_puts(out, "#define ");
        put_upper(a->name, out);
        cbx_text_printf(out, "_WORK_BYTES %zu\n\n", a->work_bytes);
    }
    cbx__aot_put_signature(a, out);
    cbx_text_puts(out, ";\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- constants ---- */

static void put_number(cbx_dtype t, const void *at, cbx_text *out)
{
    double d = 0;
    float f = 0;
    uint64_t bits = 0;

    memcpy(&bits, at, cbx__dtype_size(t));
    memcpy(&f, at, sizeof f <= cbx__dtype_size(t) ? sizeof f : 0);
    if (t == CBX_F64) memcpy(&d, at, sizeof d);
    if (t == CBX_F32) d = (double)f;
    if (t == CBX_F64 || t == CBX_F32) {
        if (d != d)
            cbx_text_puts(out, "NAN");
        else if (isinf(d))
            cbx_text_puts(out, d < 0 ? "-INFINITY" : "INFINITY");
        else
            cbx_text_printf(out, "%a%s", d, t == CBX_F32 ? "f" : "");
    } else if (t == CBX_BOOL) {
        cbx_text_puts(out, bits ? "true" : "false");
    } else {
        cbx_text_printf(out, "(%s)UINT64_C(%" PRIu64 ")", cbx__ctext_types[t], bits);
    }
}

void cbx__aot_put_constants(const cbx__aot *a, cbx_text *out)
{
    for (cbx__vid v = 0; v < a->graph->values.n; v++) {
        const cbx_array *c = a->graph->values.items[v].constant;
        if (!c || cbx_dtype_kind(c->desc.dtype) == CBX_KIND_COMPLEX) continue;
        cbx_text_printf(out, "\nCBX_UNUSED static const %s constant%u[%zu] = {", cbx__ctext_types[c->desc.dtype], v,
                        c->count ? c->count : 1);
        for (size_t i = 0; i < c->count; i++) {
            char element[16];
            cbx__array_pack(c, i, 1, element);
            cbx_text_puts(out, i == 0 ? "\n    " : i % 8 ? ", " : ",\n    ");
            put_number(c->desc.dtype, element, out);
        }
        cbx_text_puts(out, c->count ? "\n};\n" : " 0 };\n");
    }
}
