/* HDF5: chunks and their packing.
 *
 * LZF (Lehmann's, by liblzf; BSD-2-Clause) is a filter that libhdf5 does not bring: it is
 * registered under h5py's number with functions that live here.  libhdf5 keeps their addresses for
 * the life of the process, so this library is pinned as libhdf5 is; and it calls them without a
 * user pointer, so that what they need is in variables of the process, written once. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/io/hdf5_calls.h"

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

cbx_status cbx__h5_load_lzf(const cbx_h5 *h, cbx_err *err)
{
    static const H5Z_class2_t lzf_class = { H5Z_CLASS_T_VERS, H5_LZF_ID, 1, 1, "lzf", NULL, NULL, lzf_filter };
    lzf_function pack = NULL, unpack = NULL;
    const cbx_library_symbol symbols[] = { { "lzf_compress", (void **)(void *)&pack },
                                           { "lzf_decompress", (void **)(void *)&unpack } };
    cbx_library_spec spec = cbx_library_known(CBX_LIBRARY_LZF);
    cbx_library *lib = NULL;

    if (h->c.Zfilter_avail(H5_LZF_ID) > 0) return CBX_OK; /* ours already, or that of h5py in this process */
    spec.symbols = symbols;
    spec.nsymbols = CBX_LEN(symbols);
    cbx_status st = cbx_library_open(h->ctx, &spec, &lib, err);
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
static cbx_status check_lzf(const cbx_h5 *h, const filter *f, const char *what, size_t chunk_bytes, cbx_err *err)
{
    if (f->nvalues < 3 || f->values[2] != chunk_bytes)
        return cbx_fail(err, CBX_EFORMAT, "the chunks of '%s' of '%s' have %zu bytes, and its filter LZF says %u", what,
                        h->name, chunk_bytes, f->nvalues < 3 ? 0 : f->values[2]);
    return cbx__h5_load_lzf(h, err);
}

static cbx_status check_usable(const cbx_h5 *h, const filter *f, const char *what, size_t chunk_bytes, cbx_err *err)
{
    if (f->id == H5_LZF_ID) return check_lzf(h, f, what, chunk_bytes, err);
    if (h->c.Zfilter_avail(f->id) > 0) return CBX_OK;
    return cbx_fail(err, CBX_EUNSUPPORTED,
                    "'%s' of '%s' is packed with the filter %d ('%s'), which libhdf5 does not have: name its folder in "
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
        cbx_status st = cbx__h5_load_lzf(h, err);
        if (st) return st;
        done = h->c.Pset_filter(plist, H5_LZF_ID, H5Z_FLAG_OPTIONAL, CBX_LEN(lzf), lzf);
    }
    return done < 0 ? cbx__h5_fail(h, err, "pack", what) : CBX_OK;
}

static cbx_status check_write_opts(const cbx_h5_write_opts *opts, const char *what, cbx_err *err)
{
    if (opts->struct_size != sizeof(*opts))
        return cbx_fail(
            err, CBX_EINVAL,
            "'struct_size' of the options to write '%s' is %u, this library knows %zu: rebuild against its headers",
            what, opts->struct_size, sizeof(*opts));
    if ((unsigned)opts->packing > CBX_H5_LZF)
        return cbx_fail(err, CBX_EINVAL, "'%s' cannot be written with the packing %d: plain, deflate or LZF", what,
                        (int)opts->packing);
    if (opts->level < 0 || opts->level > 9)
        return cbx_fail(err, CBX_EINVAL, "'%s' cannot be deflated with level %d: 1 to 9, 0 for the usual", what,
                        opts->level);
    return CBX_OK;
}

cbx_status cbx__h5_set_filters(const cbx_h5 *h, hid_t plist, const cbx_array_desc *desc, const cbx_h5_write_opts *opts,
                               const char *what, cbx_err *err)
{
    hsize_t chunk[CBX_MAX_RANK];
    bool chunked = opts->packing != CBX_H5_PLAIN || opts->shuffle;
    cbx_status st = check_write_opts(opts, what, err);

    if (st) return st;
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
