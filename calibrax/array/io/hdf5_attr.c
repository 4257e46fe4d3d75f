/* HDF5: groups listed, attributes read and replaced. */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/hdf5_calls.h"

/* --- objects --- */

static cbx_status object_open(const cbx_h5 *h, const char *path, hid_t *out, cbx_err *err)
{
    if (!cbx__h5_exists(h, path)) return cbx_fail(err, CBX_ENOENT, "there is no '%s' in '%s'", path, h->name);
    *out = h->c.Oopen(h->file, *path ? path : "/", H5P_DEFAULT);
    return *out < 0 ? cbx__h5_fail(h, err, "open", path) : CBX_OK;
}

static cbx_h5_kind kind_of(const cbx_h5 *h, hid_t group, const char *name)
{
    hid_t id = h->c.Oopen(group, name, H5P_DEFAULT);
    H5I_type_t type = id >= 0 ? h->c.Iget_type(id) : H5I_BADID;

    if (id >= 0) h->c.Oclose(id);
    return type == H5I_GROUP ? CBX_H5_GROUP : type == H5I_DATASET ? CBX_H5_DATASET : CBX_H5_OTHER;
}

static cbx_status list_entry(const cbx_h5 *h, hid_t group, const char *path, hsize_t i, cbx_arena *arena,
                             cbx_h5_entry *out, cbx_err *err)
{
    ssize_t n = h->c.Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);
    char *name = n >= 0 ? cbx_arena_alloc(arena, (size_t)n + 1) : NULL;

    if (n >= 0 && !name) return cbx_fail(err, CBX_ENOMEM, "no memory to list '%s' of '%s'", path, h->name);
    if (n < 0 || h->c.Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, (size_t)n + 1, H5P_DEFAULT) < 0)
        return cbx__h5_fail(h, err, "list", path);
    *out = (cbx_h5_entry){ name, kind_of(h, group, name) };
    return CBX_OK;
}

static cbx_status list_group(const cbx_h5 *h, hid_t group, const char *path, cbx_arena *arena, const cbx_h5_entry **out,
                             size_t *count, cbx_err *err)
{
    H5G_info_t info;

    if (h->c.Iget_type(group) != H5I_GROUP) return cbx_fail(err, CBX_EINVAL, "'%s' of '%s' is no group", path, h->name);
    if (h->c.Gget_info(group, &info) < 0) return cbx__h5_fail(h, err, "list", path);
    cbx_h5_entry *all = info.nlinks > SIZE_MAX ? NULL : cbx_arena_calloc(arena, (size_t)info.nlinks, sizeof(*all));
    if (!all) return cbx_fail(err, CBX_ENOMEM, "no memory to list '%s' of '%s'", path, h->name);
    for (hsize_t i = 0; i < info.nlinks; i++) {
        cbx_status st = list_entry(h, group, path, i, arena, &all[i], err);
        if (st) return st;
    }
    *out = all;
    *count = (size_t)info.nlinks;
    return CBX_OK;
}

cbx_status cbx_h5_list(cbx_h5 *h, const char *path, cbx_arena *arena, const cbx_h5_entry **out, size_t *count,
                       cbx_err *err)
{
    h5_entered before = cbx__h5_enter(h);
    hid_t group = -1;
    cbx_status st = object_open(h, path, &group, err);

    if (!st) st = list_group(h, group, path, arena, out, count, err);
    if (group >= 0) h->c.Oclose(group);
    cbx__h5_leave(h, before);
    return st;
}

/* --- reading attributes --- */

typedef struct attribute {
    hid_t object, id, type, space;
} attribute;

static void attribute_close(const cbx_h5 *h, attribute *a)
{
    if (a->space >= 0) h->c.Sclose(a->space);
    if (a->type >= 0) h->c.Tclose(a->type);
    if (a->id >= 0) h->c.Aclose(a->id);
    if (a->object >= 0) h->c.Oclose(a->object);
}

static cbx_status attribute_open(const cbx_h5 *h, const char *path, const char *name, attribute *a, cbx_err *err)
{
    cbx_status st = object_open(h, path, &a->object, err);
    htri_t there = st ? 0 : h->c.Aexists(a->object, name);

    if (st) return st;
    if (there == 0) return cbx_fail(err, CBX_ENOENT, "'%s' of '%s' has no attribute '%s'", path, h->name, name);
    if (there > 0) a->id = h->c.Aopen(a->object, name, H5P_DEFAULT);
    if (a->id >= 0) a->type = h->c.Aget_type(a->id);
    if (a->id >= 0) a->space = h->c.Aget_space(a->id);
    return a->type < 0 || a->space < 0 ? cbx__h5_fail(h, err, "open the attribute", name) : CBX_OK;
}

