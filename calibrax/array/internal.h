/**
 * Inside the library: the array handle itself, views, and elements as a row-major stream.
 */
#ifndef CALIBRAX_ARRAY_INTERNAL_H
#define CALIBRAX_ARRAY_INTERNAL_H

#include <stdatomic.h>

#include "calibrax/array/array.h"
#include "calibrax/base/pool.h"

enum {
    CBX__CONTIGUOUS = 1, /* row-major without gaps */
    CBX__ABSTRACT = 2,   /* shape and dtype, no data */
    CBX__FAILED = 4,     /* what a failed operation returns: one constant handle, never counted */
    CBX__INLINE = 8,     /* made with space for small data behind it */
    CBX__ELSEWHERE = 16, /* not on the CPU */
    CBX__DONATED = 32,   /* abstract: cbx_array_take has taken its elements */
    CBX__WAS_READ = 64   /* abstract: cbx_array_read was refused, so that the function fails when it ends */
};

/* Elements of up to so many bytes lie behind their handle and not in the pool: one allocation,
 * which the context re-uses. */
#define CBX__INLINE_BYTES ((size_t)256)

/* Derivatives in its shape of how a gamma number moves with its shape (RANDOM_GAMMA_GRAD). */
enum { CBX__GAMMA_GRAD_ORDERS = 8 };

/**
 * Memory of a device that is not the CPU.  It lives until the process ends; calls are safe from any
 * thread.
 */
typedef struct cbx__memory {
    cbx_device_id device;
    /** Copies bytes to the CPU, after all that was queued before. */
    cbx_status (*read)(const struct cbx__memory *m, void *to, const void *from, size_t bytes, cbx_err *err);
    /** Until nothing that was queued, by whomever, uses the memory any more. */
    cbx_status (*wait)(const struct cbx__memory *m, cbx_err *err);
    /** A row-major copy of an array there, made there; *out NULL: no kernel can. */
    cbx_status (*pack)(const struct cbx__memory *m, cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err);
} cbx__memory;

struct cbx_array {
    atomic_size_t refs;
    unsigned flags;
    cbx_array_desc desc;
    ptrdiff_t strides[CBX_MAX_RANK]; /* [elements] */
    size_t count;
    void *data;
    uint64_t trace; /* where it was made, if it is abstract; 0: in none */
    uint32_t value; /* its number there */
    cbx_device_id device;
    const cbx__memory *memory; /* NULL: the CPU's, or a device's that cannot be read */
    cbx_allocator al;
    cbx_array *base; /* the handle whose elements a view shows; NULL: none */
    cbx_pool *pool;  /* NULL: wrapped memory, or a view */
    cbx_block block;
    void (*release)(void *user);
    void *user;
};

/** Bytes of an element of a dtype that is one. */
static inline size_t cbx__dtype_size(cbx_dtype t)
{
    static const unsigned char sizes[CBX_DTYPE_COUNT] = {
#define CBX__SIZE(name, number, bytes, kind) [number] = (bytes),
        CBX_DTYPE_MAP(CBX__SIZE)
#undef CBX__SIZE
    };
    return sizes[t];
}

/** Bytes of the elements of an array that is so described. */
static inline size_t cbx__desc_bytes(const cbx_array_desc *d)
{
    size_t n = cbx__dtype_size(d->dtype);
    for (int i = 0; i < d->ndim; i++) n *= d->shape[i];
    return n;
}

/** A description as text for the arguments of a message; it lives until the block ends. */
#define CBX__DESC_TEXT(d) cbx_array_desc_text(d, (char[160]){ 0 }, 160)

/** Row-major (or, with fortran, column-major) strides of a shape, in elements. */
void cbx__array_dense_strides(const cbx_array_desc *d, bool fortran, ptrdiff_t strides[CBX_MAX_RANK]);

/**
 * Handles that a context keeps for its next results.  One thread uses a context at a time, so they
 * need no lock: a handle comes here when a scope drops the last reference, and goes to the
 * allocator when cbx_array_free does, from whichever thread.
 */
typedef struct cbx__handles {
    cbx_array *free[2]; /* lists by their base; [1]: those with inline data */
    size_t kept[2];
} cbx__handles;

/** A handle without shape that holds nothing but, if inlined, space for bytes at data; NULL without
 * memory. */
cbx_array *cbx__handle_get(cbx_ctx *ctx, bool inlined, size_t bytes);
/** Drops a reference; the last one leaves the memory of the handle in h if it came from the same
 * allocator. */
void cbx__array_drop(cbx__handles *h, const cbx_allocator *al, cbx_array *a);
/** Gives the kept handles back to the allocator. */
void cbx__handles_clear(cbx__handles *h);

/** As cbx_array_wrap, data at any address: for who copies it where it is not aligned. */
cbx_status cbx__array_wrap(cbx_ctx *ctx, const cbx_array_desc *desc, const ptrdiff_t *strides, void *data,
                           void (*release)(void *user), void *user, cbx_array **out, cbx_err *err);
/** At a multiple of an element's size, or of a complex one's part. */
bool cbx__is_aligned(const void *data, cbx_dtype t);
/** As cbx_array_create, elements in row-major or Fortran order. */
cbx_status cbx__array_create_order(cbx_ctx *ctx, const cbx_array_desc *desc, bool fortran, cbx_array **out,
                                   cbx_err *err);

/** A handle on elements of base, which lives as long; the caller answers for strides and offset
 * [elements]. */
cbx_status cbx__array_view(cbx_ctx *ctx, const cbx_array *base, const cbx_array_desc *desc, const ptrdiff_t *strides,
                           ptrdiff_t offset, cbx_array **out, cbx_err *err);

/** Records the device of an array that a backend has made, before anyone else has the handle. */
void cbx__array_set_device(cbx_array *a, cbx_device_id device);
/** The same of one whose elements are in the memory of a device. */
void cbx__array_set_memory(cbx_array *a, const cbx__memory *m);
/** The array itself if its elements are on the CPU, else a row-major copy there; the caller frees.
 * @return CBX_OK; CBX_EUNSUPPORTED (memory that cannot be read); CBX_ENOMEM; what the
 *   device returns */
cbx_status cbx__array_fetch(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err);
/** The same in place: the caller's reference becomes one to the copy. */
cbx_status cbx__array_bring(cbx_ctx *ctx, cbx_array **a, cbx_err *err);
/** CBX_EUNSUPPORTED, with the remedy, unless the elements are on the CPU. */
cbx_status cbx__array_here(const char *what, const cbx_array *a, cbx_err *err);

/** CBX_EINVAL, with the remedy, of an array whose elements were taken; what: who needs them. */
cbx_status cbx__array_present(const char *what, const cbx_array *a, cbx_err *err);

/** The handle that failed operations return; its count is never touched. */
cbx_array *cbx__array_failed(void);

/** Copies elements first .. first+count-1, counted in row-major order, to dst. */
void cbx__array_pack(const cbx_array *a, size_t first, size_t count, void *dst);
/** The array itself, or a row-major copy of it; the caller frees. */
cbx_status cbx__array_dense(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err);

#endif
