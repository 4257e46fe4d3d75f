/* HDF5: datasets, whole and in slabs.
 *
 * A dataset is opened, its type, shape and filters are looked at, and only then memory is taken:
 * what its header claims must fit into an array and into the limit of the file's handle. */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/io/hdf5_calls.h"
#include "calibrax/array/scratch.h"
#include "calibrax/base/options.h"

/* --- objects --- */

static cbx_status object_open(cbx__h5_visit *v, const char *path, cbx_err *err)
{
    const cbx_h5 *h = v->h;

    if (!cbx__h5_exists(h, path)) return cbx_fail(err, CBX_ENOENT, "'%s' does not exist in '%s'", path, h->name);
    v->object = h->c.Oopen(h->file, *path ? path : "/", H5P_DEFAULT);
    return v->object < 0 ? cbx__h5_fail(h, err, "open", path) : CBX_OK;
}

cbx_status cbx_h5_list(cbx_h5 *h, const char *path, cbx_arena *arena, const cbx_h5_entry **out, size_t *count,
                       cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, v, h);
    H5G_info_t info;
    const cbx_status st = object_open(&v, path, err);
    const hid_t group = v.object;

    if (st) return st;
    if (h->c.Iget_type(group) != H5I_GROUP)
        return cbx_fail(err, CBX_EINVAL, "'%s' of '%s' is not a group", path, h->name);
    if (h->c.Gget_info(group, &info) < 0) return cbx__h5_fail(h, err, "list", path);
    cbx_h5_entry *all = info.nlinks > SIZE_MAX ? NULL : cbx_arena_calloc(arena, (size_t)info.nlinks, sizeof(*all));
    if (!all) return cbx_fail(err, CBX_ENOMEM, "no memory to list '%s' of '%s'", path, h->name);
    for (hsize_t i = 0; i < info.nlinks; i++) {
        ssize_t n = h->c.Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);
        char *name = n >= 0 ? cbx_arena_alloc(arena, (size_t)n + 1) : NULL;
        if (n >= 0 && !name) return cbx_fail(err, CBX_ENOMEM, "no memory to list '%s' of '%s'", path, h->name);
        if (n < 0 ||
            h->c.Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, (size_t)n + 1, H5P_DEFAULT) < 0)
            return cbx__h5_fail(h, err, "list", path);
        hid_t id = h->c.Oopen(group, name, H5P_DEFAULT);
        H5I_type_t type = id >= 0 ? h->c.Iget_type(id) : H5I_BADID;
        cbx__h5_release(h, id);
        all[i] = (cbx_h5_entry){ name, type == H5I_GROUP     ? CBX_H5_GROUP
                                       : type == H5I_DATASET ? CBX_H5_DATASET
                                                             : CBX_H5_OTHER };
    }
    *out = all;
    *count = (size_t)info.nlinks;
    return CBX_OK;
}

/* kind: word before the name in the sentence, or none */
static cbx_status check_numbers(const cbx_h5 *h, const char *kind, const char *name, bool text, bool null, cbx_err *err)
{
    if (null)
        return cbx_fail(err, CBX_EUNSUPPORTED, "%s'%s' of '%s' has no shape and no elements", kind, name, h->name);
    if (!text) return CBX_OK;
    return cbx_fail(err, CBX_EDTYPE, "%s'%s' of '%s' is text, not an array: read it as text", kind, name, h->name);
}

/* --- reading attributes --- */

static cbx_status attribute_open(cbx__h5_visit *a, const char *path, const char *name, cbx_err *err)
{
    const cbx_h5 *h = a->h;
    cbx_status st = object_open(a, path, err);
    htri_t there = st ? 0 : h->c.Aexists(a->object, name);

    if (st) return st;
    if (there == 0) return cbx_fail(err, CBX_ENOENT, "'%s' of '%s' has no attribute '%s'", path, h->name, name);
    if (there > 0) a->id = h->c.Aopen(a->object, name, H5P_DEFAULT);
    if (a->id >= 0) a->type = h->c.Aget_type(a->id);
    if (a->id >= 0) a->space = h->c.Aget_space(a->id);
    return a->type < 0 || a->space < 0 ? cbx__h5_fail(h, err, "open the attribute", name) : CBX_OK;
}

