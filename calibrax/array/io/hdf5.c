/* HDF5: the library itself (1.10 or newer; BSD-3-Clause), loaded on first use, its errors, and
 * files.
 *
 * libhdf5 is a state of its own in the process: H5open fills it, one lock guards it, nothing
 * unloads it.  Every public function puts the thread's printing of errors aside on entry and back
 * on its way out, since other code of the process may use HDF5, too. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/array/io/hdf5.h"
#include "calibrax/array/io/hdf5_calls.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"

#define MAX_BYTES_DEFAULT ((uint64_t)4 << 30)
#define COPY_BYTES        ((size_t)1 << 30)

/* --- the library --- */

static cbx_status load(cbx_ctx *ctx, h5_calls *c, cbx_library **lib, cbx_err *err)
{
    const cbx_library_symbol symbols[] = {
#define H5_SYMBOL(name) { "H5" #name, (void **)(void *)&c->name },
        H5_CALLS(H5_SYMBOL)
#undef H5_SYMBOL
#define H5_SYMBOL(name) { "H5" #name "_g", (void **)(void *)&c->name },
            H5_IDS(H5_SYMBOL)
#undef H5_SYMBOL
    };
    cbx_status st = cbx_library_open_known(ctx, CBX_LIBRARY_HDF5, NULL, symbols, CBX_LEN(symbols), lib, err);

    if (st) return st;
    if (c->open() < 0) {
        st = cbx_fail(err, CBX_EUNAVAILABLE, "'%s' cannot be initialised", cbx_library_name(*lib));
        cbx_library_close(*lib);
        *lib = NULL;
        return st;
    }
    return CBX_OK;
}

void cbx__h5_visit_init(cbx__h5_visit *v, const cbx_h5 *h)
{
    *v = (cbx__h5_visit){ .h = h, .object = -1, .id = -1, .type = -1, .space = -1, .plist = -1, .memory = -1 };
    if (h->c.Eget_auto2(H5E_DEFAULT, &v->function, &v->data) < 0) v->function = NULL, v->data = NULL;
    h->c.Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void cbx__h5_visit_clear(cbx__h5_visit *v)
{
    cbx__h5_release(v->h, v->memory, v->plist, v->space, v->type, v->id, v->object);
    v->h->c.Eclear2(H5E_DEFAULT);
    v->h->c.Eset_auto2(H5E_DEFAULT, v->function, v->data);
}

/* --- errors --- */

typedef struct found {
    char text[256];
    cbx_status status;
} found;

/* The first entry is the bottom of the stack: what happened.  Those above say who had asked. */
static herr_t take_first(unsigned n, const H5E_error2_t *e, void *user)
{
    found *f = user;

    if (n > 0) return 0;
    snprintf(f->text, sizeof(f->text), "%s", e->desc ? e->desc : "");
    for (char *p = f->text; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
    return 0;
}

cbx_status cbx__h5_fail(const cbx_h5 *h, cbx_err *err, const char *doing, const char *what)
{
    static const struct {
        const char *words;
        cbx_status status;
    } others[] = { { "No space left on device", CBX_ENOSPC }, { "errno = 28", CBX_ENOSPC },
                   { "File too large", CBX_ENOSPC },          { "memory allocation failed", CBX_ENOMEM },
                   { "Permission denied", CBX_EPERM },        { "Input/output error", CBX_EIO } };
    found f = { "", CBX_EFORMAT };

    h->c.Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &f);
    for (size_t i = 0; i < CBX_LEN(others); i++)
        if (strstr(f.text, others[i].words)) f.status = others[i].status;
    if (strstr(f.text, "signature not found")) snprintf(f.text, sizeof(f.text), "it is not an HDF5 file");
    if (!f.text[0]) snprintf(f.text, sizeof(f.text), "HDF5 reports no reason");
    if (!what) return cbx_fail(err, f.status, "cannot %s '%s': %s", doing, h->name, f.text);
    return cbx_fail(err, f.status, "cannot %s '%s' of '%s': %s", doing, what, h->name, f.text);
}

cbx_status cbx__h5_check_writable(const cbx_h5 *h, const char *what, cbx_err *err)
{
    if (h->replacement) return CBX_OK;
    return cbx_fail(err, CBX_EPERM, "cannot write '%s': '%s' is open for reading", what, h->name);
}

void cbx__h5_release_all(const cbx_h5 *h, size_t n, const hid_t *ids)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= 0) h->c.Idec_ref(ids[i]);
}

