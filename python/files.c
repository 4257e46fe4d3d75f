/* Arrays in files: NumPy's .npy and .npz, and HDF5; the extension of the path selects the
 * format. */
#include <string.h>

#include "python/records.h"

typedef enum format { NPY, NPZ, HDF5 } format;

static bool format_of(cx_call *c, const char *path, format *out)
{
    static const struct {
        const char *extension;
        format f;
    } formats[] = { { ".npy", NPY }, { ".npz", NPZ }, { ".h5", HDF5 }, { ".hdf5", HDF5 } };
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < CBX_LEN(formats); i++)
        if (strcmp(dot, formats[i].extension) == 0) {
            *out = formats[i].f;
            return true;
        }
    return cx_refused(PyExc_ValueError, "%s: 'path' must end in '.npy', '.npz', '.h5' or '.hdf5', got '%s'", c->name,
                      path);
}

/* ---- save ---- */

typedef struct members {
    cbx_npz_member *list;
    size_t n;
} members;

/* The arrays of a dict by name; they are held by the call. */
static bool read_members(cx_call *c, PyObject *dict, members *out)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (!PyDict_Check(dict)) return cx_refuse(c, "arrays", PyExc_TypeError, "a dict of arrays by name", dict);
    if (!(out->list = cx_alloc(c, (size_t)PyDict_Size(dict), sizeof *out->list))) return false;
    while (PyDict_Next(dict, &at, &key, &value)) {
        cbx_npz_member *m = &out->list[out->n++];
        m->name = PyUnicode_Check(key) ? cx_text_of(key, c->name) : NULL;
        if (!m->name)
            return PyErr_Occurred() ? false
                                    : cx_refuse(c, "arrays", PyExc_TypeError, "a dict with names as keys", dict);
        if (!(m->array = cx_array_from(c, value, "arrays", "a dict of arrays by name"))) return false;
    }
    return true;
}

static cbx_status write_hdf5(cbx_ctx *ctx, const char *path, const members *m, cbx_err *err)
{
    cbx_h5 *h = NULL;
    cbx_status st = cbx_h5_open(ctx, path, CBX_H5_CREATE, NULL, &h, err);

    for (size_t i = 0; !st && i < m->n; i++) st = cbx_h5_write(h, m->list[i].name, m->list[i].array, NULL, err);
    if (!st) return cbx_h5_commit(h, err);
    cbx_h5_close(h);
    return st;
}

static PyObject *do_save(cx_call *c)
{
    const cbx_array *one = NULL;
    members m = { 0 };
    const char *path;
    bool compress;
    format f = NPY;

    if (!CX_GET(c, path, compress) || !format_of(c, path, &f) ||
        (f == NPY ? !CX_GET_AS(c, "arrays", one) : !read_members(c, cx_arg(c, "arrays"), &m)))
        return NULL;
    if (!cx_begin_long(c)) return NULL; /* it waits for the disk */
    if (f == NPY) return cx_none(c, cbx_npy_write(c->ctx, path, one, &c->err));
    if (f == HDF5) return cx_none(c, write_hdf5(c->ctx, path, &m, &c->err));
    return cx_none(c, cbx_npz_write(c->ctx, path, m.list, m.n, compress ? CBX_NPZ_DEFLATED : CBX_NPZ_STORED, &c->err));
}

/* ---- load ---- */

static PyObject *array_or_error(cx_call *c, cbx_status st, cbx_array *a)
{
    return cx_fine(c, st) ? cx_array_new(c->st, a) : NULL;
}

static bool load_members(cx_call *c, cbx_npz *z, PyObject *dict)
{
    for (size_t i = 0; i < cbx_npz_count(z); i++) {
        cbx_array *a = NULL;
        cbx_status st = cbx_npz_read_at(z, i, &a, &c->err);
        if (!cx_put(dict, cbx_npz_name(z, i), array_or_error(c, st, a))) return false;
    }
    return true;
}

/* All datasets of numbers below a group, by their paths from the root. */
static bool load_group(cx_call *c, cbx_h5 *h, const char *group, PyObject *dict)
{
    const cbx_h5_entry *entries;
    size_t n = 0;

    if (!cx_fine(c, cbx_h5_list(h, group, cx_arena(c), &entries, &n, &c->err))) return false;
    for (size_t i = 0; i < n; i++) {
        CX_OWN PyObject *full = PyUnicode_FromFormat(group[0] && strcmp(group, "/") != 0 ? "%s/%s" : "%.0s%s", group,
                                                     entries[i].name);
        const char *path = full ? PyUnicode_AsUTF8AndSize(full, NULL) : NULL;
        cbx_h5_info info;
        cbx_array *a = NULL;
        if (!path || (entries[i].kind == CBX_H5_GROUP && !load_group(c, h, path, dict))) return false;
        if (entries[i].kind == CBX_H5_DATASET && !cbx_h5_stat(h, path, &info, &c->err) && !info.text) {
            cbx_status st = cbx_h5_read(h, path, &a, &c->err);
            if (!cx_put(dict, path, array_or_error(c, st, a))) return false;
        }
    }
    return !PyErr_Occurred();
}

/* The array of that name of an archive, or a dict of all. */
static PyObject *load_archive(cx_call *c, const char *path, const char *name, format f)
{
    PyObject *all = name ? NULL : PyDict_New();
    cbx_array *a = NULL;
    cbx_npz *z = NULL;
    cbx_h5 *h = NULL;
    cbx_status st = f == NPZ ? cbx_npz_open(c->ctx, path, NULL, &z, &c->err)
                             : cbx_h5_open(c->ctx, path, CBX_H5_READ, NULL, &h, &c->err);

    if (!st && name) st = z ? cbx_npz_read(z, name, &a, &c->err) : cbx_h5_read(h, name, &a, &c->err);
    if (!cx_fine(c, st) || (all && !(z ? load_members(c, z, all) : load_group(c, h, "/", all)))) Py_CLEAR(all);
    if (z) cbx_npz_close(z);
    if (h) cbx_h5_close(h);
    return a ? cx_array_new(c->st, a) : all;
}

static PyObject *do_load(cx_call *c)
{
    const char *path, *name = NULL;
    cbx_array *a = NULL;
    cbx_status st;
    format f = NPY;

    if (!CX_GET(c, path, name) || !format_of(c, path, &f)) return NULL;
    if (f == NPY && name)
        return cx_raise(CBX_EINVAL, "load: 'name' must be None for a '.npy' file, which has one array");
    if (!cx_begin(c)) return NULL;
    if (f != NPY) return load_archive(c, path, name, f);
    st = cbx_npy_read(c->ctx, path, &a, &c->err);
    return array_or_error(c, st, a);
}

/* clang-format off */
#define FILES(X) \
    X(save, "path: Path, arrays: Operand | Mapping[str, Operand], /, *, compress: bool = False", "None", do_save, 0, "Writes an array to a '.npy' file, or a dict of arrays by name to '.npz' or HDF5 ('.h5', '.hdf5'), atomically.\n\ncompress: deflate the members of '.npz'.\n\n>>> xp.save(os.path.join(folder, 'x.npy'), xp.arange(2))") \
    X(load, "path: Path, name: str | None = None, /", "Any", do_load, 0, "Reads the array of a '.npy' file, or the named array of a '.npz' or HDF5 file; without a name, a dict of all arrays.\n\n>>> xp.save(os.path.join(folder, 'y.npy'), xp.arange(2))\n>>> xp.load(os.path.join(folder, 'y.npy'))\nArray([0, 1], dtype=int64)")
/* clang-format on */
CX_FUNCTIONS(cx_file_methods, FILES, LIGHT)