cbx_status cbx_h5_get_attr(cbx_h5 *h, const char *path, const char *name, cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, a, h);
    cbx_array_desc desc = { 0 };
    cbx_array *array = NULL;
    bool text = false;
    size_t count = 0;
    cbx_status st = attribute_open(&a, path, name, err);

    if (!st) st = cbx__h5_dtype_of(h, a.type, name, &desc.dtype, &text, err);
    if (!st) st = cbx__h5_shape_of(h, a.space, name, &desc, &a.null, err);
    if (!st) st = check_numbers(h, "the attribute ", name, text, a.null, err);
    if (!st) st = cbx__h5_check_size(h, &desc, cbx_dtype_size(desc.dtype), name, &count, err);
    if (!st) st = cbx_array_create(h->ctx, &desc, &array, err);
    if (!st) a.memory = cbx__h5_native_type(h, desc.dtype);
    if (!st && (a.memory < 0 || (count > 0 && h->c.Aread(a.id, a.memory, cbx_array_data_mut(array)) < 0)))
        st = cbx__h5_fail(h, err, "read the attribute", name);
    if (!st) cbx__boundary_tidy_bools(array);
    return CBX_FINISH(st, *out = array, cbx_array_free(array));
}

static herr_t read_attribute(const cbx_h5 *h, hid_t from, hid_t type, void *buf) { return h->c.Aread(from, type, buf); }

cbx_status cbx_h5_get_attr_text(cbx_h5 *h, const char *path, const char *name, cbx_arena *arena,
                                const char *const **out, size_t *count, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, a, h);
    const cbx_status st = attribute_open(&a, path, name, err);

    return st ? st : cbx__h5_texts(h, a.id, a.type, a.space, read_attribute, name, arena, out, count, err);
}

/* --- writing attributes --- */

/* Of the type and space of a.  An attribute cannot change its type, so that an old one goes
 * first. */
static cbx_status replace_attribute(cbx__h5_visit *a, const char *path, const char *name, const void *data,
                                    cbx_err *err)
{
    const cbx_h5 *h = a->h;
    cbx_status st = cbx__h5_check_writable(h, path, err);

    if (!st) st = object_open(a, path, err);
    if (st) return st;
    if (h->c.Aexists(a->object, name) > 0) h->c.Adelete(a->object, name);
    if (a->type >= 0 && a->space >= 0)
        a->id = h->c.Acreate2(a->object, name, a->type, a->space, H5P_DEFAULT, H5P_DEFAULT);
    if (a->id < 0 || (data && h->c.Awrite(a->id, a->type, data) < 0))
        return cbx__h5_fail(h, err, "write the attribute", name);
    return CBX_OK;
}

cbx_status cbx_h5_set_attr(cbx_h5 *h, const char *path, const char *name, const cbx_array *array, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, a, h);
    CBX_OWNED(cbx_array) *dense = NULL;
    cbx_status st = cbx__boundary_check_data(array, "write", err);

    if (!st) st = cbx__boundary_copy(h->ctx, array, &dense, err);
    if (st) return st;
    a.type = cbx__h5_native_type(h, dense->desc.dtype);
    a.space = cbx__h5_space(h, dense->desc.ndim, dense->desc.shape);
    return replace_attribute(&a, path, name, dense->count ? dense->data : NULL, err);
}

cbx_status cbx_h5_set_attr_text(cbx_h5 *h, const char *path, const char *name, const char *text, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, a, h);

    a.type = cbx__h5_text_type(h, H5T_CSET_UTF8);
    a.space = cbx__h5_space(h, 0, NULL);
    return replace_attribute(&a, path, name, &text, err);
}

/* === datasets === */

/* A forged chunk is refused here: libhdf5 takes its size on trust. */
static cbx_status read_layout(cbx__h5_visit *d, const char *name, bool info_only, cbx_err *err)
{
    const cbx_h5 *h = d->h;
    hsize_t chunk[H5S_MAX_RANK];
    size_t bytes = h->c.Tget_size(d->type);

    d->plist = h->c.Dget_create_plist(d->id);
    if (d->plist < 0) return cbx__h5_fail(h, err, "read the layout of", name);
    if (h->c.Pget_layout(d->plist) != H5D_CHUNKED) return CBX_OK;
    if (h->c.Pget_chunk(d->plist, d->info.desc.ndim, chunk) != d->info.desc.ndim)
        return cbx_fail(err, CBX_EFORMAT, "'%s' of '%s' has chunks of another rank than its own", name, h->name);
    d->info.chunked = true;
    for (int i = 0; i < d->info.desc.ndim; i++) {
        d->info.chunk[i] = (size_t)chunk[i];
        if (chunk[i] == 0 || __builtin_mul_overflow(bytes, (size_t)chunk[i], &bytes) || bytes > UINT32_MAX)
            return cbx_fail(err, CBX_EFORMAT, "'%s' of '%s' has chunks that are empty or larger than 4 GiB", name,
                            h->name);
    }
    return cbx__h5_filters(h, d->plist, name, bytes, info_only, &d->info, err);
}