bool cbx__h5_exists(const cbx_h5 *h, const char *path)
{
    char part[1024];
    size_t n = strlen(path);

    if (n >= sizeof(part)) return true; /* left to HDF5 */
    for (size_t i = 0; i <= n; i++) {
        if (path[i] != '/' && path[i]) continue;
        if (i == 0 || path[i - 1] == '/') continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (h->c.Lexists(h->file, part, H5P_DEFAULT) <= 0) return false;
    }
    return true;
}

/* --- files --- */

static void handle_free(cbx_h5 *h)
{
    cbx_allocator al = h->al;

    cbx_replacement_discard(h->replacement);
    cbx_library_close(h->lib);
    cbx_mem_free(&al, h, sizeof(*h));
}

void cbx_h5_close(cbx_h5 *h)
{
    if (!h) return;
    if (h->file >= 0) {
        CBX_SCOPED(cbx__h5_visit, v, h);
        h->c.Fclose(h->file);
    }
    handle_free(h);
}

cbx_status cbx_h5_commit(cbx_h5 *h, cbx_err *err)
{
    cbx_status st = CBX_OK;

    {
        CBX_SCOPED(cbx__h5_visit, v, h);
        if (h->replacement && h->c.Fflush(h->file, H5F_SCOPE_LOCAL) < 0) st = cbx__h5_fail(h, err, "write", NULL);
        if (h->c.Fclose(h->file) < 0 && !st) st = cbx__h5_fail(h, err, "close", NULL);
    }
    if (!st && h->replacement) {
        st = cbx_replacement_commit(h->replacement, err);
        h->replacement = NULL;
    }
    handle_free(h);
    return st;
}

static cbx_status handle_create(cbx_ctx *ctx, const char *path, const cbx_h5_opts *opts, cbx_h5 **out, cbx_err *err)
{
    cbx_h5_opts o = CBX_H5_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_h5_opts", err);

    if (st) return st;
    cbx_h5 *h = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof(*h));
    if (!h) return cbx_fail(err, CBX_ENOMEM, "no memory to open '%s'", path);
    h->ctx = ctx;
    h->al = *cbx_ctx_allocator(ctx);
    h->file = -1;
    h->max_bytes = o.max_array_bytes ? o.max_array_bytes : MAX_BYTES_DEFAULT;
    snprintf(h->name, sizeof(h->name), "%s", path);
    st = load(ctx, &h->c, &h->lib, err);
    return CBX_FINISH(st, *out = h, handle_free(h));
}

static cbx_status check_regular(const char *path, cbx_err *err)
{
    struct stat s;

    if (stat(path, &s)) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    if (!S_ISREG(s.st_mode)) return cbx_fail(err, CBX_EINVAL, "cannot open '%s': it is not a regular file", path);
    return CBX_OK;
}

/* All bytes of one descriptor into another, by the kernel: without a copy where it can. */
static bool copy_all(int from, int to)
{
    ssize_t n;

    while ((n = copy_file_range(from, NULL, to, NULL, COPY_BYTES, 0)) > 0) continue;
    if (n < 0) /* two file systems: goes on where that stopped */
        while ((n = sendfile(to, from, NULL, COPY_BYTES)) > 0 || (n < 0 && errno == EINTR)) continue;
    return n == 0;
}

