/** HDF5 files: datasets and slabs of them, attributes, text, units, listing.
 *
 * libhdf5 (1.10 or newer) is loaded on first use, liblzf with the first dataset that is packed with
 * LZF; where they are missing the call is CBX_EUNAVAILABLE and names the package.  Both prefixes of
 * names are fine: "/a/b" and "a/b" are the same object.
 *
 * dtypes are stored as h5py stores them: bool as the enumeration {FALSE, TRUE} of int8, complex
 * numbers as a compound of "r" and "i", all in the machine's byte order; text as variable-length
 * UTF-8.  Read are also foreign byte orders and half precision (as float32).
 *
 * A new or changed file takes its place in one step, at cbx_h5_commit; until then, and after any
 * failure, the path keeps what it had.  Appending therefore works on a copy of the file (one that
 * shares its blocks where the file system can).
 *
 * Threads: libhdf5 lets one thread of a process in at a time, by one lock (Debian's is built so):
 * handles may be used from any thread, one at a time each, and calls wait for each other.  A
 * libhdf5 without that lock serves one thread of the process only.
 *
 * Trust: headers, names, shapes and filters are checked as far as HDF5's own interface shows them,
 * and its messages come out in ours, never on stderr.  libhdf5 itself is not made to withstand
 * files that were forged to harm it: read those in a process of their own.  Files may name others
 * (external links, external storage, virtual datasets); libhdf5 opens these, as it does
 * anywhere. */
#ifndef CALIBRAX_ARRAY_IO_HDF5_H
#define CALIBRAX_ARRAY_IO_HDF5_H

#include "calibrax/array/array.h"
#include "calibrax/base/arena.h"

CBX_BEGIN_DECLS

/** An open file. */
typedef struct cbx_h5 cbx_h5;

typedef enum cbx_h5_mode {
    CBX_H5_READ,
    CBX_H5_CREATE, /* a new file, whatever is at the path */
    CBX_H5_APPEND  /* a copy of the file, or a new one if it does not exist */
} cbx_h5_mode;

typedef struct cbx_h5_opts {
    uint32_t struct_size;     /* sizeof(cbx_h5_opts) of the header compiled with */
    uint64_t max_array_bytes; /* a read of more is refused; 0: 4 GiB */
} cbx_h5_opts;

#define CBX_H5_OPTS_INIT CBX_OPTS(cbx_h5_opts, 0)

/** @param opts  NULL: all defaults
 * @param out   the caller ends it with commit or close; must not outlive ctx
 * @return CBX_OK; CBX_EFORMAT (no HDF5 file, cut short); CBX_EINVAL (no regular file, struct_size
 *         of another version); CBX_EUNAVAILABLE; the usual of file.h */
CBX_API cbx_status cbx_h5_open(cbx_ctx *ctx, const char *path, cbx_h5_mode mode, const cbx_h5_opts *opts, cbx_h5 **out,
                               cbx_err *err);
/** Ends a file; one that was written takes its place.  @return CBX_OK; CBX_ENOSPC, CBX_EIO, the
 * usual of file.h */
CBX_API cbx_status cbx_h5_commit(cbx_h5 *h, cbx_err *err);
/** Ends a file and drops what was written.  NULL is fine. */
CBX_API void cbx_h5_close(cbx_h5 *h);

/* ---- what is there ---- */

typedef enum cbx_h5_kind { CBX_H5_GROUP, CBX_H5_DATASET, CBX_H5_OTHER } cbx_h5_kind;

typedef struct cbx_h5_entry {
    const char *name; /* the last part of its path */
    cbx_h5_kind kind; /* a link that leads nowhere is CBX_H5_OTHER */
} cbx_h5_entry;

/** Members of a group, by name; they live in the arena.  @return CBX_OK; CBX_ENOENT; CBX_EINVAL (no
 * group); CBX_ENOMEM */
CBX_API cbx_status cbx_h5_list(cbx_h5 *h, const char *group, cbx_arena *arena, const cbx_h5_entry **out, size_t *count,
                               cbx_err *err);

typedef enum cbx_h5_packing { CBX_H5_PLAIN, CBX_H5_DEFLATE, CBX_H5_LZF, CBX_H5_OTHER_FILTERS } cbx_h5_packing;

typedef struct cbx_h5_info {
    cbx_array_desc desc; /* of text: the shape only */
    bool text;           /* read it with cbx_h5_read_text */
    bool chunked, shuffled;
    size_t chunk[CBX_MAX_RANK]; /* if chunked */
    cbx_h5_packing packing;
    char units[64]; /* the attribute "units", "" without one; cut if it does not fit */
} cbx_h5_info;

/** @return CBX_OK; CBX_ENOENT; CBX_EDTYPE (neither numbers nor text); CBX_EUNSUPPORTED (more than
 *   CBX_MAX_RANK axes, no elements
 * by type: a null dataspace); CBX_EFORMAT */
CBX_API cbx_status cbx_h5_stat(cbx_h5 *h, const char *dataset, cbx_h5_info *out, cbx_err *err);

/* ---- datasets ---- */