static cbx_status check_name(const cbx_h5 *h, const char *name, cbx_err *err)
{
    return *name ? CBX_OK : cbx_fail(err, CBX_EINVAL, "the name of a dataset of '%s' is empty", h->name);
}

static cbx_status dataset_open(cbx__h5_visit *d, const char *name, bool info_only, cbx_err *err)
{
    const cbx_h5 *h = d->h;
    cbx_status st = check_name(h, name, err);

    if (st) return st;
    if (!cbx__h5_exists(h, name)) return cbx_fail(err, CBX_ENOENT, "'%s' is not a dataset of '%s'", name, h->name);
    d->id = h->c.Dopen2(h->file, name, H5P_DEFAULT);
    if (d->id >= 0) d->type = h->c.Dget_type(d->id);
    if (d->id >= 0) d->space = h->c.Dget_space(d->id);
    if (d->type < 0 || d->space < 0) return cbx__h5_fail(h, err, "open the dataset", name);
    st = cbx__h5_dtype_of(h, d->type, name, &d->info.desc.dtype, &d->info.text, err);
    if (!st) st = cbx__h5_shape_of(h, d->space, name, &d->info.desc, &d->null, err);
    return st ? st : read_layout(d, name, info_only, err);
}

/* As dataset_open, for numbers. */
static cbx_status numbers_open(cbx__h5_visit *d, const char *name, cbx_err *err)
{
    const cbx_status st = dataset_open(d, name, false, err);

    return st ? st : check_numbers(d->h, "", name, d->info.text, d->null, err);
}

/* --- what it is --- */

cbx_status cbx_h5_stat(cbx_h5 *h, const char *name, cbx_h5_info *out, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, d, h);
    CBX_SCOPED(cbx_arena, arena, &h->al);
    const char *const *texts = NULL;
    size_t n = 0;
    cbx_status st = dataset_open(&d, name, true, err);

    if (!st) st = check_numbers(h, "", name, false, d.null, err);
    if (st) return st;
    if (!cbx_h5_get_attr_text(h, name, "units", &arena, &texts, &n, NULL) && n > 0)
        snprintf(d.info.units, sizeof d.info.units, "%s", texts[0]);
    *out = d.info;
    return CBX_OK;
}

/* --- slabs --- */

static size_t step_of(const cbx_h5_slab *s, int i) { return s->step[i] ? s->step[i] : 1; }

static cbx_status check_slab(const cbx_h5 *h, const char *name, const cbx_array_desc *d, const cbx_h5_slab *s,
                             cbx_err *err)
{
    for (int i = 0; i < d->ndim; i++) {
        size_t last;
        if (s->count[i] == 0 && s->start[i] <= d->shape[i]) continue;
        if (s->count[i] == 0 || __builtin_mul_overflow(s->count[i] - 1, step_of(s, i), &last) ||
            __builtin_add_overflow(last, s->start[i], &last) || last >= d->shape[i])
            return cbx_fail(err, CBX_EINVAL,
                            "axis %d of '%s' of '%s' has %zu elements: %zu of them from element %zu, with step %zu, "
                            "are out of range",
                            i, name, h->name, d->shape[i], s->count[i], s->start[i], step_of(s, i));
    }
    return CBX_OK;
}

static cbx_status select_slab(const cbx__h5_visit *d, const char *name, const cbx_h5_slab *s, cbx_err *err)
{
    hsize_t start[CBX_MAX_RANK], step[CBX_MAX_RANK], count[CBX_MAX_RANK];

    if (d->info.desc.ndim == 0) return CBX_OK;
    for (int i = 0; i < d->info.desc.ndim; i++) {
        start[i] = s->start[i];
        step[i] = step_of(s, i);
        count[i] = s->count[i];
    }
    if (d->h->c.Sselect_hyperslab(d->space, H5S_SELECT_SET, start, step, count, NULL) < 0)
        return cbx__h5_fail(d->h, err, "select a slab of", name);
    return CBX_OK;
}