static cbx_status copy_file(cbx_h5 *h, const char *path, cbx_err *err)
{
    cbx_status st = CBX_OK;
    int from = open(path, O_RDONLY | O_CLOEXEC), to = open(cbx_replacement_path(h->replacement), O_WRONLY | O_CLOEXEC);

    if (from < 0 || to < 0 || !copy_all(from, to)) st = cbx_fail_errno(err, errno, "cannot copy '%s'", path);
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    return st;
}

static cbx_status open_mode(cbx_h5 *h, const char *path, cbx_h5_mode mode, cbx_err *err)
{
    bool fresh = mode == CBX_H5_CREATE || (mode == CBX_H5_APPEND && !cbx_path_exists(path));
    cbx_status st = fresh ? CBX_OK : check_regular(path, err);

    if (!st && mode != CBX_H5_READ) st = cbx_replacement_begin(h->ctx, path, &h->replacement, err);
    if (!st && mode == CBX_H5_APPEND && !fresh) st = copy_file(h, path, err);
    if (st) return st;
    CBX_SCOPED(cbx__h5_visit, v, h);
    if (fresh)
        h->file = h->c.Fcreate(cbx_replacement_path(h->replacement), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    else if (mode == CBX_H5_APPEND)
        h->file = h->c.Fopen(cbx_replacement_path(h->replacement), H5F_ACC_RDWR, H5P_DEFAULT);
    else
        h->file = h->c.Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    return h->file < 0 ? cbx__h5_fail(h, err, "open", NULL) : CBX_OK;
}

cbx_status cbx_h5_open(cbx_ctx *ctx, const char *path, cbx_h5_mode mode, const cbx_h5_opts *opts, cbx_h5 **out,
                       cbx_err *err)
{
    cbx_h5 *h = NULL;
    cbx_status st = handle_create(ctx, path, opts, &h, err);

    if (st) return st;
    st = open_mode(h, path, mode, err);
    return CBX_FINISH(st, *out = h, cbx_h5_close(h));
}

/* === element types, shapes and text ===
 *
 * bool and complex numbers have no type of HDF5's; h5py's forms are what everybody reads: an
 * enumeration {FALSE = 0, TRUE = 1} of int8, and a compound of two floats "r" and "i".  HDF5
 * converts byte orders and sizes on the way to the types made here. */

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

static bool complex_of(const cbx_h5 *h, hid_t type, cbx_dtype *out)
{
    cbx_dtype part[2] = { CBX_BOOL, CBX_BOOL };

    if (h->c.Tget_nmembers(type) != 2 || !member_is(h, type, 0, "r") || !member_is(h, type, 1, "i")) return false;
    for (unsigned i = 0; i < 2; i++) {
        hid_t member = h->c.Tget_member_type(type, i);
        if (member < 0) return false;
        if (h->c.Tget_class(member) == H5T_FLOAT) number_of(h, member, H5T_FLOAT, &part[i]);
        cbx__h5_release(h, member);
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
    if (kind == H5T_ENUM)
        known = (h->c.Tget_size(type) == 1 && h->c.Tget_nmembers(type) == 2 && member_is(h, type, 0, "FALSE") &&
                 member_is(h, type, 1, "TRUE"));
    if (kind == H5T_COMPOUND) known = complex_of(h, type, dtype);
    if (known || *text) return CBX_OK;
    return cbx_fail(err, CBX_EDTYPE, "'%s' of '%s' has %s type of %zu bytes, which has no matching dtype", what,
                    h->name, kind >= 0 && (size_t)kind < CBX_LEN(classes) ? classes[kind] : "an unknown",
                    h->c.Tget_size(type));
}

static hid_t make_bool(const cbx_h5 *h)
{
    static const signed char values[2] = { 0, 1 };
    hid_t type = h->c.Tenum_create(*h->c.T_NATIVE_INT8);

    if (type >= 0 && h->c.Tenum_insert(type, "FALSE", &values[0]) >= 0 &&
        h->c.Tenum_insert(type, "TRUE", &values[1]) >= 0)
        return type;
    cbx__h5_release(h, type);
    return -1;
}

static hid_t make_complex(const cbx_h5 *h, cbx_dtype dtype)
{
    size_t size = cbx_dtype_size(dtype);
    hid_t part = native_number(h, dtype == CBX_C64 ? CBX_F32 : CBX_F64), type = h->c.Tcreate(H5T_COMPOUND, size);

    if (type >= 0 && h->c.Tinsert(type, "r", 0, part) >= 0 && h->c.Tinsert(type, "i", size / 2, part) >= 0) return type;
    cbx__h5_release(h, type);
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
    cbx__h5_release(h, type);
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
        return cbx_fail(err, CBX_EUNSUPPORTED,
                        "'%s' of '%s' has %d axes, at most %d are supported: store it with fewer axes", what, h->name,
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
    cbx__h5_release(h, memory);
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

    if (h->c.Tget_class(type) != H5T_STRING)
        return cbx_fail(err, CBX_EDTYPE, "'%s' of '%s' is not text", what, h->name);
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

/* === chunks and their packing ===
 *
 * LZF (Lehmann's, by liblzf; BSD-2-Clause) is a filter that libhdf5 does not bring: it is
 * registered under h5py's number with functions that live here.  libhdf5 keeps their addresses for
 * the life of the process, so this library is pinned as libhdf5 is; and it calls them without a
 * user pointer, so that what they need is in variables of the process, written once. */

#define CHUNK_BYTES   ((size_t)256 << 10)
#define LEVEL_DEFAULT 4
#define LZF_REVISION  4      /* of the filter, as h5py writes it into files */
#define LZF_VERSION   0x0105 /* of liblzf's interface */
#define LZF_MAX       88     /* bytes out of one byte: 264 out of a reference of 3 */

/* --- LZF --- */

typedef unsigned (*lzf_function)(const void *in, unsigned in_len, void *out, unsigned out_len);

/* Each is written with the same value by whoever comes first. */
static _Atomic(lzf_function) lzf_pack, lzf_unpack;
static _Atomic(void *) h5_allocate, h5_free;

/* A new buffer of capacity bytes holding the *used that f makes of nbytes at in; NULL if it does
 * not fit. */
static void *run_lzf(lzf_function f, const void *in, size_t nbytes, size_t capacity, size_t *used)
{
    void *(*allocate)(size_t, hbool_t) = (void *(*)(size_t, hbool_t))atomic_load(&h5_allocate);
    herr_t (*release)(void *) = (herr_t(*)(void *))atomic_load(&h5_free);
    void *out = capacity && capacity <= UINT32_MAX && nbytes <= UINT32_MAX ? allocate(capacity, 0) : NULL;

    if (!out) return NULL;
    *used = f(in, (unsigned)nbytes, out, (unsigned)capacity);
    if (*used) return out;
    release(out);
    return NULL;
}

/* libhdf5's view of the filter: 0 is failure, which leaves a chunk as it is on writing and ends a
 * reading.  values[2] is the bytes of a chunk; a chunk that unpacks to another size would be read
 * beyond its end. */
static size_t lzf_filter(unsigned flags, size_t nvalues, const unsigned values[], size_t nbytes, size_t *size,
                         void **buf)
{
    bool unpack = flags & H5Z_FLAG_REVERSE;
    size_t chunk = nvalues > 2 ? values[2] : 0, used = 0;
    herr_t (*release)(void *) = (herr_t(*)(void *))atomic_load(&h5_free);

    if (unpack && (chunk == 0 || chunk / LZF_MAX > nbytes)) return 0;
    void *out = unpack ? run_lzf(atomic_load(&lzf_unpack), *buf, nbytes, chunk, &used)
                       : run_lzf(atomic_load(&lzf_pack), *buf, nbytes, nbytes > 1 ? nbytes - 1 : 0, &used);
    if (!out) return 0;
    if (unpack && used != chunk) {
        release(out);
        return 0;
    }
    release(*buf);
    *buf = out;
    *size = unpack ? chunk : nbytes - 1;
    return used;
}

static cbx_status load_lzf(const cbx_h5 *h, cbx_err *err)
{
    static const H5Z_class2_t lzf_class = { H5Z_CLASS_T_VERS, H5_LZF_ID, 1, 1, "lzf", NULL, NULL, lzf_filter };
    lzf_function pack = NULL, unpack = NULL;
    const cbx_library_symbol symbols[] = { { "lzf_compress", (void **)(void *)&pack },
                                           { "lzf_decompress", (void **)(void *)&unpack } };
    cbx_library *lib = NULL;

    if (h->c.Zfilter_avail(H5_LZF_ID) > 0) return CBX_OK; /* ours already, or that of h5py in this process */
    cbx_status st = cbx_library_open_known(h->ctx, CBX_LIBRARY_LZF, NULL, symbols, CBX_LEN(symbols), &lib, err);
    if (st) return st;
    atomic_store(&lzf_pack, pack);
    atomic_store(&lzf_unpack, unpack);
    atomic_store(&h5_allocate, (void *)h->c.allocate_memory);
    atomic_store(&h5_free, (void *)h->c.free_memory);
    cbx_library_close(lib); /* it stays loaded (library.c) */
    Dl_info here;

    if (dladdr((void *)lzf_filter, &here) && here.dli_fname)
        dlopen(here.dli_fname,
               RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); /* a program itself is not found, and needs it not */
    if (h->c.Zregister(&lzf_class) < 0) return cbx__h5_fail(h, err, "register the filter LZF for", "/");
    return CBX_OK;
}

/* --- what a dataset has --- */

typedef struct filter {
    H5Z_filter_t id;
    unsigned flags, values[8];
    size_t nvalues;
    char name[64];
} filter;

/* LZF's own note of the chunk's size must be true: the unpacked chunk has it. */
static cbx_status check_usable(const cbx_h5 *h, const filter *f, const char *what, size_t chunk_bytes, cbx_err *err)
{
    if (f->id == H5_LZF_ID && (f->nvalues < 3 || f->values[2] != chunk_bytes))
        return cbx_fail(err, CBX_EFORMAT, "the chunks of '%s' of '%s' have %zu bytes, and its LZF filter declares %u",
                        what, h->name, chunk_bytes, f->nvalues < 3 ? 0 : f->values[2]);
    if (f->id == H5_LZF_ID) return load_lzf(h, err);
    if (h->c.Zfilter_avail(f->id) > 0) return CBX_OK;
    return cbx_fail(err, CBX_EUNSUPPORTED,
                    "'%s' of '%s' is compressed by filter %d ('%s'), which libhdf5 does not have: add its folder to "
                    "HDF5_PLUGIN_PATH",
                    what, h->name, (int)f->id, f->name);
}

cbx_status cbx__h5_filters(const cbx_h5 *h, hid_t plist, const char *what, size_t chunk_bytes, bool info_only,
                           cbx_h5_info *info, cbx_err *err)
{
    int n = h->c.Pget_nfilters(plist);

    if (n < 0) return cbx__h5_fail(h, err, "read the filters of", what);
    for (int i = 0; i < n; i++) {
        filter f = { .nvalues = CBX_LEN(f.values) };
        unsigned config = 0;
        f.id = h->c.Pget_filter2(plist, (unsigned)i, &f.flags, &f.nvalues, f.values, sizeof(f.name), f.name, &config);
        if (f.id < 0) return cbx__h5_fail(h, err, "read the filters of", what);
        if (f.id == H5Z_FILTER_SHUFFLE)
            info->shuffled = true;
        else if (info->packing != CBX_H5_PLAIN)
            info->packing = CBX_H5_OTHER_FILTERS;
        else
            info->packing = f.id == H5Z_FILTER_DEFLATE ? CBX_H5_DEFLATE
                            : f.id == H5_LZF_ID        ? CBX_H5_LZF
                                                       : CBX_H5_OTHER_FILTERS;
        cbx_status st = info_only ? CBX_OK : check_usable(h, &f, what, chunk_bytes, err);
        if (st) return st;
    }
    return CBX_OK;
}

/* --- what a dataset shall have --- */

/* Chunks as asked, cut to the shape; else the shape, halved from the first axis on until it is
 * small enough. */
static size_t choose_chunk(const cbx_array_desc *desc, const size_t *asked, hsize_t *chunk)
{
    size_t bytes = cbx_dtype_size(desc->dtype);
    bool given = false;

    for (int i = 0; i < desc->ndim; i++) given |= asked[i] > 0;
    for (int i = 0; i < desc->ndim; i++) {
        chunk[i] = given && asked[i] > 0 && asked[i] < desc->shape[i] ? asked[i] : desc->shape[i];
        bytes *= (size_t)chunk[i];
    }
    for (int i = 0; !given && i < desc->ndim; i++)
        while (bytes > CHUNK_BYTES && chunk[i] > 1) {
            bytes = bytes / (size_t)chunk[i];
            chunk[i] = (chunk[i] + 1) / 2;
            bytes *= (size_t)chunk[i];
        }
    return bytes;
}

static cbx_status set_packing(const cbx_h5 *h, hid_t plist, const cbx_h5_write_opts *opts, size_t chunk_bytes,
                              const char *what, cbx_err *err)
{
    const unsigned lzf[3] = { LZF_REVISION, LZF_VERSION, (unsigned)chunk_bytes };
    herr_t done = 0;

    if (opts->shuffle && h->c.Pset_shuffle(plist) < 0) return cbx__h5_fail(h, err, "shuffle", what);
    if (opts->packing == CBX_H5_DEFLATE)
        done = h->c.Pset_deflate(plist, (unsigned)(opts->level ? opts->level : LEVEL_DEFAULT));
    if (opts->packing == CBX_H5_LZF) {
        cbx_status st = load_lzf(h, err);
        if (st) return st;
        done = h->c.Pset_filter(plist, H5_LZF_ID, H5Z_FLAG_OPTIONAL, CBX_LEN(lzf), lzf);
    }
    return done < 0 ? cbx__h5_fail(h, err, "pack", what) : CBX_OK;
}

cbx_status cbx__h5_set_filters(const cbx_h5 *h, hid_t plist, const cbx_array_desc *desc, const cbx_h5_write_opts *opts,
                               const char *what, cbx_err *err)
{
    hsize_t chunk[CBX_MAX_RANK];
    bool chunked = opts->packing != CBX_H5_PLAIN || opts->shuffle;

    if ((unsigned)opts->packing > CBX_H5_LZF)
        return cbx_fail(err, CBX_EINVAL, "'%s' cannot be written with compression %d: it must be plain, deflate or LZF",
                        what, (int)opts->packing);
    if (opts->level < 0 || opts->level > 9)
        return cbx_fail(err, CBX_EINVAL,
                        "'%s' cannot be deflated with level %d: it must be 1 to 9, or 0 for the default", what,
                        opts->level);
    for (int i = 0; i < desc->ndim; i++) {
        if (desc->shape[i] == 0) return CBX_OK;
        chunked |= opts->chunk[i] > 0;
    }
    if (!chunked || desc->ndim == 0) return CBX_OK;
    size_t bytes = choose_chunk(desc, opts->chunk, chunk);
    if (bytes > UINT32_MAX)
        return cbx_fail(err, CBX_EINVAL, "a chunk of '%s' would have %zu bytes, at most 4 GiB - 1 are possible", what,
                        bytes);
    if (h->c.Pset_chunk(plist, desc->ndim, chunk) < 0) return cbx__h5_fail(h, err, "chunk", what);
    return set_packing(h, plist, opts, bytes, what, err);
}
