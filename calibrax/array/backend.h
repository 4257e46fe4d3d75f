/**
 * The protocol of backends: one const struct.  Every array operation of a context goes through its backend.
 *
 * The reference backend is the definition of right; another one must give its results (docs/reference/arrays.md states where to the
 * bit).  Plug-in interface: new members go last, behind a new abi.
 */
#ifndef CALIBRAX_ARRAY_BACKEND_H
#define CALIBRAX_ARRAY_BACKEND_H

#include "calibrax/array/fn.h"
#include "calibrax/array/primitive.h"
#include "calibrax/base/settings.h"

CBX_BEGIN_DECLS

#define CBX_BACKEND_ABI 1u

typedef struct cbx_backend cbx_backend;

/** One operation, checked: operands and attributes have passed cbx_prim_infer, whose answer is result. */
typedef struct cbx_call {
    cbx_ctx *ctx;
    cbx_prim prim;
    size_t nin;
    const cbx_array *const *in;
    const cbx_attrs *attrs;       /* never NULL */
    const cbx_array_desc *result; /* what apply must return */
} cbx_call;

/*
 * Calls of control flow, checked: functions have code and the counts that fit, operands are good, scalars are scalars.
 * What only a run of a function shows (a carry that changes, branches that differ) the backend checks.
 */

/** (carry..., y[t]...) = body(carry..., x[t]...); results: carry, then ys stacked on a new axis 0. */
typedef struct cbx_scan_call {
    cbx_ctx *ctx;
    const cbx_fn *body;
    size_t ncarry, nxs;
    cbx_array *const *init;
    cbx_array *const *xs; /* length long on axis 0 */
    size_t length;
    bool reverse;
} cbx_scan_call;

/** fori_loop: values = body(i, values...) for lower <= i < upper; while_loop: as long as test(values...). */
typedef struct cbx_loop_call {
    cbx_ctx *ctx;
    const cbx_fn *test; /* NULL: fori_loop */
    const cbx_fn *body;
    int64_t lower, upper;
    size_t n;
    cbx_array *const *init;
} cbx_loop_call;

/** branches[index](in...); cond is {no, yes}. */
typedef struct cbx_cond_call {
    cbx_ctx *ctx;
    const cbx_array *index; /* int64, rank 0; below 0 means 0, n and more n-1 */
    size_t n;
    const cbx_fn *const *branches;
    size_t nin;
    cbx_array *const *in;
} cbx_cond_call;

/** f over a batch on axis 0 of the mapped operands; results have it on axis 0. */
typedef struct cbx_vmap_call {
    cbx_ctx *ctx;
    const cbx_fn *f;
    size_t length;
    cbx_array *const *in;
    const bool *mapped; /* f->nin */
} cbx_vmap_call;

enum {
    CBX_BACKEND_TAKES_ABSTRACT = 1, /* a trace: calls with abstract operands come to apply, too */
    CBX_BACKEND_JIT = 2,
    CBX_BACKEND_GRAD = 4,
    CBX_BACKEND_GPU = 8
};

struct cbx_backend {
    uint32_t struct_size, abi; /* sizeof(cbx_backend) and CBX_BACKEND_ABI of the header it was compiled with */
    const char *name;          /* "reference", "jit" */
    uint32_t flags;
    /**
     * Carries out one operation; *out is the caller's.  Values that only the data can show to be wrong (an index out of
     * range, a negative power of an integer) are found here: CBX_EDOM.  Required.
     */
    cbx_status (*apply)(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err);
    /** Waits until all results are there.  NULL: they always are. */
    cbx_status (*sync)(const cbx_backend *self, cbx_ctx *ctx, cbx_err *err);
    /**
     * Transforms; *out is the caller's, an owned function that holds on to f (cbx_fn_keep).
     * jit NULL: f itself.  grad and value_and_grad NULL: not to be had (n >= 1 argnums below f->nin, f->nout is 1).
     */
    cbx_status (*jit)(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err);
    cbx_status (*grad)(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums,
                       cbx_fn **out, cbx_err *err);
    cbx_status (*value_and_grad)(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, size_t n,
                                 const size_t *argnums, cbx_fn **out, cbx_err *err);
    /**
     * Batches and control flow; out[] are the caller's, written on success only.  NULL: the engine's own plain loops, which
     * run on every backend but for abstract operands of one that takes them.
     */
    cbx_status (*vmap)(const cbx_backend *self, const cbx_vmap_call *call, cbx_array **out, cbx_err *err);
    cbx_status (*scan)(const cbx_backend *self, const cbx_scan_call *call, cbx_array **out, cbx_err *err);
    cbx_status (*fori_loop)(const cbx_backend *self, const cbx_loop_call *call, cbx_array **out, cbx_err *err);
    cbx_status (*while_loop)(const cbx_backend *self, const cbx_loop_call *call, cbx_array **out, cbx_err *err);
    cbx_status (*cond)(const cbx_backend *self, const cbx_cond_call *call, cbx_array **out, cbx_err *err);
};

/** Plain strided C, the definition of right answers. */
CBX_API const cbx_backend *cbx_backend_reference(void);

/** The backends of this library, those first that "auto" prefers; NULL past the last. */
CBX_API const cbx_backend *cbx_backend_at(size_t i);
/**
 * By name.
 * @param out  written on success only
 * @return CBX_OK; CBX_EUNAVAILABLE (a backend of that name is not built in); CBX_EINVAL (there is no such name)
 */
CBX_API cbx_status cbx_backend_find(const char *name, const cbx_backend **out, cbx_err *err);
/**
 * The backend that settings ask for.  "auto" is the first of the list; where a GPU is wanted, the first that computes on
 * one, if there is any.
 * @param out  written on success only
 * @return CBX_OK; CBX_EUNAVAILABLE (as cbx_backend_find; a GPU is wanted without fallback and the backend computes on none)
 */
CBX_API cbx_status cbx_backend_choose(const cbx_settings *settings, const cbx_backend **out, cbx_err *err);

/**
 * The backend of a context: what its settings ask for, until another is set.  Where they ask for a missing one, it
 * is called "unavailable", and every operation fails with the sentence of cbx_backend_choose, CBX_EUNAVAILABLE.
 */
CBX_API const cbx_backend *cbx_ctx_backend(cbx_ctx *ctx);
/**
 * @param backend  lives as long as the context; NULL: what the context's settings ask for
 * @return CBX_OK; CBX_EVERSION (another abi, or shorter than apply needs); CBX_EINVAL (no apply); CBX_ENOMEM
 */
CBX_API cbx_status cbx_ctx_set_backend(cbx_ctx *ctx, const cbx_backend *backend, cbx_err *err);

/**
 * One operation through the context's backend: checks, infers, applies; the current scope holds the result.
 * With an abstract operand, on a backend that does not take them, the result is abstract.
 * @param attrs  NULL: all zero
 * @return the result; a failed array if an operand is failed or NULL, or if the operation fails
 */
CBX_API cbx_array *cbx_apply(cbx_ctx *ctx, cbx_prim prim, size_t nin, const cbx_array *const *in,
                             const cbx_attrs *attrs);

CBX_END_DECLS
#endif