/** Some elements of a dataset: along axis i count[i] of them from start[i] on, step[i] apart. */
typedef struct cbx_h5_slab {
    size_t start[CBX_MAX_RANK], count[CBX_MAX_RANK];
    size_t step[CBX_MAX_RANK]; /* 0 is taken for 1 */
} cbx_h5_slab;

/** Reads a whole dataset into a row-major array.
 * @return CBX_OK; CBX_ENOENT; CBX_EDTYPE; CBX_EUNSUPPORTED (as cbx_h5_stat; a missing
 *         filter); CBX_EOVERFLOW (larger than max_array_bytes: read slabs); CBX_EFORMAT (what HDF5
 *         found wrong); CBX_EUNAVAILABLE (liblzf); CBX_ENOMEM */
CBX_API cbx_status cbx_h5_read(cbx_h5 *h, const char *dataset, cbx_array **out, cbx_err *err);
/** Reads a slab.  HDF5 unpacks every chunk that it touches: slabs of whole chunks (cbx_h5_info) are
 * the cheapest.
 * @return as above; CBX_EINVAL (beyond the dataset; the message names the axis) */
CBX_API cbx_status cbx_h5_read_slab(cbx_h5 *h, const char *dataset, const cbx_h5_slab *slab, cbx_array **out,
                                    cbx_err *err);

typedef struct cbx_h5_write_opts {
    uint32_t struct_size; /* sizeof(cbx_h5_write_opts) of the header compiled with */
    cbx_h5_packing packing;
    int level;                  /* deflate 1..9; 0: 4 */
    bool shuffle;               /* bytes of equal weight side by side before they are packed */
    size_t chunk[CBX_MAX_RANK]; /* cut to the shape; all 0: about 256 KiB, last axes whole */
    const char *units;          /* the attribute "units"; NULL: none */
} cbx_h5_write_opts;

#define CBX_H5_WRITE_OPTS_INIT CBX_OPTS(cbx_h5_write_opts, CBX_H5_PLAIN, 0, false, { 0 }, 0)

/** Makes a dataset, and the groups above it; its elements are 0 until slabs are written. Datasets
 * without elements or axes are never chunked nor packed.
 * @param opts  NULL: plain.  Given chunks, or packing, make it chunked
 * @return CBX_OK; CBX_EEXIST; CBX_EPERM (open for reading); CBX_EINVAL (level, packing,
 *         struct_size, no name, below a dataset); CBX_EUNAVAILABLE (liblzf); CBX_ENOSPC, CBX_EIO,
 *         CBX_EFORMAT (what HDF5 found wrong) */
CBX_API cbx_status cbx_h5_create(cbx_h5 *h, const char *dataset, const cbx_array_desc *desc,
                                 const cbx_h5_write_opts *opts, cbx_err *err);
/** cbx_h5_create, and all its elements.  @return as above; CBX_EINVAL (an abstract or failed
 * array) */
CBX_API cbx_status cbx_h5_write(cbx_h5 *h, const char *dataset, const cbx_array *a, const cbx_h5_write_opts *opts,
                                cbx_err *err);
/** Writes an array over elements of a dataset; dtypes must be the same.
 * @param slab  count is that of the array's shape and need not be set
 * @return CBX_OK; CBX_ENOENT; CBX_EDTYPE; CBX_ESHAPE (another rank); CBX_EINVAL (beyond the
 *   dataset); as above */
CBX_API cbx_status cbx_h5_write_slab(cbx_h5 *h, const char *dataset, const cbx_h5_slab *slab, const cbx_array *a,
                                     cbx_err *err);

/* ---- text and attributes ---- */

/** Text of a dataset, row-major, in the arena: one for a scalar, none for a null dataspace.
 * @return as cbx_h5_read */
CBX_API cbx_status cbx_h5_read_text(cbx_h5 *h, const char *dataset, cbx_arena *arena, const char *const **out,
                                    size_t *count, cbx_err *err);
/** Makes a scalar dataset.  @return as cbx_h5_create */
CBX_API cbx_status cbx_h5_write_text(cbx_h5 *h, const char *dataset, const char *text, cbx_err *err);

/** Attributes of a dataset or a group ("/" is the file's).  @return as cbx_h5_read; CBX_ENOENT
 * names which of both is missing */
CBX_API cbx_status cbx_h5_get_attr(cbx_h5 *h, const char *object, const char *name, cbx_array **out, cbx_err *err);
CBX_API cbx_status cbx_h5_get_attr_text(cbx_h5 *h, const char *object, const char *name, cbx_arena *arena,
                                        const char *const **out, size_t *count, cbx_err *err);
/** Replaces or makes an attribute.  HDF5 keeps at most 64 KiB in one.  @return as cbx_h5_write;
 * CBX_ENOENT */
CBX_API cbx_status cbx_h5_set_attr(cbx_h5 *h, const char *object, const char *name, const cbx_array *a, cbx_err *err);
CBX_API cbx_status cbx_h5_set_attr_text(cbx_h5 *h, const char *object, const char *name, const char *text,
                                        cbx_err *err);

CBX_END_DECLS
#endif
