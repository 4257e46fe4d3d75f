/* Steps that every format shares: operands that have data, copies, bools that are 0 or 1. */
#include "calibrax/array/io/boundary.h"

#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/base/idioms.h"

cbx_status cbx__boundary_check_made(const cbx_array *a, const char *verb, cbx_err *err)
{
    if (cbx_array_is_failed(a))
        return cbx_fail(err, CBX_EINVAL, "cannot %s the result of a failed operation: close its scope to learn why",
                        verb);
    if (a->flags & CBX__DONATED) return cbx__array_present(verb, a, err);
    if (cbx_array_is_abstract(a))
        return cbx_fail(err, CBX_EINVAL, "cannot %s an abstract array of %s: it has no elements", verb,
                        CBX__DESC_TEXT(cbx_array_get_desc(a)));
    return a->memory ? CBX_OK : cbx__array_here(verb, a, err);
}

cbx_status cbx__boundary_check_data(const cbx_array *a, const char *verb, cbx_err *err)
{
    const cbx_status st = cbx__boundary_check_made(a, verb, err);
    return st ? st : cbx__array_here(verb, a, err);
}

cbx_status cbx__boundary_copy(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    cbx_array *copy = NULL;
    cbx_status st = cbx_array_create(ctx, cbx_array_get_desc(a), &copy, err);

    if (st) return st;
    st = cbx_array_read(a, cbx_array_data_mut(copy), cbx_array_bytes(a), err);
    return CBX_FINISH(st, *out = copy, cbx_array_free(copy));
}

bool cbx__boundary_bools_are_tidy(const cbx_array *a)
{
    unsigned char run[4096], all = 0;
    size_t n, count = cbx_array_count(a);

    if (cbx_array_dtype(a) != CBX_BOOL) return true;
    for (size_t first = 0; first < count; first += n) {
        n = count - first < sizeof run ? count - first : sizeof run;
        cbx__array_pack(a, first, n, run);
        for (size_t i = 0; i < n; i++) all |= run[i];
        if (all > 1) return false;
    }
    return true;
}

void cbx__boundary_tidy_bools(cbx_array *a)
{
    unsigned char *p = cbx_array_data_mut(a);

    if (cbx_array_dtype(a) != CBX_BOOL) return;
    for (size_t i = 0, n = cbx_array_count(a); i < n; i++) p[i] = p[i] != 0;
}

/* Elements are packed whole; an end that falls inside one is copied from it. */
void cbx__boundary_pack_bytes(const cbx_array *a, uint64_t offset, char *buf, size_t size)
{
    size_t unit = cbx_dtype_size(cbx_array_dtype(a)), first = (size_t)(offset / unit), skip = (size_t)(offset % unit);
    char one[16];

    if (skip) {
        size_t n = unit - skip < size ? unit - skip : size;
        cbx__array_pack(a, first++, 1, one);
        memcpy(buf, one + skip, n);
        buf += n;
        size -= n;
    }
    cbx__array_pack(a, first, size / unit, buf);
    if (size % unit) {
        cbx__array_pack(a, first + size / unit, 1, one);
        memcpy(buf + size / unit * unit, one, size % unit);
    }
}
