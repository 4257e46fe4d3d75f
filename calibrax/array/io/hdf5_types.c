/* HDF5: element types, shapes and text.
 *
 * bool and complex numbers have no type of HDF5's; h5py's forms are what everybody reads: an
 * enumeration {FALSE = 0, TRUE = 1} of int8, and a compound of two floats "r" and "i".  HDF5
 * converts byte orders and sizes on the way to the types made here. */
#include <inttypes.h>
#include <string.h>

#include "calibrax/array/io/hdf5_calls.h"

/* --- numbers --- */

static const struct {
    cbx_dtype dtype;
    H5T_class_t kind;
    size_t size; /* of one in the file, at most; a smaller float is widened */
    bool is_signed;
    size_t id; /* where the calls keep the native type */
} numbers[] = {
#define NUMBER(dtype, kind, size, is_signed, name)                                                                     \
    {                                                                                                                  \
        CBX_##dtype, kind, size, is_signed, offsetof(h5_calls, T_NATIVE_##name)                                        \
    }
    NUMBER(I8, H5T_INTEGER, 1, true, INT8),     NUMBER(I16, H5T_INTEGER, 2, true, INT16),
    NUMBER(I32, H5T_INTEGER, 4, true, INT32),   NUMBER(I64, H5T_INTEGER, 8, true, INT64),
    NUMBER(U8, H5T_INTEGER, 1, false, UINT8),   NUMBER(U16, H5T_INTEGER, 2, false, UINT16),
    NUMBER(U32, H5T_INTEGER, 4, false, UINT32), NUMBER(U64, H5T_INTEGER, 8, false, UINT64),
    NUMBER(F32, H5T_FLOAT, 2, true, FLOAT),     NUMBER(F32, H5T_FLOAT, 4, true, FLOAT),
    NUMBER(F64, H5T_FLOAT, 8, true, DOUBLE),
#undef NUMBER
};

static hid_t native_number(const cbx_h5 *h, cbx_dtype dtype)
{
    for (size_t i = 0; i < CBX_LEN(numbers); i++)
        if (numbers[i].dtype == dtype) return **(hid_t *const *)((const char *)&h->c + numbers[i].id);
    return -1;
}

static bool number_of(const cbx_h5 *h, hid_t type, H5T_class_t kind, cbx_dtype *out)
{
    size_t size = h->c.Tget_size(type);
    bool is_signed = kind == H5T_FLOAT || h->c.Tget_sign(type) == H5T_SGN_2;

    for (size_t i = 0; i < CBX_LEN(numbers); i++) {
        if (numbers[i].kind != kind || numbers[i].size != size || numbers[i].is_signed != is_signed) continue;
        *out = numbers[i].dtype;
        return true;
    }
    return false;
}

/* Name of member i of an enumeration or a compound is the word. */
static bool member_is(const cbx_h5 *h, hid_t type, unsigned i, const char *word)
{
    char *name = h->c.Tget_member_name(type, i);
    bool same = name && strcmp(name, word) == 0;

    if (name) h->c.free_memory(name);
    return same;
}

static bool is_bool(const cbx_h5 *h, hid_t type)
{
    return h->c.Tget_size(type) == 1 && h->c.Tget_nmembers(type) == 2 && member_is(h, type, 0, "FALSE") &&
           member_is(h, type, 1, "TRUE");
}

static bool complex_of(const cbx_h5 *h, hid_t type, cbx_dtype *out)
{
    cbx_dtype part[2] = { CBX_BOOL, CBX_BOOL };

    if (h->c.Tget_nmembers(type) != 2 || !member_is(h, type, 0, "r") || !member_is(h, type, 1, "i")) return false;
    for (unsigned i = 0; i < 2; i++) {
        hid_t member = h->c.Tget_member_type(type, i);
        if (member < 0) return false;
        if (h->c.Tget_class(member) == H5T_FLOAT) number_of(h, member, H5T_FLOAT, &part[i]);
        h->c.Tclose(member);
    }
    *out = part[0] == CBX_F32 ? CBX_C64 : CBX_C128;
    return part[0] == part[1] && (part[0] == CBX_F32 || part[0] == CBX_F64);
}