/* What read and write have in common: a memory type and a memory space for the selected
 * elements. */
static cbx_status transfer(const cbx__h5_visit *d, const char *name, const cbx_array_desc *desc, void *into,
                           const void *from, cbx_err *err)
{
    const cbx_h5 *h = d->h;
    hid_t type = cbx__h5_native_type(h, desc->dtype), space = cbx__h5_space(h, desc->ndim, desc->shape);
    herr_t done = -1;
    cbx_status st = CBX_OK;

    if (type >= 0 && space >= 0)
        done = into ? h->c.Dread(d->id, type, space, d->space, H5P_DEFAULT, into)
                    : h->c.Dwrite(d->id, type, space, d->space, H5P_DEFAULT, from);
    if (done < 0) st = cbx__h5_fail(h, err, into ? "read" : "write", name);
    cbx__h5_release(h, type, space);
    return st;
}

/* --- reading --- */

cbx_status cbx_h5_read_slab(cbx_h5 *h, const char *name, const cbx_h5_slab *slab, cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, d, h);
    size_t count = 0;
    cbx_array *a = NULL;
    cbx_status st = numbers_open(&d, name, err);
    cbx_array_desc desc = d.info.desc;

    if (!st && slab) {
        st = check_slab(h, name, &desc, slab, err);
        for (int i = 0; !st && i < desc.ndim; i++) desc.shape[i] = slab->count[i];
    }
    if (!st) st = cbx__h5_check_size(h, &desc, cbx_dtype_size(desc.dtype), name, &count, err);
    if (!st && slab && count > 0) st = select_slab(&d, name, slab, err);
    if (!st) st = cbx_array_create(h->ctx, &desc, &a, err);
    if (!st && count > 0) st = transfer(&d, name, &desc, cbx_array_data_mut(a), NULL, err);
    if (!st) cbx__boundary_tidy_bools(a);
    return CBX_FINISH(st, *out = a, cbx_array_free(a));
}

cbx_status cbx_h5_read(cbx_h5 *h, const char *name, cbx_array **out, cbx_err *err)
{
    return cbx_h5_read_slab(h, name, NULL, out, err);
}

static herr_t read_dataset(const cbx_h5 *h, hid_t from, hid_t type, void *buf)
{
    return h->c.Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf);
}

cbx_status cbx_h5_read_text(cbx_h5 *h, const char *name, cbx_arena *arena, const char *const **out, size_t *count,
                            cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, d, h);
    const cbx_status st = dataset_open(&d, name, false, err);

    return st ? st : cbx__h5_texts(h, d.id, d.type, d.space, read_dataset, name, arena, out, count, err);
}

/* --- writing --- */

/* The parent of a new dataset is a group, or does not exist yet. */
static cbx_status check_above(const cbx_h5 *h, const char *name, cbx_err *err)
{
    char part[1024];

    for (size_t i = 1; name[i] && i < sizeof(part); i++) {
        hid_t id = -1;
        bool other;
        if (name[i] != '/' || name[i - 1] == '/') continue;
        memcpy(part, name, i);
        part[i] = 0;
        if (!cbx__h5_exists(h, part)) return CBX_OK;
        id = h->c.Oopen(h->file, part, H5P_DEFAULT);
        other = id >= 0 && h->c.Iget_type(id) != H5I_GROUP;
        cbx__h5_release(h, id);
        if (other)
            return cbx_fail(err, CBX_EINVAL, "'%s' cannot be created: '%s' of '%s' is not a group", name, part,
                            h->name);
    }
    return CBX_OK;
}

/* Of the type, space and list of properties of d; the groups above it are made, too. */
static cbx_status make_dataset(cbx__h5_visit *d, const char *name, cbx_err *err)
{
    const cbx_h5 *h = d->h;
    cbx_status st = check_name(h, name, err);

    if (!st) st = check_above(h, name, err);
    if (st) return st;
    if (cbx__h5_exists(h, name)) return cbx_fail(err, CBX_EEXIST, "'%s' already exists in '%s'", name, h->name);
    hid_t links = h->c.Pcreate(*h->c.P_CLS_LINK_CREATE_ID);
    if (d->type >= 0 && d->space >= 0 && d->plist >= 0 && links >= 0 &&
        h->c.Pset_create_intermediate_group(links, 1) >= 0)
        d->id = h->c.Dcreate2(h->file, name, d->type, d->space, links, d->plist, H5P_DEFAULT);
    st = d->id < 0 ? cbx__h5_fail(h, err, "make the dataset", name) : CBX_OK;
    cbx__h5_release(h, links);
    return st;
}

