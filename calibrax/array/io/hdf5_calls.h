/* Inside hdf5*.c: the part of libhdf5 that is used, as a table filled on first use, and what the
 * files share.
 *
 * HDF5's constants such as H5T_NATIVE_INT are variables that H5open fills, so that they are looked
 * up as symbols, too. */
#ifndef CALIBRAX_ARRAY_IO_HDF5_CALLS_H
#define CALIBRAX_ARRAY_IO_HDF5_CALLS_H

#include <hdf5.h>

/* HDF5's constants call the library before they give their value; ours is open by then, and not
 * linked. */
#undef H5CHECK
#undef H5OPEN
#define H5CHECK
#define H5OPEN

#include "calibrax/array/io/hdf5.h"
#include "calibrax/base/file.h"
#include "calibrax/base/library.h"

/* Names without "H5"; hdf5.h has their types. */
/* clang-format off */
#define H5_CALLS(X)                                                                                                    \
    X(open) X(allocate_memory) X(free_memory) X(Acreate2) X(Adelete) X(Aexists) X(Aget_space) X(Aget_type) X(Aopen)    \
    X(Aread) X(Awrite) X(Dcreate2) X(Dget_create_plist) X(Dget_space) X(Dget_type) X(Dopen2) X(Dread)                  \
    X(Dvlen_reclaim) X(Dwrite) X(Eclear2) X(Eget_auto2) X(Eset_auto2) X(Ewalk2) X(Fclose) X(Fcreate) X(Fflush)         \
    X(Fopen) X(Gget_info) X(Idec_ref) X(Iget_type) X(Lexists) X(Lget_name_by_idx) X(Oopen) X(Pcreate) X(Pget_chunk)    \
    X(Pget_filter2) X(Pget_layout) X(Pget_nfilters) X(Pset_chunk) X(Pset_create_intermediate_group) X(Pset_deflate)    \
    X(Pset_filter) X(Pset_shuffle) X(Screate) X(Screate_simple) X(Sget_simple_extent_dims)                             \
    X(Sget_simple_extent_ndims) X(Sget_simple_extent_type) X(Sselect_hyperslab) X(Tcopy) X(Tcreate) X(Tenum_create)    \
    X(Tenum_insert) X(Tget_class) X(Tget_cset) X(Tget_member_name) X(Tget_member_type) X(Tget_nmembers) X(Tget_sign)   \
    X(Tget_size) X(Tget_strpad) X(Tinsert) X(Tis_variable_str) X(Tset_cset) X(Tset_size) X(Zfilter_avail)              \
    X(Zregister)
/* clang-format on */

/* H5 variables that hold identifiers: names without "H5" and "_g". */
/* clang-format off */
#define H5_IDS(X)                                                                                                      \
    X(T_NATIVE_INT8) X(T_NATIVE_INT16) X(T_NATIVE_INT32) X(T_NATIVE_INT64) X(T_NATIVE_UINT8) X(T_NATIVE_UINT16)        \
    X(T_NATIVE_UINT32) X(T_NATIVE_UINT64) X(T_NATIVE_FLOAT) X(T_NATIVE_DOUBLE) X(T_C_S1) X(P_CLS_DATASET_CREATE_ID)    \
    X(P_CLS_LINK_CREATE_ID)
/* clang-format on */

typedef struct h5_calls {
#define H5_MEMBER(name) __typeof__(H5##name) *name;
    H5_CALLS(H5_MEMBER)
#undef H5_MEMBER
#define H5_MEMBER(name) hid_t *name;
    H5_IDS(H5_MEMBER)
#undef H5_MEMBER
} h5_calls;

struct cbx_h5 {
    h5_calls c;
    cbx_library *lib;
    cbx_ctx *ctx;
    cbx_allocator al;
    hid_t file;
    uint64_t max_bytes;
    cbx_replacement *replacement; /* NULL: open for reading */
    char name[512];               /* for sentences; cut if it does not fit */
};