cbx_status cbx__h5_dtype_of(const cbx_h5 *h, hid_t type, const char *what, cbx_dtype *dtype, bool *text, cbx_err *err)
{
    static const char *const classes[] = { "an integer",     "a float",    "a time",     "a string",
                                           "a bitfield",     "an opaque",  "a compound", "a reference",
                                           "an enumeration", "a sequence", "an array" };
    H5T_class_t kind = h->c.Tget_class(type);
    bool known = false;

    *text = kind == H5T_STRING;
    *dtype = CBX_BOOL;
    if (kind == H5T_INTEGER || kind == H5T_FLOAT) known = number_of(h, type, kind, dtype);
    if (kind == H5T_ENUM) known = is_bool(h, type);
    if (kind == H5T_COMPOUND) known = complex_of(h, type, dtype);
    if (known || *text) return CBX_OK;
    return cbx_fail(err, CBX_EDTYPE, "'%s' of '%s' has %s type of %zu bytes, which is no dtype here", what, h->name,
                    kind >= 0 && (size_t)kind < CBX_LEN(classes) ? classes[kind] : "an unknown", h->c.Tget_size(type));
}

static hid_t make_bool(const cbx_h5 *h)
{
    static const signed char values[2] = { 0, 1 };
    hid_t type = h->c.Tenum_create(*h->c.T_NATIVE_INT8);

    if (type >= 0 && h->c.Tenum_insert(type, "FALSE", &values[0]) >= 0 &&
        h->c.Tenum_insert(type, "TRUE", &values[1]) >= 0)
        return type;
    if (type >= 0) h->c.Tclose(type);
    return -1;
}

static hid_t make_complex(const cbx_h5 *h, cbx_dtype dtype)
{
    size_t size = cbx_dtype_size(dtype);
    hid_t part = native_number(h, dtype == CBX_C64 ? CBX_F32 : CBX_F64), type = h->c.Tcreate(H5T_COMPOUND, size);

    if (type >= 0 && h->c.Tinsert(type, "r", 0, part) >= 0 && h->c.Tinsert(type, "i", size / 2, part) >= 0) return type;
    if (type >= 0) h->c.Tclose(type);
    return -1;
}

hid_t cbx__h5_native_type(const cbx_h5 *h, cbx_dtype dtype)
{
    if (dtype == CBX_BOOL) return make_bool(h);
    if (dtype == CBX_C64 || dtype == CBX_C128) return make_complex(h, dtype);
    return h->c.Tcopy(native_number(h, dtype));
}

hid_t cbx__h5_text_type(const cbx_h5 *h, H5T_cset_t set)
{
    hid_t type = h->c.Tcopy(*h->c.T_C_S1);

    if (type >= 0 && h->c.Tset_size(type, H5T_VARIABLE) >= 0 && h->c.Tset_cset(type, set) >= 0) return type;
    if (type >= 0) h->c.Tclose(type);
    return -1;
}

/* --- shapes --- */

hid_t cbx__h5_space(const cbx_h5 *h, int ndim, const size_t *shape)
{
    hsize_t dims[CBX_MAX_RANK];

    if (ndim == 0) return h->c.Screate(H5S_SCALAR);
    for (int i = 0; i < ndim; i++) dims[i] = shape[i];
    return h->c.Screate_simple(ndim, dims, NULL);
}

cbx_status cbx__h5_shape_of(const cbx_h5 *h, hid_t space, const char *what, cbx_array_desc *desc, bool *null,
                            cbx_err *err)
{
    hsize_t dims[H5S_MAX_RANK];
    int ndim = h->c.Sget_simple_extent_ndims(space);

    if (ndim < 0) return cbx__h5_fail(h, err, "read the shape of", what);
    if (ndim > CBX_MAX_RANK)
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' of '%s' has %d axes, at most %d are supported", what, h->name,
                        ndim, CBX_MAX_RANK);
    if (ndim > 0 && h->c.Sget_simple_extent_dims(space, dims, NULL) < 0)
        return cbx__h5_fail(h, err, "read the shape of", what);
    *null = h->c.Sget_simple_extent_type(space) == H5S_NULL;
    desc->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] > SIZE_MAX)
            return cbx_fail(err, CBX_EOVERFLOW, "axis %d of '%s' of '%s' is longer than memory", i, what, h->name);
        desc->shape[i] = (size_t)dims[i];
    }
    return CBX_OK;
}

