/* An array as text: nested brackets, aligned columns, the middle of long axes left out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/internal.h"

#define SHOW_ALL 1000 /* elements; of larger arrays the ends of each axis */
#define EDGE     3    /* elements at each end */
#define LINE     75   /* columns, after which a row continues on the next line */
#define ELEMENT  (2 * CBX_FORMAT_SIZE + 8)

typedef struct layout {
    const cbx_array *a;
    cbx_text *out;
    size_t indent, column;
    int width; /* of the widest element that is shown */
    bool shorten;
} layout;

static void format_float(cbx_dtype part, const char *p, char buf[CBX_FORMAT_SIZE])
{
    float f;
    double d;

    if (part == CBX_F32) {
        memcpy(&f, p, sizeof f);
        /* The shortest decimal that gives the same float32. */
        double shown = (double)f;

        for (int digits = 1; digits <= 9 && f == f; digits++) {
            snprintf(buf, CBX_FORMAT_SIZE, "%.*g", digits, (double)f);
            shown = strtod(buf, NULL);
            if ((float)shown == f) break;
        }
        cbx_format_double(shown, buf);
    } else {
        memcpy(&d, p, sizeof d);
        cbx_format_double(d, buf);
    }
}

/* As Python does: (1-2j), and 2j where the real part is 0. */
static void format_complex(cbx_dtype part, const char *p, char buf[ELEMENT])
{
    char text[2][CBX_FORMAT_SIZE];

    for (size_t i = 0, n; i < 2; i++) {
        format_float(part, p + i * cbx_dtype_size(part), text[i]);
        n = strlen(text[i]);
        if (n > 2 && strcmp(text[i] + n - 2, ".0") == 0) text[i][n - 2] = '\0';
    }
    if (strcmp(text[0], "0") == 0)
        snprintf(buf, ELEMENT, "%sj", text[1]);
    else
        snprintf(buf, ELEMENT, "(%s%s%sj)", text[0], *text[1] == '-' ? "" : "+", text[1]);
}

#define INTEGER(id, type, format)                                                                                      \
    case id: {                                                                                                         \
        type v;                                                                                                        \
        memcpy(&v, p, sizeof v);                                                                                       \
        snprintf(buf, ELEMENT, "%" format, v);                                                                         \
        break;                                                                                                         \
    }

static const char *format_element(cbx_dtype t, const char *p, char buf[ELEMENT])
{
    switch (t) {
        INTEGER(CBX_I8, int8_t, PRId8)
        INTEGER(CBX_I16, int16_t, PRId16)
        INTEGER(CBX_I32, int32_t, PRId32)
        INTEGER(CBX_I64, int64_t, PRId64)
        INTEGER(CBX_U8, uint8_t, PRIu8)
        INTEGER(CBX_U16, uint16_t, PRIu16)
        INTEGER(CBX_U32, uint32_t, PRIu32)
        INTEGER(CBX_U64, uint64_t, PRIu64)
    case CBX_F32:
    case CBX_F64: format_float(t, p, buf); break;
    case CBX_C64: format_complex(CBX_F32, p, buf); break;
    case CBX_C128: format_complex(CBX_F64, p, buf); break;
    default: snprintf(buf, ELEMENT, "%s", *p ? "True" : "False"); break;
    }
    return buf;
}

static const char *element_at(const layout *l, int axis, const char *p, size_t i)
{
    ptrdiff_t bytes = (ptrdiff_t)cbx_dtype_size(cbx_array_dtype(l->a));

    return p + (ptrdiff_t)i * cbx_array_strides(l->a)[axis] * bytes;
}

/* The element behind i that is shown; those in the middle of a long axis are left out. */
static size_t next_shown(const layout *l, size_t n, size_t i)
{
    return l->shorten && n > 2 * EDGE + 1 && i + 1 == EDGE ? n - EDGE : i + 1;
}

static void measure(layout *l, int axis, const char *p)
{
    char buf[ELEMENT];

    if (axis == cbx_array_ndim(l->a)) {
        int width = (int)strlen(format_element(cbx_array_dtype(l->a), p, buf));
        if (width > l->width) l->width = width;
        return;
    }
    for (size_t n = cbx_array_dim(l->a, axis), i = 0; i < n; i = next_shown(l, n, i))
        measure(l, axis + 1, element_at(l, axis, p, i));
}

static void put(layout *l, const char *s, int width)
{
    size_t before = l->out->len;

    cbx_text_printf(l->out, "%*s", width, s);
    l->column += l->out->len - before;
}

static void put_axis(layout *l, int axis, const char *p)
{
    size_t n = cbx_array_dim(l->a, axis);
    bool inner = axis == cbx_array_ndim(l->a) - 1;
    char buf[ELEMENT];

    if (axis == cbx_array_ndim(l->a)) {
        put(l, format_element(cbx_array_dtype(l->a), p, buf), l->width);
        return;
    }
    put(l, "[", 0);
    for (size_t i = 0, next; i < n; i = next) {
        put_axis(l, axis + 1, element_at(l, axis, p, i));
        next = next_shown(l, n, i);
        for (bool gap = next > i + 1, more = next < n; more; more = gap, gap = false) {
            bool wrap = !inner || l->column + (size_t)l->width + 2 > LINE;
            put(l, wrap ? "," : ", ", 0);
            if (wrap) {
                l->column = 0;
                cbx_text_putc(l->out, '\n');
                put(l, "", (int)l->indent + axis + 1);
            }
            if (gap) put(l, "...", 0);
        }
    }
    put(l, "]", 0);
}

void cbx_array_format(const cbx_array *a, size_t indent, cbx_text *out)
{
    layout l = { .a = a, .out = out, .indent = indent, .column = indent };
    char text[128];

    if (cbx_array_is_failed(a)) {
        cbx_text_puts(out, "failed");
    } else if (cbx_array_is_abstract(a)) {
        cbx_text_puts(out, CBX__DESC_TEXT(&a->desc));
    } else if (cbx_array_device(a).kind != CBX_DEVICE_CPU || cbx_array_device(a).index) {
        cbx_text_printf(out, "%s on ", CBX__DESC_TEXT(&a->desc));
        cbx_text_puts(out, cbx_device_id_text(cbx_array_device(a), text, sizeof text));
    } else {
        l.shorten = cbx_array_count(a) > SHOW_ALL;
        if (cbx_array_count(a)) measure(&l, 0, cbx_array_data(a));
        put_axis(&l, 0, cbx_array_data(a));
    }
}