/* One call of a public function: CBX_SCOPED(cbx__h5_visit, v, h).  How the caller's thread prints
 * errors is saved on entry and restored on the way out, when identifiers are closed. */
typedef struct cbx__h5_visit {
    const cbx_h5 *h;
    H5E_auto2_t function;
    void *data;
    hid_t object, id, type, space, plist, memory; /* < 0: not open */
    cbx_h5_info info;                             /* of a dataset */
    bool null;                                    /* it has no elements by type */
} cbx__h5_visit;

void cbx__h5_visit_init(cbx__h5_visit *v, const cbx_h5 *h);
void cbx__h5_visit_clear(cbx__h5_visit *v);

/** "cannot DOING 'WHAT' of 'FILE': " and what HDF5 found at the bottom of its error stack; WHAT
 * NULL: of the file. */
cbx_status cbx__h5_fail(const cbx_h5 *h, cbx_err *err, const char *doing, const char *what);
/** Closes identifiers of any kind; those below 0 are ignored. */
#define cbx__h5_release(h, ...)                                                                                        \
    cbx__h5_release_all(h, CBX_LEN(((const hid_t[]){ __VA_ARGS__ })), (const hid_t[]){ __VA_ARGS__ })
void cbx__h5_release_all(const cbx_h5 *h, size_t n, const hid_t *ids);
/** CBX_EPERM unless the file may be written. */
cbx_status cbx__h5_check_writable(const cbx_h5 *h, const char *what, cbx_err *err);
/** Whether each part of a path is there. */
bool cbx__h5_exists(const cbx_h5 *h, const char *path);

/** dtype of a type in a file; *text for strings.  CBX_EDTYPE for what has none. */
cbx_status cbx__h5_dtype_of(const cbx_h5 *h, hid_t type, const char *what, cbx_dtype *dtype, bool *text, cbx_err *err);
/** A new type as arrays hold it, which is also how it is stored; < 0 on failure. */
hid_t cbx__h5_native_type(const cbx_h5 *h, cbx_dtype dtype);
/** A new type of variable-length text; < 0 on failure. */
hid_t cbx__h5_text_type(const cbx_h5 *h, H5T_cset_t set);
/** A new simple or scalar dataspace; < 0 on failure. */
hid_t cbx__h5_space(const cbx_h5 *h, int ndim, const size_t *shape);
/** Rank and lengths of a dataspace; *null for one without elements by type. */
cbx_status cbx__h5_shape_of(const cbx_h5 *h, hid_t space, const char *what, cbx_array_desc *desc, bool *null,
                            cbx_err *err);
/** CBX_EOVERFLOW if desc, of elements of unit bytes, is larger than a read may be. */
cbx_status cbx__h5_check_size(const cbx_h5 *h, const cbx_array_desc *desc, size_t unit, const char *what, size_t *count,
                              cbx_err *err);

/** Reads text out of a dataset or an attribute: read fills buf with elements of memory_type. */
typedef herr_t (*h5_reader)(const cbx_h5 *h, hid_t from, hid_t memory_type, void *buf);
cbx_status cbx__h5_texts(const cbx_h5 *h, hid_t from, hid_t type, hid_t space, h5_reader read, const char *what,
                         cbx_arena *arena, const char *const **out, size_t *count, cbx_err *err);

#define H5_LZF_ID 32000 /* registered with The HDF Group for h5py */

/** Packing of a dataset; CBX_EUNSUPPORTED, CBX_EUNAVAILABLE or CBX_EFORMAT if it cannot be unpacked
 * (unless info only). */
cbx_status cbx__h5_filters(const cbx_h5 *h, hid_t plist, const char *what, size_t chunk_bytes, bool info_only,
                           cbx_h5_info *info, cbx_err *err);
/** Sets chunks and filters of a dataset to be. */
cbx_status cbx__h5_set_filters(const cbx_h5 *h, hid_t plist, const cbx_array_desc *desc, const cbx_h5_write_opts *opts,
                               const char *what, cbx_err *err);

#endif
