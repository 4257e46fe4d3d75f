/* Files of cases: bytes and operands. */
#include "case_file.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t case_get(case_reader *r, int bytes)
{
    uint64_t v = 0;

    CHECK(r->end - r->at >= bytes, "the file of cases is whole");
    for (int i = 0; i < bytes; i++) v |= (uint64_t)*r->at++ << 8 * i;
    return v;
}

double case_get_f64(case_reader *r)
{
    uint64_t bits = case_get(r, 8);
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

const unsigned char *case_skip(case_reader *r, size_t n)
{
    const unsigned char *here = r->at;

    CHECK((size_t)(r->end - r->at) >= n, "the file of cases is whole");
    r->at += n;
    return here;
}

unsigned char *case_file_open(const char *file, const char *magic, case_reader *r)
{
    char path[1024];
    unsigned char *bytes;
    long size;
    FILE *f;

    snprintf(path, sizeof path, "%s/tests/array/fixtures/%s", getenv("CALIBRAX_SOURCE_ROOT"), file);
    f = fopen(path, "rb");
    if (!f) fail_msg("cannot open '%s'", path);
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    bytes = malloc((size_t)size);
    CHECK_INT(fread(bytes, 1, (size_t)size, f), size, "the whole file");
    fclose(f);
    *r = (case_reader){ bytes, bytes + size };
    CHECK(memcmp(case_skip(r, 8), magic, 8) == 0, "a file of cases");
    return bytes;
}

/* Steps of the layout in elements, the first element's place, and the elements that the memory
 * must hold. */
static size_t lay_out(const cbx_array_desc *d, int layout, ptrdiff_t *strides, ptrdiff_t *first)
{
    ptrdiff_t step = layout == CASE_STEPS ? 2 : 1;

    *first = 0;
    for (int i = d->ndim - 1; i >= 0; i--) {
        int axis = layout == CASE_REVERSED ? d->ndim - 1 - i : i;
        strides[axis] = step;
        step *= (ptrdiff_t)d->shape[axis];
        if (layout == CASE_NEGATIVE && d->shape[axis]) {
            *first += strides[axis] * ((ptrdiff_t)d->shape[axis] - 1);
            strides[axis] = -strides[axis];
        }
    }
    if (layout == CASE_REPEATED) strides[0] = 0;
    return (size_t)step;
}

static void release(void *user) { free(user); }

cbx_array *case_operand(cbx_ctx *ctx, const cbx_array_desc *d, int layout, case_element_fn element, const void *user)
{
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 }, first;
    size_t index[CBX_MAX_RANK] = { 0 }, size = cbx_dtype_size(d->dtype), count = 1;
    size_t capacity = lay_out(d, layout, strides, &first);
    unsigned char *data = calloc(capacity + 1, size);
    cbx_array *a = NULL;

    for (int i = 0; i < d->ndim; i++) count *= d->shape[i];
    for (size_t i = 0; i < count; i++) {
        ptrdiff_t at = first;
        for (int k = 0; k < d->ndim; k++) at += (ptrdiff_t)index[k] * strides[k];
        if (layout != CASE_REPEATED || index[0] == 0) memcpy(data + at * (ptrdiff_t)size, element(user, i), size);
        for (int k = d->ndim - 1; k >= 0 && ++index[k] == d->shape[k]; k--) index[k] = 0;
    }
    CHECK_OK(cbx_array_wrap(ctx, d, strides, data + first * (ptrdiff_t)size, release, data, &a, NULL),
             (&(cbx_err){ 0 }), "operand");
    return cbx_scope_hold(ctx, a);
}

double case_number_at(cbx_dtype t, const void *data, size_t i)
{
    switch (t) {
    case CBX_F32:
    case CBX_C64: return ((const float *)data)[i];
    case CBX_F64:
    case CBX_C128: return ((const double *)data)[i];
    case CBX_I32: return ((const int32_t *)data)[i];
    case CBX_I64: return (double)((const int64_t *)data)[i];
    case CBX_U64: return (double)((const uint64_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}