cbx_status cbx__h5_check_size(const cbx_h5 *h, const cbx_array_desc *desc, size_t unit, const char *what, size_t *count,
                              cbx_err *err)
{
    cbx_err cause = CBX_ERR_INIT;
    size_t bytes;
    cbx_status st = cbx_array_desc_count(desc, count, &cause);

    if (st) return cbx_fail(err, st, "cannot read '%s' of '%s': %s", what, h->name, cause.message);
    if (__builtin_mul_overflow(*count, unit, &bytes) || bytes > h->max_bytes)
        return cbx_fail(err, CBX_EOVERFLOW,
                        "'%s' of '%s' has more than %" PRIu64 " bytes: read slabs, or raise max_array_bytes", what,
                        h->name, h->max_bytes);
    return CBX_OK;
}

/* --- text --- */

typedef struct text_source {
    const cbx_h5 *h;
    hid_t from, space;
    h5_reader read;
    const char *what;
} text_source;

/* Pointers that HDF5 allocates, copied and given back. */
static cbx_status read_variable(const text_source *s, hid_t type, size_t n, cbx_arena *arena, const char **texts,
                                cbx_err *err)
{
    const cbx_h5 *h = s->h;
    char **raw = cbx_arena_calloc(arena, n, sizeof(*raw));
    hid_t memory = cbx__h5_text_type(h, h->c.Tget_cset(type));
    cbx_status st = CBX_OK;

    if (!raw)
        st = cbx_fail(err, CBX_ENOMEM, "no memory to read '%s' of '%s'", s->what, h->name);
    else if (memory < 0 || s->read(h, s->from, memory, raw) < 0)
        st = cbx__h5_fail(h, err, "read", s->what);
    for (size_t i = 0; !st && i < n; i++) {
        texts[i] = raw[i] ? cbx_arena_strdup(arena, raw[i]) : "";
        if (!texts[i]) st = cbx_fail(err, CBX_ENOMEM, "no memory to read '%s' of '%s'", s->what, h->name);
    }
    if (raw && memory >= 0) h->c.Dvlen_reclaim(memory, s->space, H5P_DEFAULT, raw);
    if (memory >= 0) h->c.Tclose(memory);
    return st;
}

static size_t text_length(const char *p, size_t size, H5T_str_t padding)
{
    size_t n = strnlen(p, size);

    if (padding == H5T_STR_SPACEPAD)
        while (n > 0 && p[n - 1] == ' ') n--;
    return n;
}

static cbx_status read_fixed(const text_source *s, hid_t type, size_t n, size_t size, cbx_arena *arena,
                             const char **texts, cbx_err *err)
{
    const cbx_h5 *h = s->h;
    char *raw = cbx_arena_calloc(arena, n, size);

    if (!raw) return cbx_fail(err, CBX_ENOMEM, "no memory to read '%s' of '%s'", s->what, h->name);
    if (s->read(h, s->from, type, raw) < 0) return cbx__h5_fail(h, err, "read", s->what);
    for (size_t i = 0; i < n; i++) {
        texts[i] = cbx_arena_strndup(arena, raw + i * size, text_length(raw + i * size, size, h->c.Tget_strpad(type)));
        if (!texts[i]) return cbx_fail(err, CBX_ENOMEM, "no memory to read '%s' of '%s'", s->what, h->name);
    }
    return CBX_OK;
}

cbx_status cbx__h5_texts(const cbx_h5 *h, hid_t from, hid_t type, hid_t space, h5_reader read, const char *what,
                         cbx_arena *arena, const char *const **out, size_t *count, cbx_err *err)
{
    const text_source s = { h, from, space, read, what };
    cbx_array_desc desc = { .dtype = CBX_U8 };
    size_t n = 0, size = h->c.Tget_size(type);
    bool null = false, variable = h->c.Tis_variable_str(type) > 0;

    if (h->c.Tget_class(type) != H5T_STRING) return cbx_fail(err, CBX_EDTYPE, "'%s' of '%s' is no text", what, h->name);
    cbx_status st = cbx__h5_shape_of(h, space, what, &desc, &null, err);
    if (!st) st = cbx__h5_check_size(h, &desc, variable ? sizeof(char *) : size, what, &n, err);
    if (st) return st;
    if (null) n = 0;
    const char **texts = cbx_arena_calloc(arena, n, sizeof(*texts));
    if (!texts) return cbx_fail(err, CBX_ENOMEM, "no memory to read '%s' of '%s'", what, h->name);
    if (n > 0)
        st = variable ? read_variable(&s, type, n, arena, texts, err)
                      : read_fixed(&s, type, n, size, arena, texts, err);
    if (st) return st;
    *out = texts;
    *count = n;
    return CBX_OK;
}