static cbx_status read_numbers(const cbx_h5 *h, const char *name, const attribute *a, cbx_array **out, cbx_err *err)
{
    cbx_array_desc desc = { 0 };
    cbx_array *array = NULL;
    bool text = false, null = false;
    size_t count = 0;
    hid_t memory = -1;
    cbx_status st = cbx__h5_dtype_of(h, a->type, name, &desc.dtype, &text, err);

    if (!st && text)
        st = cbx_fail(err, CBX_EDTYPE, "the attribute '%s' of '%s' is text: read it as text", name, h->name);
    if (!st) st = cbx__h5_shape_of(h, a->space, name, &desc, &null, err);
    if (!st && null)
        st = cbx_fail(err, CBX_EUNSUPPORTED, "the attribute '%s' of '%s' has no shape and no elements", name, h->name);
    if (!st) st = cbx__h5_check_size(h, &desc, cbx_dtype_size(desc.dtype), name, &count, err);
    if (!st) st = cbx_array_create(h->ctx, &desc, &array, err);
    if (st) return st;
    memory = cbx__h5_native_type(h, desc.dtype);
    if (memory < 0 || (count > 0 && h->c.Aread(a->id, memory, cbx_array_data_mut(array)) < 0))
        st = cbx__h5_fail(h, err, "read the attribute", name);
    if (memory >= 0) h->c.Tclose(memory);
    if (st) {
        cbx_array_free(array);
        return st;
    }
    cbx__boundary_tidy_bools(array);
    *out = array;
    return CBX_OK;
}

cbx_status cbx_h5_get_attr(cbx_h5 *h, const char *path, const char *name, cbx_array **out, cbx_err *err)
{
    h5_entered before = cbx__h5_enter(h);
    attribute a = { -1, -1, -1, -1 };
    cbx_status st = attribute_open(h, path, name, &a, err);

    if (!st) st = read_numbers(h, name, &a, out, err);
    attribute_close(h, &a);
    cbx__h5_leave(h, before);
    return st;
}

static herr_t read_attribute(const cbx_h5 *h, hid_t from, hid_t type, void *buf) { return h->c.Aread(from, type, buf); }

cbx_status cbx_h5_get_attr_text(cbx_h5 *h, const char *path, const char *name, cbx_arena *arena,
                                const char *const **out, size_t *count, cbx_err *err)
{
    h5_entered before = cbx__h5_enter(h);
    attribute a = { -1, -1, -1, -1 };
    cbx_status st = attribute_open(h, path, name, &a, err);

    if (!st) st = cbx__h5_texts(h, a.id, a.type, a.space, read_attribute, name, arena, out, count, err);
    attribute_close(h, &a);
    cbx__h5_leave(h, before);
    return st;
}

/* --- writing attributes --- */

/* Takes type and space over.  An attribute cannot change its type, so that an old one goes first.
 */
static cbx_status replace_attribute(const cbx_h5 *h, const char *path, const char *name, hid_t type, hid_t space,
                                    const void *data, cbx_err *err)
{
    attribute a = { -1, -1, type, space };
    cbx_status st = cbx__h5_check_writable(h, path, err);

    if (!st) st = object_open(h, path, &a.object, err);
    if (!st) {
        if (h->c.Aexists(a.object, name) > 0) h->c.Adelete(a.object, name);
        if (type >= 0 && space >= 0) a.id = h->c.Acreate2(a.object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (a.id < 0 || (data && h->c.Awrite(a.id, type, data) < 0))
            st = cbx__h5_fail(h, err, "write the attribute", name);
    }
    attribute_close(h, &a);
    return st;
}

cbx_status cbx_h5_set_attr(cbx_h5 *h, const char *path, const char *name, const cbx_array *array, cbx_err *err)
{
    h5_entered before = cbx__h5_enter(h);
    cbx_array *dense = NULL;
    cbx_status st = cbx__boundary_check_data(array, "write", err);

    if (!st) st = cbx__boundary_copy(h->ctx, array, &dense, err);
    if (!st) {
        const cbx_array_desc *d = cbx_array_get_desc(dense);
        st = replace_attribute(h, path, name, cbx__h5_native_type(h, d->dtype), cbx__h5_space(h, d->ndim, d->shape),
                               cbx_array_count(dense) ? cbx_array_data(dense) : NULL, err);
    }
    cbx_array_free(dense);
    cbx__h5_leave(h, before);
    return st;
}

cbx_status cbx_h5_set_attr_text(cbx_h5 *h, const char *path, const char *name, const char *text, cbx_err *err)
{
    h5_entered before = cbx__h5_enter(h);
    cbx_status st = replace_attribute(h, path, name, cbx__h5_text_type(h, H5T_CSET_UTF8), cbx__h5_space(h, 0, NULL),
                                      &text, err);

    cbx__h5_leave(h, before);
    return st;
}
