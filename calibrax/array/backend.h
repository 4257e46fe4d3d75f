/**
 * The protocol of backends: one const struct.  Every array operation of a context goes through its backend.
 *
 * The reference backend is the definition of right; another one must give its results (docs/arrays.md says where to the
 * bit).  Plug-in interface: new members go last, behind a new abi.
 */
#ifndef CALIBRAX_ARRAY_BACKEND_H
#define CALIBRAX_ARRAY_BACKEND_H

#include "calibrax/array/primitive.h"

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

/** A function of arrays, as the transforms take it (DESIGN.md section 4): out[i] is held by the context's scope. */
typedef cbx_status (*cbx_array_fn)(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                                   void *user);

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
    /** Transforms and control flow.  NULL: the engine's own, which run everywhere. */
    cbx_status (*jit)(const cbx_backend *self, cbx_ctx *ctx, cbx_array_fn f, void *user, cbx_array_fn *out,
                      void **out_user, cbx_err *err);
    cbx_status (*grad)(const cbx_backend *self, cbx_ctx *ctx, cbx_array_fn f, void *user, size_t argnum,
                       cbx_array_fn *out, void **out_user, cbx_err *err);
    cbx_status (*value_and_grad)(const cbx_backend *self, cbx_ctx *ctx, cbx_array_fn f, void *user, size_t argnum,
                                 cbx_array_fn *out, void **out_user, cbx_err *err);
    cbx_status (*vmap)(const cbx_backend *self, cbx_ctx *ctx, cbx_array_fn f, void *user, size_t nin,
                       const int *in_axes, cbx_array_fn *out, void **out_user, cbx_err *err);
    cbx_status (*scan)(const cbx_backend *self, cbx_ctx *ctx, cbx_array_fn body, void *user, size_t ncarry,
                       cbx_array *const *init, size_t nxs, cbx_array *const *xs, size_t length, size_t nys,
                       cbx_array **out, cbx_err *err);
    cbx_status (*fori_loop)(const cbx_backend *self, cbx_ctx *ctx, int64_t lower, int64_t upper, cbx_array_fn body,
                            void *user, size_t n, cbx_array *const *init, cbx_array **out, cbx_err *err);
    cbx_status (*while_loop)(const cbx_backend *self, cbx_ctx *ctx, cbx_array_fn test, cbx_array_fn body, void *user,
                             size_t n, cbx_array *const *init, cbx_array **out, cbx_err *err);
    cbx_status (*cond)(const cbx_backend *self, cbx_ctx *ctx, const cbx_array *which, cbx_array_fn yes, cbx_array_fn no,
                       void *user, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, cbx_err *err);
};

/** Plain strided C, the definition of right answers. */
CBX_API const cbx_backend *cbx_backend_reference(void);

/** The backend of a context; the reference backend until another is set. */
CBX_API const cbx_backend *cbx_ctx_backend(cbx_ctx *ctx);
/**
 * @param backend  lives as long as the context; NULL: the reference backend
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