cbx_status cbx_h5_create(cbx_h5 *h, const char *name, const cbx_array_desc *desc, const cbx_h5_write_opts *opts,
                         cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, d, h);
    cbx_h5_write_opts o = CBX_H5_WRITE_OPTS_INIT;
    size_t count = 0;
    cbx_status st = cbx__h5_check_writable(h, name, err);

    if (!st) st = cbx_take_options(&o, sizeof o, opts, "cbx_h5_write_opts", err);
    if (!st) st = cbx_array_desc_count(desc, &count, err);
    if (st) return st;
    d.plist = h->c.Pcreate(*h->c.P_CLS_DATASET_CREATE_ID);
    if (d.plist < 0) return cbx__h5_fail(h, err, "make the dataset", name);
    st = cbx__h5_set_filters(h, d.plist, desc, &o, name, err);
    if (st) return st;
    d.type = cbx__h5_native_type(h, desc->dtype);
    d.space = cbx__h5_space(h, desc->ndim, desc->shape);
    st = make_dataset(&d, name, err);
    if (!st && o.units) st = cbx_h5_set_attr_text(h, name, "units", o.units, err);
    return st;
}

/* slab NULL: the array is the whole dataset, which was made for it. */
cbx_status cbx_h5_write_slab(cbx_h5 *h, const char *name, const cbx_h5_slab *slab, const cbx_array *a, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, d, h);
    CBX_OWNED(cbx_array) *dense = NULL;
    cbx_status st = cbx__h5_check_writable(h, name, err);

    if (!st) st = cbx__boundary_check_data(a, "write", err);
    if (!st) st = numbers_open(&d, name, err);
    if (st) return st;
    const cbx_array_desc *desc = cbx_array_get_desc(a);
    if (desc->ndim != d.info.desc.ndim)
        st = cbx_fail(err, CBX_ESHAPE,
                      "the rank of an array of %s differs from that of '%s' of '%s', which has %d axes",
                      CBX__DESC_TEXT(desc), name, h->name, d.info.desc.ndim);
    else if (desc->dtype != d.info.desc.dtype)
        st = cbx_fail(err, CBX_EDTYPE, "'%s' of '%s' is %s, an array of %s cannot be written to it: use astype", name,
                      h->name, cbx_dtype_name(d.info.desc.dtype), CBX__DESC_TEXT(desc));
    if (!st && slab) {
        cbx_h5_slab part = *slab;
        memcpy(part.count, desc->shape, sizeof(part.count));
        st = check_slab(h, name, &d.info.desc, &part, err);
        if (!st && cbx_array_count(a) > 0) st = select_slab(&d, name, &part, err);
    }
    if (!st && !cbx_array_is_contiguous(a)) st = cbx__boundary_copy(h->ctx, a, &dense, err);
    if (!st && cbx_array_count(a) > 0) st = transfer(&d, name, desc, NULL, cbx_array_data(dense ? dense : a), err);
    return st;
}

cbx_status cbx_h5_write(cbx_h5 *h, const char *name, const cbx_array *a, const cbx_h5_write_opts *opts, cbx_err *err)
{
    cbx_status st = cbx__boundary_check_data(a, "write", err);

    if (!st) st = cbx_h5_create(h, name, cbx_array_get_desc(a), opts, err);
    return st ? st : cbx_h5_write_slab(h, name, NULL, a, err);
}

cbx_status cbx_h5_write_text(cbx_h5 *h, const char *name, const char *text, cbx_err *err)
{
    CBX_SCOPED(cbx__h5_visit, d, h);
    cbx_status st = cbx__h5_check_writable(h, name, err);

    d.type = cbx__h5_text_type(h, H5T_CSET_UTF8);
    d.space = cbx__h5_space(h, 0, NULL);
    d.plist = h->c.Pcreate(*h->c.P_CLS_DATASET_CREATE_ID);
    if (!st) st = make_dataset(&d, name, err);
    if (!st && h->c.Dwrite(d.id, d.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) < 0)
        st = cbx__h5_fail(h, err, "write", name);
    return st;
}
